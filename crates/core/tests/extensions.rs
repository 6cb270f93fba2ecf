//! A DVM in a job of Slurm that asks for more nodes: what waits for the manager, what becomes of what it grants, and
//! that all of it goes back. The manager is this file; the simulator plays one that is slower and worse.

mod common;

use common::{Cluster, job, resize};
use ferrite_core::{DaemonInput, HeadInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, RequestId, Timer};
use ferrite_rm::{GiveBack, Manager, Share, Source, Wish};
use ferrite_types::SessionId;
use ferrite_types::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_CANCELED, PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_NOT_FOUND,
    PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_UNREACH,
};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, Submission};
use ferrite_wire::{
    AddedHost, CancelRequest, GrowRequest, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange,
};

/// A DVM on all nodes of Slurm job 7, two slots each.
fn dvm(nodes: u32) -> Cluster {
    let mut dvm = Cluster::of(Cluster::config_in_slurm(nodes));
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn more(count: u32) -> GrowRequest {
    GrowRequest { count, wait: true, ..GrowRequest::default() }
}

fn ask_grow(dvm: &mut Cluster, id: u64, request: GrowRequest) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn ask_shrink(dvm: &mut Cluster, id: u64, names: &[&str]) {
    let nodes = names.iter().map(|name| (*name).to_owned()).collect();
    let request = ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
}

fn grant(dvm: &mut Cluster, extension: u32, job: &str, names: &[&str]) {
    let host = |name: &&str| HostEntry { slots: SlotCount::Given(4), ..HostEntry::named(name) };
    let nodes = names.iter().map(host).collect();
    let granted =
        Input::Head(HeadInput::NodesGranted { extension: ExtensionId(extension), job: job.to_owned(), nodes });
    dvm.input(DaemonRank::HEAD, granted);
    dvm.run();
}

/// A DVM that has been granted nodes as job 8.
fn grown(names: &[&str]) -> Cluster {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, more(names.len() as u32));
    grant(&mut dvm, 1, "8", names);
    assert_eq!(resize(&dvm, 1).outcome, ResizeOutcome::Done);
    dvm
}

fn failed(dvm: &Cluster, id: u64) -> (PmixStatus, &str) {
    match &resize(dvm, id).outcome {
        ResizeOutcome::Failed { status, cause } => (*status, cause),
        other => panic!("it has not failed: {other:?}"),
    }
}

fn refused(dvm: &Cluster, id: u64) -> (PmixStatus, &str) {
    match &resize(dvm, id).outcome {
        ResizeOutcome::Refused { status, cause } => (*status, cause),
        other => panic!("it was not refused: {other:?}"),
    }
}

fn unanswered(dvm: &Cluster, id: u64) -> bool {
    dvm.replies.iter().all(|(request, _)| *request != RequestId(id))
}

fn waits_for(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Status);
    let Reply::Status(status) = dvm.reply(id) else { panic!("a status") };
    status.waiting_for.clone()
}

fn states(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    nodes.iter().map(|node| format!("{} {}", node.name, node.state)).collect::<Vec<_>>().join(", ")
}

fn part(job: &str, leave: &[&str], stay: &[&str]) -> GiveBack {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    let share = Share::Part { leave: names(leave), stay: names(stay) };
    GiveBack { manager: Manager::Slurm, job: job.to_owned(), share }
}

fn whole(job: &str) -> GiveBack {
    GiveBack { manager: Manager::Slurm, job: job.to_owned(), share: Share::Whole }
}

// --- asking

