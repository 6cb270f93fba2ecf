//! Failed processes that are started again: how often, which of them, and what waits for them.

mod common;

use common::{Cluster, job, proc};
use ferrite_core::{AbortScope, DaemonInput, HeadInput, Input, PmixCall, PmixEffect, PmixToken, RequestId};
use ferrite_types::pmix_status::PMIX_ERR_PROC_RESTART;
use ferrite_types::*;
use ferrite_wire::Members;

const TREE: &[(&str, &str)] = &[("rml_base_radix", "2")];

fn cluster(nodes: u32, np: u32, options: RuntimeOptions) -> Cluster {
    Cluster::with_job(nodes, TREE, JobSpec { options, ..job("a.out", np) })
}

fn at_most(max_restarts: u32) -> RuntimeOptions {
    RuntimeOptions { max_restarts, ..RuntimeOptions::default() }
}

/// The value of a variable of a running process.
fn variable(dvm: &Cluster, rank: u32, name: &str) -> Option<String> {
    let (_, request) = &dvm.running[&proc(rank)];
    let mut values = request.env.iter().filter_map(|op| match op {
        EnvOp::Set(of, value) if of == name => Some(value.clone()),
        _ => None,
    });
    values.next_back()
}

fn fence(dvm: &mut Cluster, at: u32, token: u64) {
    let members = Members::of(JobId(1), Vec::new());
    let call = PmixCall::Fence { members, data: vec![at as u8].into(), token: PmixToken(token) };
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn replies(dvm: &Cluster) -> Vec<(u32, u64, Result<(), PmixStatus>)> {
    let reply = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Reply { token, result } => Some((at.0, token.0, result.clone().map(drop))),
        _ => None,
    };
    dvm.pmix.iter().filter_map(reply).collect()
}

/// A failed process is started again as often as its job allows, and after that its failure ends the job (spec L81).
#[test]
fn a_failed_process_is_started_again_until_the_limit_and_then_ends_its_job() {
    let mut dvm = cluster(3, 3, at_most(2));
    for count in 1..=2 {
        dvm.exit_proc(1, ExitStatus::Exited(7));
        assert_eq!((dvm.running.len(), dvm.replies.len()), (3, 0));
        for name in ["PMIX_REINCARNATION", "OMPI_MCA_orte_num_restarts"] {
            assert_eq!(variable(&dvm, 1, name), Some(count.to_string()));
            assert_eq!(variable(&dvm, 0, name), None);
        }
        let told = dvm.notices.last().expect("the submitter is told");
        assert!(told.contains("rank 1") && told.contains("code 7"), "{told}");
        assert!(told.contains(&format!("started again on its node ({count} of at most 2 times")), "{told}");
    }
    dvm.exit_proc(1, ExitStatus::Exited(7));
    assert_eq!(dvm.running.len(), 0, "the job is ended");
    assert_eq!(dvm.exit_code(), 7);
    dvm.assert_gone();
}

/// Each process has its own count, and a job whose restarted processes end well is a success (spec L81, L82).
#[test]
fn the_end_of_a_job_waits_for_processes_that_were_started_again() {
    let mut dvm = cluster(2, 4, at_most(1));
    dvm.exit_proc(0, ExitStatus::Signaled(Signal(11)));
    dvm.exit_proc(3, ExitStatus::Exited(1));
    for rank in [1, 2, 3] {
        dvm.exit_proc(rank, ExitStatus::Exited(0));
        assert_eq!(dvm.replies.len(), 0);
    }
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!(dvm.exit_code(), 0);
    dvm.assert_gone();
}

#[test]
fn an_abort_an_order_or_a_start_failure_starts_nothing_again() {
    let mut dvm = cluster(2, 2, at_most(3));
    dvm.abort(1, 9, AbortScope::Job);
    assert_eq!((dvm.running.len(), dvm.exit_code()), (0, 9));
    let mut dvm = cluster(2, 2, at_most(3));
    dvm.unlucky.insert(Rank(1));
    dvm.exit_proc(1, ExitStatus::Exited(4));
    assert_eq!((dvm.running.len(), dvm.exit_code()), (0, 1), "it cannot be started for the second time");
    dvm.assert_gone();
}

/// A process that has called init is not started again, and its failure counts (spec L81).
#[test]
fn a_process_that_has_called_init_is_not_started_again() {
    let mut dvm = cluster(2, 2, at_most(3));
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(proc(1)))));
    dvm.exit_proc(1, ExitStatus::Exited(7));
    assert_eq!((dvm.running.len(), dvm.exit_code()), (0, 7));
    let told = dvm.notices.last().expect("the submitter is told");
    assert!(told.contains("not started again") && told.contains("called init"), "{told}");
    dvm.assert_gone();
}

/// A fence waits for a process that fails before its init and is started again (spec L82).
#[test]
fn a_fence_waits_for_a_process_that_is_started_again() {
    let mut dvm = cluster(3, 3, RuntimeOptions { notify_errors: true, ..at_most(1) });
    fence(&mut dvm, 0, 10);
    fence(&mut dvm, 1, 11);
    dvm.exit_proc(2, ExitStatus::Signaled(Signal::KILL));
    assert_eq!(replies(&dvm), []);
    let told = |code| {
        dvm.pmix.iter().filter(|(_, e)| matches!(e, PmixEffect::Event { event, .. } if event.code == code)).count()
    };
    assert_eq!(told(PMIX_ERR_PROC_RESTART), 3, "each node with processes of the job");
    fence(&mut dvm, 2, 12);
    let mut all = replies(&dvm);
    all.sort_unstable_by_key(|reply| reply.0);
    assert_eq!(all, [(0, 10, Ok(())), (1, 11, Ok(())), (2, 12, Ok(()))]);
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 0);
}

#[test]
fn input_goes_on_after_a_restart_and_its_end_is_told_again() {
    let mut dvm = cluster(1, 1, at_most(1));
    for data in ["one\n", ""] {
        dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Stdin { request: RequestId::OWN, data: data.into() }));
        dvm.run();
    }
    dvm.exit_proc(0, ExitStatus::Exited(2));
    assert!(dvm.stdin_closed.contains(&proc(0)));
    dvm.stdin_closed.clear();
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 0);
}
