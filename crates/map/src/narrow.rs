//! Leaves out nodes that a job cannot reach because it fills node after node. A small job then costs the same in a DVM
//! of ten thousand nodes as in one of ten. The map is the same as with all nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrite_types::resources::Amounts;
use ferrite_types::{
    AppContext, CpuKind, DaemonRank, JobMap, JobSpec, MapBy, MapRequest, NodeId, NodeRecord, NodeShare, Topology,
};

use crate::candidate::{Candidate, slots_for};
use crate::error::MapError;
use crate::occupancy::Occupancy;
use crate::place::{lists, place_with, policy_of, positions};
use crate::placement_policy::PlacementPolicy;
use crate::shape::Lists;
use crate::shapes::Shapes;

/// The nodes that a job fills, and the number of all slots for its map.
pub(crate) struct Few<'a> {
    filled: FilledNodes<'a>,
    total_slots: u32,
}

impl<'a> Few<'a> {
    /// Places the job on them.
    pub(crate) fn place(
        self,
        spec: &'a JobSpec,
        nodes: &'a [NodeRecord],
        occupancy: &'a Occupancy,
    ) -> Result<JobMap, MapError> {
        let FilledNodes { shares, shapes } = self.filled;
        let map = place_with(spec, nodes, &[shares], occupancy, Some(shapes))?;
        Ok(JobMap { total_slots: self.total_slots, ..map })
    }
}

/// The nodes that a job fills, and the shapes of their machines.
struct FilledNodes<'a> {
    shares: Vec<NodeShare>,
    shapes: Shapes<'a>,
}

/// Nodes with equal machines, of which some have free slots.
#[derive(Clone, Copy, Debug)]
pub struct Alike<'a> {
    /// Those with free slots, which are stated or counted by cores.
    pub free: &'a BTreeSet<NodeId>,
    /// The slots of all of them, in use or not.
    pub slots: u32,
    /// The one of all of them at which the map begins; `None` = the first.
    pub start: Option<NodeId>,
}

impl<'a> Alike<'a> {
    /// Those with free slots, in the order in which a map takes them.
    fn in_order(self) -> impl Iterator<Item = &'a NodeId> {
        let start = self.start.unwrap_or(NodeId(0));
        self.free.range(start..).chain(self.free.range(..start))
    }
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
    let first = record(alike.in_order().next()?)?;
    let need = Need::of(spec, app, np, &first.topology, occupancy)?;
    if need.policy.cpus != CpuKind::Core {
        return None;
    }
    let whole = |record: &NodeRecord| NodeShare { node: record.id, cap: None };
    let filled = need.first_with_room(alike.in_order().filter_map(record).map(|node| (whole(node), node)))?;
    Few { filled, total_slots: alike.slots }.place(spec, nodes, occupancy).ok()
}

/// Returns the nodes that take the whole job. `None` = all nodes matter: the job is mapped in another way, there are
/// too few slots (the message shows every node), or the machines differ (defaults depend on all of them).
pub(crate) fn narrowed<'a>(
    spec: &'a JobSpec,
    nodes: &[NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &'a Occupancy,
) -> Option<Few<'a>> {
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
        total_slots = total_slots.saturating_add(slots_for(record, need.policy.cpus));
    }
    Some(Few { filled: need.first_with_room(shares.iter().filter_map(usable))?, total_slots })
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
    policy: PlacementPolicy,
    lists: Lists<'a>,
    occupancy: &'a Occupancy,
}

