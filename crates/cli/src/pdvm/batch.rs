//! `pdvm batch`: the batches of the DVM, their records, and their end.

use std::io::{self, Write};

use ferrite_client::Source;
use ferrite_wire::control::{BatchId, BatchOrder, BatchPiece, BatchStatus, Reply, Request};

use super::dvm::{Dvm, WaitingDvm};
use super::failure::Failure;
use super::json::{self, BatchOrdered};
use super::moment::Moment;
use super::options::BatchVerb;
use super::put;
use super::text::{Side, Table, duration, or_none, plain};

/// Carries out a verb; returns the exit code (spec L118).
pub(super) fn answer(mut dvm: Dvm, verb: &BatchVerb, json: bool) -> Result<i32, Failure> {
    match verb {
        BatchVerb::List => {
            let (_, moment) = dvm.status()?;
            let batches = dvm.batches()?;
            put(&if json { to_json(&batches, &moment) } else { render(&batches, &moment) })?;
            Ok(0)
        }
        BatchVerb::Cancel(of) => {
            dvm.order(Request::Batch(BatchOrder::Cancel(of.batch)))?;
            let (_, moment) = dvm.status()?;
            put(&confirmed(of.batch, json, &moment))?;
            Ok(0)
        }
        BatchVerb::Results(of) => read(dvm, of.batch, false),
        BatchVerb::Attach(of) => read(dvm, of.batch, true),
    }
}

/// Prints records, and with `wait` those that come until the batch is over; returns its exit code then.
fn read(dvm: Dvm, batch: BatchId, wait: bool) -> Result<i32, Failure> {
    records(dvm, batch, wait, |records| {
        let mut out = io::stdout().lock();
        match out.write_all(records).and_then(|()| out.flush()) {
            // Its reader has seen enough.
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(cause) => Err(Failure::Output(cause)),
            Ok(()) => Ok(true),
        }
    })
}

/// Passes records on, whole lines at a time, until `take` wants no more; with `wait` those as well that come until the
/// batch is over, whose exit code is returned then.
pub(super) fn records(
    dvm: Dvm,
    batch: BatchId,
    wait: bool,
    mut take: impl FnMut(&[u8]) -> Result<bool, Failure>,
) -> Result<i32, Failure> {
    let mut dvm = WaitingDvm::of(dvm, Source::empty())?;
    let mut offset = 0;
    // A record that is being written is passed on when it is whole.
    let mut rest = Vec::new();
    loop {
        let piece = match dvm.ask(Request::Batch(BatchOrder::Results { batch, offset, wait }))? {
            Reply::Results(piece) => piece,
            _ => return Err(dvm.astray()),
        };
        let BatchPiece { data, over } = piece;
        offset += data.len() as u64;
        rest.extend_from_slice(&data);
        let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let records: Vec<u8> = rest.drain(..whole).collect();
        if !take(&records)? {
            return Ok(0);
        }
        match over {
            Some(code) if wait => return Ok(code.into()),
            Some(_) => return Ok(0),
            None if data.is_empty() && !wait => return Ok(0),
            None => {}
        }
    }
}

fn render(batches: &[BatchStatus], moment: &Moment) -> String {
    if batches.is_empty() {
        return "There is no batch; `prun --batch LIST --detach` submits one.\n".to_owned();
    }
    let columns = [
        ("BATCH", Side::Left),
        ("STATE", Side::Left),
        ("TASKS", Side::Right),
        ("ENDED", Side::Right),
        ("FAILED", Side::Right),
        ("OPEN", Side::Right),
        ("EXIT", Side::Right),
        ("SUBMITTED", Side::Right),
        ("FOR", Side::Right),
        ("LIST", Side::Left),
        ("RESULTS", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for status in batches {
        let end = status.ended_us.unwrap_or(moment.dvm_us);
        table.row(vec![
            status.batch.to_string(),
            if status.exit_code.is_some() { "over" } else { "running" }.to_owned(),
            status.counts.tasks.to_string(),
            status.counts.ended.to_string(),
            status.counts.failed.to_string(),
            status.counts.open.to_string(),
            or_none(status.exit_code),
            moment.short(status.began_us),
            duration(end.saturating_sub(status.began_us)),
            plain(&status.name),
            plain(&status.results),
        ]);
    }
    table.render()
}

fn to_json(batches: &[BatchStatus], moment: &Moment) -> String {
    json::document("batches", moment, json::Batches { batches: batches.iter().map(json::Batch::of).collect() })
}

fn confirmed(batch: BatchId, json: bool, moment: &Moment) -> String {
    if json {
        return json::document("batch_ordered", moment, BatchOrdered { order: "cancel", batch: batch.0 });
    }
    format!("Batch {batch} is being ended, unless it is over.\n")
}

#[cfg(test)]
mod tests {
    use ferrite_wire::control::BatchCounts;

    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn batches_that_run_and_are_over() {
        let runs = BatchStatus {
            batch: BatchId(2),
            name: "fit.jsonl".to_owned(),
            counts: BatchCounts { tasks: 10_000, ended: 4_321, failed: 2, open: 256, bytes: 900_000 },
            results: "/tmp/prte.1/batches/2/results".to_owned(),
            began_us: 100_000_000,
            ended_us: None,
            exit_code: None,
            restarts: 1,
        };
        let over = BatchStatus {
            batch: BatchId(1),
            counts: BatchCounts { tasks: 3, ended: 3, ..BatchCounts::default() },
            ended_us: Some(101_000_000),
            exit_code: Some(0),
            ..runs.clone()
        };
        insta::assert_snapshot!(render(&[over.clone(), runs.clone()], &samples::moment()));
        insta::assert_snapshot!(to_json(&[over, runs], &samples::moment()));
        assert!(render(&[], &samples::moment()).contains("--detach"));
    }
}
