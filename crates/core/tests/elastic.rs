//! Changes of the size of a DVM that meet (docs/spec/elastic.md), and what their requesters hear. The simulator
//! stages the rest.

mod common;

use ferrite_types::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_FOUND, PMIX_ERR_TIMEOUT, PMIX_ERR_UNREACH};
use std::collections::BTreeMap;

use common::elastic::*;
use common::{Cluster, dvm_with, job, resize};
use ferrite_core::{
    DaemonInput, DaemonTimer, HeadInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, RequestId, Timer,
};
use ferrite_types::*;
use ferrite_wire::control::{Ending, JobStatus, Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, Resize, ResizeOutcome, ResizeRequest, ShrinkRequest};

/// Nothing is launched on a daemon that leaves (spec G3, E10).
#[test]
fn a_held_job_whose_nodes_leave_is_mapped_again_and_one_whose_nodes_stay_is_not() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    let mut two = job("moves", 2);
    two.apps[0].hosts.hosts = Vec::new();
    dvm.submit(1, Submission::of(two));
    dvm.submit(2, on("stays", &["n2"]));
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 3, &["n1", "n3"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert_eq!(state_of(&mut dvm, 4, 1).0, JobState::WaitingForDaemons);
    assert_eq!(state_of(&mut dvm, 5, 2).0, JobState::WaitingForDaemons);
    assert!(dvm.running.is_empty());
    dvm.kill(frozen);
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1, "the one that stays is launched as mapped");
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    let places: Vec<u32> = dvm.running.values().map(|(at, _)| at.0).collect();
    assert!(places.iter().all(|at| [0, 2].contains(at)), "{places:?}");
    assert_eq!(dvm.running.len(), 3);
}

/// Hosts that are gone do not count in the second map (spec E11).
#[test]
fn a_held_job_that_names_a_node_that_leaves_is_mapped_again_to_the_others_that_it_names() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    for by_file in [false, true] {
        let mut dvm = dvm_with(4, &params);
        let mut moves = on("moves", &["n3", "n1"]);
        if by_file {
            moves.spec.apps[0].hosts.hostfile = std::mem::take(&mut moves.spec.apps[0].hosts.hosts);
            moves.spec.apps[0].hosts.hostfile.push(HostRef::Relative(3, SlotCount::FromCores));
        }
        moves.spec.map.by = Some(MapBy::Node);
        dvm.submit(1, moves);
        dvm.submit(2, on("cannot", &["n3"]));
        ask_shrink(&mut dvm, 3, &["n3"]);
        [1, 2].iter().for_each(|job| dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(*job)))));
        dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
        let places: Vec<u32> = dvm.running.values().map(|(at, _)| at.0).collect();
        assert_eq!(places, [1, 1], "by file: {by_file}");
        assert_eq!(dvm.code_of(2), 1, "it names no other");
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), 0);
    }
}

/// A failed grow ends the jobs that waited for it, and no others (spec E13).
#[test]
fn a_job_that_was_mapped_before_a_grow_began_is_not_aborted_with_it_when_it_has_to_be_mapped_again() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    dvm.submit(1, Submission::of(job("moves", 5)));
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n2", "n3"]);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 3, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.submit(4, on("waits", &["n1"]));
    dvm.kill(frozen);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(state_of(&mut dvm, 5, 1).0, JobState::WaitingForDaemons, "not to be in the way of the grow");
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(2))));
    assert_eq!((failed_with(&dvm, 3), dvm.code_of(4)), (PMIX_ERR_TIMEOUT, 1), "that one has waited for it");
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A job that is mapped again comes first (spec E12).
#[test]
fn a_job_that_has_to_be_mapped_again_waits_for_slots_when_it_must() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(2, &params);
    dvm.submit(1, on("fills", &["n0"; 4]));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.submit(2, Submission::of(job("moves", 1)));
    ask_shrink(&mut dvm, 3, &["n1"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert!(unanswered(&dvm, 2), "it has not failed");
    dvm.exit_job(1);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    dvm.exit_job(2);
    assert_eq!(dvm.code_of(2), 0);
}

/// A map that still holds is launched as it is (spec E10).
#[test]
fn a_held_job_whose_node_is_lost_is_mapped_again_too() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    dvm.submit(1, Submission::of(job("moves", 5)));
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert_eq!(state_of(&mut dvm, 3, 1).0, JobState::WaitingForDaemons);
    dvm.crash(1);
    assert!(unanswered(&dvm, 1), "it has nothing to do with the shrink, and does not end whom that holds");
    dvm.kill(frozen);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A mapped job waits for shrinks only (spec E8).
#[test]
fn a_grow_does_not_hold_a_mapped_job_after_the_shrink_has_ended() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    dvm.submit(1, on("stays", &["n2"]));
    dvm.silent_nodes.insert("m0".to_owned());
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n3"]);
    ask_grow(&mut dvm, 3, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert!(dvm.running.is_empty());
    dvm.submit(4, on("waits", &["n2"]));
    dvm.kill(frozen);
    assert_eq!(dvm.running.len(), 1, "launched although the grow is open");
    assert_eq!(state_of(&mut dvm, 5, 2).0, JobState::WaitingForDaemons);
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(2))));
    assert_eq!(failed_with(&dvm, 3), PMIX_ERR_TIMEOUT);
    assert_eq!(dvm.code_of(4), 1, "it waited for the grow");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// Campaigns about the same node follow one another (spec E5).
