//! Jobs whose processes run beside those of another job: the daemons of a debugger and of other tools.

use serde::{Deserialize, Serialize};

use crate::{JobId, Rank};

/// The place of a companion job: beside the processes of its targets. It uses no slots and is not bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// The targets: jobs, and their ranks; no ranks = the whole job.
    pub targets: Vec<(JobId, Vec<Rank>)>,
    /// The number of its processes.
    pub each: Each,
}

/// The number of processes of a companion job, for each of its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Each {
    /// So many on each node with a target.
    Node(u16),
    /// So many for each target, on its node.
    Proc(u16),
}

impl Beside {
    /// True for a job that is a target, or has one among its processes.
    #[must_use]
    pub fn concerns(&self, job: JobId) -> bool {
        self.targets.iter().any(|(target, _)| *target == job)
    }
}
