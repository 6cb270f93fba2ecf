//! Jobs that go on without a process that failed: who is left alone, who is told, and what the submitter hears.

mod common;

use common::{Cluster, job, proc};
use ferrite_core::{AbortScope, DaemonInput, DaemonTimer, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::PMIX_ERR_LOST_CONNECTION as LOST_CONNECTION;
use ferrite_types::*;

const TREE: &[(&str, &str)] = &[("rml_base_radix", "2")];
fn cluster(count: u32, np: u32, options: RuntimeOptions) -> Cluster {
    Cluster::with_job(count, TREE, JobSpec { options, ..job("a.out", np) })
}

fn recoverable() -> RuntimeOptions {
    RuntimeOptions { recoverable: true, ..RuntimeOptions::default() }
}

fn told() -> RuntimeOptions {
    RuntimeOptions { notify_errors: true, ..recoverable() }
}

fn continuous() -> RuntimeOptions {
    RuntimeOptions { continuous: true, ..RuntimeOptions::default() }
}

/// An announced failure: daemon, rank, state, exit code.
type Event = (u32, u32, ProcState, Option<u8>);

fn events(dvm: &Cluster) -> Vec<Event> {
    let mut all = Vec::new();
    for (at, effect) in &dvm.pmix {
        if let PmixEffect::Notify { job, failed } = effect {
            assert_eq!(*job, JobId(1));
            all.extend(failed.iter().map(|f| (at.0, f.rank.0, f.state, f.code)));
        }
    }
    all.sort_unstable();
    all
}

fn replies(dvm: &Cluster) -> Vec<(u32, PmixToken, Result<(), PmixStatus>)> {
    let reply = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Reply { token, result } => Some((at.0, *token, result.clone().map(drop))),
        _ => None,
    };
    dvm.pmix.iter().filter_map(reply).collect()
}

/// The library counts on a process that it has never heard of (spec L83).
#[test]
fn the_library_hears_of_a_process_that_failed_before_its_init() {
    let mut dvm = cluster(3, 3, recoverable());
    dvm.input(DaemonRank(2), Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(proc(2)))));
    dvm.exit_proc(1, ExitStatus::Exited(7));
    dvm.exit_proc(2, ExitStatus::Exited(7));
    let absent = dvm.pmix.iter().filter_map(|(at, effect)| match effect {
        PmixEffect::Absent(proc) => Some((at.0, *proc)),
        _ => None,
    });
    assert_eq!(absent.collect::<Vec<_>>(), [(1, proc(1))], "the other one was known to the library");
}

/// A job that survives failures ends with the code of the first (spec L33).
#[test]
fn a_recoverable_job_goes_on_and_ends_with_the_code_of_its_first_failure() {
    let mut dvm = cluster(3, 3, recoverable());
    dvm.exit_proc(1, ExitStatus::Exited(7));
    assert_eq!((dvm.running.len(), dvm.replies.len()), (2, 0));
    dvm.exit_proc(2, ExitStatus::Signaled(Signal::KILL));
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 7);
    assert_eq!(dvm.notices.len(), 1, "the first cause, once: {:?}", dvm.notices);
    for part in ["rank 1", "code 7", "left alone (recoverable)"] {
        assert!(dvm.notices[0].contains(part), "{}", dvm.notices[0]);
    }
    assert_eq!(dvm.signals, [], "nobody is ended");
    assert_eq!(events(&dvm), [], "nobody has asked for events");
    let ends = ["1 NON_ZERO_TERM", "1 TERMINATED"];
    assert!(dvm.transitions.windows(2).any(|two| two == ends), "{:?}", dvm.transitions);
    dvm.assert_gone();
}

#[test]
fn the_survivors_of_every_node_are_told_once_of_each_failure() {
    for (options, policy) in [(told(), "recoverable"), (continuous(), "continuous")] {
        let mut dvm = cluster(3, 6, options);
        dvm.exit_proc(4, ExitStatus::Signaled(Signal(11)));
        let of_4: Vec<Event> = (0..3).map(|at| (at, 4, ProcState::AbortedBySig, Some(139))).collect();
        assert_eq!(events(&dvm), of_4);
        assert!(dvm.notices[0].contains(policy), "{}", dvm.notices[0]);
        // Nobody is left on node 1 who could be told of the second one.
        dvm.exit_proc(1, ExitStatus::Exited(3));
        let of_1 = [0, 2].map(|at| (at, 1, ProcState::TermNonZero, Some(3)));
        let all: Vec<Event> = of_4.into_iter().chain(of_1).collect();
        assert!(all.iter().all(|event| events(&dvm).contains(event)) && events(&dvm).len() == all.len());
        dvm.exit_all();
        assert_eq!((dvm.exit_code(), events(&dvm).len()), (139, all.len()));
        dvm.assert_gone();
    }
}

