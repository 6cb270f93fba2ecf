//! The use of each node by running jobs: slots, hardware threads, node ranks. The head claims a job map when it accepts
//! it and releases it when the job is gone; placement reads this, so that two jobs are not bound to one core.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{CpuKind, CpuSet, JobMap, LocalRank, NodeId, NodeRecord, Placement, Rank};
use thiserror::Error;

use crate::candidate::slots_for;
use crate::place::positions;

/// The use of all nodes by running jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    nodes: BTreeMap<NodeId, NodeUse>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodeUse {
    /// Processes bound to each hardware thread; several when overload was allowed.
    cpus: BTreeMap<u32, u32>,
    ranks: BTreeSet<u16>,
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
    /// Claims what the job uses: all of it or nothing.
    ///
    /// # Errors
    /// A node would get more processes than its slots (without oversubscription) or its `max_slots`.
    pub fn claim(&mut self, nodes: &mut [NodeRecord], map: &JobMap) -> Result<(), Overcommitted> {
        let counts = per_node(map);
        let oversubscribe = map.oversubscribe;
        let threads = map.policies.iter().any(|policy| policy.hwthreads);
        let cpus = if threads { CpuKind::HwThread } else { CpuKind::Core };
        let position = positions(nodes);
        let used: Vec<(usize, u32)> = counts.iter().filter_map(|(id, n)| Some((position(*id)?, *n))).collect();
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
        }
    }

    /// Releases what the job used. Nodes that have left the pool are skipped.
    pub fn release(&mut self, nodes: &mut [NodeRecord], map: &JobMap) {
        let position = positions(nodes);
        for (id, count) in per_node(map) {
            let Some(node) = position(id).map(|at| &mut nodes[at]) else {
                continue;
            };
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

    /// Releases what the processes of a companion job used.
    pub fn release_ranks(&mut self, map: &JobMap) {
        placements(map).for_each(|(id, placement)| self.release_rank(id, map, placement));
    }

    fn release_rank(&mut self, id: NodeId, map: &JobMap, placement: &Placement) {
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
        if node.ranks.is_empty() {
            self.nodes.remove(&id);
        }
    }

    /// Forgets a node that left the DVM with everything on it.
    pub fn forget(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// Returns the hardware threads of a node to which processes of running jobs are bound.
    #[must_use]
    pub fn busy(&self, node: NodeId) -> CpuSet {
        self.nodes.get(&node).map(|n| n.cpus.keys().copied().collect()).unwrap_or_default()
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

fn per_node(map: &JobMap) -> BTreeMap<NodeId, u32> {
    let mut counts = vec![0; map.nodes.len()];
    map.procs.iter().for_each(|p| counts[p.node as usize] += 1);
    map.nodes.iter().map(|n| n.id).zip(counts).collect()
}

fn placements(map: &JobMap) -> impl Iterator<Item = (NodeId, &Placement)> {
    map.procs.iter().map(|p| (map.nodes[p.node as usize].id, p))
}

/// Returns the exclusive processors of a process: cores and hardware threads; larger objects are shared.
fn exclusive<'a>(map: &JobMap, placement: &'a Placement) -> impl Iterator<Item = u32> + 'a {
    let own = map.policy(placement.app).is_some_and(|policy| policy.exclusive);
    placement.cpus.iter().filter(move |_| own).flat_map(CpuSet::iter)
}
