//! The map of a companion job: its processes run on the nodes of its targets. They are not bound, and no slots are
//! counted.

use std::collections::BTreeMap;

use ferrite_types::{Beside, Each, JobMap, JobNode, LocalRank, NodeRecord, Placement, PlacementTexts, Rank};
use thiserror::Error;

use crate::occupancy::Occupancy;

/// The reason why a companion job has no map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BesideError {
    /// A target does not exist.
    #[error("its target has no rank {0}")]
    NoRank(Rank),
    /// Every node of the targets has left.
    #[error("no node of its target is left")]
    NoNodes,
    /// More processes than a node or a job can have.
    #[error("it would have too many processes: at most 65,535 on a node")]
    TooMany,
}

/// Places a companion job of `apps` programs beside its targets, whose maps are in the order of `beside.targets`. With
/// [`Each::Proc`] the ranks follow those of the targets, so that a process has the same place among its job's on the
/// node as its target; with [`Each::Node`] they go from node to node. Nodes without a daemon are left out.
///
/// # Errors
/// A target that does not exist, no node that is left, or too many processes.
pub fn place_beside(
    apps: usize,
    beside: &Beside,
    targets: &[&JobMap],
    nodes: &[NodeRecord],
    occupancy: &Occupancy,
) -> Result<JobMap, BesideError> {
    let mut map = JobMap { oversubscribe: true, policies: vec![texts(beside.each)], ..JobMap::default() };
    map.total_slots = nodes.iter().filter(|node| node.daemon.is_some()).map(|node| node.slots).sum();
    let mut places: Vec<u32> = Vec::new();
    for (target, (_, ranks)) in targets.iter().zip(&beside.targets) {
        let all = target.procs.len() as u32;
        let ranks: Vec<Rank> = if ranks.is_empty() { (0..all).map(Rank).collect() } else { ranks.clone() };
        for rank in ranks {
            let node = target.node_of(rank).ok_or(BesideError::NoRank(rank))?;
            if nodes.iter().any(|record| record.id == node.id && record.daemon == Some(node.daemon)) {
                places.push(place_of(&mut map, node));
            }
        }
    }
    let times = match beside.each {
        Each::Node(times) => {
            places = (0..map.nodes.len() as u32).collect();
            times
        }
        Each::Proc(times) => times,
    };
    if places.is_empty() {
        return Err(BesideError::NoNodes);
    }
    let wanted = places.len().checked_mul(usize::from(times)).and_then(|n| n.checked_mul(apps));
    if wanted.is_none_or(|wanted| wanted > JobMap::MAX_PROCS) {
        return Err(BesideError::TooMany);
    }
    let mut next: BTreeMap<u32, u16> = BTreeMap::new();
    let mut free: BTreeMap<u32, _> = BTreeMap::new();
    for app in 0..apps {
        for node in places.iter().flat_map(|node| std::iter::repeat_n(*node, usize::from(times))) {
            let local = next.entry(node).or_default();
            let id = map.nodes[node as usize].id;
            let node_rank = free.entry(node).or_insert_with(|| occupancy.free_ranks(id)).next();
            let local_rank = LocalRank(*local);
            *local = local.checked_add(1).ok_or(BesideError::TooMany)?;
            map.procs.push(Placement {
                node,
                app: app as u16,
                local_rank,
                node_rank: node_rank.ok_or(BesideError::TooMany)?,
                cpus: None,
                devices: Vec::new(),
            });
        }
    }
    Ok(map)
}

/// Returns the position of a node in the map, to which it is added.
fn place_of(map: &mut JobMap, node: &JobNode) -> u32 {
    let known = map.nodes.iter().position(|known| known.id == node.id);
    let at = known.unwrap_or_else(|| {
        map.nodes.push(node.clone());
        map.nodes.len() - 1
    });
    at as u32
}