/// A request for nodes holds no job (spec E39).
#[test]
fn a_request_waits_for_the_manager_without_holding_a_job_and_becomes_a_grow_when_it_is_granted() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, more(2));
    let [(extension, ask)] = &dvm.asked_for[..] else { panic!("{:?}", dvm.asked_for) };
    assert_eq!(
        (*extension, &ask.wish, ask.slots, ask.parent.as_str()),
        (ExtensionId(1), &Wish::Nodes(2), Some(2), "7")
    );
    assert_eq!((ask.name.as_str(), &ask.has[..]), ("prterun-n0-1.of.7", &["n0".to_owned(), "n1".to_owned()][..]));
    assert!(unanswered(&dvm, 1) && dvm.transitions.iter().all(|step| !step.starts_with("grow")));
    let awaited = Input::Head(HeadInput::NodesAwaited { extension: ExtensionId(1), says: "job 8 queued".to_owned() });
    dvm.input(DaemonRank::HEAD, awaited);
    dvm.run();
    assert_eq!(waits_for(&mut dvm, 2), "grow of a1: Slurm to grant 2 more nodes, for 0 s now (job 8 queued)");
    dvm.submit(3, Submission::of(job("a.out", 2)));
    assert_eq!(dvm.running.len(), 2, "jobs go on");
    grant(&mut dvm, 1, "8", &["n5", "n6"]);
    assert_eq!(
        (&resize(&dvm, 1).outcome, &resize(&dvm, 1).nodes[..]),
        (&ResizeOutcome::Done, &["n5".into(), "n6".into()][..])
    );
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n5 up, n6 up");
    assert_eq!(
        dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").nodes()[2].slots,
        4,
        "as many as were granted"
    );
    assert_eq!(waits_for(&mut dvm, 5), "");
}

#[test]
fn the_pool_comes_first_and_what_a_request_counts_on_is_given_to_nobody_else() {
    let mut dvm = dvm(3);
    dvm.unwanted_by_manager.insert("n2".to_owned());
    ask_shrink(&mut dvm, 1, &["n2"]);
    ask_grow(&mut dvm, 2, GrowRequest { wait: false, ..more(2) });
    let requested = ResizeOutcome::Requested { what: "1 more node of Slurm".to_owned() };
    assert_eq!((&resize(&dvm, 2).outcome, &resize(&dvm, 2).nodes[..]), (&requested, &["n2".to_owned()][..]));
    ask_grow(&mut dvm, 3, more(1));
    assert_eq!(dvm.asked_for.len(), 2, "n2 is promised: {:?}", dvm.asked_for);
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n2 down", "and comes with the others");
    grant(&mut dvm, 1, "8", &["n5"]);
    assert_eq!(states(&mut dvm, 5), "n0 up, n1 up, n2 up, n5 up");
    let [(RequestId(2), end)] = &dvm.resized[..] else { panic!("{:?}", dvm.resized) };
    assert_eq!((&end.outcome, end.alloc_id.as_deref()), (&ResizeOutcome::Done, resize(&dvm, 2).alloc_id.as_deref()));
}

#[test]
fn a_refusal_is_told_once_in_the_managers_own_words() {
    let mut dvm = dvm(1);
    ask_grow(&mut dvm, 1, more(1));
    ask_grow(&mut dvm, 2, GrowRequest { wait: false, ..more(1) });
    for extension in [1, 2, 2] {
        let cause = "Invalid qos specification".to_owned();
        dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::NodesRefused { extension: ExtensionId(extension), cause }));
        dvm.run();
    }
    assert_eq!(
        failed(&dvm, 1),
        (PMIX_ERR_OUT_OF_RESOURCE, "Slurm does not grant 1 more node: Invalid qos specification.")
    );
    assert_eq!(dvm.resized.len(), 1);
    assert_eq!(waits_for(&mut dvm, 3), "");
    dvm.ask(4, Request::Sessions);
    assert!(matches!(dvm.reply(4), Reply::Sessions(all) if all.is_empty()), "their sessions are no more");
}

#[test]
fn a_session_is_there_from_the_request_on_and_its_time_begins_with_its_nodes() {
    let mut dvm = dvm(1);
    let terms = SessionTerms { reserve: true, time_limit_s: Some(60), ..SessionTerms::default() };
    ask_grow(&mut dvm, 1, GrowRequest { terms, wait: false, ..more(1) });
    assert_eq!((resize(&dvm, 1).alloc_id.as_deref(), resize(&dvm, 1).session), (Some("a1"), Some(SessionId(1))));
    assert_eq!(dvm.asked_for[0].1.time_limit_s, Some(60));
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, Timer::Head(HeadTimer::Session(SessionId(1))))));
    grant(&mut dvm, 1, "8", &["n5"]);
    assert!(dvm.timers.contains(&(DaemonRank::HEAD, Timer::Head(HeadTimer::Session(SessionId(1))))));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(states(&mut dvm, 2), "n0 up, n5 up", "its time has not come");
}

