//! Jobs that wait for slots: the jobs before them, their turn, and their status.

mod common;

use common::{Cluster, dvm_with, elastic_dvm, job};
use ferrite_core::{DaemonTimer, HeadTimer, RequestId, Timer};
use ferrite_types::SessionId;
use ferrite_types::*;
use ferrite_wire::control::{JobStatus, Reply, Request, SessionChoice, SessionDirective, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange};

fn patient(np: u32, session: u32) -> Submission {
    let session = SessionChoice::Id(SessionId(session));
    Submission { wait_for_slots: true, session, ..Submission::of(job("a.out", np)) }
}

/// A job of one client of the default session.
fn of_client(client: &str, np: u32, priority: i16) -> Submission {
    Submission { launcher: client.to_owned(), priority, ..patient(np, 0) }
}

fn grow_with(dvm: &mut Cluster, id: u64, name: &str, terms: SessionTerms) {
    let host = AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    let request = GrowRequest { hosts: vec![host], wait: true, terms, ..GrowRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn grow(dvm: &mut Cluster, id: u64, name: &str) {
    grow_with(dvm, id, name, SessionTerms::default());
}

fn reserve(dvm: &mut Cluster, id: u64, name: &str) {
    grow_with(dvm, id, name, SessionTerms { reserve: true, ..SessionTerms::default() });
}

fn order(dvm: &mut Cluster, id: u64, session: u32, directive: SessionDirective) {
    dvm.ask(id, Request::Session { session: SessionChoice::Id(SessionId(session)), directive });
}

fn is_done(dvm: &Cluster, id: u64) -> bool {
    let reply = dvm.replies.iter().find(|(request, _)| *request == RequestId(id));
    matches!(reply, Some((_, Reply::Resize(resize))) if resize.outcome == ResizeOutcome::Done)
}

fn status(dvm: &mut Cluster, id: u64, job: u32) -> JobStatus {
    dvm.ask(id, Request::Job(JobId(job)));
    match dvm.reply(id) {
        Reply::Job(detail) => detail.status.clone(),
        other => panic!("{other:?}"),
    }
}

fn running(dvm: &Cluster, job: u32) -> usize {
    dvm.running.keys().filter(|proc| proc.job == JobId(job)).count()
}

/// Grows that overlap, each asked for before the one before has ended, until a job runs; the rounds that it took.
fn overlap(dvm: &mut Cluster, first: u64, job: u32) -> u64 {
    let mut rounds = 0;
    while running(dvm, job) == 0 {
        assert!(rounds < 4, "job {job} waits for one change after another");
        grow(dvm, first + rounds, &format!("x{rounds}"));
        let next = *dvm.late.keys().next().expect("somebody is on the way");
        dvm.come(next.0);
        rounds += 1;
    }
    rounds
}

/// A job of the queue has its turn when its slots are free (spec E18).
#[test]
fn a_job_in_the_queue_whose_slots_are_free_has_its_turn_among_grows_that_overlap() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.extend(["m0".to_owned()].into_iter().chain((0..9).map(|i| format!("x{i}"))));
    dvm.submit(1, Submission::of(job("runs", 4)));
    dvm.submit(2, patient(4, 0));
    grow(&mut dvm, 3, "m0");
    assert!(status(&mut dvm, 4, 2).waiting_for.contains("4 slots (0 of 4 are free"), "{:?}", status(&mut dvm, 5, 2));
    dvm.exit_job(1);
    let waits = status(&mut dvm, 6, 2).waiting_for;
    assert!(waits.contains("grow 1: the daemons of m0 to report"), "the slots are free: {waits}");
    let rounds = overlap(&mut dvm, 10, 2);
    while let Some(rank) = dvm.late.keys().next().copied() {
        dvm.come(rank.0);
    }
    assert!((10..10 + rounds).all(|id| is_done(&dvm, id)), "those that let it pass are next");
}

/// A job of the queue has its turn when its slots are free (spec E18).
#[test]
fn a_queued_job_that_has_no_slots_keeps_no_grow_waiting() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.extend(["m0".to_owned(), "m1".to_owned()]);
    dvm.submit(1, Submission::of(job("short", 2)));
    dvm.submit(2, Submission::of(job("long", 2)));
    dvm.submit(3, patient(2, 0));
    grow(&mut dvm, 4, "m0");
    dvm.exit_job(1);
    assert!(status(&mut dvm, 5, 3).waiting_for.contains("grow 1"));
    grow(&mut dvm, 6, "m1");
    dvm.come(1);
    // Due, and its slots are there: the next grow waits. When they are taken away it goes on.
    grow(&mut dvm, 7, "m2");
    dvm.ask(8, Request::Status);
    let Reply::Status(all) = dvm.reply(8) else { panic!("a status") };
    assert_eq!(
        all.campaigns.iter().map(|c| c.step).collect::<Vec<_>>(),
        [CampaignStep::Launching, CampaignStep::Queued]
    );
    assert!(all.campaigns[1].waiting_for.contains("job 3"), "{:?}", all.campaigns);
    dvm.come(2);
    assert_eq!(running(&dvm, 3), 2);
    assert!(is_done(&dvm, 7));
}

