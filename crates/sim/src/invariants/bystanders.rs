//! Guarantee: the loss of a daemon fails no job without a process there.

use std::collections::BTreeMap;

use ferrite_core::{Effect, Input, LinkInput, Transition};
use ferrite_types::{JobId, JobState, RankSet};
use ferrite_wire::{DaemonMessage, Message};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct Bystanders {
    /// The daemons that were sent each job's launch order.
    hosts: BTreeMap<JobId, RankSet>,
    /// Daemons that are gone, or did not answer a call.
    lost: RankSet,
}

impl Invariant for Bystanders {
    fn name(&self) -> &'static str {
        "a job is failed only by the loss of its own daemons"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Gone { rank, .. }
            | Observation::Input { input: Input::Link(LinkInput::ConnectFailed { peer: rank, .. }), .. } => {
                self.lost.insert(*rank);
            }
            Observation::Effect {
                effect: Effect::Transmit { .. },
                message: Some(Message::Daemon(DaemonMessage::Launch(order))),
                ..
            } => {
                self.hosts.entry(order.job).or_insert_with(|| order.map.daemons());
            }
            Observation::Effect {
                effect: Effect::Trace(Transition::Job { job, to: JobState::CommFailed, .. }),
                ..
            } => {
                let Some(hosts) = self.hosts.get(job) else { return Ok(()) };
                let hit = self.lost.iter().any(|rank| hosts.contains(rank));
                return require(hit, || format!("job {job} on {hosts} fails though only {} are lost", self.lost));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Gone;
    use ferrite_types::DaemonRank;

    #[test]
    fn a_job_that_fails_by_the_loss_of_somebody_elses_daemon_is_seen() {
        let mut check = Bystanders::default();
        check.hosts.insert(JobId(1), RankSet::range(1, 3));
        check.observe(&Observation::Gone { rank: DaemonRank(5), at: 0, how: Gone::Crash, running: 0 }).unwrap();
        let (job, from, to) = (JobId(1), Some(JobState::Running), JobState::CommFailed);
        let effect = Effect::Trace(Transition::Job { job, from, to });
        let fails = Observation::Effect { rank: DaemonRank::HEAD, at: 0, effect: &effect, message: None };
        assert!(check.observe(&fails).is_err());
        check.observe(&Observation::Gone { rank: DaemonRank(2), at: 0, how: Gone::Crash, running: 0 }).unwrap();
        assert!(check.observe(&fails).is_ok());
    }
}
