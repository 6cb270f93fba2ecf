//! The use of each node by running jobs: slots, hardware threads, devices, resources, node ranks. The head claims a job
//! map when it accepts it and releases it when the job is gone; placement reads this, so that two jobs are not bound to
//! one core.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrite_types::resources::{Amounts, MEMORY, SiteResources};
use ferrite_types::{CpuKind, CpuSet, DeviceKind, JobMap, LocalRank, NodeId, NodeRecord, Placement, Rank};
use thiserror::Error;

use crate::candidate::slots_for;
use crate::device_use::DeviceUse;
use crate::place::positions;

/// The use of all nodes by running jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// What the nodes have; all counts of it are made here.
    site: Arc<SiteResources>,
    nodes: BTreeMap<NodeId, NodeUse>,
    /// What is taken of what all nodes share; none of it is 0.
    shared: Amounts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodeUse {
    /// Processes bound to each hardware thread; several when overload was allowed.
    cpus: BTreeMap<u32, u32>,
    devices: DeviceUse,
    /// What processes take of its resources; none of them is 0.
    amounts: Amounts,
    ranks: BTreeSet<u16>,
}

fn take(amounts: &mut Amounts, resource: &str, amount: u64) {
    let taken = amounts.entry(resource.to_owned()).or_default();
    *taken = taken.saturating_add(amount);
}

fn leave(amounts: &mut Amounts, resource: &str, amount: u64) {
    let Some(taken) = amounts.get_mut(resource) else { return };
    debug_assert!(*taken >= amount, "more of {resource} is given back than was taken");
    *taken = taken.saturating_sub(amount);
    if *taken == 0 {
        amounts.remove(resource);
    }
}

/// What a job may not have of a node, because others use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taken {
    /// Hardware threads to which processes are bound.
    pub(crate) cpus: CpuSet,
    /// Positions of devices in the machine's list.
    pub(crate) devices: BTreeSet<u16>,
}

/// A claim that would exceed a node: its map was made of older records.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("node {node} would have {wanted} processes, more than its {limit}")]
pub struct Overcommitted {
    /// The node.
    pub node: String,
    /// Processes that it would have.
    pub wanted: u32,
    /// Its slots, or its `max_slots`.
    pub limit: u32,
}

impl Occupancy {
    /// Nobody uses anything of the nodes of this site.
    #[must_use]
    pub fn of(site: SiteResources) -> Occupancy {
        Occupancy { site: Arc::new(site), ..Occupancy::default() }
    }

    /// The same nodes when nobody uses anything.
    #[must_use]
    pub fn idle(&self) -> Occupancy {
        Occupancy { site: self.site.clone(), ..Occupancy::default() }
    }

    /// The names of the resources that the site has stated of nodes.
    #[must_use]
    pub fn resources(&self) -> Vec<&str> {
        self.site.names()
    }

    /// The amount of a resource that a node has, and what running jobs take of it. Memory that the site does not state
    /// is that of the node's topology (spec L149). `None` = the node has no such resource, or nobody knows how much.
    #[must_use]
    pub fn amount(&self, node: &NodeRecord, resource: &str) -> Option<(u64, u64)> {
        let names = node.aliases.iter().map(String::as_str);
        let stated = self.site.amount(resource, std::iter::once(&*node.name).chain(names));
        let there = stated.or_else(|| Some(node.topology.memory()).filter(|there| resource == MEMORY && *there > 0))?;
        let taken = self.nodes.get(&node.id).and_then(|used| used.amounts.get(resource));
        Some((there, taken.copied().unwrap_or_default()))
    }

    /// The names of what all nodes share.
    pub fn shared(&self) -> impl Iterator<Item = &str> {
        self.site.shared().keys().map(String::as_str)
    }

    /// The amount of a shared resource, and how much of it running jobs take (spec L151). `None` = it is not shared.
    #[must_use]
    pub fn shared_amount(&self, resource: &str) -> Option<(u64, u64)> {
        let there = *self.site.shared().get(resource)?;
        Some((there, self.shared.get(resource).copied().unwrap_or_default()))
    }

    pub(crate) fn is_shared(&self, resource: &str) -> bool {
        self.site.shared().contains_key(resource)
    }

    /// Returns the number of processes of which each finds this of what all nodes share; `None` = any number, as they
    /// take nothing of it.
    #[must_use]
    pub fn shared_room(&self, takes: &Amounts) -> Option<u32> {
        self.shared_room_beside(takes, &Amounts::new())
    }

