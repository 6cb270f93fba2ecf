//! Shrinks of nodes whose jobs have asked for time (docs/spec/elastic.md, grace).

mod common;

use common::elastic::*;
use common::{Cluster, proc};
use ferrite_core::{DaemonInput, DaemonTimer, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{PMIX_ALLOC_TIMEOUT_WARNING, PMIX_ERR_INVALID_OPERATION};
use ferrite_types::*;
use ferrite_wire::control::{Request, Submission};
use ferrite_wire::{CancelRequest, EventInfo, ResizeOutcome, ResizeRequest, ShrinkRequest, Withdrawal};

/// SIGUSR1.
const USR1: Signal = Signal(10);
const GRACE: Timer = Timer::Head(HeadTimer::Campaign(CampaignId(1)));

/// A job on these nodes whose processes have so many seconds.
fn with_grace(seconds: u64, nodes: &[&str]) -> Submission {
    let mut submission = on("a.out", nodes);
    let signal = Some(USR1);
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(seconds), signal });
    submission
}

/// The notices that processes have heard, with their daemons and addressees.
fn notices(dvm: &Cluster) -> Vec<(u32, Vec<ProcId>, Withdrawal)> {
    let heard = dvm.pmix.iter().filter_map(|(daemon, effect)| match effect {
        PmixEffect::Event { event, to, .. } if event.code == PMIX_ALLOC_TIMEOUT_WARNING => match &event.info {
            EventInfo::Withdrawal(notice) => Some((daemon.0, to.clone(), (**notice).clone())),
            other => panic!("{other:?}"),
        },
        _ => None,
    });
    heard.collect()
}

fn waits_for(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Status);
    let ferrite_wire::control::Reply::Status(status) = dvm.reply(id) else { panic!("a status") };
    status.campaigns.iter().map(|campaign| format!("{} {}", campaign.step, campaign.waiting_for)).collect()
}

/// Processes are told, and no other gets their place (spec E43).
#[test]
fn processes_are_told_and_their_node_leaves_when_the_last_of_them_has_ended() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n1", "n3", "n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    assert!(unanswered(&dvm, 2), "the processes have time");
    let told = notices(&dvm);
    assert_eq!(
        told.iter().map(|(at, to, _)| (*at, to.clone())).collect::<Vec<_>>(),
        [(1, vec![proc(0)]), (3, vec![proc(1), proc(2)])]
    );
    let Withdrawal { job, ranks, nodes, seconds, .. } = &told[0].2;
    assert_eq!(
        (*job, ranks.as_slice(), nodes.as_slice(), *seconds),
        (JobId(1), [Rank(1), Rank(2)].as_slice(), ["n3".to_owned()].as_slice(), 30)
    );
    assert_eq!(dvm.signals, [(proc(1), USR1), (proc(2), USR1)]);
    assert_eq!(dvm.notices, ["Node n3 leaves the DVM: ranks 1, 2 of job 1 have 30 seconds to end."]);
    assert_eq!(waits_for(&mut dvm, 3), "DRAINING the processes of job 1 to end before n3 leaves");
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert!(unanswered(&dvm, 2));
    dvm.exit_proc(2, ExitStatus::Exited(0));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done, "nobody waits out a grace for nothing");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0, "its processes have ended well");
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, GRACE)), "{:?}", dvm.timers);
}

/// The node leaves when the processes have ended, or had their time (spec E45).
#[test]
fn a_job_that_ignores_the_notice_is_ended_after_its_time() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(1, &["n1", "n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(0, GRACE);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(dvm.code_of(1), LEFT);
}

/// The node leaves when the processes have ended, or had their time (spec E45).
#[test]
fn each_job_has_its_own_time_and_the_node_stays_for_the_longest() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(1, &["n3"]));
    dvm.submit(2, with_grace(5, &["n3"]));
    dvm.submit(3, on("a.out", &["n3"]));
    ask_shrink(&mut dvm, 4, &["n3"]);
    dvm.fire(0, GRACE);
    assert!(unanswered(&dvm, 4), "job 2 has time");
    assert_eq!(dvm.running.len(), 3, "and nobody is ended before");
    dvm.exit_job(2);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 4), ResizeOutcome::Done);
    assert_eq!((dvm.code_of(1), dvm.code_of(2), dvm.code_of(3)), (LEFT, 0, LEFT));
}

