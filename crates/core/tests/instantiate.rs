//! Sessions that a scheduler makes by a number of its own (`PMIX_SESSION_INSTANTIATE`).

mod common;

use common::{Cluster, elastic_dvm, job};
use ferrite_core::{DaemonInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_EXISTS};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, SessionOrder, SessionStatus, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeRequest, SessionTerms, SlotChange};

fn hosts(names: &[&str]) -> Vec<AddedHost> {
    names.iter().map(|name| AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated }).collect()
}

/// Allocation a1, which is session 1.
fn grow(dvm: &mut Cluster, id: u64, names: &[&str]) {
    let req_id = Some("mine".into());
    let grow = GrowRequest { hosts: hosts(names), req_id, wait: true, ..GrowRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(grow))));
}

fn on(alloc_id: &str, names: &[&str]) -> GrowRequest {
    GrowRequest { alloc_id: Some(alloc_id.into()), hosts: hosts(names), ..GrowRequest::default() }
}

fn order(dvm: &mut Cluster, id: u64, number: u32, directive: SessionDirective) {
    dvm.ask(id, Request::Session { session: SessionChoice::Id(SessionId(number)), directive });
}

fn make(dvm: &mut Cluster, id: u64, number: u32, wish: GrowRequest) -> Option<bool> {
    order(dvm, id, number, SessionDirective::Instantiate(Box::new(wish)));
    let reply = dvm.replies.iter().find(|(request, _)| request.0 == id)?;
    Some(matches!(reply.1, Reply::Ordered))
}

fn session(dvm: &mut Cluster, id: u64, number: u32) -> Option<SessionStatus> {
    dvm.ask(id, Request::Sessions);
    let Reply::Sessions(sessions) = dvm.reply(id) else { panic!("sessions") };
    sessions.iter().find(|session| session.session == SessionId(number)).cloned()
}

fn up(dvm: &mut Cluster, id: u64) -> Vec<String> {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    nodes.iter().filter(|node| node.state == "up").map(|node| node.name.clone()).collect()
}

fn submit(dvm: &mut Cluster, id: u64, np: u32, number: u32) {
    dvm.submit(id, Submission { session: SessionChoice::Id(SessionId(number)), ..Submission::of(job("a.out", np)) });
}

fn places(dvm: &Cluster) -> Vec<u32> {
    let mut places: Vec<u32> = dvm.running.values().map(|(at, _)| at.0).collect();
    places.sort_unstable();
    places
}

/// A session on an allocation shares its nodes (spec S32).
#[test]
fn a_session_on_an_allocation_shares_its_nodes_and_leaves_them_there() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, &["m0", "m1"]);
    assert_eq!(make(&mut dvm, 2, 17, on("a1", &[])), Some(true));
    assert_eq!(make(&mut dvm, 3, 18, on("a1", &["m1"])), Some(true));
    let made = session(&mut dvm, 4, 17).unwrap();
    assert_eq!((&*made.alloc_id, made.nodes.len(), made.parent), ("a1", 2, Some(SessionId(1))));
    submit(&mut dvm, 5, 4, 17);
    submit(&mut dvm, 6, 1, 18);
    assert_eq!(places(&dvm), [1, 1, 2, 2, 2]);
    order(&mut dvm, 7, 17, SessionDirective::Terminate);
    assert_eq!(dvm.code_of(5), 1);
    assert_eq!(places(&dvm), [2], "the job of the other one goes on");
    assert_eq!(up(&mut dvm, 8), ["n0", "m0", "m1"]);
    // With the allocation everything on it ends.
    order(&mut dvm, 9, 1, SessionDirective::Terminate);
    assert_eq!((dvm.code_of(6), up(&mut dvm, 10)), (1, vec!["n0".to_owned()]));
    assert_eq!(session(&mut dvm, 11, 18), None);
}

