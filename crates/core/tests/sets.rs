//! Process sets: who may name one, who is told of it, and when it ends.

mod common;

use common::{Cluster, app, job};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::pmix_status::{PMIX_ERR_EXISTS as EXISTS, PMIX_ERR_NOT_FOUND as NOT_FOUND};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{ControlOrder, Fact, ProcessSet, Subject};

fn on_nodes(program: &str, nodes: &[&str]) -> JobSpec {
    let mut spec = job(program, nodes.len() as u32);
    spec.apps[0].hosts.hosts = nodes.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
    spec
}

fn with_set(mut spec: JobSpec, name: &str) -> JobSpec {
    spec.apps[0].set = Some(name.to_owned());
    spec
}

/// The process sets told to the library of each daemon: `+NAME SIZE` and `-NAME`.
fn told(dvm: &Cluster) -> Vec<(u32, String)> {
    let told = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::DefineSet(set) => Some((at.0, format!("+{} {}", set.name, set.size()))),
        PmixEffect::DeleteSet(name) => Some((at.0, format!("-{name}"))),
        _ => None,
    };
    let mut all: Vec<_> = dvm.pmix.iter().filter_map(told).collect();
    all.sort_unstable();
    all
}

fn expect(dvm: &Cluster, expected: &[(u32, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
    assert_eq!(told(dvm), expected);
}

fn define(dvm: &mut Cluster, by: ProcId, name: &str, members: &[(u32, &[u32])], token: u64) {
    let at = dvm.running[&by].0;
    let ranks = |ranks: &[u32]| ranks.iter().copied().map(Rank).collect();
    let members = members.iter().map(|(job, all)| (JobId(*job), ranks(all))).collect();
    let order = Box::new(ControlOrder::DefineSet(ProcessSet { name: name.to_owned(), members }));
    let call = PmixCall::Control { by: Some(by), order, token: PmixToken(token) };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn answer(dvm: &Cluster, wanted: u64) -> Result<(), PmixStatus> {
    let reply = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::Reply { token, result } if token.0 == wanted => Some(result.clone()),
        _ => None,
    });
    reply.expect("it is answered").map(drop)
}

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

#[test]
fn the_programs_of_a_job_make_up_sets_on_its_nodes() {
    let mut dvm = Cluster::persistent(4);
    let mut spec = with_set(on_nodes("a", &["n1", "n2"]), "sea");
    spec.apps.push(AppContext { set: Some("land".to_owned()), hosts: spec.apps[0].hosts.clone(), ..app("b", 1) });
    dvm.submit(1, Submission::of(spec));
    expect(&dvm, &[(1, "+land 1"), (1, "+sea 2"), (2, "+land 1"), (2, "+sea 2")]);
}

/// spec L43
#[test]
fn the_name_of_a_set_is_given_once_until_its_job_is_over() {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, Submission::of(with_set(on_nodes("a", &["n1"]), "sea")));
    dvm.submit(2, Submission::of(with_set(on_nodes("a", &["n2"]), "sea")));
    let refused = |dvm: &Cluster, id| {
        let of = |(request, reply): &(ferrite_core::RequestId, Reply)| match reply {
            Reply::Refused(cause) if request.0 == id => Some(cause.clone()),
            _ => None,
        };
        dvm.replies.iter().find_map(of)
    };
    assert!(refused(&dvm, 2).is_some_and(|cause| cause.contains("\"sea\"") && cause.contains("job 1")));
    dvm.exit(of(1, 0), ExitStatus::Exited(0));
    expect(&dvm, &[(1, "+sea 1"), (1, "-sea")]);
    dvm.submit(3, Submission::of(with_set(on_nodes("a", &["n2"]), "sea")));
    assert_eq!(refused(&dvm, 3), None);
    let mut twice = with_set(on_nodes("a", &["n1"]), "two");
    twice.apps.push(twice.apps[0].clone());
    dvm.submit(4, Submission::of(twice));
    assert!(refused(&dvm, 4).is_some_and(|cause| cause.contains("Two programs")));
}

