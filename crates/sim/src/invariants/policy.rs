//! Guarantee: with the policy `fill` nothing stays idle that elastic jobs could use, no job waits while elastic jobs
//! have more than their smallest size, and no job has a size beyond its range (spec E62 to E64).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, PmixEffect, RequestId, Transition};
use ferrite_types::{JobId, JobState, ProcId, SizeRange};
use ferrite_wire::EventInfo;
use ferrite_wire::control::Request;

use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

const SECOND: Time = 1_000_000;
/// The time after which the last change of any kind has an answer: an offer or a notice is open for thirty seconds at
/// most, and the policy looks once a second.
const SLACK: Time = 40 * SECOND;
/// The time after which the policy knows that a job waits, and its offers have arrived.
const KNOWN: Time = 2 * SECOND;

/// A spawn tree.
struct Tree {
    range: SizeRange,
    /// True when it takes what it is offered, and lets processes end.
    is_willing: bool,
}

pub(super) struct Policy {
    slots: u32,
    pause: Time,
    roots: BTreeMap<JobId, JobId>,
    trees: BTreeMap<JobId, Tree>,
    living: BTreeSet<ProcId>,
    /// Submissions that are not jobs yet, each with its size.
    coming: BTreeMap<RequestId, u32>,
    /// Jobs that have no slots yet, with their sizes.
    waiting: BTreeMap<JobId, u32>,
    /// The time since which jobs wait, and each of them could begin.
    all_since: Option<Time>,
    /// The last time at which anything has begun, ended, or was told.
    changed: Time,
    /// True when something has happened since the last input.
    is_news: bool,
    ending: bool,
}

impl Policy {
    /// `None` for a scenario without the policy.
    pub(super) fn new(scenario: &Scenario) -> Option<Policy> {
        let pause = scenario.elastic.policy_pause_s;
        (pause > 0).then(|| Policy {
            slots: scenario.daemons * scenario.slots,
            pause: Time::from(pause) * SECOND,
            roots: BTreeMap::new(),
            trees: BTreeMap::new(),
            living: BTreeSet::new(),
            coming: BTreeMap::new(),
            waiting: BTreeMap::new(),
            all_since: None,
            changed: 0,
            is_news: false,
            ending: false,
        })
    }

    fn root_of(&self, job: JobId) -> JobId {
        self.roots.get(&job).copied().unwrap_or(job)
    }

    fn size(&self, root: JobId) -> u32 {
        self.living.iter().filter(|proc| self.root_of(proc.job) == root).count() as u32
    }

    /// The willing trees that live, with their sizes.
    fn willing(&self) -> impl Iterator<Item = (JobId, u32, SizeRange)> + '_ {
        let sized = self.trees.iter().map(|(root, tree)| (*root, self.size(*root), tree));
        sized.filter(|(_, size, tree)| *size > 0 && tree.is_willing).map(|(root, size, tree)| (root, size, tree.range))
    }

    fn free(&self) -> u32 {
        self.slots.saturating_sub(self.living.len() as u32)
    }

    /// True when so many slots are free or may be given up.
    fn may_begin(&self, np: u32) -> bool {
        let spare: u32 = self.willing().map(|(_, size, range)| size.saturating_sub(range.min)).sum();
        np <= self.free() + spare
    }

    /// Judges when nothing has happened for longer than any change takes.
    fn is_still(&self, now: Time) -> Result<(), String> {
        if self.ending || now < self.changed + self.pause + SLACK {
            return Ok(());
        }
        let free = self.free();
        // The head helps the first job of the queue alone, and the referee does not know which one that is.
        let may_begin = |np: &u32| self.may_begin(*np);
        if !self.waiting.values().any(may_begin) {
            let small = self.willing().find(|(_, size, range)| *size < range.max);
            return require(free == 0 || small.is_none(), || {
                format!("{free} slots are idle, and this job, its size and its range: {small:?}")
            });
        }
        let large = self.willing().find(|(_, size, range)| *size > range.min);
        require(large.is_none() || !self.waiting.values().all(may_begin), || {
            format!("jobs wait: {:?}, and this job, its size and its range: {large:?}", self.waiting)
        })
    }

    fn sees(&mut self, at: Time, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Accepted { request, job } => {
                if let Some(np) = self.coming.remove(request) {
                    self.waiting.insert(*job, np);
                    self.changed = at;
                }
            }
            Effect::Pmix(PmixEffect::Register(registration)) => {
                let order = &registration.order;
                if let Some(range) = order.spec.options.elastic {
                    let root = order.parent.map_or(order.job, |parent| self.root_of(parent.job));
                    self.roots.insert(order.job, root);
                    let words = || order.spec.apps.iter().flat_map(|app| &app.argv);
                    let leaves = words().any(|word| word.starts_with("leaves:"));
                    let is_willing = leaves && words().any(|word| word == "takes");
                    self.trees.entry(root).or_insert(Tree { range, is_willing });
                }
            }
            Effect::Trace(Transition::Job { job: JobId::DAEMONS, to, .. }) => self.ending |= *to > JobState::VmReady,
            Effect::Trace(Transition::Job { job, to, .. })
                if (*to == JobState::MapComplete || *to > JobState::Error) && self.waiting.remove(job).is_some() =>
            {
                self.changed = at;
            }
            Effect::Pmix(PmixEffect::Event { event, .. }) => match &event.info {
                EventInfo::Growth(offer) => {
                    self.changed = at;
                    let all_are_late = self.all_since.is_some_and(|since| since + KNOWN < at);
                    return require(!all_are_late || self.ending, || {
                        let waiting = &self.waiting;
                        format!("job {} is offered {} slots, and jobs wait: {waiting:?}", offer.root, offer.procs)
                    });
                }
                EventInfo::Withdrawal(_) => self.changed = at,
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

impl Invariant for Policy {
    fn name(&self) -> &'static str {
        "the policy fills elastic jobs and takes back what others wait for"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::ProcBorn { proc, .. } => {
                self.living.insert(*proc);
                self.is_news = true;
                let root = self.root_of(proc.job);
                let size = self.size(root);
                let range = self.trees.get(&root).map(|tree| tree.range);
                return require(range.is_none_or(|range| size <= range.max), || {
                    format!("job {root} has {size} processes, and may have {range:?}")
                });
            }
            Observation::ProcEnded { proc, .. } => {
                self.living.remove(proc);
                self.is_news = true;
            }
            Observation::Input { at, input, .. } => {
                if std::mem::take(&mut self.is_news) {
                    self.changed = *at;
                }
                let all_may_begin = !self.waiting.is_empty() && self.waiting.values().all(|np| self.may_begin(*np));
                self.all_since = all_may_begin.then(|| self.all_since.unwrap_or(*at));
                if let Input::Head(HeadInput::Request { id, request: Request::Submit(submission) }) = input {
                    let np = submission.spec.apps.iter().filter_map(|app| app.np).sum();
                    self.coming.insert(*id, np);
                }
                return self.is_still(*at);
            }
            Observation::Effect { at, effect, .. } => return self.sees(*at, effect),
            _ => {}
        }
        Ok(())
    }
}
