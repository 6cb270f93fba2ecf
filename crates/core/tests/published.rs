//! The data server: who finds what, who waits, and what stays when jobs go.

mod common;

use bytes::Bytes;
use common::{Cluster, job};
use ferrite_core::{DaemonInput, DaemonTimer, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{
    PMIX_ERR_DUPLICATE_KEY as DUPLICATE_KEY, PMIX_ERR_NO_PERMISSIONS as NO_PERMISSIONS,
    PMIX_ERR_NOT_FOUND as NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE as OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT as TIMEOUT,
};
use ferrite_types::*;
use ferrite_wire::control::{Request, Submission};
use ferrite_wire::{Access, DataCall, DataRange, DataRequest, Members, Persistence, ResizeRequest, ShrinkRequest};

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Two jobs of two processes each on n1, n2 and on n2, n3.
fn two_jobs() -> Cluster {
    let mut dvm = Cluster::persistent(4);
    for (id, nodes) in [(1, ["n1", "n2"]), (2, ["n2", "n3"])] {
        let mut spec = job("a.out", 2);
        spec.apps[0].hosts.hosts = nodes.map(|name| HostRef::Host(HostEntry::named(name))).to_vec();
        dvm.submit(id, Submission::of(spec));
    }
    dvm
}

/// Answers by token: keys and publishers, or a status.
type Answer = Result<Vec<(String, ProcId)>, PmixStatus>;

struct World {
    dvm: Cluster,
    token: u64,
}

impl World {
    fn new() -> World {
        World { dvm: two_jobs(), token: 0 }
    }

    fn call(&mut self, proc: ProcId, uid: u32, request: DataRequest) -> u64 {
        self.token += 1;
        let at = self.dvm.running[&proc].0;
        let call = Box::new(DataCall { proc, uid, gid: 1, request });
        self.dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token: PmixToken(self.token) })));
        self.dvm.run();
        self.token
    }

    fn answer(&self, token: u64) -> Option<Answer> {
        let mut own = self.dvm.pmix.iter().filter_map(|(_, effect)| match effect {
            PmixEffect::DataReply { token: of, result } if of.0 == token => Some(result.clone()),
            _ => None,
        });
        let answer = own.next()?;
        assert!(own.next().is_none(), "exactly one answer");
        Some(answer.map(|found| found.into_iter().map(|one| (one.key, one.proc)).collect()))
    }

    fn publish(&mut self, proc: ProcId, key: &str, range: DataRange, persistence: Persistence) -> Answer {
        let items = vec![(key.to_owned(), Bytes::from_static(b"value"))];
        let request = DataRequest::Publish { items, range, persistence, access: Access::default() };
        let token = self.call(proc, 1, request);
        self.answer(token).expect("a publication does not wait")
    }

    fn wait(&mut self, proc: ProcId, keys: &[&str], wait: u32, timeout_s: u64) -> u64 {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let timeout = (timeout_s > 0).then(|| Duration::from_secs(timeout_s));
        self.call(proc, 1, DataRequest::Lookup { keys, range: DataRange::Dvm, wait, timeout })
    }

    fn look(&mut self, proc: ProcId, key: &str) -> Answer {
        let token = self.wait(proc, &[key], 0, 0);
        self.answer(token).expect("it does not wait")
    }
}

fn found(key: &str, proc: ProcId) -> Answer {
    Ok(vec![(key.to_owned(), proc)])
}