/// spec L43
#[test]
fn a_process_defines_a_set_for_all_daemons_that_know_its_jobs() {
    let mut dvm = Cluster::persistent(4);
    dvm.submit(1, Submission::of(on_nodes("a", &["n1", "n2"])));
    dvm.submit(2, Submission::of(on_nodes("b", &["n3"])));
    define(&mut dvm, of(1, 0), "own", &[(1, &[])], 1);
    define(&mut dvm, of(1, 1), "both", &[(1, &[1]), (2, &[0])], 2);
    define(&mut dvm, of(1, 1), "both", &[(1, &[0])], 3);
    define(&mut dvm, of(1, 1), "more", &[(1, &[2])], 4);
    define(&mut dvm, of(1, 1), "none", &[(7, &[])], 5);
    assert_eq!([1, 2].map(|token| answer(&dvm, token)), [Ok(()); 2]);
    assert_eq!([3, 4, 5].map(|token| answer(&dvm, token)), [Err(EXISTS), Err(NOT_FOUND), Err(NOT_FOUND)]);
    expect(&dvm, &[(1, "+both 2"), (1, "+own 2"), (2, "+both 2"), (2, "+own 2"), (3, "+both 2")]);
    // It is over with the first of its jobs.
    dvm.exit(of(2, 0), ExitStatus::Exited(0));
    let ended: Vec<_> = told(&dvm).into_iter().filter(|(_, text)| text.starts_with('-')).collect();
    assert_eq!(ended, [1, 2, 3].map(|at| (at, "-both".to_owned())));
}

/// spec L44
#[test]
fn a_daemon_that_learns_of_a_job_learns_of_its_sets() {
    let mut dvm = Cluster::persistent(4);
    dvm.submit(1, Submission::of(with_set(on_nodes("a", &["n1"]), "sea")));
    define(&mut dvm, of(1, 0), "later", &[(1, &[0])], 1);
    let submission = Box::new(Submission::of(with_set(on_nodes("child", &["n3"]), "child")));
    let at = dvm.running[&of(1, 0)].0;
    let call = PmixCall::Spawn { proc: of(1, 0), submission, token: PmixToken(2) };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let all = ["+child 1", "+later 1", "+sea 1"];
    let expected: Vec<(u32, &str)> = [1, 3].into_iter().flat_map(|at| all.map(|text| (at, text))).collect();
    expect(&dvm, &expected);
}

/// Of a daemon, and of a client that a tool directs (spec L139).
#[test]
fn the_head_answers_questions_about_sets_and_jobs() {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, Submission::of(with_set(on_nodes("a", &["n1", "n2"]), "sea")));
    let about = vec![Subject::Jobs, Subject::Job(JobId(1)), Subject::Job(JobId(9)), Subject::Sets];
    let call = PmixCall::Query { about: about.clone(), token: PmixToken(7) };
    dvm.input(DaemonRank(2), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let facts = dvm.pmix.iter().find_map(|(at, effect)| match effect {
        PmixEffect::QueryReply { token, facts } if (at.0, token.0) == (2, 7) => Some(facts.clone()),
        _ => None,
    });
    let facts = facts.expect("it is answered");
    dvm.ask(2, Request::Facts(about));
    assert_eq!(dvm.reply(2), &Reply::Facts(facts.clone()));
    let [Fact::Jobs(jobs), Fact::Job(Some(detail)), Fact::Job(None), Fact::Sets(sets)] = &facts[..] else {
        panic!("other facts: {facts:?}")
    };
    assert_eq!((jobs.len(), jobs[0].name.as_str()), (1, "a"));
    assert_eq!(detail.record.sets, [("sea".to_owned(), 2)]);
    assert_eq!(sets[0].members, [(JobId(1), vec![Rank(0), Rank(1)])]);
}
