//! What a user sees for what a user asks: job maps and refusals.

mod common;

use common::{all, job, nodes, placed, shown};
use ferrite_map::{MapError, Occupancy, display, place};
use ferrite_types::{DaemonRank, LocalRank, NodeId, NodeShare, ObjectKind, Topology};

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
fn more_processes_without_a_policy_go_by_package() {
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
    assert_eq!(cpus(&map), "0 1 4 5");
}

#[test]
fn by_package_deals_to_packages_in_turn_and_the_ranking_decides_who_is_who() {
    let pool = nodes(2, 4, machine());
    let of = |rank_by| cpus(&placed(&job(&[Some(6)], "package", rank_by, ""), &pool).unwrap());
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
    assert_eq!(
        (map.policies[0].map_by.as_str(), map.policies[0].bind_to.as_str()),
        ("BYPACKAGE:OVERSUBSCRIBE", "NONE")
    );
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
fn stated_slots_beyond_the_cores_leave_that_node_unbound_unless_binding_was_asked_for() {
    let mut pool = nodes(2, 2, Topology::uniform(1, 2, 1));
    pool[0].slots = 3;
    let map = placed(&job(&[Some(5)], "slot", "", ""), &pool).unwrap();
    assert_eq!(cpus(&map), "- - - 0 1");
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