#[test]
fn a_session_is_made_on_what_its_name_or_the_dvm_says() {
    let mut dvm = elastic_dvm(2);
    grow(&mut dvm, 1, &["m0"]);
    let by_name = GrowRequest { req_id: Some("mine".into()), ..GrowRequest::default() };
    assert_eq!(make(&mut dvm, 2, 5, by_name), Some(true));
    assert_eq!(session(&mut dvm, 3, 5).unwrap().nodes, ["m0"]);
    assert_eq!(make(&mut dvm, 4, 6, on("prterun-n0-1", &["n1"])), Some(true));
    submit(&mut dvm, 5, 2, 6);
    assert_eq!(places(&dvm), [1, 1]);
    order(&mut dvm, 6, 6, SessionDirective::Terminate);
    assert_eq!(up(&mut dvm, 7), ["n0", "n1", "m0"], "the nodes are not its own");
}

/// A session with nodes of its own is answered when they are there (spec S33).
#[test]
fn a_session_with_nodes_of_its_own_is_there_when_its_maker_hears_it() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("m0".to_owned());
    let terms = SessionTerms { reserve: true, ..SessionTerms::default() };
    assert_eq!(make(&mut dvm, 1, 40, GrowRequest { terms, ..on("batch.7", &["m0"]) }), None, "not yet");
    dvm.come(1);
    assert!(matches!(dvm.reply(1), Reply::Ordered));
    let made = session(&mut dvm, 2, 40).unwrap();
    assert_eq!((&*made.alloc_id, made.reserved, made.nodes.len()), ("batch.7", true, 1));
    submit(&mut dvm, 3, 2, 40);
    assert_eq!(places(&dvm), [1, 1]);
    // Later jobs and sessions have numbers and ids that are not taken.
    assert_eq!(make(&mut dvm, 4, 1, on("a2", &["m1"])), Some(true));
    grow(&mut dvm, 5, &["m2"]);
    let later = session(&mut dvm, 6, 3).unwrap();
    assert_eq!((&*later.alloc_id, later.nodes.as_slice()), ("a3", &["m2".to_owned()][..]));
    order(&mut dvm, 7, 40, SessionDirective::Terminate);
    assert_eq!(up(&mut dvm, 8), ["n0", "m1", "m2"]);
}

/// A scheduler makes sessions by number (spec S31).
#[test]
fn what_cannot_be_made_is_refused_and_leaves_nothing() {
    let mut dvm = elastic_dvm(2);
    grow(&mut dvm, 1, &["m0"]);
    let refused = [
        (1, on("a1", &[]), "There is a session 1"),
        (0, on("a1", &[]), "There is a session 0"),
        (u32::MAX, on("a1", &[]), "number of its own"),
        (9, on("a7", &[]), "no allocation a7"),
        (9, on("a1", &["n1"]), "does not belong"),
        (9, GrowRequest::default(), "neither an allocation nor nodes"),
        (9, GrowRequest { count: 1, ..on("a1", &[]) }, "all of its nodes or those"),
    ];
    for (id, (number, wish, why)) in (2..).zip(refused) {
        assert_eq!(make(&mut dvm, id, number, wish), Some(false));
        assert!(matches!(dvm.reply(id), Reply::Refused(cause) if cause.contains(why)), "{:?}", dvm.reply(id));
    }
    dvm.bad_nodes.insert("m9".to_owned(), "no route".to_owned());
    assert_eq!(make(&mut dvm, 20, 9, on("batch.7", &["m9"])), Some(false), "its nodes do not come");
    assert_eq!(session(&mut dvm, 21, 9), None);
    dvm.silent_nodes.insert("m1".to_owned());
    grow(&mut dvm, 22, &["m1"]);
    assert_eq!(make(&mut dvm, 23, 9, on("a2", &[])), Some(false));
    assert!(matches!(dvm.reply(23), Reply::Refused(cause) if cause.contains("not come yet")), "{:?}", dvm.reply(23));
}

#[test]
fn a_process_makes_a_session_with_a_limit_and_is_answered_once() {
    let mut dvm = elastic_dvm(1);
    dvm.submit(1, Submission::of(job("scheduler", 1)));
    let terms = SessionTerms { time_limit_s: Some(2), ..SessionTerms::default() };
    let wish = Box::new(GrowRequest { terms, ..on("batch.7", &["m0"]) });
    for (token, session) in [(5, Some(7)), (6, Some(7)), (7, None)] {
        let session = session.map(SessionId);
        let order = SessionOrder { session, directive: SessionDirective::Instantiate(wish.clone()), job: None };
        dvm.input(
            DaemonRank::HEAD,
            Input::Daemon(DaemonInput::Pmix(PmixCall::Session { order, token: PmixToken(token) })),
        );
        dvm.run();
    }
    let answers = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
        PmixEffect::Reply { token, result } => Some((token.0, result.clone().map(drop))),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), [(5, Ok(())), (6, Err(PMIX_ERR_EXISTS)), (7, Err(PMIX_ERR_BAD_PARAM))]);
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(7))));
    assert_eq!((up(&mut dvm, 2), session(&mut dvm, 3, 7)), (vec!["n0".to_owned()], None));
}