    /// Returns the same beside what the job takes otherwise.
    pub(crate) fn shared_room_beside(&self, takes: &Amounts, own: &Amounts) -> Option<u32> {
        let room = |(resource, amount): (&String, &u64)| Some(self.shared_rest(resource, own)? / amount.max(&1));
        takes.iter().filter_map(room).min().map(|room| u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// Returns what is free of a resource that all nodes share, beside what the job takes otherwise.
    pub(crate) fn shared_rest(&self, resource: &str, own: &Amounts) -> Option<u64> {
        let (there, taken) = self.shared_amount(resource)?;
        Some(there.saturating_sub(taken).saturating_sub(own.get(resource).copied().unwrap_or_default()))
    }

    /// Claims what the job uses: all of it or nothing.
    ///
    /// # Errors
    /// A node would get more processes than its slots (without oversubscription) or its `max_slots`.
    pub fn claim(&mut self, nodes: &mut [NodeRecord], map: &JobMap) -> Result<(), Overcommitted> {
        let oversubscribe = map.oversubscribe;
        let threads = map.policies.iter().any(|policy| policy.hwthreads);
        let cpus = if threads { CpuKind::HwThread } else { CpuKind::Core };
        let used = used_by(map, nodes);
        for (at, count) in &used {
            let node = &nodes[*at];
            let wanted = node.slots_inuse + count;
            let limit = hard_limit(node, oversubscribe, cpus);
            if wanted > limit {
                return Err(Overcommitted { node: node.name.clone(), wanted, limit });
            }
        }
        for (at, count) in used {
            nodes[at].slots_inuse += count;
        }
        self.claim_ranks(map);
        Ok(())
    }

    /// Claims what the processes of a companion job use: their ranks on their nodes, and no slots.
    pub fn claim_ranks(&mut self, map: &JobMap) {
        for (id, placement) in placements(map) {
            let node = self.nodes.entry(id).or_default();
            node.ranks.insert(placement.node_rank.0);
            for cpu in exclusive(map, placement) {
                *node.cpus.entry(cpu).or_default() += 1;
            }
            node.devices.add(&placement.devices, shares_devices(map, placement));
            for (resource, amount) in takes(map, placement) {
                let is_shared = self.site.shared().contains_key(resource);
                take(if is_shared { &mut self.shared } else { &mut node.amounts }, resource, *amount);
            }
        }
        map.takes.iter().for_each(|(resource, amount)| take(&mut self.shared, resource, *amount));
    }

    /// Releases what the job used. Nodes that have left the pool are skipped.
    pub fn release(&mut self, nodes: &mut [NodeRecord], map: &JobMap) {
        for (at, count) in used_by(map, nodes) {
            let node = &mut nodes[at];
            debug_assert!(node.slots_inuse >= count, "released more than was claimed");
            node.slots_inuse = node.slots_inuse.saturating_sub(count);
        }
        self.release_ranks(map);
    }

    /// Releases what some processes of a job used that goes on. It costs what these processes cost, not the whole job.
    pub fn release_some(&mut self, nodes: &mut [NodeRecord], map: &JobMap, ranks: impl Iterator<Item = Rank>) {
        for placement in ranks.filter_map(|rank| map.procs.get(rank.0 as usize)) {
            let id = map.nodes[placement.node as usize].id;
            // Mostly the place of a node is its number.
            let at = Some(id.0 as usize).filter(|at| nodes.get(*at).is_some_and(|node| node.id == id));
            if let Some(at) = at.or_else(|| nodes.iter().position(|node| node.id == id)) {
                debug_assert!(nodes[at].slots_inuse > 0, "released more than was claimed");
                nodes[at].slots_inuse = nodes[at].slots_inuse.saturating_sub(1);
            }
            self.release_rank(id, map, placement);
        }
    }

    /// Releases what a job used that is over, some of whose processes have released theirs before: what the others
    /// used, and what it used as a whole.
    pub fn release_rest(&mut self, nodes: &mut [NodeRecord], map: &JobMap, ranks: impl Iterator<Item = Rank>) {
        self.release_some(nodes, map, ranks);
        self.release_whole(map);
    }

    /// Releases what the processes of a companion job used.
    pub fn release_ranks(&mut self, map: &JobMap) {
        placements(map).for_each(|(id, placement)| self.release_rank(id, map, placement));
        self.release_whole(map);
    }

    fn release_whole(&mut self, map: &JobMap) {
        map.takes.iter().for_each(|(resource, amount)| leave(&mut self.shared, resource, *amount));
    }

    fn release_rank(&mut self, id: NodeId, map: &JobMap, placement: &Placement) {
        // A shared resource is still taken when the node has gone.
        let of_dvm = takes(map, placement).filter(|(resource, _)| self.site.shared().contains_key(*resource));
        of_dvm.for_each(|(resource, amount)| leave(&mut self.shared, resource, *amount));
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.ranks.remove(&placement.node_rank.0);
        for cpu in exclusive(map, placement) {
            if let Some(count) = node.cpus.get_mut(&cpu) {
                *count -= 1;
                if *count == 0 {
                    node.cpus.remove(&cpu);
                }
            }
        }
        node.devices.remove(&placement.devices, shares_devices(map, placement));
        for (resource, amount) in takes(map, placement) {
            leave(&mut node.amounts, resource, *amount);
        }
        self.forget_if_idle(id);
    }

    /// Forgets a node that left the DVM with everything on it. Its jobs give back later what all nodes share.
    pub fn forget(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// Returns the hardware threads of a node to which processes of running jobs are bound.
    #[must_use]
    pub fn busy(&self, node: NodeId) -> CpuSet {
        self.nodes.get(&node).map(|n| n.cpus.keys().copied().collect()).unwrap_or_default()
    }

    /// Returns the number of processes of which each finds this on a node, beside what the job takes otherwise. `None`
    /// = any number, as they take nothing of it.
    pub(crate) fn room_beside(&self, node: &NodeRecord, takes: &Amounts, own: &Amounts) -> Option<u32> {
        let room = |(resource, amount): (&String, &u64)| {
            let (there, taken) = self.amount(node, resource).unwrap_or_default();
            let own = own.get(resource).copied().unwrap_or_default();
            there.saturating_sub(taken).saturating_sub(own) / amount.max(&1)
        };
        let of_node = takes.iter().filter(|(resource, _)| !self.is_shared(resource));
        of_node.map(room).min().map(|room| u32::try_from(room).unwrap_or(u32::MAX))
    }

    fn forget_if_idle(&mut self, node: NodeId) {
        if self.nodes.get(&node) == Some(&NodeUse::default()) {
            self.nodes.remove(&node);
        }
    }

    /// Returns the classes of devices of a node that jobs use, and its GPUs: the number of each, and of those in use.
    #[must_use]
    pub fn devices(&self, node: &NodeRecord) -> Vec<(&'static str, u64, u64)> {
        let taken = self.taken(node.id, false).devices;
        let count = |(kind, word): &(DeviceKind, &'static str)| {
            let there = (0u16..).zip(&node.topology.devices).filter(|(_, device)| device.kind == *kind);
            let (all, used) =
                there.fold((0, 0), |(all, used), (at, _)| (all + 1, used + u64::from(taken.contains(&at))));
            (*word, all, used)
        };
        let kinds = [(DeviceKind::Gpu, "gpu"), (DeviceKind::Network, "network"), (DeviceKind::Block, "block")];
        // Each machine has networks and disks; they are of interest when jobs have them.
        kinds.iter().map(count).filter(|(word, all, used)| *used > 0 || (*word == "gpu" && *all > 0)).collect()
    }

    /// Returns what a job may not have of a node (spec L148); `shares` = it shares its devices with everybody.
    pub(crate) fn taken(&self, node: NodeId, shares: bool) -> Taken {
        let mut devices = BTreeSet::new();
        if let Some(node) = self.nodes.get(&node) {
            node.devices.add_closed_to(shares, &mut devices);
        }
        Taken { cpus: self.busy(node), devices }
    }

    /// Returns the free node ranks, lowest first.
    pub(crate) fn free_ranks(&self, node: NodeId) -> impl Iterator<Item = LocalRank> + '_ {
        let taken = self.nodes.get(&node).map(|n| &n.ranks);
        (0..=u16::MAX).filter(move |r| taken.is_none_or(|t| !t.contains(r))).map(LocalRank)
    }
}

/// Returns `max_slots`, or the slots if they are the limit.
fn hard_limit(node: &NodeRecord, oversubscribe: bool, cpus: CpuKind) -> u32 {
    let max = if node.max_slots == 0 { u32::MAX } else { node.max_slots };
    if oversubscribe { max } else { slots_for(node, cpus).min(max) }
}

/// The number of processes on each node of a map that the pool has, by its position.
fn used_by(map: &JobMap, nodes: &[NodeRecord]) -> Vec<(usize, u32)> {
    let mut counts = vec![0; map.nodes.len()];
    map.procs.iter().for_each(|p| counts[p.node as usize] += 1);
    let position = positions(nodes);
    map.nodes.iter().zip(counts).filter_map(|(node, count)| Some((position(node.id)?, count))).collect()
}

fn placements(map: &JobMap) -> impl Iterator<Item = (NodeId, &Placement)> {
    map.procs.iter().map(|p| (map.nodes[p.node as usize].id, p))
}

fn takes<'a>(map: &'a JobMap, placement: &Placement) -> impl Iterator<Item = (&'a String, &'a u64)> + use<'a> {
    map.policy(placement.app).into_iter().flat_map(|policy| &policy.takes)
}

fn shares_devices(map: &JobMap, placement: &Placement) -> bool {
    map.policy(placement.app).is_some_and(|policy| policy.shares_devices)
}

/// Returns the exclusive processors of a process: cores and hardware threads; larger objects are shared.
fn exclusive<'a>(map: &JobMap, placement: &'a Placement) -> impl Iterator<Item = u32> + 'a {
    let own = map.policy(placement.app).is_some_and(|policy| policy.exclusive);
    placement.cpus.iter().filter(move |_| own).flat_map(CpuSet::iter)
}
