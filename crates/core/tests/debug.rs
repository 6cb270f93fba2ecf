//! Jobs whose processes wait for a debugger.

mod common;

use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::{DaemonRank, DebugStop, ExitStatus, JobId, JobSpec, JobState, ProcId, Rank, Signal, StopPoint};
use ferrite_wire::control::{Reply, Request, Submission};

fn stopping(np: u32, at: StopPoint) -> JobSpec {
    JobSpec { stop: Some(DebugStop::of_all(at)), ..job("a.out", np) }
}

fn submitted(spec: JobSpec) -> Cluster {
    let mut dvm = Cluster::persistent(2);
    dvm.submit(1, Submission::of(spec));
    dvm
}

fn call(dvm: &mut Cluster, at: u32, call: PmixCall) {
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn release(dvm: &mut Cluster, id: u64, ranks: Option<Vec<Rank>>) {
    dvm.ask(id, Request::Release { job: JobId(1), ranks });
    dvm.run();
}

fn status(dvm: &mut Cluster, id: u64) -> (JobState, String) {
    dvm.ask(id, Request::Jobs);
    dvm.run();
    let Reply::Jobs(jobs) = dvm.reply(id) else { panic!("no jobs") };
    (jobs[0].state, jobs[0].waiting_for.clone())
}

fn continued(dvm: &Cluster) -> Vec<ProcId> {
    dvm.signals.iter().filter(|(_, signal)| *signal == Signal::CONT).map(|(proc, _)| *proc).collect()
}

fn released_by_event(dvm: &Cluster) -> Vec<u32> {
    let rank = |(_, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Release(proc) => Some(proc.rank.0),
        _ => None,
    };
    dvm.pmix.iter().filter_map(rank).collect()
}

/// The job waits in READY_FOR_DEBUG and its submitter reads where the processes are (spec L55).
#[test]
fn a_job_that_stops_on_exec_waits_until_it_is_released() {
    let mut dvm = submitted(stopping(2, StopPoint::Exec));
    assert!(dvm.running.values().all(|(_, request)| request.stopped && request.traceable));
    let (state, waits_for) = status(&mut dvm, 2);
    assert_eq!(state, JobState::ReadyForDebug);
    assert!(waits_for.contains("pdvm release 1") && waits_for.contains("2 of 2"), "{waits_for}");
    let told = dvm.ready_for_debug.last().expect("the submitter is told");
    assert!(told.contains("rank 1 on node n1: pid "), "{told}");
    assert!(continued(&dvm).is_empty());
    release(&mut dvm, 3, None);
    assert!(matches!(dvm.reply(3), Reply::Ordered));
    assert_eq!(continued(&dvm), [proc(0), proc(1)]);
    assert_eq!(status(&mut dvm, 4).0, JobState::Running);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
    assert_eq!(dvm.ready_for_debug.len(), 1, "it is told once");
}

/// Some go on, the others wait (spec L56).
#[test]
fn a_release_may_be_for_some_processes() {
    let mut dvm = submitted(stopping(3, StopPoint::Exec));
    release(&mut dvm, 2, Some(vec![Rank(1)]));
    assert_eq!(continued(&dvm), [proc(1)]);
    let (state, waits_for) = status(&mut dvm, 3);
    assert_eq!(state, JobState::ReadyForDebug);
    assert!(waits_for.contains("2 of 3"), "{waits_for}");
    release(&mut dvm, 4, Some(vec![Rank(0), Rank(1), Rank(2)]));
    assert_eq!(continued(&dvm), [proc(1), proc(0), proc(2)], "each goes on once");
    assert_eq!(status(&mut dvm, 5).0, JobState::Running);
    release(&mut dvm, 6, Some(vec![Rank(7)]));
    assert!(matches!(dvm.reply(6), Reply::Refused(why) if why.contains("no rank 7")));
}

/// libpmix says once for all processes of a node that they wait (spec L55).
#[test]
fn a_job_that_stops_in_init_is_ready_when_all_nodes_are() {
    let mut dvm = submitted(stopping(3, StopPoint::Init));
    for (at, rank) in [(0, 0), (1, 1), (0, 2)] {
        call(&mut dvm, at, PmixCall::ClientConnected(proc(rank)));
    }
    call(&mut dvm, 0, PmixCall::AllReadyForDebug(JobId(1)));
    let (state, waits_for) = status(&mut dvm, 2);
    assert_eq!(state, JobState::Registered);
    assert!(waits_for.contains("to stop in PMIx_Init"), "{waits_for}");
    call(&mut dvm, 1, PmixCall::ReadyForDebug(proc(1)));
    assert_eq!(status(&mut dvm, 3).0, JobState::ReadyForDebug);
    // A debugger that is a process or a tool releases by an event.
    call(&mut dvm, 1, PmixCall::Release { job: JobId(1), ranks: None });
    let mut released = released_by_event(&dvm);
    released.sort_unstable();
    assert_eq!(released, [0, 1, 2]);
    assert!(continued(&dvm).is_empty(), "nothing was stopped by a signal");
    assert_eq!(status(&mut dvm, 4).0, JobState::Registered);
}

/// libpmix stops all processes of a node; those that are not to stop go on at once.
#[test]
fn only_the_named_ranks_stop() {
    let mut spec = stopping(3, StopPoint::Init);
    spec.stop.as_mut().unwrap().ranks = Some(vec![Rank(2)]);
    let mut dvm = submitted(spec);
    for (at, rank) in [(0, 0), (1, 1), (0, 2)] {
        call(&mut dvm, at, PmixCall::ClientConnected(proc(rank)));
    }
    call(&mut dvm, 0, PmixCall::AllReadyForDebug(JobId(1)));
    assert_eq!(released_by_event(&dvm), [0]);
    let (state, waits_for) = status(&mut dvm, 2);
    assert_eq!(state, JobState::ReadyForDebug, "nobody waits for node n1");
    assert!(waits_for.contains("1 of 3"), "{waits_for}");
}

#[test]
fn a_process_that_was_released_before_it_came_to_wait_goes_on_at_once() {
    let mut dvm = submitted(stopping(1, StopPoint::Init));
    release(&mut dvm, 2, None);
    call(&mut dvm, 0, PmixCall::ClientConnected(proc(0)));
    call(&mut dvm, 0, PmixCall::ReadyForDebug(proc(0)));
    assert_eq!(released_by_event(&dvm), [0]);
    assert_eq!(status(&mut dvm, 3).0, JobState::Registered);
}

#[test]
fn a_job_in_which_nothing_waits_cannot_be_released() {
    let mut dvm = submitted(job("a.out", 1));
    release(&mut dvm, 2, None);
    assert!(matches!(dvm.reply(2), Reply::Refused(why) if why.contains("waits for a debugger")));
    dvm.ask(3, Request::Release { job: JobId(9), ranks: None });
    dvm.run();
    assert!(matches!(dvm.reply(3), Reply::Refused(why) if why.contains("no job 9")));
}

#[test]
fn a_stopped_job_is_ended_like_any_other() {
    let mut dvm = submitted(stopping(2, StopPoint::Exec));
    dvm.ask(2, Request::Kill(JobId(1)));
    dvm.run();
    assert_eq!(continued(&dvm).len(), 2, "a stopped process takes no SIGTERM");
    assert!(dvm.running.is_empty() && dvm.code_of(1) != 0);

    let mut dvm = submitted(stopping(2, StopPoint::Exec));
    dvm.crash(1);
    assert_eq!(dvm.code_of(1), 1);

    let mut dvm = submitted(stopping(2, StopPoint::Exec));
    dvm.exit(proc(0), ExitStatus::Signaled(Signal::KILL));
    assert_eq!(dvm.code_of(1), 137);
}

/// The parent is the debugger of what it has spawned (spec L55).
#[test]
fn the_process_that_spawned_a_job_hears_that_it_is_ready() {
    let mut dvm = submitted(job("parent", 2));
    let submission = Box::new(Submission::of(stopping(1, StopPoint::Exec)));
    call(&mut dvm, 1, PmixCall::Spawn { proc: proc(1), submission, token: PmixToken(5) });
    let ready = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::JobReady { parent, job } => Some((at.0, *parent, job.0)),
        _ => None,
    };
    assert_eq!(dvm.pmix.iter().filter_map(ready).collect::<Vec<_>>(), [(1, proc(1), 2)]);
    assert!(dvm.ready_for_debug.is_empty());
}
