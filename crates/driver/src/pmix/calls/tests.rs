use ferrite_types::SessionId;

use ferrite_types::pmix_status::{PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT};
use std::sync::mpsc::{Receiver, channel};

use ferrite_pmix::Info;
use ferrite_wire::DataRequest;
use ferrite_wire::control::SessionDirective;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

fn world() -> (Calls, UnboundedReceiver<Input>, Names) {
    let (inbox, inputs) = unbounded_channel();
    let known = Known { job: JobId(1), size: 4 };
    (Calls::new(inbox, "d"), inputs, [("d@1".to_owned(), known)].into())
}
fn completer<T: Send + 'static>() -> (Completer<T>, Receiver<Result<T, Status>>) {
    let (tx, rx) = channel();
    let finish = move |r| drop(tx.send(r));
    (Completer::new(finish), rx)
}
fn fence(procs: &[(&str, u32)]) -> (Upcall, Receiver<Result<Bytes, Status>>) {
    fence_that(false, procs)
}
fn fence_that(collect: bool, procs: &[(&str, u32)]) -> (Upcall, Receiver<Result<Bytes, Status>>) {
    let (reply, answer) = completer();
    let upcall = Upcall::Fence {
        procs: procs.iter().map(|(n, r)| Proc::new(*n, *r)).collect(),
        data: Bytes::from_static(&[1]),
        collect,
        timeout_s: None,
        local_status: Status::SUCCESS,
        reply,
    };
    (upcall, answer)
}
fn ranks_of(input: Input) -> (Vec<u32>, PmixToken) {
    match input {
        Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, token, .. })) => {
            (members.ranks.iter().map(|r| r.0).collect(), token)
        }
        other => panic!("unexpected {other:?}"),
    }
}

#[test]
fn a_fence_is_named_by_its_sorted_participants_and_the_whole_job_by_none() {
    let (mut calls, mut inputs, names) = world();
    for (procs, ranks) in [
        (vec![("d@1", 2), ("d@1", 0)], vec![0, 2]),
        (vec![("d@1", Proc::WILDCARD)], vec![]),
        (vec![("d@1", 3), ("d@1", 2), ("d@1", 1), ("d@1", 0)], vec![]),
    ] {
        calls.receive(fence(&procs).0, &names);
        assert_eq!(ranks_of(inputs.try_recv().unwrap()).0, ranks);
    }
}

#[test]
fn an_abort_ends_the_job_the_caller_or_whom_it_names() {
    let (_, _, mut names) = world();
    names.insert("d@2".to_owned(), Known { job: JobId(2), size: 3 });
    let caller = ProcId { job: JobId(1), rank: Rank(1) };
    let named = |procs: &[(&str, u32)]| {
        let targets: Vec<Proc> = procs.iter().map(|(nspace, rank)| Proc::new(*nspace, *rank)).collect();
        aborted(caller, &targets, &names)
    };
    let others = |all: &[(u32, &[u32])]| {
        let ranks = |ranks: &[u32]| ranks.iter().copied().map(Rank).collect();
        Ok(Targets::Others(all.iter().map(|(job, all)| (JobId(*job), ranks(all))).collect()))
    };
    for own in [&[][..], &[("d@1", Proc::WILDCARD)], &[("d@1", 0), ("d@1", 1), ("d@1", 2), ("d@1", 3)]] {
        assert_eq!(named(own), Ok(Targets::Usual(AbortScope::Job)));
    }
    assert_eq!(named(&[("d@1", 1)]), Ok(Targets::Usual(AbortScope::Caller)));
    assert_eq!(named(&[("d@1", 3), ("d@1", 1)]), others(&[(1, &[1, 3])]));
    assert_eq!(named(&[("d@2", Proc::WILDCARD)]), others(&[(2, &[])]));
    assert_eq!(named(&[("d@2", 1), ("d@1", Proc::WILDCARD)]), others(&[(1, &[]), (2, &[1])]));
    assert_eq!(named(&[("d@7", 0)]), Err(Status::NOT_FOUND));
}

