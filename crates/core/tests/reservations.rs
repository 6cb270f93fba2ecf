//! Reservations of nodes that are there already, and the session that has the nodes afterwards.

mod common;

use common::{Cluster, elastic_dvm, job};
use ferrite_core::{DaemonInput, Input};
use ferrite_types::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NO_PERMISSIONS};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, SessionStatus, Submission};
use ferrite_wire::{
    AddedHost, GrowRequest, Resize, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange,
};

fn reserved() -> SessionTerms {
    SessionTerms { reserve: true, ..SessionTerms::default() }
}

fn limited(seconds: u32) -> SessionTerms {
    SessionTerms { time_limit_s: Some(seconds), ..SessionTerms::default() }
}

fn request(names: &[&str], terms: SessionTerms) -> GrowRequest {
    let host = |name: &&str| AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    GrowRequest { hosts: names.iter().map(host).collect(), wait: true, terms, ..GrowRequest::default() }
}

fn resized(dvm: &Cluster, id: u64) -> Resize {
    match dvm.reply(id) {
        Reply::Resize(resize) => (**resize).clone(),
        other => panic!("{other:?}"),
    }
}

fn grow(dvm: &mut Cluster, id: u64, request: GrowRequest) -> ResizeOutcome {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    resized(dvm, id).outcome
}

fn release(dvm: &mut Cluster, id: u64, alloc_id: &str, names: &[&str]) -> ResizeOutcome {
    let nodes = names.iter().map(|name| (*name).to_owned()).collect();
    let shrink = ShrinkRequest { alloc_id: Some(alloc_id.into()), nodes, wait: true, ..ShrinkRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    resized(dvm, id).outcome
}

fn sessions(dvm: &mut Cluster, id: u64) -> Vec<SessionStatus> {
    dvm.ask(id, Request::Sessions);
    match dvm.reply(id) {
        Reply::Sessions(sessions) => sessions.clone(),
        other => panic!("{other:?}"),
    }
}

fn end(dvm: &mut Cluster, id: u64, session: u32) {
    let (session, directive) = (SessionChoice::Id(SessionId(session)), SessionDirective::Terminate);
    dvm.ask(id, Request::Session { session, directive });
    assert!(matches!(dvm.reply(id), Reply::Ordered));
}

fn up(dvm: &mut Cluster, id: u64) -> Vec<String> {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    nodes.iter().filter(|node| node.state == "up").map(|node| node.name.clone()).collect()
}

fn within(spec: JobSpec, session: u32) -> Submission {
    Submission { session: SessionChoice::Id(SessionId(session)), ..Submission::of(spec) }
}

fn places(dvm: &Cluster, job: u32) -> Vec<u32> {
    let mut places: Vec<u32> =
        dvm.running.iter().filter(|(proc, _)| proc.job == JobId(job)).map(|(_, (at, _))| at.0).collect();
    places.sort_unstable();
    places
}

#[test]
fn a_release_of_an_allocation_takes_what_it_has_brought_and_gives_the_rest_back() {
    let mut dvm = elastic_dvm(2);
    dvm.submit(1, Submission::of(job("a.out", 4)));
    assert_eq!(grow(&mut dvm, 2, request(&["n1", "m0"], reserved())), ResizeOutcome::Done);
    assert_eq!(release(&mut dvm, 3, "a1", &[]), ResizeOutcome::Done);
    assert_eq!(up(&mut dvm, 4), ["n0", "n1"], "n1 was there before");
    assert_eq!(places(&dvm, 1), [0, 0, 1, 1], "the job there goes on");
    assert!(sessions(&mut dvm, 5).is_empty());
    dvm.submit(6, Submission::of(job("a.out", 2)));
    assert_eq!(places(&dvm, 2), [0, 1], "the node is everybody's again");
}

/// Nodes that were lent go back (spec S16).
#[test]
fn a_release_of_nodes_that_were_there_before_gives_them_back_at_once_the_heads_own_too() {
    let mut dvm = elastic_dvm(2);
    assert_eq!(grow(&mut dvm, 1, request(&["n0", "n1"], reserved())), ResizeOutcome::Unchanged);
    assert_eq!(release(&mut dvm, 2, "a1", &["n1"]), ResizeOutcome::Unchanged);
    assert_eq!(sessions(&mut dvm, 3)[0].nodes, ["n0"]);
    assert_eq!(release(&mut dvm, 4, "a1", &[]), ResizeOutcome::Unchanged);
    assert!(sessions(&mut dvm, 5).is_empty());
    assert_eq!(up(&mut dvm, 6), ["n0", "n1"]);
    dvm.submit(7, Submission::of(job("a.out", 2)));
    assert_eq!(places(&dvm, 1), [0, 1]);
}

#[test]
fn a_release_counts_what_is_still_to_be_lent_to_the_allocation() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request(&["n1", "m0"], reserved())))));
    let shrink = ShrinkRequest { alloc_id: Some("a1".into()), wait: true, ..ShrinkRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    dvm.come(2);
    assert_eq!((resized(&dvm, 1).outcome, resized(&dvm, 2).outcome), (ResizeOutcome::Done, ResizeOutcome::Done));
    assert_eq!((up(&mut dvm, 3), sessions(&mut dvm, 4).len()), (vec!["n0".to_owned(), "n1".to_owned()], 0));
}

