//! Changes of the size of elastic jobs (`pdvm resize`): offers of more processes, and processes that are to end
//! (docs/spec/elastic.md, changes of size of jobs).

mod common;

use std::collections::BTreeMap;

use common::elastic::*;
use common::{Cluster, job, proc};
use ferrite_core::{
    DaemonInput, DaemonTimer, HeadInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, RequestId, Timer,
};
use ferrite_types::pmix_status::{
    FERRITE_GROWTH_OFFERED, FERRITE_NODES_STAY, PMIX_ALLOC_TIMEOUT_WARNING, PMIX_ERR_INVALID_OPERATION,
    PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE,
};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SizeStep, Submission};
use ferrite_wire::{
    ControlOrder, EventInfo, GrowthOffer, JobResize, JobResizeOutcome, JobResized, SizeChange, SlotChange,
    WithdrawalAnswer,
};

const TIME: Timer = Timer::Head(HeadTimer::Campaign(CampaignId(1)));
const STEP: Timer = Timer::Daemon(DaemonTimer::RetireStep(JobId(1)));

/// A job of this range on these nodes, whose processes have ten seconds.
fn elastic(min: u32, max: u32, nodes: &[&str]) -> Submission {
    let mut submission = on("a.out", nodes);
    submission.spec.options.elastic = Some(SizeRange { min, max });
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(10), signal: None });
    submission
}

fn resize(size: SizeChange) -> JobResize {
    JobResize { job: JobId(1), size, time_s: None, force: false, wait: true, nodes: None }
}

fn ask(dvm: &mut Cluster, id: u64, request: JobResize) {
    dvm.ask(id, Request::ResizeJob(request));
}

fn resized(dvm: &Cluster, id: u64) -> &JobResized {
    match dvm.reply(id) {
        Reply::JobResized(resized) => resized,
        other => panic!("{other:?}"),
    }
}

fn refusal(dvm: &Cluster, id: u64) -> &str {
    match &resized(dvm, id).outcome {
        JobResizeOutcome::Refused(cause) => cause,
        other => panic!("it was not refused: {other:?}"),
    }
}

fn failure(dvm: &Cluster, id: u64) -> &str {
    match &resized(dvm, id).outcome {
        JobResizeOutcome::Failed(cause) => cause,
        other => panic!("it has not failed: {other:?}"),
    }
}

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// A process gives an order about its job; returns what it hears.
fn say(dvm: &mut Cluster, by: ProcId, order: ControlOrder) -> Result<(), PmixStatus> {
    let token = PmixToken(1_000 + dvm.pmix.len() as u64);
    let at = dvm.running[&by].0;
    let call = PmixCall::Control { by: Some(by), order: Box::new(order), token };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let reply = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::Reply { token: of, result } if *of == token => Some(result.clone()),
        _ => None,
    });
    reply.expect("it is answered").map(drop)
}

fn spawn(dvm: &mut Cluster, by: ProcId, submission: Submission) -> Result<JobId, PmixStatus> {
    let token = PmixToken(5_000 + dvm.pmix.len() as u64);
    let at = dvm.running[&by].0;
    let call = PmixCall::Spawn { proc: by, submission: Box::new(submission), token };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let reply = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::SpawnReply { token: of, result } if *of == token => Some(*result),
        _ => None,
    });
    reply.expect("it is answered")
}

fn offers(dvm: &Cluster) -> Vec<(GrowthOffer, Vec<ProcId>)> {
    let offer = |(_, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Event { event, to, .. } => match &event.info {
            EventInfo::Growth(offer) if event.code == FERRITE_GROWTH_OFFERED => Some(((**offer).clone(), to.clone())),
            _ => None,
        },
        _ => None,
    };
    dvm.pmix.iter().filter_map(offer).collect()
}

/// The processes that were told with this code that processes are to end, with those processes.
fn notices(dvm: &Cluster, wanted: PmixStatus) -> Vec<(ProcId, Vec<u32>, u32)> {
    let told = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
        PmixEffect::Event { event, to, .. } if event.code == wanted => match &event.info {
            EventInfo::Withdrawal(notice) => {
                assert!(notice.of_procs);
                let ranks: Vec<u32> = notice.ranks.iter().map(|rank| rank.0).collect();
                Some(to.iter().map(move |to| (*to, ranks.clone(), notice.seconds)).collect::<Vec<_>>())
            }
            _ => None,
        },
        _ => None,
    });
    told.flatten().collect()
}

fn in_use(dvm: &Cluster) -> Vec<u32> {
    dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").nodes().iter().map(|node| node.slots_inuse).collect()
}

