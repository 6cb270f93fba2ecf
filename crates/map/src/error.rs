//! Why a job cannot be placed: the arithmetic, and what would work instead.

use std::fmt::Write as _;

use ferrite_types::{NodeId, ObjectKind};
use thiserror::Error;

use crate::policy::kind_word;

/// A job that cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    /// More processes than slots.
    #[error("{}", shortage(*asked, program, *free, nodes))]
    NotEnoughSlots {
        /// Processes asked for; `None` = as many as there are slots.
        asked: Option<u32>,
        /// The app's program.
        program: String,
        /// Slots free on its nodes.
        free: u32,
        /// The nodes.
        nodes: Vec<NodeSlots>,
    },
    /// More processes than `max_slots` permits, with oversubscription.
    #[error(
        "{asked} processes of {program:?} are asked for, but the limits of the nodes (max_slots) leave room for {room}; ask for fewer processes (-n {room}) or raise max_slots in the hostfile"
    )]
    MaxSlots {
        /// Processes asked for.
        asked: u32,
        /// The app's program.
        program: String,
        /// Processes that would fit.
        room: u32,
    },
    /// A mapper that is not built.
    #[error("this way of mapping is not available")]
    NoMapper,
    /// `-n 0`.
    #[error("0 processes of {program:?} are asked for; ask for at least one, or leave out -n to fill all slots")]
    NoProcesses {
        /// The app's program.
        program: String,
    },
    /// No node may be used.
    #[error("no node is left for {program:?}: {why}")]
    NoNodes {
        /// The app's program.
        program: String,
        /// What removed them.
        why: &'static str,
    },
    /// A selection that names a node that is not there: it was removed in between.
    #[error("node {} of the selection is no longer part of the allocation; submit the job again", .0.0)]
    UnknownNode(NodeId),
    /// Mapping onto objects that a node does not have.
    #[error("cannot map by {}: node {node} has none that may be used; map by something that it has (it has: {has})", kind_word(*kind))]
    MissingObject {
        /// The node.
        node: String,
        /// The kind.
        kind: ObjectKind,
        /// Kinds that it has.
        has: String,
    },
    /// Binding to objects that a node does not have.
    #[error("cannot bind to {}: node {node} has none that may be used; use --bind-to none, or --bind-to {}:if-supported", kind_word(*kind), kind_word(*kind))]
    MissingBindObject {
        /// The node.
        node: String,
        /// The kind.
        kind: ObjectKind,
    },
    /// `--map-by core --bind-to package`.
    #[error("cannot bind to {0} when mapping by {1}: a {0} is larger than a {1}; bind to {1} or something inside of it, or map by {0}", kind_word(*bind), kind_word(*map))]
    BindAboveMap {
        /// Binding.
        bind: ObjectKind,
        /// Mapping.
        map: ObjectKind,
    },
    /// `--rank-by fill` without objects.
    #[error(
        "cannot rank by {rank}: the processes are mapped by {map}, not by objects of a node; rank by slot or node, or map by core, package or another object"
    )]
    RankNeedsObjects {
        /// Ranking.
        rank: &'static str,
        /// Mapping.
        map: String,
    },
    /// `-n 8 --map-by ppr:2:node` on three nodes.
    #[error(
        "-n {asked} and ppr:{per} contradict each other for {program:?}: {units} give {total} processes; use -n {total}, leave out -n, or ask for more per object"
    )]
    PprConflict {
        /// Processes asked for.
        asked: u32,
        /// `2:node`.
        per: String,
        /// `3 nodes`.
        units: String,
        /// Processes that ppr gives.
        total: u32,
        /// The app's program.
        program: String,
    },
    /// More processes on an object than it has cores, without leave.
    #[error("cannot bind to {} on node {node}: {procs} processes, but only {free} free; use --bind-to {}:overload-allowed, --bind-to none, or fewer processes", kind_word(*kind), kind_word(*kind))]
    Overload {
        /// The node.
        node: String,
        /// Binding.
        kind: ObjectKind,
        /// Processes of this job there.
        procs: u32,
        /// What is free for them.
        free: u32,
    },
    /// A local rank has 16 bits.
    #[error("{procs} processes on node {node} are more than one node can have (65535)")]
    TooManyOnNode {
        /// The node.
        node: String,
        /// How many.
        procs: u32,
    },
}

/// What one node has and why, for the message about too few slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSlots {
    /// The node.
    pub name: String,
    /// Its slots.
    pub slots: u32,
    /// True when they were stated and not counted from cores.
    pub given: bool,
    /// Slots that running jobs use.
    pub inuse: u32,
    /// Slots that earlier apps of this job use.
    pub earlier: u32,
    /// Cap by this app's `--host` or hostfile.
    pub cap: Option<u32>,
}

/// Nodes that a message lists; the rest is a number.
const LISTED: usize = 8;

fn shortage(asked: Option<u32>, program: &str, free: u32, nodes: &[NodeSlots]) -> String {
    let mut text = match asked {
        Some(n) => format!(
            "not enough slots for {} of {program:?}: {free} {} free on {}",
            count(n, "process"),
            if free == 1 { "is" } else { "are" },
            count(nodes.len() as u32, "node")
        ),
        None => format!("not enough slots for {program:?}: none is free on {}", count(nodes.len() as u32, "node")),
    };
    for node in nodes.iter().take(LISTED) {
        let how = if node.given { "as stated" } else { "from its cores" };
        let _ = write!(text, "\n    {}: {} ({how})", node.name, count(node.slots, "slot"));
        if node.inuse > 0 {
            let _ = write!(text, ", {} in use by running jobs", node.inuse);
        }
        if node.earlier > 0 {
            let _ = write!(text, ", {} taken by other applications of this job", node.earlier);
        }
        if let Some(cap) = node.cap {
            let _ = write!(text, ", at most {cap} by --host or hostfile");
        }
    }
    if nodes.len() > LISTED {
        let _ = write!(text, "\n    ... and {} more", nodes.len() - LISTED);
    }
    text.push_str(
        "\nA node's slots are what the hostfile (slots=N) or --host (name:N) states, else the number of its cores.\n",
    );
    match free {
        0 => text.push_str("State more slots,"),
        n => {
            let _ = write!(text, "Ask for fewer processes (-n {n}), state more slots,");
        }
    }
    text.push_str(" or allow more processes than slots: --map-by :OVERSUBSCRIBE");
    text
}

pub(crate) fn count(n: u32, unit: &str) -> String {
    match (n, unit) {
        (1, _) => format!("1 {unit}"),
        (_, "process") => format!("{n} processes"),
        _ => format!("{n} {unit}s"),
    }
}
