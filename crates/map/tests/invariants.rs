//! Properties of every job on every pool of nodes, whatever was asked for.

mod common;

use std::collections::BTreeMap;

use common::{all, job, nodes};
use ferrite_map::{Occupancy, place};
use ferrite_types::{
    BindTo, CpuKind, CpuSet, JobMap, JobSpec, MapBy, NodeRecord, NodeShare, ObjectKind, Placement, Topology,
    TopologyObject,
};
use proptest::prelude::*;

const MAPPERS: &[&str] = &[
    "",
    "slot",
    "node",
    "core",
    "package",
    "hwthread",
    "numa",
    "l3cache",
    "ppr:1:node",
    "ppr:2:node",
    "ppr:1:package",
    "ppr:3:core",
    "ppr:1:l3cache",
    "pe-list=0-1",
    "pe-list=0,2:ordered",
];
const QUALIFIERS: &[&str] =
    &["", "", "", ":oversubscribe", ":hwtcpus", ":pe=2", ":pe=3", ":span", ":span:pe=2", ":nolocal"];
const RANKERS: &[&str] = &["", "slot", "node", "fill", "span"];
const BINDERS: &[&str] = &[
    "",
    "",
    "none",
    "core",
    "hwthread",
    "numa",
    "package",
    "core:overload-allowed",
    "l3cache:limit=1",
    "package:limit=2",
];

/// Cores of each cache, caches of each domain, domains of each package; hardware threads of each core.
type Packages = Vec<Vec<Vec<Vec<u32>>>>;

fn packages() -> impl Strategy<Value = Packages> {
    let caches = prop::collection::vec(prop::collection::vec(1u32..3, 1..4), 1..3);
    prop::collection::vec(prop::collection::vec(caches, 1..3), 1..3)
}

/// A machine whose parts differ in size, of which a part of the hardware threads may be used.
fn machine() -> impl Strategy<Value = Topology> {
    (packages(), any::<u64>(), any::<bool>()).prop_map(|(packages, hidden, has_caches)| {
        let mut built = Built::default();
        for package in &packages {
            let first = built.next;
            for domain in package {
                let first = built.next;
                for cache in domain {
                    let first = built.next;
                    cache.iter().for_each(|threads| built.core(*threads));
                    built.object(ObjectKind::L3Cache, first);
                }
                built.object(ObjectKind::Numa, first);
            }
            built.object(ObjectKind::Package, first);
        }
        built.finish(hidden, has_caches)
    })
}

#[derive(Default)]
struct Built {
    next: u32,
    objects: BTreeMap<ObjectKind, Vec<TopologyObject>>,
}

impl Built {
    fn object(&mut self, kind: ObjectKind, first: u32) {
        let list = self.objects.entry(kind).or_default();
        list.push(TopologyObject { os_index: list.len() as u32, cpus: (first..self.next).collect(), bytes: 0 });
    }

    fn core(&mut self, threads: u32) {
        let first = self.next;
        for _ in 0..threads {
            self.next += 1;
            self.object(ObjectKind::HwThread, self.next - 1);
        }
        self.object(ObjectKind::Core, first);
    }

    fn finish(mut self, hidden: u64, has_caches: bool) -> Topology {
        if !has_caches {
            self.objects.remove(&ObjectKind::L3Cache);
        }
        let all: CpuSet = (0..self.next).collect();
        let left: CpuSet = all.iter().filter(|cpu| hidden & (3 << (cpu * 2 % 62)) != 0).collect();
        let allowed = if left.is_empty() { all } else { left };
        Topology { objects: self.objects.into_iter().collect(), allowed, devices: Vec::new() }
    }
}

prop_compose! {
    fn pool()(
        machines in prop::collection::vec((machine(), 0u32..9, 0u32..12, 0u32..3, any::<bool>()), 1..5),
    ) -> Vec<NodeRecord> {
        let mut pool = nodes(machines.len() as u32, 0, Topology::default());
        for (node, (machine, slots, max, inuse, given)) in pool.iter_mut().zip(machines) {
            node.topology = machine.into();
            node.slots = slots;
            node.slots_given = given;
            node.max_slots = if max < slots { 0 } else { max };
            node.slots_inuse = inuse.min(slots);
        }
        pool
    }
}

prop_compose! {
    fn asked()(
        nps in prop::collection::vec(prop::option::of(1u32..14), 1..4),
        map_by in prop::sample::select(MAPPERS),
        qualifier in prop::sample::select(QUALIFIERS),
        rank_by in prop::sample::select(RANKERS),
        bind_to in prop::sample::select(BINDERS),
    ) -> JobSpec {
        // The parser refuses contradictions.
        let text = format!("{map_by}{qualifier}");
        let fits = ferrite_map::directive::parse_map_by(&text).is_ok();
        job(&nps, if fits { &text } else { map_by }, rank_by, bind_to)
    }
}

