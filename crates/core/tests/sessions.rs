//! Sessions: nodes that belong together, and the jobs that run there (docs/spec/sessions.md).

mod common;

use bytes::Bytes;
use common::{Cluster, elastic_dvm, job};
use ferrite_core::{DaemonInput, HeadInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_FOUND};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, SessionOrder, SessionStatus, Submission};
use ferrite_wire::{
    AddedHost, EventInfo, EventRange, EventSource, ExtendRequest, GrowRequest, Inheritance, PmixEvent, Resize,
    ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange, ToolName,
};

fn request(names: &[&str], terms: SessionTerms) -> GrowRequest {
    let host = |name: &&str| AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    GrowRequest { hosts: names.iter().map(host).collect(), wait: true, terms, ..GrowRequest::default() }
}

fn reserve(dvm: &mut Cluster, id: u64, names: &[&str], terms: SessionTerms) -> Resize {
    let grow = request(names, SessionTerms { reserve: true, ..terms });
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(grow))));
    match dvm.reply(id) {
        Reply::Resize(resize) => (**resize).clone(),
        other => panic!("{other:?}"),
    }
}

fn control(dvm: &mut Cluster, id: u64, session: SessionChoice, directive: SessionDirective) -> Reply {
    dvm.ask(id, Request::Session { session, directive });
    dvm.reply(id).clone()
}

fn sessions(dvm: &mut Cluster, id: u64) -> Vec<SessionStatus> {
    dvm.ask(id, Request::Sessions);
    match dvm.reply(id) {
        Reply::Sessions(sessions) => sessions.clone(),
        other => panic!("{other:?}"),
    }
}

fn up(dvm: &mut Cluster, id: u64) -> Vec<String> {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    nodes.iter().filter(|node| node.state == "up").map(|node| node.name.clone()).collect()
}

fn within(spec: JobSpec, session: SessionChoice) -> Submission {
    Submission { session, ..Submission::of(spec) }
}

fn places(dvm: &Cluster, job: u32) -> Vec<u32> {
    let mut places: Vec<u32> =
        dvm.running.iter().filter(|(proc, _)| proc.job == JobId(job)).map(|(_, (at, _))| at.0).collect();
    places.sort_unstable();
    places
}

/// Reserved nodes are for the jobs of their session (spec S7).
#[test]
fn reserved_nodes_are_for_the_jobs_of_their_session_and_no_other() {
    let mut dvm = elastic_dvm(2);
    let resize = reserve(&mut dvm, 1, &["m0", "m1"], SessionTerms::default());
    assert_eq!((resize.alloc_id.as_deref(), &resize.outcome), (Some("a1"), &ResizeOutcome::Done));
    dvm.submit(2, Submission::of(job("outside", 4)));
    assert_eq!(places(&dvm, 1), [0, 0, 1, 1]);
    dvm.submit(3, within(job("inside", 4), SessionChoice::Alloc("a1".into())));
    assert_eq!(places(&dvm, 2), [2, 2, 3, 3]);
    let mut there = job("there", 1);
    there.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("m0"))];
    dvm.submit(4, Submission::of(there));
    assert_eq!(dvm.code_of(4), 1, "it names a node that it may not use");
}

/// Daemons are told the session of a job (spec S35).
#[test]
fn daemons_are_told_the_session_of_a_job() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    dvm.submit(2, Submission::of(job("outside", 1)));
    dvm.submit(3, within(job("inside", 1), SessionChoice::Alloc("a1".into())));
    let told = |(_, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Register(registration) => Some((registration.order.job.0, registration.order.session)),
        _ => None,
    };
    assert_eq!(dvm.pmix.iter().filter_map(told).collect::<Vec<_>>(), [(1, SessionId::DVM), (2, SessionId(1))]);
}

