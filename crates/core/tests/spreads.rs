//! The data of a fence on their way down the second tree (spec L157).
#![allow(clippy::missing_panics_doc, reason = "tests")]

mod common;

use common::*;
use ferrite_core::{LinkTimer, PmixEffect, Timer};
use ferrite_types::DaemonRank;

const QUESTION: Timer = Timer::Link(LinkTimer::Spreads);

/// A DVM with a job of one process on each node, which uses the second tree from so many bytes on.
fn dvm(nodes: u32, least: &str) -> Cluster {
    let params = [("rml_base_radix", "64"), ("ferrite_second_tree_bytes", least)];
    Cluster::with_job(nodes, &params, job("a.out", nodes))
}

/// All enter a fence, each with a letter.
fn fence(dvm: &mut Cluster, nodes: u32, token: u64) {
    for at in 0..nodes {
        dvm.fence(at, token + u64::from(at), b"x");
    }
}

/// The daemons whose processes have come out of the fence with the data of all.
fn done(dvm: &Cluster, nodes: u32, token: u64) -> Vec<u32> {
    let mut done: Vec<u32> = (dvm.pmix.iter())
        .filter_map(|(rank, effect)| match effect {
            PmixEffect::Reply { token: of, result: Ok(data) } if (token..token + u64::from(nodes)).contains(&of.0) => {
                assert_eq!(data.len(), nodes as usize);
                Some(rank.0)
            }
            _ => None,
        })
        .collect();
    done.sort_unstable();
    done
}

/// The messages of a kind that each daemon has got.
fn got(dvm: &Cluster, kind: &str) -> Vec<u32> {
    let has = |kinds: &Vec<&str>| kinds.contains(&kind);
    dvm.received.iter().filter(|(_, kinds)| has(kinds)).map(|(rank, _)| rank.0).collect()
}

/// Lanes carry the data once (spec L157).
#[test]
fn each_daemon_gets_the_data_once_and_no_lane_is_left() {
    let mut dvm = dvm(9, "9");
    fence(&mut dvm, 9, 100);
    assert_eq!(done(&dvm, 9, 100), (0..9).collect::<Vec<_>>());
    assert!(dvm.lanes.is_empty(), "{:?}", dvm.lanes);
    assert!(got(&dvm, "collective-done").is_empty() && got(&dvm, "spread-whole").is_empty());
    // The next one goes the same way.
    fence(&mut dvm, 9, 200);
    assert_eq!(done(&dvm, 9, 200), (0..9).collect::<Vec<_>>());
}

/// The limit is the parameter's (spec L157).
#[test]
fn few_bytes_few_daemons_and_zero_mean_the_routing_tree() {
    // Nine bytes for each of nine daemons are 81; three daemons never pay.
    for (nodes, least) in [(9, "82"), (9, "0"), (3, "1")] {
        let mut dvm = dvm(nodes, least);
        fence(&mut dvm, nodes, 100);
        assert_eq!(done(&dvm, nodes, 100), (0..nodes).collect::<Vec<_>>());
        assert_eq!(got(&dvm, "collective-done"), (1..nodes).collect::<Vec<_>>(), "{nodes} {least}");
    }
    let mut dvm = dvm(9, "81");
    fence(&mut dvm, 9, 100);
    assert!(got(&dvm, "collective-done").is_empty());
}

/// The head asks, and sends by the routing tree (spec L157).
#[test]
fn those_below_a_daemon_that_stands_still_get_the_data_from_the_head() {
    let mut dvm = dvm(9, "1");
    dvm.deaf_to_lanes.insert(DaemonRank(1));
    fence(&mut dvm, 9, 100);
    assert_eq!(done(&dvm, 9, 100), [0, 5, 6, 7, 8], "1 has half of the others below it");
    dvm.fire(0, QUESTION);
    assert_eq!(done(&dvm, 9, 100), (0..9).collect::<Vec<_>>());
    assert_eq!(got(&dvm, "spread-whole"), [1, 2, 3, 4]);
    assert!(dvm.lanes.is_empty(), "{:?}", dvm.lanes);
}

#[test]
fn a_daemon_that_cannot_be_called_gets_the_data_from_the_head_at_once_and_is_not_called_again() {
    let mut dvm = dvm(9, "1");
    dvm.unreachable_by_lanes.insert(DaemonRank(2));
    fence(&mut dvm, 9, 100);
    assert_eq!(done(&dvm, 9, 100), (0..9).collect::<Vec<_>>());
    let first = got(&dvm, "spread-whole");
    assert!(first.contains(&2), "{first:?}");
    dvm.unreachable_by_lanes = (0..9).filter(|rank| *rank != 2).map(DaemonRank).collect();
    dvm.received.clear();
    // A call of 2 would be answered now, and no other.
    fence(&mut dvm, 9, 200);
    assert_eq!(done(&dvm, 9, 200), (0..9).collect::<Vec<_>>());
    assert!(got(&dvm, "spread-whole").contains(&2), "it was called again");
}

/// The dead are excused, and those below them get the data (spec L157).
#[test]
fn the_death_of_a_daemon_in_the_second_tree_costs_the_others_no_data() {
    let mut dvm = dvm(9, "1");
    dvm.deaf_to_lanes.insert(DaemonRank(5));
    fence(&mut dvm, 9, 100);
    assert_eq!(done(&dvm, 9, 100), [0, 1, 2, 3, 4]);
    dvm.crash(5);
    dvm.fire(0, Timer::Head(ferrite_core::HeadTimer::Deaths));
    let done = done(&dvm, 9, 100);
    assert!([6, 7, 8].into_iter().all(|rank| done.contains(&rank)), "{done:?}");
    assert!(dvm.lanes.iter().all(|(_, lane)| lane.peer == DaemonRank(5)), "{:?}", dvm.lanes);
}