#[test]
fn a_job_that_is_mapped_again_is_the_first_of_those_that_wait_for_slots() {
    let mut dvm = dvm_with(2, &[("prte_elastic_mode", "1"), ("ferrite_debug_prep_ms", "5")]);
    dvm.submit(1, Submission::of(job("mapped", 6)));
    dvm.submit(2, patient(4, 0));
    let shrink = ShrinkRequest { nodes: vec!["n1".to_owned()], wait: true, ..ShrinkRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert_eq!((running(&dvm, 1), running(&dvm, 2)), (0, 0));
    assert_eq!(dvm.code_of(1), 1, "six never fit on one node");
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert_eq!(running(&dvm, 2), 4);
}

/// A job that is mapped again comes first (spec E12).
#[test]
fn a_job_that_was_mapped_before_comes_before_those_that_were_not() {
    let mut dvm = dvm_with(2, &[("prte_elastic_mode", "1"), ("ferrite_debug_prep_ms", "5")]);
    let mut short = job("short", 2);
    // It goes on with its process on n0 when the other one's node leaves.
    short.options.recoverable = true;
    dvm.submit(1, Submission::of(short));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.submit(2, Submission::of(job("mapped", 4)));
    dvm.submit(3, patient(4, 0));
    let shrink = ShrinkRequest { nodes: vec!["n1".to_owned()], wait: true, ..ShrinkRequest::default() };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    dvm.fire(1, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (0, 0));
    assert!(status(&mut dvm, 5, 3).waiting_for.contains("1 jobs are before it"), "{:?}", status(&mut dvm, 6, 3));
    dvm.exit_job(1);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (4, 0));
}

#[test]
fn a_job_that_is_resumed_during_a_grow_waits_for_that_and_has_its_turn() {
    let mut dvm = elastic_dvm(1);
    reserve(&mut dvm, 1, "m0");
    order(&mut dvm, 2, 1, SessionDirective::Pause);
    dvm.submit(3, Submission { session: SessionChoice::Id(SessionId(1)), ..Submission::of(job("a.out", 1)) });
    assert!(status(&mut dvm, 4, 1).waiting_for.contains("resumed"));
    dvm.silent_nodes.extend(["m1".to_owned()].into_iter().chain((0..9).map(|i| format!("x{i}"))));
    grow(&mut dvm, 5, "m1");
    order(&mut dvm, 6, 1, SessionDirective::Resume);
    let waits = status(&mut dvm, 7, 1).waiting_for;
    assert!(waits.contains("grow 2"), "{waits}");
    overlap(&mut dvm, 10, 1);
}

#[test]
fn each_pool_of_nodes_has_a_queue_of_its_own() {
    let mut dvm = elastic_dvm(1);
    reserve(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("runs", 4)));
    dvm.submit(3, patient(2, 0));
    dvm.submit(4, patient(4, 1));
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (0, 4), "nobody waits for what is idle");
    dvm.submit(5, patient(1, 1));
    dvm.submit(6, patient(1, 0));
    let waits = status(&mut dvm, 7, 4).waiting_for;
    assert!(waits.contains("1 slots (0 of 4 are free, 0 jobs are before it)"), "{waits}");
    let waits = status(&mut dvm, 8, 5).waiting_for;
    assert!(waits.contains("1 slots (0 of 4 are free, 1 jobs are before it)"), "{waits}");
    dvm.exit_job(3);
    assert_eq!((running(&dvm, 2), running(&dvm, 4)), (0, 1));
}

/// Jobs that wait for slots are served in their order (spec L15).
#[test]
fn pools_that_share_a_node_have_one_queue() {
    let mut dvm = dvm_with(1, &[("prte_elastic_mode", "1"), ("ferrite_backfill", "0")]);
    grow(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("runs", 6)));
    dvm.submit(3, patient(4, 0));
    dvm.submit(4, patient(1, 1));
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (0, 0), "the first is not passed for ever");
    dvm.exit_job(1);
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (4, 1));
}

