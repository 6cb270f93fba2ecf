//! Stories about a DVM that changes its size: each hole that the reference implementation has, played under all
//! guarantees, and seeds that have found something.

use ferrite_sim::{
    Asker, Expect, Fate, Fault, JobPlan, Keep, Mutation, Referee, Report, ResizePlan, Scenario, check, job, run,
};
use ferrite_types::{DaemonRank, HostEntry, HostRef, JobSpec};
use ferrite_wire::{AddedHost, GrowRequest, ResizeRequest, ShrinkRequest, SlotChange};

const UP: u64 = 500_000;

/// Checks a scenario under all guarantees; a violation is shown with the last events.
fn hold(scenario: &Scenario) -> Report {
    let report = check(scenario);
    if let Some(violation) = &report.violation {
        panic!("{violation}\n{}\n{scenario:#?}", report.lines.join("\n"));
    }
    report
}

fn dvm(daemons: u32, radix: u32) -> Scenario {
    Scenario { persistent: true, ..Scenario::calm(5, daemons, radix) }
}

/// Adds a job on every remaining node to the quiet phase, and checks the scenario.
fn play(mut scenario: Scenario) -> Report {
    scenario.elastic.mode = true;
    scenario.elastic.launch_timeout_s = 5;
    let mut everywhere = job(1, "init fence finalize");
    everywhere.apps[0].np = None;
    let from = scenario.quiet_from();
    hold(&scenario.with_quiet_job(from, everywhere, Expect::Code(0)))
}

fn on(names: &[&str], program: &str) -> JobSpec {
    let mut spec = job(names.len() as u32, program);
    spec.apps[0].hosts.hosts = names.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
    spec
}

fn give_back(alloc_id: &str) -> ResizeRequest {
    let alloc_id = Some(alloc_id.into());
    ResizeRequest::Shrink(ShrinkRequest { alloc_id, wait: true, ..ShrinkRequest::default() })
}

#[test]
fn a_whole_allocation_is_given_back_by_its_id() {
    let scenario = dvm(3, 2)
        .with_grow(UP, &["m0", "m1", "m2"])
        .with_job(2_000_000, on(&["m1"], "pause:3000000"), Expect::Anything)
        .with_resize(3_000_000, give_back("a1"))
        .with_job(3_000_001, job(1, "exit:0"), Expect::Code(0));
    let report = play(scenario);
    assert!(report.notices.iter().any(|text| text.contains("m1")), "the job there is told: {:?}", report.notices);
}

#[test]
fn a_held_job_whose_nodes_leave_is_mapped_again_and_one_whose_nodes_stay_is_launched_as_it_was() {
    let mut scenario = dvm(4, 2);
    scenario.elastic.prep_ms = 300;
    scenario.elastic.slowest_release = 2_000_000;
    let scenario = scenario
        .with_job(UP, job(8, "exit:0"), Expect::Code(0))
        .with_job(UP + 1, on(&["n2"], "exit:0"), Expect::Code(0))
        .with_shrink(UP + 100_000, &["n1", "n3"]);
    let report = play(scenario);
    assert_eq!(report.replies.values().filter(|code| **code == 0).count(), 3, "{:?}", report.replies);
}

