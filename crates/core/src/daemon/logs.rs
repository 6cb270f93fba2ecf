//! `PMIx_Log` of local processes and tools: the channels of a call take their texts one after the other. Output goes
//! its usual way; the driver writes to the logs of this node, and the head to those of the DVM.

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_types::{JobId, PmixStatus};
use ferrite_wire::{EventSource, HeadMessage, LogRecord};

use super::{Daemon, after};
use crate::cx::Cx;
use crate::pmix_status::{
    PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_OUT_OF_RESOURCE,
    PMIX_ERR_PARTIAL_SUCCESS, PMIX_ERR_TIMEOUT,
};
use crate::{DaemonTimer, Effect, LogCall, LogId, LogStep, PmixEffect, PmixToken};

/// The time that a log has for its answer (milliseconds). The head gives a mail program half of it.
const LIMIT_MS: u64 = 60_000;
/// Calls of one process or tool that may wait for logs at a time.
const MOST_OPEN: usize = 64;
/// Bytes of text of these calls.
const MOST_BYTES: usize = 4 << 20;

/// Calls that wait for logs, by the number of the present question. Each channel has a question of its own.
#[derive(Debug, Default)]
pub(super) struct Logs {
    next: u64,
    open: BTreeMap<u64, Open>,
    /// Calls that wait, and their bytes.
    waiting: BTreeMap<EventSource, (usize, usize)>,
}

/// A call that is not answered yet.
#[derive(Debug)]
struct Open {
    call: LogCall,
    token: PmixToken,
    /// Bytes of its texts when it came.
    bytes: usize,
    /// True when a channel has taken its text.
    is_taken: bool,
}

impl Open {
    /// The answer when no channel is left.
    fn result(&self) -> Result<Bytes, PmixStatus> {
        match (self.is_taken, self.call.refused) {
            (true, None) => Ok(Bytes::new()),
            (true, Some(_)) if self.call.once => Ok(Bytes::new()),
            (true, Some(_)) => Err(PMIX_ERR_PARTIAL_SUCCESS),
            (false, refused) => Err(refused.unwrap_or(PMIX_ERR_NOT_SUPPORTED)),
        }
    }

    /// Notes what the present channel has answered.
    fn note(&mut self, result: Result<(), PmixStatus>) {
        match result {
            Ok(()) => self.is_taken = true,
            Err(status) => self.call.refused = Some(status),
        }
    }
}

impl Logs {
    /// Counts a call of a source that may wait. False when too many of its calls wait already.
    fn enter(&mut self, source: &EventSource, bytes: usize) -> bool {
        let (calls, all) = self.waiting.get(source).copied().unwrap_or_default();
        let has_room = calls == 0 || (calls < MOST_OPEN && all.saturating_add(bytes) <= MOST_BYTES);
        if has_room {
            self.waiting.insert(source.clone(), (calls + 1, all + bytes));
        }
        has_room
    }

    fn leave(&mut self, source: &EventSource, bytes: usize) {
        if let Some((calls, all)) = self.waiting.get_mut(source) {
            (*calls, *all) = (*calls - 1, *all - bytes);
            if *calls == 0 {
                self.waiting.remove(source);
            }
        }
    }
}

impl Daemon {
    /// Handles a call of `PMIx_Log` (spec L100, L134).
    pub(super) fn on_log(&mut self, call: LogCall, token: PmixToken, cx: &mut Cx) {
        let bytes = call.steps.iter().map(size).sum();
        let is_there = match call.source {
            EventSource::Proc(proc) => self.proc(proc).is_some_and(|local| !local.state.has_ended()),
            EventSource::Tool(_) => true,
            EventSource::Dvm => false,
        };
        let result = match is_there {
            false => Err(PMIX_ERR_NOT_FOUND),
            true if self.logs.enter(&call.source, bytes) => Ok(()),
            true => Err(PMIX_ERR_OUT_OF_RESOURCE),
        };
        match result {
            Ok(()) => self.log_on(Open { call, token, bytes, is_taken: false }, cx),
            Err(status) => cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(status) })),
        }
    }

    /// Gives the next channels of a call their texts, until one of them has to be waited for.
    fn log_on(&mut self, mut open: Open, cx: &mut Cx) {
        while !(open.call.once && open.is_taken) {
            let Some(step) = open.call.steps.pop_front() else { break };
            let (entry, is_here) = match (step, &open.call.source) {
                (LogStep::Show(stream, text), EventSource::Proc(proc)) => {
                    let result = self.show_logged(*proc, stream, open.call.form, text, cx);
                    open.note(result);
                    continue;
                }
                // A tool has no output here.
                (LogStep::Show(..), _) => {
                    open.note(Err(PMIX_ERR_NOT_SUPPORTED));
                    continue;
                }
                (LogStep::Here(entry), _) => (entry, true),
                (LogStep::AtHead(entry), _) => (entry, false),
            };
            let record = Box::new(LogRecord { source: open.call.source.clone(), time_s: open.call.time_s, entry });
            self.logs.next += 1;
            let id = self.logs.next;
            self.logs.open.insert(id, open);
            cx.set_timer(DaemonTimer::Log(id), after(cx.now, LIMIT_MS));
            match is_here {
                true => cx.effect(Effect::Log { id: LogId::Daemon(id), record }),
                false => cx.send_head(HeadMessage::Log { id, record }),
            }
            return;
        }
        let result = open.result();
        self.answer_log(open, result, cx);
    }

    /// Handles the answer of a log.
    pub(super) fn on_logged(&mut self, id: u64, result: Result<(), PmixStatus>, cx: &mut Cx) {
        // A late answer has no call any more.
        if let Some(mut open) = self.take_log(id, cx) {
            open.note(result);
            // The process may have ended meanwhile, and its job may be gone.
            let is_gone = matches!(open.call.source, EventSource::Proc(proc) if self.proc(proc).is_none());
            match is_gone {
                true => self.answer_log(open, Err(PMIX_ERR_LOST_CONNECTION), cx),
                false => self.log_on(open, cx),
            }
        }
    }

    /// Ends a call whose log has not answered in time: nobody knows whether it has the text.
    pub(super) fn on_log_deadline(&mut self, id: u64, cx: &mut Cx) {
        if let Some(open) = self.take_log(id, cx) {
            self.answer_log(open, Err(PMIX_ERR_TIMEOUT), cx);
        }
    }

    /// Ends the calls of a job that is gone.
    pub(super) fn drop_logs(&mut self, job: JobId, cx: &mut Cx) {
        let of_job = |open: &Open| matches!(open.call.source, EventSource::Proc(proc) if proc.job == job);
        let gone: Vec<u64> = self.logs.open.iter().filter(|(_, open)| of_job(open)).map(|(id, _)| *id).collect();
        for id in gone {
            if let Some(open) = self.take_log(id, cx) {
                self.answer_log(open, Err(PMIX_ERR_LOST_CONNECTION), cx);
            }
        }
    }

    fn take_log(&mut self, id: u64, cx: &mut Cx) -> Option<Open> {
        let open = self.logs.open.remove(&id)?;
        cx.cancel_timer(DaemonTimer::Log(id));
        Some(open)
    }

    fn answer_log(&mut self, open: Open, result: Result<Bytes, PmixStatus>, cx: &mut Cx) {
        self.logs.leave(&open.call.source, open.bytes);
        cx.effect(Effect::Pmix(PmixEffect::Reply { token: open.token, result }));
    }
}

fn size(step: &LogStep) -> usize {
    match step {
        LogStep::Show(_, text) => text.len(),
        LogStep::Here(entry) | LogStep::AtHead(entry) => entry.size(),
    }
}