fn node_of<'a>(pool: &'a [NodeRecord], map: &JobMap, placement: &Placement) -> &'a NodeRecord {
    &pool[map.nodes[placement.node as usize].id.0 as usize]
}

fn objects(topology: &Topology, kind: ObjectKind) -> impl Iterator<Item = CpuSet> + '_ {
    topology.of_kind(kind).iter().map(|o| o.cpus.intersection(&topology.allowed))
}

fn is_inside(cpus: &CpuSet, of: &CpuSet) -> bool {
    cpus.intersection(of) == *cpus
}

/// Each app has as many processes as it asked for, apps follow each other, and ranks on a node are counted from 0.
fn check_ranks(spec: &JobSpec, map: &JobMap) -> Result<(), TestCaseError> {
    prop_assert!(map.procs.is_sorted_by_key(|p| p.app));
    for (app, context) in spec.apps.iter().enumerate() {
        let count = map.procs.iter().filter(|p| p.app as usize == app).count() as u32;
        prop_assert!(context.np.is_none_or(|np| np == count) && count > 0);
    }
    let mut local: BTreeMap<u32, u16> = BTreeMap::new();
    for placement in &map.procs {
        let next = local.entry(placement.node).or_default();
        prop_assert_eq!(placement.local_rank.0, *next);
        *next += 1;
    }
    prop_assert_eq!(local.len(), map.nodes.len());
    Ok(())
}

/// No node has more than its slots, its `max_slots`, or its cap.
fn check_slots(spec: &JobSpec, pool: &[NodeRecord], caps: &[Option<u32>], map: &JobMap) -> Result<(), TestCaseError> {
    let over = spec.map.oversubscribe == Some(true);
    for (index, node) in map.nodes.iter().enumerate() {
        let record = &pool[node.id.0 as usize];
        let here = |p: &&Placement| p.node as usize == index;
        let total = record.slots_inuse + map.procs.iter().filter(here).count() as u32;
        let threads = map.policies[0].hwthreads && !record.slots_given;
        let slots = if threads { record.slots.max(record.topology.allowed.len() as u32) } else { record.slots };
        prop_assert!(record.max_slots == 0 || total <= record.max_slots);
        prop_assert!(over || total <= slots);
        if let (Some(cap), false) = (caps[node.id.0 as usize], over) {
            let first = map.procs.iter().filter(here).filter(|p| p.app == 0).count() as u32;
            prop_assert!(first <= cap || matches!(spec.map.by, Some(MapBy::PerNode(_) | MapBy::PerObject(..))));
        }
    }
    Ok(())
}

/// Bindings are inside of what may be used and of the object that was mapped onto, and are shared only with leave.
fn check_bindings(spec: &JobSpec, pool: &[NodeRecord], map: &JobMap) -> Result<(), TestCaseError> {
    let asked = &spec.map;
    // A core with two hardware threads is two processors where these are counted.
    let halves = map.policies[0].hwthreads && map.policies[0].bind_to.starts_with("CORE");
    let own = map.policies[0].exclusive && asked.overload != Some(true) && !halves;
    let over = asked.oversubscribe == Some(true);
    let all_use_all = matches!(&asked.by, Some(MapBy::PeList(list)) if !list.ordered || over);
    let mut used: BTreeMap<u32, CpuSet> = BTreeMap::new();
    let mut on_object: BTreeMap<(u32, u16, CpuSet), u16> = BTreeMap::new();
    for placement in &map.procs {
        let Some(cpus) = &placement.cpus else {
            prop_assert!(asked.bind_to.is_none() || asked.bind_to == Some(BindTo::None));
            continue;
        };
        let topology = &node_of(pool, map, placement).topology;
        prop_assert!(!cpus.is_empty() && is_inside(cpus, &topology.allowed));
        if let Some(MapBy::Object(kind) | MapBy::PerObject(_, kind)) = &asked.by {
            prop_assert!(objects(topology, *kind).any(|o| is_inside(cpus, &o)), "{cpus} is in no {kind:?}");
        }
        if let Some(pes) = asked.pes {
            let unit =
                if map.policies[0].bind_to.starts_with("CORE") { ObjectKind::Core } else { ObjectKind::HwThread };
            prop_assert_eq!(objects(topology, unit).filter(|o| o.intersects(cpus)).count(), usize::from(pes));
            prop_assert_eq!(objects(topology, ObjectKind::Package).filter(|o| o.intersects(cpus)).count(), 1);
        }
        let mine = used.entry(placement.node).or_default();
        prop_assert!(!own || all_use_all || !mine.intersects(cpus));
        mine.union_with(cpus);
        *on_object.entry((placement.node, placement.app, cpus.clone())).or_default() += 1;
    }
    if let Some(limit) = asked.bind_limit {
        prop_assert!(on_object.values().all(|count| *count <= limit));
    }
    Ok(())
}

