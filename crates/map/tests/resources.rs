//! Resources of nodes that are counted across jobs: memory, and what a site names.

mod common;

use common::{all, job, nodes};
use ferrite_map::{MapError, Occupancy, place};
use ferrite_types::resources::{SiteResources, parse_takes};
use ferrite_types::{JobMap, JobSpec, NodeRecord, Rank, Topology};

fn site(text: &str) -> Occupancy {
    Occupancy::of(SiteResources::parse(text).expect("a list of resources"))
}

/// A job whose programs have these numbers of processes, each of which takes this.
fn taking(np: &[Option<u32>], by: &str, takes: &str) -> JobSpec {
    let mut spec = job(np, by, "", "none");
    for app in &mut spec.apps {
        let takes = parse_takes(takes).expect("a list of amounts");
        (app.takes, app.takes_once) = (takes.each, takes.once);
    }
    spec
}

fn placed_on(pool: &[NodeRecord], occupancy: &Occupancy, spec: &JobSpec) -> Result<JobMap, MapError> {
    place(spec, pool, &vec![all(pool); spec.apps.len()], occupancy)
}

/// `n0 n0 n1`, or the refusal.
fn order(map: &Result<JobMap, MapError>) -> String {
    match map {
        Ok(map) => {
            let names: Vec<&str> = map.procs.iter().map(|p| &*map.nodes[p.node as usize].name).collect();
            names.join(" ")
        }
        Err(why) => why.to_string(),
    }
}

fn four_cores(n: u32) -> Vec<NodeRecord> {
    nodes(n, 4, Topology::uniform(1, 4, 1))
}

/// The nodes have what the site states, and what jobs take is not there for others until they release it (spec L149).
#[test]
fn resources_of_running_jobs_are_not_given_to_others() {
    let (mut pool, mut occupancy) = (four_cores(3), site("fpga=2,fpga=0@n1"));
    let first = placed_on(&pool, &occupancy, &taking(&[Some(3)], "", "fpga=1"));
    assert_eq!(order(&first), "n0 n0 n2");
    let first = first.unwrap();
    occupancy.claim(&mut pool, &first).unwrap();
    let second = placed_on(&pool, &occupancy, &taking(&[None], "", "fpga=1"));
    assert_eq!(order(&second), "n2", "as many as there are resources for");
    assert_eq!(order(&placed_on(&pool, &occupancy, &taking(&[Some(2)], "node", "fpga=1"))).lines().count(), 5);
    assert_eq!(order(&placed_on(&pool, &occupancy, &job(&[Some(9)], "", "", "none"))).split(' ').count(), 9);
    occupancy.release_some(&mut pool, &first, [Rank(1)].into_iter());
    assert_eq!(occupancy.amount(&pool[0], "fpga"), Some((2, 1)));
    assert_eq!(order(&placed_on(&pool, &occupancy, &taking(&[None], "", "fpga=1"))), "n0 n2");
    occupancy.release_some(&mut pool, &first, [Rank(0), Rank(2)].into_iter());
    assert_eq!(occupancy, occupancy.idle());
}

#[test]
fn each_way_to_place_processes_keeps_to_the_resources() {
    let (pool, occupancy) = (four_cores(2), site("fpga=2,fpga=3@n1"));
    let placed =
        |np: &[Option<u32>], by: &str, takes: &str| order(&placed_on(&pool, &occupancy, &taking(np, by, takes)));
    assert_eq!(placed(&[Some(4)], "node", "fpga=1"), "n0 n1 n0 n1");
    assert_eq!(placed(&[Some(5)], ":OVERSUBSCRIBE", "fpga=1"), "n0 n0 n1 n1 n1");
    assert_eq!(placed(&[Some(5)], "node:OVERSUBSCRIBE", "fpga=1"), "n0 n1 n0 n1 n1");
    assert_eq!(placed(&[Some(2)], "core", "fpga=2"), "n0 n1");
    assert_eq!(placed(&[Some(2)], "seq", "fpga=2"), "n0 n1");
    assert_eq!(placed(&[Some(1), Some(3)], "", "fpga=1"), "n0 n0 n1 n1");
    let spec = taking(&[Some(6)], "ppr:3:node", "fpga=1");
    assert!(matches!(placed_on(&pool, &occupancy, &spec), Err(MapError::NotEnoughResources { room: 5, .. })));
}

/// Memory is that of the machine, unless the site says otherwise (spec L149).
#[test]
fn memory_is_known_from_the_machine_or_stated() {
    let mut machine = Topology::uniform(1, 4, 1);
    machine.objects[1].1[0].bytes = 8 << 30;
    let pool = nodes(1, 4, machine);
    assert_eq!(order(&placed_on(&pool, &Occupancy::default(), &taking(&[None], "", "mem=3G"))), "n0 n0");
    assert_eq!(order(&placed_on(&pool, &site("mem=3G"), &taking(&[None], "", "mem=3G"))), "n0");
}

