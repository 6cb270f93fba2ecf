//! What holds for every job on every pool of nodes, whatever was asked for.

mod common;

use std::collections::BTreeMap;

use common::{all, job, nodes};
use ferrite_map::{Occupancy, place};
use ferrite_types::{BindTo, CpuSet, NodeRecord, NodeShare, Topology};
use proptest::prelude::*;

const MAPPERS: &[&str] = &[
    "",
    "slot",
    "node",
    "core",
    "package",
    "hwthread",
    "numa",
    "ppr:1:node",
    "ppr:2:node",
    "ppr:1:package",
    "ppr:3:core",
];
const RANKERS: &[&str] = &["", "slot", "node", "fill", "span"];
const BINDERS: &[&str] = &["", "none", "core", "hwthread", "package", "core:overload-allowed"];

prop_compose! {
    /// A machine of which a part of the hardware threads may be used.
    fn machine()(packages in 1u32..4, cores in 1u32..5, threads in 1u32..3, hidden in any::<u64>()) -> Topology {
        let mut machine = Topology::uniform(packages, cores, threads);
        let left: CpuSet = machine.allowed.iter().filter(|cpu| hidden & (3 << (cpu * 2)) != 0).collect();
        if !left.is_empty() {
            machine.allowed = left;
        }
        machine
    }
}

prop_compose! {
    fn pool()(
        machines in prop::collection::vec((machine(), 0u32..7, 0u32..9, 0u32..4), 1..5),
    ) -> Vec<NodeRecord> {
        let mut pool = nodes(machines.len() as u32, 0, Topology::default());
        for (node, (machine, slots, max, inuse)) in pool.iter_mut().zip(machines) {
            node.topology = machine.into();
            node.slots = slots;
            node.max_slots = if max < slots { 0 } else { max };
            node.slots_inuse = inuse.min(slots);
        }
        pool
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_map_that_is_given_keeps_every_rule(
        pool in pool(),
        nps in prop::collection::vec(prop::option::of(1u32..12), 1..4),
        caps in prop::collection::vec(prop::option::of(0u32..5), 4),
        map_by in prop::sample::select(MAPPERS),
        rank_by in prop::sample::select(RANKERS),
        bind_to in prop::sample::select(BINDERS),
        over in any::<bool>(),
    ) {
        let map_by = if over { format!("{map_by}:oversubscribe") } else { map_by.to_owned() };
        let spec = job(&nps, &map_by, rank_by, bind_to);
        let capped: Vec<NodeShare> = pool.iter().zip(&caps).map(|(n, cap)| NodeShare { node: n.id, cap: *cap }).collect();
        let mut shares = vec![all(&pool); nps.len()];
        shares[0] = capped;
        let Ok(map) = place(&spec, &pool, &shares, &Occupancy::default()) else { return Ok(()) };

        // Each app has as many processes as it asked for, and apps follow each other.
        prop_assert!(map.procs.is_sorted_by_key(|p| p.app));
        for (app, np) in nps.iter().enumerate() {
            let count = map.procs.iter().filter(|p| p.app as usize == app).count() as u32;
            prop_assert!(np.is_none_or(|np| np == count));
            prop_assert!(count > 0);
        }
        // Every node is known, used, and within its limits.
        let mut local: BTreeMap<u32, u32> = BTreeMap::new();
        for placement in &map.procs {
            let next = local.entry(placement.node).or_default();
            prop_assert_eq!(u32::from(placement.local_rank.0), *next);
            *next += 1;
        }
        prop_assert_eq!(local.len(), map.nodes.len());
        for (index, node) in map.nodes.iter().enumerate() {
            let record = &pool[node.id.0 as usize];
            let total = record.slots_inuse + local[&(index as u32)];
            prop_assert!(record.max_slots == 0 || total <= record.max_slots);
            prop_assert!(over || total <= record.slots);
            if let (Some(cap), false) = (caps[node.id.0 as usize], over) {
                let first = map.procs.iter().filter(|p| p.app == 0 && p.node as usize == index).count();
                prop_assert!(first as u32 <= cap);
            }
        }
        // Bindings are inside of what may be used; cores are not shared without leave.
        let exclusive = bind_to.is_empty() || bind_to == "core" || bind_to == "hwthread";
        let mut used: BTreeMap<u32, CpuSet> = BTreeMap::new();
        for placement in &map.procs {
            let Some(cpus) = &placement.cpus else {
                prop_assert!(bind_to.is_empty() || spec.map.bind_to == Some(BindTo::None));
                continue;
            };
            let record = &pool[map.nodes[placement.node as usize].id.0 as usize];
            prop_assert!(!cpus.is_empty());
            prop_assert_eq!(&cpus.intersection(&record.topology.allowed), cpus);
            let mine = used.entry(placement.node).or_default();
            prop_assert!(!exclusive || !mine.intersects(cpus));
            mine.union_with(cpus);
        }
        // The same question has the same answer; and what was mapped can be claimed and given back.
        prop_assert_eq!(place(&spec, &pool, &shares, &Occupancy::default()).unwrap(), map.clone());
        let (mut claimed, mut occupancy) = (pool.clone(), Occupancy::default());
        prop_assert!(occupancy.claim(&mut claimed, &map).is_ok());
        occupancy.release(&mut claimed, &map);
        prop_assert_eq!((claimed, occupancy), (pool, Occupancy::default()));
    }
}
