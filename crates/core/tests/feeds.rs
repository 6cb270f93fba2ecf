//! Standard input from a client that feeds a job whose input is nobody's (spec L146).

mod common;

use bytes::Bytes;
use common::{Cluster, job};
use ferrite_core::{DaemonInput, HeadInput, Input, PmixCall, PmixToken, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};

fn give(dvm: &mut Cluster, request: u64, data: &'static str) {
    let stdin = HeadInput::Stdin { request: RequestId(request), data: Bytes::from(data) };
    dvm.input(DaemonRank::HEAD, Input::Head(stdin));
    dvm.run();
}

fn leave(dvm: &mut Cluster, request: u64) {
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(request))));
    dvm.run();
}

fn given(dvm: &Cluster, proc: ProcId) -> String {
    let given = dvm.stdin_given.get(&proc).map(Vec::as_slice);
    String::from_utf8_lossy(given.unwrap_or_default()).into_owned()
}

/// A DVM of two nodes with a detached job that has these readers.
fn detached(stdin: Option<StdinTarget>) -> Cluster {
    let mut dvm = Cluster::persistent(2);
    let mut spec = job("cat", 2);
    spec.stdin = stdin;
    dvm.submit(1, Submission { detach: true, ..Submission::of(spec) });
    dvm
}

const FIRST: ProcId = ProcId { job: JobId(1), rank: Rank(0) };
const SECOND: ProcId = ProcId { job: JobId(1), rank: Rank(1) };

/// (spec L146)
#[test]
fn a_detached_job_with_readers_takes_input_until_its_end() {
    let mut dvm = detached(Some(StdinTarget::All));
    assert_eq!(dvm.stdin_reads, 0, "nobody feeds it yet");
    assert!(dvm.stdin_closed.is_empty(), "and its input is open");
    dvm.ask(2, Request::Feed { job: JobId(1), ranks: Vec::new() });
    assert!(dvm.started.contains(&(RequestId(2), Ok(()))), "it has begun");
    assert_eq!(dvm.stdin_reads, 1);
    give(&mut dvm, 2, "abc");
    assert_eq!((given(&dvm, FIRST).as_str(), given(&dvm, SECOND).as_str()), ("abc", "abc"));
    give(&mut dvm, 2, "");
    assert_eq!(dvm.stdin_closed.iter().copied().collect::<Vec<_>>(), [FIRST, SECOND]);
    assert_eq!(dvm.reply(2), &Reply::Ordered);
    dvm.ask(3, Request::Feed { job: JobId(1), ranks: Vec::new() });
    assert!(matches!(dvm.reply(3), Reply::Refused(text) if text.contains("has ended already")));
}

#[test]
fn who_goes_away_leaves_the_input_open_for_the_next() {
    let mut dvm = detached(Some(StdinTarget::Rank(Rank(1))));
    dvm.ask(2, Request::Feed { job: JobId(1), ranks: Vec::new() });
    dvm.ask(3, Request::Feed { job: JobId(1), ranks: Vec::new() });
    dvm.ask(4, Request::Feed { job: JobId(1), ranks: Vec::new() });
    dvm.ask(5, Request::Feed { job: JobId(1), ranks: Vec::new() });
    give(&mut dvm, 3, "out of turn");
    give(&mut dvm, 2, "one ");
    leave(&mut dvm, 3);
    leave(&mut dvm, 2);
    give(&mut dvm, 2, "too late");
    give(&mut dvm, 4, "two");
    give(&mut dvm, 4, "");
    assert_eq!((given(&dvm, FIRST).as_str(), given(&dvm, SECOND).as_str()), ("", "one two"));
    assert!(dvm.stdin_closed.contains(&SECOND));
    assert_eq!(dvm.reply(4), &Reply::Ordered);
    assert!(matches!(dvm.reply(5), Reply::Refused(text) if text.contains("has ended already")));
}

/// (spec L146)
#[test]
fn a_job_that_takes_no_input_refuses_it_by_name() {
    let mut dvm = detached(None);
    assert!(!dvm.running[&FIRST].1.stdin, "it has none, as it was not asked for");
    dvm.submit(5, Submission::of(job("cat", 1)));
    for (id, job, says) in [
        (2, 1, "has no standard input: it was neither submitted with --detach and --stdin"),
        (3, 2, "The standard input of job 2 is that of its submitter."),
        (4, 7, "no job 7"),
    ] {
        dvm.ask(id, Request::Feed { job: JobId(job), ranks: Vec::new() });
        assert!(matches!(dvm.reply(id), Reply::Refused(text) if text.contains(says)), "{:?}", dvm.reply(id));
    }
}