/// Jobs of another session do not hear of it, and tools are in the session of the DVM (spec L142).
#[test]
fn an_event_for_a_session_reaches_its_jobs_and_no_others() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["m0", "m1"], SessionTerms::default());
    dvm.submit(2, Submission::of(job("outside", 4)));
    for request in [3, 4] {
        dvm.submit(request, within(job("inside", 2), SessionChoice::Alloc("a1".into())));
    }
    // Jobs 2 and 3 have a process each on m0 and m1, which are daemons 2 and 3.
    let raise = |dvm: &mut Cluster, at: u32, source: EventSource| {
        dvm.pmix.clear();
        let info = EventInfo::Raised(Bytes::new());
        let event = Box::new(PmixEvent { code: PmixStatus(-3001), source, info });
        let call = PmixCall::Event { event, range: EventRange::Session };
        dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
        dvm.run();
        let heard = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
            PmixEffect::Event { to, range, .. } => {
                Some((at.0, to.iter().map(|proc| proc.job.0).collect::<Vec<_>>(), range.includes_tool("t", 0)))
            }
            _ => None,
        };
        let mut all: Vec<_> = dvm.pmix.iter().filter_map(heard).collect();
        all.sort_unstable();
        all
    };
    let proc = |job, rank| EventSource::Proc(ProcId { job: JobId(job), rank: Rank(rank) });
    let inside = raise(&mut dvm, 2, proc(2, 0));
    assert_eq!(inside, [(3, vec![2, 3], false)], "the library of its own node tells there");
    let outside = raise(&mut dvm, 0, proc(1, 0));
    assert!(outside.contains(&(1, vec![1, 1], true)) && outside.contains(&(2, vec![], true)), "{outside:?}");
    let tool = ToolName { nspace: "t".to_owned(), rank: Some(0) };
    assert_eq!(raise(&mut dvm, 0, EventSource::Tool(tool)), outside);
}

/// A request opens a session (spec S1, S3).
#[test]
fn a_session_is_found_by_its_number_its_allocation_or_its_requesters_name_and_else_refused() {
    let mut dvm = elastic_dvm(1);
    let grow = GrowRequest {
        req_id: Some("mine".into()),
        ..request(&["m0"], SessionTerms { reserve: true, ..SessionTerms::default() })
    };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(grow))));
    for (id, choice) in [
        (2, SessionChoice::Id(SessionId(1))),
        (3, SessionChoice::Alloc("a1".into())),
        (4, SessionChoice::Ref("mine".into())),
    ] {
        dvm.submit(id, within(job("inside", 1), choice));
        assert_eq!(places(&dvm, id as u32 - 1), [1]);
    }
    dvm.submit(5, within(job("own", 1), SessionChoice::Id(SessionId(0))));
    assert_eq!(places(&dvm, 4), [0]);
    dvm.submit(6, within(job("nowhere", 1), SessionChoice::Id(SessionId(7))));
    assert!(matches!(dvm.reply(6), Reply::Refused(_)));
    let all = sessions(&mut dvm, 7);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].nodes.as_slice(), all[0].jobs.len(), all[0].reserved), (&["m0".to_owned()][..], 3, true));
}

/// Nodes that are reserved for one cannot be had by another (spec S8).
#[test]
fn what_is_reserved_for_one_cannot_be_had_by_another() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["n1"], SessionTerms::default());
    let refused = reserve(&mut dvm, 2, &["n1"], SessionTerms::default());
    assert!(matches!(refused.outcome, ResizeOutcome::Refused { status: PMIX_ERR_NO_PERMISSIONS, .. }), "{refused:?}");
    assert_eq!(sessions(&mut dvm, 3).len(), 1);
}

/// Nodes that are reserved for one cannot be had by another (spec S8).
#[test]
fn what_is_on_its_way_to_one_cannot_be_had_by_another() {
    let mut dvm = elastic_dvm(1);
    dvm.submit(1, Submission::of(job("owner", 1)));
    dvm.silent_nodes.insert("m0".to_owned());
    asked_by_a_process(&mut dvm, "m0", SessionTerms::default());
    let refused = reserve(&mut dvm, 2, &["m0"], SessionTerms::default());
    assert!(matches!(refused.outcome, ResizeOutcome::Refused { status: PMIX_ERR_NO_PERMISSIONS, .. }), "{refused:?}");
    dvm.come(1);
    assert_eq!(sessions(&mut dvm, 3)[0].nodes, ["m0"]);
}