#[test]
fn a_lost_daemon_is_a_failure_of_its_processes_like_any_other() {
    let mut dvm = cluster(4, 8, told());
    dvm.crash(3);
    assert_eq!((dvm.running.len(), dvm.replies.len()), (6, 0));
    let lost = |at, rank| (at, rank, ProcState::CommFailed, None);
    assert_eq!(events(&dvm), [lost(0, 3), lost(0, 7), lost(1, 3), lost(1, 7), lost(2, 3), lost(2, 7)]);
    let orders = dvm.pmix.iter().filter(|(_, effect)| matches!(effect, PmixEffect::Notify { .. })).count();
    assert_eq!(orders, 3, "what became known together travels together");
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices.len() == 1 && dvm.notices[0].contains("n3"), "{:?}", dvm.notices);
    dvm.assert_gone();
}

#[test]
fn what_is_declared_harmless_is_no_failure_and_nobody_is_told() {
    let mut dvm = cluster(2, 4, RuntimeOptions { error_nonzero_status: false, ..told() });
    dvm.exit_proc(0, ExitStatus::Exited(3));
    assert_eq!((events(&dvm), dvm.notices.len()), (vec![], 0));
    dvm.exit_proc(1, ExitStatus::Signaled(Signal(6)));
    assert_eq!(events(&dvm).len(), 2);
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 134);
}

#[test]
fn without_a_policy_nobody_is_told_because_everybody_is_ended() {
    let mut dvm = cluster(2, 4, RuntimeOptions { notify_errors: true, ..RuntimeOptions::default() });
    dvm.exit_proc(0, ExitStatus::Exited(3));
    assert_eq!((events(&dvm), dvm.exit_code()), (vec![], 3));
    dvm.assert_gone();
}

#[test]
fn what_ends_a_job_that_survived_a_failure_decides_its_exit_code() {
    let limit = Some(Duration::from_secs(5));
    let mut dvm = cluster(2, 2, RuntimeOptions { timeout: limit, ..continuous() });
    dvm.exit_proc(0, ExitStatus::Exited(3));
    dvm.fire(0, Timer::Head(HeadTimer::JobTimeout(JobId(1))));
    assert_eq!((dvm.exit_code(), dvm.notices.len()), (124, 2));
    dvm.assert_gone();
}

/// A process that cannot be started ends its job (spec L23).
#[test]
fn a_job_that_cannot_begin_whole_does_not_begin() {
    let mut spec = JobSpec::new(vec![common::app("true", 1), common::app("nosuch", 1)]);
    spec.options = continuous();
    let mut dvm = Cluster::new(2, TREE);
    dvm.missing.insert("nosuch".to_owned());
    dvm.start(spec);
    assert_eq!((dvm.exit_code(), events(&dvm)), (1, vec![]));
    assert!(dvm.notices[0].contains("nosuch"), "{:?}", dvm.notices);
    dvm.assert_gone();
}

#[test]
fn an_abort_of_the_job_ends_it_and_one_of_the_caller_is_a_failure_of_the_caller() {
    let mut dvm = cluster(2, 4, told());
    dvm.abort(3, 42, AbortScope::Job);
    assert_eq!((dvm.exit_code(), events(&dvm)), (42, vec![]));

    let mut dvm = cluster(2, 4, told());
    dvm.abort(3, 42, AbortScope::Caller);
    assert_eq!(dvm.signals, [(proc(3), ferrite_types::Signal::KILL)]);
    assert_eq!(events(&dvm), [0, 1].map(|at| (at, 3, ProcState::CalledAbort, Some(42))));
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 42);
    assert!(dvm.notices[0].contains("called abort for itself with code 42"), "{:?}", dvm.notices);

    // Both are the same in a job that its first failure ends.
    let mut dvm = cluster(2, 4, RuntimeOptions::default());
    dvm.abort(3, 42, AbortScope::Caller);
    assert_eq!(dvm.exit_code(), 42);
    dvm.assert_gone();
}

