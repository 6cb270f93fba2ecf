//! A map in each of its written forms.

mod common;

use common::{job, nodes, placed};
use ferrite_map::display::{Numbers, Shown, allocation_xml};
use ferrite_types::{CpuSet, Device, DeviceKind, DeviceVendor, JobMap, NodeRecord, PlacementTexts, Topology};

/// Two apps, each placed in its own way, on two nodes of 2 packages x 2 cores x 2 threads with two accelerators; one
/// process is not bound and one was given a device.
fn mixed() -> (JobMap, Vec<NodeRecord>) {
    let mut machine = Topology::uniform(2, 2, 2);
    machine.devices = (0..2).map(accelerator).collect();
    let mut pool = nodes(2, 4, machine);
    pool[1].slots_given = true;
    pool[1].aliases = vec!["10.0.0.1".to_owned()];
    let mut map = placed(&job(&[Some(2), Some(3)], "core", "", "core"), &pool).expect("there is room");
    let policy = |mapper: &str, map_by: &str, rank_by: &str, bind_to: &str, hwthreads| PlacementTexts {
        mapper: mapper.to_owned(),
        map_by: map_by.to_owned(),
        rank_by: rank_by.to_owned(),
        bind_to: bind_to.to_owned(),
        cpus_per_rank: Some(2),
        hwthreads,
        ..PlacementTexts::default()
    };
    map.policies = vec![
        policy("round_robin", "BYNUMA:NOOVERSUBSCRIBE", "FILL", "NUMA", false),
        policy("ppr", "BYNODE:NOOVERSUBSCRIBE", "SLOT", "HWTHREAD", true),
    ];
    map.procs[0].cpus = Some((0..4).collect());
    map.procs[1].devices = vec![1];
    map.procs[2].cpus = Some([0, 4].into_iter().collect());
    map.procs[4].cpus = None;
    (map, pool)
}

fn accelerator(index: u32) -> Device {
    Device {
        kind: DeviceKind::Gpu,
        name: format!("cuda{index}"),
        vendor: DeviceVendor::Nvidia,
        index,
        uuid: None,
        cpus: CpuSet::new(),
    }
}

fn shown<'a>(map: &'a JobMap, nodes: &'a [NodeRecord]) -> Shown<'a> {
    Shown { job: "prterun-n0-42@1", map, nodes, not_launched: false, numbers: Numbers::Logical }
}

#[test]
fn apps_with_policies_of_their_own_have_a_line_each() {
    let (map, pool) = mixed();
    insta::assert_snapshot!(shown(&map, &pool).map());
}

#[test]
fn the_developers_form_says_everything_of_nodes_and_processes() {
    let (map, pool) = mixed();
    insta::assert_snapshot!(shown(&map, &pool).devel("prterun-n0-42"));
    let map = placed(&job(&[Some(3)], "slot:oversubscribe", "", ""), &nodes(1, 2, Topology::uniform(1, 2, 1))).unwrap();
    let mut pool = nodes(1, 2, Topology::uniform(1, 2, 1));
    pool[0].slots_inuse = 3;
    insta::assert_snapshot!(Shown { not_launched: true, ..shown(&map, &pool) }.devel("prterun-n0-42"));
}

#[test]
fn the_form_for_machines_is_xml() {
    let (map, mut pool) = mixed();
    pool[1].name = "a<b>&\"".to_owned();
    let mut map = map;
    map.nodes[1].name.clone_from(&pool[1].name);
    let text = Shown { not_launched: true, ..shown(&map, &pool) }.xml();
    insta::assert_snapshot!(text);
    for text in [text, allocation_xml(&pool)] {
        roxmltree::Document::parse(&text).unwrap();
    }
}
