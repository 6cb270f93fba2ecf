//! Guarantee: only the dead are declared dead. Their process is gone, or they did not answer a call within its limit
//! because they (or their caller) were paused, cut off or slow. A lost link alone kills no daemon.

use ferrite_core::{Effect, Input, LinkInput};
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{Message, TreeMessage};

use super::silence::Silence;
use super::{Invariant, Observation, require};
use crate::queue::Time;

/// The limit of a call, 3 s: its last attempt may be just before the end, and the first is late by network jitter.
const CALL: Time = 3_200_000;
const SILENT: Time = 2_400_000;

#[derive(Default)]
pub(super) struct OnlyTheDead {
    silence: Silence,
    gone: RankSet,
    /// Daemons with a reason not to answer.
    unanswering: RankSet,
    declared: RankSet,
}

impl Invariant for OnlyTheDead {
    fn name(&self) -> &'static str {
        "only the dead are declared dead"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Fault { at, fault } => self.silence.begin(*at, fault),
            Observation::Born { rank } => self.silence.born(*rank),
            Observation::Gone { rank, .. } => {
                self.gone.insert(*rank);
            }
            Observation::Input {
                rank,
                at,
                input: Input::Link(LinkInput::ConnectFailed { peer, refused: false, .. }),
                ..
            } if self.silence.within_call([*rank, *peer], at.saturating_sub(CALL), *at) >= SILENT => {
                self.unanswering.insert(*peer);
            }
            Observation::Effect {
                rank: DaemonRank::HEAD,
                effect: Effect::Transmit { .. },
                message: Some(Message::Tree(TreeMessage::Died { ranks, .. })),
                ..
            } => {
                for rank in ranks.iter().filter(|rank| self.declared.insert(*rank)) {
                    let dead = self.gone.contains(rank) || self.unanswering.contains(rank);
                    require(dead, || format!("daemon {rank} is declared dead, lives, and would have answered"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use ferrite_wire::{Dest, Frame, FrameKind};

    const CHILD: DaemonRank = DaemonRank(3);

    fn declare(check: &mut OnlyTheDead) -> Result<(), String> {
        let message = Message::Tree(TreeMessage::Died { ranks: RankSet::range(3, 4) });
        let frame = Frame {
            dest: Dest::All,
            origin: DaemonRank::HEAD,
            kind: FrameKind::Heartbeat,
            payload: bytes::Bytes::new(),
        };
        let effect = Effect::Transmit { peer: DaemonRank(1), frame };
        let (rank, message) = (DaemonRank::HEAD, Some(&message));
        check.observe(&Observation::Effect { rank, at: 0, effect: &effect, message })
    }

    #[test]
    fn a_call_that_fails_excuses_only_with_a_silence_of_its_length() {
        for (silent, excused) in [(0, false), (1_000_000, false), (3_000_000, true)] {
            let mut check = OnlyTheDead::default();
            check.observe(&Observation::Fault { at: 0, fault: &Fault::Isolate(CHILD, silent) }).unwrap();
            let input = Input::Link(LinkInput::ConnectFailed { peer: CHILD, cause: String::new(), refused: false });
            let rank = DaemonRank(1);
            check.observe(&Observation::Input { rank, at: 3_000_000, input: &input, message: None }).unwrap();
            assert_eq!(declare(&mut check).is_ok(), excused, "{silent}");
        }
    }

    #[test]
    fn who_is_gone_may_be_declared_dead() {
        let mut check = OnlyTheDead::default();
        let gone = Observation::Gone { rank: CHILD, at: 0, how: crate::world::Gone::Crash, running: 0 };
        check.observe(&gone).unwrap();
        assert!(declare(&mut check).is_ok());
    }
}
