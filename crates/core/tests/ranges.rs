//! Elastic jobs (`--elastic MIN:MAX`): the sizes that they may have, and their answers to the notice that nodes are to
//! leave (docs/spec/elastic.md, sizes of jobs).

mod common;

use std::collections::BTreeSet;

use common::elastic::*;
use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, DaemonTimer, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{
    FERRITE_NODES_STAY, PMIX_ALLOC_TIMEOUT_WARNING, PMIX_ERR_BAD_PARAM, PMIX_ERR_INVALID_OPERATION, PMIX_ERR_NOT_FOUND,
    PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_RESOURCE_BUSY,
};
use ferrite_types::*;
use ferrite_wire::control::{Request, Submission};
use ferrite_wire::{ControlOrder, ResizeOutcome, ResizeRequest, ShrinkRequest, WithdrawalAnswer};

const GRACE: Timer = Timer::Head(HeadTimer::Campaign(CampaignId(1)));

/// A job of this range on these nodes, whose processes have ten seconds.
fn elastic(min: u32, max: u32, nodes: &[&str]) -> Submission {
    let mut submission = on("a.out", nodes);
    submission.spec.options.elastic = Some(SizeRange { min, max });
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(10), signal: None });
    submission
}

fn ask(dvm: &mut Cluster, id: u64, request: ShrinkRequest) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
}

fn refusal(dvm: &Cluster, id: u64) -> &str {
    match outcome(dvm, id) {
        ResizeOutcome::Refused { status: PMIX_ERR_RESOURCE_BUSY, cause } => cause,
        other => panic!("it was not refused for a job: {other:?}"),
    }
}

/// A process answers the notice; returns what it hears.
fn say(dvm: &mut Cluster, by: ProcId, answer: WithdrawalAnswer) -> Result<(), PmixStatus> {
    let token = PmixToken(dvm.pmix.len() as u64);
    let call = PmixCall::Control { by: Some(by), order: Box::new(ControlOrder::AnswerWithdrawal(answer)), token };
    let at = dvm.running[&by].0;
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let reply = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::Reply { token: of, result } if *of == token => Some(result.clone()),
        _ => None,
    });
    reply.expect("it is answered").map(drop)
}

/// The processes that have heard that the nodes stay.
fn reassured(dvm: &Cluster) -> Vec<ProcId> {
    let heard = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
        PmixEffect::Event { event, to, .. } if event.code == FERRITE_NODES_STAY => Some(to.clone()),
        _ => None,
    });
    heard.flatten().collect()
}

/// (spec E51)
#[test]
fn a_job_begins_with_a_size_of_its_range() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(3, 8, &["n1", "n2"]));
    assert_eq!(dvm.code_of(1), 1);
    assert!(dvm.notices[0].contains("has 2 processes, and may have 3 to 8 (--elastic 3:8)"), "{:?}", dvm.notices);
    dvm.submit(2, elastic(1, 1, &["n1", "n2"]));
    assert_eq!(dvm.code_of(2), 1);
    dvm.submit(3, elastic(2, 2, &["n1", "n2"]));
    assert_eq!(dvm.running.len(), 2);
}

/// (spec E51)
#[test]
fn no_shrink_leaves_a_job_fewer_processes_than_its_smallest_size_unless_it_is_forced() {
    let mut dvm = dvm(5);
    dvm.submit(1, elastic(2, 8, &["n1", "n2", "n3"]));
    ask(&mut dvm, 2, shrink(&["n2", "n3"]));
    let cause = "Job 1 keeps at least 2 processes (--elastic 2:8), and 1 would be left. Force it with `pdvm shrink \
                 --force`.";
    assert_eq!(refusal(&dvm, 2), cause);
    assert_eq!(dvm.running.len(), 3, "a refused request changes nothing");
    ask(&mut dvm, 3, shrink(&["n3", "n4"]));
    assert!(unanswered(&dvm, 3), "two stay");
    // The one that is about to leave counts no more.
    ask(&mut dvm, 4, shrink(&["n2"]));
    assert_eq!(refusal(&dvm, 4), cause);
    dvm.exit_proc(2, ExitStatus::Exited(0));
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Done);
    ask(&mut dvm, 5, ShrinkRequest { force: true, grace_s: Some(0), ..shrink(&["n2"]) });
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 5), ResizeOutcome::Done);
}