#[test]
fn nobody_but_a_manager_that_can_is_asked_and_a_job_does_not_wait_for_it() {
    let mut other = Cluster::config(1, &[], true);
    other.allocation.source = Source::Managed { manager: Manager::Pbs, job: "7".to_owned() };
    let mut other = Cluster::of(other);
    other.input(DaemonRank::HEAD, Input::Start);
    other.run();
    ask_grow(&mut other, 1, more(2));
    let cause = "2 more nodes are asked for, and the allocation has 0 without a daemon. Name others with --host.";
    assert_eq!(refused(&other, 1), (PMIX_ERR_OUT_OF_RESOURCE, cause));
    let mut dvm = dvm(1);
    let submission = Submission { grow: Some(Box::new(more(1))), ..Submission::of(job("a.out", 1)) };
    dvm.submit(1, submission);
    assert!(dvm.asked_for.is_empty() && matches!(dvm.reply(1), Reply::Refused(_)), "{:?}", dvm.reply(1));
}

#[test]
fn so_many_requests_wait_at_a_time_and_no_more() {
    let mut dvm = dvm(1);
    for id in 1..=64 {
        ask_grow(&mut dvm, id, more(1));
        assert!(unanswered(&dvm, id));
    }
    ask_grow(&mut dvm, 65, more(1));
    assert_eq!(refused(&dvm, 65).0, PMIX_ERR_OUT_OF_RESOURCE);
}

// --- withdrawing

#[test]
fn whoever_goes_takes_the_request_along_and_nodes_that_come_all_the_same_go_back_at_once() {
    let mut dvm = dvm(1);
    ask_grow(&mut dvm, 1, more(1));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(1))));
    dvm.run();
    assert_eq!((&dvm.withdrawn[..], unanswered(&dvm, 1)), (&[ExtensionId(1)][..], true));
    grant(&mut dvm, 1, "8", &["n5"]);
    assert_eq!((dvm.ended_jobs.concat(), states(&mut dvm, 2)), ("8".to_owned(), "n0 up".to_owned()));
}

#[test]
fn a_request_that_was_answered_at_its_beginning_outlives_its_client() {
    let mut dvm = dvm(1);
    ask_grow(&mut dvm, 1, GrowRequest { wait: false, ..more(1) });
    assert!(matches!(resize(&dvm, 1).outcome, ResizeOutcome::Requested { .. }));
    assert!(dvm.withdrawn.is_empty());
    // A tool that takes events is somebody who waits: its end is an end of the wish.
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(1))));
    dvm.run();
    assert_eq!((&dvm.withdrawn[..], dvm.resized.len()), (&[ExtensionId(1)][..], 0));
}

#[test]
fn the_end_of_a_session_and_a_shrink_of_the_allocation_take_the_request_back() {
    let mut dvm = dvm(1);
    ask_grow(&mut dvm, 1, more(1));
    ask_grow(&mut dvm, 2, more(1));
    let directive = SessionDirective::Terminate;
    dvm.ask(3, Request::Session { session: SessionChoice::Id(SessionId(1)), directive });
    assert_eq!(failed(&dvm, 1), (PMIX_ERR_JOB_CANCELED, "Session 1 was ended by request."));
    let release = ShrinkRequest { alloc_id: Some("a2".into()), wait: true, ..ShrinkRequest::default() };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(release))));
    assert_eq!(failed(&dvm, 2), (PMIX_ERR_JOB_CANCELED, "The request was taken back."));
    assert_eq!((&resize(&dvm, 4).outcome, dvm.withdrawn.len()), (&ResizeOutcome::Unchanged, 2));
}

#[test]
fn a_request_that_waits_for_the_manager_can_be_cancelled_by_its_name() {
    let mut dvm = dvm(1);
    let named = |name: &str| GrowRequest { req_id: Some(name.into()), ..more(1) };
    ask_grow(&mut dvm, 1, named("mine"));
    ask_grow(&mut dvm, 2, named("other"));
    let cancel = |name: &str| {
        let request = CancelRequest { alloc_id: None, req_id: Some(name.into()) };
        Request::Resize(Box::new(ResizeRequest::Cancel(request)))
    };
    dvm.ask(3, cancel("mine"));
    assert_eq!(
        (&resize(&dvm, 3).outcome, resize(&dvm, 3).alloc_id.as_deref()),
        (&ResizeOutcome::Unchanged, Some("a1"))
    );
    assert_eq!(failed(&dvm, 1), (PMIX_ERR_JOB_CANCELED, "The request was cancelled before it had begun."));
    assert_eq!((&dvm.withdrawn[..], unanswered(&dvm, 2)), (&[ExtensionId(1)][..], true));
    dvm.ask(4, cancel("mine"));
    assert_eq!(refused(&dvm, 4).0, PMIX_ERR_NOT_FOUND, "there is none any more");
}

