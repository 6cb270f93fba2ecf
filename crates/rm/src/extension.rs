//! Requests of a running DVM to its resource manager, for nodes and to give nodes back, as values. The head decides
//! them, the manager's module makes command lines of them ([`crate::managers::slurm`]), and the driver runs these.

use crate::managers::Manager;

/// More nodes for a DVM whose nodes are those of a manager's job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAsk {
    /// The resource manager.
    pub manager: Manager,
    /// The job in which the DVM began; the new job has its shape and ends with it.
    pub parent: String,
    /// Name of the new job: all jobs of a DVM have one name, by which they can be ended.
    pub name: String,
    /// The requested nodes.
    pub wish: Wish,
    /// The queue that new nodes come from; `None` = that of the first job.
    pub queue: Option<String>,
    /// Slots of each node; `None` = as many as the processors that the manager grants.
    pub slots: Option<u32>,
    /// Its time limit (seconds); `None` = the remaining time of the first job.
    pub time_limit_s: Option<u32>,
    /// Nodes that the DVM has; the new job must have others.
    pub has: Vec<String>,
}

/// The nodes that a DVM asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// This number of nodes.
    Nodes(u32),
    /// The nodes of a job that another process has got for it.
    Job(String),
}

/// The wish in words, for messages.
impl std::fmt::Display for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wish::Nodes(1) => f.write_str("1 more node"),
            Wish::Nodes(count) => write!(f, "{count} more nodes"),
            Wish::Job(job) => write!(f, "the nodes of job {job}"),
        }
    }
}

/// What the manager says of the end of a job of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobEnd {
    /// The time until then (seconds); `None` = there is no limit.
    pub left_s: Option<u64>,
    /// True for a job that ends for another one.
    pub is_preempted: bool,
    /// True for a job that is over or ends now.
    pub is_over: bool,
}

/// Nodes of one of the manager's jobs that are given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiveBack {
    /// The resource manager of the job.
    pub manager: Manager,
    /// The job.
    pub job: String,
    /// All of it, or some nodes.
    pub share: Share,
}

/// The part of a job that is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it: the job ends.
    Whole,
    /// Some nodes.
    Part {
        /// The nodes that are given back.
        leave: Vec<String>,
        /// The nodes of the DVM that stay. The job may have others; it does not end even if this is empty.
        stay: Vec<String>,
    },
}

/// Returns the name of all jobs that a DVM requests: the DVM's name, and the job in which it runs.
#[must_use]
pub fn job_name(dvm: &str, parent: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("{dvm}.of.{parent}").chars().map(plain).collect()
}
