//! Guarantee: the process sets that a daemon knows are those of the head. A daemon that knows a job has been told every
//! set with processes of it, with the same members as all others, and a set is over before the daemon forgets one of
//! its jobs (spec L43, L44).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::{DaemonRank, JobId};
use ferrite_wire::{ControlOrder, DaemonMessage, Message, ProcessSet, TreeMessage};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct ProcessSets {
    /// The sets that each daemon knows.
    at: BTreeMap<DaemonRank, BTreeMap<String, ProcessSet>>,
    /// The names that each daemon has ever been told.
    told: BTreeMap<DaemonRank, BTreeSet<String>>,
    /// Definitions that processes have asked for.
    asked: BTreeMap<(DaemonRank, PmixToken), (JobId, String)>,
    /// The sets of each job that exist, or have existed: they came with it, or the head has accepted them.
    of_job: BTreeMap<JobId, BTreeSet<String>>,
    /// The members of each set, as the first daemon was told.
    members: BTreeMap<String, ProcessSet>,
    /// Daemons that were told to leave, and are told no more about sets.
    leaving: BTreeSet<DaemonRank>,
}

impl ProcessSets {
    fn defined(&mut self, rank: DaemonRank, set: &ProcessSet) -> Result<(), String> {
        // The sets of elastic jobs are defined anew with each change, and daemons hear of that at different times.
        let is_fixed = !set.name.starts_with("job:");
        let first = self.members.entry(set.name.clone()).or_insert_with(|| set.clone());
        require(!is_fixed || first == set, || {
            format!("daemon {rank} is told other members of the set {} than others", set.name)
        })?;
        self.told.entry(rank).or_default().insert(set.name.clone());
        let before = self.at.entry(rank).or_default().insert(set.name.clone(), set.clone());
        require(before.is_none(), || format!("daemon {rank} is told the set {} twice", set.name))
    }

    fn forgotten(&mut self, rank: DaemonRank, job: JobId) -> Result<(), String> {
        if self.leaving.contains(&rank) {
            return Ok(());
        }
        let kept = self.at.get(&rank).into_iter().flat_map(BTreeMap::values).find(|set| set.includes(job));
        require(kept.is_none(), || {
            let name = kept.map_or("", |set| set.name.as_str());
            format!("daemon {rank} forgets job {job} and keeps its set {name}")
        })?;
        let told = self.told.entry(rank).or_default();
        let missed = self.of_job.get(&job).into_iter().flatten().find(|name| !told.contains(*name));
        require(missed.is_none(), || {
            format!("daemon {rank} knew job {job} and was never told its set {}", missed.map_or("", |name| name))
        })
    }
}

impl Invariant for ProcessSets {
    fn name(&self) -> &'static str {
        "daemons know the process sets of the head"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, input, message, .. } => {
                if let Input::Daemon(DaemonInput::Pmix(PmixCall::Control { by: Some(by), order, token })) = input
                    && let ControlOrder::DefineSet(set) = &**order
                {
                    self.asked.insert((*rank, *token), (by.job, set.name.clone()));
                }
                match message {
                    Some(Message::Tree(TreeMessage::Shrink { targets })) if targets.contains(*rank) => {
                        self.leaving.insert(*rank);
                    }
                    Some(Message::Tree(TreeMessage::Died { ranks })) if ranks.contains(*rank) => {
                        self.leaving.insert(*rank);
                    }
                    Some(Message::Daemon(DaemonMessage::Exit)) => {
                        self.leaving.insert(*rank);
                    }
                    _ => {}
                }
                Ok(())
            }
            Observation::Effect { rank, effect: Effect::Pmix(effect), .. } => match effect {
                PmixEffect::Register(registration) => {
                    let names = registration.order.sets().map(|set| set.name);
                    self.of_job.entry(registration.order.job).or_default().extend(names);
                    Ok(())
                }
                PmixEffect::DefineSet(set) => self.defined(*rank, set),
                PmixEffect::DeleteSet(name) => {
                    let known = self.at.entry(*rank).or_default().remove(name);
                    require(known.is_some(), || format!("daemon {rank} deletes the set {name}, which it does not know"))
                }
                PmixEffect::Reply { token, result } => {
                    let asked = self.asked.remove(&(*rank, *token));
                    if let Some((job, name)) = asked.filter(|_| result.is_ok()) {
                        self.of_job.entry(job).or_default().insert(name);
                    }
                    Ok(())
                }
                PmixEffect::Deregister(job) => self.forgotten(*rank, *job),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