impl<'a> Need<'a> {
    fn of(
        spec: &'a JobSpec,
        app: &'a AppContext,
        np: u32,
        machine: &Topology,
        occupancy: &'a Occupancy,
    ) -> Option<Need<'a>> {
        let request = spec.map_of(app);
        let policy = policy_of(request, &spec.map, u64::from(np), std::iter::once(machine)).ok()?;
        Some(Need { np, takes: &app.takes, policy, lists: lists(request), occupancy })
    }

    /// Returns the first of these nodes that together take the whole job; `None` = they do not.
    fn first_with_room<'n>(self, nodes: impl Iterator<Item = (NodeShare, &'n NodeRecord)>) -> Option<FilledNodes<'a>> {
        let Need { np, takes, policy, lists, occupancy } = self;
        let (cpus, counts_processors) = (policy.cpus, policy.counts_processors());
        let mut shapes = Shapes::new(policy, lists);
        let mut free = 0;
        let mut shares = Vec::new();
        for (share, record) in nodes {
            let candidate = Candidate::new(record);
            let (slots, _) = candidate.free_and_room(cpus);
            if slots == 0 {
                continue;
            }
            let room = candidate.resource_room(takes, occupancy).unwrap_or(u32::MAX);
            let mut room = room.min(slots).min(share.cap.unwrap_or(u32::MAX));
            if counts_processors {
                let shape = shapes.of(record, occupancy.taken(record.id, lists.shares_devices));
                room = room.min(shape.capacity.unwrap_or(u32::MAX));
            }
            shares.push(share);
            free += u64::from(room);
            if free >= u64::from(np) {
                return Some(FilledNodes { shares, shapes });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::place::place_among;
    use crate::{directive, needs_free_slots, place};

    prop_compose! {
        fn pool()(slots in prop::collection::vec((0u32..5, 0u32..5, 0u32..7, prop::bool::weighted(0.9)), 1..9)) -> Vec<NodeRecord> {
            let topology = Arc::new(Topology::uniform(2, 2, 2));
            let record = |(at, (slots, inuse, max, up)): (usize, (u32, u32, u32, bool))| NodeRecord {
                daemon: up.then_some(DaemonRank(at as u32)),
                slots_given: false,
                max_slots: if max < slots { 0 } else { max },
                ..node(at as u32, (slots, inuse.min(slots)), &topology)
            };
            slots.into_iter().enumerate().map(record).collect()
        }
    }

    fn job(np: u32, by: &str, nolocal: bool) -> JobSpec {
        let app = AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
        let mut spec = JobSpec::new(vec![app]);
        spec.map = request(by, nolocal);
        spec
    }

    /// Slots: those of the node, and those of them in use.
    fn node(at: u32, (slots, slots_inuse): (u32, u32), topology: &Arc<Topology>) -> NodeRecord {
        NodeRecord {
            id: NodeId(at),
            name: format!("n{at}"),
            aliases: vec![],
            daemon: Some(DaemonRank(at)),
            slots,
            slots_given: true,
            max_slots: 0,
            slots_inuse,
            topology: topology.clone(),
        }
    }

    /// Lets jobs of these sizes use nodes, as far as there is room for them.
    fn used(mut pool: Vec<NodeRecord>, sizes: &[u32]) -> (Vec<NodeRecord>, Occupancy) {
        let mut occupancy = Occupancy::default();
        for (at, np) in sizes.iter().enumerate() {
            let all: Vec<NodeShare> = pool.iter().map(|node| NodeShare { node: node.id, cap: None }).collect();
            if let Ok(map) = place_among(&job(*np, ["core", "node"][at % 2], false), &pool, &[all], &occupancy) {
                occupancy.claim(&mut pool, &map).expect("a map of these nodes");
            }
        }
        (pool, occupancy)
    }

    /// (spec L144)
    #[test]
    fn no_other_node_matters_as_long_as_a_core_is_free() {
        let mut pool = vec![node(0, (8, 0), &Arc::new(Topology::uniform(2, 4, 2)))];
        let (mut occupancy, free, spec) = (Occupancy::default(), [NodeId(0)].into(), job(1, "", false));
        let alike = Alike { free: &free, slots: 8, start: None };
        for started in 0..8 {
            let map = place_on_free(&spec, &pool, alike, &occupancy);
            let map = map.unwrap_or_else(|| panic!("{started} of 8 cores are in use"));
            occupancy.claim(&mut pool, &map).expect("a map of this node");
        }
        assert_eq!(place_on_free(&spec, &pool, alike, &occupancy), None);
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
            before in prop::collection::vec(1u32..4, 0..5),
        ) {
            let (pool, occupancy) = used(pool, &before);
            let spec = job(np, by, nolocal);
            let all: Vec<NodeShare> = pool.iter().map(|node| NodeShare { node: node.id, cap }).collect();
            if let Some(few) = narrowed(&spec, &pool, std::slice::from_ref(&all), &occupancy) {
                prop_assert!(few.filled.shares.len() <= pool.len());
                let map = few.place(&spec, &pool, &occupancy);
                prop_assert_eq!(map, place_among(&spec, &pool, &[all], &occupancy));
            }
        }

        /// (spec L144)
        #[test]
        fn nodes_with_free_slots_give_the_same_map_as_all(
            pool in pool(),
            np in 1u32..9,
            by in prop::sample::select(vec!["", "slot", "core", "package", ":OVERSUBSCRIBE", "hwthread", ":HWTCPUS", "node"]),
            nolocal in any::<bool>(),
            before in prop::collection::vec(1u32..4, 0..5),
            start in prop::option::of(0u32..9),
        ) {
            let (pool, occupancy) = used(pool, &before);
            let spec = job(np, by, nolocal);
            let up = || pool.iter().filter(|node| node.daemon.is_some());
            let free = up().filter(|node| node.slots > node.slots_inuse).map(|node| node.id).collect();
            let start = start.map(NodeId).filter(|start| up().any(|node| node.id == *start));
            let alike = Alike { free: &free, slots: up().map(|node| node.slots).sum(), start };
            if let Some(map) = place_on_free(&spec, &pool, alike, &occupancy) {
                let mut all: Vec<NodeShare> = up().map(|node| NodeShare { node: node.id, cap: None }).collect();
                if let Some(at) = all.iter().position(|share| Some(share.node) == start) {
                    all.rotate_left(at);
                }
                prop_assert_eq!(Ok(map), place_among(&spec, &pool, &[all], &occupancy));
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
        // With a look at the first, the machines would differ, and all nodes would matter.
        let other = node(0, (4, 4), &Arc::new(Topology::uniform(2, 2, 2)));
        let nodes = [other, node(1, (4, 0), &topology), node(2, (4, 2), &topology), node(3, (4, 0), &topology)];
        let free = BTreeSet::from([NodeId(1), NodeId(2), NodeId(3)]);
        let placed = |by: &str, np| {
            let app = AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
            let mut spec = JobSpec::new(vec![app]);
            spec.map = request(by, false);
            let map =
                place_on_free(&spec, &nodes, Alike { free: &free, slots: 16, start: None }, &Occupancy::default())?;
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