fn world(count: u32) -> Submission {
    Submission::of(job("world", count))
}

/// The slots of an offer are the job's: others do not get them, and a spawn uses them first (spec E54, E55).
#[test]
fn an_offer_keeps_slots_and_a_spawn_takes_them() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    dvm.submit(2, on("b.out", &["n0", "n0"]));
    assert_eq!(in_use(&dvm), [3, 1]);
    ask(&mut dvm, 3, resize(SizeChange::More(3)));
    assert!(unanswered(&dvm, 3));
    assert_eq!(in_use(&dvm), [4, 3], "one slot is free");
    let heard = offers(&dvm);
    assert_eq!(heard.iter().flat_map(|(_, to)| to.clone()).collect::<Vec<_>>(), [proc(0), proc(1)]);
    let offer = &heard[0].0;
    assert_eq!((offer.procs, offer.seconds, &*offer.req_id), (3, 30, "resize-1"));
    assert_eq!(offer.slots, [("n0".to_owned(), 1), ("n1".to_owned(), 2)]);
    dvm.submit(4, world(2));
    assert_eq!(dvm.code_of(4), 1, "another job does not get them");
    ask(&mut dvm, 5, resize(SizeChange::More(1)));
    assert!(refusal(&dvm, 5).contains("3 processes are offered to it already"), "{}", refusal(&dvm, 5));
    let child = spawn(&mut dvm, proc(0), world(3)).expect("it has slots");
    let resized = resized(&dvm, 3);
    assert_eq!(
        (&resized.outcome, resized.is_offer, resized.procs, resized.size),
        (&JobResizeOutcome::Done, true, 3, 5)
    );
    let mut places: Vec<u32> = dvm.running.iter().filter(|(p, _)| p.job == child).map(|(_, at)| at.0.0).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 1]);
    assert_eq!(in_use(&dvm), [4, 3]);
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, TIME)), "{:?}", dvm.timers);
    dvm.exit_job(child.0);
    dvm.exit_job(1);
    assert_eq!(in_use(&dvm), [2, 0]);
}

/// A part of an offer may be taken; the rest goes back (spec E55).
#[test]
fn a_part_that_is_taken_is_a_success_and_the_rest_goes_back() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    ask(&mut dvm, 2, resize(SizeChange::To(6)));
    dvm.submit(3, Submission { wait_for_slots: true, ..world(6) });
    assert_eq!(dvm.running.len(), 1, "it waits for the slots that are offered");
    spawn(&mut dvm, proc(0), world(1)).expect("it has a slot");
    assert_eq!((resized(&dvm, 2).procs, &resized(&dvm, 2).outcome), (1, &JobResizeOutcome::Done));
    assert_eq!(dvm.running.len(), 8, "the rest is for others");
}

/// (spec E56)
#[test]
fn a_job_that_refuses_keeps_its_size_and_the_slots_go_back() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    assert_eq!(say(&mut dvm, proc(1), ControlOrder::RefuseGrowth), Err(PMIX_ERR_NOT_FOUND), "nothing is offered");
    ask(&mut dvm, 2, resize(SizeChange::More(6)));
    dvm.submit(3, Submission { wait_for_slots: true, ..world(2) });
    assert_eq!(say(&mut dvm, proc(1), ControlOrder::RefuseGrowth), Ok(()));
    assert_eq!(failure(&dvm, 2), "Rank 1 of job 1 refuses more processes.");
    assert_eq!(resized(&dvm, 2).size, 2);
    assert_eq!(dvm.running.len(), 4, "the waiting job has its slots");
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, TIME)));
}

/// (spec E56)
#[test]
fn an_offer_without_an_answer_ends_with_its_time() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    ask(&mut dvm, 2, JobResize { time_s: Some(5), ..resize(SizeChange::More(6)) });
    assert_eq!(in_use(&dvm), [4, 4]);
    dvm.pass(Duration::from_secs(5));
    dvm.fire(0, TIME);
    assert_eq!(failure(&dvm, 2), "Job 1 has not answered the offer of 6 processes within 5 seconds.");
    assert_eq!(in_use(&dvm), [1, 1]);
    ask(&mut dvm, 3, resize(SizeChange::More(6)));
    dvm.exit_job(1);
    assert_eq!(failure(&dvm, 3), "Job 1 is over.");
    assert_eq!(in_use(&dvm), [0, 0]);
}