#[test]
fn a_reservation_gives_a_node_back_to_the_session_that_brought_it_with_which_it_leaves() {
    let mut dvm = elastic_dvm(1);
    assert_eq!(grow(&mut dvm, 1, request(&["m0"], limited(6))), ResizeOutcome::Done);
    let borrowed = SessionTerms { reserve: true, ..limited(2) };
    assert_eq!(grow(&mut dvm, 2, request(&["m0"], borrowed)), ResizeOutcome::Unchanged);
    dvm.submit(3, within(job("lender", 1), 1));
    assert_eq!(dvm.code_of(3), 1, "it is withheld for the other one");
    dvm.submit(4, within(job("borrower", 1), 2));
    assert_eq!(places(&dvm, 2), [1]);
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Session(SessionId(2))));
    assert_eq!((up(&mut dvm, 5), dvm.code_of(4)), (vec!["n0".to_owned(), "m0".to_owned()], 1));
    dvm.submit(6, within(job("lender", 1), 1));
    assert_eq!(places(&dvm, 3), [1], "it is the lender's again");
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Session(SessionId(1))));
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Session(SessionId(1))));
    assert_eq!((up(&mut dvm, 7), sessions(&mut dvm, 8).len()), (vec!["n0".to_owned()], 0));
}

/// A lent node leaves with the session that has brought it (spec S17).
#[test]
fn a_node_leaves_with_the_session_that_brought_it_whoever_has_borrowed_it() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, request(&["m0", "m1"], SessionTerms::default()));
    grow(&mut dvm, 2, request(&["m0"], reserved()));
    dvm.submit(3, within(job("borrower", 1), 2));
    end(&mut dvm, 4, 1);
    dvm.fire(1, ferrite_core::Timer::Daemon(ferrite_core::DaemonTimer::Grace));
    assert_eq!((up(&mut dvm, 5), sessions(&mut dvm, 6).len()), (vec!["n0".to_owned()], 0));
    assert!(places(&dvm, 1).is_empty());
}

#[test]
fn a_node_that_is_borrowed_counts_for_the_allocation_that_brought_it() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, request(&["m0"], SessionTerms::default()));
    grow(&mut dvm, 2, request(&["m0"], reserved()));
    assert_eq!(release(&mut dvm, 3, "a2", &[]), ResizeOutcome::Unchanged);
    assert_eq!(
        sessions(&mut dvm, 4).iter().map(|s| (s.session, s.nodes.len())).collect::<Vec<_>>(),
        [(SessionId(1), 1)]
    );
    assert_eq!(release(&mut dvm, 5, "a1", &[]), ResizeOutcome::Done);
    assert_eq!(up(&mut dvm, 6), ["n0"]);
}

#[test]
fn a_session_whose_nodes_are_lent_to_another_may_be_reserved_and_gets_them_when_they_are_back() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, request(&["m0"], SessionTerms::default()));
    grow(&mut dvm, 2, request(&["m0"], reserved()));
    let more = GrowRequest { alloc_id: Some("a1".into()), ..request(&["m1"], reserved()) };
    assert_eq!(grow(&mut dvm, 3, more), ResizeOutcome::Done);
    dvm.submit(4, within(job("borrower", 4), 2));
    dvm.submit(5, within(job("lender", 4), 1));
    assert_eq!((places(&dvm, 1), places(&dvm, 2)), (vec![1; 4], vec![2; 4]));
    end(&mut dvm, 6, 2);
    dvm.submit(7, within(job("lender", 4), 1));
    assert_eq!(places(&dvm, 3), [1; 4]);
    dvm.submit(8, Submission::of(job("outside", 5)));
    assert_eq!(dvm.code_of(8), 1, "both are the lender's alone");
}

#[test]
fn a_reservation_of_a_node_that_leaves_before_it_comes_again_waits_for_both_and_holds() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("x".to_owned());
    grow(&mut dvm, 1, request(&["m0"], SessionTerms::default()));
    // The release waits behind a grow that is slow, and another grow of the node behind that.
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(request(&["x"], SessionTerms::default())))));
    let nodes = vec!["m0".to_owned(), "x".to_owned()];
    let shrink = ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], SessionTerms::default())))));
    dvm.ask(5, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], reserved())))));
    assert!(!dvm.replies.iter().any(|(id, _)| id.0 == 5), "it is not true yet");
    let third = GrowRequest { wait: false, ..request(&["m0"], reserved()) };
    assert!(
        matches!(grow(&mut dvm, 6, third), ResizeOutcome::Refused { status: PMIX_ERR_NO_PERMISSIONS, .. }),
        "it is as good as his"
    );
    dvm.come(2);
    assert_eq!((resized(&dvm, 4).outcome, resized(&dvm, 5).outcome), (ResizeOutcome::Done, ResizeOutcome::Done));
    dvm.submit(7, Submission::of(job("outside", 5)));
    assert_eq!(dvm.code_of(7), 1, "the node is withheld");
    let holder = resized(&dvm, 5).session.unwrap();
    dvm.submit(8, within(job("inside", 4), holder.0));
    assert_eq!(places(&dvm, 2).len(), 4);
}

