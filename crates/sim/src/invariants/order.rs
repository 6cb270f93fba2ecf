//! Guarantee: a daemon treats a process in order: registered before its start, touched only while it is there, its
//! files cleaned when it is gone.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixEffect};
use ferrite_types::{DaemonRank, JobId, ProcId};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct Order {
    registered: BTreeSet<(DaemonRank, JobId)>,
    /// Processes that a daemon has asked for and that have not ended for it.
    own: BTreeSet<(DaemonRank, ProcId)>,
    /// Remains of a process: itself, or descendants that hold output streams open (their number).
    groups: BTreeMap<(DaemonRank, ProcId), u32>,
}

impl Order {
    fn wanted(&mut self, rank: DaemonRank, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Pmix(PmixEffect::Register(r)) => {
                let job = r.order.job;
                require(self.registered.insert((rank, job)), || format!("daemon {rank} registers job {job} twice"))
            }
            Effect::Pmix(PmixEffect::Deregister(job)) => require(self.registered.remove(&(rank, *job)), || {
                format!("daemon {rank} deregisters job {job}, which is not registered")
            }),
            Effect::Spawn { proc, .. } => {
                self.own.insert((rank, *proc));
                self.groups.insert((rank, *proc), 2);
                let known = self.registered.contains(&(rank, proc.job));
                require(known, || format!("daemon {rank} starts {proc} before its job is registered"))
            }
            Effect::Signal { proc, signal } => {
                require(self.groups.contains_key(&(rank, *proc)) || self.own.contains(&(rank, *proc)), || {
                    format!("daemon {rank} sends signal {signal} to {proc}, which is not there (any more)")
                })
            }
            Effect::CleanJob(job) => {
                let alive = self.own.iter().find(|(r, p)| *r == rank && p.job == *job);
                require(alive.is_none(), || format!("daemon {rank} cleans job {job} while {alive:?} runs"))
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for Order {
    fn name(&self) -> &'static str {
        "processes are handled in order"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect { rank, effect, .. } => return self.wanted(*rank, effect),
            Observation::Input { rank, input, .. } => match input {
                Input::Daemon(DaemonInput::Exited { proc, .. }) => {
                    self.own.remove(&(*rank, *proc));
                }
                Input::Daemon(DaemonInput::SpawnFailed { proc, .. }) => {
                    self.own.remove(&(*rank, *proc));
                    self.groups.remove(&(*rank, *proc));
                }
                Input::Daemon(DaemonInput::OutputClosed { proc, .. }) => {
                    if let Some(open) = self.groups.get_mut(&(*rank, *proc)) {
                        *open -= 1;
                        if *open == 0 {
                            self.groups.remove(&(*rank, *proc));
                        }
                    }
                }
                _ => {}
            },
            Observation::Gone { rank, .. } => {
                self.own.retain(|(r, _)| r != rank);
                self.groups.retain(|(r, _), _| r != rank);
                self.registered.retain(|(r, _)| r != rank);
            }
            _ => {}
        }
        Ok(())
    }
}