/// Nobody waits for nothing (spec G7).
#[test]
fn a_grow_that_fails_lets_those_go_that_waited_for_a_shrink() {
    let mut scenario = dvm(4, 2);
    scenario.elastic.prep_ms = 300;
    scenario.fates = vec![(DaemonRank(4), Fate::Silent)];
    let scenario = scenario
        .with_job(UP, on(&["n2"], "exit:0"), Expect::Anything)
        .with_shrink(UP + 100_000, &["n3"])
        .with_grow(UP + 400_000, &["m0"]);
    assert_eq!(play(scenario).replies.values().copied().collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn a_grow_that_fails_ends_only_those_who_waited_for_it() {
    let mut scenario = dvm(3, 2);
    scenario.fates = vec![(DaemonRank(3), Fate::Late(2_000_000)), (DaemonRank(4), Fate::NoLauncher)];
    let scenario = scenario
        .with_grow(UP, &["m0"])
        .with_job(UP + 1_000, job(1, "exit:0"), Expect::Anything)
        // The grow opens when the job is already parked.
        .with_grow(UP + 2_000, &["m1", "m2"]);
    assert_eq!(play(scenario).replies.values().copied().collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn holes_among_the_ranks_and_a_missing_target_wedge_no_later_grow() {
    let mut scenario = dvm(6, 2);
    scenario.fates = vec![(DaemonRank(6), Fate::Silent)];
    scenario.faults = vec![(1_000_000, Fault::Crash(DaemonRank(2)))];
    let scenario = scenario
        .with_shrink(UP, &["n1"])
        .with_grow(2_000_000, &["m0"])
        .with_grow(2_100_000, &["m1", "m2"])
        .with_grow(9_000_000, &["n1", "n2", "m0"]);
    play(scenario);
}

/// The head's own node stays (spec E27).
#[test]
fn the_heads_node_stays() {
    play(dvm(3, 2).with_shrink(UP, &["n1", "n0"]).with_shrink(UP + 1, &["n0"]));
}

/// A job that is held at its launch while a node leaves, and a grow that takes longer.
fn a_slow_grow_beside_a_shrink() -> Scenario {
    let mut scenario = dvm(4, 2);
    scenario.elastic.prep_ms = 300;
    scenario.fates = vec![(DaemonRank(4), Fate::Late(4_000_000))];
    let mut spec = on(&["n2"], "exit:0");
    spec.options.timeout = Some(ferrite_types::Duration::from_secs(2));
    scenario.with_job(UP, spec, Expect::Anything).with_shrink(UP + 100_000, &["n3"]).with_grow(UP + 200_000, &["m0"])
}

#[test]
fn a_slow_grow_does_not_hold_a_mapped_job_after_the_shrink() {
    let report = play(a_slow_grow_beside_a_shrink());
    assert_eq!(report.replies.values().copied().collect::<Vec<_>>(), [0, 0], "in time");
}

#[test]
fn whatever_meets_is_told_apart() {
    let mut scenario = dvm(5, 2);
    scenario.fates = vec![(DaemonRank(5), Fate::Late(1_000_000))];
    scenario = scenario
        .with_job(0, job(1, "pause:700000"), Expect::Code(0))
        .with_grow(UP, &["m0"])
        // A release of a node that is coming, a grow of it again, a second release of a node, a grow of one that
        // leaves.
        .with_shrink(UP + 1_000, &["m0"])
        .with_grow(UP + 2_000, &["m0"])
        .with_shrink(UP + 3_000, &["n3", "n3"])
        .with_shrink(UP + 3_010, &["n3"])
        .with_grow(UP + 3_020, &["n3"]);
    let hosts = vec![AddedHost { host: HostEntry::named("m1"), slots: SlotChange::Set(4) }];
    let request = ResizeRequest::Grow(GrowRequest { hosts, ..GrowRequest::default() });
    for by in [Asker::Client(Some(UP + 4_100)), Asker::Process(0)] {
        scenario.elastic.resizes.push(ResizePlan { at: UP + 4_000, request: request.clone(), by });
    }
    play(scenario);
}

#[test]
fn a_node_that_has_left_comes_again_at_once() {
    let mut scenario = dvm(4, 2);
    for round in 0..6 {
        let at = UP + round * 700_000;
        scenario = scenario.with_shrink(at, &["n1", "n3"]).with_grow(at + 300_000, &["n3", "n1"]);
    }
    play(scenario);
}

#[test]
fn a_newcomer_whose_arithmetic_parent_has_left_joins() {
    for gone in [&["n1"][..], &["n1", "n3"], &["n1", "n2", "n3"]] {
        play(dvm(4, 2).with_shrink(UP, gone).with_grow(1_500_000, &["m0", "m1", "m2", "m3", "m4"]));
    }
}

#[test]
fn a_job_that_brings_nodes_along_runs_on_them() {
    let hosts = vec![AddedHost { host: HostEntry::named("m0"), slots: SlotChange::Set(4) }];
    let grow = Some(GrowRequest { hosts, wait: true, ..GrowRequest::default() });
    let mut scenario = dvm(2, 2);
    let (spec, expect) = (on(&["m0"], "init fence finalize"), Expect::Code(0));
    scenario.jobs.push(JobPlan { grow, ..JobPlan::new(UP, spec, expect) });
    assert_eq!(play(scenario).replies.values().copied().collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn seeds_that_once_found_something_hold() {
    // 72: an adopted daemon whose address nobody knew. 116: no slots after a second map. 166, 184, 45: two shrinks in a
    // row. 282: no place that is not below a newcomer. 846, 1135: a newcomer that is lost during the wireup. 10300: a
    // daemon that is lost under a held job. 10740, 12209: the last launching daemons of a job leave. 2181: a new child
    // of the head whose link breaks. 2264: a job that is mapped again behind the queue. 5341: a branch that cannot
    // leave in time. 9090: a child that is told to leave on its way to its new parent. 17370: an old shape of the DVM
    // after a new one. 17790: a parent that has not heard yet that it leaves. 200489, 235403: a launch that the order
    // to leave has overtaken. 219021, 278885: the link to one that had time enough to leave is lost once more. 271649:
    // a shrink that names a daemon whose loss was just reported. 298709: one that is told to leave while it gives up
    // the link that it came by. 1097659: a newcomer that closes the link on which the addresses of its children are.
    // 7010679: a branch that leaves while its lower end is called by its new parent. 7046600: a shrink that was queued
    // behind a grow which was true at once. 9013313: a neighbour's word that a daemon leaves overtakes the order
    // itself, and those below still have something to say. 11049541: a child is lost whose address its new parent has
    // not heard yet. 12085258: a daemon that stood still while it should have ended its processes and left.
    // 140009018, 140009814, 140036792, and 140005460, 140008052 by steps: a daemon that stands still while it calls
    // newcomers.
    //
    // And what the referee had to learn. 13280, 221496: a broadcast that waits for a link is older than the newcomers.
    // 104826, 244601, 262212, 285141: a daemon that hears of the order before its parent. 250233: jobs that bring nodes
    // along take their time as well. 266927, 295526: calls that cross are no loss. 291065: nobody is stopped before it
    // is there. 7035890: the bring-up's wireup is repeated to somebody who was out of reach when all was ready.
    // 10074435: who was cut off before it was there is in reach again when that time is over. 12059945: a shrink of
    // daemons that are all dead already, of which nobody is told.
    let seeds = [
        45, 72, 116, 166, 184, 282, 492, 846, 1_135, 2_181, 2_264, 5_341, 9_090, 10_300, 10_740, 12_209, 17_370,
        17_790, 13_280, 104_826, 200_489, 219_021, 221_496, 235_403, 244_601, 250_233, 262_212, 266_927, 271_649,
        278_885, 285_141, 291_065, 295_526, 298_709, 1_090_583, 1_097_659, 7_010_679, 7_035_890, 7_046_600, 9_013_313,
        10_074_435, 11_049_541, 12_059_945, 12_085_258,
    ];
    let late = [140_009_018, 140_009_814, 140_036_792];
    for seed in seeds.into_iter().chain(late) {
        hold(&Scenario::elastic(seed));
    }
    for seed in [140_005_460, 140_008_052] {
        hold(&Scenario::elastic(seed).by_steps());
    }
}

#[test]
fn forty_seeds_hold() {
    for seed in 3_000..3_040 {
        hold(&Scenario::elastic(seed));
    }
}

#[test]
fn forty_seeds_hold_when_a_resource_manager_starts_the_daemons() {
    for seed in 3_000..3_040 {
        hold(&Scenario::elastic(seed).by_steps());
    }
}

/// Grows that overlap, each asked for before the one before has ended.
fn grows_without_a_pause() -> Scenario {
    let mut scenario = dvm(2, 2);
    scenario.fates = (2..7).map(|rank| (DaemonRank(rank), Fate::Late(2_000_000))).collect();
    let scenario = scenario.with_grow(UP, &["m0"]).with_job(UP + 100_000, job(1, "exit:0"), Expect::Code(0));
    (1..5).fold(scenario, |scenario, i| scenario.with_grow(UP + i * 1_500_000, &[&format!("m{i}")]))
}

#[test]
fn a_job_has_its_turn_between_grows_that_are_asked_for_without_a_pause() {
    play(grows_without_a_pause());
}

#[test]
fn the_referee_sees_planted_faults_that_seeds_seldom_show_in_their_stories() {
    let mut slow = a_slow_grow_beside_a_shrink();
    slow.elastic.slowest_release = 1_500_000;
    let stories = [
        (grows_without_a_pause(), "held jobs get their turn"),
        (slow, "nobody waits for nothing"),
        (grows_without_a_pause(), "who waits and could go on does"),
    ];
    for (mutation, (scenario, guarantee)) in Mutation::STORIES.into_iter().zip(stories) {
        let mutated = Scenario { mutation: Some(mutation), ..scenario };
        let report = run(&mutated, Keep::Nothing, Referee::strict(&mutated));
        assert_eq!(report.violation.map(|violation| violation.invariant), Some(guarantee), "{mutation:?}");
    }
}

#[test]
fn the_referee_sees_every_planted_fault_about_changes_of_size() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::elastic(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    let unseen = |mutation: &Mutation| !(1..400).any(|seed| seen(*mutation, seed));
    assert_eq!(Mutation::ELASTIC.into_iter().filter(unseen).collect::<Vec<_>>(), []);
}
