//! Lists of jobs that belong to the DVM: what the machine asks of the driver, and who hears of the results.

mod common;

use common::Cluster;
use ferrite_core::{BatchEffect, BatchInput, HeadInput, Input, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{BatchCounts, BatchId, BatchOrder, BatchPiece, BatchStart, BatchStatus, Reply, Request};

const FIRST: BatchId = BatchId(1);

fn start() -> Request {
    Request::Batch(BatchOrder::Start(Box::new(BatchStart {
        name: "list".to_owned(),
        list: "true\n".into(),
        options: Vec::new(),
        results: None,
        env: Vec::new(),
        cwd: "/".to_owned(),
    })))
}

fn input(dvm: &mut Cluster, input: BatchInput) {
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Batch(input)));
    dvm.run();
}

/// A DVM with a batch that runs.
fn with_batch() -> Cluster {
    let mut dvm = Cluster::persistent(1);
    dvm.ask(1, start());
    assert!(matches!(dvm.batches.pop(), Some(BatchEffect::Start(FIRST, _))));
    assert!(dvm.replies.is_empty(), "it is not known yet whether it can be started");
    input(&mut dvm, BatchInput::Started(FIRST, Ok("/results".to_owned())));
    dvm
}

fn report(dvm: &mut Cluster, id: u64, ended: u64, bytes: u64) {
    let counts = BatchCounts { tasks: 9, ended, failed: 0, open: 1, bytes };
    dvm.ask(id, Request::Batch(BatchOrder::Report { batch: FIRST, counts }));
}

fn status(dvm: &mut Cluster, id: u64) -> BatchStatus {
    dvm.ask(id, Request::Batch(BatchOrder::List));
    match dvm.reply(id) {
        Reply::Batches(all) => all[0].clone(),
        other => panic!("{other:?}"),
    }
}

/// Its number comes when its process runs (spec L118).
#[test]
fn a_batch_is_answered_when_its_process_runs_and_goes_on_without_its_client() {
    let mut dvm = with_batch();
    assert!(matches!(dvm.reply(1), Reply::Batches(all) if all.len() == 1 && all[0].results == "/results"));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(1))));
    dvm.run();
    assert!(dvm.batches.is_empty());
    report(&mut dvm, 2, 4, 100);
    assert_eq!((status(&mut dvm, 3).counts.ended, status(&mut dvm, 4).exit_code), (4, None));
    input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Exited(1)));
    assert_eq!(status(&mut dvm, 5).exit_code, Some(1));
}

#[test]
fn a_batch_that_cannot_be_started_is_refused_and_not_listed() {
    let mut dvm = Cluster::persistent(1);
    dvm.ask(1, start());
    input(&mut dvm, BatchInput::Started(FIRST, Err("no directory".to_owned())));
    assert_eq!(dvm.reply(1), &Reply::Refused("no directory".to_owned()));
    dvm.ask(2, Request::Batch(BatchOrder::List));
    assert_eq!(dvm.reply(2), &Reply::Batches(Vec::new()));
    dvm.ask(3, Request::Batch(BatchOrder::Cancel(FIRST)));
    assert!(matches!(dvm.reply(3), Reply::Refused(text) if text.starts_with("There is no batch b1")));
}

/// Nobody has asked for that end (spec L119).
#[test]
fn a_process_that_is_killed_is_started_again_three_times() {
    let mut dvm = with_batch();
    for restarts in 1..=3 {
        input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Signaled(Signal(9))));
        assert_eq!(dvm.batches.pop(), Some(BatchEffect::Restart(FIRST)));
        input(&mut dvm, BatchInput::Started(FIRST, Ok("/results".to_owned())));
        assert_eq!(
            (status(&mut dvm, 10 + restarts).exit_code, u64::from(status(&mut dvm, 20 + restarts).restarts)),
            (None, restarts)
        );
    }
    input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Signaled(Signal(9))));
    assert!(dvm.batches.is_empty());
    assert_eq!(status(&mut dvm, 30).exit_code, Some(137));
}

#[test]
fn a_cancelled_batch_that_is_killed_goes_on_with_being_cancelled() {
    let mut dvm = with_batch();
    dvm.ask(2, Request::Batch(BatchOrder::Cancel(FIRST)));
    input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Signaled(Signal(9))));
    let cancel = BatchEffect::Cancel(FIRST);
    assert_eq!(dvm.batches, [cancel.clone(), BatchEffect::Restart(FIRST), cancel]);
    input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Exited(1)));
    dvm.batches.clear();
    dvm.ask(3, Request::Batch(BatchOrder::Cancel(FIRST)));
    assert_eq!((dvm.reply(3), dvm.batches.len()), (&Reply::Ordered, 0), "it is over, which is no error");
}

/// One answer, when there is something to read (spec L120).
#[test]
fn results_are_read_at_once_or_when_there_are_more() {
    let mut dvm = with_batch();
    let ask = |dvm: &mut Cluster, id: u64, offset: u64, wait: bool| {
        dvm.ask(id, Request::Batch(BatchOrder::Results { batch: FIRST, offset, wait }));
        std::mem::take(&mut dvm.batches)
    };
    let read = |id: u64, offset: u64| BatchEffect::Read { request: RequestId(id), batch: FIRST, offset };
    assert_eq!(ask(&mut dvm, 2, 0, false), [read(2, 0)]);
    report(&mut dvm, 3, 1, 100);
    assert_eq!(ask(&mut dvm, 4, 99, true), [read(4, 99)]);
    assert_eq!(ask(&mut dvm, 5, 100, true), []);
    assert_eq!(ask(&mut dvm, 6, 100, true), []);
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(6))));
    report(&mut dvm, 7, 1, 100);
    assert_eq!(dvm.batches, [], "nothing has come");
    report(&mut dvm, 8, 2, 150);
    assert_eq!(std::mem::take(&mut dvm.batches), [read(5, 100)]);
    assert_eq!(ask(&mut dvm, 9, 150, true), []);
    input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Exited(0)));
    assert_eq!(std::mem::take(&mut dvm.batches), [read(9, 150)]);
    for (data, over) in [("more", None), ("", Some(0))] {
        let piece = BatchInput::Read { request: RequestId(9), batch: FIRST, data: Ok(data.into()) };
        dvm.replies.clear();
        input(&mut dvm, piece);
        assert_eq!(dvm.reply(9), &Reply::Results(BatchPiece { data: data.into(), over }));
    }
}

/// Every request has its answer (spec L39).
#[test]
fn the_end_of_the_dvm_cancels_batches_and_answers_those_who_wait() {
    let mut dvm = with_batch();
    dvm.ask(2, Request::Batch(BatchOrder::Results { batch: FIRST, offset: 0, wait: true }));
    dvm.ask(3, Request::Terminate);
    dvm.run();
    assert_eq!(dvm.batches, [BatchEffect::Cancel(FIRST)]);
    assert!(matches!(dvm.reply(2), Reply::Refused(_)));
    dvm.batches.clear();
    input(&mut dvm, BatchInput::Ended(FIRST, ExitStatus::Signaled(Signal(9))));
    assert_eq!(dvm.batches, [], "it is not started again");
}
