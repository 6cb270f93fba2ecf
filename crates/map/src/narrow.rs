//! Leaves out nodes that a job cannot reach because it fills node after node. A small job then costs the same in a DVM
//! of ten thousand nodes as in one of ten. The map is the same as with all nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrite_types::resources::Amounts;
use ferrite_types::{
    AppContext, CpuKind, DaemonRank, JobMap, JobSpec, MapBy, MapRequest, NodeId, NodeRecord, NodeShare, Topology,
};

use crate::candidate::{Candidate, slots_for};
use crate::occupancy::{Occupancy, Taken};
use crate::place::{lists, place_among, policy_of, positions};
use crate::shape::Shape;

/// The nodes that a job fills, and the number of all slots for its map.
pub(crate) struct Few {
    pub(crate) shares: Vec<NodeShare>,
    pub(crate) total_slots: u32,
}

/// Nodes with equal machines, of which some have free slots.
#[derive(Clone, Copy, Debug)]
pub struct Alike<'a> {
    /// Those with free slots, which are stated or counted by cores.
    pub free: &'a BTreeSet<NodeId>,
    /// The slots of all of them, in use or not.
    pub slots: u32,
}

/// Places a job on the first nodes with free slots, and looks at no other node. `nodes` are all nodes by their numbers;
/// the job may use each of `alike` wholly. `None` says nothing: [`crate::place()`] looks at all nodes
/// (spec L144).
#[must_use]
pub fn place_on_free(spec: &JobSpec, nodes: &[NodeRecord], alike: Alike<'_>, occupancy: &Occupancy) -> Option<JobMap> {
    let Filled { app, request, np } = filled(spec)?;
    if request.nolocal || !app.hosts.is_empty() {
        return None;
    }
    let record = |id: &NodeId| nodes.get(id.0 as usize);
    let first = record(alike.free.first()?)?;
    let need = Need::of(spec, app, np, &first.topology, occupancy)?;
    if need.cpus != CpuKind::Core {
        return None;
    }
    let whole = |record: &NodeRecord| NodeShare { node: record.id, cap: None };
    let shares = need.first_with_room(alike.free.iter().filter_map(record).map(|node| (whole(node), node)))?;
    let map = place_among(spec, nodes, &[shares], occupancy).ok()?;
    Some(JobMap { total_slots: alike.slots, ..map })
}

/// Returns the nodes that take the whole job. `None` = all nodes matter: the job is mapped in another way, there are
/// too few slots (the message shows every node), or the machines differ (defaults depend on all of them).
pub(crate) fn narrowed(
    spec: &JobSpec,
    nodes: &[NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &Occupancy,
) -> Option<Few> {
    let Filled { app, request, np } = filled(spec)?;
    let [shares] = apps else { return None };
    let position = positions(nodes);
    let usable = |share: &NodeShare| {
        let record = &nodes[position(share.node)?];
        let is_local = record.daemon == Some(DaemonRank::HEAD);
        (record.daemon.is_some() && !(request.nolocal && is_local)).then_some((*share, record))
    };
    let (_, first) = shares.iter().find_map(usable)?;
    let need = Need::of(spec, app, np, &first.topology, occupancy)?;
    let mut total_slots: u32 = 0;
    for (_, record) in shares.iter().filter_map(usable) {
        if !Arc::ptr_eq(&record.topology, &first.topology) {
            return None;
        }
        total_slots = total_slots.saturating_add(slots_for(record, need.cpus));
    }
    Some(Few { shares: need.first_with_room(shares.iter().filter_map(usable))?, total_slots })
}

/// A job of one app with a number of processes, which fill node after node.
struct Filled<'a> {
    app: &'a AppContext,
    request: &'a MapRequest,
    np: u32,
}

fn filled(spec: &JobSpec) -> Option<Filled<'_>> {
    let [app] = &spec.apps[..] else { return None };
    let request = spec.map_of(app);
    let fills = matches!(request.by, None | Some(MapBy::Slot | MapBy::Object(_))) && !request.span;
    let np = app.np.filter(|np| fills && *np > 0)?;
    Some(Filled { app, request, np })
}

