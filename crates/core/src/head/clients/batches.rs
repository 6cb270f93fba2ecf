//! Batches: lists of jobs that belong to the DVM (spec L118 to L120). A process beside the head, which the driver
//! starts, submits the jobs and appends the records; it is a client like others. This machine knows which batches there
//! are and how far they are, starts that process again when it was killed, and lets clients follow the results.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{ExitStatus, Timestamp};
use ferrite_wire::control::{BatchCounts, BatchId, BatchOrder, BatchPiece, BatchStart, BatchStatus, Reply};

use crate::cx::Cx;
use crate::effect::{BatchEffect, Effect};
use crate::head::Head;
use crate::input::{BatchInput, RequestId};

/// The most batches that are not over.
const MOST_RUNNING: usize = 64;
/// The number of batches that are over and that the DVM remembers.
const KEPT: usize = 1_000;
/// The number of times that the process of a batch is started again.
const MOST_RESTARTS: u32 = 3;

/// The batches of a DVM.
#[derive(Debug, Default)]
pub(super) struct Batches {
    last: u32,
    all: BTreeMap<BatchId, Batch>,
    /// Requests that wait for results beyond an offset.
    waits: BTreeMap<RequestId, (BatchId, u64)>,
}

#[derive(Debug)]
struct Batch {
    status: BatchStatus,
    /// The submitter, until the process runs.
    submitter: Option<RequestId>,
    /// True when it was cancelled.
    cancelled: bool,
}

impl Batches {
    pub(super) fn forget(&mut self, request: RequestId) {
        self.waits.remove(&request);
    }

    fn running(&self) -> impl Iterator<Item = &Batch> {
        self.all.values().filter(|batch| batch.status.exit_code.is_none())
    }

    /// The oldest batches that are over and too many.
    fn surplus(&self) -> Vec<BatchId> {
        let over: Vec<BatchId> = self
            .all
            .values()
            .filter(|batch| batch.status.exit_code.is_some())
            .map(|batch| batch.status.batch)
            .collect();
        over.iter().take(over.len().saturating_sub(KEPT)).copied().collect()
    }
}

impl Head {
    /// Handles a request about batches (spec L118).
    pub(super) fn on_batch(&mut self, request: RequestId, order: BatchOrder, cx: &mut Cx) {
        match order {
            BatchOrder::Start(start) => self.start_batch(request, start, cx),
            BatchOrder::List => {
                let all = self.clients.batches.all.values().map(|batch| batch.status.clone()).collect();
                cx.reply(request, Reply::Batches(all));
            }
            BatchOrder::Cancel(id) => self.cancel_batch(request, id, cx),
            BatchOrder::Results { batch, offset, wait } => self.read_results(request, batch, offset, wait, cx),
            BatchOrder::Report { batch, counts } => self.note_counts(request, batch, counts, cx),
        }
    }

    fn start_batch(&mut self, request: RequestId, start: Box<BatchStart>, cx: &mut Cx) {
        if !self.config.persistent || self.dvm.is_ending() {
            return cx.reply(request, Reply::Refused("The DVM is ending and takes no batches.".to_owned()));
        }
        let batches = &mut self.clients.batches;
        if batches.running().count() >= MOST_RUNNING {
            let text =
                format!("{MOST_RUNNING} batches are not over: `pdvm batch list` shows them. Wait for one of them.");
            return cx.reply(request, Reply::Refused(text));
        }
        batches.last += 1;
        let id = BatchId(batches.last);
        let status = BatchStatus {
            batch: id,
            name: start.name.clone(),
            counts: BatchCounts::default(),
            results: String::new(),
            began_us: cx.now.0,
            ended_us: None,
            exit_code: None,
            restarts: 0,
        };
        batches.all.insert(id, Batch { status, submitter: Some(request), cancelled: false });
        cx.effect(Effect::Batch(BatchEffect::Start(id, start)));
    }

    /// Lets the process of a batch cancel everything; what is over is no error.
    fn cancel_batch(&mut self, request: RequestId, id: BatchId, cx: &mut Cx) {
        let Some(batch) = self.clients.batches.all.get_mut(&id) else { return cx.reply(request, no_such_batch(id)) };
        batch.cancelled = true;
        if batch.status.exit_code.is_none() {
            cx.effect(Effect::Batch(BatchEffect::Cancel(id)));
        }
        cx.reply(request, Reply::Ordered);
    }

    /// Reads results, or waits for them (spec L120).
    fn read_results(&mut self, request: RequestId, id: BatchId, offset: u64, wait: bool, cx: &mut Cx) {
        let Some(batch) = self.clients.batches.all.get(&id) else { return cx.reply(request, no_such_batch(id)) };
        let has_more = offset < batch.status.counts.bytes;
        if wait && !has_more && batch.status.exit_code.is_none() {
            self.clients.batches.waits.insert(request, (id, offset));
            return;
        }
        cx.effect(Effect::Batch(BatchEffect::Read { request, batch: id, offset }));
    }