/// (spec E54, E57)
#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(2, 7, &["n0", "n1"]));
    dvm.submit(2, on("b.out", &["n0"]));
    let told = |dvm: &mut Cluster, id: u64, request: JobResize| {
        ask(dvm, id, request);
        refusal(dvm, id).to_owned()
    };
    let plain = JobResize { job: JobId(2), ..resize(SizeChange::More(1)) };
    let unknown = JobResize { job: JobId(9), ..plain.clone() };
    assert!(told(&mut dvm, 3, plain).contains("Job 2 is not elastic"));
    assert!(told(&mut dvm, 4, unknown).contains("There is no job 9"));
    assert_eq!(
        told(&mut dvm, 5, resize(SizeChange::More(6))),
        "Job 1 may have at most 7 processes (--elastic 2:7), and has 2: 6 more are too many."
    );
    assert!(told(&mut dvm, 6, resize(SizeChange::Fewer(1))).contains("keeps at least 2 processes (--elastic 2:7)"));
    assert!(told(&mut dvm, 7, resize(SizeChange::To(0))).contains("`pdvm kill 1 --tree`"));
    assert!(told(&mut dvm, 8, JobResize { force: true, ..resize(SizeChange::More(1)) }).contains("Nobody is forced"));
    assert!(told(&mut dvm, 9, JobResize { time_s: Some(0), ..resize(SizeChange::More(1)) }).contains("needs time"));
    dvm.submit(10, on("b.out", &["n1", "n1"]));
    let cause = told(&mut dvm, 11, resize(SizeChange::More(5)));
    assert!(cause.contains("3 slots are free in the session of job 1, and 5 are wanted"), "{cause}");
    assert!(cause.contains("`pdvm grow`"));
    assert_eq!(in_use(&dvm), [2, 3]);
    ask(&mut dvm, 12, resize(SizeChange::To(2)));
    assert_eq!(resized(&dvm, 12).outcome, JobResizeOutcome::Unchanged);
    ask(&mut dvm, 13, resize(SizeChange::Fewer(0)));
    assert_eq!(resized(&dvm, 13).outcome, JobResizeOutcome::Unchanged);
}

/// A spawn counts for the whole tree (spec E60).
#[test]
fn no_spawn_makes_a_job_larger_than_its_largest_size() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 3, &["n0", "n1"]));
    assert_eq!(spawn(&mut dvm, proc(0), world(2)), Err(PMIX_ERR_OUT_OF_RESOURCE));
    let says = "Job 1 may have at most 3 processes with all that it spawns (--elastic 1:3): it has 2, and a spawn of 2 is \
                refused.";
    assert!(dvm.notices.iter().any(|notice| notice.contains(says)), "{:?}", dvm.notices);
    assert_eq!(dvm.running.len(), 2);
    spawn(&mut dvm, proc(0), world(1)).expect("three are allowed");
    assert_eq!(spawn(&mut dvm, proc(0), world(1)), Err(PMIX_ERR_OUT_OF_RESOURCE));
    let separate = Submission { separate: true, ..world(1) };
    spawn(&mut dvm, proc(0), separate).expect("it is no part of the job");
}

/// A job that could not take an offer leaves it to the next one (spec E55).
#[test]
fn a_spawn_that_fails_leaves_the_offer() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 4, &["n0", "n1"]));
    ask(&mut dvm, 2, resize(SizeChange::More(2)));
    assert_eq!(spawn(&mut dvm, proc(0), world(3)), Err(PMIX_ERR_OUT_OF_RESOURCE), "it would have five");
    assert!(unanswered(&dvm, 2));
    assert_eq!(in_use(&dvm).iter().sum::<u32>(), 4, "two are kept");
    spawn(&mut dvm, proc(1), world(2)).expect("it has slots");
    assert_eq!(resized(&dvm, 2).outcome, JobResizeOutcome::Done);
}

