//! Guarantee: each daemon announces a survived failure at most once, only to a job that has asked for it, and only
//! for a process that has failed.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, PmixEffect, Transition};
use ferrite_types::{DaemonRank, JobId, JobMap, ProcId, ProcState, RankSet};
use ferrite_wire::{Message, TreeMessage};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct ToldOnce {
    /// True for jobs that have asked for announcements.
    wanted: BTreeMap<JobId, bool>,
    /// Processes whose failure their daemon has seen.
    failed: BTreeSet<ProcId>,
    told: BTreeSet<(DaemonRank, ProcId)>,
    /// Daemons that were told to leave.
    leaving: RankSet,
    /// Nodes that were given back, also when no daemon was left to be told.
    given_back: BTreeSet<String>,
    maps: BTreeMap<JobId, JobMap>,
}

impl ToldOnce {
    fn leaves(&self, proc: ProcId) -> bool {
        let node = self.maps.get(&proc.job).and_then(|map| map.node_of(proc.rank));
        node.is_some_and(|node| self.leaving.contains(node.daemon) || self.given_back.contains(&node.name))
    }
}

impl Invariant for ToldOnce {
    fn name(&self) -> &'static str {
        "a survived failure is announced once by each daemon"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { rank, effect, message, .. } = what else {
            return Ok(());
        };
        if let Some(Message::Tree(TreeMessage::Shrink { targets })) = message {
            self.leaving.insert_all(targets);
        }
        match effect {
            Effect::OfferRelease { nodes, .. } => {
                self.given_back.extend(nodes.iter().cloned());
                Ok(())
            }
            Effect::Pmix(PmixEffect::Register(registration)) => {
                let order = &registration.order;
                self.maps.entry(order.job).or_insert_with(|| order.map.clone());
                self.wanted.insert(order.job, order.spec.options.announces_failures());
                Ok(())
            }
            Effect::Trace(Transition::Proc { proc, to, .. }) if to.is_error() => {
                self.failed.insert(*proc);
                Ok(())
            }
            Effect::Pmix(PmixEffect::Notify { job, failed }) => {
                require(self.wanted.get(job) == Some(&true), || format!("job {job} has not asked to be told"))?;
                failed.iter().try_for_each(|failure| {
                    let proc = ProcId { job: *job, rank: failure.rank };
                    // Nobody has seen the processes of a lost daemon fail; those of a leaving daemon are about to end.
                    let planned = failure.state == ProcState::KilledByCmd && self.leaves(proc);
                    let known = failure.state == ProcState::CommFailed || planned || self.failed.contains(&proc);
                    require(known, || format!("daemon {rank} announces {proc}, which has not failed"))?;
                    require(self.told.insert((*rank, proc)), || format!("daemon {rank} announces {proc} twice"))
                })
            }
            _ => Ok(()),
        }
    }
}
