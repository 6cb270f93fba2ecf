//! Guarantee: held jobs get their turn. A job is due when all campaigns that were open when it was parked are over. No
//! grow begins while a due job is held, so that no series of changes holds a job for ever.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, RequestId, Transition};
use ferrite_types::{CampaignId, CampaignKind, CampaignStep, JobId, JobState};

use ferrite_wire::control::Reply;

use super::changes::Changes;
use super::kin::Kin;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct Turns {
    changes: Changes,
    bring: BTreeSet<RequestId>,
    /// Jobs that bring nodes along; they wait for those nodes as well.
    bringers: BTreeSet<JobId>,
    /// Parked jobs whose session is paused.
    pausing: BTreeSet<JobId>,
    /// For each job that is parked before its map: the campaigns that were open then and have not ended.
    waits: BTreeMap<JobId, BTreeSet<CampaignId>>,
    kin: Kin,
}

impl Turns {
    pub(super) fn new(scenario: &Scenario) -> Turns {
        let bring = (0..).zip(&scenario.jobs).filter(|(_, job)| job.grow.is_some());
        let bring = bring.map(|(number, _)| RequestId(number)).collect();
        Turns {
            changes: Changes::default(),
            bring,
            bringers: BTreeSet::new(),
            pausing: BTreeSet::new(),
            waits: BTreeMap::new(),
            kin: Kin::default(),
        }
    }

    /// Restarts the wait of paused jobs: a paused job has no turn.
    fn look_at_pauses(&mut self) {
        for (job, campaigns) in &mut self.waits {
            if self.changes.may_pause(*job) {
                self.pausing.insert(*job);
            } else if self.pausing.remove(job) {
                *campaigns = self.changes.holding().map(|(id, _)| id).collect();
            }
        }
    }

    fn begins(&self) -> Result<(), String> {
        let is_due =
            |(job, campaigns): &(&JobId, &BTreeSet<CampaignId>)| campaigns.is_empty() && !self.pausing.contains(job);
        let due = self.waits.iter().find(is_due);
        require(due.is_none(), || format!("a grow begins, and job {:?} was to have its turn", due.map(|(id, _)| id)))
    }
}

impl Invariant for Turns {
    fn name(&self) -> &'static str {
        "held jobs get their turn"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        self.look_at_pauses();
        let born = self.kin.see(what);
        self.bringers.extend(born.filter(|job| self.kin.birth(*job).is_some_and(|birth| birth.brings)));
        let Observation::Effect { effect, .. } = what else { return Ok(()) };
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) }
                if self.bring.contains(request) =>
            {
                self.bringers.insert(*job);
            }
            Effect::Trace(Transition::Job { job, from, to }) => {
                self.waits.remove(job);
                self.pausing.remove(job);
                if (*from, *to) == (Some(JobState::VmReady), JobState::WaitingForDaemons) {
                    let holding: BTreeSet<CampaignId> = self.changes.holding().map(|(id, _)| id).collect();
                    if !self.bringers.contains(job) {
                        self.waits.insert(*job, holding);
                    }
                }
            }
            Effect::Trace(Transition::Campaign { kind: CampaignKind::Grow, step: CampaignStep::Open, .. }) => {
                return self.begins();
            }
            Effect::Trace(Transition::Campaign {
                campaign, step: CampaignStep::Done | CampaignStep::Failed, ..
            }) => {
                self.waits.values_mut().for_each(|campaigns| campaigns.retain(|other| other != campaign));
            }
            _ => {}
        }
        Ok(())
    }
}