/// The latest world goes whole; its end is no failure (spec E57, E58).
#[test]
fn the_latest_world_ends_and_the_job_goes_on() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    let child = spawn(&mut dvm, proc(0), world(2)).expect("there is room");
    ask(&mut dvm, 2, resize(SizeChange::Fewer(2)));
    let told = notices(&dvm, PMIX_ALLOC_TIMEOUT_WARNING);
    for proc in [proc(0), proc(1), of(child.0, 0), of(child.0, 1)] {
        assert!(told.contains(&(proc, vec![0, 1], 10)), "{told:?}");
    }
    dvm.exit(of(child.0, 0), ExitStatus::Exited(3));
    assert!(unanswered(&dvm, 2));
    assert!(dvm.running.contains_key(&of(child.0, 1)), "the other one has its time");
    dvm.exit(of(child.0, 1), ExitStatus::Exited(0));
    assert_eq!(
        (&resized(&dvm, 2).outcome, resized(&dvm, 2).procs, resized(&dvm, 2).size),
        (&JobResizeOutcome::Done, 2, 2)
    );
    assert_eq!(in_use(&dvm), [1, 1]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A job keeps its number when its first world has ended (spec E57).
#[test]
fn a_job_has_its_number_as_long_as_any_of_its_worlds_lives() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    let child = spawn(&mut dvm, proc(0), world(3)).expect("there is room");
    dvm.exit_job(1);
    ask(&mut dvm, 2, resize(SizeChange::To(2)));
    dvm.exit(of(child.0, 2), ExitStatus::Exited(0));
    let end = resized(&dvm, 2);
    assert_eq!((&end.outcome, end.procs, end.size), (&JobResizeOutcome::Done, 1, 2));
    dvm.exit(of(child.0, 0), ExitStatus::Exited(0));
    dvm.exit(of(child.0, 1), ExitStatus::Exited(0));
    ask(&mut dvm, 3, resize(SizeChange::To(2)));
    assert_eq!(refusal(&dvm, 3), "Job 1 is over.");
}

/// A process that has called finalize has no slot and does not count; its end changes nothing any more (spec E70).
#[test]
fn who_has_called_finalize_gives_its_slot_back() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 6, &["n0", "n1"]));
    let child = spawn(&mut dvm, proc(0), world(4)).expect("there is room");
    dvm.submit(2, Submission { wait_for_slots: true, ..world(3) });
    assert_eq!(in_use(&dvm).iter().sum::<u32>(), 6);
    finalize(&mut dvm, proc(0));
    assert_eq!(dvm.running.keys().filter(|p| p.job == JobId(3)).count(), 3, "the third slot is free");
    finalize(&mut dvm, proc(1));
    finalize(&mut dvm, proc(1));
    assert_eq!(in_use(&dvm).iter().sum::<u32>(), 7, "a slot is given back once");
    let next = spawn(&mut dvm, of(child.0, 0), world(1)).expect("the job has four, and may have six");
    assert_eq!(in_use(&dvm).iter().sum::<u32>(), 8);
    ask(&mut dvm, 4, resize(SizeChange::To(4)));
    assert_eq!(notices(&dvm, PMIX_ALLOC_TIMEOUT_WARNING)[0].1, [0], "the latest of the five goes");
    dvm.exit(of(next.0, 0), ExitStatus::Exited(0));
    assert_eq!((&resized(&dvm, 4).outcome, resized(&dvm, 4).size), (&JobResizeOutcome::Done, 4));
    dvm.exit_job(1);
    assert_eq!(in_use(&dvm).iter().sum::<u32>(), 7, "its end frees nothing twice");
    dvm.exit_job(child.0);
    dvm.exit_job(3);
    assert_eq!(in_use(&dvm), [0, 0]);
    assert_eq!((dvm.code_of(1), dvm.code_of(2)), (0, 0));
}

/// The variables of an elastic job are those of all that it spawns, unless the spawn sets them (spec E71).
#[test]
fn what_a_job_spawns_has_its_variables() {
    let set = |name: &str, value: &str| EnvOp::Set(name.to_owned(), value.to_owned());
    let env_of = |dvm: &Cluster, job: JobId| {
        let order = dvm.pmix.iter().find_map(|(_, effect)| match effect {
            PmixEffect::Register(registration) if registration.order.job == job => Some(&registration.order),
            _ => None,
        });
        order.expect("it is registered").spec.apps[0].env.clone()
    };
    let path = EnvOp::Append("PATH".to_owned(), ':', "/opt".to_owned());
    let mut dvm = dvm(2);
    let mut first = elastic(1, 8, &["n0"]);
    first.spec.apps[0].env = vec![path.clone(), set("A", "1"), set("B", "1")];
    dvm.submit(1, first);
    let with = |ops: &[EnvOp]| {
        let mut submission = world(1);
        submission.spec.apps[0].env = ops.to_vec();
        submission
    };
    let child = spawn(&mut dvm, proc(0), with(&[set("B", "2")])).expect("there is room");
    assert_eq!(env_of(&dvm, child), [path.clone(), set("A", "1"), set("B", "2")]);
    let grandchild = spawn(&mut dvm, of(child.0, 0), with(&[path.clone(), set("B", "3")])).expect("there is room");
    assert_eq!(env_of(&dvm, grandchild), [set("A", "1"), path, set("B", "3")]);
    let separate = Submission { separate: true, ..with(&[]) };
    let stranger = spawn(&mut dvm, proc(0), separate).expect("there is room");
    assert_eq!(env_of(&dvm, stranger), []);
}

