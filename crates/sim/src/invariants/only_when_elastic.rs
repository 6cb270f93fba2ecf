//! Guarantee: without elastic mode no job is parked, except one that brings nodes of its own or whose session is
//! paused, and no event is sent (spec G9).

use std::collections::BTreeSet;

use ferrite_core::{Effect, PmixEffect, RequestId, Transition};
use ferrite_types::{JobId, JobState};
use ferrite_wire::control::Reply;

use super::changes::Changes;
use super::kin::Kin;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct OnlyWhenElastic {
    changes: Changes,
    elastic: bool,
    bring: BTreeSet<RequestId>,
    /// Jobs that wait for nodes of their own, as such jobs have to.
    bringers: BTreeSet<JobId>,
    kin: Kin,
}

impl OnlyWhenElastic {
    pub(super) fn new(scenario: &Scenario) -> OnlyWhenElastic {
        let bring =
            (0..).zip(&scenario.jobs).filter(|(_, job)| job.grow.is_some()).map(|(i, _)| RequestId(i)).collect();
        OnlyWhenElastic {
            changes: Changes::default(),
            elastic: scenario.elastic.mode,
            bring,
            bringers: BTreeSet::new(),
            kin: Kin::default(),
        }
    }
}

impl Invariant for OnlyWhenElastic {
    fn name(&self) -> &'static str {
        "without elastic mode nobody is held and no event is sent"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        let born = self.kin.see(what);
        self.bringers.extend(born.filter(|job| self.kin.birth(*job).is_some_and(|birth| birth.brings)));
        let Observation::Effect { effect, .. } = what else { return Ok(()) };
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) }
                if self.bring.contains(request) =>
            {
                self.bringers.insert(*job);
            }
            Effect::Trace(Transition::Job { job, to: JobState::WaitingForDaemons, .. }) if !self.elastic => {
                let may_wait = self.bringers.contains(job) || self.changes.may_pause(*job);
                return require(may_wait, || format!("job {job} is parked"));
            }
            Effect::Resized { .. } | Effect::Pmix(PmixEffect::ResizeEvent { .. }) => {
                return require(self.elastic, || format!("an event is sent: {effect:?}"));
            }
            _ => {}
        }
        Ok(())
    }
}
