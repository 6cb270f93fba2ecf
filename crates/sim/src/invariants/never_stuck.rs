//! Guarantee: no job waits once all that it waits for is over, and no campaign is open in the quiet phase (spec G7).

use std::collections::BTreeMap;

use ferrite_core::{Effect, Input, Transition};
use ferrite_types::{DaemonRank, JobId, JobState};

use super::changes::Changes;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct NeverStuck {
    changes: Changes,
    /// True when a quiet phase exists, by which all must have ended.
    quiet: bool,
    /// Parked jobs: true for those that have been mapped.
    parked: BTreeMap<JobId, bool>,
    ready: bool,
    /// True after a fault before the DVM was ready: a DVM that cannot come up says so and ends.
    early: bool,
}

impl NeverStuck {
    pub(super) fn new(scenario: &Scenario) -> NeverStuck {
        let quiet = scenario.must_survive() && scenario.has_quiet_phase();
        NeverStuck { changes: Changes::default(), quiet, parked: BTreeMap::new(), ready: false, early: false }
    }

    /// Judges after all effects of the last input.
    fn look(&self) -> Result<(), String> {
        let stuck = self.parked.iter().find(|(job, mapped)| {
            let nothing_is_open = match mapped {
                true => !self.changes.shrinking(),
                false => !self.changes.any_or_queued(),
            };
            nothing_is_open && !self.changes.may_pause(**job)
        });
        require(stuck.is_none(), || {
            format!("job {:?} waits, and nothing that holds it is open", stuck.map(|(id, _)| id))
        })
    }

    fn look_at_the_end(&self) -> Result<(), String> {
        let open = self.changes.open().next();
        let owed = self.quiet && (self.ready || !self.early);
        require(!owed || open.is_none(), || format!("{open:?} is still open in the quiet phase"))
    }
}

impl Invariant for NeverStuck {
    fn name(&self) -> &'static str {
        "nobody waits for nothing"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, .. } => {
                self.look()?;
                if matches!(input, Input::Terminate { .. }) {
                    return self.look_at_the_end();
                }
            }
            Observation::Effect { effect: Effect::Ready, .. } => self.ready = true,
            Observation::Fault { .. } if !self.ready => self.early = true,
            Observation::Effect { effect: Effect::Trace(Transition::Job { job, from, to }), .. } => {
                self.parked.remove(job);
                if *to == JobState::WaitingForDaemons {
                    self.parked.insert(*job, *from == Some(JobState::LaunchApps));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