/// The end of each process of an elastic job is reported at once, also beside others that go on (spec E58).
#[test]
fn an_end_frees_its_slot_beside_others_that_go_on() {
    let mut dvm = dvm(1);
    dvm.submit(1, elastic(1, 4, &["n0", "n0"]));
    dvm.submit(2, Submission { wait_for_slots: true, ..world(3) });
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!(in_use(&dvm), [4], "the other job has begun");
}

fn finalize(dvm: &mut Cluster, proc: ProcId) {
    let at = dvm.running[&proc].0;
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(proc))));
    dvm.run();
}

/// Processes of a job that goes on: their slots are free at once (spec E57, E58).
#[test]
fn the_highest_ranks_end_after_their_time_and_others_get_their_slots() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1", "n1", "n1"]));
    ask(&mut dvm, 2, resize(SizeChange::To(2)));
    let told = notices(&dvm, PMIX_ALLOC_TIMEOUT_WARNING);
    assert_eq!(told.len(), 4, "all are told: {told:?}");
    assert_eq!(told[0], (proc(0), vec![2, 3], 10));
    dvm.submit(3, Submission { wait_for_slots: true, ..on("b.out", &["n1", "n1", "n1"]) });
    dvm.exit_proc(3, ExitStatus::Exited(0));
    assert!(unanswered(&dvm, 2), "one of them runs");
    dvm.pass(Duration::from_secs(10));
    dvm.fire(0, TIME);
    let heard: Vec<Signal> = dvm.signals.iter().filter(|(of, _)| *of == proc(2)).map(|(_, signal)| *signal).collect();
    assert_eq!(heard, [Signal::CONT, Signal::TERM]);
    assert_eq!(resized(&dvm, 2).outcome, JobResizeOutcome::Done);
    assert_eq!(dvm.running.keys().filter(|p| p.job == JobId(1)).count(), 2);
    assert_eq!(in_use(&dvm), [1, 4], "the waiting job has three slots of n1");
    dvm.exit_proc(0, ExitStatus::Exited(0));
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(dvm.code_of(1), 0);
    assert_eq!(in_use(&dvm), [0, 3]);
}

/// (spec E59)
#[test]
fn a_job_refuses_or_puts_off_that_processes_end() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    ask(&mut dvm, 2, resize(SizeChange::Fewer(1)));
    let defer = |seconds| ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Defer(seconds));
    assert_eq!(say(&mut dvm, proc(1), defer(100)), Ok(()));
    dvm.pass(Duration::from_secs(50));
    dvm.fire(0, TIME);
    assert!(dvm.running.contains_key(&proc(1)), "it has a hundred seconds");
    assert_eq!(say(&mut dvm, proc(0), ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse)), Ok(()));
    assert!(failure(&dvm, 2).contains("Rank 0 of job 1 refuses that 1 process ends."), "{}", failure(&dvm, 2));
    assert_eq!(notices(&dvm, FERRITE_NODES_STAY).len(), 2);
    // What is forced is announced, and what is limited is not put off.
    ask(&mut dvm, 3, JobResize { force: true, ..resize(SizeChange::Fewer(1)) });
    for answer in [WithdrawalAnswer::Refuse, WithdrawalAnswer::Defer(9)] {
        assert_eq!(say(&mut dvm, proc(0), ControlOrder::AnswerWithdrawal(answer)), Err(PMIX_ERR_INVALID_OPERATION));
    }
    dvm.exit_proc(1, ExitStatus::Exited(1));
    assert_eq!(resized(&dvm, 3).outcome, JobResizeOutcome::Done);
    assert!(dvm.running.contains_key(&proc(0)));
}

/// A process that ignores SIGTERM is killed, and what holds its output open is not waited for (spec E58).
#[test]
fn a_process_that_ignores_the_order_is_killed_and_its_pipes_are_closed() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1", "n1"]));
    dvm.pipes_stay_open = true;
    ask(&mut dvm, 2, JobResize { time_s: Some(0), ..resize(SizeChange::Fewer(1)) });
    assert!(unanswered(&dvm, 2), "its output is open");
    dvm.fire(1, STEP);
    assert_eq!(resized(&dvm, 2).outcome, JobResizeOutcome::Done);
    assert!(dvm.running.contains_key(&proc(1)), "its neighbour goes on");
    assert!(!dvm.signals.iter().any(|(of, _)| *of == proc(1)));
}