/// A paused session launches nothing (spec S27).
#[test]
fn a_paused_session_stops_and_launches_nothing_until_it_is_resumed() {
    let mut dvm = elastic_dvm(1);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    dvm.submit(2, within(job("runs", 1), SessionChoice::Id(SessionId(1))));
    assert!(matches!(control(&mut dvm, 3, SessionChoice::Id(SessionId(1)), SessionDirective::Pause), Reply::Ordered));
    dvm.submit(4, within(job("waits", 1), SessionChoice::Id(SessionId(1))));
    dvm.submit(5, Submission::of(job("elsewhere", 1)));
    assert_eq!((places(&dvm, 2), places(&dvm, 3)), (vec![], vec![0]));
    control(&mut dvm, 6, SessionChoice::Id(SessionId(1)), SessionDirective::Resume);
    assert_eq!(places(&dvm, 2), [1]);
    let signals: Vec<Signal> = dvm.signals.iter().filter(|(proc, _)| proc.job == JobId(1)).map(|(_, s)| *s).collect();
    assert_eq!(signals, [Signal::STOP, Signal::CONT]);
}

/// The end of a session (spec S22).
#[test]
fn the_end_of_a_session_ends_its_jobs_and_gives_its_nodes_back_by_a_campaign() {
    let mut dvm = elastic_dvm(1);
    reserve(&mut dvm, 1, &["m0", "m1"], SessionTerms::default());
    dvm.submit(2, within(job("inside", 2), SessionChoice::Id(SessionId(1))));
    assert!(matches!(
        control(&mut dvm, 3, SessionChoice::Id(SessionId(1)), SessionDirective::Terminate),
        Reply::Ordered
    ));
    assert_eq!(dvm.code_of(2), 1);
    assert_eq!(dvm.offered, ["m0", "m1"]);
    assert!(dvm.transitions.contains(&"shrink 2 DONE".to_owned()), "{:?}", dvm.transitions);
    assert_eq!(up(&mut dvm, 4), ["n0"]);
    assert!(sessions(&mut dvm, 5).is_empty());
    assert!(matches!(
        control(&mut dvm, 6, SessionChoice::Id(SessionId(0)), SessionDirective::Terminate),
        Reply::Refused(_)
    ));
    assert!(matches!(
        control(&mut dvm, 7, SessionChoice::Id(SessionId(1)), SessionDirective::Pause),
        Reply::Refused(_)
    ));
}

/// A session ends with its time (spec S19).
#[test]
fn a_session_with_a_time_limit_warns_and_ends_and_may_be_extended() {
    let mut dvm = elastic_dvm(1);
    let terms = SessionTerms { time_limit_s: Some(3), warn_s: Some(1), ..SessionTerms::default() };
    reserve(&mut dvm, 1, &["m0"], terms);
    dvm.submit(2, within(job("inside", 1), SessionChoice::Id(SessionId(1))));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert!(dvm.notices.iter().any(|text| text.contains("ends in 1 seconds")), "{:?}", dvm.notices);
    control(&mut dvm, 3, SessionChoice::Id(SessionId(1)), SessionDirective::Extend { seconds: 3 });
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(up(&mut dvm, 4), ["n0", "m0"], "not yet");
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(dvm.code_of(2), 1);
    assert_eq!(up(&mut dvm, 5), ["n0"]);
}

/// Events about the end of its session that a process or a tool has heard.
fn warnings(dvm: &Cluster) -> Vec<(SessionId, u32)> {
    let event = |(_, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::TimeWarning { proc, warning } => {
            assert_eq!((*proc, &*warning.alloc_id), (common::proc(0), "a1"));
            assert_eq!(warning.nodes, ["m0"]);
            Some((warning.session, warning.seconds_left))
        }
        _ => None,
    };
    dvm.pmix.iter().filter_map(event).collect()
}

/// A warning is given once for each end (spec S20).
#[test]
fn the_process_that_asked_for_a_warning_gets_it_once_for_each_end_and_nobody_else_does() {
    let mut dvm = elastic_dvm(1);
    dvm.submit(1, Submission::of(job("owner", 2)));
    let terms = SessionTerms { time_limit_s: Some(5), warn_s: Some(3), ..SessionTerms::default() };
    asked_by_a_process(&mut dvm, "m0", terms);
    let (before, _) = (sessions(&mut dvm, 2), assert_eq!(warnings(&dvm), []));
    assert_eq!((before[0].warns_s, before[0].warned), (Some(3), false));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(warnings(&dvm), [(SessionId(1), 3)], "two seconds have passed");
    assert!(sessions(&mut dvm, 3)[0].warned);
    control(&mut dvm, 4, SessionChoice::Id(SessionId(1)), SessionDirective::Extend { seconds: 4 });
    assert!(!sessions(&mut dvm, 5)[0].warned, "that end is not near");
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(warnings(&dvm), [(SessionId(1), 3), (SessionId(1), 3)]);
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(up(&mut dvm, 6), ["n0"], "it has ended");
    assert_eq!(warnings(&dvm).len(), 2);
    assert_eq!(dvm.warned, [], "no client has asked");
}

