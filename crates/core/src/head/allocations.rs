//! Allocations that requests have made: which nodes came with which, so that they can be extended and given back.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::NodeId;

/// All allocations but the DVM's first, by their id.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    known: BTreeMap<String, Allocation>,
    last: u32,
}

/// Nodes that were asked for together.
#[derive(Clone, Debug, Default)]
pub(super) struct Allocation {
    /// The name that the requester gave it.
    pub(super) req_id: Option<String>,
    pub(super) nodes: BTreeSet<NodeId>,
}

impl Allocations {
    /// An id that nobody has had yet.
    pub(super) fn new_id(&mut self) -> String {
        self.last += 1;
        format!("a{}", self.last)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Allocation> {
        self.known.get(id)
    }

    /// Nodes have come.
    pub(super) fn add(&mut self, id: &str, req_id: Option<&String>, nodes: impl IntoIterator<Item = NodeId>) {
        let allocation = self.known.entry(id.to_owned()).or_default();
        if allocation.req_id.is_none() {
            allocation.req_id = req_id.cloned();
        }
        allocation.nodes.extend(nodes);
    }

    /// Nodes are gone, and with the last one its allocation.
    pub(super) fn remove(&mut self, nodes: &[NodeId]) {
        for allocation in self.known.values_mut() {
            allocation.nodes.retain(|node| !nodes.contains(node));
        }
        self.known.retain(|_, allocation| !allocation.nodes.is_empty());
    }

    /// The allocation that a node came with.
    pub(super) fn of_node(&self, node: NodeId) -> Option<&str> {
        self.known.iter().find(|(_, allocation)| allocation.nodes.contains(&node)).map(|(id, _)| id.as_str())
    }
}
