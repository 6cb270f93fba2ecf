//! Pictures of maps: small ones to the letter, any at all in the rules that they keep.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{job, nodes, placed};
use ferrite_map::picture::{Subject, html, lines, svg};
use ferrite_types::{
    CpuSet, DaemonRank, Device, DeviceKind, DeviceVendor, JobMap, JobNode, LocalRank, NodeId, NodeRecord, ObjectKind,
    Placement, Topology, TopologyObject,
};
use proptest::prelude::*;

/// Checks that it is XML, and returns the ranks that it draws.
fn drawn(image: &str) -> BTreeSet<u32> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(image, options).expect("well-formed");
    let lists = document.descendants().filter_map(|node| node.attribute("data-r"));
    let parts = lists.flat_map(|list| list.split(' ').next().unwrap_or_default().split(','));
    let span = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u32>().expect("a rank")..=last.parse::<u32>().expect("a rank")
    };
    parts.flat_map(span).collect()
}

fn subject<'a>(map: &'a JobMap, nodes: &'a [NodeRecord], programs: &'a [String]) -> Subject<'a> {
    Subject { job: "prterun-n0-42@1", programs, map, nodes, not_launched: false }
}

/// Two programs on two nodes of 2 packages x 2 cores x 2 threads: a core, a thread, two cores, shared, not bound, not
/// allowed.
fn mixed() -> (JobMap, Vec<NodeRecord>) {
    let mut machine = Topology::uniform(2, 2, 2);
    machine.allowed = (0..7).collect();
    machine.devices = vec![Device {
        kind: DeviceKind::Gpu,
        name: "cuda0".to_owned(),
        vendor: DeviceVendor::Nvidia,
        index: 0,
        uuid: None,
        cpus: CpuSet::new(),
    }];
    let pool = nodes(2, 3, machine);
    let mut map = placed(&job(&[Some(4), Some(2)], "slot", "", "none"), &pool).expect("there is room");
    let sets: [&[u32]; 4] = [&[0, 1], &[2], &[4, 5], &[0, 1, 2, 3]];
    for (placement, set) in map.procs.iter_mut().zip(sets) {
        placement.cpus = Some(set.iter().copied().collect());
    }
    map.procs[4].cpus = Some((0..2).collect());
    map.procs[1].devices = vec![0];
    (map, pool)
}

#[test]
fn a_small_job_as_an_image_and_as_lines() {
    let (map, pool) = mixed();
    let programs = ["./a.out".to_owned(), "./b <\"&\">\u{1b}".to_owned()];
    let image = svg(&subject(&map, &pool, &programs));
    insta::assert_snapshot!(image);
    assert_eq!(drawn(&image), (0..6).collect());
    insta::assert_snapshot!(lines(&subject(&map, &pool, &programs), 9).join("\n"));
}

#[test]
fn a_picture_of_many_nodes_begins_with_an_overview() {
    let picture = |count: u32| {
        let pool = nodes(count, 4, Topology::uniform(2, 2, 1));
        let map = placed(&job(&[Some(count * 4 - 2), Some(1)], "slot", "", "none"), &pool).expect("there is room");
        (svg(&subject(&map, &pool, &[])), html(&subject(&map, &pool, &[])))
    };
    assert!(!picture(8).0.contains("Overview"));
    let (image, page) = picture(9);
    assert!(image.contains("Overview") && page.contains("Overview"));
    assert!(image.find("Overview") < image.find("class=\"h\""), "it is above the cards");
    assert!(image.contains("<title>n8: 3 ranks (32-34), 4 slots</title>"), "{image}");
    assert_eq!(drawn(&image), (0..35).collect());
}

#[test]
fn a_page_has_every_rank_in_its_table() {
    let (map, pool) = mixed();
    let page = html(&subject(&map, &pool, &["./a.out".to_owned()]));
    assert_eq!(drawn(&page), (0..6).collect());
    let table = page.split_once("<section>").map(|(_, rest)| rest.split_once("</section>").map(|(table, _)| table));
    insta::assert_snapshot!(table.flatten().expect("a table"));
}

#[test]
fn equal_nodes_of_a_large_job_are_drawn_once() {
    let pool = nodes(1000, 96, Topology::uniform(2, 48, 2));
    let map = placed(&job(&[Some(96_000 - 5)], "core", "", ""), &pool).expect("there is room");
    let image = svg(&subject(&map, &pool, &[]));
    assert!(image.contains("n[0-998]") && image.contains("999 nodes like this"), "{image}");
    assert!(image.contains("ranks 0-95903;") && image.contains("91 ranks: 95904-95994"));
    assert!(image.len() < 200_000, "{}", image.len());
    insta::assert_snapshot!(lines(&subject(&map, &pool, &[]), 8).join("\n"));
}

