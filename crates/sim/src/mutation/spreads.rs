//! Planted faults about spreads.
//!
//! The world uses it in runs with a planted fault only, like `losses`.

use ferrite_core::{Effect, Input, Lane, LaneEffect, LaneInput};
use ferrite_types::RankSet;
use ferrite_wire::{DaemonMessage, Message, SpreadMessage};

use super::losses::{frames, replace};
use crate::mutation::Mutation;

/// Changes the effects of a daemon.
pub(crate) fn tamper(mutation: Mutation, cause: &Input, wanted: &mut Vec<Effect>) {
    match mutation {
        Mutation::KeptLane => wanted.retain(|e| !matches!(e, Effect::Lane(LaneEffect::Close(_)))),
        Mutation::ShortPiece => said(wanted).for_each(|message| {
            if let SpreadMessage::Piece(piece) = message {
                piece.truncate(piece.len() - 1);
            }
        }),
        Mutation::NobodyLacks => said(wanted).for_each(|message| {
            if let SpreadMessage::Held { lacking, .. } = message {
                *lacking = RankSet::new();
            }
        }),
        Mutation::NoWhole => frames(wanted).for_each(|frame| {
            // The message is dropped: nothing takes its place.
            replace(frame, |message| match message {
                Message::Spread(SpreadMessage::Whole { .. }) => Some(DaemonMessage::Adopt(Vec::new()).into()),
                _ => None,
            });
        }),
        Mutation::EarlyHeld => {
            if let Input::Lane(LaneInput::Heard { lane, message: SpreadMessage::Begin { .. } }) = cause {
                wanted.push(held(*lane));
            }
        }
        _ => {}
    }
}

fn held(lane: Lane) -> Effect {
    let message = SpreadMessage::Held { lacking: RankSet::new(), unreachable: RankSet::new() };
    Effect::Lane(LaneEffect::Say { lane, message })
}

fn said(wanted: &mut [Effect]) -> impl Iterator<Item = &mut SpreadMessage> {
    wanted.iter_mut().filter_map(|effect| match effect {
        Effect::Lane(LaneEffect::Say { message, .. }) => Some(message),
        _ => None,
    })
}
