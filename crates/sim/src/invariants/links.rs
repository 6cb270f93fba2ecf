//! Guarantee: a daemon talks only over links that it knows to be up, reads each stream once at a time, and does
//! nothing after it has asked to end.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, LinkInput};
use ferrite_types::{DaemonRank, ProcId};
use ferrite_wire::Stream;

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct Links {
    up: BTreeSet<(DaemonRank, DaemonRank)>,
    reading: BTreeSet<(DaemonRank, ProcId, Stream)>,
    exiting: BTreeMap<DaemonRank, u8>,
}

impl Links {
    fn wanted(&mut self, rank: DaemonRank, effect: &Effect) -> Result<(), String> {
        require(!self.exiting.contains_key(&rank), || format!("daemon {rank} wants {effect:?} after its end"))?;
        match effect {
            Effect::Transmit { peer, .. } => {
                require(self.up.contains(&(rank, *peer)), || format!("daemon {rank} sends to {peer} without a link"))
            }
            Effect::Connect { peer, .. } => require(!self.up.contains(&(rank, *peer)), || {
                format!("daemon {rank} calls {peer}, to which it has a link")
            }),
            Effect::CloseLink { peer } => require(self.up.remove(&(rank, *peer)), || {
                format!("daemon {rank} closes a link to {peer} that it does not have")
            }),
            Effect::ReadOutput { proc, stream, .. } => require(self.reading.insert((rank, *proc, *stream)), || {
                format!("daemon {rank} reads {proc} {} twice at a time", stream.name())
            }),
            Effect::Exit { code } => {
                self.exiting.insert(rank, *code);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for Links {
    fn name(&self) -> &'static str {
        "a daemon uses only what it has"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, input, .. } => match input {
                Input::Link(LinkInput::LinkUp { peer }) => {
                    self.up.insert((*rank, *peer));
                }
                Input::Link(LinkInput::LinkLost { peer, .. }) => {
                    self.up.remove(&(*rank, *peer));
                }
                Input::Daemon(DaemonInput::Output { proc, stream, .. })
                | Input::Daemon(DaemonInput::OutputClosed { proc, stream }) => {
                    self.reading.remove(&(*rank, *proc, *stream));
                }
                _ => {}
            },
            Observation::Effect { rank, effect, .. } => return self.wanted(*rank, effect),
            _ => {}
        }
        Ok(())
    }
}
