//! The node pool: records of machines, each with its daemon.

use std::sync::Arc;

use ferrite_types::{DaemonRank, HostEntry, NodeId, NodeRecord, SlotCount, Topology};
use ferrite_wire::DaemonReport;

use crate::head::Head;
use crate::{HeadConfig, LocalNode};

/// The pool of a new DVM. When the allocation has the head's own machine, that gets the head's daemon; every other
/// wanted node gets the next rank (spec L4).
pub(in crate::head) fn pool(config: &HeadConfig, local: &LocalNode) -> Vec<NodeRecord> {
    let allocation = &config.allocation;
    let here = Arc::new(config.topology.clone().unwrap_or_else(|| local.topology.clone()));
    let mut ranks = (1..).map(DaemonRank);
    let mut daemon_of = |at: usize| {
        if allocation.head == Some(at) {
            return Some(DaemonRank::HEAD);
        }
        let wanted = allocation.needed.binary_search(&at).is_ok();
        if wanted { ranks.next() } else { None }
    };
    let entries = allocation.nodes.iter().enumerate();
    entries
        .map(|(at, entry)| {
            let local = (allocation.head == Some(at)).then_some((local, &here));
            record(at, entry, daemon_of(at), local)
        })
        .collect()
}

fn record(
    at: usize,
    entry: &HostEntry,
    daemon: Option<DaemonRank>,
    local: Option<(&LocalNode, &Arc<Topology>)>,
) -> NodeRecord {
    let (slots, slots_given) = match entry.slots {
        SlotCount::Given(slots) => (slots, true),
        SlotCount::FromCores => (0, false),
    };
    NodeRecord {
        id: NodeId(at as u32),
        name: entry.name.clone(),
        aliases: local.map(|(l, _)| l.hostname.clone()).into_iter().collect(),
        daemon,
        slots,
        slots_given,
        max_slots: entry.max_slots.unwrap_or(0),
        slots_inuse: 0,
        topology: local.map_or_else(Arc::default, |(_, topology)| topology.clone()),
    }
}

impl Head {
    /// Records a daemon's report of its machine.
    pub(super) fn learn_node(&mut self, report: DaemonReport) {
        let topology = self.shared_topology(report.topology);
        if let Some(node) = self.nodes.iter_mut().find(|n| n.daemon == Some(report.rank)) {
            node.topology = topology;
            if !node.aliases.contains(&report.hostname) {
                node.aliases.push(report.hostname);
            }
        }
    }

    /// The topology of a node for placement: that of the topology file, if one is given, else the reported one. Equal
    /// topologies share one copy.
    pub(in crate::head) fn shared_topology(&self, reported: Topology) -> Arc<Topology> {
        let topology = self.config.topology.clone().unwrap_or(reported);
        let known = self.nodes.iter().find(|n| *n.topology == topology).map(|n| n.topology.clone());
        known.unwrap_or_else(|| Arc::new(topology))
    }

    /// Sets unstated slots to the node's number of cores.
    pub(super) fn default_slots(&mut self) {
        let rule = self.slot_rule();
        for node in self.nodes.iter_mut().filter(|n| !n.slots_given) {
            node.slots = rule.count(&node.topology);
        }
    }

    pub(in crate::head) fn node_name(&self, daemon: DaemonRank) -> &str {
        let node = self.nodes.iter().find(|n| n.daemon == Some(daemon));
        // A node that comes or leaves has no daemon in its record; its campaign knows the daemon.
        let moving = || self.campaigns.open.values().find_map(|campaign| campaign.targets.get(&daemon));
        let node = node.or_else(|| moving().map(|node| self.record(*node)));
        node.map_or("of the head", |n| n.name.as_str())
    }

    /// The sum of slots of the DVM.
    pub(in crate::head) fn total_slots(&self) -> u32 {
        self.nodes.iter().filter(|n| n.daemon.is_some()).map(|n| n.slots).sum()
    }
}
