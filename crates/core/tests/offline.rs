//! Maps without a launch, and nodes that are taken to be like a topology file.

mod common;

use common::{Cluster, job};
use ferrite_types::*;

fn map_only(np: u32) -> JobSpec {
    let mut spec = job("true", np);
    spec.options.do_not_launch = true;
    spec.display.map = true;
    spec
}

/// For a map alone no daemon is started (spec L13).
#[test]
fn a_map_alone_starts_no_daemon() {
    let dvm = Cluster::with_job(5, &[], map_only(5));
    assert_eq!(dvm.exits.keys().collect::<Vec<_>>(), [&DaemonRank::HEAD], "there was only the head");
    assert!(dvm.nodes.is_empty());
    assert!(dvm.running.is_empty());
    assert_eq!((dvm.exit_code(), dvm.notices.len()), (0, 0));
    assert!(dvm.stdout().contains("Data for node: n4"));
}

/// A job without processes needs all daemons, whose machines its map shows.
#[test]
fn a_job_that_is_not_spawned_starts_the_daemons_and_ends_with_its_map() {
    let mut spec = job("true", 5);
    spec.options.do_not_spawn = true;
    spec.display.map = true;
    let dvm = Cluster::with_job(5, &[], spec);
    assert_eq!(dvm.exits.len(), 5, "every daemon has come and gone");
    assert!(dvm.running.is_empty() && dvm.proc_states.is_empty());
    assert_eq!((dvm.exit_code(), dvm.notices.len()), (0, 0));
    assert!(dvm.stdout().contains("Data for node: n4") && !dvm.stdout().contains("reflects"), "{}", dvm.stdout());
}

#[test]
fn machines_are_shown_for_all_nodes_or_for_those_that_are_named() {
    let mut spec = map_only(1);
    spec.display.topo = Some(vec!["n1".to_owned(), "elsewhere".to_owned()]);
    spec.display.cpus = Some(Vec::new());
    let dvm = Cluster::with_job(2, &[], spec);
    let shown = dvm.stdout();
    assert_eq!(shown.matches("TOPOLOGY FOR NODE n1").count(), 1);
    assert!(!shown.contains("TOPOLOGY FOR NODE n0"));
    assert_eq!(shown.matches("PKG[0]: 0-3").count(), 2);
    assert!(dvm.notices[0].contains("--display topo=elsewhere"), "{:?}", dvm.notices);
}

#[test]
fn every_node_is_like_the_file_whatever_its_daemon_says() {
    // The daemons of these tests report one package of four cores.
    let config =
        ferrite_core::HeadConfig { topology: Some(Topology::uniform(2, 3, 1)), ..Cluster::config(2, &[], false) };
    let mut dvm = Cluster::of(config);
    let mut spec = job("true", 12);
    spec.display.map = true;
    dvm.start(spec);
    assert_eq!(dvm.running.len(), 12, "{:?}", dvm.notices);
    assert_eq!(dvm.stdout().matches("Num slots: 6").count(), 2);
    dvm.exit_all();
    dvm.assert_gone();
}

/// The processors that the DVM may use are named in the map, unless the job has a list of its own.
#[test]
fn the_map_names_the_default_list_of_processors() {
    let dvm = Cluster::with_job(2, &[("hwloc_default_cpu_list", "0-1")], map_only(2));
    assert!(dvm.stdout().contains("Cpu set: 0-1  PPR: N/A"), "{}", dvm.stdout());
    assert!(Cluster::with_job(2, &[], map_only(2)).stdout().contains("Cpu set: N/A"));
}

/// Allocation, processors and map for programs are one document.
#[test]
fn what_is_parseable_is_one_document() {
    let shown = |show: fn(&mut Display)| {
        let mut spec = job("true", 2);
        spec.display.parseable = true;
        show(&mut spec.display);
        Cluster::with_job(2, &[], spec).stdout()
    };
    let all = shown(|display| {
        (display.map, display.allocation, display.cpus) = (true, true, Some(Vec::new()));
    });
    assert_eq!((all.matches("<?xml").count(), all.matches("<display>").count()), (1, 1), "{all}");
    assert!(all.starts_with("<?xml") && all.ends_with("</map>\n</display>\n"), "{all}");
    assert_eq!((all.matches("<allocation>").count(), all.matches("<processors node=").count()), (1, 2), "{all}");
    let two = shown(|display| (display.allocation, display.cpus) = (true, Some(vec!["n1".to_owned()])));
    assert!(two.contains("</allocation>\n<processors node=\"n1\">") && two.ends_with("</display>\n"), "{two}");
    let one = shown(|display| display.allocation = true);
    assert!(one.starts_with("<allocation>"), "a part alone has no root of its own: {one}");
    let map = shown(|display| display.map = true);
    assert!(map.starts_with("<?xml") && map.ends_with("</map>\n"), "{map}");
}