/// (spec E57, E58)
#[test]
fn without_time_nobody_is_told_and_force_goes_below_the_smallest_size() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(2, 8, &["n0", "n1"]));
    ask(&mut dvm, 2, JobResize { force: true, time_s: Some(0), ..resize(SizeChange::To(1)) });
    assert_eq!(notices(&dvm, PMIX_ALLOC_TIMEOUT_WARNING), []);
    assert_eq!((&resized(&dvm, 2).outcome, resized(&dvm, 2).size), (&JobResizeOutcome::Done, 1));
}

/// A node that leaves takes its slots out of an offer (spec E54).
#[test]
fn an_offer_ends_when_its_nodes_leave() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    ask(&mut dvm, 2, resize(SizeChange::More(7)));
    ask_shrink(&mut dvm, 3, &["n1"]);
    assert_eq!(failure(&dvm, 2), "Nodes whose slots were offered have left the DVM.");
    assert_eq!(*outcome(&dvm, 3), ferrite_wire::ResizeOutcome::Done);
    assert_eq!(in_use(&dvm)[0], 1);
}

/// A requester that goes away changes nothing; one that does not wait is answered at the beginning (spec E54).
#[test]
fn a_requester_may_go_or_hear_of_the_beginning_alone() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    ask(&mut dvm, 2, JobResize { wait: false, ..resize(SizeChange::More(2)) });
    assert_eq!(resized(&dvm, 2).outcome, JobResizeOutcome::Begun(30));
    spawn(&mut dvm, proc(0), world(2)).expect("it has slots");
    ask(&mut dvm, 3, resize(SizeChange::Fewer(2)));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(3))));
    dvm.run();
    dvm.exit_job(2);
    assert!(unanswered(&dvm, 3));
    ask(&mut dvm, 4, resize(SizeChange::To(1)));
    assert_eq!(resized(&dvm, 4).outcome, JobResizeOutcome::Unchanged);
}

/// (spec E54)
#[test]
fn the_usual_time_is_a_parameter() {
    let mut dvm = common::dvm_with(2, &[("ferrite_resize_time", "7")]);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    ask(&mut dvm, 2, JobResize { wait: false, ..resize(SizeChange::More(2)) });
    assert_eq!(resized(&dvm, 2).outcome, JobResizeOutcome::Begun(7));
}

/// (spec E61)
#[test]
fn the_status_of_a_job_says_its_size_and_what_is_offered() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    spawn(&mut dvm, proc(0), world(2)).expect("it has slots");
    ask(&mut dvm, 2, resize(SizeChange::More(3)));
    dvm.ask(3, Request::Jobs);
    let Reply::Jobs(jobs) = dvm.reply(3) else { panic!("no jobs") };
    let tree = jobs[1].tree.clone().expect("what it spawns is a part of it");
    assert_eq!(jobs[0].tree.as_ref(), Some(&tree));
    let change = tree.change.expect("an offer");
    assert_eq!((tree.root, tree.procs, tree.worlds), (JobId(1), 3, 2));
    assert_eq!((change.is_offer, change.procs, change.until_us.is_some()), (true, 3, true));
}

/// The sets that exist at a daemon, with their members as (job, rank).
fn sets_at(dvm: &Cluster, daemon: u32) -> Vec<(String, Vec<(u32, u32)>)> {
    let mut sets = BTreeMap::new();
    for (at, effect) in &dvm.pmix {
        match effect {
            PmixEffect::DefineSet(set) if at.0 == daemon => {
                let of =
                    |(job, ranks): &(JobId, Vec<Rank>)| ranks.iter().map(|rank| (job.0, rank.0)).collect::<Vec<_>>();
                let members = set.members.iter().flat_map(of).collect();
                assert!(sets.insert(set.name.clone(), members).is_none(), "{} is defined twice", set.name);
            }
            PmixEffect::DeleteSet(name) if at.0 == daemon => assert!(sets.remove(name).is_some(), "{name}"),
            _ => {}
        }
    }
    sets.into_iter().collect()
}

fn set(name: &str, members: &[(u32, u32)]) -> (String, Vec<(u32, u32)>) {
    (name.to_owned(), members.to_vec())
}

