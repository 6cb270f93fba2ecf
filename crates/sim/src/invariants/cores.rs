//! Guarantee: processes that have cores of their own (`PE=n`) share them with nobody. New members of an elastic job
//! are bound as its first ones are, and an offer keeps cores for each of them (spec E72, E74).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, ProcId, Rank, SizeChangeStep};
use ferrite_wire::{EventInfo, GrowthOffer, LaunchOrder};

use super::{Invariant, Observation, offered_slots, require};
use crate::world::CORES;

#[derive(Default)]
pub(super) struct Cores {
    /// The number of cores of each process, by the root of an elastic tree that states it.
    wide: BTreeMap<JobId, u32>,
    /// The root of each job of an elastic tree.
    roots: BTreeMap<JobId, JobId>,
    /// The cores that belong to one process alone, by process.
    own: BTreeMap<ProcId, BTreeSet<u32>>,
    living: BTreeMap<ProcId, DaemonRank>,
    submitted: BTreeSet<JobId>,
    /// Trees with an offer that no spawn has taken.
    open: BTreeSet<JobId>,
    /// The processes that are offered to each of them, by daemon.
    offered: BTreeMap<JobId, BTreeMap<DaemonRank, u32>>,
}

impl Cores {
    fn is_known(&mut self, order: &LaunchOrder) -> Result<(), String> {
        let root = order.parent.map_or(order.job, |parent| self.root_of(parent.job));
        if order.spec.options.elastic.is_some() {
            self.roots.insert(order.job, root);
            if let Some(pes) = order.spec.map.pes.filter(|_| root == order.job) {
                self.wide.insert(order.job, pes.into());
            }
        }
        for (rank, place) in (0..).map(Rank).zip(&order.map.procs) {
            let is_own = order.map.policy(place.app).is_some_and(|policy| policy.exclusive);
            let cores: BTreeSet<u32> = place.cpus.iter().filter(|_| is_own).flat_map(|cpus| cpus.iter()).collect();
            if let Some(pes) = self.wide.get(&root).filter(|_| self.roots.contains_key(&order.job)) {
                require(cores.len() == *pes as usize, || {
                    format!("rank {rank} of job {} has the cores {cores:?}, and its job has {pes} for each", order.job)
                })?;
            }
            self.own.insert(ProcId { job: order.job, rank }, cores);
        }
        Ok(())
    }

    fn root_of(&self, job: JobId) -> JobId {
        self.roots.get(&job).copied().unwrap_or(job)
    }

    /// The cores of a daemon's node that processes have for themselves.
    fn taken(&self, daemon: DaemonRank) -> usize {
        let there = self.living.iter().filter(|(_, on)| **on == daemon);
        there.map(|(proc, _)| self.own.get(proc).map_or(0, BTreeSet::len)).sum()
    }

    /// Requires that the node has the cores of its processes, and those that are offered.
    fn has_cores(&self, daemon: DaemonRank) -> Result<(), String> {
        let kept = |(root, slots): (&JobId, &BTreeMap<DaemonRank, u32>)| {
            slots.get(&daemon).copied().unwrap_or(0) * self.wide.get(root).copied().unwrap_or(0)
        };
        let (taken, kept) = (self.taken(daemon), self.offered.iter().map(kept).sum::<u32>() as usize);
        require(taken + kept <= CORES as usize, || {
            format!("daemon {daemon} has {CORES} cores: {taken} are taken, and {kept} are offered")
        })
    }

    fn is_offered(&mut self, offer: &GrowthOffer) -> Result<(), String> {
        if !self.open.contains(&offer.root) {
            return Ok(());
        }
        let slots = offered_slots(offer);
        let daemons: Vec<DaemonRank> = slots.keys().copied().collect();
        self.offered.insert(offer.root, slots);
        daemons.into_iter().try_for_each(|daemon| self.has_cores(daemon))
    }

    fn sees(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Pmix(PmixEffect::Register(registration)) => self.is_known(&registration.order),
            Effect::Pmix(PmixEffect::Event { event, .. }) => match &event.info {
                EventInfo::Growth(offer) => self.is_offered(offer),
                _ => Ok(()),
            },
            Effect::Accepted { job, .. } => {
                self.submitted.insert(*job);
                Ok(())
            }
            Effect::Trace(Transition::Size { root, step, .. }) => {
                self.offered.remove(root);
                match step {
                    SizeChangeStep::Offered => self.open.insert(*root),
                    _ => self.open.remove(root),
                };
                Ok(())
            }
            // Only one job of a scenario spawns: this one may have taken its offer.
            Effect::Trace(Transition::Job { job, to: JobState::MapComplete, .. }) if !self.submitted.contains(job) => {
                self.offered.clear();
                self.open.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for Cores {
    fn name(&self) -> &'static str {
        "cores of one process are shared with nobody"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::ProcBorn { rank, proc } => {
                self.living.insert(*proc, *rank);
                return self.has_cores(*rank);
            }
            Observation::ProcEnded { proc, .. } => drop(self.living.remove(proc)),
            Observation::Gone { rank, .. } => self.living.retain(|_, on| on != rank),
            // A process of an elastic job that has called finalize gives up what it has (spec E70).
            Observation::Input { input: Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(proc))), .. }
                if self.roots.contains_key(&proc.job) =>
            {
                self.living.remove(proc);
            }
            Observation::Effect { effect, .. } => return self.sees(effect),
            _ => {}
        }
        Ok(())
    }
}