#[test]
fn a_queued_job_of_a_paused_session_waits_for_that_and_keeps_nobody_waiting() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("runs", 8)));
    dvm.submit(3, patient(4, 1));
    dvm.submit(4, patient(4, 0));
    order(&mut dvm, 5, 1, SessionDirective::Pause);
    assert!(status(&mut dvm, 6, 2).waiting_for.contains("resumed"), "{:?}", status(&mut dvm, 7, 2));
    dvm.exit_job(1);
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (0, 4));
    dvm.exit_job(3);
    assert_eq!(running(&dvm, 2), 0, "paused all the same");
    order(&mut dvm, 8, 1, SessionDirective::Resume);
    assert_eq!(running(&dvm, 2), 4);
}

#[test]
fn a_queued_job_that_waits_for_what_stays_reserved_is_refused_when_all_is_idle() {
    let mut dvm = elastic_dvm(1);
    dvm.submit(1, Submission::of(job("runs", 4)));
    dvm.submit(2, patient(4, 0));
    reserve(&mut dvm, 3, "m0");
    let mut there = patient(1, 0);
    there.spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("m0"))];
    dvm.submit(4, there);
    dvm.exit_job(1);
    dvm.exit_job(2);
    assert_eq!((dvm.code_of(2), dvm.code_of(4)), (0, 1));
}

/// Each end serves the queue of all the others: with a look at all pairs of waiting jobs this takes many minutes.
#[test]
fn a_queue_of_thousands_is_emptied() {
    const COUNT: u32 = 1_500;
    let mut dvm = dvm_with(1, &[]);
    dvm.submit(1, Submission::of(job("runs", 4)));
    (0..COUNT).for_each(|i| dvm.submit(2 + u64::from(i), patient(4, 0)));
    (0..COUNT).rev().for_each(|i| dvm.ask(10_000 + u64::from(i), Request::Kill(JobId(2 + i))));
    dvm.exit_job(1);
    assert_eq!((0..COUNT).map(|i| running(&dvm, 2 + i)).sum::<usize>(), 0);
}

// --- priorities, turns of clients, and jobs that pass others

/// The jobs in the order in which they begin, when each has all slots and ends before the next.
fn begun(dvm: &mut Cluster) -> Vec<u32> {
    let mut order = Vec::new();
    while let Some(id) = dvm.running.keys().map(|proc| proc.job.0).next() {
        order.push(id);
        dvm.exit_job(id);
    }
    order
}

