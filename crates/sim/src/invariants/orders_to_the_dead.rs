//! Guarantee: no daemon gets a message after the head has declared its death.

use ferrite_core::Effect;
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{Dest, FrameKind, Message, TreeMessage};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct OrdersToTheDead {
    declared: RankSet,
}

impl Invariant for OrdersToTheDead {
    fn name(&self) -> &'static str {
        "the dead get no orders"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { rank: DaemonRank::HEAD, effect: Effect::Transmit { frame, .. }, message, .. } = what
        else {
            return Ok(());
        };
        if let Some(Message::Tree(TreeMessage::Died { ranks, .. })) = message {
            self.declared.insert_all(ranks);
        }
        // Messages of others, sent before they knew, may still pass here.
        let own = frame.origin == DaemonRank::HEAD && matches!(frame.kind, FrameKind::Message { .. });
        if !own || self.declared.is_empty() {
            return Ok(());
        }
        let dead = match &frame.dest {
            Dest::One(rank) => Some(*rank).filter(|rank| self.declared.contains(*rank)),
            Dest::Many(ranks) => ranks.iter().find(|rank| self.declared.contains(*rank)),
            Dest::All => None,
        };
        let kind = message.map_or("-", Message::kind);
        require(dead.is_none(), || format!("a {kind} message goes to {dead:?}, which was declared dead"))
    }
}