/// A piece goes to all readers (spec L146).
#[test]
fn who_names_ranks_that_do_not_read_is_refused() {
    let ask = |stdin, ranks: &[u32]| {
        let mut dvm = detached(Some(stdin));
        let ranks = ranks.iter().copied().map(Rank).collect();
        dvm.ask(2, Request::Feed { job: JobId(1), ranks });
        dvm.replies.iter().find(|(id, _)| *id == RequestId(2)).map(|(_, reply)| reply.clone())
    };
    assert_eq!(ask(StdinTarget::Rank(Rank(0)), &[0]), None, "it feeds");
    let refused = |text: &str| Some(Reply::Refused(format!("The standard input of job 1 is read by {text}.")));
    assert_eq!(ask(StdinTarget::Rank(Rank(0)), &[0, 1]), refused("rank 0 alone"));
    assert_eq!(ask(StdinTarget::Rank(Rank(0)), &[1]), refused("rank 0 alone"));
    assert_eq!(ask(StdinTarget::All, &[0]), refused("all of its ranks alike"));
}

#[test]
fn a_job_that_ends_first_says_that_input_was_left() {
    let mut dvm = detached(Some(StdinTarget::All));
    dvm.ask(2, Request::Feed { job: JobId(1), ranks: Vec::new() });
    dvm.exit_job(1);
    assert!(matches!(dvm.reply(2), Reply::Refused(text) if text.contains("is over, and has not taken all")));
    give(&mut dvm, 2, "late");
    assert_eq!(given(&dvm, FIRST), "");
}

/// The head asks for input when the job has readers, and for none before.
#[test]
fn input_for_a_job_that_waits_for_slots_is_read_when_it_runs() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission::of(job("busy", 4)));
    let mut spec = job("cat", 1);
    spec.stdin = Some(StdinTarget::Rank(Rank(0)));
    dvm.submit(2, Submission { detach: true, wait_for_slots: true, ..Submission::of(spec) });
    let before = dvm.stdin_reads;
    dvm.ask(3, Request::Feed { job: JobId(2), ranks: Vec::new() });
    assert_eq!(dvm.stdin_reads, before);
    dvm.exit_job(1);
    assert_eq!(dvm.stdin_reads, before + 1);
    give(&mut dvm, 3, "abc");
    assert_eq!(given(&dvm, ProcId { job: JobId(2), rank: Rank(0) }), "abc");
}

/// The child's input is not that of the submitter (spec L146).
#[test]
fn a_spawned_job_with_readers_is_fed_and_takes_nothing_of_the_submitter() {
    let mut dvm = Cluster::persistent(2);
    let mut parent = job("parent", 1);
    parent.stdin = Some(StdinTarget::None);
    dvm.submit(1, Submission::of(parent));
    let mut child = job("child", 1);
    child.stdin = Some(StdinTarget::Rank(Rank(0)));
    let at = dvm.running[&FIRST].0;
    let spawn = PmixCall::Spawn { proc: FIRST, submission: Box::new(Submission::of(child)), token: PmixToken(1) };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(spawn)));
    dvm.run();
    let child = ProcId { job: JobId(2), rank: Rank(0) };
    assert!(dvm.running[&child].1.stdin);
    assert_eq!(dvm.stdin_reads, 0, "nothing is read from the submitter");
    give(&mut dvm, 1, "of the submitter");
    dvm.ask(3, Request::Feed { job: JobId(2), ranks: Vec::new() });
    give(&mut dvm, 3, "abc");
    assert_eq!(given(&dvm, child), "abc");
}

/// The slowest reader sets the pace for a feeder too.
#[test]
fn a_feeder_waits_for_readers_that_take_nothing() {
    let mut dvm = detached(Some(StdinTarget::All));
    dvm.ask(2, Request::Feed { job: JobId(1), ranks: Vec::new() });
    dvm.flowing = false;
    let mut reads = 0;
    while dvm.stdin_reads > reads {
        reads = dvm.stdin_reads;
        let data = Bytes::from(vec![0; 128 * 1024]);
        dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Stdin { request: RequestId(2), data }));
        dvm.run();
    }
    assert!(reads < 20, "the window closed after {reads} reads");
}