/// Processes are told, and no other gets their place (spec E43).
#[test]
fn while_processes_have_time_other_jobs_run_elsewhere_and_none_is_placed_there() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.submit(3, on("b.out", &["n1", "n2"]));
    assert_eq!(dvm.running.len(), 3, "a drain holds nobody");
    dvm.submit(4, on("c.out", &["n3"]));
    assert_eq!(dvm.code_of(4), 1);
    // A grow of the node waits until it has left, and holds nobody either.
    ask_grow(&mut dvm, 5, &["n3"]);
    dvm.submit(6, on("d.out", &["n1"]));
    assert_eq!(dvm.running.len(), 4);
    dvm.exit_job(1);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(*outcome(&dvm, 5), ResizeOutcome::Done);
}

/// The time runs from the notice, and a shrink may shorten it (spec E44).
#[test]
fn a_shrink_may_shorten_the_time_or_give_none() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n3"]));
    dvm.submit(2, with_grace(30, &["n2"]));
    let shrink =
        |node, grace_s| Request::Resize(Box::new(ResizeRequest::Shrink(ShrinkRequest { grace_s, ..shrink(&[node]) })));
    dvm.ask(3, shrink("n3", Some(1)));
    assert_eq!(notices(&dvm)[0].2.seconds, 1);
    dvm.fire(0, GRACE);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Done);
    dvm.pmix.clear();
    dvm.ask(4, shrink("n2", Some(0)));
    assert_eq!(notices(&dvm), [], "nobody is told");
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 4), ResizeOutcome::Done);
}

/// The time runs from the notice, and a shrink may shorten it (spec E44).
#[test]
fn the_time_runs_from_the_delivery_of_the_notice_and_not_from_the_order() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(1, &["n3"]));
    let still = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n3"]);
    assert_eq!(waits_for(&mut dvm, 3), "DRAINING the processes of job 1 to end before n3 leaves");
    dvm.thaw(still);
    // Twenty seconds are the limit for a daemon that hangs. Then the grace begins.
    dvm.fire(0, GRACE);
    assert!(unanswered(&dvm, 2));
    dvm.fire(0, GRACE);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

#[test]
fn a_daemon_that_is_lost_ends_the_wait_for_its_processes() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.crash(3);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(dvm.code_of(1), 1, "the loss is a failure");
}

#[test]
fn the_end_of_the_dvm_waits_for_no_grace() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.ask(3, Request::Terminate);
    assert!(!unanswered(&dvm, 2));
}

#[test]
fn a_node_that_is_lost_while_it_drains_is_offered_back() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n2", "n3"]));
    ask_shrink(&mut dvm, 2, &["n2", "n3"]);
    dvm.crash(3);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done, "the loss has ended the job, and so its time");
    assert_eq!(dvm.offered, ["n2", "n3"]);
}

// --- parts

/// Requests the departure of these nodes and gives the request a name.
fn ask_named_shrink(dvm: &mut Cluster, id: u64, names: &[&str]) {
    let request = ShrinkRequest { req_id: Some(format!("r{id}").into()), ..shrink(names) };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
}