#[test]
fn a_value_is_found_by_those_whom_its_range_reaches() {
    use DataRange::{Dvm, Local, Namespace, ProcLocal, Rm};
    let mut world = World::new();
    let (owner, same_job, same_node, stranger) = (of(1, 1), of(1, 0), of(2, 0), of(2, 1));
    for (key, range) in [("d", Dvm), ("r", Rm), ("n", Namespace), ("l", Local), ("p", ProcLocal)] {
        assert_eq!(world.publish(owner, key, range, Persistence::App), Ok(vec![]));
    }
    for (reader, keys) in [(owner, "dnlp"), (same_job, "dn"), (same_node, "dl"), (stranger, "d")] {
        for key in ["d", "r", "n", "l", "p"] {
            let expected = if keys.contains(key) { found(key, owner) } else { Err(NOT_FOUND) };
            assert_eq!(world.look(reader, key), expected, "{key} for {reader}");
        }
    }
    // The reader's own range narrows what it sees.
    let request = |range| DataRequest::Lookup { keys: vec!["d".to_owned()], range, wait: 0, timeout: None };
    let token = world.call(stranger, 1, request(Namespace));
    assert_eq!(world.answer(token), Some(Err(NOT_FOUND)));
}

#[test]
fn a_key_is_published_once_for_the_same_readers() {
    let mut world = World::new();
    assert!(world.publish(of(1, 0), "k", DataRange::Dvm, Persistence::App).is_ok());
    assert_eq!(world.publish(of(2, 0), "k", DataRange::Dvm, Persistence::App), Err(DUPLICATE_KEY));
    for proc in [of(1, 0), of(2, 0)] {
        assert!(world.publish(proc, "k", DataRange::Namespace, Persistence::App).is_ok());
    }
    let huge = vec![("huge".to_owned(), Bytes::from(vec![0; 65 << 20]))];
    let (range, persistence, access) = (DataRange::Dvm, Persistence::App, Access::default());
    let token = world.call(of(1, 0), 1, DataRequest::Publish { items: huge, range, persistence, access });
    assert_eq!(world.answer(token), Some(Err(OUT_OF_RESOURCE)));
}

#[test]
fn a_lookup_that_waits_is_answered_when_enough_is_there() {
    let mut world = World::new();
    let both = world.wait(of(2, 1), &["a", "b"], 2, 10);
    let one = world.wait(of(2, 0), &["a", "b"], 1, 0);
    assert_eq!(world.answer(both), None);
    assert!(world.publish(of(1, 0), "a", DataRange::Dvm, Persistence::App).is_ok());
    assert_eq!(world.answer(one), Some(found("a", of(1, 0))));
    assert_eq!(world.answer(both), None, "one key is missing");
    assert!(world.publish(of(1, 1), "b", DataRange::Dvm, Persistence::App).is_ok());
    let all = vec![("a".to_owned(), of(1, 0)), ("b".to_owned(), of(1, 1))];
    assert_eq!(world.answer(both), Some(Ok(all)));
    assert!(
        !world.dvm.timers.contains(&(DaemonRank::HEAD, Timer::Head(HeadTimer::Lookup(1)))),
        "its limit is forgotten"
    );
}

#[test]
fn a_lookup_waits_no_longer_than_its_limit() {
    let mut world = World::new();
    let token = world.wait(of(2, 1), &["never"], 1, 1);
    world.dvm.fire(0, Timer::Head(HeadTimer::Lookup(1)));
    assert_eq!(world.answer(token), Some(Err(TIMEOUT)));
    assert!(world.publish(of(1, 0), "never", DataRange::Dvm, Persistence::App).is_ok());
}

#[test]
fn what_is_for_one_reader_is_gone_after_it() {
    let mut world = World::new();
    let first = world.wait(of(2, 0), &["k"], 1, 0);
    let second = world.wait(of(2, 1), &["k"], 1, 0);
    assert!(world.publish(of(1, 0), "k", DataRange::Dvm, Persistence::FirstRead).is_ok());
    assert_eq!(world.answer(first), Some(found("k", of(1, 0))));
    assert_eq!(world.answer(second), None, "it waits for the next");
    assert!(world.publish(of(1, 0), "k", DataRange::Dvm, Persistence::FirstRead).is_ok());
    assert_eq!(world.answer(second), Some(found("k", of(1, 0))));
}