#[test]
fn what_a_job_of_a_shared_session_brings_along_is_for_it_and_stays_with_the_allocation() {
    for (alloc_id, nodes) in [("a1", &["m0", "m1"][..]), ("prterun-n0-1", &["n0", "m1"])] {
        let mut dvm = elastic_dvm(1);
        grow(&mut dvm, 1, &["m0"]);
        assert_eq!(make(&mut dvm, 2, 17, on(alloc_id, &[])), Some(true));
        let mut inside = Submission { session: SessionChoice::Id(SessionId(17)), ..Submission::of(job("a.out", 1)) };
        inside.spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("m1"))];
        inside.grow = Some(Box::new(GrowRequest { hosts: hosts(&["m1"]), ..GrowRequest::default() }));
        dvm.submit(3, inside);
        assert_eq!(places(&dvm), [2], "{alloc_id}");
        assert_eq!(session(&mut dvm, 4, 17).unwrap().nodes, nodes);
        order(&mut dvm, 5, 17, SessionDirective::Terminate);
        assert_eq!(up(&mut dvm, 6), ["n0", "m0", "m1"]);
    }
}

/// A session with a job in it, ordered by a process; token 5.
fn make_with_job(dvm: &mut Cluster, number: u32, wish: GrowRequest, np: u32) {
    let (directive, first) = (SessionDirective::Instantiate(Box::new(wish)), Submission::of(job("first", np)));
    let order = SessionOrder { session: Some(SessionId(number)), directive, job: Some(Box::new(first)) };
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(PmixCall::Session { order, token: PmixToken(5) })));
    dvm.run();
}

#[test]
fn the_job_that_a_session_is_made_with_runs_there_as_soon_as_its_nodes_have_come() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("m0".to_owned());
    make_with_job(&mut dvm, 7, on("batch.7", &["m0"]), 2);
    assert_eq!(dvm.running.len(), 0, "there is no node yet");
    dvm.come(1);
    assert_eq!(places(&dvm), [1, 1]);
    assert_eq!(session(&mut dvm, 1, 7).unwrap().jobs, [JobId(1)]);
    let (_, request) = dvm.running.values().next().unwrap();
    assert_eq!(request.wdir.as_str(), "/", "where the DVM was started, as nobody names another");
    // Later events do not start it again.
    let more = GrowRequest { hosts: hosts(&["m1"]), alloc_id: Some("batch.7".into()), ..GrowRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(more))));
    assert_eq!(places(&dvm), [1, 1]);
    order(&mut dvm, 3, 7, SessionDirective::Terminate);
    assert_eq!(dvm.running.len(), 0, "it ends with the session");
}

#[test]
fn the_job_of_a_session_on_an_allocation_that_is_there_starts_at_once() {
    let mut dvm = elastic_dvm(1);
    grow(&mut dvm, 1, &["m0"]);
    make_with_job(&mut dvm, 17, on("a1", &[]), 4);
    assert_eq!(places(&dvm), [1; 4]);
    make_with_job(&mut dvm, 17, on("a1", &[]), 4);
    assert_eq!(places(&dvm), [1; 4], "a session that is refused starts nothing");
}

#[test]
fn a_session_whose_nodes_do_not_come_starts_nothing() {
    let mut dvm = elastic_dvm(1);
    dvm.bad_nodes.insert("m0".to_owned(), "no route to host".to_owned());
    make_with_job(&mut dvm, 7, on("batch.7", &["m0"]), 2);
    assert!(dvm.running.is_empty() && session(&mut dvm, 1, 7).is_none());
    assert!(!dvm.transitions.iter().any(|line| line.starts_with("1 ")), "{:?}", dvm.transitions);
}
