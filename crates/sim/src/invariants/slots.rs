//! Guarantee: jobs without permission never use more slots of a node than it has, and no job more of its resources. A
//! process of an elastic job that has called finalize uses none any more (spec E70).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect};
use ferrite_types::{DaemonRank, JobId, ProcId};
use ferrite_wire::{DaemonMessage, LaunchOrder, Message};

use super::{Invariant, Observation, require};
use crate::scenario::{Scenario, UNIT};

pub(super) struct Slots {
    slots: usize,
    /// Jobs that may use more slots than there are.
    generous: BTreeSet<JobId>,
    running: BTreeMap<DaemonRank, usize>,
    units: u64,
    /// True when all nodes together have these units.
    shared: bool,
    /// The units that each process of a job takes.
    takes: BTreeMap<JobId, u64>,
    taken: BTreeMap<DaemonRank, u64>,
    elastic: BTreeSet<JobId>,
    /// Processes that have what they take.
    holders: BTreeSet<ProcId>,
}

impl Slots {
    pub(super) fn new(scenario: &Scenario) -> Slots {
        Slots {
            slots: scenario.slots as usize,
            generous: BTreeSet::new(),
            running: BTreeMap::new(),
            units: scenario.units.unwrap_or_default(),
            shared: scenario.shared_units,
            takes: BTreeMap::new(),
            taken: BTreeMap::new(),
            elastic: BTreeSet::new(),
            holders: BTreeSet::new(),
        }
    }
}

impl Slots {
    fn note(&mut self, order: &LaunchOrder) {
        if order.spec.map.oversubscribe == Some(true) {
            self.generous.insert(order.job);
        }
        if order.spec.options.elastic.is_some() {
            self.elastic.insert(order.job);
        }
        if let Some(units) = order.spec.apps.first().and_then(|app| app.takes.get(UNIT)) {
            self.takes.insert(order.job, *units);
        }
    }

    fn born(&mut self, rank: DaemonRank, proc: ProcId) -> Result<(), String> {
        let job = proc.job;
        self.holders.insert(proc);
        *self.taken.entry(rank).or_default() += self.takes.get(&job).copied().unwrap_or_default();
        let units = self.units;
        let (taken, at) = match self.shared {
            true => (self.taken.values().sum(), "all daemons".to_owned()),
            false => (self.taken[&rank], format!("daemon {rank}")),
        };
        require(taken <= units, || format!("processes on {at} take {taken} units of {units}"))?;
        if self.generous.contains(&job) {
            return Ok(());
        }
        let running = self.running.entry(rank).or_default();
        *running += 1;
        let count = *running;
        require(count <= self.slots, || format!("{count} processes on daemon {rank} with {} slots", self.slots))
    }

    /// Notes what a process has not any more. Its end may come before the word of its finalize.
    fn gives_back(&mut self, rank: DaemonRank, proc: ProcId) {
        let job = proc.job;
        if !self.holders.remove(&proc) {
            return;
        }
        if let Some(running) = self.running.get_mut(&rank).filter(|_| !self.generous.contains(&job)) {
            *running -= 1;
        }
        if let Some(taken) = self.taken.get_mut(&rank) {
            *taken -= self.takes.get(&job).copied().unwrap_or_default();
        }
    }
}

impl Invariant for Slots {
    fn name(&self) -> &'static str {
        "slots and resources are never over-committed"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect {
                effect: Effect::Transmit { .. },
                message: Some(Message::Daemon(DaemonMessage::Launch(order))),
                ..
            } => self.note(order),
            // The head sends no launch order for a job on its own node alone.
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Register(registration)), .. } => {
                self.note(&registration.order);
            }
            Observation::ProcBorn { rank, proc } => return self.born(*rank, *proc),
            Observation::Input {
                rank,
                input: Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(proc))),
                ..
            } if self.elastic.contains(&proc.job) => self.gives_back(*rank, *proc),
            Observation::ProcEnded { rank, proc, .. } => self.gives_back(*rank, *proc),
            Observation::Gone { rank, .. } => {
                self.running.remove(rank);
                self.taken.remove(rank);
            }
            _ => {}
        }
        Ok(())
    }
}