/// The DVM chooses nodes that no job needs (spec E51).
#[test]
fn a_number_of_nodes_is_taken_where_no_job_falls_below_its_smallest_size() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(1, 8, &["n3"]));
    dvm.submit(2, on("b.out", &["n1"]));
    dvm.submit(3, on("c.out", &["n2"]));
    ask(&mut dvm, 4, ShrinkRequest { count: 1, grace_s: Some(0), ..shrink(&[]) });
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(common::resize(&dvm, 4).nodes, ["n2"], "n3 is the latest, and its job keeps it");
    ask(&mut dvm, 5, ShrinkRequest { count: 2, ..shrink(&[]) });
    assert!(refusal(&dvm, 5).contains("Job 1 keeps at least 1 process "));
}

/// (spec E51)
#[test]
fn a_job_itself_and_a_scheduler_may_go_below_the_smallest_size() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(2, 8, &["n1", "n2"]));
    let request = ResizeRequest::Shrink(ShrinkRequest { wait: false, ..shrink(&["n2"]) });
    let token = PmixToken(7);
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: proc(0), request, token })));
    dvm.run();
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(dvm.offered, ["n2"]);
    dvm.submit(2, elastic(1, 8, &["n3"]));
    dvm.ask(3, Request::Push(Box::new(ResizeRequest::Shrink(shrink(&["n3"])))));
    dvm.exit_job(2);
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Done);
}

/// Every process that was told hears that the nodes stay, and these are used again (spec E53).
#[test]
fn a_job_refuses_and_its_nodes_stay() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(1, 8, &["n1", "n2", "n3"]));
    ask(&mut dvm, 2, shrink(&["n2", "n3"]));
    assert!(unanswered(&dvm, 2));
    assert_eq!(say(&mut dvm, proc(0), WithdrawalAnswer::Refuse), Ok(()));
    match outcome(&dvm, 2) {
        ResizeOutcome::Failed { status: PMIX_ERR_RESOURCE_BUSY, cause } => {
            let says = "Rank 0 of job 1 refuses that n2, n3 leave. Force it with `pdvm shrink --force`.";
            assert_eq!(cause, says);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(reassured(&dvm), [proc(0), proc(1), proc(2)]);
    assert_eq!(dvm.notices.last().map(String::as_str), Some("Nodes n2, n3 stay in the DVM."));
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, GRACE)), "{:?}", dvm.timers);
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up, n2 up, n3 up");
    dvm.submit(4, on("b.out", &["n3"]));
    assert_eq!(dvm.running.len(), 4, "others may use them");
    assert_eq!(say(&mut dvm, proc(0), WithdrawalAnswer::Refuse), Err(PMIX_ERR_NOT_FOUND), "nothing is asked");
}

/// A job that waits for slots gets those of a node that stays.
#[test]
fn a_job_that_waits_gets_the_slots_of_nodes_that_stay() {
    let mut dvm = dvm(3);
    dvm.submit(1, elastic(1, 8, &["n1", "n2"]));
    ask(&mut dvm, 2, shrink(&["n2"]));
    dvm.submit(3, on("busy", &["n0", "n0", "n0", "n0"]));
    dvm.submit(4, Submission { wait_for_slots: true, ..Submission::of(job("b.out", 4)) });
    assert_eq!(dvm.running.len(), 6, "no job is placed where nodes are to leave");
    assert_eq!(say(&mut dvm, proc(1), WithdrawalAnswer::Refuse), Ok(()));
    assert_eq!(dvm.running.len(), 10);
}

/// (spec E52)
#[test]
fn a_job_that_needs_time_gets_it_from_its_answer_on() {
    let mut dvm = dvm(3);
    dvm.submit(1, elastic(1, 8, &["n1", "n2"]));
    ask(&mut dvm, 2, shrink(&["n2"]));
    assert_eq!(say(&mut dvm, proc(0), WithdrawalAnswer::Defer(3_600)), Ok(()));
    assert_eq!(say(&mut dvm, proc(0), WithdrawalAnswer::Defer(100_000)), Err(PMIX_ERR_BAD_PARAM));
    for _ in 0..6 {
        dvm.fire(0, GRACE);
    }
    assert!(unanswered(&dvm, 2), "its ten seconds have passed, and not the time that it has asked for");
    dvm.pass(Duration::from_secs(3_600));
    dvm.fire(0, GRACE);
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done, "after that time it is over");
}

