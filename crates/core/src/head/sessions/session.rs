//! One session: its nodes, what it depends on, and how far it is.

use std::collections::BTreeSet;

use ferrite_types::{AllocId, AllocReqId, NodeId, SessionId};
use ferrite_wire::control::Submission;
use ferrite_wire::{Inheritance, SessionTerms};

use super::owners::Owner;
use super::time_limits::SessionTime;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) alloc_id: AllocId,
    /// The requester's name for it.
    pub(super) req_id: Option<AllocReqId>,
    pub(super) nodes: Nodes,
    /// The session in which the request was made; this one ends with it.
    pub(super) parent: Option<SessionId>,
    /// The job or tool that owns it; it ends with its owner.
    pub(super) owner: Option<Owner>,
    pub(super) inheritance: Inheritance,
    pub(super) paused: bool,
    pub(super) time: SessionTime,
    phase: Phase,
}

/// The nodes of a session.
#[derive(Debug)]
pub(super) enum Nodes {
    /// Those of its own allocation.
    Own {
        /// All of them.
        all: BTreeSet<NodeId>,
        /// Those that were there before the session. They stay after it, with the session that has brought them, if
        /// any.
        lent: BTreeSet<NodeId>,
        /// True when they are withheld from jobs of other sessions.
        reserved: bool,
    },
    /// Those of another session's allocation, or of the DVM: they stay there.
    Shared(BTreeSet<NodeId>),
}

/// The progress of a session.
#[derive(Debug)]
enum Phase {
    /// Its nodes are on their way.
    Coming {
        /// The job that starts when they are there.
        first_job: Option<Box<Submission>>,
    },
    /// Its nodes have come.
    There,
}

impl Session {
    /// A session whose nodes are on their way.
    pub(super) fn coming(alloc_id: AllocId, req_id: Option<AllocReqId>, first_job: Option<Box<Submission>>) -> Session {
        let nodes = Nodes::Own { all: BTreeSet::new(), lent: BTreeSet::new(), reserved: false };
        Session { phase: Phase::Coming { first_job }, ..Session::on(nodes, alloc_id, req_id) }
    }

    /// A session on nodes of another one, or of the DVM.
    pub(super) fn sharing(nodes: BTreeSet<NodeId>, alloc_id: AllocId, req_id: Option<AllocReqId>) -> Session {
        Session::on(Nodes::Shared(nodes), alloc_id, req_id)
    }

    fn on(nodes: Nodes, alloc_id: AllocId, req_id: Option<AllocReqId>) -> Session {
        Session {
            alloc_id,
            req_id,
            nodes,
            parent: None,
            owner: None,
            inheritance: Inheritance::Default,
            paused: false,
            time: SessionTime::default(),
            phase: Phase::There,
        }
    }

    /// True for a session whose nodes belong to another one, or to the DVM.
    pub(super) fn shares(&self) -> bool {
        matches!(self.nodes, Nodes::Shared(_))
    }

    /// Sets the inheritance from the terms.
    pub(super) fn set_heirs(&mut self, terms: &SessionTerms) {
        self.inheritance = terms.inheritance.unwrap_or(self.inheritance);
        if terms.separate {
            self.parent = None;
        }
    }

    /// Notes that its nodes have come. Returns the job that starts now.
    pub(super) fn arrive(&mut self) -> Option<Box<Submission>> {
        match std::mem::replace(&mut self.phase, Phase::There) {
            Phase::Coming { first_job } => first_job,
            Phase::There => None,
        }
    }
}

impl Nodes {
    pub(super) fn all(&self) -> &BTreeSet<NodeId> {
        match self {
            Nodes::Own { all, .. } | Nodes::Shared(all) => all,
        }
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.all().contains(&node)
    }

    /// Nodes that were there before the session.
    pub(super) fn lent(&self) -> impl Iterator<Item = &NodeId> {
        let lent = match self {
            Nodes::Own { lent, .. } => Some(lent),
            Nodes::Shared(_) => None,
        };
        lent.into_iter().flatten()
    }

    /// True for a node that was there before the session.
    pub(super) fn is_lent(&self, node: NodeId) -> bool {
        matches!(self, Nodes::Own { lent, .. } if lent.contains(&node))
    }

    /// True for a node that came for this session.
    pub(super) fn is_brought(&self, node: NodeId) -> bool {
        matches!(self, Nodes::Own { all, lent, .. } if all.contains(&node) && !lent.contains(&node))
    }

    /// True when they are withheld from jobs of other sessions.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(self, Nodes::Own { reserved: true, .. })
    }

    /// True for a node that is withheld from jobs of other sessions.
    pub(super) fn withholds(&self, node: NodeId) -> bool {
        self.is_reserved() && self.has(node)
    }

    /// Reserves nodes of an own allocation, or gives them free. Shared nodes are their owner's to reserve.
    pub(super) fn set_reserved(&mut self, is_reserved: bool) {
        match self {
            Nodes::Own { reserved, .. } => *reserved = is_reserved,
            Nodes::Shared(_) => {}
        }
    }

    /// Adds nodes; of an own allocation those are lent that did not come for it.
    pub(super) fn add(&mut self, nodes: impl IntoIterator<Item = NodeId>, came: &BTreeSet<NodeId>) {
        match self {
            Nodes::Own { all, lent, .. } => {
                for node in nodes {
                    all.insert(node);
                    if !came.contains(&node) {
                        lent.insert(node);
                    }
                }
            }
            Nodes::Shared(all) => all.extend(nodes),
        }
    }

    pub(super) fn remove(&mut self, is_gone: impl Fn(&NodeId) -> bool) {
        match self {
            Nodes::Own { all, lent, .. } => {
                all.retain(|node| !is_gone(node));
                lent.retain(|node| !is_gone(node));
            }
            Nodes::Shared(all) => all.retain(|node| !is_gone(node)),
        }
    }
}