/// A higher priority comes first (spec L122).
#[test]
fn jobs_of_a_higher_priority_have_their_slots_first() {
    let mut dvm = dvm_with(1, &[]);
    for (id, priority) in (1..).zip([0, -5, 0, 7, 0, 1_000, -1_000, 7]) {
        dvm.submit(id, of_client("a", 4, priority));
    }
    dvm.ask(20, Request::Jobs);
    let Reply::Jobs(all) = dvm.reply(20) else { panic!("a list") };
    assert_eq!(all.iter().map(|job| job.priority).collect::<Vec<_>>(), [0, -5, 0, 7, 0, 1_000, -1_000, 7]);
    let before = |job: u32| {
        let text = &all[job as usize - 1].waiting_for;
        text.split(", ").nth(1).and_then(|part| part.split(' ').next()).expect("a number").to_owned()
    };
    assert_eq!([6, 4, 8, 3, 5, 2, 7].map(before), ["0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(begun(&mut dvm), [1, 6, 4, 8, 3, 5, 2, 7]);
}

/// A newcomer of a higher priority waits for none of the others (spec L122).
#[test]
fn a_newcomer_of_a_higher_priority_takes_what_is_free() {
    let mut dvm = dvm_with(1, &[("ferrite_backfill", "0")]);
    dvm.submit(1, patient(2, 0));
    dvm.submit(2, of_client("a", 3, 0));
    dvm.submit(3, of_client("b", 1, 0));
    dvm.submit(4, of_client("b", 1, 1));
    dvm.submit(5, of_client("b", 9, 2));
    assert_eq!((running(&dvm, 3), running(&dvm, 4)), (0, 1));
    assert_eq!(dvm.code_of(5), 1, "it never fits, and is first");
}

/// Jobs that a change of size has held have their turns by priority (spec L122).
#[test]
fn jobs_that_were_held_during_a_grow_begin_by_priority() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("m0".to_owned());
    grow(&mut dvm, 1, "m0");
    for (id, priority) in (2..).zip([0, 3, 3, -1]) {
        dvm.submit(id, of_client("a", 8, priority));
    }
    dvm.come(1);
    assert_eq!(begun(&mut dvm), [2, 3, 1, 4]);
}

/// A client with one job does not wait for all jobs of another (spec L123).
#[test]
fn clients_of_one_priority_take_turns() {
    let mut dvm = dvm_with(1, &[]);
    dvm.submit(1, patient(4, 0));
    for (id, client) in (2..).zip(["many", "many", "many", "many", "few", "one", "few", "many"]) {
        dvm.submit(id, of_client(client, 4, 0));
    }
    dvm.ask(20, Request::Kill(JobId(3)));
    assert_eq!(begun(&mut dvm), [1, 2, 6, 7, 4, 8, 5, 9]);
}

/// Slots that the first job cannot use are not idle (spec L124).
#[test]
fn later_jobs_pass_the_first_one_for_a_limited_time() {
    let mut dvm = dvm_with(1, &[("ferrite_backfill", "10")]);
    dvm.submit(1, patient(3, 0));
    dvm.submit(2, of_client("a", 2, 0));
    dvm.pass(Duration::from_secs(60));
    dvm.submit(3, of_client("a", 2, 0));
    dvm.submit(4, of_client("a", 1, 0));
    assert_eq!([2, 3, 4].map(|id| running(&dvm, id)), [0, 0, 1], "nobody has passed it before");
    dvm.submit(5, of_client("b", 1, 0));
    dvm.pass(Duration::from_millis(9_999));
    dvm.exit_job(4);
    assert_eq!(running(&dvm, 5), 1, "it has its turn at the end of another");
    dvm.submit(6, of_client("b", 1, 0));
    dvm.pass(Duration::from_millis(1));
    dvm.exit_job(5);
    dvm.submit(7, of_client("c", 1, 0));
    assert_eq!([6, 7].map(|id| running(&dvm, id)), [0, 0], "the time is over");
    dvm.exit_job(1);
    // The other clients have their turns before the next job of the first one.
    assert_eq!([2, 3, 6, 7].map(|id| running(&dvm, id)), [2, 0, 1, 1]);
}

/// All slots that the first job cannot use are given to others (spec L124).
#[test]
fn many_small_jobs_pass_a_large_one_at_once() {
    let mut dvm = dvm_with(10, &[]);
    dvm.submit(1, patient(2, 0));
    dvm.submit(2, patient(38, 0));
    dvm.submit(3, of_client("large", 40, 0));
    (4..34).for_each(|id| dvm.submit(id, of_client("small", 1, 0)));
    dvm.exit_job(2);
    assert_eq!((4..34).map(|id| running(&dvm, id)).sum::<usize>(), 30);
}

/// A job that is passed for the whole time is not passed by any other (spec L124).
#[test]
fn a_large_job_begins_in_the_end_among_small_ones_that_never_cease() {
    let mut dvm = dvm_with(1, &[]);
    dvm.submit(1, of_client("small", 1, 0));
    dvm.submit(2, of_client("large", 4, 0));
    let mut id = 2_u64;
    while running(&dvm, 2) == 0 {
        id += 1;
        assert!(id < 100, "it starves");
        dvm.submit(id, of_client("small", 1, 0));
        dvm.pass(Duration::from_secs(5));
        if let Some(oldest) = dvm.running.keys().next().filter(|_| id > 3) {
            dvm.exit_job(oldest.job.0);
        }
    }
    assert!(id > 8, "six begin in thirty seconds, and not {}", id - 3);
}

/// A job that comes before all others opens no gap for those behind a job that was passed long enough (spec L124).
#[test]
fn a_job_that_was_passed_is_not_passed_behind_one_of_a_higher_priority() {
    let mut dvm = dvm_with(1, &[("ferrite_backfill", "10")]);
    dvm.submit(1, patient(2, 0));
    dvm.submit(2, of_client("a", 3, 0));
    dvm.submit(3, of_client("b", 1, 0));
    dvm.pass(Duration::from_secs(10));
    dvm.submit(4, of_client("c", 4, 9));
    dvm.submit(5, of_client("d", 1, 0));
    dvm.submit(6, of_client("e", 1, 1));
    assert_eq!([3, 4, 5, 6].map(|id| running(&dvm, id)), [1, 0, 0, 1], "the last one comes before the passed one");
    dvm.exit_job(3);
    assert_eq!(running(&dvm, 5), 0, "the slot is kept");
    dvm.ask(20, Request::Kill(JobId(2)));
    assert_eq!(running(&dvm, 5), 1, "it was kept for a job that is gone");
}

/// Jobs of several sessions that share nodes pass each other for a limited time as well (spec L124).
#[test]
fn the_first_job_of_another_session_is_not_passed_for_ever() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("runs", 6)));
    dvm.submit(3, patient(4, 0));
    dvm.submit(4, patient(1, 1));
    assert_eq!((running(&dvm, 2), running(&dvm, 3)), (0, 1));
    dvm.pass(Duration::from_secs(30));
    dvm.submit(5, patient(1, 1));
    assert_eq!(running(&dvm, 4), 0);
    dvm.exit_job(1);
    assert_eq!((running(&dvm, 2), running(&dvm, 4)), (4, 1));
}