#[test]
fn a_tool_is_warned_by_its_request_and_a_warning_that_is_due_at_once_comes_at_once() {
    let mut dvm = elastic_dvm(1);
    let terms = SessionTerms { time_limit_s: Some(4), warn_s: Some(60), ..SessionTerms::default() };
    let grow = GrowRequest { wait: false, req_id: Some("mine".into()), ..request(&["m0"], terms) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(grow))));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    let [(request, warning)] = &dvm.warned[..] else { panic!("{:?}", dvm.warned) };
    assert_eq!((request.0, warning.req_id.as_deref(), warning.seconds_left), (1, Some("mine"), 2));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(ferrite_core::RequestId(1))));
    dvm.run();
    control(&mut dvm, 2, SessionChoice::Id(SessionId(1)), SessionDirective::Extend { seconds: 60 });
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert_eq!(dvm.warned.len(), 1, "it is gone");
}

fn extend(alloc_id: Option<&str>) -> ResizeRequest {
    ResizeRequest::Extend(ExtendRequest { alloc_id: alloc_id.map(Into::into), req_id: None, seconds: 60 })
}

/// Only a limit can be lengthened (spec S21).
#[test]
fn more_time_is_had_by_id_by_name_or_for_the_own_session_and_only_where_there_is_a_limit() {
    let mut dvm = elastic_dvm(1);
    let terms = SessionTerms { time_limit_s: Some(30), ..SessionTerms::default() };
    let timed = GrowRequest { req_id: Some("mine".into()), ..request(&["m0"], terms) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(timed))));
    reserve(&mut dvm, 2, &["m1"], SessionTerms::default());
    dvm.submit(3, within(job("inside", 1), SessionChoice::Id(SessionId(1))));
    dvm.submit(4, within(job("inside", 1), SessionChoice::Id(SessionId(2))));
    dvm.submit(5, Submission::of(job("outside", 1)));
    let mut ask = |proc: u32, named: Option<&str>| {
        let proc = ProcId { job: JobId(proc), rank: Rank(0) };
        let at = dvm.running[&proc].0;
        dvm.input(
            at,
            Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc, request: extend(named), token: PmixToken(5) })),
        );
        dvm.run();
        let (outcome, session) = match dvm.pmix.pop() {
            Some((_, PmixEffect::ReplyResize { resize, .. })) => (resize.outcome, resize.session),
            other => panic!("no answer, or not the last thing: {other:?}"),
        };
        (session, if let ResizeOutcome::Refused { status, .. } = outcome { Some(status) } else { None })
    };
    assert_eq!(ask(1, Some("a1")), (Some(SessionId(1)), None));
    assert_eq!(ask(3, Some("mine")), (Some(SessionId(1)), None));
    assert_eq!(ask(1, None), (Some(SessionId(1)), None));
    assert_eq!(ask(2, None), (None, Some(PMIX_ERR_BAD_PARAM)), "it has no limit");
    assert_eq!(ask(3, None), (None, Some(PMIX_ERR_BAD_PARAM)), "the DVM's own has none");
    assert_eq!(ask(3, Some("nothing")), (None, Some(PMIX_ERR_NOT_FOUND)));
    dvm.ask(6, Request::Resize(Box::new(extend(Some("a1")))));
    assert!(matches!(dvm.reply(6), Reply::Resize(resize) if resize.outcome == ResizeOutcome::Unchanged));
    let left = sessions(&mut dvm, 7)[0].seconds_left;
    assert!(left.is_some_and(|left| (269..=270).contains(&left)), "four times 60 more than 30: {left:?}");
    assert!(dvm.resized.is_empty(), "nobody hears a second time");
    dvm.ask(8, Request::Resize(Box::new(extend(None))));
    assert!(matches!(&dvm.reply(8), Reply::Resize(resize) if matches!(resize.outcome, ResizeOutcome::Refused { .. })));
}

