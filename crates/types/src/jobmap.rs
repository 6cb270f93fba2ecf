//! The job map, the result of placement: the node and binding of each process.

mod column;
mod names;
mod packed;

use serde::{Deserialize, Serialize};

use crate::resources::Amounts;
use crate::{CpuSet, DaemonRank, LocalRank, NodeId, Rank, RankSet};

/// One node of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNode {
    /// Its record in the head's pool.
    pub id: NodeId,
    /// Its daemon.
    pub daemon: DaemonRank,
    /// Its name.
    pub name: String,
}

/// The place of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Index into [`JobMap::nodes`].
    pub node: u32,
    /// Index of its app context.
    pub app: u16,
    /// Rank among the processes of this job on the node.
    pub local_rank: LocalRank,
    /// Rank among all processes of the DVM on the node.
    pub node_rank: LocalRank,
    /// Hardware threads to which it is bound; `None` = not bound.
    pub cpus: Option<CpuSet>,
    /// Devices that it has, as positions in its node's [`Topology::devices`](crate::Topology::devices).
    pub devices: Vec<u16>,
}

/// The placement policies of an app, in the field's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementTexts {
    /// The mapper: `round_robin`, `ppr`, `seq`, `rank_file`.
    pub mapper: String,
    /// Mapping policy, e.g. `BYCORE:NOOVERSUBSCRIBE`.
    pub map_by: String,
    /// Ranking policy, e.g. `SLOT`.
    pub rank_by: String,
    /// Binding policy, e.g. `CORE:IF-SUPPORTED`.
    pub bind_to: String,
    /// The text of `ppr`, like `2:node`; `None` = mapped otherwise.
    pub ppr: Option<String>,
    /// The list of `pe-list`.
    pub cpu_set: Option<String>,
    /// Processors for each process, when asked for (`PE=n`).
    pub cpus_per_rank: Option<u16>,
    /// Hardware threads, not cores, count as processors.
    pub hwthreads: bool,
    /// True when the processors of a binding are exclusive: no process of another job is bound there.
    pub exclusive: bool,
    /// True when processes of other jobs may have the same devices (`device=...:SHARED`).
    pub shares_devices: bool,
    /// What each process takes of its node, or of the DVM, besides a slot.
    pub takes: Amounts,
}

/// A mapped job. The position in `procs` is the rank. The serialized form is packed: equal data of nodes are written
/// once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobMap {
    /// The nodes that host at least one process, in the order of mapping.
    pub nodes: Vec<JobNode>,
    /// One entry per rank.
    pub procs: Vec<Placement>,
    /// One for the whole job, or one for each app.
    pub policies: Vec<PlacementTexts>,
    /// True when more processes than slots were permitted.
    pub oversubscribe: bool,
    /// Slots of the allocation at the time of the mapping.
    pub total_slots: u32,
    /// What the job takes as a whole of what all nodes of the DVM share.
    pub takes: Amounts,
}

impl JobMap {
    /// The most processes of one map: about a gigabyte of memory in every daemon of the job.
    pub const MAX_PROCS: usize = 1 << 24;
    /// The most nodes of one map.
    const MAX_NODES: usize = 1 << 20;

    /// The policies of an app; `None` for a map without any.
    #[must_use]
    pub fn policy(&self, app: u16) -> Option<&PlacementTexts> {
        self.policies.get(usize::from(app)).or_else(|| self.policies.first())
    }

    /// Daemons that host a process of this job.
    #[must_use]
    pub fn daemons(&self) -> RankSet {
        self.nodes.iter().map(|n| n.daemon).collect()
    }

    /// The ranks that a daemon hosts, ascending, with their placements.
    pub fn on_daemon(&self, daemon: DaemonRank) -> impl Iterator<Item = (Rank, &Placement)> {
        let at = self.nodes.iter().position(|n| n.daemon == daemon).map(|i| i as u32);
        self.ranks().filter(move |(_, p)| Some(p.node) == at)
    }

    /// All ranks, ascending, with their placements.
    pub fn ranks(&self) -> impl Iterator<Item = (Rank, &Placement)> {
        self.procs.iter().enumerate().map(|(rank, p)| (Rank(rank as u32), p))
    }

    /// The daemon that hosts a rank.
    #[must_use]
    pub fn daemon_of(&self, rank: Rank) -> Option<DaemonRank> {
        self.node_of(rank).map(|n| n.daemon)
    }

    /// The node that hosts a rank.
    #[must_use]
    pub fn node_of(&self, rank: Rank) -> Option<&JobNode> {
        let placement = self.procs.get(rank.0 as usize)?;
        self.nodes.get(placement.node as usize)
    }
}