#[test]
fn a_release_of_a_node_that_is_still_coming_waits_and_a_grow_of_one_that_is_leaving_too() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    ask_shrink(&mut dvm, 2, &["m0"]);
    ask_grow(&mut dvm, 3, &["m0"]);
    assert!([1, 2, 3].iter().all(|id| unanswered(&dvm, *id)));
    dvm.silent_nodes.clear();
    dvm.come(3);
    assert!([1, 2, 3].iter().all(|id| *outcome(&dvm, *id) == ResizeOutcome::Done), "{:?}", dvm.replies);
    assert_eq!(resize(&dvm, 2).alloc_id, resize(&dvm, 1).alloc_id, "it takes from what was coming");
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n2 up, m0 up");
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 4)]);
}

#[test]
fn a_release_of_a_node_that_is_leaving_is_true_when_it_has_left() {
    let mut dvm = dvm(4);
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 1, &["n3"]);
    ask_shrink(&mut dvm, 2, &["n3"]);
    assert!(unanswered(&dvm, 1) && unanswered(&dvm, 2));
    dvm.kill(frozen);
    assert!([1, 2].iter().all(|id| *outcome(&dvm, *id) == ResizeOutcome::Done), "{:?}", dvm.replies);
    assert_eq!(dvm.offered, ["n3"], "once");
    ask_shrink(&mut dvm, 3, &["n3"]);
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Unchanged);
}

/// A node that has left can come again at once (spec E26).
#[test]
fn what_is_said_of_a_node_that_is_not_there_any_more_or_never_came_counts_the_next_time() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    let login = |user: &str| AddedHost {
        host: HostEntry { user: Some(user.to_owned()), ..HostEntry::named("m0") },
        ..added("m0")
    };
    let as_user = |user: &str| GrowRequest { hosts: vec![login(user)], ..grow(&[]) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(as_user("wrong")))));
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT);
    dvm.silent_nodes.clear();
    for (id, request, expected) in [(2, as_user("right"), "right@m0"), (4, grow(&["m0"]), "m0")] {
        dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
        assert_eq!(*outcome(&dvm, id), ResizeOutcome::Done);
        let command = dvm.launched.last().expect("it was started");
        assert!(command.iter().any(|word| word == expected), "{command:?}");
        ask_shrink(&mut dvm, id + 1, &["m0"]);
    }
}

#[test]
fn a_node_that_was_lost_and_grown_again_belongs_to_the_new_allocation_alone() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.crash(2);
    let release = |id: &str| {
        let request = ShrinkRequest { alloc_id: Some(id.into()), wait: true, ..ShrinkRequest::default() };
        Request::Resize(Box::new(ResizeRequest::Shrink(request)))
    };
    ask_grow(&mut dvm, 2, &["m0"]);
    dvm.ask(3, release("a1"));
    assert_eq!(refused_with(&dvm, 3), PMIX_ERR_NOT_FOUND, "it has nothing any more");
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, m0 up");
    dvm.crash(3);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    assert_eq!(states(&mut dvm, 7), "n0 up, n1 up, m0 lost");
    dvm.ask(5, release("a2"));
    assert_eq!(refused_with(&dvm, 5), PMIX_ERR_NOT_FOUND, "it is over with the last of its nodes");
}

