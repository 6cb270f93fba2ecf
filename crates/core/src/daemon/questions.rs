//! Questions of local processes to the head: to start a job, to publish data or to look it up. The head answers each
//! question once; a job that goes does not wait for answers.

use std::collections::BTreeMap;

use ferrite_types::{JobId, PmixStatus, ProcId};
use ferrite_wire::control::Submission;
use ferrite_wire::{DataCall, DataRequest, Found, HeadMessage, Persistence};

use super::Daemon;
use crate::cx::Cx;
use crate::pmix_status::PMIX_ERR_LOST_CONNECTION;
use crate::{Effect, PmixEffect, PmixToken};

/// Open questions, by number.
#[derive(Debug, Default)]
pub(super) struct Questions {
    next: u64,
    open: BTreeMap<u64, (JobId, PmixToken)>,
}

impl Questions {
    fn keep(&mut self, job: JobId, token: PmixToken) -> u64 {
        self.next += 1;
        self.open.insert(self.next, (job, token));
        self.next
    }

    fn take(&mut self, id: u64) -> Option<PmixToken> {
        self.open.remove(&id).map(|(_, token)| token)
    }
}

impl Daemon {
    pub(super) fn on_spawn(&mut self, parent: ProcId, submission: Box<Submission>, token: PmixToken, cx: &mut Cx) {
        let id = self.questions.keep(parent.job, token);
        cx.send_head(HeadMessage::SpawnRequest { id, parent, submission });
    }

    pub(super) fn on_spawn_reply(&mut self, id: u64, result: Result<JobId, PmixStatus>, cx: &mut Cx) {
        if let Some(token) = self.questions.take(id) {
            cx.effect(Effect::Pmix(PmixEffect::SpawnReply { token, result }));
        }
    }

    pub(super) fn on_data(&mut self, call: Box<DataCall>, token: PmixToken, cx: &mut Cx) {
        let id = self.questions.keep(call.proc.job, token);
        if goes_with_caller(&call.request)
            && let Some(local) = self.proc_mut(call.proc)
        {
            local.is_kept_for = true;
        }
        cx.send_head(HeadMessage::DataRequest { id, call });
    }

    pub(super) fn on_data_reply(&mut self, id: u64, result: Result<Vec<Found>, PmixStatus>, cx: &mut Cx) {
        if let Some(token) = self.questions.take(id) {
            cx.effect(Effect::Pmix(PmixEffect::DataReply { token, result }));
        }
    }

    /// Drops the questions of a job that is gone.
    pub(super) fn drop_questions(&mut self, job: JobId, cx: &mut Cx) {
        for (_, (_, token)) in self.questions.open.extract_if(.., |_, (of, _)| *of == job) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
        }
    }
}

/// True when the head keeps something that goes with the caller: data, or a lookup that waits.
fn goes_with_caller(request: &DataRequest) -> bool {
    match request {
        DataRequest::Publish { persistence, .. } => *persistence == Persistence::Proc,
        DataRequest::Lookup { wait, .. } => *wait > 0,
        DataRequest::Unpublish { .. } => false,
    }
}
