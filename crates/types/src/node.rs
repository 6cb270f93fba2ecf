//! Machines: a user's description of them, and the record in the head's pool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{DaemonRank, NodeId, Topology};

/// The number of processes that a node takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotCount {
    /// Unstated: as many as the node has cores (`prte_set_default_slots`).
    #[default]
    FromCores,
    /// Stated.
    Given(u32),
}

/// One machine of an allocation as named by hostfile, `--host` or resource manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    /// Name or address.
    pub name: String,
    /// Slots.
    pub slots: SlotCount,
    /// Upper limit with oversubscription; `None` = no limit.
    pub max_slots: Option<u32>,
    /// Login name for the launcher.
    pub user: Option<String>,
    /// Port for the launcher.
    pub port: Option<u16>,
    /// The resource manager's job that grants it, in the manager's words; `None` = without a manager.
    pub rm_job: Option<String>,
}

impl HostEntry {
    /// A host of that name without further details.
    #[must_use]
    pub fn named(name: &str) -> HostEntry {
        HostEntry {
            name: name.to_owned(),
            slots: SlotCount::FromCores,
            max_slots: None,
            user: None,
            port: None,
            rm_job: None,
        }
    }
}

/// One item of `--host` or of a hostfile used as a filter on an allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostRef {
    /// A host by name, with what was said of its slots.
    Host(HostEntry),
    /// `+nK`: the K-th node of the allocation, from 0.
    Relative(u32, SlotCount),
    /// `+e` or `+e:N`: all, or N, nodes on which nothing runs.
    Empty(Option<u32>),
    /// `^name`: all nodes but this one.
    Exclude(String),
}

/// The nodes that one app context may use. Empty = all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSelection {
    /// From the app's own hostfile, already read and parsed.
    pub hostfile: Vec<HostRef>,
    /// From the app's `--host`.
    pub hosts: Vec<HostRef>,
}

impl HostSelection {
    /// True when nothing is selected: the app may use all nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hostfile.is_empty() && self.hosts.is_empty()
    }
}

/// A node that an app context may use, after its [`HostSelection`] was applied to the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShare {
    /// The node.
    pub node: NodeId,
    /// The limit of its slots for this job only; `None` = all of them.
    pub cap: Option<u32>,
}

/// A machine in the head's pool. It exists without a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// Its index in the pool.
    pub id: NodeId,
    /// Its name as the user knows it.
    pub name: String,
    /// Other names under which it may be asked for (its own host name, addresses).
    pub aliases: Vec<String>,
    /// Its daemon, once a campaign has given it one.
    pub daemon: Option<DaemonRank>,
    /// Slots; known at the latest when its daemon has reported its cores.
    pub slots: u32,
    /// True when slots were stated and not derived from cores.
    pub slots_given: bool,
    /// Upper limit with oversubscription; 0 = no limit.
    pub max_slots: u32,
    /// Slots in use by running jobs.
    pub slots_inuse: u32,
    /// The topology that its daemon has reported; shared between equal nodes.
    pub topology: Arc<Topology>,
}