#[test]
fn thousands_of_nodes_of_which_no_two_are_equal_give_an_image_of_bounded_size() {
    let mut pool = nodes(3000, 64, Topology::uniform(2, 16, 2));
    pool.iter_mut().zip(64..).for_each(|(node, slots)| node.slots = slots);
    let map = placed(&job(&[Some(3000 * 64)], "slot", "", "none"), &pool).expect("there is room");
    let page = html(&subject(&map, &pool, &[]));
    assert!(page.len() < 6_000_000, "{}", page.len());
    assert!(page.contains("more nodes that are not drawn: n["));
    assert_eq!(lines(&subject(&map, &pool, &[]), 8).len(), 9);
}

#[test]
fn a_machine_with_very_many_processors_is_drawn_by_cores_or_areas() {
    for (cores, threads) in [(768, 8), (4800, 1)] {
        let pool = nodes(1, 4, Topology::uniform(4, cores / 4, threads));
        let map = placed(&job(&[Some(4)], "package", "", "package"), &pool).expect("there is room");
        let image = svg(&subject(&map, &pool, &[]));
        assert!(image.len() < 1_000_000, "{}", image.len());
        assert_eq!(drawn(&image), (0..4).collect());
    }
}

prop_compose! {
    fn set(most: u32)(cpus in prop::collection::vec(0..most, 0..10)) -> CpuSet { cpus.into_iter().collect() }
}

prop_compose! {
    fn span(most: u32)(first in 0..most, length in 0..most) -> CpuSet { (first..first + length).collect() }
}

fn objects() -> impl Strategy<Value = Vec<TopologyObject>> {
    let cpus = prop_oneof![span(24), set(24)];
    let object =
        (0u32..9, cpus, 0u64..1 << 45).prop_map(|(os_index, cpus, bytes)| TopologyObject { os_index, cpus, bytes });
    prop::collection::vec(object, 0..6)
}

/// Any at all: kinds are missing, objects lie across each other, what is allowed does not exist.
fn machine() -> impl Strategy<Value = Topology> {
    const KINDS: [ObjectKind; 6] = [
        ObjectKind::Package,
        ObjectKind::Numa,
        ObjectKind::L3Cache,
        ObjectKind::L2Cache,
        ObjectKind::Core,
        ObjectKind::HwThread,
    ];
    let lists = prop::collection::vec(prop::option::of(objects()), KINDS.len());
    (lists, set(30), any::<bool>()).prop_map(|(lists, allowed, regular)| match regular {
        true => Topology { allowed, ..Topology::uniform(2, 3, 2) },
        false => Topology {
            objects: KINDS.into_iter().zip(lists).filter_map(|(kind, list)| Some((kind, list?))).collect(),
            allowed,
            devices: Vec::new(),
        },
    })
}

prop_compose! {
    /// Any map on these machines; a node may have left the pool, and a binding may speak of what is not there.
    fn scene()(machines in prop::collection::vec((machine(), 0u32..5, "[a-z<&\"é\u{1}]{0,3}[0-9]{0,3}"), 1..6))(
        procs in prop::collection::vec((0..machines.len() as u32, 0u16..9, prop::option::of(set(40)), 0u16..3), 1..14),
        gone in any::<bool>(),
        machines in Just(machines),
    ) -> (JobMap, Vec<NodeRecord>) {
        let mut pool = nodes(machines.len() as u32, 0, Topology::default());
        let mut map = JobMap { total_slots: 3, ..JobMap::default() };
        for (record, (machine, slots, name)) in pool.iter_mut().zip(machines) {
            (record.topology, record.slots, record.name) = (Arc::new(machine), slots, name);
            map.nodes.push(JobNode { id: record.id, daemon: DaemonRank(record.id.0), name: record.name.clone() });
        }
        for (node, app, cpus, device) in procs {
            let (local_rank, node_rank) = (LocalRank(0), LocalRank(0));
            map.procs.push(Placement { node, app, local_rank, node_rank, cpus, devices: vec![device] });
        }
        if gone {
            pool.retain(|record| record.id != NodeId(0));
        }
        (map, pool)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_map_is_drawn_with_every_rank_and_the_same_again(
        (map, pool) in scene(),
        programs in prop::collection::vec("\\PC{0,8}", 0..4),
        most in 0usize..5,
    ) {
        let subject = subject(&map, &pool, &programs);
        let all: BTreeSet<u32> = (0..map.procs.len() as u32).collect();
        let image = svg(&subject);
        prop_assert_eq!(drawn(&image), all.clone());
        prop_assert_eq!(drawn(&html(&subject)), all);
        prop_assert_eq!(image, svg(&subject));
        prop_assert!(lines(&subject, most).len() <= most.max(1) + 1);
    }
}
