//! Configuration of a machine: everything that it gets from outside at its creation and that does not change.

use ferrite_rm::Allocation;
use ferrite_types::{EnvOp, Topology};
use ferrite_wire::{Contact, Served};

/// The host on which a daemon (or the head) runs.
#[derive(Clone, Debug)]
pub struct LocalNode {
    /// Its own host name.
    pub hostname: String,
    /// Its hardware.
    pub topology: Topology,
    /// The contact at which this daemon listens for links.
    pub contact: Contact,
    /// This daemon's pid.
    pub pid: u32,
    /// Local time at timestamp zero, in seconds since 1970: for dates in output tags.
    pub local_time_at_zero_s: i64,
}

/// The configuration of the head.
#[derive(Clone, Debug)]
pub struct HeadConfig {
    /// Name of the DVM, `<tool>-<host>-<pid>`.
    pub dvm: String,
    /// Parameters (`--prtemca` and options that stand for it); later ones win.
    pub params: Vec<(String, String)>,
    /// The nodes, and which of them get a daemon.
    pub allocation: Allocation,
    /// The topology that placement uses for every node, whatever its daemon reports (`hwloc_use_topo_file`).
    pub topology: Option<Topology>,
    /// Changes of the environment for the processes of all jobs.
    pub env: Vec<EnvOp>,
    /// Command that starts a daemon on a node (`prted`, as a path that is valid there).
    pub prted: String,
    /// The directory in which the user has started it.
    pub cwd: String,
    /// The session directory of the head.
    pub session_dir: String,
    /// True when a user sees standard error as it is written.
    pub on_terminal: bool,
    /// True when the DVM outlives its jobs (`prte`), false when it ends with the first (`prterun`).
    pub persistent: bool,
    /// Announcement for clients on other nodes; `None` = the DVM serves none.
    pub served: Option<Served>,
}