/// A node leaves when its last rank has ended, and the requester hears it once, after the last (spec E48, E49).
#[test]
fn a_node_leaves_when_its_last_process_has_ended_and_another_of_its_shrink_has_time() {
    let mut dvm = dvm(5);
    dvm.submit(1, with_grace(30, &["n1", "n2", "n3", "n3"]));
    ask_named_shrink(&mut dvm, 2, &["n2", "n3", "n4"]);
    assert_eq!(dvm.offered, ["n4"], "it had nothing to wait for");
    dvm.exit_proc(2, ExitStatus::Exited(0));
    assert_eq!(dvm.offered, ["n4"], "a process is left");
    dvm.exit_proc(3, ExitStatus::Exited(0));
    assert_eq!(dvm.offered, ["n4", "n3"]);
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up, n2 up, n3 down, n4 down");
    assert!(unanswered(&dvm, 2), "n2 has time");
    assert_eq!(waits_for(&mut dvm, 4), "DRAINING the processes of job 1 to end before n2 leaves");
    assert_eq!(dvm.running.len(), 2, "and nobody is ended before");
    dvm.exit_proc(1, ExitStatus::Exited(0));
    let answers = dvm.replies.iter().filter(|(request, _)| request.0 == 2).count();
    assert_eq!((answers, outcome(&dvm, 2)), (1, &ResizeOutcome::Done));
    let end = common::resize(&dvm, 2);
    assert_eq!((end.nodes.join(","), end.req_id.as_deref()), ("n2,n3,n4".to_owned(), Some("r2")), "it names all");
    assert_eq!(dvm.offered, ["n4", "n3", "n2"]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0, "its processes have ended well");
}

/// A process that hears of the end by an event hears it once, after the last node (spec E49).
#[test]
fn a_process_that_has_asked_hears_of_the_end_once() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n1", "n2", "n3"]));
    let request = ResizeRequest::Shrink(ShrinkRequest { wait: false, ..shrink(&["n2", "n3"]) });
    let token = PmixToken(7);
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: proc(0), request, token })));
    dvm.run();
    let ends = |dvm: &Cluster| -> Vec<Vec<String>> {
        let events = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
            PmixEffect::ResizeEvent { resize, .. } => Some(resize.nodes.clone()),
            _ => None,
        });
        events.collect()
    };
    dvm.exit_proc(2, ExitStatus::Exited(0));
    assert_eq!((dvm.offered.join(","), ends(&dvm).len()), ("n3".to_owned(), 0));
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(ends(&dvm), [["n2", "n3"]]);
}

/// A node leaves when its last rank has ended, whatever job the rank is of (spec E48).
#[test]
fn a_node_with_a_process_of_a_job_without_a_grace_stays_until_the_last_grace_is_over() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(1, &["n2"]));
    dvm.submit(2, on("b.out", &["n3"]));
    ask_shrink(&mut dvm, 3, &["n2", "n3"]);
    assert_eq!((dvm.running.len(), dvm.offered.len()), (2, 0));
    dvm.fire(0, GRACE);
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!((outcome(&dvm, 3), dvm.offered.join(",")), (&ResizeOutcome::Done, "n2,n3".to_owned()));
    assert_eq!((dvm.code_of(1), dvm.code_of(2)), (LEFT, LEFT));
}

/// The remaining nodes leave after the last part (spec E49).
#[test]
fn one_part_leaves_at_a_time_and_the_rest_after_it() {
    let mut dvm = dvm(5);
    dvm.submit(1, with_grace(30, &["n2", "n3", "n4"]));
    ask_shrink(&mut dvm, 2, &["n2", "n3", "n4"]);
    dvm.is_manager_slow = true;
    dvm.exit_proc(2, ExitStatus::Exited(0));
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(dvm.offered, ["n4"], "n3 leaves when n4 is over");
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!((dvm.offered.join(","), unanswered(&dvm, 2)), ("n4".to_owned(), true));
    let waits = "DRAINING campaign 2 to endRELEASING the resource managers to take the nodes back";
    assert_eq!(waits_for(&mut dvm, 3), waits);
    dvm.answer_offers();
    assert_eq!((outcome(&dvm, 2), dvm.offered.join(",")), (&ResizeOutcome::Done, "n4,n2,n3".to_owned()));
    assert_eq!(common::resize(&dvm, 2).nodes, ["n2", "n3", "n4"]);
}