#[test]
fn the_nodes_of_a_job_that_somebody_has_got_for_the_dvm_come_and_go_like_others() {
    let mut dvm = dvm(1);
    let take = |job: &str| GrowRequest { rm_job: Some(job.to_owned()), wait: true, ..GrowRequest::default() };
    ask_grow(&mut dvm, 1, take("8"));
    assert_eq!(dvm.asked_for[0].1.wish, Wish::Job("8".to_owned()));
    assert!(waits_for(&mut dvm, 2).contains("Slurm to grant the nodes of job 8"));
    for (id, job) in [(3, "7"), (4, "8"), (5, "$(id)"), (6, "")] {
        ask_grow(&mut dvm, id, take(job));
        assert_eq!(refused(&dvm, id).0, PMIX_ERR_BAD_PARAM, "{job}");
    }
    ask_grow(&mut dvm, 7, GrowRequest { count: 1, ..take("9") });
    assert_eq!(refused(&dvm, 7).0, PMIX_ERR_BAD_PARAM, "alone");
    grant(&mut dvm, 1, "8", &["n5", "n6"]);
    assert_eq!(
        (resize(&dvm, 1).outcome.clone(), states(&mut dvm, 8)),
        (ResizeOutcome::Done, "n0 up, n5 up, n6 up".to_owned())
    );
    ask_grow(&mut dvm, 9, take("8"));
    assert_eq!(refused(&dvm, 9).0, PMIX_ERR_BAD_PARAM, "it is there");
    // Nodes that are not taken in after all are somebody else's, and stay so.
    ask_grow(&mut dvm, 10, take("9"));
    grant(&mut dvm, 2, "9", &["n5"]);
    assert!(failed(&dvm, 10).1.contains("has node n5"));
    ask_grow(&mut dvm, 11, take("10"));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(11))));
    dvm.run();
    grant(&mut dvm, 3, "10", &["n9"]);
    assert!(dvm.ended_jobs.is_empty(), "{:?}", dvm.ended_jobs);
    let mut other = Cluster::persistent(1);
    ask_grow(&mut other, 1, take("8"));
    assert_eq!(refused(&other, 1).0, PMIX_ERR_NOT_SUPPORTED, "there is no Slurm");
}

#[test]
fn a_process_hears_of_the_end_and_its_jobs_end_withdraws_what_it_has_asked_for() {
    let mut dvm = dvm(1);
    dvm.submit(1, Submission::of(job("a.out", 1)));
    for token in [1, 2] {
        let request = ResizeRequest::Grow(GrowRequest { wait: false, ..more(1) });
        let call = PmixCall::Resize { proc: common::proc(0), request, token: PmixToken(token) };
        dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(call)));
        dvm.run();
    }
    let begun = |effect: &&(DaemonRank, PmixEffect)| matches!(&effect.1, PmixEffect::ReplyResize { resize, .. } if matches!(resize.outcome, ResizeOutcome::Requested { .. }));
    assert_eq!(dvm.pmix.iter().filter(begun).count(), 2);
    grant(&mut dvm, 1, "8", &["n5"]);
    let ended = |effect: &&(DaemonRank, PmixEffect)| matches!(&effect.1, PmixEffect::ResizeEvent { .. });
    assert_eq!((dvm.pmix.iter().filter(ended).count(), dvm.withdrawn.len()), (1, 0));
    dvm.exit_job(1);
    assert_eq!((dvm.code_of(1), &dvm.withdrawn[..]), (0, &[ExtensionId(2)][..]));
    assert_eq!(states(&mut dvm, 2), "n0 up, n5 up", "what has come stays");
}

// --- giving back

