//! Allocations in requests: look-ups among the sessions and the campaigns on their way.

use std::collections::BTreeSet;

use ferrite_types::{AllocId, NodeId, SessionId};

use crate::head::Head;
use crate::head::elastic::{Reason, Requester};

/// An allocation that a request names.
pub(in crate::head) struct Allocation {
    pub(in crate::head) alloc_id: AllocId,
    /// Its nodes, present or coming.
    pub(in crate::head) nodes: BTreeSet<NodeId>,
    /// Those of them that are lent: a release gives them back to their lenders.
    pub(in crate::head) lent: BTreeSet<NodeId>,
}

impl Head {
    /// The allocation of this name; the DVM's own lends nothing.
    pub(in crate::head) fn allocation(&self, name: &AllocId) -> Result<Allocation, Reason> {
        if name == self.sessions.dvm_alloc_id() {
            let (alloc_id, nodes) = (name.clone(), self.first_nodes());
            return Ok(Allocation { alloc_id, nodes, lent: BTreeSet::new() });
        }
        let session = self.sessions.allocation_named(name)?;
        let (alloc_id, nodes) = self.allocation_of(session);
        Ok(Allocation { alloc_id, nodes, lent: self.lent_to(session) })
    }

    /// True when a request about this allocation may take a node: no session withholds it but the allocation's own, or
    /// one that the requester's job has asked for (spec S8).
    pub(in crate::head) fn may_take(&self, node: NodeId, alloc_id: Option<&AllocId>, requester: Requester) -> bool {
        let own = alloc_id.and_then(|alloc_id| self.sessions.find(alloc_id));
        let is_its = |session| Some(session) == own || self.sessions.is_owned_by(session, requester);
        self.withheld_for(node).all(is_its)
    }

    /// The id of a session's allocation and its nodes. Nodes on their way count, so that a request can be cancelled
    /// before its end.
    pub(super) fn allocation_of(&self, session: SessionId) -> (AllocId, BTreeSet<NodeId>) {
        let session = self.sessions.expect(session);
        let coming =
            self.elastic.coming_to(&session.alloc_id).flat_map(|(joins, brought)| joins.nodes.iter().chain(brought));
        (session.alloc_id.clone(), coming.chain(session.nodes.all()).copied().collect())
    }

    /// Lent nodes of a session, present or coming: a release gives them back to their lenders.
    fn lent_to(&self, session: SessionId) -> BTreeSet<NodeId> {
        let session = self.sessions.expect(session);
        let brought = |node: &&NodeId| session.nodes.is_brought(**node);
        let to_bring =
            |node: &&NodeId| self.elastic.coming_to(&session.alloc_id).any(|(_, brought)| brought.contains(node));
        let joins = self.elastic.coming_to(&session.alloc_id).flat_map(|(joins, _)| &joins.nodes);
        let lent = joins.chain(session.nodes.lent()).filter(|node| !brought(node) && !to_bring(node));
        lent.copied().collect()
    }

    /// The allocation of nodes, present or coming, for an answer: that of the first node, or the DVM's own.
    pub(in crate::head) fn alloc_id_of(&self, nodes: &[NodeId]) -> AllocId {
        let of_node = |node: &NodeId| {
            let there = self.sessions.of_node(*node).map(|session| &session.alloc_id);
            there.or_else(|| self.elastic.allocation_of(*node))
        };
        nodes.first().and_then(of_node).unwrap_or(self.sessions.dvm_alloc_id()).clone()
    }
}