/// The second part is about what libpmix mixes up (spec L141).
#[test]
fn a_fence_of_two_jobs_names_both_in_their_order() {
    let (mut calls, mut inputs, mut names) = world();
    names.insert("d@10".to_owned(), Known { job: JobId(10), size: 2 });
    names.insert("d@2".to_owned(), Known { job: JobId(2), size: 2 });
    let procs = [("d@2", 1), ("d@10", 1), ("d@1", Proc::WILDCARD), ("d@10", 0)];
    calls.receive(fence(&procs).0, &names);
    let Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, .. })) = inputs.try_recv().unwrap() else {
        panic!("a fence")
    };
    let all: Vec<_> = members.jobs().map(|(job, ranks)| (job.0, ranks.len())).collect();
    assert_eq!(all, [(1, 0), (2, 1), (10, 0)]);
    // The library would mix their data up. The others are not to wait for this node.
    calls.receive(fence_that(true, &procs).0, &names);
    let Ok(Input::Daemon(DaemonInput::Pmix(call))) = inputs.try_recv() else { panic!("a call") };
    let PmixCall::GiveUp { kind: CollectiveKind::PmixFence, status, .. } = call else { panic!("{call:?}") };
    assert_eq!(status.0, Status::NOT_SUPPORTED.0);
}

#[test]
fn a_fence_is_answered_once() {
    let (mut calls, mut inputs, names) = world();
    let (upcall, answer) = fence(&[("d@1", Proc::WILDCARD)]);
    calls.receive(upcall, &names);
    let (_, token) = ranks_of(inputs.try_recv().unwrap());
    calls.reply(token, Ok(Bytes::from_static(b"all")));
    calls.reply(token, Err(PMIX_ERR_TIMEOUT));
    calls.fail(None, Status::ERROR);
    assert_eq!(answer.iter().collect::<Vec<_>>(), [Ok(Bytes::from_static(b"all"))]);
}

/// A limit for a group leaves time for the answer (spec L154).
#[test]
fn a_group_is_given_up_well_before_the_librarys_own_timer() {
    for (timeout_s, limit_ms) in [(1, 750), (2, 1_500), (4, 3_000), (60, 59_000)] {
        let (mut calls, mut inputs, names) = world();
        let (reply, _answer) = completer();
        let upcall = Upcall::Group {
            makes: true,
            name: "g".to_owned(),
            procs: vec![Proc::new("d@1", 0), Proc::new("d@1", 1)],
            info: Vec::new(),
            timeout_s: Some(timeout_s),
            local_status: Status::SUCCESS,
            reply,
        };
        calls.receive(upcall, &names);
        inputs.try_recv().expect("the construct");
        let Ok(Input::Daemon(DaemonInput::Pmix(PmixCall::Limit { limit, .. }))) = inputs.try_recv() else {
            panic!("a limit")
        };
        assert_eq!(limit, Duration::from_millis(limit_ms), "{timeout_s} s");
    }
}

#[test]
fn what_waits_when_a_job_goes_gets_an_error() {
    let (mut calls, mut inputs, names) = world();
    let (upcall, answer) = fence(&[("d@1", 0), ("d@1", 1)]);
    calls.receive(upcall, &names);
    assert!(inputs.try_recv().is_ok());
    calls.fail(Some(JobId(2)), Status::NOT_FOUND);
    assert!(answer.try_recv().is_err());
    calls.fail(Some(JobId(1)), Status::NOT_FOUND);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
}

#[test]
fn a_spawn_is_answered_with_the_new_namespace_or_a_status() {
    let (mut calls, mut inputs, names) = world();
    for result in [Ok("d@2".to_owned()), Err(PMIX_ERR_OUT_OF_RESOURCE)] {
        let (reply, answer) = completer();
        let app = ferrite_pmix::App {
            argv: vec!["a.out".to_owned()],
            arg0: None,
            env: Vec::new(),
            cwd: None,
            maxprocs: 2,
            info: Vec::new(),
            required: Vec::new(),
        };
        let proc = Proc::new("d@1", 3);
        calls.receive(Upcall::Spawn { proc, info: Vec::new(), required: Vec::new(), apps: vec![app], reply }, &names);
        let Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc, submission, token })) = inputs.try_recv().unwrap()
        else {
            panic!("a spawn")
        };
        assert_eq!(proc, ProcId { job: JobId(1), rank: Rank(3) });
        assert_eq!(submission.spec.apps[0].submit_dir, "", "that of its parent");
        calls.reply_spawn(token, result.clone());
        assert_eq!(answer.try_recv(), Ok(result.map_err(|status| Status(status.0))));
    }
}