/// `ppr:N:object` never puts more than N on an object.
fn check_per_object(spec: &JobSpec, pool: &[NodeRecord], map: &JobMap) -> Result<(), TestCaseError> {
    let (per, objects_of): (u32, Option<ObjectKind>) = match spec.map.by {
        Some(MapBy::PerNode(per)) => (per, None),
        Some(MapBy::PerObject(per, kind)) => (per, Some(kind)),
        _ => return Ok(()),
    };
    let mut counts: BTreeMap<(u16, u32), u32> = BTreeMap::new();
    map.procs.iter().for_each(|p| *counts.entry((p.app, p.node)).or_default() += 1);
    for ((_, node), count) in counts {
        let topology = &pool[map.nodes[node as usize].id.0 as usize].topology;
        let there = objects_of.map_or(1, |kind| objects(topology, kind).filter(|o| !o.is_empty()).count() as u32);
        prop_assert!(count <= per * there);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_map_that_is_given_keeps_every_rule(
        pool in pool(),
        spec in asked(),
        caps in prop::collection::vec(prop::option::of(0u32..5), 4),
    ) {
        let capped: Vec<NodeShare> = pool.iter().zip(&caps).map(|(n, cap)| NodeShare { node: n.id, cap: *cap }).collect();
        let mut shares = vec![all(&pool); spec.apps.len()];
        shares[0] = capped;
        let Ok(map) = place(&spec, &pool, &shares, &Occupancy::default()) else { return Ok(()) };
        check_ranks(&spec, &map)?;
        check_slots(&spec, &pool, &caps, &map)?;
        check_bindings(&spec, &pool, &map)?;
        check_per_object(&spec, &pool, &map)?;
        // The same question has the same answer; and what was mapped can be claimed and given back.
        prop_assert_eq!(place(&spec, &pool, &shares, &Occupancy::default()).unwrap(), map.clone());
        let (mut claimed, mut occupancy) = (pool.clone(), Occupancy::default());
        prop_assert!(occupancy.claim(&mut claimed, &map).is_ok());
        // A second job takes none of the processors that the first has for itself.
        if let (Ok(second), true) = (place(&spec, &claimed, &shares, &occupancy), map.policies[0].exclusive) {
            let own = second.policies[0].exclusive && spec.map.overload != Some(true);
            for placement in second.procs.iter().filter(|_| own) {
                let busy = occupancy.busy(second.nodes[placement.node as usize].id);
                let free = |cpus: &CpuSet| !cpus.intersects(&busy);
                let listed = matches!(spec.map.by, Some(MapBy::PeList(_)));
                prop_assert!(listed || placement.cpus.as_ref().is_none_or(free));
            }
        }
        occupancy.release(&mut claimed, &map);
        prop_assert_eq!((claimed, occupancy), (pool, Occupancy::default()));
    }

    #[test]
    fn what_fits_the_slots_is_placed_when_nothing_is_to_be_bound_or_nobody_asked_how(
        pool in pool(),
        map_by in prop::sample::select(&["", "slot", "node", "core", "package", "numa", "package:span", "core:hwtcpus"][..]),
        bind_to in prop::sample::select(&["none", ""][..]),
        part in 1u32..100,
    ) {
        let spec = job(&[Some(1)], map_by, "", bind_to);
        let threads = spec.map.cpus == Some(CpuKind::HwThread);
        let slots = |node: &NodeRecord| {
            let counted = threads && !node.slots_given;
            let slots = if counted { node.slots.max(node.topology.allowed.len() as u32) } else { node.slots };
            let max = if node.max_slots == 0 { u32::MAX } else { node.max_slots };
            slots.min(max) - node.slots_inuse
        };
        let free: u32 = pool.iter().map(slots).sum();
        prop_assume!(free > 0);
        let np = 1 + part % free;
        let spec = job(&[Some(np)], map_by, "", bind_to);
        let map = place(&spec, &pool, &[all(&pool)], &Occupancy::default());
        prop_assert_eq!(map.map(|map| map.procs.len() as u32), Ok(np));
    }
}
