//! Changes that a scheduler pushes: nodes come and go without a requester (spec E41).

mod common;

use common::{Cluster, job};
use ferrite_core::{PmixEffect, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{CampaignStatus, Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange};

/// A DVM of two nodes in elastic mode, in which tools and processes are told of the end of their changes.
fn dvm() -> Cluster {
    let mut dvm = Cluster::build(2, &[("prte_elastic_mode", "1")], true);
    dvm.input(DaemonRank::HEAD, ferrite_core::Input::Start);
    dvm.run();
    dvm
}

fn grow(host: &str, wait: bool) -> ResizeRequest {
    let hosts = vec![AddedHost { host: HostEntry::named(host), slots: SlotChange::Set(4) }];
    ResizeRequest::Grow(GrowRequest { hosts, wait, ..GrowRequest::default() })
}

fn shrink(host: &str, wait: bool) -> ResizeRequest {
    ResizeRequest::Shrink(ShrinkRequest { nodes: vec![host.to_owned()], wait, ..ShrinkRequest::default() })
}

fn push(dvm: &mut Cluster, id: u64, request: ResizeRequest) {
    dvm.ask(id, Request::Push(Box::new(request)));
}

fn outcome(dvm: &Cluster, id: u64) -> &ResizeOutcome {
    match dvm.reply(id) {
        Reply::Resize(resize) => &resize.outcome,
        other => panic!("no answer to a push: {other:?}"),
    }
}

/// Nobody was told of the end of any change but by a reply.
fn assert_no_event(dvm: &Cluster) {
    assert_eq!(dvm.resized, []);
    assert!(!dvm.pmix.iter().any(|(_, effect)| matches!(effect, PmixEffect::ResizeEvent { .. })));
}

fn sessions(dvm: &mut Cluster, id: u64) -> usize {
    dvm.ask(id, Request::Sessions);
    match dvm.reply(id) {
        Reply::Sessions(sessions) => sessions.len(),
        other => panic!("no sessions: {other:?}"),
    }
}

/// Pushed nodes belong to session 0 (spec E41).
#[test]
fn pushed_nodes_are_for_everybody_and_no_session_owns_them() {
    let mut dvm = dvm();
    let before = sessions(&mut dvm, 1);
    push(&mut dvm, 2, grow("n5", true));
    assert_eq!(outcome(&dvm, 2), &ResizeOutcome::Done);
    assert_eq!(sessions(&mut dvm, 3), before, "it is the DVM's own");
    dvm.submit(4, Submission::of(job("a", 12)));
    assert_eq!(dvm.running.len(), 12, "anybody's job runs there");
    assert_no_event(&dvm);
}

/// A push has no event (spec E41).
#[test]
fn the_end_of_a_push_is_told_to_nobody_but_who_waits_for_it() {
    let mut dvm = dvm();
    push(&mut dvm, 1, grow("n5", false));
    assert_eq!(outcome(&dvm, 1), &ResizeOutcome::Begun);
    push(&mut dvm, 2, shrink("n5", false));
    assert_eq!(outcome(&dvm, 2), &ResizeOutcome::Begun);
    push(&mut dvm, 3, shrink("n1", true));
    assert_eq!(outcome(&dvm, 3), &ResizeOutcome::Done);
    assert_no_event(&dvm);
    // Changes that somebody has asked for are told, as ever.
    dvm.ask(4, Request::Resize(Box::new(grow("n6", false))));
    assert!(dvm.resized.iter().any(|(id, resize)| (*id, &resize.outcome) == (RequestId(4), &ResizeOutcome::Done)));
}

#[test]
fn a_push_that_changes_nothing_or_fails_is_answered_and_no_more() {
    let mut dvm = dvm();
    push(&mut dvm, 1, grow("n1", true));
    assert_eq!(outcome(&dvm, 1), &ResizeOutcome::Unchanged);
    dvm.bad_nodes.insert("n7".to_owned(), "no route to host".to_owned());
    push(&mut dvm, 2, grow("n7", true));
    assert!(matches!(outcome(&dvm, 2), ResizeOutcome::Failed { cause, .. } if cause.contains("no route to host")));
    assert_no_event(&dvm);
}

#[test]
fn what_makes_nodes_somebodys_own_cannot_be_pushed() {
    let mut dvm = dvm();
    let ResizeRequest::Grow(plain) = grow("n5", false) else { unreachable!() };
    let reserve = SessionTerms { reserve: true, ..SessionTerms::default() };
    let limited = SessionTerms { time_limit_s: Some(60), ..SessionTerms::default() };
    let refused = [
        ResizeRequest::Grow(GrowRequest { terms: reserve, ..plain.clone() }),
        ResizeRequest::Grow(GrowRequest { terms: limited, ..plain }),
        ResizeRequest::Grow(GrowRequest { rm_job: Some("7".to_owned()), ..GrowRequest::default() }),
        ResizeRequest::Cancel(ferrite_wire::CancelRequest { alloc_id: Some("a1".into()), req_id: None }),
    ];
    for (id, request) in (1..).zip(refused) {
        push(&mut dvm, id, request);
        assert!(matches!(outcome(&dvm, id), ResizeOutcome::Refused { .. }), "{id}");
    }
}

/// The changes that are under way.
fn under_way(dvm: &mut Cluster, id: u64) -> Vec<CampaignStatus> {
    dvm.ask(id, Request::Status);
    match dvm.reply(id) {
        Reply::Status(status) => status.campaigns.clone(),
        other => panic!("no status: {other:?}"),
    }
}

#[test]
fn status_and_log_tell_a_push_from_a_request_even_when_its_client_is_gone() {
    let mut dvm = dvm();
    dvm.silent_nodes.extend(["n5", "n6"].map(str::to_owned));
    push(&mut dvm, 1, grow("n5", true));
    dvm.ask(2, Request::Resize(Box::new(grow("n6", true))));
    let told = |campaigns: Vec<CampaignStatus>| campaigns.iter().map(|c| c.pushed).collect::<Vec<_>>();
    assert_eq!(told(under_way(&mut dvm, 3)), [true, false]);
    for gone in [1, 2] {
        dvm.input(DaemonRank::HEAD, ferrite_core::Input::Head(ferrite_core::HeadInput::ClientGone(RequestId(gone))));
    }
    dvm.run();
    assert_eq!(told(under_way(&mut dvm, 4)), [true, false]);
    let pushed: Vec<_> = dvm.transitions.iter().filter(|step| step.ends_with("PUSHED")).collect();
    assert_eq!(pushed.len(), 1, "{:?}", dvm.transitions);
    let rank = dvm.late.keys().next().expect("one is on its way").0;
    dvm.come(rank);
    assert_no_event(&dvm);
}

#[test]
fn a_push_and_a_jobs_own_request_do_not_disturb_each_other() {
    let mut dvm = dvm();
    dvm.silent_nodes.insert("n5".to_owned());
    push(&mut dvm, 1, grow("n5", true));
    let ResizeRequest::Grow(own) = grow("n6", false) else { unreachable!() };
    dvm.submit(2, Submission { grow: Some(Box::new(own)), ..Submission::of(job("a", 12)) });
    assert!(dvm.running.is_empty(), "it is held");
    let rank = dvm.late.keys().next().expect("n5 is on its way").0;
    dvm.come(rank);
    assert_eq!(outcome(&dvm, 1), &ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 12);
    dvm.exit_all();
    assert_eq!(dvm.code_of(2), 0);
}