#[test]
fn what_a_process_looks_up_comes_with_its_publishers_name() {
    let (mut calls, mut inputs, names) = world();
    let (reply, published) = completer();
    let info = vec![Info::new(c"k", 7u32)];
    calls.receive(Upcall::Publish { proc: Proc::new("d@1", 0), info, reply }, &names);
    let Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token })) = inputs.try_recv().unwrap() else {
        panic!("a publication")
    };
    let DataRequest::Publish { items, .. } = call.request else { panic!("a publication") };
    calls.reply_data(token, Ok(Vec::new()), |_| String::new());
    assert_eq!(published.try_recv(), Ok(Ok(())));
    let (reply, answer) = completer();
    let keys = vec!["k".to_owned()];
    calls.receive(Upcall::Lookup { proc: Proc::new("d@1", 1), keys, info: Vec::new(), reply }, &names);
    let Input::Daemon(DaemonInput::Pmix(PmixCall::Data { token, .. })) = inputs.try_recv().unwrap() else {
        panic!("a lookup")
    };
    let found = items.into_iter().map(|(key, value)| Found { proc: call.proc, key, value }).collect();
    calls.reply_data(token, Ok(found), |proc| proc.job.nspace("d"));
    let expected = Published { proc: Proc::new("d@1", 0), key: "k".to_owned(), value: 7u32.into() };
    assert_eq!(answer.try_recv(), Ok(Ok(vec![expected])));
}

#[test]
fn a_reserved_key_that_the_library_does_not_have_is_not_waited_for() {
    let (mut calls, mut inputs, names) = world();
    let mut ask = |key: Option<&str>| {
        let (reply, answer) = completer();
        let (proc, required_key) = (Proc::new("d@1", 3), key.map(str::to_owned));
        calls.receive(Upcall::DirectModex { proc, required_key, timeout_s: None, reply }, &names);
        answer.try_recv()
    };
    for key in ["pmix.cpuset", "pmix.locstr", "pmix.rank"] {
        assert_eq!(ask(Some(key)), Ok(Err(Status::NOT_FOUND)), "{key}");
    }
    assert!(inputs.try_recv().is_err(), "nobody is asked");
    for key in [None, Some("btl.tcp"), Some("pmix.arch")] {
        assert!(ask(key).is_err(), "the process may put it yet");
        assert!(matches!(inputs.try_recv(), Ok(Input::Daemon(DaemonInput::Pmix(PmixCall::Modex { .. })))));
    }
}

#[test]
fn strangers_are_refused() {
    let (mut calls, mut inputs, names) = world();
    let (reply, answer) = completer();
    calls.receive(Upcall::ClientConnected { proc: Proc::new("e@1", 0), reply }, &names);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
    let (reply, answer) = completer();
    calls.receive(Upcall::ClientConnected { proc: Proc::new("d@1", 4), reply }, &names);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
    let (upcall, answer) = fence(&[("d@1", 0), ("e@1", 0)]);
    calls.receive(upcall, &names);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
    assert!(inputs.try_recv().is_err());
}

fn allocation(nspace: &str, directive: u32) -> (Upcall, Receiver<Result<Vec<Info>, Status>>) {
    let (reply, answer) = completer();
    let info = vec![Info::new(ferrite_pmix_sys::PMIX_ALLOC_NUM_NODES, 2u64)];
    let (proc, directive) = (Proc::new(nspace, 3), directive as u8);
    (Upcall::Allocate { proc, directive, info, required: Vec::new(), reply }, answer)
}