#[test]
fn who_may_not_read_is_told_so_and_only_the_owner_takes_back() {
    let mut world = World::new();
    assert!(world.publish(of(1, 0), "k", DataRange::Dvm, Persistence::App).is_ok());
    let lookup = DataRequest::Lookup { keys: vec!["k".to_owned()], range: DataRange::Dvm, wait: 1, timeout: None };
    let token = world.call(of(2, 0), 77, lookup.clone());
    assert_eq!(world.answer(token), Some(Err(NO_PERMISSIONS)), "and not: no such key");
    let unpublish = DataRequest::Unpublish { keys: vec!["k".to_owned()], range: None };
    world.call(of(1, 1), 1, unpublish.clone());
    assert_eq!(world.look(of(2, 0), "k"), found("k", of(1, 0)));
    world.call(of(1, 0), 1, unpublish);
    assert_eq!(world.look(of(2, 0), "k"), Err(NOT_FOUND));
    // A list takes the place of the owner's own ids.
    let (range, persistence) = (DataRange::Dvm, Persistence::App);
    let (items, access) = (vec![("l".to_owned(), Bytes::new())], Access { uids: Some(vec![77]), gids: None });
    world.call(of(1, 0), 1, DataRequest::Publish { items, range, persistence, access });
    assert_eq!(world.look(of(1, 0), "l"), Err(NO_PERMISSIONS));
    let lookup = DataRequest::Lookup { keys: vec!["l".to_owned()], range, wait: 0, timeout: None };
    let token = world.call(of(2, 0), 77, lookup);
    assert_eq!(world.answer(token), Some(found("l", of(1, 0))));
}

#[test]
fn what_is_published_goes_with_its_process_its_job_or_the_dvm() {
    let mut world = World::new();
    let all =
        [("p", Persistence::Proc), ("f", Persistence::FirstRead), ("a", Persistence::App), ("s", Persistence::Session)];
    for (key, persistence) in all {
        assert!(world.publish(of(1, 0), key, DataRange::Dvm, persistence).is_ok());
    }
    let left = |world: &mut World| {
        let mut left = String::new();
        for key in ["p", "a", "s"] {
            left.push_str(if world.look(of(2, 0), key).is_ok() { key } else { "" });
        }
        left
    };
    assert_eq!(left(&mut world), "pas");
    world.dvm.exit(of(1, 0), ExitStatus::Exited(0));
    assert_eq!(left(&mut world), "as");
    world.dvm.exit(of(1, 1), ExitStatus::Exited(0));
    assert_eq!(left(&mut world), "s");
    assert_eq!(world.look(of(2, 0), "f"), Err(NOT_FOUND));
}

