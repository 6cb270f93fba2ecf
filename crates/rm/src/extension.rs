//! What a DVM asks of its resource manager while it runs, and gives back, as values. Decided by the head; put into the
//! manager's words by the manager's own module ([`crate::managers::slurm`]), and carried out by the driver.

use crate::managers::Manager;

/// More nodes for a DVM whose nodes are those of a manager's job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAsk {
    /// The resource manager.
    pub manager: Manager,
    /// The DVM's first job, whose shape and end the new one has.
    pub parent: String,
    /// Name of the new job: all jobs of a DVM have one name, by which they can be ended.
    pub name: String,
    /// What.
    pub wish: Wish,
    /// The queue that new nodes come from; `None` = that of the first job.
    pub queue: Option<String>,
    /// Slots that each is to have; `None` = as many as the manager gives it processors.
    pub slots: Option<u32>,
    /// Its time limit, whatever remains of the first job's.
    pub time_limit_s: Option<u32>,
    /// Nodes that the DVM has: what is granted twice is no more.
    pub has: Vec<String>,
}

/// The nodes that a DVM asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// So many.
    Nodes(u32),
    /// The nodes of a job that another process has got for it.
    Job(String),
}

/// Of a manager, in words.
impl std::fmt::Display for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wish::Nodes(1) => f.write_str("1 more node"),
            Wish::Nodes(count) => write!(f, "{count} more nodes"),
            Wish::Job(job) => write!(f, "the nodes of job {job}"),
        }
    }
}

/// Nodes of one job of a manager that go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiveBack {
    /// The resource manager of the job.
    pub manager: Manager,
    /// The job.
    pub job: String,
    /// All of it, or some nodes.
    pub share: Share,
}

/// The part of a job that goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it: the job ends.
    Whole,
    /// Some nodes.
    Part {
        /// The nodes that go.
        leave: Vec<String>,
        /// The nodes of the DVM that stay. The job may have others; it does not end even if this is empty.
        stay: Vec<String>,
    },
}

/// The name of all jobs that a DVM asks for: its own, and that of the job in which it lives.
#[must_use]
pub fn job_name(dvm: &str, parent: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("{dvm}.of.{parent}").chars().map(plain).collect()
}
