//! The referee's record of families: the parent of each job, and the jobs that may know each other.
//!
//! Guarantees about families use it. It relies on the calls of processes and the head's messages, never on its state.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, LinkInput, PmixCall, PmixEffect, Transition};
use ferrite_types::{DaemonRank, JobId, ProcId};
use ferrite_wire::control::Submission;
use ferrite_wire::{DaemonMessage, DataRequest, Dest, HeadMessage, Message};

use super::Observation;

/// Births of jobs and sets of acquainted jobs, as the referee has seen them.
#[derive(Default)]
pub(super) struct Kin {
    /// Questions that have reached the head without a job yet, by daemon and number.
    asked: BTreeMap<(DaemonRank, u64), Birth>,
    /// All questions that have reached the head; one may be repeated over another route.
    seen: BTreeSet<(DaemonRank, u64)>,
    /// The question that the head handles now.
    asking: Option<Birth>,
    /// The daemon whose message the head handles now.
    heard: Option<DaemonRank>,
    births: BTreeMap<JobId, Birth>,
    /// Sets of jobs that may meet, each named by one of its jobs.
    sets: BTreeMap<JobId, JobId>,
    /// The first job that has published or looked up a key.
    keys: BTreeMap<String, JobId>,
}

/// The origin of a spawned job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    /// The process that has spawned it.
    pub(super) parent: ProcId,
    /// True for a separate job.
    pub(super) separate: bool,
    /// True for a job that brings nodes along.
    pub(super) brings: bool,
}

impl Birth {
    fn of(parent: ProcId, submission: &Submission) -> Birth {
        Birth { parent, separate: submission.separate, brings: submission.grow.is_some() }
    }
}

impl Kin {
    /// Takes note of an observation, before the guarantees judge it. Returns a job that a spawn has just made.
    pub(super) fn see(&mut self, what: &Observation<'_>) -> Option<JobId> {
        match what {
            Observation::Input { rank, input, message, .. } => {
                self.see_input(*rank, input, *message);
                None
            }
            Observation::Effect { rank, effect, message, .. } => self.see_effect(*rank, effect, *message),
            _ => None,
        }
    }

    fn see_input(&mut self, rank: DaemonRank, input: &Input, message: Option<&Message>) {
        if rank == DaemonRank::HEAD {
            (self.asking, self.heard) = (None, None);
        }
        match (input, message) {
            (Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc, submission, .. })), _)
                if rank == DaemonRank::HEAD =>
            {
                self.asking = Some(Birth::of(*proc, submission));
            }
            (Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, .. })), _) => {
                let keys = match &call.request {
                    DataRequest::Publish { items, .. } => items.iter().map(|(key, _)| key.clone()).collect(),
                    DataRequest::Lookup { keys, .. } => keys.clone(),
                    DataRequest::Unpublish { .. } => Vec::new(),
                };
                for key in keys {
                    let other = *self.keys.entry(key).or_insert(call.proc.job);
                    self.unite(call.proc.job, other);
                }
            }
            (
                Input::Link(LinkInput::Frame { frame, .. }),
                Some(Message::Head(HeadMessage::SpawnRequest { id, parent, submission })),
            ) if rank == DaemonRank::HEAD && self.seen.insert((frame.origin, *id)) => {
                self.asked.insert((frame.origin, *id), Birth::of(*parent, submission));
                self.heard = Some(frame.origin);
            }
            (Input::Link(LinkInput::Frame { frame, .. }), _) if rank == DaemonRank::HEAD => {
                self.heard = Some(frame.origin)
            }
            _ => {}
        }
    }

    fn see_effect(&mut self, rank: DaemonRank, effect: &Effect, message: Option<&Message>) -> Option<JobId> {
        match (effect, message) {
            (Effect::Trace(Transition::Job { job, from: None, .. }), _) if rank == DaemonRank::HEAD => {
                let birth = self.asking.take().or_else(|| self.next_of_heard())?;
                self.births.insert(*job, birth);
                self.unite(*job, birth.parent.job);
                Some(*job)
            }
            (Effect::Transmit { frame, .. }, Some(Message::Daemon(DaemonMessage::SpawnReply { id, .. })))
                if rank == DaemonRank::HEAD =>
            {
                if let Dest::One(to) = frame.dest {
                    self.asked.remove(&(to, *id));
                }
                None
            }
            // Data that was taken in another order than it came in.
            (Effect::Pmix(PmixEffect::Register(registration)), _) => {
                if let (Some(parent), Some(birth)) =
                    (registration.order.parent, self.births.get_mut(&registration.order.job))
                {
                    birth.parent = parent;
                }
                None
            }
            _ => None,
        }
    }

    /// The daemon's next question: they are handled in their order, however they arrive.
    fn next_of_heard(&mut self) -> Option<Birth> {
        let from = self.heard?;
        let key = *self.asked.range((from, 0)..=(from, u64::MAX)).next()?.0;
        self.asked.remove(&key)
    }

    pub(super) fn birth(&self, job: JobId) -> Option<Birth> {
        self.births.get(&job).copied()
    }

    /// The jobs that a job has spawned to be its children.
    pub(super) fn children(&self, job: JobId) -> impl Iterator<Item = JobId> + '_ {
        let own = move |birth: &Birth| birth.parent.job == job && !birth.separate;
        self.births.iter().filter(move |(_, birth)| own(birth)).map(|(child, _)| *child)
    }

    /// True for jobs whose processes may meet: of one family, or by published data.
    pub(super) fn may_meet(&self, one: JobId, other: JobId) -> bool {
        self.set_of(one) == self.set_of(other)
    }

    fn set_of(&self, job: JobId) -> JobId {
        self.sets.get(&job).copied().unwrap_or(job)
    }

    fn unite(&mut self, one: JobId, other: JobId) {
        let (to, from) = (self.set_of(one), self.set_of(other));
        self.sets.values_mut().filter(|set| **set == from).for_each(|set| *set = to);
        self.sets.extend([(one, to), (other, to), (from, to)]);
    }
}
