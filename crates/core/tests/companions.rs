//! Companion jobs: the daemons of a debugger beside the processes of their target.

mod common;

use common::{Cluster, app, job};
use ferrite_core::{DaemonInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{PMIX_ERR_NOT_FOUND, PMIX_EVENT_JOB_END};
use ferrite_types::*;
use ferrite_wire::EventInfo;
use ferrite_wire::control::{Reply, Request, Submission};

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

fn daemons(target: u32, each: Each) -> JobSpec {
    let beside = Beside { targets: vec![(JobId(target), Vec::new())], each };
    JobSpec { beside: Some(beside), ..job("debuggerd", 1) }
}

/// Three nodes with four cores each; job 1 has six processes.
fn debugged() -> Cluster {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, Submission::of(job("a.out", 6)));
    dvm
}

fn places(dvm: &Cluster, job: u32) -> Vec<u32> {
    let own = dvm.running.iter().filter(|(proc, _)| proc.job.0 == job);
    own.map(|(_, (daemon, _))| daemon.0).collect()
}

fn slots_used(dvm: &mut Cluster, id: u64) -> u32 {
    dvm.ask(id, Request::Nodes);
    dvm.run();
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("no nodes") };
    nodes.iter().map(|node| node.slots_in_use).sum()
}

/// In a DVM for one job the daemons of a debugger have time to end by themselves, and no more (spec L35).
#[test]
fn daemons_may_end_after_the_job_of_a_dvm_for_one_job() {
    for they_end in [true, false] {
        let mut dvm = Cluster::with_job(3, &[], job("own", 2));
        dvm.submit(1, Submission::of(daemons(1, Each::Node(1))));
        dvm.submit(2, Submission::of(job("other", 1)));
        dvm.exit_job(1);
        assert!(places(&dvm, 3).is_empty(), "another job of a tool ends with it");
        assert!(!places(&dvm, 2).is_empty(), "they have heard of its end");
        match they_end {
            true => dvm.exit_job(2),
            false => dvm.fire(0, Timer::Head(HeadTimer::Companions)),
        }
        let told = dvm.notices.iter().filter(|text| text.contains("Job 2, which a tool has started")).count();
        assert_eq!(told > 0, !they_end);
        assert_eq!(dvm.exits[&DaemonRank::HEAD], 0);
        dvm.assert_gone();
    }
}

/// The places (spec L66).
#[test]
fn daemons_of_a_debugger_run_on_the_nodes_of_their_target_and_use_no_slots() {
    let mut dvm = debugged();
    let mut hosts = places(&dvm, 1);
    let used = slots_used(&mut dvm, 9);
    assert_eq!(used, 6);
    dvm.submit(2, Submission::of(daemons(1, Each::Proc(1))));
    assert_eq!(places(&dvm, 2), hosts, "each has a daemon beside it");
    hosts.sort_unstable();
    hosts.dedup();
    dvm.submit(3, Submission::of(daemons(1, Each::Node(1))));
    assert_eq!(places(&dvm, 3), hosts, "one on each node of the target");
    assert_eq!(slots_used(&mut dvm, 10), used, "no slots are used");
    // All other slots are free for other jobs.
    dvm.submit(4, Submission::of(job("b.out", 6)));
    assert_eq!(places(&dvm, 4).len(), 6);
    for done in [3, 2, 4, 1] {
        dvm.exit_job(done);
    }
    assert_eq!([1, 2, 3, 4].map(|id| dvm.code_of(id)), [0; 4]);
    assert_eq!(slots_used(&mut dvm, 11), 0);
}

/// A companion has a rank of its own on the node (spec L66).
#[test]
fn companions_take_ranks_on_their_nodes() {
    let mut dvm = debugged();
    dvm.submit(2, Submission::of(daemons(1, Each::Node(2))));
    dvm.exit_job(2);
    dvm.submit(3, Submission::of(daemons(1, Each::Node(1))));
    assert_eq!(places(&dvm, 3).len(), places(&dvm, 1).iter().collect::<std::collections::BTreeSet<_>>().len());
    let two = JobSpec { apps: vec![app("a", 1), app("b", 1)], ..daemons(1, Each::Node(1)) };
    dvm.submit(4, Submission::of(two));
    assert_eq!(places(&dvm, 4).len(), 2 * places(&dvm, 3).len(), "each program has its own");
}

/// A target that is not there (spec L66).
#[test]
fn nothing_runs_beside_a_job_that_is_not_there() {
    let mut dvm = debugged();
    dvm.submit(2, Submission::of(daemons(7, Each::Node(1))));
    assert!(matches!(dvm.reply(2), Reply::Refused(why) if why.contains("no job 7")));
    assert!(dvm.started.iter().any(|(_, result)| *result == Err(PMIX_ERR_NOT_FOUND)));
    let mut far = daemons(1, Each::Node(1));
    far.beside.as_mut().unwrap().targets[0].1 = vec![Rank(6)];
    dvm.submit(3, Submission::of(far));
    assert_eq!(dvm.code_of(3), 1);
    assert!(dvm.notices.iter().any(|text| text.contains("no rank 6")), "{:?}", dvm.notices);
}

/// Companions and their target end in either order (spec L67).
#[test]
fn daemons_hear_of_the_end_of_their_target_and_end_by_themselves() {
    for code in [0, 3] {
        let mut dvm = debugged();
        dvm.submit(2, Submission::of(daemons(1, Each::Node(1))));
        let hosts = places(&dvm, 2);
        match code {
            0 => dvm.exit_job(1),
            code => dvm.exit(of(1, 5), ExitStatus::Exited(code)),
        }
        assert_eq!(dvm.code_of(1), code);
        assert_eq!(places(&dvm, 2), hosts, "the daemons run on");
        let told = dvm.pmix.iter().filter_map(|(at, effect)| match effect {
            PmixEffect::Event { event, to, .. } if event.code == PMIX_EVENT_JOB_END => {
                assert_eq!(event.info, EventInfo::Job { job: JobId(1), code: Some(code) });
                to.iter().all(|proc| proc.job == JobId(2)).then_some(at.0)
            }
            _ => None,
        });
        let mut told: Vec<u32> = told.collect();
        told.sort_unstable();
        assert_eq!(told, hosts);
        dvm.exit_job(2);
        assert_eq!(dvm.code_of(2), 0);
    }
}

/// The failure of a daemon is none of its target (spec L67).
#[test]
fn the_target_goes_on_without_its_daemons() {
    let mut dvm = debugged();
    dvm.submit(2, Submission::of(daemons(1, Each::Node(1))));
    dvm.exit(of(2, 0), ExitStatus::Signaled(Signal(11)));
    assert_eq!(dvm.code_of(2), 139);
    assert_eq!(places(&dvm, 1).len(), 6);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A process is a debugger too, and a DVM for one job has its exit code (spec L66, L67).
#[test]
fn a_process_may_spawn_daemons_beside_its_job() {
    let mut dvm = Cluster::with_job(2, &[], job("a.out", 4));
    let submission = Box::new(Submission::of(daemons(1, Each::Node(1))));
    let call = PmixCall::Spawn { proc: of(1, 0), submission, token: PmixToken(5) };
    dvm.input(DaemonRank(0), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    assert!(!places(&dvm, 2).is_empty());
    dvm.exit_job(1);
    assert!(!places(&dvm, 2).is_empty(), "the DVM stays for the daemons");
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    dvm.run();
    assert_eq!(dvm.exit_code(), 9, "a failed child of the job counts");
}