/// The needs of a job that fills node after node.
struct Need<'a> {
    np: u32,
    takes: &'a Amounts,
    cpus: CpuKind,
    /// The number of processes for which an idle machine has processors; `None` = any number.
    processors: Option<u32>,
    occupancy: &'a Occupancy,
}

impl<'a> Need<'a> {
    fn of(
        spec: &JobSpec,
        app: &'a AppContext,
        np: u32,
        machine: &Topology,
        occupancy: &'a Occupancy,
    ) -> Option<Need<'a>> {
        let request = spec.map_of(app);
        let policy = policy_of(request, &spec.map, u64::from(np), std::iter::once(machine)).ok()?;
        let processors = Shape::new(machine, &policy, lists(request), &Taken::default()).capacity;
        Some(Need { np, takes: &app.takes, cpus: policy.cpus, processors, occupancy })
    }

    /// Returns the first of these nodes that together take the whole job; `None` = they do not.
    fn first_with_room<'n>(&self, nodes: impl Iterator<Item = (NodeShare, &'n NodeRecord)>) -> Option<Vec<NodeShare>> {
        let mut free = 0;
        let mut few = Vec::new();
        for (share, record) in nodes {
            // Each used hardware thread costs room for at most one process, so this number fits in any case.
            let taken = || u32::try_from(self.occupancy.busy(record.id).len()).unwrap_or(u32::MAX);
            let room = self.processors.map_or(u32::MAX, |all| all.saturating_sub(taken()));
            let candidate = Candidate::new(record);
            let room = room.min(candidate.resource_room(self.takes, self.occupancy).unwrap_or(u32::MAX));
            let (slots, _) = candidate.free_and_room(self.cpus);
            if slots > 0 {
                few.push(share);
                free += u64::from(slots.min(share.cap.unwrap_or(u32::MAX)).min(room));
            }
            if free >= u64::from(self.np) {
                return Some(few);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{directive, needs_free_slots, place};

    prop_compose! {
        fn pool()(slots in prop::collection::vec((0u32..5, 0u32..5, 0u32..7, prop::bool::weighted(0.9)), 1..9)) -> Vec<NodeRecord> {
            let topology = Arc::new(Topology::uniform(2, 2, 2));
            let node = |(at, (slots, inuse, max, up)): (usize, (u32, u32, u32, bool))| NodeRecord {
                id: NodeId(at as u32),
                name: format!("n{at}"),
                aliases: vec![],
                daemon: up.then_some(DaemonRank(at as u32)),
                slots,
                slots_given: false,
                max_slots: if max < slots { 0 } else { max },
                slots_inuse: inuse.min(slots),
                topology: topology.clone(),
            };
            slots.into_iter().enumerate().map(node).collect()
        }
    }

    fn request(by: &str, nolocal: bool) -> MapRequest {
        let mut map = MapRequest { nolocal, ..MapRequest::default() };
        if !by.is_empty() {
            directive::parse_map_by(by).unwrap().apply(&mut map);
        }
        map
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn few_nodes_give_the_same_map_as_all(
            pool in pool(),
            np in 1u32..9,
            cap in prop::option::of(1u32..4),
            by in prop::sample::select(vec!["", "slot", "core", "package", ":OVERSUBSCRIBE", "core:OVERSUBSCRIBE"]),
            nolocal in any::<bool>(),
        ) {
            let app = AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
            let mut spec = JobSpec::new(vec![app]);
            spec.map = request(by, nolocal);
            let all: Vec<NodeShare> = pool.iter().map(|node| NodeShare { node: node.id, cap }).collect();
            if let Some(few) = narrowed(&spec, &pool, std::slice::from_ref(&all), &Occupancy::default()) {
                let none = Occupancy::default();
                let map = place(&spec, &pool, std::slice::from_ref(&all), &none);
                prop_assert!(few.shares.len() <= pool.len());
                prop_assert_eq!(map, place_among(&spec, &pool, &[all], &none));
            }
        }

        /// (spec L144)
        #[test]
        fn nodes_with_free_slots_give_the_same_map_as_all(
            pool in pool(),
            np in 1u32..9,
            by in prop::sample::select(vec!["", "slot", "core", "package", ":OVERSUBSCRIBE", "hwthread", ":HWTCPUS", "node"]),
            nolocal in any::<bool>(),
        ) {
            let app = AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
            let mut spec = JobSpec::new(vec![app]);
            spec.map = request(by, nolocal);
            let up = || pool.iter().filter(|node| node.daemon.is_some());
            let free = up().filter(|node| node.slots > node.slots_inuse).map(|node| node.id).collect();
            let alike = Alike { free: &free, slots: up().map(|node| node.slots).sum() };
            if let Some(map) = place_on_free(&spec, &pool, alike, &Occupancy::default()) {
                let all: Vec<NodeShare> = up().map(|node| NodeShare { node: node.id, cap: None }).collect();
                prop_assert_eq!(Ok(map), place_among(&spec, &pool, &[all], &Occupancy::default()));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// The head looks at no further node then (spec L145).
        #[test]
        fn a_job_that_the_first_idle_nodes_take_fits_on_all(
            pool in pool(),
            first in 1usize..9,
            np in (1u32..9, 0u32..4),
            by in prop::sample::select(vec!["", "slot", "core", "package", "node", "slot:SPAN", "core:PE=2", "node:PE=2"]),
            nolocal in any::<bool>(),
        ) {
            let app = |np| AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
            let mut spec = JobSpec::new([np.0, np.1].into_iter().filter(|np| *np > 0).map(app).collect());
            spec.map = request(by, nolocal);
            let idle: Vec<NodeRecord> = pool.into_iter().map(|node| NodeRecord { slots_inuse: 0, ..node }).collect();
            let fits = |nodes: &[NodeRecord]| {
                let up = nodes.iter().filter(|node| node.daemon.is_some());
                let all: Vec<NodeShare> = up.map(|node| NodeShare { node: node.id, cap: None }).collect();
                let apps: Vec<_> = spec.apps.iter().map(|_| all.clone()).collect();
                place(&spec, nodes, &apps, &Occupancy::default())
            };
            if needs_free_slots(&spec) && fits(&idle[..first.min(idle.len())]).is_ok() {
                prop_assert_eq!(fits(&idle).err(), None);
            }
        }
    }

    /// A test of equal maps alone would pass if none was ever made (spec L144).
    #[test]
    fn a_job_that_finds_slots_is_placed_on_them_without_a_look_at_others() {
        let topology = Arc::new(Topology::uniform(1, 4, 1));
        let node = |at: u32, slots_inuse: u32| NodeRecord {
            id: NodeId(at),
            name: format!("n{at}"),
            aliases: vec![],
            daemon: Some(DaemonRank(at)),
            slots: 4,
            slots_given: true,
            max_slots: 0,
            slots_inuse,
            topology: topology.clone(),
        };
        // With a look at the first, the machines would differ, and all nodes would matter.
        let other = NodeRecord { topology: Arc::new(Topology::uniform(2, 2, 2)), ..node(0, 4) };
        let nodes = [other, node(1, 0), node(2, 2), node(3, 0)];
        let free = BTreeSet::from([NodeId(1), NodeId(2), NodeId(3)]);
        let placed = |by: &str, np| {
            let app = AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
            let mut spec = JobSpec::new(vec![app]);
            spec.map = request(by, false);
            let map = place_on_free(&spec, &nodes, Alike { free: &free, slots: 16 }, &Occupancy::default())?;
            assert_eq!(map.total_slots, 16);
            Some(map.nodes.iter().map(|node| node.id.0).collect::<Vec<_>>())
        };
        assert_eq!(placed("", 1), Some(vec![1]));
        assert_eq!(placed("slot", 5), Some(vec![1, 2]));
        assert_eq!(placed("core", 10), Some(vec![1, 2, 3]));
        assert_eq!(placed("", 11), None, "the refusal shows all nodes");
        assert_eq!(placed("node", 2), None, "all nodes matter");
    }
}
