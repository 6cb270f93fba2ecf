//! Guarantee: no job waits for slots that are free. A process of an elastic job that has called finalize has none any
//! more, though it lives (spec E70).
//!
//! It judges DVMs that lose no daemon and keep their nodes, while one job waits, and nothing else has happened for a
//! while.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, HeadInput, Input, PmixCall, PmixEffect, RequestId, Transition};
use ferrite_types::{JobId, JobState, ProcId};
use ferrite_wire::control::{Reply, Request};

use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The time within which the head has heard of all that has happened, and what can begin has begun.
const TRIP: Time = 1_000_000;

pub(super) struct IdleSlots {
    slots: u32,
    elastic: BTreeSet<JobId>,
    living: BTreeSet<ProcId>,
    /// Living processes that have called finalize: their slots are free.
    finalized: BTreeSet<ProcId>,
    /// Submissions that are not jobs yet, each with its size.
    coming: BTreeMap<RequestId, u32>,
    /// Jobs that have no slots yet, with their sizes.
    waiting: BTreeMap<JobId, u32>,
    /// Requests for another size of a job, which may keep slots.
    open: BTreeSet<RequestId>,
    /// The last time at which anything has happened.
    changed: Time,
    is_news: bool,
    ending: bool,
}

impl IdleSlots {
    /// `None` for scenarios that cannot be judged: their slots come and go, or are not all that is scarce.
    pub(super) fn new(scenario: &Scenario) -> Option<IdleSlots> {
        let brings = |request: &Request| matches!(request, Request::ResizeJob(ask) if ask.nodes.is_some());
        let is_steady = !scenario.resizes() && !scenario.questions.iter().any(|(_, request)| brings(request));
        let is_simple = scenario.units.is_none() && scenario.elastic.policy_pause_s == 0;
        let is_whole = scenario.faults.is_empty() && scenario.fates.is_empty();
        (is_steady && is_simple && is_whole).then(|| IdleSlots {
            slots: scenario.daemons * scenario.slots,
            elastic: BTreeSet::new(),
            living: BTreeSet::new(),
            finalized: BTreeSet::new(),
            coming: BTreeMap::new(),
            waiting: BTreeMap::new(),
            open: BTreeSet::new(),
            changed: 0,
            is_news: false,
            ending: false,
        })
    }

    fn free(&self) -> u32 {
        self.slots.saturating_sub((self.living.len() - self.finalized.len()) as u32)
    }

    /// Judges when nothing has happened for a while.
    fn is_still(&self, now: Time) -> Result<(), String> {
        if self.ending || !self.open.is_empty() || !self.coming.is_empty() || now < self.changed + TRIP {
            return Ok(());
        }
        let Some((job, np)) = self.waiting.first_key_value().filter(|_| self.waiting.len() == 1) else { return Ok(()) };
        let free = self.free();
        require(*np > free, || {
            format!("job {job} waits for {np} slots, and {free} are free; {:?} have called finalize", self.finalized)
        })
    }

    fn takes(&mut self, at: Time, input: &Input) {
        match input {
            Input::Head(HeadInput::Request { id, request: Request::Submit(submission) }) => {
                self.coming.insert(*id, submission.spec.apps.iter().filter_map(|app| app.np).sum());
            }
            Input::Head(HeadInput::Request { id, request: Request::ResizeJob(_) }) => drop(self.open.insert(*id)),
            Input::Head(HeadInput::ClientGone(id)) => drop(self.coming.remove(id)),
            Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(proc)))
                if self.elastic.contains(&proc.job) && self.living.contains(proc) =>
            {
                self.finalized.insert(*proc);
            }
            _ => return,
        }
        self.changed = at;
    }

    fn sees(&mut self, at: Time, effect: &Effect) {
        match effect {
            Effect::Accepted { request, job } => {
                if let Some(np) = self.coming.remove(request) {
                    self.waiting.insert(*job, np);
                }
            }
            Effect::Reply { request, reply } => {
                self.coming.remove(request);
                if matches!(reply, Reply::JobResized(_)) {
                    self.open.remove(request);
                }
            }
            Effect::Pmix(PmixEffect::Register(registration)) if registration.order.spec.options.elastic.is_some() => {
                self.elastic.insert(registration.order.job);
            }
            Effect::Trace(Transition::Job { job, to, .. }) => {
                self.ending |= *job == JobId::DAEMONS && *to > JobState::VmReady;
                if *to == JobState::MapComplete || *to > JobState::Error {
                    self.waiting.remove(job);
                }
            }
            _ => return,
        }
        self.changed = at;
    }
}

impl Invariant for IdleSlots {
    fn name(&self) -> &'static str {
        "no job waits for slots that are free"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::ProcBorn { proc, .. } => {
                self.living.insert(*proc);
                self.is_news = true;
            }
            Observation::ProcEnded { proc, .. } => {
                self.living.remove(proc);
                self.finalized.remove(proc);
                self.is_news = true;
            }
            Observation::Input { at, input, .. } => {
                if std::mem::take(&mut self.is_news) {
                    self.changed = *at;
                }
                self.takes(*at, input);
                return self.is_still(*at);
            }
            Observation::Effect { at, effect, .. } => self.sees(*at, effect),
            _ => {}
        }
        Ok(())
    }
}