#[test]
fn nobody_waits_in_a_fence_for_a_process_that_has_failed() {
    let mut dvm = cluster(3, 3, recoverable());
    dvm.fence(0, 100, b"0");
    dvm.fence(2, 102, b"2");
    dvm.exit_proc(1, ExitStatus::Exited(3));
    let lost = Err(LOST_CONNECTION);
    assert_eq!(replies(&dvm), [(0, PmixToken(100), lost), (2, PmixToken(102), lost)]);
    // Neither does who comes later.
    dvm.fence(2, 103, b"2");
    assert_eq!(replies(&dvm).last(), Some(&(2, PmixToken(103), lost)));
    assert_eq!(replies(&dvm).len(), 3, "one reply each");
    dvm.exit_all();
    dvm.assert_gone();
}

#[test]
fn nobody_waits_for_the_data_of_a_process_whose_daemon_is_lost() {
    let mut dvm = cluster(3, 3, recoverable());
    let ask = |dvm: &mut Cluster, token| {
        dvm.input(
            DaemonRank(1),
            Input::Daemon(DaemonInput::Pmix(PmixCall::Modex { proc: proc(2), token: PmixToken(token) })),
        );
        dvm.run();
    };
    // The daemon is lost before its library has answered.
    ask(&mut dvm, 100);
    assert_eq!(replies(&dvm), []);
    dvm.crash(2);
    ask(&mut dvm, 101);
    let lost = Err(LOST_CONNECTION);
    assert_eq!(replies(&dvm), [(1, PmixToken(100), lost), (1, PmixToken(101), lost)]);
}

#[test]
fn nobody_waits_for_data_that_a_process_had_not_put_when_it_ended() {
    for end in [ExitStatus::Exited(3), ExitStatus::Exited(0)] {
        let mut dvm = cluster(3, 3, recoverable());
        let fetches = |dvm: &Cluster| -> Vec<u64> {
            let fetch = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
                PmixEffect::FetchModex { fetch, .. } if at.0 == 2 => Some(*fetch),
                _ => None,
            };
            dvm.pmix.iter().filter_map(fetch).collect()
        };
        let ask = |dvm: &mut Cluster, token| {
            dvm.input(
                DaemonRank(1),
                Input::Daemon(DaemonInput::Pmix(PmixCall::Modex { proc: proc(2), token: PmixToken(token) })),
            );
            dvm.run();
        };
        let found = |dvm: &mut Cluster, fetch| {
            dvm.input(
                DaemonRank(2),
                Input::Daemon(DaemonInput::Pmix(PmixCall::ModexFetched { fetch, result: Ok("data".into()) })),
            );
            dvm.run();
        };
        // One asks before the end, one after it; the library may have read what it sent last only now.
        ask(&mut dvm, 100);
        ask(&mut dvm, 101);
        dvm.exit_proc(2, end);
        ask(&mut dvm, 102);
        ask(&mut dvm, 103);
        let asked = fetches(&dvm);
        assert_eq!((replies(&dvm).len(), asked.len()), (0, 4));
        found(&mut dvm, asked[0]);
        found(&mut dvm, asked[2]);
        asked.iter().for_each(|fetch| dvm.fire(2, Timer::Daemon(DaemonTimer::LastData(*fetch))));
        found(&mut dvm, asked[1]);
        let mut all = replies(&dvm);
        all.sort_by_key(|(_, token, _)| token.0);
        let lost = Err(LOST_CONNECTION);
        let expected = [(100, Ok(())), (101, lost), (102, Ok(())), (103, lost)];
        assert_eq!(all, expected.map(|(token, result)| (1, PmixToken(token), result)), "one reply each");
        dvm.exit_all();
        dvm.assert_gone();
    }
}

#[test]
fn a_fence_of_others_is_not_disturbed() {
    let mut dvm = cluster(3, 3, recoverable());
    dvm.exit_proc(1, ExitStatus::Exited(3));
    for at in [0, 2] {
        dvm.fence_of(at, &[0, 2], 100 + u64::from(at), b"x");
    }
    assert!(replies(&dvm).iter().all(|(_, _, result)| result.is_ok()) && replies(&dvm).len() == 2);
}
