//! PMIx events that processes and tools raise: who hears them, how often, and in which order.

mod common;

use bytes::Bytes;
use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission, Watch};
use ferrite_wire::{EventInfo, EventRange, EventSource, PmixEvent, ToolName};

const TREE: &[(&str, &str)] = &[("rml_base_radix", "2")];

/// One process on each of that many nodes.
fn cluster(count: u32) -> Cluster {
    Cluster::with_job(count, TREE, job("a.out", count))
}

fn raise_as(dvm: &mut Cluster, at: u32, source: EventSource, number: u8, range: EventRange) {
    let info = EventInfo::Raised(Bytes::copy_from_slice(&[number]));
    let event = Box::new(PmixEvent { code: PmixStatus(-3001), source, info });
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(PmixCall::Event { event, range })));
}

fn raise(dvm: &mut Cluster, rank: u32, number: u8, range: EventRange) {
    raise_as(dvm, rank, EventSource::Proc(proc(rank)), number, range);
}

/// Each delivery: the daemon, the number in the event, and the ranks of job 1 that hear it.
fn heard(dvm: &Cluster) -> Vec<(u32, u8, Vec<u32>)> {
    let delivery = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Event { event, to, .. } => {
            let EventInfo::Raised(info) = &event.info else { panic!("an event of the DVM") };
            Some((at.0, info[0], to.iter().map(|proc| proc.rank.0).collect()))
        }
        _ => None,
    };
    dvm.pmix.iter().filter_map(delivery).collect()
}

fn at(dvm: &Cluster, daemon: u32) -> Vec<u8> {
    heard(dvm).into_iter().filter(|(at, ..)| *at == daemon).map(|(_, number, _)| number).collect()
}

/// The source's own node has it from the library (spec L60).
#[test]
fn an_event_reaches_the_daemons_of_its_range_once_and_not_its_own() {
    let mut dvm = cluster(5);
    raise(&mut dvm, 3, 1, EventRange::Everyone);
    dvm.run();
    let mut all = heard(&dvm);
    all.sort_unstable();
    assert_eq!(all, [(0, 1, vec![0]), (1, 1, vec![1]), (2, 1, vec![2]), (4, 1, vec![4])]);

    dvm.pmix.clear();
    raise(&mut dvm, 3, 2, EventRange::only(proc(1)));
    raise(&mut dvm, 0, 3, EventRange::only(proc(0)));
    dvm.run();
    assert_eq!(heard(&dvm), [(1, 2, vec![1])]);

    dvm.pmix.clear();
    raise(&mut dvm, 0, 4, EventRange::Job(JobId(1)));
    raise(&mut dvm, 0, 5, EventRange::Job(JobId(9)));
    dvm.run();
    assert_eq!(heard(&dvm).len(), 4, "nobody hears what is for a job that there is not");
}

/// Only its daemon knows where a tool is.
#[test]
fn an_event_for_a_tool_asks_every_daemon_and_no_process() {
    let mut dvm = cluster(3);
    let tool = ToolName { nspace: "d-tool@1".to_owned(), rank: Some(0) };
    raise(&mut dvm, 2, 1, EventRange::Named { procs: Vec::new(), tools: vec![tool.clone()] });
    raise_as(&mut dvm, 1, EventSource::Tool(tool), 2, EventRange::only(proc(0)));
    dvm.run();
    let mut all = heard(&dvm);
    all.sort_unstable();
    assert_eq!(all, [(0, 1, vec![]), (0, 2, vec![0]), (1, 1, vec![])]);
}

/// A daemon below the dead one hears of them in the new tree (spec L60).
#[test]
fn the_events_of_a_source_keep_their_order_over_a_repair() {
    let options = RuntimeOptions { continuous: true, ..RuntimeOptions::default() };
    let mut dvm = Cluster::with_job(7, TREE, JobSpec { options, ..job("a.out", 7) });
    // Daemon 1 is above 3 and 4.
    (0..10).for_each(|number| raise(&mut dvm, 3, number, EventRange::Everyone));
    dvm.crash(1);
    (10..20).for_each(|number| raise(&mut dvm, 3, number, EventRange::Job(JobId(1))));
    dvm.run();
    for daemon in [0, 2, 4, 5, 6] {
        let numbers = at(&dvm, daemon);
        assert!(numbers.iter().copied().eq(0..20), "daemon {daemon} hears {numbers:?}");
    }
}