    fn note_counts(&mut self, request: RequestId, id: BatchId, counts: BatchCounts, cx: &mut Cx) {
        let Some(batch) = self.clients.batches.all.get_mut(&id) else { return cx.reply(request, no_such_batch(id)) };
        batch.status.counts = counts;
        cx.reply(request, Reply::Ordered);
        self.serve_followers(id, cx);
    }

    /// Lets those read who wait for results of this batch.
    fn serve_followers(&mut self, id: BatchId, cx: &mut Cx) {
        let batches = &mut self.clients.batches;
        let Some(batch) = batches.all.get(&id) else { return };
        let (bytes, is_over) = (batch.status.counts.bytes, batch.status.exit_code.is_some());
        let due = |_: &RequestId, wait: &mut (BatchId, u64)| wait.0 == id && (is_over || wait.1 < bytes);
        for (request, (batch, offset)) in batches.waits.extract_if(.., due) {
            cx.effect(Effect::Batch(BatchEffect::Read { request, batch, offset }));
        }
    }

    /// Handles an event of a batch (spec L119).
    pub(in crate::head) fn on_batch_input(&mut self, input: BatchInput, cx: &mut Cx) {
        match input {
            BatchInput::Started(id, result) => self.on_batch_started(id, result, cx),
            BatchInput::Ended(id, status) => self.on_batch_ended(id, status, cx),
            BatchInput::Read { request, data: Err(why), .. } => cx.reply(request, Reply::Refused(why)),
            BatchInput::Read { request, batch, data: Ok(data) } => {
                let known = self.clients.batches.all.get(&batch);
                let over = known.and_then(|batch| batch.status.exit_code).filter(|_| data.is_empty());
                cx.reply(request, Reply::Results(BatchPiece { data, over }));
            }
        }
    }

    fn on_batch_started(&mut self, id: BatchId, result: Result<String, String>, cx: &mut Cx) {
        let Some(batch) = self.clients.batches.all.get_mut(&id) else { return };
        match (batch.submitter.take(), result) {
            (Some(request), Ok(results)) => {
                batch.status.results = results;
                let status = batch.status.clone();
                cx.reply(request, Reply::Batches(vec![status]));
                if self.dvm.is_ending() {
                    cx.effect(Effect::Batch(BatchEffect::Cancel(id)));
                }
            }
            (Some(request), Err(why)) => {
                self.clients.batches.all.remove(&id);
                cx.reply(request, Reply::Refused(why));
            }
            (None, Ok(_)) => {}
            (None, Err(why)) => {
                cx.notice(format!("The process of batch {id} was killed and cannot be started again: {why}."));
                self.finish_batch(id, 1, cx);
            }
        }
    }

    /// Starts the process again when a signal has ended it that nobody has asked for. It goes on with the tasks that
    /// have no record (spec L119).
    fn on_batch_ended(&mut self, id: BatchId, status: ExitStatus, cx: &mut Cx) {
        let is_ending = self.dvm.is_ending();
        let Some(batch) = self.clients.batches.all.get_mut(&id) else { return };
        let was_killed = matches!(status, ExitStatus::Signaled(_));
        if was_killed && !is_ending && batch.status.restarts < MOST_RESTARTS {
            batch.status.restarts += 1;
            cx.effect(Effect::Batch(BatchEffect::Restart(id)));
            if batch.cancelled {
                cx.effect(Effect::Batch(BatchEffect::Cancel(id)));
            }
            return;
        }
        self.finish_batch(id, status.code(), cx);
    }

    fn finish_batch(&mut self, id: BatchId, code: u8, cx: &mut Cx) {
        let Timestamp(now) = cx.now;
        if let Some(batch) = self.clients.batches.all.get_mut(&id) {
            batch.status.exit_code = Some(code);
            batch.status.ended_us = Some(now);
            batch.status.counts.open = 0;
        }
        self.serve_followers(id, cx);
        for old in self.clients.batches.surplus() {
            self.clients.batches.all.remove(&old);
            cx.effect(Effect::Batch(BatchEffect::Forget(old)));
        }
    }

    /// Lets the processes of all batches cancel everything, at the end of the DVM: each task gets its record.
    pub(in crate::head) fn end_batches(&mut self, cx: &mut Cx) {
        let running: BTreeSet<BatchId> = self.clients.batches.running().map(|batch| batch.status.batch).collect();
        running.into_iter().for_each(|id| cx.effect(Effect::Batch(BatchEffect::Cancel(id))));
    }

    /// Answers everybody who waits for a batch, at the end of the DVM (spec L39).
    pub(super) fn give_up_batches(&mut self, cx: &mut Cx) {
        let batches = &mut self.clients.batches;
        let submitters = batches.all.values_mut().filter_map(|batch| batch.submitter.take());
        let waiting = std::mem::take(&mut batches.waits).into_keys();
        for request in submitters.chain(waiting) {
            cx.reply(request, Reply::Refused("The DVM is ending.".to_owned()));
        }
    }
}

fn no_such_batch(id: BatchId) -> Reply {
    Reply::Refused(format!("There is no batch {id}; `pdvm batch list` lists them."))
}