/// A set has the processes of the job, and another those by which it changes (spec E65).
#[test]
fn process_sets_follow_the_size_of_a_job() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    let all = |more: &[(u32, u32)]| set("job:1", &[&[(1, 0), (1, 1)], more].concat());
    assert_eq!(sets_at(&dvm, 1), [all(&[])]);
    spawn(&mut dvm, proc(0), world(2)).expect("there is room");
    let grown = [all(&[(2, 0), (2, 1)]), set("job:1/delta/1", &[(2, 0), (2, 1)])];
    assert_eq!(sets_at(&dvm, 1), grown);
    ask(&mut dvm, 2, resize(SizeChange::Fewer(1)));
    let to_end = set("job:1/delta/2", &[(2, 1)]);
    assert_eq!(sets_at(&dvm, 1), [grown[0].clone(), to_end.clone()], "before it ends");
    assert_eq!(say(&mut dvm, proc(0), ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse)), Ok(()));
    assert_eq!(sets_at(&dvm, 1), [grown[0].clone()], "it stays");
    ask(&mut dvm, 3, resize(SizeChange::Fewer(2)));
    assert_eq!(sets_at(&dvm, 1)[1], set("job:1/delta/3", &[(2, 0), (2, 1)]));
    dvm.exit(of(2, 0), ExitStatus::Exited(0));
    dvm.exit(of(2, 1), ExitStatus::Exited(0));
    assert_eq!(sets_at(&dvm, 1), [all(&[])]);
    assert_eq!(sets_at(&dvm, 0), sets_at(&dvm, 1));
    dvm.exit_job(1);
    assert_eq!(sets_at(&dvm, 0), []);
}

/// (spec E65)
#[test]
fn the_set_of_a_job_goes_on_without_its_first_world() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0"]));
    let child = spawn(&mut dvm, proc(0), world(1)).expect("there is room");
    dvm.exit_job(1);
    assert_eq!(sets_at(&dvm, 0), [set("job:1", &[(child.0, 0)])]);
}

/// A change that was made in part, one that was refused, and one that is under way (spec E61).
#[test]
fn the_record_of_a_job_has_its_changes() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n1"]));
    ask(&mut dvm, 2, resize(SizeChange::More(2)));
    let child = spawn(&mut dvm, proc(0), world(1)).expect("there is room");
    ask(&mut dvm, 3, resize(SizeChange::Fewer(1)));
    assert_eq!(say(&mut dvm, proc(0), ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse)), Ok(()));
    ask(&mut dvm, 4, resize(SizeChange::Fewer(1)));
    dvm.ask(5, Request::Job(child));
    let Reply::Job(detail) = dvm.reply(5) else { panic!("no job") };
    let told = |step: &SizeStep| (step.is_offer, step.procs, step.done, step.size, step.ended_us.is_some());
    let steps: Vec<_> = detail.record.changes.iter().map(told).collect();
    assert_eq!(steps, [(true, 2, 1, 3, true), (false, 1, 0, 3, true), (false, 1, 0, 2, false)]);
    let causes: Vec<bool> = detail.record.changes.iter().map(|step| step.cause.contains("Rank 0 of job 1")).collect();
    assert_eq!(causes, [false, true, false]);
}

/// Asks for more processes, for which these hosts come.
fn with_hosts(count: u32, hosts: &[&str]) -> JobResize {
    JobResize { nodes: Some(Box::new(grow(hosts))), ..resize(SizeChange::More(count)) }
}

/// A DVM that is full with a job which may have four processes more.
fn full() -> Cluster {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 12, &["n0", "n0", "n0", "n0", "n1", "n1", "n1", "n1"]));
    assert_eq!(in_use(&dvm), [4, 4]);
    dvm
}

/// Nodes come for an offer, and stay as long as the job with all that it has spawned (spec E69).
#[test]
fn nodes_come_for_an_offer_and_leave_with_the_job() {
    let mut dvm = full();
    ask(&mut dvm, 2, with_hosts(2, &["n5"]));
    let offers = offers(&dvm);
    let offer = &offers[0].0;
    assert_eq!((offer.procs, &offer.slots[..], &*offer.alloc_id), (2, &[("n5".to_owned(), 2)][..], "a1"));
    assert_eq!(offers.iter().map(|(_, to)| to.len()).sum::<usize>(), 8, "all processes hear of it");
    assert!(unanswered(&dvm, 2));
    assert_eq!(spawn(&mut dvm, proc(0), world(2)), Ok(JobId(2)));
    assert_eq!(resized(&dvm, 2).outcome, JobResizeOutcome::Done);
    assert_eq!(dvm.running[&of(2, 0)].0, DaemonRank(2));
    let steps = dvm.transitions.iter().filter(|step| step.starts_with("size"));
    let steps: Vec<&str> = steps.map(String::as_str).collect();
    assert_eq!(steps, ["size of 1: +2 NODES_FIRST", "size of 1: +2 OFFERED", "size of 1: +2 DONE"]);
    dvm.exit_job(1);
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up, n5 up", "what the job has spawned runs there");
    dvm.exit_job(2);
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up");
}

