//! The node pool: records of machines, each with its daemon. It belongs to this wing; the others ask it, and change it
//! by its verbs.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrite_map::{Alike, DefaultSlots, Occupancy, Overcommitted};
use ferrite_rm::name::{self, NameIndex};
use ferrite_rm::params::Params;
use ferrite_rm::{Nodes, Source};
use ferrite_types::{
    DaemonRank, HostEntry, HostRef, JobMap, NodeId, NodeRecord, ObjectKind, Rank, RankSet, SlotCount, Topology,
};
use ferrite_wire::SlotChange;

use crate::head::Head;
use crate::{HeadConfig, LocalNode};

/// The node pool of a DVM: every machine that it has, has had, or was asked to have.
#[derive(Debug)]
pub(in crate::head) struct Pool {
    /// In the order of the allocation; a node keeps its place for ever.
    nodes: Vec<NodeRecord>,
    /// The entries by which the nodes are reached, in the same order.
    hosts: Vec<HostEntry>,
    /// The nodes by their names, and by the names that their daemons have reported.
    names: NameIndex,
    /// The slots of the nodes with a daemon; empty = one of them has changed in another way than by a claim since they
    /// were counted.
    slots: OnceCell<Slots>,
    /// The nodes of the daemons.
    daemons: BTreeMap<DaemonRank, NodeId>,
    /// Nodes outside the DVM: given back, or never come.
    outside: BTreeSet<NodeId>,
    /// Nodes whose daemons were lost and have not come again.
    lost: BTreeSet<NodeId>,
    /// Nodes inside the DVM without a daemon.
    without_daemon: BTreeSet<NodeId>,
    /// The number of times that daemons have left or were lost.
    departures: u64,
    /// The number of nodes with which the DVM began.
    initial: u32,
    /// The topology of every node, if a topology file is given.
    given: Option<Arc<Topology>>,
    /// The slots of a node for which none are stated.
    rule: DefaultSlots,
    /// The whole name of a host counts (`prte_keep_fqdn_hostnames`).
    keep_fqdn: bool,
    /// Numbers name nodes as well, as in a resource manager's allocation.
    by_number: bool,
}

/// The slots of the nodes with a daemon. A claim or a release changes them; they are not counted again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Slots {
    all: u32,
    /// Those in use, also the processes beyond the slots of a node.
    used: u32,
    free: u32,
    /// The nodes with free slots.
    free_nodes: BTreeSet<NodeId>,
    /// Nodes whose slots may be counted by their hardware threads, because the machine shows no cores.
    without_cores: u32,
    /// All machines are equal.
    is_uniform: bool,
}

impl Slots {
    fn of(nodes: &[NodeRecord]) -> Slots {
        let mut slots = Slots { is_uniform: true, ..Slots::default() };
        let lacks_cores = |machine: &Topology| machine.of_kind(ObjectKind::Core).is_empty();
        // Most machines are like the first, and a look at one takes long.
        let mut first = None;
        for node in nodes.iter().filter(|node| node.daemon.is_some()) {
            slots.all += node.slots;
            slots.used += used_on(node);
            slots.free += free_on(node);
            if free_on(node) > 0 {
                slots.free_nodes.insert(node.id);
            }
            let machine = &node.topology;
            let (of_first, first_lacks) = *first.get_or_insert_with(|| (machine, lacks_cores(machine)));
            let is_like_first = Arc::ptr_eq(of_first, machine);
            slots.without_cores += u32::from(if is_like_first { first_lacks } else { lacks_cores(machine) });
            slots.is_uniform &= is_like_first;
        }
        slots
    }

    /// Notes that other slots of a node are in use and free than before.
    fn change(&mut self, node: &NodeRecord, (used, free): (u32, u32)) {
        self.used = self.used - used + used_on(node);
        self.free = self.free - free + free_on(node);
        match free_on(node) {
            0 => self.free_nodes.remove(&node.id),
            _ => self.free_nodes.insert(node.id),
        };
    }
}

/// The slots in use on a node, which counts for nothing without a daemon.
fn used_on(node: &NodeRecord) -> u32 {
    node.daemon.map_or(0, |_| node.slots_inuse)
}

/// The free slots of a node, which has none without a daemon.
fn free_on(node: &NodeRecord) -> u32 {
    node.daemon.map_or(0, |_| node.slots.saturating_sub(node.slots_inuse))
}