/// A process of job 1 on n0 asks for a node.
fn asked_by_a_process(dvm: &mut Cluster, name: &str, terms: SessionTerms) {
    let request = GrowRequest { wait: false, ..request(&[name], SessionTerms { reserve: true, ..terms }) };
    let call = PmixCall::Resize { proc: common::proc(0), request: ResizeRequest::Grow(request), token: PmixToken(5) };
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

/// A session ends with its owner as its inheritance says (spec S25).
#[test]
fn a_session_ends_with_its_owner_as_its_inheritance_says() {
    for (inheritance, after) in
        [(Inheritance::Default, &["n0", "m0"][..]), (Inheritance::None, &["n0"]), (Inheritance::Child, &["n0"])]
    {
        let mut dvm = elastic_dvm(1);
        dvm.submit(1, Submission::of(job("owner", 1)));
        asked_by_a_process(&mut dvm, "m0", SessionTerms { inheritance: Some(inheritance), ..SessionTerms::default() });
        assert_eq!(sessions(&mut dvm, 2)[0].owner, Some(JobId(1)));
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), 0);
        assert_eq!(up(&mut dvm, 3), after, "{inheritance:?}");
        assert!(sessions(&mut dvm, 4).iter().all(|session| !session.reserved));
    }
}

/// Children end with their parent (spec S23).
#[test]
fn a_child_session_ends_with_its_parent_unless_it_was_separated() {
    for separate in [false, true] {
        let mut dvm = elastic_dvm(1);
        reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
        dvm.submit(2, within(job("owner", 1), SessionChoice::Id(SessionId(1))));
        let call_at = DaemonRank(1);
        let request =
            GrowRequest { wait: false, ..request(&["m1"], SessionTerms { reserve: true, ..SessionTerms::default() }) };
        let call =
            PmixCall::Resize { proc: common::proc(0), request: ResizeRequest::Grow(request), token: PmixToken(5) };
        dvm.input(call_at, Input::Daemon(DaemonInput::Pmix(call)));
        dvm.run();
        assert_eq!(sessions(&mut dvm, 3)[1].parent, Some(SessionId(1)));
        if separate {
            control(&mut dvm, 4, SessionChoice::Id(SessionId(2)), SessionDirective::Separate);
        }
        control(&mut dvm, 5, SessionChoice::Id(SessionId(1)), SessionDirective::Terminate);
        assert_eq!(up(&mut dvm, 6), if separate { &["n0", "m1"][..] } else { &["n0"] });
    }
}

/// A paused session launches nothing (spec S27).
#[test]
fn a_job_that_was_mapped_before_its_session_was_paused_is_launched_when_it_is_resumed() {
    let params = [("prte_elastic_mode", "1"), ("ferrite_debug_prep_ms", "50")];
    let mut dvm = Cluster::build(1, &params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    dvm.submit(2, within(job("mapped", 1), SessionChoice::Id(SessionId(1))));
    control(&mut dvm, 3, SessionChoice::Id(SessionId(1)), SessionDirective::Pause);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert!(places(&dvm, 1).is_empty());
    control(&mut dvm, 4, SessionChoice::Id(SessionId(1)), SessionDirective::Resume);
    assert_eq!(places(&dvm, 1), [1]);
}

#[test]
fn what_a_later_request_does_not_say_of_a_session_stays_as_it_was() {
    let mut dvm = elastic_dvm(1);
    let terms = SessionTerms { time_limit_s: Some(9), warn_s: Some(7), ..SessionTerms::default() };
    reserve(&mut dvm, 1, &["m0"], terms);
    let more = GrowRequest { alloc_id: Some("a1".into()), ..request(&["m1"], SessionTerms::default()) };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(more))));
    dvm.submit(3, within(job("inside", 2), SessionChoice::Id(SessionId(1))));
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(1))));
    assert!(dvm.notices.iter().any(|text| text.contains("ends in 7 seconds")), "{:?}", dvm.notices);
}

/// The answers to a process or a tool at this daemon, and nothing else; by tokens that are never used twice.
fn order(
    dvm: &mut Cluster,
    at: DaemonRank,
    session: Option<u32>,
    directive: SessionDirective,
) -> Result<(), PmixStatus> {
    let answers = |dvm: &Cluster| -> Vec<(PmixToken, Result<(), PmixStatus>)> {
        let replies = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
            PmixEffect::Reply { token, result } => Some((*token, result.clone().map(drop))),
            _ => None,
        });
        replies.collect()
    };
    let before = answers(dvm).len();
    let token = PmixToken(1000 + before as u64);
    dvm.input(
        at,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Session {
            order: SessionOrder { session: session.map(SessionId), directive, job: None },
            token,
        })),
    );
    dvm.run();
    match answers(dvm).split_off(before).as_slice() {
        [(answered, result)] if *answered == token => *result,
        other => panic!("not one answer: {other:?}"),
    }
}

