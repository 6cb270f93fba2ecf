//! Guarantee: jobs and campaigns that can go on do. A queued job whose slots are free when its turn comes runs; a
//! change of size that waits for no other begins. The referee checks between two inputs of the head, because neither
//! needs another party.
//!
//! Free slots are known for certain on the head's own node only, which nobody can reserve and which never leaves: a
//! job that fits there and may run anywhere has no reason to wait once no job is before it.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{CampaignStep, DaemonRank, JobId, JobState, MapBy};
use ferrite_wire::control::{JobStatus, Reply, SessionChoice};

use super::changes::Changes;
use super::{Invariant, Observation, require};
use crate::scenario::{JobPlan, Scenario};

pub(super) struct Liveness {
    changes: Changes,
    elastic: bool,
    /// Slots of the head's node.
    slots: u32,
    /// The processes of each plan's job, if it may be placed anywhere in its session in any order.
    plans: Vec<Option<u32>>,
    /// True for plans whose job may run on any unreserved node.
    anywhere: Vec<bool>,
    jobs: BTreeMap<JobId, usize>,
    /// Jobs that wait for a map, in their order.
    queue: Vec<JobId>,
    /// Jobs that were mapped before: a second map comes before all other jobs.
    mapped: BTreeSet<JobId>,
    /// Jobs with slots that are not started everywhere yet: their places are unknown.
    starting: BTreeSet<JobId>,
    /// Processes on the head's node of jobs that are not over.
    there: BTreeMap<JobId, u32>,
    /// Jobs between their beginning and their launch.
    unlaunched: BTreeSet<JobId>,
    ending: bool,
}

/// The processes of a job that may be placed in any way.
fn simple(plan: &JobPlan) -> Option<u32> {
    let [app] = plan.spec.apps.as_slice() else { return None };
    let in_any_order = matches!(plan.spec.map.by, None | Some(MapBy::Slot | MapBy::Node));
    app.np.filter(|_| app.hosts.hosts.is_empty() && in_any_order && plan.grow.is_none())
}

impl Liveness {
    pub(super) fn new(scenario: &Scenario) -> Liveness {
        Liveness {
            changes: Changes::default(),
            elastic: scenario.elastic.mode,
            slots: scenario.slots,
            plans: scenario.jobs.iter().map(simple).collect(),
            anywhere: scenario.jobs.iter().map(|job| job.session == SessionChoice::Default).collect(),
            jobs: BTreeMap::new(),
            queue: Vec::new(),
            mapped: BTreeSet::new(),
            starting: BTreeSet::new(),
            there: BTreeMap::new(),
            unlaunched: BTreeSet::new(),
            ending: false,
        }
    }

    /// Judges after all effects of the last input.
    fn look(&self) -> Result<(), String> {
        if self.ending {
            return Ok(());
        }
        self.look_at_campaigns()?;
        let is_held = self.elastic && self.changes.any();
        let Some(first) = self.queue.first().filter(|_| !is_held && self.starting.is_empty()) else { return Ok(()) };
        let Some(plan) = self.jobs.get(first).copied().filter(|plan| self.anywhere[*plan]) else { return Ok(()) };
        let taken: u32 = self.there.values().sum();
        let fits = self.plans[plan].is_some_and(|needs| needs + taken <= self.slots);
        require(!fits, || {
            format!(
                "job {first} is the first that waits for {:?} slots, and {taken} of {} are taken on the head's node",
                self.plans[plan], self.slots
            )
        })
    }

    fn look_at_campaigns(&self) -> Result<(), String> {
        let mut open = self.changes.open();
        let idle = open.clone().find(|(_, change)| change.step == CampaignStep::Open);
        require(idle.is_none(), || format!("{idle:?} is open and does not begin"))?;
        let (first, others) = (open.next(), open.next());
        let alone = first.filter(|_| others.is_none());
        let behind = alone.filter(|(_, change)| change.step == CampaignStep::Behind);
        require(behind.is_none(), || format!("{behind:?} waits behind others, and there are none"))?;
        let queued = self.changes.open().find(|(_, change)| change.step == CampaignStep::Queued);
        // One behind a drain waits for that.
        let queued = queued.filter(|_| self.changes.draining().next().is_none());
        let nobody_is_due = self.unlaunched.is_empty();
        require(queued.is_none() || !nobody_is_due, || format!("{queued:?} lets jobs have their turn, and none waits"))
    }

    /// Judges a job: with enough slots, no job before it and its session not paused, it has its place.
    fn judge(&self, status: &JobStatus) -> Result<(), String> {
        let simple = self.jobs.get(&status.job).and_then(|plan| self.plans[*plan]);
        let waits = status.waiting_for.starts_with("room for");
        require(simple.is_none() || !waits, || {
            format!("job {} may be placed in any way, and waits for {}", status.job, status.waiting_for)
        })
    }

    fn moves(&mut self, job: JobId, to: JobState) {
        self.queue.retain(|waiting| *waiting != job);
        match to {
            JobState::Init => drop(self.unlaunched.insert(job)),
            JobState::Map if self.mapped.contains(&job) => self.queue.insert(0, job),
            JobState::Map => self.queue.push(job),
            JobState::MapComplete => {
                self.mapped.insert(job);
                self.starting.insert(job);
            }
            JobState::SendLaunchMsg => drop(self.unlaunched.remove(&job)),
            JobState::Running => drop(self.starting.remove(&job)),
            // The job is to be mapped again.
            JobState::VmReady => drop(self.starting.remove(&job)),
            JobState::Notified => {
                self.starting.remove(&job);
                self.there.remove(&job);
                self.unlaunched.remove(&job);
            }
            _ if to > JobState::Error => drop(self.unlaunched.remove(&job)),
            _ => {}
        }
    }

    fn says(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Accepted { request: RequestId(plan), job }
            | Effect::Reply { request: RequestId(plan), reply: Reply::Detached(job) } => {
                self.jobs.insert(*job, *plan as usize);
            }
            Effect::Reply { reply: Reply::Jobs(jobs), .. } => {
                return jobs.iter().try_for_each(|status| self.judge(status));
            }
            Effect::Trace(Transition::Job { job, to, .. }) if *job != JobId::DAEMONS => self.moves(*job, *to),
            _ => {}
        }
        Ok(())
    }
}

impl Invariant for Liveness {
    fn name(&self) -> &'static str {
        "who waits and could go on does"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        if let Observation::Input { rank: DaemonRank::HEAD, input, .. } = what {
            self.look()?;
            self.ending |= matches!(input, Input::Terminate { .. } | Input::Head(HeadInput::Interrupt));
        }
        self.changes.see(what);
        match what {
            Observation::Effect { rank: DaemonRank::HEAD, effect, .. } => return self.says(effect),
            Observation::ProcBorn { rank: DaemonRank::HEAD, proc } => *self.there.entry(proc.job).or_default() += 1,
            _ => {}
        }
        Ok(())
    }
}
