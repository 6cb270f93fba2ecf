//! Guarantee: the DVM runs the next job after the faults. Daemons other than the head may die, pause or be cut off;
//! the rest of the DVM serves the jobs of the quiet phase normally.

use std::collections::BTreeMap;

use ferrite_core::{Effect, RequestId};
use ferrite_types::DaemonRank;
use ferrite_wire::control::Reply;

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct QuietPhase {
    /// Jobs of the quiet phase, and whether they were served.
    served: BTreeMap<RequestId, bool>,
    ready: bool,
    /// True when something went wrong during bring-up: such a DVM may end with a message, and owes no further job.
    early: bool,
}

impl QuietPhase {
    pub(super) fn new(scenario: &Scenario) -> QuietPhase {
        let quiet = (0..).zip(&scenario.jobs).filter(|(_, job)| job.quiet && scenario.must_survive());
        QuietPhase { served: quiet.map(|(i, _)| (RequestId(i), false)).collect(), ready: false, early: false }
    }
}

impl Invariant for QuietPhase {
    fn name(&self) -> &'static str {
        "after the faults the DVM runs the next job"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect { effect: Effect::Ready, .. } => self.ready = true,
            Observation::Fault { .. } if !self.ready => self.early = true,
            Observation::Effect { effect: Effect::Reply { request, reply }, .. } => {
                let owed = self.ready || !self.early;
                if let Some(served) = self.served.get_mut(request).filter(|_| owed) {
                    let end = match reply {
                        Reply::Done(done) => format!("ended with {}", done.exit_code),
                        other => format!("got {other:?}"),
                    };
                    *served = matches!(reply, Reply::Done(done) if done.exit_code == 0);
                    return require(*served, || format!("{request:?} of the quiet phase {end}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn at_end(&mut self, _: &[DaemonRank]) -> Result<(), String> {
        let owed = self.ready || !self.early;
        let waits = self.served.iter().find(|(_, served)| owed && !**served);
        require(waits.is_none(), || format!("{:?} of the quiet phase was not served", waits.map(|(r, _)| *r)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::scenario::{Expect, job};

    fn check() -> QuietPhase {
        let mut scenario = Scenario { persistent: true, ..Scenario::calm(1, 4, 2) };
        scenario.faults = vec![(1, Fault::Crash(DaemonRank(1)))];
        QuietPhase::new(&scenario.with_quiet_job(2, job(1, "exit:0"), Expect::Code(0)))
    }

    #[test]
    fn a_quiet_job_that_is_not_served_is_seen_unless_the_dvm_never_came_up() {
        let fault = Observation::Fault { at: 0, fault: &Fault::CutLink };
        let ready = Observation::Effect { rank: DaemonRank::HEAD, at: 0, effect: &Effect::Ready, message: None };
        let mut up = check();
        up.observe(&ready).unwrap();
        up.observe(&fault).unwrap();
        assert!(up.at_end(&[]).is_err());
        let mut never_up = check();
        never_up.observe(&fault).unwrap();
        assert!(never_up.at_end(&[]).is_ok());
        never_up.observe(&ready).unwrap();
        assert!(never_up.at_end(&[]).is_err(), "it has come up all the same");
    }
}