/// An order is answered once (spec S30).
#[test]
fn an_order_by_pmix_does_what_the_command_does_and_is_answered_once_with_a_status() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    let elsewhere = DaemonRank(1);
    assert_eq!(order(&mut dvm, elsewhere, Some(1), SessionDirective::Pause), Ok(()));
    assert!(sessions(&mut dvm, 2)[0].paused);
    assert_eq!(order(&mut dvm, DaemonRank::HEAD, Some(1), SessionDirective::Resume), Ok(()));
    assert!(!sessions(&mut dvm, 3)[0].paused);
    assert_eq!(order(&mut dvm, elsewhere, Some(7), SessionDirective::Pause), Err(PMIX_ERR_NOT_FOUND), "there is none");
    assert_eq!(
        order(&mut dvm, elsewhere, Some(0), SessionDirective::Terminate),
        Err(PMIX_ERR_NO_PERMISSIONS),
        "that is the DVM's own"
    );
    assert_eq!(
        order(&mut dvm, elsewhere, Some(1), SessionDirective::Extend { seconds: 5 }),
        Err(PMIX_ERR_BAD_PARAM),
        "of no limit"
    );
    assert_eq!(order(&mut dvm, elsewhere, Some(1), SessionDirective::Terminate), Ok(()));
    assert!(sessions(&mut dvm, 4).is_empty());
    assert_eq!(up(&mut dvm, 5), ["n0", "n1"]);
}

/// Session 0 takes no orders (spec S28).
#[test]
fn an_order_for_all_sessions_spares_the_dvms_own_and_says_when_there_are_none() {
    let mut dvm = elastic_dvm(1);
    assert_eq!(order(&mut dvm, DaemonRank::HEAD, None, SessionDirective::Pause), Err(PMIX_ERR_NOT_FOUND));
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    reserve(&mut dvm, 2, &["m1"], SessionTerms { time_limit_s: Some(60), ..SessionTerms::default() });
    assert_eq!(order(&mut dvm, DaemonRank::HEAD, None, SessionDirective::Pause), Ok(()));
    assert!(sessions(&mut dvm, 3).iter().all(|session| session.paused));
    assert_eq!(
        order(&mut dvm, DaemonRank::HEAD, None, SessionDirective::Extend { seconds: 60 }),
        Err(PMIX_ERR_BAD_PARAM)
    );
    assert!(sessions(&mut dvm, 4)[1].seconds_left > Some(60), "one refusal does not keep the others from it");
    assert_eq!(order(&mut dvm, DaemonRank::HEAD, None, SessionDirective::Terminate), Ok(()));
    assert_eq!(up(&mut dvm, 5), ["n0"]);
}

fn resized(dvm: &Cluster, id: u64) -> ResizeOutcome {
    match dvm.reply(id) {
        Reply::Resize(resize) => resize.outcome.clone(),
        other => panic!("{other:?}"),
    }
}

/// The end of a session (spec S22).
#[test]
fn a_session_that_ends_while_its_nodes_are_coming_does_not_get_them() {
    let reserved = SessionTerms { reserve: true, ..SessionTerms::default() };
    for of_process in [false, true] {
        let mut dvm = elastic_dvm(1);
        dvm.submit(1, Submission::of(job("owner", 1)));
        dvm.silent_nodes.insert("m0".to_owned());
        let terms = SessionTerms { inheritance: Some(Inheritance::None), ..reserved.clone() };
        if of_process {
            asked_by_a_process(&mut dvm, "m0", terms);
            dvm.exit_job(1);
        } else {
            dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], terms)))));
            assert!(matches!(
                control(&mut dvm, 3, SessionChoice::Id(SessionId(1)), SessionDirective::Terminate),
                Reply::Ordered
            ));
            let ResizeOutcome::Failed { cause, .. } = resized(&dvm, 2) else { panic!("it has not failed") };
            assert!(cause.contains("Session 1 was ended"), "{cause}");
        }
        assert!(dvm.transitions.contains(&"grow 1 FAILED".to_owned()), "{:?}", dvm.transitions);
        dvm.come(1);
        assert_eq!(up(&mut dvm, 4), ["n0"]);
        assert!(sessions(&mut dvm, 5).is_empty());
    }
}

