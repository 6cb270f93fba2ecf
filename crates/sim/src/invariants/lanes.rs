//! Guarantee: a daemon talks only over lanes that are up, opens none twice, closes each as soon as all below have
//! confirmed, and keeps none for long.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input, Lane, LaneEffect, LaneInput};
use ferrite_types::DaemonRank;
use ferrite_wire::SpreadMessage;

use super::{Invariant, Observation, require};
use crate::queue::Time;

/// The longest time of a lane: a daemon that stands still or is cut off is declared dead before.
const LONGEST: Time = 120_000_000;

#[derive(Default)]
pub(super) struct Lanes {
    /// Calls that were not answered.
    called: BTreeSet<(DaemonRank, Lane)>,
    /// Lanes that are up, as each end knows it, and since when.
    up: BTreeMap<(DaemonRank, Lane), Time>,
    /// Lanes over which the other end has just confirmed.
    held: BTreeSet<(DaemonRank, Lane)>,
}

impl Lanes {
    fn heard(&mut self, rank: DaemonRank, at: Time, input: &LaneInput) {
        match input {
            LaneInput::Up(lane) => {
                self.called.remove(&(rank, *lane));
                self.up.insert((rank, *lane), at);
            }
            LaneInput::Heard { lane, message } => {
                self.up.entry((rank, *lane)).or_insert(at);
                if let SpreadMessage::Held { .. } = message {
                    self.held.insert((rank, *lane));
                }
            }
            LaneInput::Lost { lane, .. } => {
                self.called.remove(&(rank, *lane));
                self.up.remove(&(rank, *lane));
            }
        }
    }

    fn wanted(&mut self, rank: DaemonRank, at: Time, effect: &LaneEffect) -> Result<(), String> {
        match effect {
            LaneEffect::Open { lane, .. } => {
                let (is_new, peer) = (self.called.insert((rank, *lane)), lane.peer);
                require(is_new && !self.up.contains_key(&(rank, *lane)), || {
                    format!("daemon {rank} opens a lane of spread {} to {peer} twice", lane.spread)
                })
            }
            LaneEffect::Say { lane, .. } => require(self.up.contains_key(&(rank, *lane)), || {
                format!("daemon {rank} talks over a lane of spread {} to {} that is not up", lane.spread, lane.peer)
            }),
            LaneEffect::Close(lane) => {
                self.called.remove(&(rank, *lane));
                self.held.remove(&(rank, *lane));
                let since = self.up.remove(&(rank, *lane)).unwrap_or(at);
                require(at - since < LONGEST, || {
                    format!("daemon {rank} has kept a lane of spread {} to {} too long", lane.spread, lane.peer)
                })
            }
        }
    }
}

impl Invariant for Lanes {
    fn name(&self) -> &'static str {
        "lanes live as long as their spread"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, at, input, .. } => {
                let kept = self.held.iter().find(|(of, _)| of == rank);
                require(kept.is_none(), || format!("daemon {rank} keeps a lane that it does not need: {kept:?}"))?;
                if let Input::Lane(input) = input {
                    self.heard(*rank, *at, input);
                }
            }
            Observation::Effect { rank, at, effect: Effect::Lane(effect), .. } => {
                return self.wanted(*rank, *at, effect);
            }
            Observation::Gone { rank, .. } => {
                self.called.retain(|(of, _)| of != rank);
                self.held.retain(|(of, _)| of != rank);
                self.up.retain(|(of, _), _| of != rank);
            }
            _ => {}
        }
        Ok(())
    }
}