#[test]
fn a_release_that_waited_for_a_grow_that_failed_is_true_all_the_same() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    ask_shrink(&mut dvm, 2, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

/// Every change of size is a campaign (spec E2, S15).
#[test]
fn a_whole_allocation_is_given_back_by_its_id_through_a_campaign_like_any_other() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    let id = resize(&dvm, 1).alloc_id.clone();
    let part = ShrinkRequest { alloc_id: id.clone(), count: 1, wait: true, ..ShrinkRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Shrink(part))));
    assert_eq!(resize(&dvm, 2).nodes, ["m1"], "the latest first");
    let all = ShrinkRequest { alloc_id: id.clone(), wait: true, ..ShrinkRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Shrink(all.clone()))));
    assert_eq!((&resize(&dvm, 3).nodes[..], outcome(&dvm, 3)), (&["m0".to_owned()][..], &ResizeOutcome::Done));
    assert!(dvm.transitions.contains(&"shrink 3 LEAVING".to_owned()), "{:?}", dvm.transitions);
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(all))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_NOT_FOUND, "it is gone with its last node");
    assert_eq!(dvm.offered, ["m1", "m0"]);
}

#[test]
fn an_allocation_is_found_by_the_name_that_its_requester_gave_it_unless_that_fits_several() {
    let mut dvm = dvm(2);
    let mine = |host: &str| GrowRequest { req_id: Some("mine".into()), ..grow(&[host]) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(mine("m0")))));
    let extension = GrowRequest { alloc_id: Some("mine".into()), ..grow(&["m1"]) };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(extension))));
    assert_eq!((outcome(&dvm, 2), &resize(&dvm, 2).alloc_id), (&ResizeOutcome::Done, &resize(&dvm, 1).alloc_id));
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Grow(mine("m2")))));
    let all = |name: &str| ShrinkRequest { alloc_id: Some(name.into()), wait: true, ..ShrinkRequest::default() };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(all("mine")))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_NOT_FOUND, "two are called so");
    let second = resize(&dvm, 3).alloc_id.clone();
    dvm.ask(5, Request::Resize(Box::new(ResizeRequest::Shrink(all(second.as_deref().expect("it is done"))))));
    dvm.ask(6, Request::Resize(Box::new(ResizeRequest::Shrink(all("mine")))));
    assert_eq!((&resize(&dvm, 6).nodes[..], outcome(&dvm, 6)), (&["m0".into(), "m1".into()][..], &ResizeOutcome::Done));
}

#[test]
fn an_allocation_may_be_given_back_by_its_id_before_it_is_there() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(GrowRequest { wait: false, ..grow(&["m0"]) }))));
    let id = resize(&dvm, 1).alloc_id.clone();
    let all = ShrinkRequest { alloc_id: id.clone(), wait: true, ..ShrinkRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Shrink(all.clone()))));
    assert!(unanswered(&dvm, 2));
    dvm.come(2);
    assert_eq!((&resize(&dvm, 2).alloc_id, outcome(&dvm, 2)), (&id, &ResizeOutcome::Done));
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up");
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(all))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_NOT_FOUND);
}

/// The first answer precedes the second (spec E36).
#[test]
fn the_answer_comes_before_the_end_also_when_the_end_comes_at_once() {
    // Nothing was launched yet, so that nobody has noticed.
    let mut dvm = dvm_with(1, &[("prte_elastic_mode", "1"), ("plm", "pigeons")]);
    dvm.submit(1, on("a.out", &["n0"]));
    let request = ResizeRequest::Grow(GrowRequest { wait: false, ..grow(&["m0"]) });
    dvm.input(
        DaemonRank::HEAD,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: common::proc(0), request, token: PmixToken(5) })),
    );
    dvm.run();
    let heard: Vec<&ResizeOutcome> = dvm
        .pmix
        .iter()
        .filter_map(|(_, effect)| match effect {
            PmixEffect::ReplyResize { resize, .. } | PmixEffect::ResizeEvent { resize, .. } => Some(&resize.outcome),
            _ => None,
        })
        .collect();
    assert!(
        matches!(heard[..], [ResizeOutcome::Begun, ResizeOutcome::Failed { status: PMIX_ERR_BAD_PARAM, .. }]),
        "{heard:?}"
    );
}

