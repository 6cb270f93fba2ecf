//! Pulls of a job's output beside its submitter (spec L75): everything for all of them, at the pace of the slowest,
//! and who takes nothing is cut off.

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, Effect, Effects, HeadInput, HeadTimer, Input, RequestId, Timer};
use ferrite_types::*;
use ferrite_wire::Stream;
use ferrite_wire::control::{Reply, Request, Submission};

const PROC: ProcId = ProcId { job: JobId(1), rank: Rank(0) };

/// A job of request 1 whose output requests 2 and 3 pull.
fn pulled(detached: bool) -> Cluster {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission { detach: detached, ..Submission::of(job("loud", 1)) });
    for id in [2, 3] {
        dvm.ask(id, Request::Pull(JobId(1)));
        assert!(dvm.started.contains(&(RequestId(id), Ok(()))), "it has begun");
    }
    dvm
}

fn write(dvm: &mut Cluster, text: &[u8]) {
    let data = bytes::Bytes::copy_from_slice(text);
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Output { proc: PROC, stream: Stream::Stdout, data }));
    dvm.run();
}

/// True when the daemon reads on after one more piece: the window has room.
fn reads_on(dvm: &mut Cluster) -> bool {
    let mut fx = Effects::new();
    let output = Input::Daemon(DaemonInput::Output { proc: PROC, stream: Stream::Stdout, data: "x\n".into() });
    dvm.nodes.get_mut(&DaemonRank::HEAD).expect("the head is there").handle(Timestamp(2), output, &mut fx);
    fx.as_slice().iter().any(|e| matches!(e, Effect::ReadOutput { .. }))
}

/// Lets those readers take what they have, and the others nothing.
fn take(dvm: &mut Cluster, readers: &[u64]) {
    let is_theirs = |input: &Input| match input {
        Input::Head(HeadInput::OutputWritten(account)) => {
            account.share.is_some_and(|share| readers.contains(&share.reader.0))
        }
        _ => false,
    };
    let (theirs, rest) = std::mem::take(&mut dvm.withheld).into_iter().partition(|(_, input)| is_theirs(input));
    dvm.withheld = rest;
    let theirs: Vec<_> = theirs;
    theirs.into_iter().for_each(|(at, input)| dvm.input(at, input));
    dvm.run();
}

/// The pull ends with the job (spec L75).
#[test]
fn a_pull_gets_what_is_written_from_then_on_and_ends_with_the_job() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission::of(job("a", 1)));
    write(&mut dvm, b"early\n");
    dvm.ask(2, Request::Pull(JobId(1)));
    write(&mut dvm, b"late\n");
    assert_eq!((dvm.stdout_of(1).as_str(), dvm.stdout_of(2).as_str()), ("early\nlate\n", "late\n"));
    assert_eq!(dvm.replies.len(), 0);
    dvm.exit_job(1);
    assert_eq!((dvm.code_of(1), dvm.reply(2)), (0, &Reply::Ordered));
}

#[test]
fn a_pull_of_a_job_without_a_submitter_gets_its_output_too() {
    let mut dvm = pulled(true);
    write(&mut dvm, b"one\n");
    assert_eq!((dvm.stdout_of(2), dvm.stdout_of(3)), ("one\n".into(), "one\n".into()));
    assert!(reads_on(&mut dvm));
}

#[test]
fn a_pull_of_a_job_that_is_not_there_is_refused() {
    let mut dvm = Cluster::persistent(1);
    dvm.ask(2, Request::Pull(JobId(7)));
    assert!(matches!(dvm.reply(2), Reply::Refused(text) if text.contains("no job 7")));
}

#[test]
fn the_slowest_of_all_readers_sets_the_pace() {
    let mut dvm = pulled(false);
    dvm.flowing = false;
    write(&mut dvm, &[b'\n'; 8 << 20]);
    take(&mut dvm, &[1, 2]);
    assert!(!reads_on(&mut dvm), "one has not taken it");
    dvm.run();
    take(&mut dvm, &[1, 2, 3]);
    assert!(reads_on(&mut dvm), "all have");
}

/// It is cut off, and the others go on (spec L75).
#[test]
fn a_pull_that_takes_nothing_is_cut_off_and_stops_nobody() {
    let mut dvm = pulled(false);
    dvm.flowing = false;
    write(&mut dvm, &[b'\n'; 8 << 20]);
    take(&mut dvm, &[1, 2]);
    for _ in 0..4 {
        dvm.fire(0, Timer::Head(HeadTimer::Pulls(JobId(1))));
        assert!(dvm.replies.is_empty(), "it has ten seconds");
    }
    dvm.fire(0, Timer::Head(HeadTimer::Pulls(JobId(1))));
    assert!(matches!(dvm.reply(3), Reply::Refused(text) if text.contains("Nobody has read")));
    assert_eq!(dvm.replies.len(), 1, "the others go on");
    assert!(reads_on(&mut dvm));
    // Later receipts give no credit a second time.
    dvm.run();
    take(&mut dvm, &[1, 2, 3]);
    dvm.exit_job(1);
    assert_eq!((dvm.code_of(1), dvm.reply(2)), (0, &Reply::Ordered));
}

#[test]
fn a_pull_whose_client_goes_away_holds_nothing_back() {
    let mut dvm = pulled(false);
    dvm.flowing = false;
    write(&mut dvm, &[b'\n'; 8 << 20]);
    take(&mut dvm, &[1, 2]);
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(3))));
    dvm.run();
    assert!(reads_on(&mut dvm));
    assert!(dvm.running.contains_key(&PROC), "the job goes on");
}
