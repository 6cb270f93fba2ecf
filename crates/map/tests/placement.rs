//! Job maps and refusals, as a user sees them.

mod common;

use common::{all, job, nodes, placed, shown};
use ferrite_map::{MapError, Occupancy, display, place};
use ferrite_types::{
    CpuChoice, CpuPart, CpuSet, DaemonRank, Device, DeviceKind, DeviceVendor, HostEntry, HostRef, JobSpec, LocalRank,
    MapBy, NodeId, NodeShare, ObjectKind, Rank, RankLine, SeqLine, Topology,
};

fn machine() -> Topology {
    Topology::uniform(2, 4, 1)
}

/// `n0 n0 n1`: the node of each rank.
fn order(map: &ferrite_types::JobMap) -> String {
    let name = |p: &ferrite_types::Placement| map.nodes[p.node as usize].name.as_str();
    map.procs.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn cpus(map: &ferrite_types::JobMap) -> String {
    let one = |p: &ferrite_types::Placement| p.cpus.as_ref().map_or("-".into(), ToString::to_string);
    map.procs.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn two_processes_without_a_policy_go_by_core() {
    insta::assert_snapshot!(shown(&job(&[Some(2)], "", "", ""), &nodes(2, 8, machine())));
}

#[test]
fn more_processes_without_a_policy_go_by_core_as_well() {
    insta::assert_snapshot!(shown(&job(&[Some(4)], "", "", ""), &nodes(2, 8, machine())));
}

#[test]
fn by_slot_fills_nodes_and_by_node_takes_turns() {
    let pool = nodes(3, 2, machine());
    let map = placed(&job(&[Some(5)], "slot", "", ""), &pool).unwrap();
    assert_eq!(order(&map), "n0 n0 n1 n1 n2");
    let map = placed(&job(&[Some(5)], "node", "", ""), &pool).unwrap();
    assert_eq!((order(&map).as_str(), map.policies[0].rank_by.as_str()), ("n0 n1 n2 n0 n1", "NODE"));
    let map = placed(&job(&[Some(5)], "node", "slot", ""), &pool).unwrap();
    assert_eq!(order(&map), "n0 n0 n1 n1 n2");
}

#[test]
fn without_a_number_every_slot_gets_a_process() {
    let map = placed(&job(&[None], "slot", "", "none"), &nodes(2, 3, machine())).unwrap();
    assert_eq!(order(&map), "n0 n0 n0 n1 n1 n1");
    assert!(map.procs.iter().all(|p| p.cpus.is_none()));
}

#[test]
fn two_per_node_is_shown_with_its_ppr() {
    insta::assert_snapshot!(shown(&job(&[None], "ppr:2:node", "", ""), &nodes(2, 8, machine())));
}

#[test]
fn ppr_of_packages_binds_inside_of_each_package() {
    let map = placed(&job(&[None], "ppr:2:package", "", ""), &nodes(1, 8, machine())).unwrap();
    assert_eq!(cpus(&map), "0-3 0-3 4-7 4-7");
    let map = placed(&job(&[None], "ppr:2:package", "", "core"), &nodes(1, 8, machine())).unwrap();
    assert_eq!(cpus(&map), "0 1 4 5");
}

#[test]
fn by_package_deals_to_packages_in_turn_and_the_ranking_decides_who_is_who() {
    let pool = nodes(2, 4, machine());
    let of = |rank_by| cpus(&placed(&job(&[Some(6)], "package", rank_by, "core"), &pool).unwrap());
    assert_eq!(of("fill"), "0 1 4 5 0 4");
    assert_eq!(of("slot"), "0 4 1 5 0 4");
    assert_eq!(of("span"), "0 4 0 4 1 5");
    assert_eq!(of("node"), "0 0 4 4 1 5");
}

#[test]
fn mpmd_ranks_are_contiguous_and_cores_are_not_shared() {
    let pool = nodes(2, 4, Topology::uniform(1, 4, 1));
    let map = placed(&job(&[Some(2), Some(3)], "core", "", "core"), &pool).unwrap();
    let apps: Vec<u16> = map.procs.iter().map(|p| p.app).collect();
    assert_eq!(apps, [0, 0, 1, 1, 1]);
    assert_eq!(order(&map), "n0 n0 n0 n0 n1");
    assert_eq!(cpus(&map), "0 1 2 3 0");
    insta::assert_snapshot!(display::job_map("job@1", &map, &pool, true));
}

#[test]
fn more_processes_than_slots_are_refused_with_the_arithmetic() {
    let mut pool = nodes(2, 4, machine());
    pool[1].slots_given = true;
    pool[1].slots_inuse = 3;
    insta::assert_snapshot!(shown(&job(&[Some(9)], "", "", ""), &pool));
}

#[test]
fn oversubscription_spreads_evenly_and_unbinds() {
    let pool = nodes(2, 2, Topology::uniform(1, 2, 1));
    let map = placed(&job(&[Some(7)], ":oversubscribe", "slot", ""), &pool).unwrap();
    assert_eq!(order(&map), "n0 n0 n0 n0 n1 n1 n1");
    assert_eq!((map.policies[0].map_by.as_str(), map.policies[0].bind_to.as_str()), ("BYCORE:OVERSUBSCRIBE", "NONE"));
    assert!(map.procs.iter().all(|p| p.cpus.is_none()));
}

#[test]
fn max_slots_is_a_limit_even_with_oversubscription() {
    let mut pool = nodes(2, 2, machine());
    pool[0].max_slots = 3;
    let map = placed(&job(&[Some(6)], "slot:oversubscribe", "", ""), &pool).unwrap();
    assert_eq!(order(&map), "n0 n0 n0 n1 n1 n1");
    pool[1].max_slots = 2;
    insta::assert_snapshot!(shown(&job(&[Some(6)], "slot:oversubscribe", "", ""), &pool));
}

#[test]
fn stated_slots_beyond_the_cores_leave_the_job_unbound_unless_binding_was_asked_for() {
    let mut pool = nodes(2, 2, Topology::uniform(1, 2, 1));
    pool[0].slots = 3;
    let map = placed(&job(&[Some(5)], "slot", "", ""), &pool).unwrap();
    assert_eq!(cpus(&map), "- - - - -");
    // Processes that fit on the cores of all nodes are bound, on the next node if need be.
    let map = placed(&job(&[Some(4)], "core", "", ""), &pool).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n0 n0 n1 n1", "0 1 0 1"));
    insta::assert_snapshot!(shown(&job(&[Some(5)], "slot", "", "core"), &pool));
    let map = placed(&job(&[Some(5)], "slot", "", "core:overload-allowed"), &pool).unwrap();
    assert_eq!(cpus(&map), "0 1 0 0 1");
}

#[test]
fn a_cap_holds_for_its_app_only() {
    let pool = nodes(2, 4, machine());
    let capped = vec![NodeShare { node: NodeId(1), cap: Some(1) }, NodeShare { node: NodeId(0), cap: Some(2) }];
    let spec = job(&[None, Some(3)], "slot", "", "");
    let map = place(&spec, &pool, &[capped, all(&pool)], &Occupancy::default()).unwrap();
    assert_eq!(order(&map), "n1 n0 n0 n0 n0 n1");
    let capped = vec![NodeShare { node: NodeId(1), cap: Some(1) }];
    let error = place(&job(&[Some(2)], "slot", "", ""), &pool, &[capped], &Occupancy::default());
    insta::assert_snapshot!(error.unwrap_err().to_string());
}

#[test]
fn nolocal_leaves_out_the_head_and_daemonless_nodes_are_never_used() {
    let mut pool = nodes(3, 2, machine());
    pool[2].daemon = None;
    let map = placed(&job(&[None], "slot:nolocal", "", ""), &pool).unwrap();
    assert_eq!(order(&map), "n1 n1");
    assert_eq!(map.nodes[0].daemon, DaemonRank(1));
    assert!(matches!(placed(&job(&[None], ":nolocal", "", ""), &pool[..1]), Err(MapError::NoNodes { .. })));
}

#[test]
fn a_second_job_gets_other_cores_and_node_ranks_and_release_gives_them_back() {
    let mut pool = nodes(1, 4, Topology::uniform(1, 4, 2));
    let mut occupancy = Occupancy::default();
    let spec = job(&[Some(2)], "", "", "");
    let shares = [all(&pool)];
    let first = place(&spec, &pool, &shares, &occupancy).unwrap();
    occupancy.claim(&mut pool, &first).unwrap();
    let second = place(&spec, &pool, &shares, &occupancy).unwrap();
    assert_eq!((cpus(&first).as_str(), cpus(&second).as_str()), ("0-1 2-3", "4-5 6-7"));
    assert_eq!(second.procs[1].node_rank, LocalRank(3));
    assert_eq!(second.procs[1].local_rank, LocalRank(1));
    occupancy.claim(&mut pool, &second).unwrap();
    assert!(place(&spec, &pool, &shares, &occupancy).is_err());
    assert!(occupancy.claim(&mut pool, &first).is_err());
    occupancy.release(&mut pool, &first);
    assert_eq!(pool[0].slots_inuse, 2);
    assert_eq!(cpus(&place(&spec, &pool, &shares, &occupancy).unwrap()), "0-1 2-3");
    occupancy.release(&mut pool, &second);
    assert_eq!((pool[0].slots_inuse, occupancy), (0, Occupancy::default()));
}

#[test]
fn only_allowed_cores_are_used() {
    let mut half = machine();
    half.allowed = [2, 3, 6].into_iter().collect();
    let map = placed(&job(&[Some(3)], "core", "", ""), &nodes(1, 3, half)).unwrap();
    assert_eq!(cpus(&map), "2 3 6");
}

#[test]
fn a_machine_of_unknown_shape_maps_by_slot_and_is_not_bound() {
    let map = placed(&job(&[Some(3)], "", "", ""), &nodes(1, 4, Topology::default())).unwrap();
    assert_eq!((map.policies[0].map_by.as_str(), cpus(&map).as_str()), ("BYSLOT:NOOVERSUBSCRIBE", "- - -"));
}

#[test]
fn every_refusal_says_what_would_work() {
    let pool = nodes(3, 2, machine());
    let mut no_packages = machine();
    no_packages.objects.retain(|(kind, _)| *kind != ObjectKind::L3Cache && *kind != ObjectKind::Package);
    let bare = nodes(1, 4, no_packages);
    let all = [
        shown(&job(&[Some(8)], "ppr:2:node", "", ""), &pool),
        shown(&job(&[None], "ppr:3:node", "", ""), &pool),
        shown(&job(&[Some(0)], "", "", ""), &pool),
        shown(&job(&[Some(2)], "l3cache", "", ""), &bare),
        shown(&job(&[None], "ppr:1:package", "", ""), &bare),
        shown(&job(&[Some(2)], "slot", "", "package"), &bare),
        shown(&job(&[Some(2)], "core", "", "package"), &pool),
        shown(&job(&[Some(2)], "slot", "fill", ""), &pool),
        shown(&job(&[Some(2), None], "slot", "", ""), &nodes(1, 2, machine())),
        shown(&job(&[Some(20_000_000)], "slot:OVERSUBSCRIBE", "", ""), &nodes(400, 2, machine())),
    ];
    insta::assert_snapshot!(all.join("\n--\n"));
}

#[test]
fn the_allocation_and_the_xml_form() {
    let mut pool = nodes(2, 2, Topology::uniform(1, 2, 1));
    pool[1].max_slots = 4;
    pool[1].slots_inuse = 1;
    let map = placed(&job(&[Some(3)], "core", "", ""), &pool).unwrap();
    insta::assert_snapshot!(display::allocation("job@1", 0, &pool) + &display::job_map_xml(&map, &pool));
}

#[test]
fn several_processors_for_each_process_stay_in_one_package() {
    let map = placed(&job(&[Some(3)], "package:PE=2", "", ""), &nodes(1, 8, machine())).unwrap();
    assert_eq!(cpus(&map), "0-1 2-3 4-5");
    let map = placed(&job(&[Some(4)], "slot:PE=3", "", ""), &nodes(2, 8, machine())).unwrap();
    assert_eq!(cpus(&map), "0-2 4-6 0-2 4-6");
    let map = placed(&job(&[Some(2)], "core:PE=2:HWTCPUS", "", ""), &nodes(1, 8, Topology::uniform(1, 2, 2))).unwrap();
    assert_eq!((cpus(&map).as_str(), map.policies[0].bind_to.as_str()), ("0-1 2-3", "HWTHREAD:IF-SUPPORTED"));
}

#[test]
fn with_span_a_job_that_does_not_fill_the_nodes_uses_all_of_them() {
    let pool = nodes(3, 4, machine());
    let map = placed(&job(&[Some(8)], "core:SPAN", "", ""), &pool).unwrap();
    assert_eq!(order(&map), "n0 n0 n0 n1 n1 n1 n2 n2");
    let map = placed(&job(&[Some(10)], "package:SPAN", "", "core"), &pool).unwrap();
    assert_eq!(order(&map), "n0 n0 n1 n1 n2 n2 n0 n0 n1 n2");
    assert_eq!(cpus(&map), "0 4 0 4 0 4 1 5 1 1");
}

#[test]
fn listed_processors_are_for_everybody_or_one_for_each() {
    let pool = nodes(2, 8, machine());
    let map = placed(&job(&[Some(6)], "pe-list=0-3", "", ""), &pool).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n0 n0 n0 n0 n1 n1", "0-3 0-3 0-3 0-3 0-3 0-3"));
    let map = placed(&job(&[None], "pe-list=0,3,5-6:ORDERED", "", ""), &pool).unwrap();
    assert_eq!(cpus(&map), "0 3 5 6 0 3 5 6");
    assert_eq!(map.policies[0].cpu_set.as_deref(), Some("0,3,5-6"));
}

#[test]
fn no_more_than_the_limit_is_bound_to_one_object() {
    let map = placed(&job(&[Some(5)], "package", "", "core:limit=1"), &nodes(1, 8, machine())).unwrap();
    assert_eq!(cpus(&map), "0 1 2 4 5");
    let map = placed(&job(&[Some(3)], "package", "", "package:limit=1"), &nodes(2, 8, machine())).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n0 n0 n1", "0-3 4-7 0-3"));
}

#[test]
fn hardware_threads_are_slots_where_nobody_stated_any() {
    let mut pool = nodes(1, 4, Topology::uniform(1, 4, 2));
    let spec = job(&[Some(8)], "core:HWTCPUS", "", "");
    let map = placed(&spec, &pool).unwrap();
    assert_eq!(cpus(&map), "0 1 2 3 4 5 6 7");
    let mut occupancy = Occupancy::default();
    occupancy.claim(&mut pool, &map).unwrap();
    occupancy.release(&mut pool, &map);
    pool[0].slots_given = true;
    assert!(matches!(placed(&spec, &pool), Err(MapError::NotEnoughSlots { free: 4, .. })));
}

#[test]
fn each_app_may_have_its_own_placement_and_takes_what_the_others_left() {
    let pool = nodes(2, 8, machine());
    let mut spec = job(&[Some(3), Some(2)], "package", "", "");
    spec.apps[1].map = Some(job(&[None], "core", "", "hwthread").map);
    let map = placed(&spec, &pool).unwrap();
    assert_eq!(cpus(&map), "0-3 0-3 4-7 2 3");
    insta::assert_snapshot!(display::job_map("job@1", &map, &pool, false));
}

#[test]
fn an_app_that_cannot_be_bound_unbinds_no_other_elsewhere() {
    let pool = nodes(2, 8, machine());
    let mut spec = job(&[None, Some(2)], "ppr:4:numa", "", "");
    let mut small = pool.clone();
    small[0].topology = Topology::uniform(1, 2, 1).into();
    spec.apps[1].map = Some(job(&[None], "core", "", "").map);
    let map = place(&spec, &small, &[at(&[0]), at(&[1])], &Occupancy::default()).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n0 n0 n0 n0 n1 n1", "- - - - 0 1"));
}

fn host(name: &str) -> HostRef {
    HostRef::Host(HostEntry::named(name))
}

fn choice(parts: &[(Option<u32>, &[u32])]) -> Option<CpuChoice> {
    let part = |(package, cpus): &(Option<u32>, &[u32])| CpuPart {
        package: *package,
        cpus: Some(cpus.iter().copied().collect()).filter(|cpus: &CpuSet| !cpus.is_empty()),
    };
    Some(CpuChoice { parts: parts.iter().map(part).collect() })
}

/// The nodes of these lines.
fn at(places: &[u32]) -> Vec<NodeShare> {
    places.iter().map(|node| NodeShare { node: NodeId(*node), cap: None }).collect()
}

fn rankfile(lines: &[(u32, &str, Option<CpuChoice>)], np: Option<u32>, bind_to: &str) -> ferrite_types::JobSpec {
    let mut spec = job(&[np], "", "", bind_to);
    let line = |(rank, name, cpus): &(u32, &str, Option<CpuChoice>)| RankLine {
        rank: Rank(*rank),
        host: host(name),
        cpus: cpus.clone(),
    };
    spec.map.by = Some(MapBy::RankFile(lines.iter().map(line).collect()));
    spec
}

#[test]
fn a_rankfile_says_where_each_rank_is_and_what_it_is_bound_to() {
    let pool = nodes(2, 8, machine());
    let lines = [
        (1, "n0", choice(&[(Some(0), &[])])),
        (0, "n1", choice(&[(Some(1), &[0, 1])])),
        (2, "n1", choice(&[(None, &[0]), (Some(1), &[2, 3])])),
    ];
    let shares = [at(&[0, 1, 1])];
    let map = place(&rankfile(&lines, None, ""), &pool, &shares, &Occupancy::default()).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n1 n0 n1", "4-5 0-3 0,6-7"));
    let policy = &map.policies[0];
    assert_eq!((policy.mapper.as_str(), policy.map_by.as_str()), ("rank_file", "BYUSER:NOOVERSUBSCRIBE"));
    let refused = |np, lines: &[_]| {
        place(&rankfile(lines, np, ""), &pool, &[at(&[0, 1, 1])[..lines.len()].to_vec()], &Occupancy::default())
            .unwrap_err()
    };
    let all = [
        refused(Some(4), &lines),
        refused(None, &[(0, "n0", choice(&[(None, &[0, 1])])), (1, "n0", choice(&[(None, &[8])]))]),
        refused(None, &[(0, "n0", choice(&[(Some(2), &[0])]))]),
    ];
    insta::assert_snapshot!(all.map(|error| error.to_string()).join("\n--\n"));
}

#[test]
fn the_file_of_an_app_counts_its_own_processes_and_that_of_the_job_counts_all() {
    let pool = nodes(2, 8, machine());
    let lines = [(0, "n1", choice(&[(None, &[3])])), (1, "n0", choice(&[(None, &[4])]))];
    let mut spec = job(&[Some(2), Some(2)], "core", "", "");
    spec.apps[1].map = Some(rankfile(&lines, None, "").map);
    let map = place(&spec, &pool, &[all(&pool), at(&[1, 0])], &Occupancy::default()).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n0 n0 n1 n0", "0 1 3 4"));
    let mut spec = job(&[Some(1), Some(1)], "", "", "");
    spec.map = rankfile(&lines, None, "").map;
    let map = place(&spec, &pool, &[at(&[1, 0]), at(&[1, 0])], &Occupancy::default()).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n1 n0", "3 4"));
}

#[test]
fn two_lines_share_a_processor_only_with_leave() {
    let pool = nodes(1, 8, machine());
    let lines = [(0, "n0", choice(&[(None, &[0, 1])])), (1, "n0", choice(&[(None, &[1, 2])]))];
    let shares = [at(&[0, 0])];
    let refused = place(&rankfile(&lines, None, ""), &pool, &shares, &Occupancy::default()).unwrap_err();
    insta::assert_snapshot!(refused.to_string());
    let map = place(&rankfile(&lines, None, "core:overload-allowed"), &pool, &shares, &Occupancy::default()).unwrap();
    assert_eq!(cpus(&map), "0-1 1-2");
}

#[test]
fn a_sequence_puts_one_process_at_each_line_and_binds_it_there() {
    let pool = nodes(2, 2, machine());
    let line = |name, cpus| SeqLine { host: host(name), cpus };
    let list = vec![line("n1", choice(&[(None, &[2])])), line("n0", None), line("n1", None)];
    let mut spec = job(&[None], "", "", "core");
    spec.map.by = Some(MapBy::Seq(list));
    let map = place(&spec, &pool, &[at(&[1, 0, 1])], &Occupancy::default()).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n1 n0 n1", "2 0 0"));
    spec.apps[0].np = Some(4);
    let short = place(&spec, &pool, &[at(&[1, 0, 1])], &Occupancy::default()).unwrap_err();
    spec.apps[0].np = None;
    let crowded = place(&spec, &pool, &[at(&[1, 1, 1])], &Occupancy::default()).unwrap_err();
    insta::assert_snapshot!(format!("{short}\n--\n{crowded}"));
}

#[test]
fn apps_share_the_lines_of_one_sequence_and_the_last_takes_the_rest() {
    let pool = nodes(3, 4, machine());
    let lines = ["n2", "n0", "n1", "n2"].map(|name| SeqLine { host: host(name), cpus: None });
    let mut spec = job(&[Some(1), None], "", "", "none");
    spec.map.by = Some(MapBy::Seq(lines.to_vec()));
    let shares = [at(&[2, 0, 1, 2]), at(&[2, 0, 1, 2])];
    let map = place(&spec, &pool, &shares, &Occupancy::default()).unwrap();
    assert_eq!(order(&map), "n2 n0 n1 n2");
    spec.apps[0].np = None;
    let short = place(&spec, &pool, &shares, &Occupancy::default()).unwrap_err().to_string();
    assert!(short.contains("has 0 places"), "{short}");
}

/// Two packages of four cores, a graphics processor at each and a second one at the first.
fn with_devices() -> Topology {
    let mut machine = machine();
    let gpu = |index: u32, cpus: std::ops::Range<u32>| Device {
        kind: DeviceKind::Gpu,
        name: format!("cuda{index}"),
        vendor: DeviceVendor::Nvidia,
        index,
        uuid: Some(format!("GPU-{index}")),
        cpus: cpus.collect(),
    };
    machine.devices = vec![gpu(0, 0..4), gpu(1, 0..4), gpu(2, 4..8)];
    machine
}

#[test]
fn a_device_takes_one_process_that_is_bound_next_to_it() {
    let pool = nodes(2, 8, with_devices());
    let devices = |map: &ferrite_types::JobMap| map.procs.iter().map(|p| p.devices.clone()).collect::<Vec<_>>();
    let map = placed(&job(&[Some(4)], "device=gpu", "", "core"), &pool).unwrap();
    assert_eq!((order(&map).as_str(), cpus(&map).as_str()), ("n0 n0 n0 n1", "0 1 4 0"));
    assert_eq!(devices(&map), [[0], [1], [2], [0]]);
    let map = placed(&job(&[Some(2)], "device=gpu:interleave", "", "numa"), &pool).unwrap();
    assert_eq!((cpus(&map).as_str(), devices(&map)), ("0-3 4-7", vec![vec![0], vec![2]]));
    let map = placed(&job(&[Some(8)], "device=gpu:shared", "slot", "core"), &nodes(1, 8, with_devices())).unwrap();
    assert_eq!(map.procs.len(), 8);
    let map = placed(&job(&[Some(2)], "device=gpu:ndev=2", "", "core"), &pool).unwrap();
    assert_eq!((order(&map).as_str(), devices(&map)), ("n0 n1", vec![vec![0, 1], vec![0, 1]]));
    let all = [
        shown(&job(&[Some(7)], "device=gpu", "", "core"), &pool),
        shown(&job(&[Some(1)], "device=gpu:ndev=4", "", "core"), &pool),
        shown(&job(&[Some(1)], "device=network", "", ""), &pool),
        shown(&job(&[Some(1)], "device=mlx5_0", "", ""), &pool),
    ];
    insta::assert_snapshot!(all.join("\n--\n"));
}

/// Runs jobs one after the other on these nodes; each keeps what it got.
fn devices_of_running(
    pool: &mut [ferrite_types::NodeRecord],
    occupancy: &mut Occupancy,
    by: &str,
    np: Option<u32>,
) -> String {
    let shares = vec![all(pool)];
    match place(&job(&[np], by, "", "none"), pool, &shares, occupancy) {
        Ok(map) => {
            occupancy.claim(pool, &map).expect("there is room");
            map.procs.iter().map(|p| format!("{}:{:?}", map.nodes[p.node as usize].name, p.devices)).collect()
        }
        Err(why) => why.to_string(),
    }
}

/// Devices are counted across jobs (spec L148).
#[test]
fn a_device_of_a_running_job_is_not_given_to_another() {
    let (mut pool, mut occupancy) = (nodes(2, 16, with_devices()), Occupancy::default());
    let mut run = |by: &str, np| devices_of_running(&mut pool, &mut occupancy, by, np);
    assert_eq!(run("device=gpu", Some(2)), "n0:[0]n0:[1]");
    assert_eq!(run("device=gpu", Some(2)), "n0:[2]n1:[0]");
    assert_eq!(run("device=gpu:shared", Some(3)), "n1:[1]n1:[2]n1:[1]");
    insta::assert_snapshot!(
        [
            run("device=gpu", Some(1)),
            run("device=gpu:ndev=2", Some(1)),
            run("ppr:1:device=gpu", None),
            run("ppr:1:device=gpu", Some(3)),
        ]
        .join("\n\n")
    );
}

#[test]
fn devices_are_free_again_after_their_job_and_the_next_program_of_a_job_gets_others() {
    let (mut pool, mut occupancy) = (nodes(1, 16, with_devices()), Occupancy::default());
    let mut spec = job(&[Some(1), Some(2)], "device=gpu", "", "none");
    let first = place(&spec, &pool, &[all(&pool), all(&pool)], &occupancy).unwrap();
    assert_eq!(first.procs.iter().map(|p| p.devices[0]).collect::<Vec<_>>(), [0, 1, 2]);
    occupancy.claim(&mut pool, &first).unwrap();
    spec.apps.truncate(1);
    assert!(place(&spec, &pool, &[all(&pool)], &occupancy).is_err());
    occupancy.release_some(&mut pool, &first, [Rank(1)].into_iter());
    let second = place(&spec, &pool, &[all(&pool)], &occupancy).unwrap();
    assert_eq!(second.procs[0].devices, [1]);
}

#[test]
fn ppr_counts_the_devices_of_a_kind_and_its_processes_share_them() {
    let pool = nodes(2, 8, with_devices());
    let devices = |map: &ferrite_types::JobMap| map.procs.iter().map(|p| p.devices.clone()).collect::<Vec<_>>();
    let map = placed(&job(&[None], "ppr:2:device=gpu", "", "core"), &nodes(1, 8, with_devices())).unwrap();
    assert_eq!(devices(&map), [[0], [0], [1], [1], [2], [2]]);
    assert_eq!(cpus(&map), "0 1 2 3 4 5");
    let texts = &map.policies[0];
    assert_eq!((texts.map_by.as_str(), texts.ppr.as_deref()), ("BYDEVICE:NOOVERSUBSCRIBE", Some("2:device=gpu")));
    let turns = placed(&job(&[Some(4)], "ppr:1:device=gpu:interleave", "", "none"), &pool).unwrap();
    assert_eq!((order(&turns).as_str(), devices(&turns)), ("n0 n0 n0 n1", vec![vec![0], vec![2], vec![1], vec![0]]));
    // A node without such a device gets no process.
    let mut mixed = nodes(2, 8, with_devices());
    mixed[0].topology = machine().into();
    assert_eq!(order(&placed(&job(&[None], "ppr:1:device=gpu", "", ""), &mixed).unwrap()), "n1 n1 n1");
    let all = [
        shown(&job(&[Some(7)], "ppr:1:device=gpu", "", ""), &pool),
        shown(&job(&[None], "ppr:3:device=gpu", "", ""), &pool),
        shown(&job(&[None], "ppr:1:device=network", "", ""), &pool),
    ];
    insta::assert_snapshot!(all.join("\n--\n"));
}

#[test]
fn ppr_of_a_later_app_counts_what_is_left_on_each_node() {
    let mut pool = nodes(2, 4, machine());
    pool[0].slots = 3;
    let mut spec = job(&[Some(2), Some(3)], "slot", "", "");
    spec.apps[1].map = Some(job(&[None], "ppr:2:node", "", "").map);
    assert_eq!(order(&placed(&spec, &pool).unwrap()), "n0 n0 n0 n1 n1");
    spec.apps[1].np = None;
    insta::assert_snapshot!(shown(&spec, &pool));
}

#[test]
fn every_refusal_about_processors_says_what_would_work() {
    let pool = nodes(2, 8, machine());
    let all = [
        shown(&job(&[Some(9)], "package:PE=2", "", ""), &pool),
        shown(&job(&[Some(2)], "core:PE=2", "", ""), &pool),
        shown(&job(&[Some(2)], "package:PE=5", "", ""), &pool),
        shown(&job(&[Some(2)], "package:PE=2", "", "package"), &pool),
        shown(&job(&[Some(2)], "pe-list=0-3", "", "none"), &pool),
        shown(&job(&[Some(2)], "pe-list=0,7", "", ""), &pool),
        shown(&job(&[Some(2)], "pe-list=6-9", "", ""), &pool),
        shown(&job(&[Some(5)], "package", "", "package:limit=1"), &pool),
        shown(&job(&[Some(2)], "numa", "", "package"), &pool),
    ];
    insta::assert_snapshot!(all.join("\n--\n"));
}

#[test]
fn processes_that_ppr_counts_are_bound_to_cores_and_more_that_a_line_counts_are_not() {
    let pool = nodes(3, 8, machine());
    let bound = |spec: &JobSpec| placed(spec, &pool).unwrap().policies[0].bind_to.clone();
    assert_eq!(bound(&job(&[None], "ppr:2:node", "", "")), "CORE:IF-SUPPORTED");
    assert_ne!(bound(&job(&[Some(6)], "ppr:2:node", "", "")), "CORE:IF-SUPPORTED");
}

#[test]
fn an_app_that_finds_slots_keeps_its_binding_when_another_does_not() {
    let pool = nodes(1, 4, machine());
    let map = placed(&job(&[Some(2), Some(4)], ":OVERSUBSCRIBE", "", ""), &pool).unwrap();
    let bound: Vec<bool> = map.procs.iter().map(|p| p.cpus.is_some()).collect();
    assert_eq!(bound, [true, true, false, false, false, false]);
}

/// The page has each text of the source: what stands between quotes up to a line break.
#[test]
fn the_words_of_refusals_are_documented() {
    let page = include_str!("../../../docs/maps.md");
    let (_, source) = include_str!("../src/topic.rs").split_once("let topic = match self").unwrap();
    let texts: Vec<&str> = source.split('"').skip(1).step_by(2).map(|text| text.split("\\n").next().unwrap()).collect();
    assert!(texts.len() > 9, "{texts:?}");
    for text in texts {
        assert!(page.contains(&format!("| `{text}` |")), "docs/maps.md lacks {text:?}");
    }
}

#[test]
fn each_refusal_has_the_words_that_tools_search_for() {
    let pool = nodes(1, 4, machine());
    let refused = |spec: &JobSpec| placed(spec, &pool).unwrap_err().refusal();
    let above = refused(&job(&[Some(2)], "core", "", "package"));
    assert!(
        above.contains("lies above the mapping object type") && above.contains("Binding level: PACKAGE"),
        "{above}"
    );
    assert!(above.contains("cannot bind to package when mapping by core"), "{above}");
    assert!(refused(&job(&[Some(2)], "slot", "fill", "")).contains("must map by object"));
    let slots = refused(&job(&[Some(5)], "", "", ""));
    assert!(slots.contains("not enough slots available") && slots.contains("--map-by :OVERSUBSCRIBE"), "{slots}");
    let mut limited = nodes(1, 2, machine());
    limited[0].max_slots = 3;
    let room = placed(&job(&[None], "ppr:2:package:OVERSUBSCRIBE", "", ""), &limited).unwrap_err().refusal();
    assert!(room.contains("leave room for 3"), "{room}");
}

#[test]
fn what_an_app_has_taken_is_not_part_of_the_objects_of_a_later_app() {
    let pool = nodes(1, 8, machine());
    let mut spec = job(&[Some(3), Some(2)], "core", "", "core");
    let own = job(&[Some(2)], "package", "", "package").map;
    spec.apps[1].map = Some(own);
    assert_eq!(cpus(&placed(&spec, &pool).unwrap()), "0 1 2 3 4-7");
    // An app that shares its object with none but itself is bound to the whole of it.
    assert_eq!(cpus(&placed(&job(&[Some(2)], "package", "", "package"), &pool).unwrap()), "0-3 4-7");
}