#[test]
fn a_request_for_another_size_is_passed_on_and_answered_once() {
    let (mut calls, mut inputs, names) = world();
    let (upcall, answer) = allocation("d@1", ferrite_pmix_sys::PMIX_ALLOC_NEW);
    calls.receive(upcall, &names);
    let Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc, token, .. })) = inputs.try_recv().unwrap() else {
        panic!("a resize")
    };
    assert_eq!(proc, ProcId { job: JobId(1), rank: Rank(3) });
    let outcome = ferrite_wire::ResizeOutcome::Begun;
    let resize = Resize { alloc_id: Some("a1".into()), req_id: None, session: None, nodes: Vec::new(), outcome };
    calls.reply_resize(token, &resize);
    calls.reply_resize(token, &resize);
    calls.fail(None, Status::ERROR);
    assert_eq!(answer.iter().collect::<Vec<_>>(), [Ok(vec![Info::new(ferrite_pmix_sys::PMIX_ALLOC_ID, "a1")])]);
}

#[test]
fn a_request_for_another_size_that_is_not_offered_or_not_ours_does_not_reach_the_machine() {
    let (mut calls, mut inputs, names) = world();
    let (upcall, answer) = allocation("d@1", ferrite_pmix_sys::PMIX_ALLOC_EXTERNAL);
    calls.receive(upcall, &names);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_SUPPORTED)));
    let (upcall, answer) = allocation("e@1", ferrite_pmix_sys::PMIX_ALLOC_NEW);
    calls.receive(upcall, &names);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
    assert!(inputs.try_recv().is_err());
    let (upcall, answer) = allocation("d@1", ferrite_pmix_sys::PMIX_ALLOC_NEW);
    calls.receive(upcall, &names);
    calls.fail(Some(JobId(1)), Status::NOT_FOUND);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)), "its job is gone");
}

fn session_order(nspace: &str, directives: &[&std::ffi::CStr]) -> (Upcall, Receiver<Result<Vec<Info>, Status>>) {
    let (reply, answer) = completer();
    let directives = directives.iter().map(|key| Info::new(key, true)).collect();
    let proc = Proc::new(nspace, 3);
    (Upcall::SessionControl { proc, session: 2, directives, required: Vec::new(), reply }, answer)
}

#[test]
fn an_order_for_a_session_is_passed_on_and_answered_once() {
    let (mut calls, mut inputs, names) = world();
    for result in [Ok(Bytes::new()), Err(PMIX_ERR_NOT_FOUND)] {
        let (upcall, answer) = session_order("d@1", &[ferrite_pmix_sys::PMIX_SESSION_PAUSE]);
        calls.receive(upcall, &names);
        let Input::Daemon(DaemonInput::Pmix(PmixCall::Session { order, token })) = inputs.try_recv().unwrap() else {
            panic!("an order")
        };
        assert_eq!(order, SessionOrder { session: Some(SessionId(2)), directive: SessionDirective::Pause, job: None });
        calls.reply(token, result.clone());
        calls.reply(token, result.clone());
        calls.fail(None, Status::ERROR);
        let expected = result.map(|_| Vec::new()).map_err(|status| Status(status.0));
        assert_eq!(answer.iter().collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn an_order_for_a_session_that_is_refused_or_not_ours_does_not_reach_the_machine() {
    let (mut calls, mut inputs, names) = world();
    for (nspace, keys, status) in [
        ("d@1", &[ferrite_pmix_sys::PMIX_SESSION_COMPLETE][..], Status::NOT_SUPPORTED),
        ("d@1", &[], Status::BAD_PARAM),
        ("e@1", &[ferrite_pmix_sys::PMIX_SESSION_PAUSE], Status::NOT_FOUND),
    ] {
        let (upcall, answer) = session_order(nspace, keys);
        calls.receive(upcall, &names);
        assert_eq!(answer.try_recv(), Ok(Err(status)));
    }
    assert!(inputs.try_recv().is_err());
    let (upcall, answer) = session_order("d@1", &[ferrite_pmix_sys::PMIX_SESSION_TERMINATE]);
    calls.receive(upcall, &names);
    calls.fail(Some(JobId(1)), Status::NOT_FOUND);
    assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)), "its job has ended with the session");
}
