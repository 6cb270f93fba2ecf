//! Guarantee: jobs without permission never use more slots of a node than it has.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, PmixEffect};
use ferrite_types::{DaemonRank, JobId};
use ferrite_wire::{DaemonMessage, Message};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct Slots {
    slots: usize,
    /// Jobs that may use more slots than there are.
    generous: BTreeSet<JobId>,
    running: BTreeMap<DaemonRank, usize>,
}

impl Slots {
    pub(super) fn new(scenario: &Scenario) -> Slots {
        Slots { slots: scenario.slots as usize, generous: BTreeSet::new(), running: BTreeMap::new() }
    }
}

impl Invariant for Slots {
    fn name(&self) -> &'static str {
        "slots are never over-committed"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect {
                effect: Effect::Transmit { .. },
                message: Some(Message::Daemon(DaemonMessage::Launch(order))),
                ..
            } if order.spec.map.oversubscribe == Some(true) => {
                self.generous.insert(order.job);
            }
            // The head sends no launch order for a job on its own node alone.
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Register(registration)), .. }
                if registration.order.spec.map.oversubscribe == Some(true) =>
            {
                self.generous.insert(registration.order.job);
            }
            Observation::ProcBorn { rank, proc } if !self.generous.contains(&proc.job) => {
                let running = self.running.entry(*rank).or_default();
                *running += 1;
                let count = *running;
                return require(count <= self.slots, || {
                    format!("{count} processes on daemon {rank} with {} slots", self.slots)
                });
            }
            Observation::ProcEnded { rank, proc, .. } if !self.generous.contains(&proc.job) => {
                if let Some(running) = self.running.get_mut(rank) {
                    *running -= 1;
                }
            }
            Observation::Gone { rank, .. } => {
                self.running.remove(rank);
            }
            _ => {}
        }
        Ok(())
    }
}