/// Nodes that were granted on top go back once (spec E40).
#[test]
fn a_part_of_what_was_granted_goes_back_as_a_part_and_the_last_of_it_as_a_whole() {
    let mut dvm = grown(&["n5", "n6", "n7"]);
    ask_shrink(&mut dvm, 2, &["n6"]);
    assert_eq!(dvm.given_back, [part("8", &["n6"], &["n5", "n7"])]);
    // Slurm without a database changes a job once.
    dvm.unwanted_by_manager.insert("n5".to_owned());
    ask_shrink(&mut dvm, 3, &["n5"]);
    assert_eq!(dvm.given_back[1], part("8", &["n5"], &["n7"]));
    assert!(dvm.notices.concat().contains("n5 cannot go back"), "{:?}", dvm.notices);
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n5 down, n7 up", "it is still there to be used");
    ask_shrink(&mut dvm, 5, &["n7", "n1"]);
    assert_eq!(dvm.given_back[2..], [part("7", &["n1"], &["n0"]), whole("8")]);
    assert_eq!(states(&mut dvm, 6), "n0 up", "n5 has gone with its job");
    ask_grow(
        &mut dvm,
        7,
        GrowRequest { hosts: vec![AddedHost { host: HostEntry::named("n1"), slots: SlotChange::Unstated }], ..more(0) },
    );
    assert_eq!(refused(&dvm, 7).0, PMIX_ERR_NOT_SUPPORTED, "what has gone back is not ours any more");
    assert!(dvm.ended_jobs.is_empty());
}

/// Nodes of a shrink that leave one after the other go back as parts, and the last of them with the whole job (spec
/// E40, E48).
#[test]
fn nodes_that_leave_one_after_the_other_go_back_to_the_manager_as_they_leave() {
    let mut dvm = grown(&["n5", "n6", "n7"]);
    let mut submission = Submission::of(job("a.out", 2));
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(30), signal: None });
    submission.spec.apps[0].hosts.hosts = ["n5", "n6"]
        .map(|name| HostRef::Host(HostEntry { slots: SlotCount::Given(1), ..HostEntry::named(name) }))
        .into();
    dvm.submit(2, submission);
    ask_shrink(&mut dvm, 3, &["n5", "n6", "n7"]);
    assert_eq!(dvm.given_back, [part("8", &["n7"], &["n5", "n6"])]);
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(dvm.given_back[1..], [part("8", &["n6"], &["n5"])]);
    assert!(unanswered(&dvm, 3) && dvm.ended_jobs.is_empty());
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!(dvm.given_back[2..], [whole("8")]);
    assert_eq!((&resize(&dvm, 3).outcome, dvm.ended_jobs.len()), (&ResizeOutcome::Done, 0), "once is enough");
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up");
}

#[test]
fn a_node_that_was_given_back_comes_again_with_another_job() {
    let mut dvm = grown(&["n5"]);
    ask_shrink(&mut dvm, 2, &["n5", "n1"]);
    ask_grow(&mut dvm, 3, more(2));
    assert_eq!(dvm.asked_for[1].1.has, ["n0"]);
    grant(&mut dvm, 2, "9", &["n1", "n5"]);
    assert_eq!(resize(&dvm, 3).outcome, ResizeOutcome::Done);
    ask_shrink(&mut dvm, 4, &["n1"]);
    ask_shrink(&mut dvm, 5, &["n5"]);
    let back = [part("7", &["n1"], &["n0"]), whole("8"), part("9", &["n1"], &["n5"]), whole("9")];
    assert_eq!(dvm.given_back, back);
}

/// Nodes that were granted on top go back once (spec E40).
#[test]
fn a_grow_that_fails_gives_back_what_was_granted_for_it() {
    let mut dvm = dvm(2);
    dvm.bad_nodes.insert("n6".to_owned(), "no route".to_owned());
    ask_grow(&mut dvm, 1, more(2));
    grant(&mut dvm, 1, "8", &["n5", "n6"]);
    assert_eq!(failed(&dvm, 1).0, PMIX_ERR_JOB_FAILED_TO_LAUNCH);
    assert_eq!((dvm.ended_jobs.concat(), states(&mut dvm, 2)), ("8".to_owned(), "n0 up, n1 up".to_owned()));
    assert!(dvm.given_back.is_empty(), "once is enough");
    dvm.bad_nodes.clear();
    ask_grow(&mut dvm, 3, more(2));
    grant(&mut dvm, 2, "9", &["n6", "n5"]);
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n5 up, n6 up");
}

