//! Guarantee: a failed process is started again at most as often as its job allows, on its own node, after its
//! predecessor is gone; and a job does not end before the processes that were started again (spec L81, L82).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, LinkInput, PmixCall, PmixEffect, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, ProcId};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct Restarts {
    /// The limit of each job.
    limits: BTreeMap<JobId, u32>,
    counts: BTreeMap<ProcId, u32>,
    /// Processes that were started and have not ended, with their daemons.
    alive: BTreeMap<ProcId, DaemonRank>,
    /// Those of them that were started again.
    again: BTreeSet<ProcId>,
    /// Processes that have called init.
    initialized: BTreeSet<ProcId>,
}

impl Restarts {
    fn ended(&mut self, proc: &ProcId) {
        self.alive.remove(proc);
        self.again.remove(proc);
    }

    fn wanted(&mut self, rank: DaemonRank, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Pmix(PmixEffect::Register(registration)) => {
                let order = &registration.order;
                self.limits.insert(order.job, order.spec.options.max_restarts);
                Ok(())
            }
            Effect::Spawn { proc, request } => {
                if request.restarts > 0 {
                    let limit = self.limits.get(&proc.job).copied().unwrap_or(0);
                    let count = self.counts.entry(*proc).or_default();
                    *count += 1;
                    require(*count <= limit, || {
                        format!("{proc} is started again {count} times, and {limit} are allowed")
                    })?;
                    require(*count == request.restarts, || {
                        format!("{proc} is told of {} restarts, and it is number {count}", request.restarts)
                    })?;
                    require(!self.initialized.contains(proc), || {
                        format!("{proc} is started again after it had called init")
                    })?;
                    self.again.insert(*proc);
                }
                let before = self.alive.insert(*proc, rank);
                require(before.is_none(), || format!("daemon {rank} starts {proc}, which lives at {before:?}"))
            }
            Effect::Trace(Transition::Job { job, to: JobState::Terminated, .. }) => {
                let left = self.again.iter().find(|proc| proc.job == *job);
                require(left.is_none(), || format!("job {job} is over while {left:?} was started again and lives"))
            }
            // A process that an order has overtaken before its second start has ended as well.
            Effect::Trace(Transition::Proc { proc, to, .. }) if to.has_ended() => {
                self.ended(proc);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for Restarts {
    fn name(&self) -> &'static str {
        "failed processes are started again as often as their job allows"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect { rank, effect, .. } => return self.wanted(*rank, effect),
            Observation::Input { input: Input::Daemon(DaemonInput::Exited { proc, .. }), .. } => {
                self.alive.remove(proc);
            }
            Observation::Input { input: Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(proc))), .. } => {
                self.initialized.insert(*proc);
            }
            // A daemon that does not answer a call is lost to its jobs, though it may only stand still.
            Observation::Input {
                input: Input::Link(LinkInput::ConnectFailed { peer, refused: false, .. }), ..
            } => {
                self.again.retain(|proc| self.alive.get(proc) != Some(peer));
            }
            Observation::Gone { rank, .. } => {
                let there: Vec<ProcId> =
                    self.alive.iter().filter(|(_, at)| *at == rank).map(|(proc, _)| *proc).collect();
                there.iter().for_each(|proc| self.ended(proc));
            }
            _ => {}
        }
        Ok(())
    }
}
