//! Guarantee: the DVM is ready only when every daemon has been wired up, and no daemon gets a job before.

use std::collections::BTreeSet;

use ferrite_core::{Effect, Input, LinkInput, Transition};
use ferrite_types::{DaemonRank, JobId, JobState};
use ferrite_wire::{DaemonMessage, HeadMessage, Message};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct WiredUp {
    alive: BTreeSet<DaemonRank>,
    wired: BTreeSet<DaemonRank>,
    reported: BTreeSet<DaemonRank>,
}

impl WiredUp {
    fn all(&self, what: &str) -> Result<(), String> {
        // A daemon that is alive may never have been a member: it started late, after its campaign had failed.
        let missing = self.reported.iter().find(|r| self.alive.contains(r) && !self.wired.contains(r));
        require(missing.is_none(), || format!("{what}, but daemon {missing:?} is not wired up"))
    }
}

impl Invariant for WiredUp {
    fn name(&self) -> &'static str {
        "ready means that every daemon is wired up"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Born { rank } => {
                self.alive.insert(*rank);
            }
            Observation::Gone { rank, .. } => {
                self.alive.remove(rank);
            }
            Observation::Input {
                rank, input: Input::Link(LinkInput::Frame { .. }), message: Some(message), ..
            } => match message {
                Message::Daemon(DaemonMessage::Wireup(_)) => {
                    self.wired.insert(*rank);
                }
                Message::Head(HeadMessage::Report(report)) if *rank == DaemonRank::HEAD => {
                    self.reported.insert(report.rank);
                }
                _ => {}
            },
            Observation::Effect { effect: Effect::Ready, .. } => return self.all("the DVM is ready"),
            Observation::Effect {
                effect: Effect::Trace(Transition::Job { job: JobId::DAEMONS, to: JobState::VmReady, .. }),
                ..
            } => {
                // The head enters this state to send the wireup (spec L8); `Ready` follows the last acknowledgement.
            }
            Observation::Effect { rank, effect: Effect::Spawn { proc, .. }, .. } if *rank != DaemonRank::HEAD => {
                return require(self.wired.contains(rank), || {
                    format!("daemon {rank} starts {proc} before it is wired up")
                });
            }
            _ => {}
        }
        Ok(())
    }
}
