//! Guarantee: a broadcast reaches every daemon exactly once, and a daemon acknowledges it only after its whole
//! sub-tree.

use std::collections::BTreeMap;

use ferrite_core::{Effect, Input, LinkInput};
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::FrameKind;

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct Xcast {
    /// False when links may be lost: a message may come again then.
    reliable: bool,
    relays: BTreeMap<(u64, DaemonRank), Relay>,
    gone: RankSet,
}

#[derive(Default)]
struct Relay {
    received: u32,
    acked: u32,
    /// Children that were sent the message and have not acknowledged it.
    owing: RankSet,
}

impl Xcast {
    pub(super) fn new(scenario: &Scenario) -> Xcast {
        // A daemon that another adopts during a broadcast may get it from both parents, and acknowledges it to one.
        let reliable = scenario.faults.iter().all(|(_, fault)| fault.is_brief()) && !scenario.resizes();
        Xcast { reliable, relays: BTreeMap::new(), gone: RankSet::new() }
    }

    fn relay(&mut self, seq: u64, rank: DaemonRank) -> &mut Relay {
        self.relays.entry((seq, rank)).or_default()
    }

    fn sends(&mut self, rank: DaemonRank, peer: DaemonRank, kind: &FrameKind) -> Result<(), String> {
        match kind {
            FrameKind::Direct
            | FrameKind::Message { .. }
            | FrameKind::Probe(_)
            | FrameKind::Ack { .. }
            | FrameKind::Renewed
            | FrameKind::Heartbeat => Ok(()),
            FrameKind::Xcast { seq, .. } => {
                let relay = self.relay(*seq, rank);
                let may = rank == DaemonRank::HEAD || relay.received > 0;
                let new = relay.owing.insert(peer);
                require(may, || format!("daemon {rank} passes on broadcast {seq}, which it does not have"))?;
                require(new || !self.reliable, || format!("daemon {rank} sends broadcast {seq} to {peer} twice"))
            }
            FrameKind::XcastAck { seq } => {
                let gone = self.gone.clone();
                let reliable = self.reliable;
                let relay = self.relay(*seq, rank);
                relay.acked += 1;
                let (received, acked) = (relay.received, relay.acked);
                let owing = relay.owing.iter().find(|r| !gone.contains(*r));
                require(received > 0, || {
                    format!("daemon {rank} acknowledges broadcast {seq}, which it does not have")
                })?;
                require(acked == 1 || !reliable, || format!("daemon {rank} acknowledges broadcast {seq} twice"))?;
                require(owing.is_none() || !reliable, || {
                    format!("daemon {rank} acknowledges broadcast {seq} before its child {owing:?}")
                })
            }
        }
    }
}

impl Invariant for Xcast {
    fn name(&self) -> &'static str {
        "a broadcast is processed exactly once and acknowledged last"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, input: Input::Link(LinkInput::Frame { from, frame }), .. } => match frame.kind {
                FrameKind::Direct
                | FrameKind::Message { .. }
                | FrameKind::Probe(_)
                | FrameKind::Ack { .. }
                | FrameKind::Renewed
                | FrameKind::Heartbeat => {}
                FrameKind::Xcast { seq, .. } => {
                    let relay = self.relay(seq, *rank);
                    relay.received += 1;
                    let count = relay.received;
                    return require(count == 1 || !self.reliable, || {
                        format!("daemon {rank} gets broadcast {seq} a second time")
                    });
                }
                FrameKind::XcastAck { seq } => {
                    self.relay(seq, *rank).owing.remove(*from);
                }
            },
            Observation::Effect { rank, effect: Effect::Transmit { peer, frame }, .. } => {
                return self.sends(*rank, *peer, &frame.kind);
            }
            Observation::Gone { rank, .. } => {
                self.gone.insert(*rank);
            }
            _ => {}
        }
        Ok(())
    }
}
