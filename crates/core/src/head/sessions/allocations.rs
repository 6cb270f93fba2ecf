//! Allocations in requests: look-ups among the sessions and the campaigns on their way. Only a release of lent nodes
//! changes anything.

use std::collections::BTreeSet;

use ferrite_types::{NodeId, SessionId};

use crate::cx::Cx;
use crate::head::Head;

impl Head {
    /// The id of a session's allocation and its nodes. Nodes on their way count, so that a request can be cancelled
    /// before its end.
    pub(in crate::head) fn allocation_of(&self, session: SessionId) -> (String, BTreeSet<NodeId>) {
        let session = self.sessions.expect(session);
        let joining = self.elastic.coming_to(&session.alloc_id).flat_map(|joins| &joins.nodes);
        let nodes = joining.chain(session.nodes.all()).copied().chain(self.elastic.brought_to(&session.alloc_id));
        (session.alloc_id.clone(), nodes.collect())
    }

    /// Lent nodes of a session, present or coming: a release gives them back to their lenders.
    pub(in crate::head) fn lent_to(&self, session: SessionId) -> BTreeSet<NodeId> {
        let session = self.sessions.expect(session);
        let brought = |node: &&NodeId| session.nodes.is_brought(**node);
        let to_bring = |node: &&NodeId| self.elastic.brings(&session.alloc_id, **node);
        let joins = self.elastic.coming_to(&session.alloc_id).flat_map(|joins| &joins.nodes);
        let lent = joins.chain(session.nodes.lent()).filter(|node| !brought(node) && !to_bring(node));
        lent.copied().collect()
    }

    /// Releases lent nodes, which takes effect at once (spec S16).
    pub(in crate::head) fn return_lent(&mut self, alloc_id: &str, nodes: &BTreeSet<NodeId>, cx: &mut Cx) {
        if !nodes.is_empty() {
            self.sessions.return_lent(alloc_id, nodes);
            self.sweep_sessions(cx);
            self.serve_queue(cx);
        }
    }

    /// The allocation of nodes, present or coming, for an answer: that of the first node, or the DVM's own.
    pub(in crate::head) fn alloc_id_of(&self, nodes: &[NodeId]) -> String {
        let of_node = |node: &NodeId| {
            let there = self.sessions.of_node(*node).map(|session| session.alloc_id.as_str());
            there.or_else(|| self.elastic.allocation_of(*node))
        };
        nodes.first().and_then(of_node).unwrap_or(&self.config.dvm).to_owned()
    }
}
