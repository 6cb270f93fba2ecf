//! What a machine is told at its creation: everything that comes from the outside and does not change.

use ferrite_rm::Allocation;
use ferrite_types::Topology;
use ferrite_wire::{Contact, Served};

/// The machine that a daemon (or the head) runs on.
#[derive(Clone, Debug)]
pub struct LocalNode {
    /// Its own host name.
    pub hostname: String,
    /// What it is made of.
    pub topology: Topology,
    /// Where this daemon listens for links.
    pub contact: Contact,
    /// This daemon's pid.
    pub pid: u32,
}

/// What the head is told.
#[derive(Clone, Debug)]
pub struct HeadConfig {
    /// Name of the DVM, `<tool>-<host>-<pid>`.
    pub dvm: String,
    /// Parameters (`--prtemca` and what stands for it), later ones win.
    pub params: Vec<(String, String)>,
    /// The nodes, and which of them get a daemon.
    pub allocation: Allocation,
    /// What every node is taken to be like for placement, whatever its daemon says of it (`hwloc_use_topo_file`).
    pub topology: Option<Topology>,
    /// Command that starts a daemon on a node (`prted`, as a path that is valid there).
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// Seconds since 1970, in local time, at timestamp zero: for dates in output tags.
    pub local_time_at_zero_s: i64,
    /// True when the DVM outlives its jobs (`prte`), false when it ends with the first (`prterun`).
    pub persistent: bool,
    /// What clients on other nodes are told of it; `None` = it lets none in.
    pub served: Option<Served>,
}
