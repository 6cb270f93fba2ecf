//! The records of a job and of a session beyond their lines (docs/spec/sessions.md).

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixToken};
use ferrite_types::SessionId;
use ferrite_types::*;
use ferrite_wire::control::{AppRecord, JobRecord, Reply, Request, SessionStatus, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeRequest, SlotChange};

fn dvm() -> Cluster {
    let mut dvm = Cluster::build(4, &[("prte_elastic_mode", "1")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn record(dvm: &mut Cluster, id: u64, of: u32) -> JobRecord {
    dvm.ask(id, Request::Job(JobId(of)));
    match dvm.reply(id) {
        Reply::Job(detail) => detail.record.clone(),
        other => panic!("{other:?}"),
    }
}

fn by_node(np: u32) -> Submission {
    let mut spec = job("a.out", np);
    spec.map.by = Some(MapBy::Node);
    let (personality, launcher) = ("ompi".to_owned(), "prun.n0.7".to_owned());
    Submission { personality, launcher, ..Submission::of(spec) }
}

fn spawn(dvm: &mut Cluster, parent: ProcId, submission: Submission) {
    let at = dvm.running[&parent].0;
    let call = PmixCall::Spawn { proc: parent, submission: Box::new(submission), token: PmixToken(1) };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn call(dvm: &mut Cluster, rank: u32, call: fn(ProcId) -> PmixCall) {
    let (at, _) = dvm.running[&common::proc(rank)];
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call(common::proc(rank)))));
    dvm.run();
}

#[test]
fn a_job_has_a_record_of_where_it_comes_from_and_what_it_may_use() {
    let mut dvm = dvm();
    dvm.submit(1, by_node(3));
    let shown = record(&mut dvm, 2, 1);
    assert_eq!((shown.personality.as_str(), shown.launcher.as_str()), ("ompi", "prun.n0.7"));
    assert_eq!((shown.session, shown.parent, shown.stdin), (SessionId::DVM, None, Some(StdinTarget::Rank(Rank(0)))));
    let app = AppRecord { argv: vec!["a.out".to_owned()], left_out: 0, procs: 3, wdir: Some("/".to_owned()) };
    assert_eq!((shown.apps, shown.session_dir.as_str()), (vec![app], "/tmp/prte.1/1"));
    assert_eq!((shown.slots, shown.bookmark.as_str()), (16, "n2"), "four nodes with four slots each");
    let mut some = by_node(2);
    some.spec.apps[0].hosts.hosts = ["n1", "n3"].map(|name| HostRef::Host(HostEntry::named(name))).into();
    dvm.submit(3, some);
    let shown = record(&mut dvm, 4, 2);
    assert_eq!((shown.slots, shown.bookmark.as_str()), (8, "n3"));
}

#[test]
fn the_arguments_of_a_job_are_kept_as_far_as_there_is_room() {
    let mut dvm = dvm();
    let mut long = by_node(1);
    long.spec.apps[0].argv.extend(["-x".to_owned(), "y".repeat(9_000), "z".to_owned()]);
    long.spec.apps[0].wdir = Some("data".to_owned());
    long.spec.apps.push(AppContext {
        argv: vec!["b.out".to_owned(), "1".to_owned()],
        session_cwd: true,
        ..long.spec.apps[0].clone()
    });
    dvm.submit(1, long);
    let [first, second] = &record(&mut dvm, 2, 1).apps[..] else { panic!("two programs") };
    assert_eq!((&first.argv[..], first.left_out), (&["a.out".to_owned(), "-x".to_owned()][..], 2));
    assert_eq!((second.argv[0].as_str(), second.wdir.as_deref()), ("b.out", None), "a program is always named");
    assert!(first.wdir.as_deref().is_some_and(|wdir| wdir.ends_with("/data")));
    dvm.ask(3, Request::Jobs);
    let Reply::Jobs(jobs) = dvm.reply(3) else { panic!("no jobs") };
    let (command, wdir) = (jobs[0].command.as_str(), jobs[0].wdir.as_deref());
    assert!(command.starts_with("a.out -x yyyy") && command.ends_with("y…"), "{command}");
    assert_eq!((command.chars().count(), wdir), (241, first.wdir.as_deref()));
}

#[test]
fn a_node_names_the_jobs_that_it_works_for() {
    let mut dvm = dvm();
    dvm.submit(1, by_node(3));
    dvm.submit(2, by_node(4));
    let jobs = |dvm: &mut Cluster, id| {
        dvm.ask(id, Request::Nodes);
        match dvm.reply(id) {
            Reply::Nodes(nodes) => nodes.iter().map(|node| node.jobs.clone()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    let (both, second) = (vec![(JobId(1), 1), (JobId(2), 1)], vec![(JobId(2), 1)]);
    assert_eq!(jobs(&mut dvm, 3), [both.clone(), both.clone(), both, second]);
    dvm.exit_all();
    assert_eq!(jobs(&mut dvm, 4), vec![Vec::new(); 4]);
}

#[test]
fn the_counts_of_a_job_go_up_with_what_its_processes_do_and_are_kept_when_it_is_over() {
    let mut dvm = dvm();
    dvm.submit(1, by_node(3));
    let shown = record(&mut dvm, 2, 1);
    assert_eq!((shown.mapped, shown.local, shown.launched, shown.terminated), (3, 1, 3, 0));
    assert_eq!((shown.daemons, shown.daemons_reported, shown.registered, shown.ready_for_debug), (3, 3, 0, 0));
    (0..2).for_each(|rank| call(&mut dvm, rank, PmixCall::ClientConnected));
    call(&mut dvm, 1, PmixCall::ReadyForDebug);
    let shown = record(&mut dvm, 3, 1);
    assert_eq!((shown.registered, shown.ready_for_debug), (2, 1));
    (0..2).for_each(|rank| call(&mut dvm, rank, PmixCall::ClientFinalized));
    dvm.exit_all();
    let shown = record(&mut dvm, 4, 1);
    assert_eq!((shown.launched, shown.registered, shown.ready_for_debug, shown.terminated), (3, 2, 1, 3));
    assert_eq!((shown.bookmark.as_str(), shown.traces), ("n2", 0));
}

#[test]
fn what_a_process_spawns_names_it_and_has_the_launcher_of_its_parent() {
    let mut dvm = dvm();
    dvm.submit(1, by_node(2));
    spawn(&mut dvm, common::proc(1), Submission::of(job("child", 1)));
    let child = record(&mut dvm, 2, 2);
    assert_eq!(child.parent, Some(common::proc(1)));
    assert_eq!((child.personality.as_str(), child.launcher.as_str()), ("ompi", "prun.n0.7"));
    assert_eq!(record(&mut dvm, 3, 1).children, [JobId(2)]);
    dvm.exit_job(2);
    assert_eq!(record(&mut dvm, 4, 1).children, []);
}

#[test]
fn a_session_shows_its_slots_and_the_sessions_that_end_with_it() {
    let mut dvm = dvm();
    let host = |name: &str| AddedHost { host: HostEntry::named(name), slots: SlotChange::Set(3) };
    let grow = |name: &str| GrowRequest { hosts: vec![host(name)], wait: true, ..GrowRequest::default() };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(grow("m0")))));
    let inside = ferrite_wire::control::SessionChoice::Id(SessionId(1));
    dvm.submit(2, Submission { session: inside, ..Submission::of(job("a.out", 2)) });
    let (at, _) = dvm.running[&common::proc(0)];
    let request = ResizeRequest::Grow(grow("m1"));
    dvm.input(
        at,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: common::proc(0), request, token: PmixToken(1) })),
    );
    dvm.run();
    dvm.ask(3, Request::Sessions);
    let Reply::Sessions(sessions) = dvm.reply(3) else { panic!("sessions") };
    let shown = |session: &SessionStatus| (session.slots, session.slots_in_use, session.children.clone());
    assert_eq!(sessions.iter().map(shown).collect::<Vec<_>>(), [(3, 2, vec![SessionId(2)]), (3, 0, vec![])]);
}
