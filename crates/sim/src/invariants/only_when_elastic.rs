//! Without elastic mode no job is parked, but one that brings nodes of its own, and no event is sent (seed 3, guarantee 9).

use std::collections::BTreeSet;

use ferrite_core::{Effect, PmixEffect, RequestId, Transition};
use ferrite_types::{JobId, JobState};
use ferrite_wire::control::Reply;

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct OnlyWhenElastic {
    elastic: bool,
    bring: BTreeSet<RequestId>,
    /// Jobs that wait for what they bring along: somebody has to.
    bringers: BTreeSet<JobId>,
}

impl OnlyWhenElastic {
    pub(super) fn new(scenario: &Scenario) -> OnlyWhenElastic {
        let bring =
            (0..).zip(&scenario.jobs).filter(|(_, job)| job.grow.is_some()).map(|(i, _)| RequestId(i)).collect();
        OnlyWhenElastic { elastic: scenario.elastic.mode, bring, bringers: BTreeSet::new() }
    }
}

impl Invariant for OnlyWhenElastic {
    fn name(&self) -> &'static str {
        "without elastic mode nobody is held and no event is sent"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { effect, .. } = what else { return Ok(()) };
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) }
                if self.bring.contains(request) =>
            {
                self.bringers.insert(*job);
            }
            Effect::Trace(Transition::Job { job, to: JobState::WaitingForDaemons, .. }) if !self.elastic => {
                return require(self.bringers.contains(job), || format!("job {job} is parked"));
            }
            Effect::Resized { .. } | Effect::Pmix(PmixEffect::ResizeEvent { .. }) => {
                return require(self.elastic, || format!("an event is sent: {effect:?}"));
            }
            _ => {}
        }
        Ok(())
    }
}
