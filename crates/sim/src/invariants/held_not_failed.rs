//! Guarantee: a change of size holds jobs and does not fail them, and a job that was mapped before it is mapped again
//! (spec G1). Another guarantee covers the jobs that end with a failed grow.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Transition};
use ferrite_types::{JobId, JobState};
use ferrite_wire::control::{Reply, SessionChoice};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct HeldNotFailed {
    /// By request: true when the job fits on the head's node, which never leaves, and names no other.
    fits: Vec<bool>,
    jobs: BTreeMap<JobId, bool>,
    /// Jobs that have been mapped.
    mapped: BTreeSet<JobId>,
}

impl HeldNotFailed {
    pub(super) fn new(scenario: &Scenario) -> HeldNotFailed {
        let fits = scenario.jobs.iter().map(|plan| {
            let np: Option<u32> = plan.spec.apps.iter().map(|app| app.np).sum();
            let anywhere = plan.spec.apps.iter().all(|app| app.hosts.hosts.is_empty());
            let everywhere = plan.session == SessionChoice::Default;
            anywhere && everywhere && np.is_some_and(|np| np <= scenario.slots)
        });
        HeldNotFailed { fits: fits.collect(), jobs: BTreeMap::new(), mapped: BTreeSet::new() }
    }

    fn moves(&mut self, job: JobId, from: JobState, to: JobState) -> Result<(), String> {
        use JobState::{KilledByCmd, MapComplete, MapFailed, NeverLaunched, WaitingForDaemons};
        if from == WaitingForDaemons && to > JobState::Error {
            let ended = matches!(to, NeverLaunched | KilledByCmd);
            require(ended, || format!("job {job} is held, and fails: {to}"))?;
        }
        if to == MapComplete {
            self.mapped.insert(job);
        }
        let has_place = self.mapped.contains(&job) && self.jobs.get(&job) == Some(&true);
        require(to != MapFailed || !has_place, || {
            format!("job {job} had its place, and finds no other though there is one")
        })
    }
}

impl Invariant for HeldNotFailed {
    fn name(&self) -> &'static str {
        "a job is held, not failed, while the DVM changes its size"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { effect, .. } = what else { return Ok(()) };
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) } => {
                self.jobs.insert(*job, self.fits.get(request.0 as usize).copied().unwrap_or(false));
                Ok(())
            }
            Effect::Trace(Transition::Job { job, from: Some(from), to }) if *job != JobId::DAEMONS => {
                self.moves(*job, *from, *to)
            }
            _ => Ok(()),
        }
    }
}