impl Pool {
    /// The pool of a new DVM. When the allocation has the head's own machine, that gets the head's daemon; every other
    /// wanted node gets the next rank (spec L4).
    pub(in crate::head) fn of_allocation(config: &HeadConfig, local: &LocalNode, params: &Params) -> Pool {
        let allocation = &config.allocation;
        let given = config.topology.clone().map(Arc::new);
        let here = given.clone().unwrap_or_else(|| Arc::new(local.topology.clone()));
        let mut ranks = (1..).map(DaemonRank);
        let mut daemon_of = |at: usize| {
            if allocation.head == Some(at) {
                return Some(DaemonRank::HEAD);
            }
            let wanted = allocation.needed.binary_search(&at).is_ok();
            if wanted { ranks.next() } else { None }
        };
        let nodes = allocation.nodes.iter().enumerate().map(|(at, entry)| {
            let local = (allocation.head == Some(at)).then_some((local, &here));
            record(at, entry, daemon_of(at), local)
        });
        let rule = params.text("prte_set_default_slots").ok().flatten();
        let mut nodes: Vec<NodeRecord> = nodes.collect();
        if params.flag("prte_set_default_slots_override").unwrap_or(false) {
            nodes.iter_mut().for_each(|node| node.slots_given = false);
        }
        let keep_fqdn = params.flag("prte_keep_fqdn_hostnames").unwrap_or(false);
        Pool {
            names: NameIndex::of(&nodes, keep_fqdn),
            slots: OnceCell::new(),
            without_daemon: nodes.iter().filter(|node| node.daemon.is_none()).map(|node| node.id).collect(),
            departures: 0,
            daemons: nodes.iter().filter_map(|node| Some((node.daemon?, node.id))).collect(),
            nodes,
            hosts: allocation.nodes.clone(),
            outside: BTreeSet::new(),
            lost: BTreeSet::new(),
            initial: allocation.nodes.len() as u32,
            given,
            rule: rule.and_then(|text| text.parse().ok()).unwrap_or_default(),
            keep_fqdn,
            by_number: matches!(allocation.source, Source::Managed { .. }),
        }
    }

    /// All records, in the order of the allocation.
    pub(in crate::head) fn records(&self) -> &[NodeRecord] {
        &self.nodes
    }

    /// The record of a node. Nodes are never removed, so every id has one.
    pub(in crate::head) fn record(&self, node: NodeId) -> &NodeRecord {
        &self.nodes[node.0 as usize]
    }

    fn record_mut(&mut self, node: NodeId) -> &mut NodeRecord {
        &mut self.nodes[node.0 as usize]
    }

    pub(in crate::head) fn names(&self, nodes: &[NodeId]) -> Vec<String> {
        nodes.iter().map(|node| self.record(*node).name.clone()).collect()
    }

    /// The entry by which a node is reached.
    pub(in crate::head) fn host(&self, node: NodeId) -> &HostEntry {
        &self.hosts[node.0 as usize]
    }

    /// True for a node that was given back or has never come.
    pub(in crate::head) fn is_outside(&self, node: NodeId) -> bool {
        self.outside.contains(&node)
    }

    /// True for a node whose daemon was lost.
    pub(super) fn is_lost(&self, node: NodeId) -> bool {
        self.lost.contains(&node)
    }

    /// Nodes that belong to the DVM, with a daemon or without.
    pub(in crate::head) fn inside(&self) -> impl Iterator<Item = &NodeRecord> {
        self.nodes.iter().filter(|node| !self.outside.contains(&node.id))
    }

    /// The number of these nodes.
    pub(in crate::head) fn size_inside(&self) -> u32 {
        self.size() + self.without_daemon().len() as u32
    }

    /// Nodes that belong to the DVM and have no daemon, in the order of the allocation.
    pub(in crate::head) fn without_daemon(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        debug_assert!(
            self.without_daemon.iter().eq(self.inside().filter(|node| node.daemon.is_none()).map(|node| &node.id)),
            "each change is noted"
        );
        self.without_daemon.iter().copied()
    }

    /// Grows each time that daemons leave or are lost.
    pub(in crate::head) fn departures(&self) -> u64 {
        self.departures
    }

