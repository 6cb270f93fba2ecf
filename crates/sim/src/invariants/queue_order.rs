//! Guarantee: jobs that wait for slots begin in their order: by priority, then in turns of their clients, then in the
//! order of their coming. A later job begins before the first one only in slots that this one cannot use, and only
//! for the time of the parameter. What may begin and fits does.
//!
//! It keeps a list of its own and looks at each job in it. It judges DVMs that lose no daemon and do not change their
//! size, whose free slots can be counted. Where jobs take units of a resource, the DVM has one node, or its nodes share
//! the units.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{DaemonRank, JobId, JobState};
use ferrite_wire::control::{Reply, Request, Submission};

use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::{Scenario, UNIT};

/// The number of jobs that are looked at, from the first one on. The head considers more of them.
const LOOKED_AT: usize = 8;

pub(super) struct QueueOrder {
    backfill: Time,
    free: Room,
    asked: BTreeMap<RequestId, Job>,
    jobs: BTreeMap<JobId, Job>,
    /// Patient jobs that have come by this input, in their order: each has slots at once, or waits.
    coming: Vec<JobId>,
    waiting: Vec<Waiting>,
    /// When each client had its last turn, or began to wait.
    turns: BTreeMap<(i16, String), u64>,
    last: u64,
    /// Jobs that have slots.
    placed: BTreeMap<JobId, Room>,
    ending: bool,
}

/// What jobs have, or what is free.
#[derive(Clone, Copy, Debug)]
struct Room {
    slots: u32,
    units: u64,
}

impl Room {
    fn has(self, wanted: Room) -> bool {
        wanted.slots <= self.slots && wanted.units <= self.units
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} slots and {} units", self.slots, self.units)
    }
}

/// A job, as it was submitted.
#[derive(Clone, Debug)]
struct Job {
    needs: Room,
    file: (i16, String),
    patient: bool,
}

#[derive(Clone, Debug)]
struct Waiting {
    id: JobId,
    job: Job,
    passed_since: Option<Time>,
}

/// Jobs with a lower one come first.
type Standing = (Reverse<i16>, usize, u64);

impl QueueOrder {
    /// `None` for scenarios that cannot be judged.
    pub(super) fn new(scenario: &Scenario) -> Option<QueueOrder> {
        let is_steady = scenario.persistent && !scenario.resizes() && scenario.children.is_empty();
        let is_steady = is_steady && scenario.elastic.policy_pause_s == 0;
        let is_whole = scenario.faults.is_empty() && scenario.fates.is_empty();
        // The units of several nodes cannot be added up.
        let is_countable = scenario.units.is_none() || scenario.shared_units || scenario.daemons == 1;
        (is_steady && is_whole && is_countable).then(|| QueueOrder {
            backfill: Time::from(scenario.backfill_s) * 1_000_000,
            free: Room { slots: scenario.daemons * scenario.slots, units: scenario.units.unwrap_or_default() },
            asked: BTreeMap::new(),
            jobs: BTreeMap::new(),
            coming: Vec::new(),
            waiting: Vec::new(),
            turns: BTreeMap::new(),
            last: 0,
            placed: BTreeMap::new(),
            ending: false,
        })
    }

    /// The standing of a job that waits, or of one that would wait now.
    fn standing(&self, id: JobId, job: &Job) -> Standing {
        let own = self.waiting.iter().filter(|other| other.job.file == job.file);
        let round = own.take_while(|other| other.id != id).count();
        let turn = self.turns.get(&job.file).copied().unwrap_or(self.last + 1);
        (Reverse(job.file.0), round, turn)
    }

    /// The waiting jobs in their order, by their places in the list.
    fn in_order(&self) -> Vec<(Standing, usize)> {
        let standing = |(at, waiting): (usize, &Waiting)| (self.standing(waiting.id, &waiting.job), at);
        let mut all: Vec<_> = self.waiting.iter().enumerate().map(standing).collect();
        all.sort_unstable();
        all
    }

    fn is_reserved(&self, at: usize, now: Time) -> bool {
        self.waiting[at].passed_since.is_some_and(|since| now - since >= self.backfill)
    }

    /// Judges between two inputs: what may begin and fits has begun.
    fn look(&self, now: Time) -> Result<(), String> {
        let mut is_kept = false;
        for (place, (_, at)) in self.in_order().into_iter().take(LOOKED_AT).enumerate() {
            let Waiting { id, job, .. } = &self.waiting[at];
            let may_begin = place == 0 || (self.backfill > 0 && !is_kept);
            require(!may_begin || !self.free.has(job.needs), || {
                format!("job {id} waits for {} and may begin, and {} are free", job.needs, self.free)
            })?;
            is_kept |= self.is_reserved(at, now);
        }
        Ok(())
    }

