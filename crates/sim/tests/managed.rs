//! Stories about a DVM in a job of a resource manager that is asked for nodes, played under all guarantees, and seeds.

use ferrite_sim::{
    Asker, Expect, Fate, Keep, ManagerPlan, Mutation, Referee, Report, ResizePlan, Scenario, check, job, run,
};
use ferrite_types::DaemonRank;
use ferrite_wire::{GrowRequest, ResizeRequest, ShrinkRequest};

const UP: u64 = 500_000;
const SECOND: u64 = 1_000_000;

/// Checks a scenario under all guarantees; a violation is shown with the last events.
fn hold(scenario: &Scenario) -> Report {
    let report = check(scenario);
    if let Some(violation) = &report.violation {
        panic!("{violation}\n{}\n{scenario:#?}", report.lines.join("\n"));
    }
    report
}

/// A DVM whose manager has `spare` further nodes and decides within a second.
fn dvm(daemons: u32, spare: u32) -> Scenario {
    let mut scenario = Scenario { persistent: true, ..Scenario::calm(5, daemons, 2) };
    scenario.elastic.mode = true;
    scenario.elastic.launch_timeout_s = 5;
    let plan = ManagerPlan { seed: 3, spare, slowest: SECOND, refuses: 0, keeps: 0, ends: 0, announces: 0 };
    scenario.elastic.manager = Some(plan);
    scenario
}

fn more(count: u32) -> ResizeRequest {
    ResizeRequest::Grow(GrowRequest { count, wait: true, ..GrowRequest::default() })
}

fn give_back(alloc_id: &str) -> ResizeRequest {
    let alloc_id = Some(alloc_id.into());
    ResizeRequest::Shrink(ShrinkRequest { alloc_id, wait: true, ..ShrinkRequest::default() })
}

/// Adds a job on every remaining node to the quiet phase.
fn whole(scenario: Scenario) -> Scenario {
    let mut everywhere = job(1, "init fence finalize");
    everywhere.apps[0].np = None;
    let from = scenario.quiet_from();
    scenario.with_quiet_job(from, everywhere, Expect::Code(0))
}

fn play(scenario: Scenario) -> Report {
    hold(&whole(scenario))
}

/// Counts the lines of a run's trace with this word.
fn told(scenario: &Scenario, word: &str) -> usize {
    let scenario = whole(scenario.clone());
    let report = run(&scenario, Keep::All(Vec::new()), Referee::strict(&scenario));
    report.lines.iter().filter(|line| line.contains(word)).count()
}

#[test]
fn nodes_come_and_go_and_come_again_with_another_job() {
    let mut scenario = dvm(2, 3);
    for round in 0..4 {
        let at = UP + round * 10 * SECOND;
        scenario = scenario.with_resize(at, more(3)).with_shrink(at + 5 * SECOND, &["k0", "k1", "k2"]);
    }
    assert_eq!(told(&scenario, "NodesGranted"), 4);
    assert_eq!(told(&scenario, "share: Whole"), 4);
    play(scenario);
}

#[test]
fn a_request_for_more_than_there_is_waits_and_jobs_go_on_meanwhile() {
    let scenario = dvm(2, 2).with_resize(UP, more(3)).with_job(UP + SECOND / 10, job(2, "exit:0"), Expect::Code(0));
    assert!(told(&scenario, "NodesAwaited") > 0 && told(&scenario, "NodesRefused") == 1);
    assert!(play(scenario).replies.values().all(|code| *code == 0));
}

#[test]
fn what_nobody_waits_for_is_not_kept() {
    // The client leaves before the decision, before the head hears of it, and after that.
    for leaves in (0..1_200_000).step_by(60_000) {
        let mut scenario = dvm(2, 2);
        let by = Asker::Client(Some(UP + 1 + leaves));
        scenario.elastic.resizes.push(ResizePlan { at: UP, request: more(2), by });
        play(scenario);
    }
}

#[test]
fn an_allocation_is_given_back_before_and_after_it_came() {
    for later in [1, SECOND / 2, SECOND, 3 * SECOND] {
        play(dvm(2, 2).with_resize(UP, more(2)).with_resize(UP + later, give_back("a1")));
    }
}

#[test]
fn a_grow_that_fails_gives_its_job_back() {
    let mut scenario = dvm(2, 2);
    scenario.fates = vec![(DaemonRank(3), Fate::NoLauncher)];
    let scenario = scenario.with_resize(UP, more(2)).with_resize(UP + 10 * SECOND, more(2));
    assert_eq!(told(&scenario, "EndAllocation"), 2, "the one that failed, and the other at the end");
    play(scenario);
}

#[test]
fn jobs_that_the_manager_ends_take_their_daemons_along_and_no_more() {
    let mut scenario = dvm(3, 4);
    if let Some(manager) = &mut scenario.elastic.manager {
        manager.ends = 1_000;
    }
    for round in 0..5 {
        scenario = scenario.with_resize(UP + round * 4 * SECOND, more(2));
    }
    assert!(told(&scenario, "AllocationEnded") > 0);
    play(scenario);
}

#[test]
fn a_job_of_which_no_part_goes_back_goes_as_a_whole() {
    let mut scenario = dvm(2, 3);
    if let Some(manager) = &mut scenario.elastic.manager {
        manager.keeps = 1_000;
    }
    let scenario = scenario
        .with_resize(UP, more(3))
        .with_shrink(UP + 5 * SECOND, &["k0"])
        .with_shrink(UP + 6 * SECOND, &["k1", "k2"]);
    assert_eq!((told(&scenario, "share: Part"), told(&scenario, "share: Whole")), (1, 1));
    play(scenario);
}

#[test]
fn shrinks_of_one_job_at_the_same_time_give_each_node_back_once() {
    let mut scenario = dvm(2, 3);
    scenario.elastic.slowest_release = 2 * SECOND;
    let mut scenario = scenario.with_resize(UP, more(3));
    for node in ["k0", "k1", "k2"] {
        scenario = scenario.with_shrink(UP + 5 * SECOND, &[node]);
    }
    play(scenario);
}

#[test]
fn a_node_that_is_granted_twice_is_not_chosen_when_its_daemon_is_lost() {
    // The manager ends a job, and grants its nodes to another before the head has missed their daemons.
    hold(&Scenario::managed(2_011_353));
    // The other grant is given back at once.
    hold(&Scenario::managed(90_015_511));
}

#[test]
fn no_daemon_is_started_on_a_waiting_node_that_another_job_gets() {
    // The manager does the same while a grow with these nodes waits behind another change.
    for seed in [50_004_429, 50_007_700, 130_015_227] {
        hold(&Scenario::managed(seed));
    }
}

#[test]
fn forty_seeds_hold() {
    for seed in 3_000..3_040 {
        hold(&Scenario::managed(seed));
    }
}

#[test]
fn the_referee_sees_every_planted_fault_about_a_manager() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::managed(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    let unseen = |mutation: &Mutation| !(1..400).any(|seed| seen(*mutation, seed));
    assert_eq!(Mutation::MANAGED.into_iter().filter(unseen).collect::<Vec<_>>(), []);
}
