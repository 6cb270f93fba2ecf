//! Identities. A daemon's rank and a process's rank are different types on purpose.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Position of a daemon in the routing tree; the head is 0. Append-only: a departed rank is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DaemonRank(pub u32);

impl DaemonRank {
    /// The head's rank.
    pub const HEAD: DaemonRank = DaemonRank(0);
}

/// A process's rank in its namespace (never a daemon's).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rank(pub u32);

/// A process's rank among the processes of its job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LocalRank(pub u16);

/// The number of a job in its DVM: 0 is the daemons themselves, applications count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u32);

impl JobId {
    /// The daemons' own job, which walks the state table up to `VM_READY`.
    pub const DAEMONS: JobId = JobId(0);

    /// The job's PMIx namespace, `<dvm>@<n>`, in the field's form.
    #[must_use]
    pub fn nspace(self, dvm: &str) -> String {
        format!("{dvm}@{}", self.0)
    }
}

/// The number of a session in its DVM. Requests for nodes get 1, 2 and so on; a scheduler chooses any other number.
/// The default is the DVM's own session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u32);

impl SessionId {
    /// The DVM's own session: all nodes that no other session withholds.
    pub const DVM: SessionId = SessionId(0);
    /// No session: in an order it stands for all sessions (the standard's `UINT32_MAX`).
    pub const ALL: SessionId = SessionId(u32::MAX);
}

/// Index of a machine record in the head's node pool. A node exists without a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

/// The id of an application process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcId {
    /// Its job.
    pub job: JobId,
    /// Its rank in that job.
    pub rank: Rank,
}

impl fmt::Display for DaemonRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
/// `[job,rank]`, as the field tags output.
impl fmt::Display for ProcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{}]", self.job, self.rank)
    }
}