/// The placement in words, for displays and for the processes themselves.
fn texts(each: Each) -> PlacementTexts {
    let map_by = match each {
        Each::Node(times) => format!("BESIDE:{times}:NODE"),
        Each::Proc(times) => format!("BESIDE:{times}:PROCESS"),
    };
    PlacementTexts {
        mapper: "beside".to_owned(),
        map_by,
        rank_by: "SLOT".to_owned(),
        bind_to: "NONE".to_owned(),
        ..PlacementTexts::default()
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::{DaemonRank, JobId, NodeId, Topology};

    use super::*;

    fn nodes(n: u32) -> Vec<NodeRecord> {
        let record = |at: u32| NodeRecord {
            id: NodeId(at),
            name: format!("n{at}"),
            aliases: Vec::new(),
            daemon: Some(DaemonRank(at)),
            slots: 1,
            slots_given: true,
            max_slots: 1,
            slots_inuse: 1,
            topology: Topology::uniform(1, 1, 1).into(),
        };
        (0..n).map(record).collect()
    }

    /// Ranks 0 and 1 on n1, rank 2 on n0.
    fn target() -> JobMap {
        let node = |at: u32| JobNode { id: NodeId(at), daemon: DaemonRank(at), name: format!("n{at}") };
        let place = |node, local| Placement {
            node,
            app: 0,
            local_rank: LocalRank(local),
            node_rank: LocalRank(local),
            cpus: None,
            devices: Vec::new(),
        };
        let procs = vec![place(0, 0), place(0, 1), place(1, 0)];
        JobMap { nodes: vec![node(1), node(0)], procs, ..JobMap::default() }
    }

    fn placed(each: Each, ranks: &[u32], nodes: &[NodeRecord]) -> Result<Vec<(String, u16, u16)>, BesideError> {
        let target = target();
        let mut used = Occupancy::default();
        used.claim_ranks(&target);
        let ranks = ranks.iter().copied().map(Rank).collect();
        let beside = Beside { targets: vec![(JobId(1), ranks)], each };
        let map = place_beside(1, &beside, &[&target], nodes, &used)?;
        assert!(map.procs.iter().all(|place| place.cpus.is_none()), "a companion is not bound");
        let name = |place: &Placement| map.nodes[place.node as usize].name.clone();
        Ok(map.procs.iter().map(|place| (name(place), place.local_rank.0, place.node_rank.0)).collect())
    }

    fn place(name: &str, local: u16, node: u16) -> (String, u16, u16) {
        (name.to_owned(), local, node)
    }

    #[test]
    fn each_node_of_the_target_gets_its_share_though_all_slots_are_used() {
        let all = nodes(3);
        assert_eq!(placed(Each::Node(1), &[], &all), Ok(vec![place("n1", 0, 2), place("n0", 0, 1)]));
        let two = placed(Each::Node(2), &[2], &all);
        assert_eq!(two, Ok(vec![place("n0", 0, 1), place("n0", 1, 2)]));
    }

    #[test]
    fn each_target_gets_its_own_with_the_same_place_on_the_node() {
        let one = placed(Each::Proc(1), &[], &nodes(2));
        assert_eq!(one, Ok(vec![place("n1", 0, 2), place("n1", 1, 3), place("n0", 0, 1)]));
        assert_eq!(placed(Each::Proc(1), &[1], &nodes(2)), Ok(vec![place("n1", 0, 2)]));
        assert_eq!(placed(Each::Proc(1), &[3], &nodes(2)), Err(BesideError::NoRank(Rank(3))));
        assert_eq!(placed(Each::Proc(u16::MAX), &[], &nodes(2)), Err(BesideError::TooMany));
    }

    #[test]
    fn a_node_that_has_left_gets_none() {
        let mut some = nodes(2);
        some[1].daemon = None;
        assert_eq!(placed(Each::Node(1), &[], &some), Ok(vec![place("n0", 0, 1)]));
        // Another daemon has taken the place of the target's.
        some[0].daemon = Some(DaemonRank(7));
        assert_eq!(placed(Each::Proc(1), &[], &some), Err(BesideError::NoNodes));
    }
}
