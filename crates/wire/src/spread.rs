//! Spreads: a large message of the head that goes to many daemons over a tree of its own, in pieces
//! (docs/design/collectives.md).

use std::fmt;

use bytes::Bytes;
use ferrite_types::{DaemonRank, RankSet};
use serde::{Deserialize, Serialize};

use crate::Contact;

/// The number of a spread; the head counts them from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SpreadId(pub u64);

impl fmt::Display for SpreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Messages about spreads. The first three travel over lanes, the others along the routing tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpreadMessage {
    /// To a child in the tree of the spread: its pieces follow.
    Begin {
        /// The size of the whole message (bytes).
        length: u64,
        /// The daemons to which the child passes it on, and where they listen.
        below: Vec<(DaemonRank, Contact)>,
        /// Spreads with a lower number are over everywhere.
        settled: SpreadId,
    },
    /// To a child: the next piece.
    Piece(Bytes),
    /// To the parent: the sender and all below it have the whole message, but for some.
    Held {
        /// Daemons below the sender that may lack it.
        lacking: RankSet,
        /// Those of them that could not be called.
        unreachable: RankSet,
    },
    /// Head to daemons that lack it: the whole message.
    Whole {
        /// The spread.
        id: SpreadId,
        /// The encoded message.
        message: Bytes,
    },
    /// Head to daemons that have not confirmed a spread for some time: they say whether they lack it.
    Ask(SpreadId),
    /// Daemon to head: the sender lacks the message, and nothing more of it comes.
    Wanted(SpreadId),
    /// Daemon to head: the sender has the whole message.
    Holds(SpreadId),
}

impl SpreadMessage {
    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            SpreadMessage::Begin { .. } => "spread-begin",
            SpreadMessage::Piece(_) => "spread-piece",
            SpreadMessage::Held { .. } => "spread-held",
            SpreadMessage::Whole { .. } => "spread-whole",
            SpreadMessage::Ask(_) => "spread-ask",
            SpreadMessage::Wanted(_) => "spread-wanted",
            SpreadMessage::Holds(_) => "spread-holds",
        }
    }
}