/// The time of a session begins with its nodes (spec S18).
#[test]
fn the_time_of_a_session_begins_with_its_nodes() {
    let mut dvm = elastic_dvm(1);
    dvm.silent_nodes.insert("m0".to_owned());
    let terms = SessionTerms { time_limit_s: Some(3), ..SessionTerms::default() };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request(&["m0"], terms)))));
    assert_eq!(sessions(&mut dvm, 2)[0].seconds_left, None);
    dvm.come(1);
    assert_eq!(sessions(&mut dvm, 3)[0].seconds_left, Some(3));
}

/// A request of a session is met together with its nodes (spec S10).
#[test]
fn a_grow_that_fails_leaves_nothing_of_what_it_wanted_of_its_session() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    control(&mut dvm, 2, SessionChoice::Id(SessionId(1)), SessionDirective::Separate);
    dvm.silent_nodes.extend(["bad", "worse"].map(str::to_owned));
    let terms = SessionTerms { reserve: true, time_limit_s: Some(3), ..SessionTerms::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Grow(request(&["n1", "bad"], terms.clone())))));
    let more = SessionTerms { time_limit_s: None, ..terms.clone() };
    let more = GrowRequest { alloc_id: Some("a1".into()), ..request(&["n0", "worse"], more) };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Grow(more))));
    let other = reserve(&mut dvm, 5, &["n1"], SessionTerms::default());
    assert!(
        matches!(other.outcome, ResizeOutcome::Refused { status: PMIX_ERR_NO_PERMISSIONS, .. }),
        "it is as good as reserved: {other:?}"
    );
    for campaign in [2, 3] {
        dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(campaign))));
    }
    assert!(matches!(resized(&dvm, 3), ResizeOutcome::Failed { .. }), "{:?}", dvm.replies);
    assert!(matches!(resized(&dvm, 4), ResizeOutcome::Failed { .. }), "{:?}", dvm.replies);
    let all = sessions(&mut dvm, 6);
    assert_eq!(all.iter().map(|s| (s.session, s.seconds_left)).collect::<Vec<_>>(), [(SessionId(1), None)]);
    assert_eq!(all[0].nodes, ["m0"]);
    let wish = GrowRequest { wait: false, ..request(&["n1", "bad"], terms) };
    let make = SessionDirective::Instantiate(Box::new(wish));
    dvm.ask(7, Request::Session { session: SessionChoice::Id(SessionId(77)), directive: make });
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(4))));
    assert!(matches!(dvm.reply(7), Reply::Refused(_)));
    assert_eq!(sessions(&mut dvm, 8).len(), 1);
    dvm.submit(9, Submission::of(job("everywhere", 4)));
    assert_eq!(places(&dvm, 1), [0, 0, 1, 1]);
}

#[test]
fn a_node_that_was_there_before_a_session_stays_when_it_ends() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["n1", "m0"], SessionTerms::default());
    assert_eq!(sessions(&mut dvm, 2)[0].nodes, ["n1", "m0"]);
    control(&mut dvm, 3, SessionChoice::Id(SessionId(1)), SessionDirective::Terminate);
    assert_eq!(up(&mut dvm, 4), ["n0", "n1"]);
    let terms = SessionTerms { time_limit_s: Some(2), ..SessionTerms::default() };
    assert_eq!(reserve(&mut dvm, 5, &["n1"], terms).outcome, ResizeOutcome::Unchanged);
    dvm.fire(0, Timer::Head(HeadTimer::Session(SessionId(2))));
    assert_eq!((up(&mut dvm, 6), sessions(&mut dvm, 7).len()), (vec!["n0".to_owned(), "n1".to_owned()], 0));
}