#[test]
fn a_job_all_of_whose_daemons_are_lost_is_given_back_and_one_with_a_living_one_is_not() {
    let mut dvm = grown(&["n5", "n6"]);
    dvm.crash(2);
    assert_eq!((dvm.ended_jobs.len(), states(&mut dvm, 2)), (0, "n0 up, n1 up, n5 lost, n6 up".to_owned()));
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    dvm.crash(3);
    assert_eq!((dvm.ended_jobs.concat(), states(&mut dvm, 3)), ("8".to_owned(), "n0 up, n1 up".to_owned()));
}

#[test]
fn nodes_that_the_dvm_has_already_are_not_what_was_asked_for() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, more(1));
    grant(&mut dvm, 1, "8", &["n1"]);
    let (status, cause) = failed(&dvm, 1);
    assert!(status == PMIX_ERR_OUT_OF_RESOURCE && cause.contains("n1"), "{cause}");
    assert_eq!(dvm.ended_jobs, ["8"]);
}

/// A request waits for the manager, and counts on a node that has lost its daemon (spec E40).
#[test]
fn a_job_stays_granted_while_a_request_counts_on_a_node_of_it() {
    let waiting = || {
        let mut dvm = grown(&["n5", "n6"]);
        dvm.crash(3);
        dvm.fire(0, Timer::Head(HeadTimer::Deaths));
        ask_grow(&mut dvm, 2, more(2));
        assert_eq!(dvm.asked_for[1].1.wish, Wish::Nodes(1));
        ask_shrink(&mut dvm, 3, &["n5"]);
        assert_eq!((&dvm.given_back[..], dvm.ended_jobs.len()), (&[part("8", &["n5"], &["n6"])][..], 0));
        dvm
    };
    let mut dvm = waiting();
    grant(&mut dvm, 2, "9", &["n7"]);
    assert_eq!((&resize(&dvm, 2).outcome, dvm.ended_jobs.len()), (&ResizeOutcome::Done, 0));
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n6 up, n7 up");
    let mut dvm = waiting();
    let cause = "not for you".to_owned();
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::NodesRefused { extension: ExtensionId(2), cause }));
    dvm.run();
    assert_eq!((failed(&dvm, 2).0, dvm.ended_jobs.concat()), (PMIX_ERR_OUT_OF_RESOURCE, "8".to_owned()));
}

/// The manager shares the nodes, or has ended the job that they came with: what runs there goes on, and nothing is
/// started there again (spec E40).
#[test]
fn a_node_that_is_granted_twice_is_given_up_with_its_daemon() {
    let mut dvm = grown(&["n5", "n6", "n8"]);
    ask_grow(&mut dvm, 2, more(3));
    grant(&mut dvm, 2, "9", &["n5", "n6", "n7"]);
    assert!(failed(&dvm, 2).1.contains("n5"));
    assert_eq!(
        (dvm.ended_jobs.concat(), states(&mut dvm, 3)),
        ("9".into(), "n0 up, n1 up, n5 up, n6 up, n8 up".into())
    );
    dvm.crash(2);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    ask_grow(&mut dvm, 4, more(1));
    assert_eq!(dvm.asked_for[2].1.wish, Wish::Nodes(1), "n5 is not chosen");
    assert_eq!(dvm.asked_for[2].1.has, ["n0", "n1", "n6", "n8"]);
    ask_shrink(&mut dvm, 5, &["n6"]);
    assert_eq!((dvm.given_back.len(), dvm.ended_jobs.len()), (0, 1), "job 8 has only n8 for certain");
    ask_shrink(&mut dvm, 6, &["n8"]);
    assert_eq!(dvm.given_back, [whole("8")]);
}

#[test]
fn at_the_end_of_the_dvm_nothing_stays_asked_for_and_nothing_granted() {
    let mut dvm = grown(&["n5"]);
    ask_grow(&mut dvm, 2, more(3));
    assert!(dvm.ended_jobs.is_empty());
    dvm.ask(3, Request::Terminate);
    assert_eq!(failed(&dvm, 2), (PMIX_ERR_UNREACH, "The DVM is ending."));
    assert_eq!((&dvm.withdrawn[..], dvm.ended_jobs.concat()), (&[ExtensionId(2)][..], "8".to_owned()));
    dvm.assert_gone();
}