/// Job 1 goes on after failures.
fn with_a_survivor(params: &[(&str, &str)]) -> World {
    let mut dvm = Cluster::build(4, params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    for (id, nodes) in [(1, ["n1", "n2"]), (2, ["n2", "n3"])] {
        let mut spec = job("a.out", 2);
        spec.options.recoverable = true;
        spec.apps[0].hosts.hosts = nodes.map(|name| HostRef::Host(HostEntry::named(name))).to_vec();
        dvm.submit(id, Submission::of(spec));
    }
    World { dvm, token: 0 }
}

#[test]
fn nothing_is_found_of_a_process_that_its_job_has_lost() {
    let shrink = |world: &mut World| {
        let request = ShrinkRequest { nodes: vec!["n1".to_owned()], wait: true, ..ShrinkRequest::default() };
        world.dvm.ask(9, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
    };
    let ways: [&dyn Fn(&mut World); 4] = [
        &|world| {
            shrink(world);
            world.dvm.fire(1, Timer::Daemon(DaemonTimer::Grace));
        },
        &|world| {
            shrink(world);
            world.dvm.crash(1);
        },
        &|world| world.dvm.crash(1),
        &|world| world.dvm.exit(of(1, 0), ExitStatus::Signaled(Signal::KILL)),
    ];
    for lose in ways {
        let mut world = with_a_survivor(&[("prte_elastic_mode", "1")]);
        for (key, persistence) in [("p", Persistence::Proc), ("a", Persistence::App), ("s", Persistence::Session)] {
            assert!(world.publish(of(1, 0), key, DataRange::Dvm, persistence).is_ok());
        }
        let waits = world.wait(of(1, 0), &["later"], 1, 0);
        lose(&mut world);
        assert!(!world.dvm.running.contains_key(&of(1, 0)) && world.dvm.running.contains_key(&of(1, 1)));
        assert_eq!(world.look(of(2, 1), "p"), Err(NOT_FOUND));
        assert_eq!(world.look(of(2, 1), "a"), Err(NOT_FOUND), "a port of nobody");
        assert_eq!(world.look(of(2, 1), "s"), found("s", of(1, 0)), "it was to stay whatever comes");
        assert!(world.publish(of(1, 1), "later", DataRange::Dvm, Persistence::FirstRead).is_ok());
        assert!(world.answer(waits).is_none_or(|answer| answer.is_err()));
        assert!(world.look(of(2, 1), "later").is_ok(), "nobody took it meanwhile");
    }
}

#[test]
fn a_job_that_goes_waits_for_nothing() {
    let mut world = World::new();
    let token = world.wait(of(1, 0), &["k"], 1, 30);
    world.dvm.exit_job(1);
    assert_eq!(world.answer(token), None);
    let told = |(_, effect): &&(DaemonRank, PmixEffect)| matches!(effect, PmixEffect::Reply { token: of, result: Err(_) } if of.0 == token);
    assert_eq!(world.dvm.pmix.iter().filter(told).count(), 1);
    assert!(!world.dvm.timers.iter().any(|(_, timer)| matches!(timer, Timer::Head(HeadTimer::Lookup(_)))));
    assert!(world.publish(of(2, 0), "k", DataRange::Dvm, Persistence::FirstRead).is_ok());
    assert!(world.look(of(2, 1), "k").is_ok(), "nobody took it meanwhile");
}

#[test]
fn jobs_that_have_heard_of_each_other_can_meet() {
    let mut world = World::new();
    assert!(world.publish(of(1, 0), "k", DataRange::Dvm, Persistence::App).is_ok());
    assert!(world.look(of(2, 1), "k").is_ok());
    let members = Members::of_jobs(vec![(JobId(1), vec![]), (JobId(2), vec![])]).expect("two");
    for at in 1..=3 {
        let (members, token) = (members.clone(), PmixToken(100 + u64::from(at)));
        world.dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(PmixCall::Connect { members, token })));
        world.dvm.run();
    }
    let well = |(_, effect): &&(DaemonRank, PmixEffect)| matches!(effect, PmixEffect::Reply { token, result: Ok(_) } if token.0 > 100);
    assert_eq!(world.dvm.pmix.iter().filter(well).count(), 3);
}

#[test]
fn what_goes_with_a_process_goes_although_others_of_its_node_go_on() {
    let mut world = World::new();
    let mut spec = job("a.out", 2);
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("n0"))];
    world.dvm.submit(3, Submission::of(spec));
    let (owner, other, reader) = (of(3, 0), of(3, 1), of(1, 0));
    for (key, persistence) in [("proc", Persistence::Proc), ("app", Persistence::App)] {
        assert_eq!(world.publish(owner, key, DataRange::Dvm, persistence), Ok(vec![]));
    }
    world.dvm.exit(owner, ExitStatus::Exited(0));
    assert!(world.dvm.running.contains_key(&other));
    assert_eq!(world.look(reader, "proc"), Err(NOT_FOUND));
    assert_eq!(world.look(reader, "app"), found("app", owner));
    world.dvm.exit(other, ExitStatus::Exited(0));
    assert_eq!(world.look(reader, "app"), Err(NOT_FOUND));
}