/// A session without nodes and jobs is over (spec S24).
#[test]
fn a_session_whose_nodes_were_all_released_takes_its_children_along() {
    let mut dvm = elastic_dvm(1);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    dvm.submit(2, within(job("owner", 1), SessionChoice::Id(SessionId(1))));
    let request = request(&["m1"], SessionTerms { reserve: true, ..SessionTerms::default() });
    let request = ResizeRequest::Grow(GrowRequest { wait: false, ..request });
    dvm.input(
        DaemonRank(1),
        Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: common::proc(0), request, token: PmixToken(5) })),
    );
    dvm.run();
    assert_eq!(sessions(&mut dvm, 3)[1].parent, Some(SessionId(1)));
    let release = ShrinkRequest { alloc_id: Some("a1".into()), wait: true, ..ShrinkRequest::default() };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(release))));
    dvm.exit_job(1);
    assert_eq!((up(&mut dvm, 5), sessions(&mut dvm, 6).len()), (vec!["n0".to_owned()], 0), "{:?}", dvm.transitions);
}

/// Nodes that a job of a session brings along are the session's (spec S6).
#[test]
fn what_a_job_of_a_session_brings_along_is_of_that_session() {
    let mut dvm = elastic_dvm(1);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    let mut inside = within(job("inside", 1), SessionChoice::Id(SessionId(1)));
    inside.spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("m1"))];
    inside.grow = Some(Box::new(request(&["m1"], SessionTerms::default())));
    dvm.submit(2, inside);
    assert_eq!(places(&dvm, 1), [2]);
    assert_eq!(sessions(&mut dvm, 3)[0].nodes, ["m0", "m1"]);
}

/// The nodes that a number releases (spec S15).
#[test]
fn a_number_of_nodes_is_never_taken_from_what_is_reserved_for_others() {
    let mut dvm = elastic_dvm(2);
    dvm.submit(1, Submission::of(job("owner", 1)));
    asked_by_a_process(&mut dvm, "m0", SessionTerms::default());
    let release = |count, wait| ResizeRequest::Shrink(ShrinkRequest { count, wait, ..ShrinkRequest::default() });
    dvm.ask(2, Request::Resize(Box::new(release(2, true))));
    assert!(matches!(resized(&dvm, 2), ResizeOutcome::Refused { .. }));
    dvm.ask(3, Request::Resize(Box::new(release(1, true))));
    assert_eq!(up(&mut dvm, 4), ["n0", "m0"]);
    let request = release(1, false);
    dvm.input(
        DaemonRank::HEAD,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: common::proc(0), request, token: PmixToken(6) })),
    );
    dvm.run();
    assert_eq!(up(&mut dvm, 5), ["n0"], "its own");
}

/// A number of nodes is taken from what is free (spec S9).
#[test]
fn a_node_that_leaves_is_for_whoever_asks_next_and_a_lost_one_that_is_reserved_is_not_for_a_number() {
    let mut dvm = elastic_dvm(2);
    reserve(&mut dvm, 1, &["m0"], SessionTerms::default());
    let frozen = dvm.freeze_quietly(2);
    control(&mut dvm, 2, SessionChoice::Id(SessionId(1)), SessionDirective::Terminate);
    let again = request(&["m0"], SessionTerms { reserve: true, ..SessionTerms::default() });
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Grow(again))));
    dvm.kill(frozen);
    assert_eq!(resized(&dvm, 3), ResizeOutcome::Done);
    let both = reserve(&mut dvm, 4, &["n1", "m1"], SessionTerms::default());
    assert_eq!(both.outcome, ResizeOutcome::Done);
    dvm.crash(1);
    let any = GrowRequest { count: 1, ..request(&[], SessionTerms::default()) };
    dvm.ask(5, Request::Resize(Box::new(ResizeRequest::Grow(any))));
    let ResizeOutcome::Refused { cause, .. } = resized(&dvm, 5) else { panic!("{:?}", dvm.reply(5)) };
    assert!(cause.contains("without a daemon"), "{cause}");
}

/// A name that fits several sessions is refused (spec S4).
#[test]
fn a_name_that_fits_several_sessions_names_none() {
    let mut dvm = elastic_dvm(1);
    for (id, node) in [(1, "m0"), (2, "m1")] {
        let named = GrowRequest { req_id: Some("same".into()), ..request(&[node], SessionTerms::default()) };
        dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(named))));
    }
    let same = SessionChoice::Ref("same".into());
    for reply in [control(&mut dvm, 3, same.clone(), SessionDirective::Terminate), {
        dvm.submit(4, within(job("where", 1), same));
        dvm.reply(4).clone()
    }] {
        let Reply::Refused(text) = reply else { panic!("{reply:?}") };
        assert!(text.contains("several"), "{text}");
    }
}