/// (spec E52, E53)
#[test]
fn what_is_forced_or_limited_is_announced_and_not_put_off() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(1, 8, &["n1", "n2", "n3"]));
    ask(&mut dvm, 2, ShrinkRequest { force: true, ..shrink(&["n2"]) });
    assert!(unanswered(&dvm, 2), "the processes have time");
    for answer in [WithdrawalAnswer::Refuse, WithdrawalAnswer::Defer(5)] {
        assert_eq!(say(&mut dvm, proc(1), answer), Err(PMIX_ERR_INVALID_OPERATION));
    }
    ask(&mut dvm, 3, ShrinkRequest { grace_s: Some(5), ..shrink(&["n3"]) });
    assert_eq!(say(&mut dvm, proc(2), WithdrawalAnswer::Defer(50)), Err(PMIX_ERR_INVALID_OPERATION));
    assert_eq!(say(&mut dvm, proc(2), WithdrawalAnswer::Refuse), Ok(()), "of the two only this one can be refused");
    assert!(matches!(outcome(&dvm, 3), ResizeOutcome::Failed { .. }));
    assert!(unanswered(&dvm, 2));
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

#[test]
fn a_job_that_is_not_elastic_can_neither_refuse_nor_put_off() {
    let mut dvm = dvm(3);
    let mut submission = elastic(1, 8, &["n1", "n2"]);
    submission.spec.options.elastic = None;
    dvm.submit(1, submission);
    ask(&mut dvm, 2, shrink(&["n2"]));
    assert_eq!(say(&mut dvm, proc(0), WithdrawalAnswer::Refuse), Err(PMIX_ERR_NOT_SUPPORTED));
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

/// A refusal brings no node back (spec E49, E53).
#[test]
fn a_refusal_keeps_the_nodes_that_have_not_left() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(1, 8, &["n1", "n2", "n3"]));
    ask(&mut dvm, 2, shrink(&["n2", "n3"]));
    dvm.exit_proc(2, ExitStatus::Exited(0));
    assert_eq!(dvm.offered, ["n3"]);
    assert_eq!(say(&mut dvm, proc(1), WithdrawalAnswer::Refuse), Ok(()));
    assert!(
        matches!(outcome(&dvm, 2), ResizeOutcome::Failed { cause, .. } if cause.contains("refuses that n2 leaves"))
    );
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up, n2 up, n3 down");
}

/// A job and what it has spawned are one, also when the first of them is over (spec E51).
#[test]
fn spawned_processes_count_and_answer_for_the_whole() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(1, 8, &["n1"]));
    let child = Box::new(on("world", &["n2", "n3"]));
    let call = PmixCall::Spawn { proc: proc(0), submission: child, token: PmixToken(1) };
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    dvm.exit_proc(0, ExitStatus::Exited(0));
    let second = |rank| ProcId { job: JobId(2), rank: Rank(rank) };
    ask(&mut dvm, 2, shrink(&["n2", "n3"]));
    assert!(refusal(&dvm, 2).contains("Job 1 keeps at least 1 process "), "nothing would be left");
    ask(&mut dvm, 3, shrink(&["n3"]));
    assert!(unanswered(&dvm, 3), "the child has the time of its parent");
    assert_eq!(say(&mut dvm, second(0), WithdrawalAnswer::Refuse), Ok(()));
    assert!(matches!(outcome(&dvm, 3), ResizeOutcome::Failed { .. }));
}

/// All worlds of an elastic job hear that nodes with processes of one of them are to leave, connected or not (spec
/// E43).
#[test]
fn every_world_of_a_job_hears_that_nodes_of_one_are_to_leave() {
    let mut dvm = dvm(4);
    dvm.submit(1, elastic(1, 8, &["n1", "n2"]));
    let child = Box::new(on("world", &["n3"]));
    let call = PmixCall::Spawn { proc: proc(0), submission: child, token: PmixToken(1) };
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    ask(&mut dvm, 2, shrink(&["n3"]));
    let second = ProcId { job: JobId(2), rank: Rank(0) };
    let told = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
        PmixEffect::Event { event, to, .. } if event.code == PMIX_ALLOC_TIMEOUT_WARNING => Some(to.clone()),
        _ => None,
    });
    let told: BTreeSet<ProcId> = told.flatten().collect();
    assert_eq!(told, BTreeSet::from([proc(0), proc(1), second]));
}