    /// Jobs that have come and not begun wait.
    fn settle(&mut self, come: Vec<JobId>) {
        for id in come {
            let job = self.jobs[&id].clone();
            if !self.turns.contains_key(&job.file) {
                self.last += 1;
                self.turns.insert(job.file.clone(), self.last);
            }
            self.waiting.push(Waiting { id, job, passed_since: None });
        }
    }

    /// Takes a job out of the list. When it begins as the first one of its client, that client has had its turn.
    fn leave(&mut self, id: JobId, begins: bool) {
        self.coming.retain(|other| *other != id);
        let Some(at) = self.waiting.iter().position(|waiting| waiting.id == id) else { return };
        let file = self.waiting.remove(at).job.file;
        let mut own = self.waiting.iter().enumerate().filter(|(_, other)| other.job.file == file).map(|(at, _)| at);
        match own.next() {
            None => drop(self.turns.remove(&file)),
            Some(next) if begins && next >= at => {
                self.last += 1;
                self.turns.insert(file, self.last);
            }
            Some(_) => {}
        }
    }

    fn begins(&mut self, id: JobId, now: Time) -> Result<(), String> {
        let Some(job) = self.jobs.get(&id).cloned() else { return Ok(()) };
        if job.patient {
            if let Some(at) = self.coming.iter().position(|other| *other == id) {
                let before = self.coming.drain(..at).collect();
                self.settle(before);
            }
            self.judge(id, &job, now)?;
            self.leave(id, true);
        }
        self.free.slots = self.free.slots.saturating_sub(job.needs.slots);
        self.free.units = self.free.units.saturating_sub(job.needs.units);
        self.placed.insert(id, job.needs);
        Ok(())
    }

    /// Judges a patient job that begins.
    fn judge(&mut self, id: JobId, job: &Job, now: Time) -> Result<(), String> {
        let own = self.standing(id, job);
        let before: Vec<usize> =
            self.in_order().into_iter().filter(|(other, _)| *other < own).map(|(_, at)| at).collect();
        let Some(first) = before.first().copied() else { return Ok(()) };
        let Waiting { id: other, job: Job { needs, .. }, .. } = &self.waiting[first];
        let free = self.free;
        require(!free.has(*needs), || {
            format!("job {id} begins, and job {other} is before it: {needs}, and {free} are free")
        })?;
        let kept = before.iter().find(|at| self.backfill == 0 || self.is_reserved(**at, now));
        require(kept.is_none(), || {
            format!("job {id} begins, and job {} is not to be passed any more", self.waiting[*kept.unwrap_or(&0)].id)
        })?;
        self.waiting[first].passed_since.get_or_insert(now);
        Ok(())
    }

    fn moves(&mut self, id: JobId, to: JobState, now: Time) -> Result<(), String> {
        match to {
            JobState::Map if self.jobs.get(&id).is_some_and(|job| job.patient) => self.coming.push(id),
            JobState::Map => {}
            JobState::MapComplete => return self.begins(id, now),
            _ => self.leave(id, false),
        }
        Ok(())
    }

    fn says(&mut self, effect: &Effect, now: Time) -> Result<(), String> {
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) } => {
                self.jobs.extend(self.asked.remove(request).map(|asked| (*job, asked)));
            }
            Effect::Trace(Transition::Job { job, to, .. }) if *job != JobId::DAEMONS => {
                return self.moves(*job, *to, now);
            }
            // The head gives the slots back now.
            Effect::Keep { job, .. } => {
                if let Some(had) = self.placed.remove(&job.status.job) {
                    self.free.slots += had.slots;
                    self.free.units += had.units;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn hears(&mut self, input: &Input) {
        match input {
            Input::Terminate { .. } | Input::Head(HeadInput::Interrupt) => self.ending = true,
            Input::Head(HeadInput::Request { request: Request::Terminate, .. }) => self.ending = true,
            Input::Head(HeadInput::Request { id, request: Request::Submit(submission) }) => {
                self.asked.insert(*id, asked(submission));
            }
            _ => {}
        }
    }
}

fn asked(submission: &Submission) -> Job {
    let (mut slots, mut units) = (0, 0);
    for app in &submission.spec.apps {
        let np = app.np.unwrap_or(1);
        slots += np;
        units += u64::from(np) * app.takes.get(UNIT).copied().unwrap_or_default();
    }
    Job {
        needs: Room { slots, units },
        file: (submission.priority, submission.launcher.clone()),
        patient: submission.wait_for_slots,
    }
}

impl Invariant for QueueOrder {
    fn name(&self) -> &'static str {
        "jobs that wait begin in their order"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, at, .. } if !self.ending => {
                let come = std::mem::take(&mut self.coming);
                self.settle(come);
                self.look(*at)?;
                self.hears(input);
            }
            Observation::Effect { rank: DaemonRank::HEAD, effect, at, .. } if !self.ending => {
                return self.says(effect, *at);
            }
            _ => {}
        }
        Ok(())
    }
}