#[test]
fn who_has_a_node_reserved_that_is_to_leave_keeps_nobody_from_it() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("x".to_owned());
    grow(&mut dvm, 1, request(&["m0"], reserved()));
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(request(&["x"], SessionTerms::default())))));
    let nodes = vec!["m0".to_owned(), "x".to_owned()];
    let shrink = ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], SessionTerms::default())))));
    dvm.ask(5, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], reserved())))));
    dvm.come(2);
    assert_eq!(resized(&dvm, 5).outcome, ResizeOutcome::Done);
    let of = sessions(&mut dvm, 6).into_iter().filter(|s| s.reserved && s.nodes == ["m0"]).map(|s| s.alloc_id);
    assert_eq!(of.collect::<Vec<_>>(), [resized(&dvm, 5).alloc_id.expect("it is done")]);
}

fn seconds_left(dvm: &mut Cluster, id: u64) -> Option<u64> {
    sessions(dvm, id)[0].seconds_left
}

#[test]
fn nodes_and_time_for_an_allocation_lengthen_its_limit() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, request(&["m0"], limited(3600)));
    let more = |name: &str| GrowRequest { alloc_id: Some("a1".into()), ..request(&[name], limited(5)) };
    assert_eq!(grow(&mut dvm, 2, more("m1")), ResizeOutcome::Done);
    assert_eq!(seconds_left(&mut dvm, 3), Some(3605));
    assert_eq!(grow(&mut dvm, 4, more("m1")), ResizeOutcome::Unchanged);
    assert_eq!(seconds_left(&mut dvm, 5), Some(3610), "its nodes are there already, the time is new");
    dvm.bad_nodes.insert("m2".to_owned(), "no route".to_owned());
    assert!(matches!(grow(&mut dvm, 6, more("m2")), ResizeOutcome::Failed { .. }));
    assert_eq!(seconds_left(&mut dvm, 7), Some(3610));
}

/// Only a limit can be lengthened (spec S21).
#[test]
fn an_allocation_without_a_limit_has_none_that_could_be_lengthened() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, request(&["m0"], SessionTerms::default()));
    let more = GrowRequest { alloc_id: Some("a1".into()), ..request(&["m1"], limited(5)) };
    let refused = grow(&mut dvm, 2, more);
    let ResizeOutcome::Refused { status: PMIX_ERR_BAD_PARAM, cause } = refused else { panic!("{refused:?}") };
    assert!(cause.contains("a1 has no time limit"), "{cause}");
    assert_eq!(up(&mut dvm, 3), ["n0", "m0"]);
}

#[test]
fn a_limit_that_is_still_coming_can_be_lengthened() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("m0".to_owned());
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], limited(60))))));
    let more = GrowRequest { alloc_id: Some("a1".into()), ..request(&["m1"], limited(5)) };
    assert_eq!(grow(&mut dvm, 2, more), ResizeOutcome::Done);
    dvm.come(1);
    assert_eq!(seconds_left(&mut dvm, 3), Some(65));
}

/// A session without nodes and jobs is over (spec S24).
#[test]
fn a_session_whose_nodes_are_all_lost_is_over_with_its_children_and_keeps_nobody_from_them() {
    let mut dvm = elastic_dvm(3);
    assert_eq!(grow(&mut dvm, 1, request(&["n1", "n2"], reserved())), ResizeOutcome::Unchanged);
    dvm.submit(2, within(job("owner", 2), 1));
    let call = |name: &str| {
        let request = ResizeRequest::Grow(GrowRequest { wait: false, ..request(&[name], reserved()) });
        let (proc, token) = (common::proc(0), ferrite_core::PmixToken(5));
        Input::Daemon(DaemonInput::Pmix(ferrite_core::PmixCall::Resize { proc, request, token }))
    };
    dvm.input(DaemonRank(1), call("m0"));
    dvm.run();
    assert_eq!(sessions(&mut dvm, 3)[1].parent, Some(SessionId(1)));
    dvm.crash(1);
    assert_eq!(sessions(&mut dvm, 4)[0].nodes, ["n1", "n2"], "one of them is left");
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Deaths));
    dvm.crash(2);
    assert_eq!((sessions(&mut dvm, 5).len(), up(&mut dvm, 6)), (0, vec!["n0".to_owned()]));
    assert_eq!(
        grow(&mut dvm, 7, GrowRequest { count: 2, ..request(&[], SessionTerms::default()) }),
        ResizeOutcome::Done
    );
    dvm.submit(8, Submission::of(job("everywhere", 12)));
    assert_eq!(places(&dvm, 2).len(), 12);
}