/// A node that has left with a part comes again at once; a grow of one that has time waits (spec E48, E5).
#[test]
fn a_node_that_has_left_with_a_part_comes_again_while_another_has_time() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n2", "n3"]));
    ask_shrink(&mut dvm, 2, &["n2", "n3"]);
    ask_grow(&mut dvm, 3, &["n3"]);
    ask_grow(&mut dvm, 4, &["n2"]);
    assert!(unanswered(&dvm, 3) && unanswered(&dvm, 4));
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!((outcome(&dvm, 3), dvm.offered.join(",")), (&ResizeOutcome::Done, "n3".to_owned()));
    assert!(unanswered(&dvm, 2) && unanswered(&dvm, 4));
    dvm.submit(5, on("b.out", &["n3"]));
    assert_eq!(dvm.running.len(), 2, "n3 is a node like any other");
    // The shrink does not take a node a second time that has left.
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!((outcome(&dvm, 2), outcome(&dvm, 4)), (&ResizeOutcome::Done, &ResizeOutcome::Done));
    assert_eq!(states(&mut dvm, 6), "n0 up, n1 up, n2 up, n3 up");
    assert_eq!((dvm.offered.join(","), dvm.running.len()), ("n3,n2".to_owned(), 1));
}

/// The slot of a process that has gone with its node is free when the node comes again, also while its job runs (spec
/// E45).
#[test]
fn a_node_that_comes_again_has_all_its_slots() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n2", "n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(outcome(&dvm, 2), &ResizeOutcome::Done);
    ask_grow(&mut dvm, 3, &["n3"]);
    let in_use = |dvm: &Cluster| -> Vec<u32> {
        let head = dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head");
        head.nodes().iter().map(|node| node.slots_inuse).collect()
    };
    assert_eq!(in_use(&dvm), [0, 0, 1, 0]);
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!((in_use(&dvm), dvm.code_of(1)), (vec![0; 4], 0));
}

/// A second shrink of a node waits for the part, and finds it done (spec E48, E5).
#[test]
fn a_second_shrink_of_a_node_ends_with_the_part_that_it_leaves_with() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n2", "n3"]));
    ask_shrink(&mut dvm, 2, &["n2", "n3"]);
    ask_shrink(&mut dvm, 3, &["n3"]);
    ask_shrink(&mut dvm, 4, &["n2", "n3"]);
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(outcome(&dvm, 3), &ResizeOutcome::Done);
    assert!(unanswered(&dvm, 2) && unanswered(&dvm, 4));
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!((outcome(&dvm, 2), outcome(&dvm, 4)), (&ResizeOutcome::Done, &ResizeOutcome::Done));
    assert_eq!(dvm.offered, ["n3", "n2"], "each is offered once");
}

/// A node that has left stays away, whatever becomes of the rest (spec E49).
#[test]
fn after_a_part_has_left_the_rest_may_be_lost_and_is_not_taken_back() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n2", "n3"]));
    ask_named_shrink(&mut dvm, 2, &["n2", "n3"]);
    dvm.exit_proc(1, ExitStatus::Exited(0));
    let cancel = CancelRequest { alloc_id: None, req_id: Some("r2".into()) };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Cancel(cancel))));
    assert_eq!(refused_with(&dvm, 3), PMIX_ERR_INVALID_OPERATION, "it has begun");
    dvm.crash(2);
    assert_eq!((outcome(&dvm, 2), dvm.offered.join(",")), (&ResizeOutcome::Done, "n3,n2".to_owned()));
    assert_eq!(common::resize(&dvm, 2).nodes, ["n2", "n3"]);
}

/// The end of the DVM answers the requester once (spec E49, E6).
#[test]
fn the_end_of_the_dvm_ends_a_part_and_its_whole() {
    let mut dvm = dvm(4);
    dvm.submit(1, with_grace(30, &["n2", "n3"]));
    ask_shrink(&mut dvm, 2, &["n2", "n3"]);
    dvm.is_manager_slow = true;
    dvm.exit_proc(1, ExitStatus::Exited(0));
    dvm.ask(3, Request::Terminate);
    dvm.answer_offers();
    assert_eq!(dvm.replies.iter().filter(|(request, _)| request.0 == 2).count(), 1);
    assert!(matches!(outcome(&dvm, 2), ResizeOutcome::Failed { .. }));
}