    /// True for a node with which the DVM began.
    pub(in crate::head) fn is_initial(&self, node: NodeId) -> bool {
        node.0 < self.initial
    }

    /// Nodes with a daemon.
    pub(in crate::head) fn up(&self) -> impl Iterator<Item = &NodeRecord> {
        self.nodes.iter().filter(|node| node.daemon.is_some())
    }

    /// The number of these nodes.
    pub(in crate::head) fn size(&self) -> u32 {
        self.daemons.len() as u32
    }

    /// Their slots.
    pub(in crate::head) fn slots(&self) -> u32 {
        self.counted().all
    }

    /// Their slots in use.
    pub(in crate::head) fn used_slots(&self) -> u32 {
        self.counted().used
    }

    /// Their free slots.
    pub(in crate::head) fn free_slots(&self) -> u32 {
        self.counted().free
    }

    /// True when no job that needs a free slot for each process can be placed.
    pub(in crate::head) fn is_full(&self) -> bool {
        let slots = self.counted();
        slots.free == 0 && slots.without_cores == 0
    }

    /// The nodes with free slots; `None` = the machines differ (spec L144).
    pub(in crate::head) fn alike(&self) -> Option<Alike<'_>> {
        let slots = self.counted();
        slots.is_uniform.then_some(Alike { free: &slots.free_nodes, slots: slots.all, start: None })
    }

    fn counted(&self) -> &Slots {
        let slots = self.slots.get_or_init(|| Slots::of(&self.nodes));
        debug_assert_eq!(*slots, Slots::of(&self.nodes), "each change is noted");
        slots
    }

    /// Has the slots counted again: nodes have come or gone, or have other slots.
    fn recount(&mut self) {
        self.slots.take();
    }

    /// Changes what these nodes have in use.
    fn use_slots<T>(&mut self, nodes: impl Iterator<Item = NodeId>, change: impl FnOnce(&mut [NodeRecord]) -> T) -> T {
        let has = |node| (used_on(self.record(node)), free_on(self.record(node)));
        let before: BTreeMap<NodeId, (u32, u32)> = nodes.map(|node| (node, has(node))).collect();
        let changed = change(&mut self.nodes);
        if let Some(slots) = self.slots.get_mut() {
            before.into_iter().for_each(|(node, before)| slots.change(&self.nodes[node.0 as usize], before));
        }
        changed
    }

    /// The node of a daemon that is part of the DVM.
    pub(in crate::head) fn node_of(&self, daemon: DaemonRank) -> Option<&NodeRecord> {
        self.daemons.get(&daemon).map(|node| self.record(*node))
    }

    /// The daemons of the set that still belong to a node.
    pub(in crate::head) fn reachable(&self, daemons: &RankSet) -> RankSet {
        daemons.iter().filter(|rank| self.daemons.contains_key(rank)).collect()
    }

    /// All nodes with their names, when these are their records.
    pub(in crate::head) fn named_as<'a>(&'a self, records: &'a [NodeRecord]) -> Nodes<'a> {
        Nodes { records, names: &self.names, by_number: self.by_number }
    }

    /// True when two names are of the same host.
    pub(in crate::head) fn same_host(&self, a: &str, b: &str) -> bool {
        name::same_host(a, b, self.keep_fqdn)
    }

    /// The node of that name; it may have been given back.
    pub(in crate::head) fn find(&self, host: &str) -> Option<NodeId> {
        let named = self.names.find(host).map(|at| NodeId(at as u32));
        let head = || self.daemons.get(&DaemonRank::HEAD).copied().filter(|_| name::is_loopback(host));
        named.or_else(head)
    }

    /// The node that a number means in a resource manager's allocation.
    fn numbered(&self, host: &str) -> Option<NodeId> {
        let at = name::numbered(host, self.nodes.len()).filter(|_| self.by_number)?;
        Some(self.nodes[at].id)
    }

    /// The node that an item of a host list names.
    pub(in crate::head) fn named(&self, item: &HostRef) -> Option<NodeId> {
        match item {
            HostRef::Host(entry) => self.find(&entry.name).or_else(|| self.numbered(&entry.name)),
            HostRef::Relative(at, _) => self.nodes.get(*at as usize).map(|node| node.id),
            HostRef::Empty(_) | HostRef::Exclude(_) => None,
        }
    }

    /// Takes a host of a request in: a known node that was outside gets the new entry.
    pub(in crate::head) fn admit(&mut self, host: &HostEntry, known: Option<NodeId>, local: &LocalNode) -> NodeId {
        match known {
            Some(node) => {
                self.readmit(node, host);
                node
            }
            None => self.add(host, local),
        }
    }

    /// Adds a host, which is outside until a daemon comes there. The head's machine has its daemon, even outside the
    /// allocation.
    fn add(&mut self, host: &HostEntry, local: &LocalNode) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let here = self.same_host(&local.hostname, &host.name);
        self.nodes.push(NodeRecord {
            id,
            name: host.name.clone(),
            aliases: Vec::new(),
            daemon: here.then_some(DaemonRank::HEAD),
            slots: 0,
            slots_given: false,
            max_slots: host.max_slots.unwrap_or(0),
            slots_inuse: 0,
            topology: if here { self.shared_topology(&local.topology) } else { Arc::default() },
        });
        self.names.add(&host.name, id.0 as usize);
        self.hosts.push(host.clone());
        if here {
            self.daemons.insert(DaemonRank::HEAD, id);
            self.recount();
        } else {
            self.outside.insert(id);
        }
        id
    }

    /// Gives a node that was outside a new entry; the job of the resource manager that it belongs to stays.
    fn readmit(&mut self, node: NodeId, host: &HostEntry) {
        let rm_job = self.hosts[node.0 as usize].rm_job.take();
        self.hosts[node.0 as usize] = HostEntry { rm_job, ..host.clone() };
        self.record_mut(node).max_slots = host.max_slots.unwrap_or(0);
    }

    /// Takes in a host that the resource manager has granted: a known node gets the new entry.
    pub(in crate::head) fn admit_granted(&mut self, host: HostEntry, local: &LocalNode) -> NodeId {
        match self.find(&host.name) {
            Some(node) => {
                self.hosts[node.0 as usize] = host;
                node
            }
            None => self.add(&host, local),
        }
    }

    /// Notes that nodes do not belong to the DVM any more.
    pub(in crate::head) fn put_outside(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        for node in nodes {
            self.without_daemon.remove(&node);
            self.outside.insert(node);
        }
    }

    /// Notes that a daemon has become part of the DVM.
    pub(in crate::head) fn come(&mut self, node: NodeId, daemon: DaemonRank) {
        self.recount();
        if let Some(former) = self.record_mut(node).daemon.replace(daemon) {
            self.departures += 1;
            self.daemons.remove(&former);
        }
        self.daemons.insert(daemon, node);
        self.lost.remove(&node);
        self.without_daemon.remove(&node);
        self.outside.remove(&node);
    }

    /// Notes that the daemon of a node was ordered to leave.
    pub(in crate::head) fn leave(&mut self, node: NodeId) {
        self.recount();
        if let Some(daemon) = self.record_mut(node).daemon.take() {
            self.departures += 1;
            self.daemons.remove(&daemon);
            self.note_without_daemon(node);
        }
    }

    /// Notes that daemons were lost.
    pub(super) fn lose(&mut self, daemons: &RankSet) {
        self.recount();
        self.departures += 1;
        for daemon in daemons.iter() {
            if let Some(node) = self.daemons.remove(&daemon) {
                self.record_mut(node).daemon = None;
                self.lost.insert(node);
                self.note_without_daemon(node);
            }
        }
    }

    /// Notes that a node has no daemon any more.
    fn note_without_daemon(&mut self, node: NodeId) {
        if !self.outside.contains(&node) {
            self.without_daemon.insert(node);
        }
    }

    /// Notes the report of a daemon about its machine.
    pub(super) fn learn(&mut self, node: NodeId, hostname: String, topology: &Topology) {
        self.recount();
        let topology = self.shared_topology(topology);
        let record = self.record_mut(node);
        record.topology = topology;
        if !record.aliases.contains(&hostname) {
            record.aliases.push(hostname.clone());
            self.names.add(&hostname, node.0 as usize);
        }
    }

    /// The topology of a node for placement: that of the topology file, if one is given, else the reported one. Equal
    /// topologies share one copy.
    fn shared_topology(&self, reported: &Topology) -> Arc<Topology> {
        let known = || self.nodes.iter().find(|node| *node.topology == *reported).map(|node| node.topology.clone());
        self.given.clone().or_else(known).unwrap_or_else(|| Arc::new(reported.clone()))
    }

    /// Gives each node the topology of this machine, or of the topology file, as if its daemon had reported it. A
    /// made-up node takes no more processes than it has processors, unless the user says so.
    pub(in crate::head) fn pretend(&mut self, here: &Topology, is_made_up: bool) {
        let here = self.shared_topology(here);
        let most = self.rule.count(&here);
        self.recount();
        for (node, entry) in self.nodes.iter_mut().zip(&self.hosts) {
            node.topology = here.clone();
            if is_made_up && entry.max_slots.is_none() {
                node.max_slots = most;
            }
        }
    }

    /// Sets unstated slots to what the rule gives each node.
    pub(super) fn default_slots(&mut self) {
        self.recount();
        for node in self.nodes.iter_mut().filter(|node| !node.slots_given) {
            node.slots = self.rule.count(&node.topology);
        }
    }

    /// The slots of a machine for which none are stated.
    pub(in crate::head) fn usual_slots(&self, topology: &Topology) -> u32 {
        self.rule.count(topology)
    }

    /// Changes slots as requested. An adjustment of a node that comes is relative to the slots that its daemon
    /// reports (spec E25).
    pub(in crate::head) fn change_slots(&mut self, changes: &[(NodeId, SlotChange)]) {
        self.recount();
        for (id, change) in changes {
            let node = &mut self.nodes[id.0 as usize];
            if !node.slots_given {
                node.slots = self.rule.count(&node.topology);
            }
            match change {
                SlotChange::Unstated => {}
                SlotChange::Set(slots) => (node.slots, node.slots_given) = (*slots, true),
                SlotChange::Adjust(by) => {
                    (node.slots, node.slots_given) = (node.slots.saturating_add_signed(*by).max(1), true);
                }
            }
        }
    }

    /// Claims the slots of a mapped job.
    pub(in crate::head) fn claim(&mut self, used: &mut Occupancy, map: &JobMap) -> Result<(), Overcommitted> {
        self.use_slots(nodes_of(map), |nodes| used.claim(nodes, map))
    }

    /// Releases the slots of a mapped job.
    pub(in crate::head) fn release(&mut self, used: &mut Occupancy, map: &JobMap) {
        self.use_slots(nodes_of(map), |nodes| used.release(nodes, map));
    }

    /// Releases what some processes of a job use.
    pub(in crate::head) fn release_some(
        &mut self,
        used: &mut Occupancy,
        map: &JobMap,
        ranks: impl Iterator<Item = Rank>,
    ) {
        let ranks: Vec<Rank> = ranks.collect();
        self.use_slots(nodes_of_ranks(map, &ranks), |nodes| used.release_some(nodes, map, ranks.iter().copied()));
    }

    /// Releases what the rest of a job uses that is over, and what it has as a whole.
    pub(in crate::head) fn release_rest(
        &mut self,
        used: &mut Occupancy,
        map: &JobMap,
        ranks: impl Iterator<Item = Rank>,
    ) {
        let ranks: Vec<Rank> = ranks.collect();
        self.use_slots(nodes_of_ranks(map, &ranks), |nodes| used.release_rest(nodes, map, ranks.iter().copied()));
    }
}

fn nodes_of(map: &JobMap) -> impl Iterator<Item = NodeId> {
    map.nodes.iter().map(|node| node.id)
}

fn nodes_of_ranks(map: &JobMap, ranks: &[Rank]) -> impl Iterator<Item = NodeId> {
    let procs = ranks.iter().filter_map(|rank| map.procs.get(rank.0 as usize));
    procs.map(|placement| map.nodes[placement.node as usize].id)
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
    /// The name of a daemon's node, for messages.
    pub(in crate::head) fn node_name(&self, daemon: DaemonRank) -> &str {
        // A node that comes or leaves has no daemon in its record; its campaign knows the daemon.
        let moving = || self.elastic.node_of(daemon).map(|node| self.pool.record(node));
        let node = self.pool.node_of(daemon).or_else(moving);
        node.map_or("of the head", |n| n.name.as_str())
    }
}