/// An offer that the job does not want gives its nodes back without a process having started there (spec E69).
#[test]
fn nodes_of_an_offer_that_is_refused_or_not_taken_leave_again() {
    for is_refused in [true, false] {
        let mut dvm = full();
        ask(&mut dvm, 2, with_hosts(2, &["n5"]));
        if is_refused {
            assert_eq!(say(&mut dvm, proc(0), ControlOrder::RefuseGrowth), Ok(()));
        } else {
            dvm.pass(Duration::from_secs(30));
            dvm.fire(0, TIME);
        }
        let says = if is_refused { "refuses more" } else { "has not answered" };
        assert!(failure(&dvm, 2).contains(says), "{}", failure(&dvm, 2));
        assert_eq!(states(&mut dvm, 3), "n0 up, n1 up");
        assert_eq!(dvm.running.len(), 8);
    }
}

/// Nodes come only when too few slots are free, and not for a job that would be too large (spec E69).
#[test]
fn nodes_come_only_when_they_are_needed() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 6, &["n0", "n0", "n0", "n0"]));
    ask(&mut dvm, 2, with_hosts(3, &["n5"]));
    assert!(refusal(&dvm, 2).contains("3 more are too many"), "{}", refusal(&dvm, 2));
    ask(&mut dvm, 5, JobResize { size: SizeChange::To(2), ..with_hosts(2, &["n5"]) });
    assert!(refusal(&dvm, 5).contains("Nodes come for more processes"), "{}", refusal(&dvm, 5));
    ask(&mut dvm, 3, with_hosts(2, &["n5"]));
    assert_eq!(offers(&dvm)[0].0.slots, [("n1".to_owned(), 2)]);
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up");
}

/// A request for nodes that fails ends the change, and one that others use stays (spec E69).
#[test]
fn without_its_nodes_a_job_keeps_its_size() {
    let mut dvm = full();
    dvm.bad_nodes.insert("n5".to_owned(), "no route to host".to_owned());
    ask(&mut dvm, 2, with_hosts(2, &["n5"]));
    assert!(failure(&dvm, 2).contains("n5"), "{}", failure(&dvm, 2));
    assert!(offers(&dvm).is_empty());
    ask(&mut dvm, 3, JobResize { time_s: Some(0), ..with_hosts(2, &["n6"]) });
    assert!(refusal(&dvm, 3).contains("needs time"));
    let mut there = with_hosts(2, &["n1"]);
    there.nodes.as_mut().expect("it names one").hosts[0].slots = SlotChange::Set(8);
    ask(&mut dvm, 4, there);
    assert!(refusal(&dvm, 4).contains("in the DVM already. 0 slots are free"), "{}", refusal(&dvm, 4));
    let slots = dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").nodes()[1].slots;
    assert_eq!(slots, 4, "what is refused changes nothing");
    let steps = dvm.transitions.iter().filter(|step| step.starts_with("size"));
    let steps: Vec<&str> = steps.map(String::as_str).collect();
    assert_eq!(steps, ["size of 1: +2 NODES_FIRST", "size of 1: +0 FAILED"], "what is refused is no change");
    ask(&mut dvm, 5, with_hosts(2, &["n7"]));
    dvm.submit(6, on("b.out", &["n7"]));
    assert_eq!(say(&mut dvm, proc(0), ControlOrder::RefuseGrowth), Ok(()));
    assert!(failure(&dvm, 5).contains("refuses more"));
    assert_eq!(states(&mut dvm, 7), "n0 up, n1 up, n7 up", "another job runs there");
}

/// Nodes that come for a job that is over leave again (spec E69).
#[test]
fn nodes_for_a_job_that_is_over_leave_again() {
    let mut dvm = full();
    dvm.silent_nodes.insert("n5".to_owned());
    ask(&mut dvm, 2, with_hosts(2, &["n5"]));
    ask(&mut dvm, 3, resize(SizeChange::Fewer(1)));
    assert!(refusal(&dvm, 3).contains("to be offered to it when nodes have come"), "{}", refusal(&dvm, 3));
    dvm.exit_job(1);
    assert!(failure(&dvm, 2).contains("has ended with job 1"), "{}", failure(&dvm, 2));
    dvm.come(2);
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up");
    assert!(offers(&dvm).is_empty());
}
