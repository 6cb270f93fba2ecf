//! The history: the latest ended jobs in full, older ones as numbers.

use std::collections::VecDeque;

use ferrite_types::JobId;
use ferrite_wire::control::JobDetail;

/// The number of jobs that the history keeps.
const KEPT: usize = 1_000;

/// The kept jobs, and counts of all that ended.
#[derive(Debug, Default)]
pub(super) struct History {
    jobs: VecDeque<JobDetail>,
    pub(super) ended: u64,
    pub(super) failed: u64,
}

impl History {
    pub(super) fn add(&mut self, job: JobDetail) {
        self.ended += 1;
        self.failed += u64::from(job.status.exit_code.is_some_and(|code| code != 0));
        if self.jobs.len() == KEPT {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job);
    }

    /// The kept jobs, in the order of their ends.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &JobDetail> {
        self.jobs.iter()
    }

    pub(super) fn find(&self, id: JobId) -> Option<&JobDetail> {
        self.jobs.iter().rev().find(|job| job.status.job == id)
    }
}