#[test]
fn refusals_say_what_there_is_and_what_to_do() {
    let (mut pool, mut occupancy) = (four_cores(2), site("fpga=2,mem=4G"));
    let refused = |pool: &[NodeRecord], occupancy: &Occupancy, np: &[Option<u32>], by: &str, takes: &str| {
        order(&placed_on(pool, occupancy, &taking(np, by, takes)))
    };
    let mut texts = vec![
        refused(&pool, &occupancy, &[Some(5)], "", "fpga=1"),
        refused(&pool, &occupancy, &[None], "", "mem=5G"),
        refused(&pool, &occupancy, &[Some(1)], "", "gpu=1"),
        refused(&pool, &Occupancy::default(), &[Some(1)], "", "mem=1M"),
        refused(&pool, &occupancy, &[Some(2)], "seq", "fpga=3"),
        refused(&pool, &occupancy, &[Some(2), Some(3)], "", "fpga=1,mem=1.5G"),
    ];
    let running = placed_on(&pool, &occupancy, &taking(&[Some(3)], "", "fpga=1,mem=512M")).unwrap();
    occupancy.claim(&mut pool, &running).unwrap();
    texts.push(refused(&pool, &occupancy, &[Some(2)], "", "fpga=1"));
    texts.push(refused(&pool, &occupancy, &[Some(9)], "", "fpga=1"));
    insta::assert_snapshot!(texts.join("\n\n"));
}

/// Shared resources are counted over all nodes, for each process and for jobs as a whole (spec L151).
#[test]
fn what_all_nodes_share_is_counted_over_all_of_them() {
    let (mut pool, mut occupancy) = (four_cores(3), site("fpga=1,dvm:licence=4"));
    let first = placed_on(&pool, &occupancy, &taking(&[Some(3)], "node", "licence=1"));
    assert_eq!(order(&first), "n0 n1 n2");
    let first = first.unwrap();
    occupancy.claim(&mut pool, &first).unwrap();
    let as_fits = |occupancy: &Occupancy, takes: &str| order(&placed_on(&pool, occupancy, &taking(&[None], "", takes)));
    assert_eq!(as_fits(&occupancy, "licence=1"), "n0");
    assert_eq!(as_fits(&occupancy, "licence=1/job").split(' ').count(), 9, "one licence for all of them");
    assert!(as_fits(&occupancy, "licence=2/job").contains("the DVM has enough for 0"));
    occupancy.forget(pool[1].id);
    assert_eq!(occupancy.shared_amount("licence"), Some((4, 3)), "its job has it still");
    let mut rest = pool.clone();
    occupancy.release_some(&mut rest, &first, [Rank(1), Rank(2)].into_iter());
    assert_eq!(occupancy.shared_amount("licence"), Some((4, 1)));
    occupancy.release_rest(&mut rest, &first, [Rank(0)].into_iter());
    assert_eq!(occupancy, occupancy.idle());
}

/// What a job has as a whole is taken once, and given back with its last process (spec L151).
#[test]
fn a_job_takes_once_what_it_takes_as_a_whole() {
    let (mut pool, mut occupancy) = (four_cores(2), site("dvm:licence=5"));
    let map = placed_on(&pool, &occupancy, &taking(&[Some(2), Some(1)], "", "licence=2/job")).unwrap();
    occupancy.claim(&mut pool, &map).unwrap();
    assert_eq!(occupancy.shared_amount("licence"), Some((5, 4)), "each of its programs has asked");
    occupancy.release_some(&mut pool, &map, [Rank(0)].into_iter());
    assert_eq!(occupancy.shared_amount("licence"), Some((5, 4)));
    occupancy.release_rest(&mut pool, &map, [Rank(1), Rank(2)].into_iter());
    assert_eq!(occupancy, occupancy.idle());
    occupancy.claim(&mut pool, &map).unwrap();
    occupancy.release(&mut pool, &map);
    assert_eq!(occupancy, occupancy.idle());
}

#[test]
fn refusals_of_what_all_nodes_share_say_what_there_is() {
    let (mut pool, mut occupancy) = (four_cores(2), site("fpga=1,dvm:licence=4"));
    let refused = |pool: &[NodeRecord], occupancy: &Occupancy, np: &[Option<u32>], by: &str, takes: &str| {
        order(&placed_on(pool, occupancy, &taking(np, by, takes)))
    };
    let mut texts = vec![
        refused(&pool, &occupancy, &[Some(3)], "", "licence=2"),
        refused(&pool, &occupancy, &[None], "ppr:4:node", "licence=1"),
        refused(&pool, &occupancy, &[Some(1)], "", "licence=5/job"),
        refused(&pool, &occupancy, &[Some(2)], "", "fpga=1/job"),
        refused(&pool, &occupancy, &[Some(2)], "seq", "licence=3"),
        refused(&pool, &occupancy, &[Some(3), Some(2)], "", "licence=1"),
        refused(&pool, &occupancy, &[Some(3)], "", "fpga=1,licence=1"),
    ];
    let running = placed_on(&pool, &occupancy, &taking(&[Some(3)], "", "licence=1")).unwrap();
    occupancy.claim(&mut pool, &running).unwrap();
    texts.push(refused(&pool, &occupancy, &[Some(2)], "", "licence=1"));
    texts.push(refused(&pool, &occupancy, &[Some(1)], "", "licence=2/job"));
    texts.push(refused(&pool, &occupancy, &[Some(9)], "", "licence=1"));
    texts.push(refused(&pool, &occupancy, &[Some(1)], "", "licence=5/job"));
    insta::assert_snapshot!(texts.join("\n\n"));
}
