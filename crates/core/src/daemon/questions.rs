//! Questions of local processes to the head: to start a job, to publish data or to look it up, about the DVM. The head
//! answers each question once; a job that goes does not wait for answers.

use std::collections::BTreeMap;

use ferrite_types::{JobId, PmixStatus, ProcId};
use ferrite_wire::control::Submission;
use ferrite_wire::{
    CollectiveResult, DataCall, DataRequest, Fact, Found, GroupEntry, GroupRole, HeadMessage, Persistence, Subject,
};

use super::Daemon;
use super::pmi1::Pmi1Question;
use crate::cx::Cx;
use crate::pmix_status::PMIX_ERR_LOST_CONNECTION;
use crate::{Effect, PmixEffect, PmixToken};

/// Open questions, by number.
#[derive(Debug, Default)]
pub(super) struct Questions {
    next: u64,
    open: BTreeMap<u64, (JobId, Asker)>,
}

/// The addressee of an answer.
#[derive(Debug)]
pub(super) enum Asker {
    /// A call of libpmix.
    Pmix(PmixToken),
    /// A request of this process by PMI-1.
    Pmi1(ProcId, Pmi1Question),
}

impl Questions {
    pub(super) fn keep(&mut self, job: JobId, asker: Asker) -> u64 {
        self.next += 1;
        self.open.insert(self.next, (job, asker));
        self.next
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Asker> {
        self.open.remove(&id).map(|(_, asker)| asker)
    }
}

impl Daemon {
    pub(super) fn on_spawn(&mut self, parent: ProcId, submission: Box<Submission>, asker: Asker, cx: &mut Cx) {
        let id = self.questions.keep(parent.job, asker);
        cx.send_head(HeadMessage::SpawnRequest { id, parent, submission });
    }

    pub(super) fn on_spawn_reply(&mut self, id: u64, result: Result<JobId, PmixStatus>, cx: &mut Cx) {
        match self.questions.take(id) {
            Some(Asker::Pmix(token)) => cx.effect(Effect::Pmix(PmixEffect::SpawnReply { token, result })),
            Some(Asker::Pmi1(proc, question)) => self.on_pmi1_answer(proc, question, result.map(|_| Vec::new()), cx),
            None => {}
        }
    }

    pub(super) fn on_data(&mut self, call: Box<DataCall>, asker: Asker, cx: &mut Cx) {
        let id = self.questions.keep(call.proc.job, asker);
        if goes_with_caller(&call.request)
            && let Some(local) = self.proc_mut(call.proc)
        {
            local.is_kept_for = true;
        }
        cx.send_head(HeadMessage::DataRequest { id, call });
    }

    pub(super) fn on_data_reply(&mut self, id: u64, result: Result<Vec<Found>, PmixStatus>, cx: &mut Cx) {
        match self.questions.take(id) {
            Some(Asker::Pmix(token)) => cx.effect(Effect::Pmix(PmixEffect::DataReply { token, result })),
            Some(Asker::Pmi1(proc, question)) => self.on_pmi1_answer(proc, question, result, cx),
            None => {}
        }
    }

    /// Asks the head for a group whose members do not know each other. Nobody knows which process a follower is: the
    /// end of no job ends its question, and the head answers it in any case.
    pub(super) fn on_group_entry(&mut self, entry: Box<GroupEntry>, token: PmixToken, cx: &mut Cx) {
        let job = match &entry.role {
            GroupRole::Leader { proc, .. } => proc.job,
            GroupRole::Follower => JobId::DAEMONS,
        };
        let id = self.questions.keep(job, Asker::Pmix(token));
        cx.send_head(HeadMessage::GroupEntry { id, entry });
    }

    pub(super) fn on_group_reply(&mut self, id: u64, result: CollectiveResult, cx: &mut Cx) {
        if let Some(Asker::Pmix(token)) = self.questions.take(id) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result }));
        }
    }

    /// Asks the head about the DVM. libpmix 4.2 does not say who asks.
    pub(super) fn on_query(&mut self, about: Vec<Subject>, token: PmixToken, cx: &mut Cx) {
        let id = self.questions.keep(JobId::DAEMONS, Asker::Pmix(token));
        cx.send_head(HeadMessage::Query { id, about });
    }

    pub(super) fn on_query_reply(&mut self, id: u64, facts: Vec<Fact>, cx: &mut Cx) {
        if let Some(Asker::Pmix(token)) = self.questions.take(id) {
            cx.effect(Effect::Pmix(PmixEffect::QueryReply { token, facts }));
        }
    }

    /// Drops the questions of a job that is gone.
    pub(super) fn drop_questions(&mut self, job: JobId, cx: &mut Cx) {
        for (_, (_, asker)) in self.questions.open.extract_if(.., |_, (of, _)| *of == job) {
            // A process's PMI-1 socket closes with its job.
            let Asker::Pmix(token) = asker else { continue };
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
