//! Sessions that processes and tools have asked for: when they end, and which jobs may use them.

mod common;

use common::{Cluster, elastic_dvm, job};
use ferrite_core::{DaemonInput, HeadInput, Input, PmixCall, PmixToken, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionStatus, Submission};
use ferrite_wire::{AddedHost, GrowRequest, Inheritance, ResizeRequest, SessionTerms, SlotChange};

fn of(job: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(0) }
}

fn request(name: &str, inheritance: Option<Inheritance>) -> GrowRequest {
    let host = AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    let terms = SessionTerms { reserve: true, inheritance, ..SessionTerms::default() };
    GrowRequest { hosts: vec![host], terms, ..GrowRequest::default() }
}

/// A process asks for a node.
fn asks(dvm: &mut Cluster, proc: ProcId, name: &str, inheritance: Inheritance) {
    let request = ResizeRequest::Grow(request(name, Some(inheritance)));
    let at = dvm.running[&proc].0;
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc, request, token: PmixToken(5) })));
    dvm.run();
}

fn spawn(dvm: &mut Cluster, parent: u32, submission: Submission) {
    let at = dvm.running[&of(parent)].0;
    let call = PmixCall::Spawn { proc: of(parent), submission: Box::new(submission), token: PmixToken(7) };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
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

/// A session ends with its owner as its inheritance says (spec S25).
#[test]
fn a_session_of_a_spawned_job_ends_with_the_last_that_descends_from_it() {
    for (inheritance, after) in [(Inheritance::Child, &["n0"][..]), (Inheritance::ChildDefault, &["n0", "m0"])] {
        let mut dvm = elastic_dvm(1);
        dvm.submit(1, Submission::of(job("submitted", 1)));
        spawn(&mut dvm, 1, Submission::of(job("owner", 1)));
        asks(&mut dvm, of(2), "m0", inheritance);
        spawn(&mut dvm, 2, Submission::of(job("child", 1)));
        spawn(&mut dvm, 3, Submission::of(job("grandchild", 1)));
        spawn(&mut dvm, 2, Submission { separate: true, ..Submission::of(job("apart", 1)) });
        for (id, over) in [(10, 2), (11, 3)] {
            dvm.exit_job(over);
            assert_eq!(sessions(&mut dvm, id).iter().filter(|session| session.reserved).count(), 1, "{inheritance:?}");
        }
        dvm.exit_job(4);
        assert_eq!(up(&mut dvm, 12), after, "neither its parent nor what is separate is its family");
        assert!(sessions(&mut dvm, 13).iter().all(|session| !session.reserved));
    }
}

/// A tool asks for a node.
fn tool_asks(dvm: &mut Cluster, id: u64, name: &str, inheritance: Option<Inheritance>) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request(name, inheritance)))));
}

fn tool_goes(dvm: &mut Cluster, requests: &[u64]) {
    let requests: Vec<RequestId> = requests.iter().map(|id| RequestId(*id)).collect();
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ToolGone(requests.clone())));
    requests.into_iter().for_each(|request| dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(request))));
    dvm.run();
}

fn jobs_on(dvm: &Cluster, at: u32) -> usize {
    dvm.running.values().filter(|(daemon, _)| *daemon == DaemonRank(at)).count()
}

#[test]
fn what_a_tool_has_asked_for_is_everybodys_when_it_is_gone() {
    let mut dvm = elastic_dvm(1);
    tool_asks(&mut dvm, 1, "m0", None);
    tool_asks(&mut dvm, 2, "m1", None);
    tool_goes(&mut dvm, &[1]);
    dvm.submit(3, Submission::of(job("a.out", 8)));
    assert_eq!((jobs_on(&dvm, 0), jobs_on(&dvm, 1), jobs_on(&dvm, 2)), (4, 4, 0), "the other tool is there");
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(2))));
    dvm.run();
    assert!(sessions(&mut dvm, 4)[1].reserved, "a client that is no tool asks and goes");
}

/// A tool's sessions end with the tool (spec S26).
#[test]
fn a_session_of_a_tool_ends_with_it_as_its_inheritance_says() {
    for (inheritance, after) in [
        (Inheritance::Default, &["n0", "m0"][..]),
        (Inheritance::None, &["n0"]),
        (Inheritance::Child, &["n0"]),
        (Inheritance::ChildDefault, &["n0", "m0"]),
    ] {
        let mut dvm = elastic_dvm(1);
        tool_asks(&mut dvm, 1, "m0", Some(inheritance));
        tool_goes(&mut dvm, &[1]);
        assert_eq!(up(&mut dvm, 2), after, "{inheritance:?}");
        assert!(sessions(&mut dvm, 3).iter().all(|session| !session.reserved));
    }
}

#[test]
fn a_session_for_a_tools_children_ends_with_the_last_of_its_jobs() {
    let mut dvm = elastic_dvm(2);
    tool_asks(&mut dvm, 1, "m0", Some(Inheritance::Child));
    let mut there = Submission::of(job("of the tool", 1));
    there.spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("n1"))];
    dvm.submit(2, there);
    let frozen = dvm.freeze_quietly(1);
    tool_goes(&mut dvm, &[1, 2]);
    assert_eq!(up(&mut dvm, 3), ["n0", "n1", "m0"], "its job has yet to end");
    dvm.kill(frozen);
    assert_eq!(up(&mut dvm, 4), ["n0"]);
}

#[test]
fn what_is_on_its_way_to_a_tool_that_is_gone_is_everybodys_or_does_not_come() {
    for (inheritance, after) in [(None, &["n0", "m0"][..]), (Some(Inheritance::None), &["n0"])] {
        let mut dvm = elastic_dvm(1);
        dvm.silent_nodes.insert("m0".to_owned());
        tool_asks(&mut dvm, 1, "m0", inheritance);
        tool_goes(&mut dvm, &[1]);
        dvm.come(1);
        assert_eq!(up(&mut dvm, 2), after, "{inheritance:?}");
        assert!(sessions(&mut dvm, 3).iter().all(|session| !session.reserved));
    }
}

/// A job that names hosts.
fn on(program: &str, hosts: &[&str]) -> Submission {
    let mut there = Submission::of(job(program, hosts.len() as u32));
    there.spec.apps[0].hosts.hosts = hosts.iter().map(|host| HostRef::Host(HostEntry::named(host))).collect();
    there
}

/// The requester of nodes gets there by their names (spec S5).
#[test]
fn a_job_spawns_onto_nodes_that_it_has_asked_for_by_their_names_or_their_allocation() {
    let mut dvm = elastic_dvm(1);
    dvm.submit(1, Submission::of(job("owner", 1)));
    asks(&mut dvm, of(1), "m0", Inheritance::Default);
    spawn(&mut dvm, 1, on("by name", &["m0"]));
    let by_allocation = Submission { session: SessionChoice::Alloc("a1".into()), ..on("by allocation", &["m0"]) };
    spawn(&mut dvm, 1, by_allocation);
    assert_eq!(jobs_on(&dvm, 1), 2);
    assert_eq!(sessions(&mut dvm, 2)[0].jobs, [JobId(2), JobId(3)]);
    spawn(&mut dvm, 1, Submission::of(job("anywhere", 1)));
    spawn(&mut dvm, 1, on("on both", &["n0", "m0"]));
    dvm.submit(3, on("of somebody else", &["m0"]));
    assert_eq!((jobs_on(&dvm, 0), jobs_on(&dvm, 1)), (2, 2), "no job runs in two sessions, and others are not let in");
    assert_eq!(dvm.code_of(3), 1);
}