/// Alerts (spec L137).
#[test]
fn an_alert_is_one_of_the_dvm_and_its_process_hears_it_too() {
    let mut dvm = cluster(4);
    let alert = |dvm: &mut Cluster, at: u32, rank: u32| {
        let info = EventInfo::Raised(Bytes::from_static(&[7]));
        let (proc, range) = (proc(rank), EventRange::Job(JobId(1)));
        let event = Box::new(PmixEvent { code: PmixStatus(-3001), source: EventSource::Proc(proc), info });
        dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(PmixCall::Alert { proc, event, range })));
        dvm.run();
    };
    alert(&mut dvm, 1, 2);
    assert_eq!(heard(&dvm), [], "the process is elsewhere");
    alert(&mut dvm, 2, 2);
    let mut all = heard(&dvm);
    all.sort_unstable();
    assert_eq!(all, [(0, 7, vec![0]), (1, 7, vec![1]), (2, 7, vec![2]), (3, 7, vec![3])]);
    let is_of_dvm = |effect: &PmixEffect| match effect {
        PmixEffect::Event { event, .. } => event.source == EventSource::Dvm,
        _ => true,
    };
    assert!(dvm.pmix.iter().all(|(_, effect)| is_of_dvm(effect)));
    dvm.pmix.clear();
    dvm.exit_proc(2, ExitStatus::Exited(0));
    alert(&mut dvm, 2, 2);
    assert_eq!(heard(&dvm), [], "it has ended");
}

/// The head believes the daemon of a process only (spec L61).
#[test]
fn nobody_raises_an_event_in_the_name_of_a_process_elsewhere() {
    let mut dvm = cluster(3);
    raise_as(&mut dvm, 1, EventSource::Proc(proc(2)), 1, EventRange::Everyone);
    raise_as(&mut dvm, 1, EventSource::Dvm, 2, EventRange::Everyone);
    dvm.run();
    assert_eq!(heard(&dvm), []);
}

/// No daemon knows such a tool, and the head believes its client (spec L143).
#[test]
fn an_event_of_a_tool_that_directs_a_client_reaches_its_range() {
    let mut dvm = cluster(3);
    let ask = |dvm: &mut Cluster, id: u64, source: EventSource| {
        let info = EventInfo::Raised(Bytes::from_static(&[7]));
        let event = Box::new(PmixEvent { code: PmixStatus(-3001), source, info });
        dvm.ask(id, Request::Raise { event, range: EventRange::Job(JobId(1)) });
    };
    for (id, source) in [(2, EventSource::Dvm), (3, EventSource::Proc(proc(1)))] {
        ask(&mut dvm, id, source);
        assert!(matches!(dvm.reply(id), Reply::Refused(_)));
    }
    ask(&mut dvm, 4, EventSource::Tool(ToolName { nspace: "gdb".to_owned(), rank: Some(0) }));
    assert_eq!(dvm.reply(4), &Reply::Ordered);
    let mut all = heard(&dvm);
    all.sort_unstable();
    assert_eq!(all, [(0, 7, vec![0]), (1, 7, vec![1]), (2, 7, vec![2])]);
}

/// The events of the DVM about a job, as its requester hears them: the code, and the rank that has ended.
fn told(watch: Watch) -> Vec<(i32, Option<u32>)> {
    let mut dvm = cluster(3);
    let spec = JobSpec {
        options: RuntimeOptions { continuous: true, ..RuntimeOptions::default() },
        map: MapRequest { oversubscribe: Some(true), ..MapRequest::default() },
        ..job("child", 3)
    };
    let submission = Box::new(Submission { watch, ..Submission::of(spec) });
    let spawn = PmixCall::Spawn { proc: proc(2), submission, token: PmixToken(1) };
    dvm.input(DaemonRank(2), Input::Daemon(DaemonInput::Pmix(spawn)));
    dvm.run();
    for (rank, code) in [(1, 7), (0, 0), (2, 0)] {
        dvm.exit(ProcId { job: JobId(2), rank: Rank(rank) }, ExitStatus::Exited(code));
    }
    dvm.run();
    let event = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Event { event, to, .. } => {
            assert_eq!((at.0, &to[..], &event.source), (2, &[proc(2)][..], &EventSource::Dvm));
            let rank = if let EventInfo::Proc { proc, .. } = &event.info { Some(proc.rank.0) } else { None };
            Some((event.code.0, rank))
        }
        _ => None,
    };
    dvm.pmix.iter().filter_map(event).collect()
}

/// Nobody else is told (spec L62).
#[test]
fn who_spawns_a_job_hears_of_its_start_and_of_its_processes_as_far_as_it_has_asked() {
    assert_eq!(told(Watch::default()), []);
    assert_eq!(told(Watch { job: true, ..Watch::default() }), [(-191, None), (-174, None)]);
    assert_eq!(told(Watch { failures: true, ..Watch::default() }), [(-201, Some(1))]);
    let mut all = told(Watch { ends: true, failures: true, ..Watch::default() });
    all.sort_unstable();
    assert_eq!(all, [(-201, Some(0)), (-201, Some(1)), (-201, Some(2))]);
}