/// A request is answered twice (spec G8).
#[test]
fn a_process_is_answered_at_once_and_hears_of_the_end_once() {
    let mut dvm = dvm(3);
    dvm.submit(1, on("a.out", &["n2"]));
    dvm.silent_nodes.insert("m0".to_owned());
    let request = GrowRequest { req_id: Some("mine".into()), wait: false, ..grow(&["m0"]) };
    let call = PmixCall::Resize { proc: common::proc(0), request: ResizeRequest::Grow(request), token: PmixToken(5) };
    dvm.input(DaemonRank(2), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let answers = |dvm: &Cluster| -> Vec<(bool, Resize)> {
        let mine = dvm.pmix.iter().filter_map(|(at, effect)| match effect {
            PmixEffect::ReplyResize { token: PmixToken(5), resize } => Some((false, *at, resize)),
            PmixEffect::ResizeEvent { proc, resize } if *proc == common::proc(0) => Some((true, *at, resize)),
            _ => None,
        });
        mine.inspect(|(_, at, _)| assert_eq!(*at, DaemonRank(2))).map(|(event, _, r)| (event, (**r).clone())).collect()
    };
    let first = answers(&dvm);
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].0, &first[0].1.outcome), (false, &ResizeOutcome::Begun));
    dvm.come(3);
    let all = answers(&dvm);
    assert_eq!(all.len(), 2);
    assert_eq!((all[1].0, &all[1].1.outcome), (true, &ResizeOutcome::Done));
    assert_eq!((all[1].1.req_id.as_deref(), &all[1].1.alloc_id), (Some("mine"), &all[0].1.alloc_id));
}

/// A requester that vanishes changes nothing (spec E37).
#[test]
fn a_requester_that_vanishes_changes_nothing_for_its_campaign() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(1))));
    dvm.run();
    dvm.come(2);
    assert!(unanswered(&dvm, 1));
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 up, m0 up");
}

/// Elastic mode is a parameter (spec E1).
#[test]
fn without_elastic_mode_nothing_waits_and_no_event_is_sent() {
    let mut dvm = dvm_with(3, &[("rml_base_radix", "2")]);
    dvm.silent_nodes.insert("m0".to_owned());
    let request = GrowRequest { wait: false, ..grow(&["m0"]) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Begun);
    dvm.submit(2, on("a.out", &["n2"]));
    assert_eq!(dvm.running.len(), 1);
    dvm.come(3);
    assert!(dvm.resized.is_empty());
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up, n2 up, m0 up");
}

/// The end of the DVM ends its campaigns (spec E6).
#[test]
fn the_end_of_the_dvm_leaves_nobody_waiting() {
    let mut dvm = dvm(4);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    dvm.submit(2, Submission::of(job("a.out", 1)));
    dvm.ask(3, Request::Terminate);
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_UNREACH);
    assert_eq!(dvm.code_of(2), 1);
    dvm.assert_gone();
}

#[test]
fn a_job_says_how_it_has_ended() {
    let mut dvm = dvm(4);
    dvm.missing.insert("missing".to_owned());
    let programs: [(&str, &[&str]); 7] = [
        ("done", &["n1"]),
        ("fails", &["n1"]),
        ("missing", &["n1"]),
        ("killed", &["n1"]),
        ("refused", &["elsewhere"]),
        ("left", &["n2"]),
        ("lost", &["n3"]),
    ];
    for (id, (program, nodes)) in (1..).zip(programs) {
        dvm.submit(id, on(program, nodes));
    }
    let first = |job| ProcId { job: JobId(job), rank: Rank(0) };
    dvm.exit(first(1), ExitStatus::Exited(0));
    dvm.exit(first(2), ExitStatus::Exited(3));
    dvm.ask(20, Request::Kill(JobId(4)));
    ask_shrink(&mut dvm, 21, &["n2"]);
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    dvm.crash(3);
    dvm.submit(22, on("runs", &["n1"]));
    dvm.ask(23, Request::Jobs);
    let Reply::Jobs(jobs) = dvm.reply(23) else { panic!("jobs") };
    let named = |job: &JobStatus| (job.name.clone(), job.ending.map_or("", Ending::name));
    let endings: BTreeMap<String, &str> = jobs.iter().map(named).collect();
    let expected = [
        ("done", "done"),
        ("fails", "failed"),
        ("killed", "killed"),
        ("left", "lost ranks"),
        ("lost", "lost ranks"),
        ("missing", "failed"),
        ("refused", "refused"),
        ("runs", ""),
    ];
    assert_eq!(endings, expected.map(|(name, ending)| (name.to_owned(), ending)).into());
}
