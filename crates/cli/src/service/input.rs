//! The standard input of a task: what the client has given, and how much of it the DVM has taken. Pure.

use bytes::Bytes;

use super::requests::Task;
use crate::batch::line::Id;

/// The standard input of a task (spec L150).
#[derive(Debug)]
pub(super) struct Input {
    /// The part that the DVM has not taken yet.
    pub(super) rest: Bytes,
    /// True while the client may give more.
    pub(super) is_open: bool,
    /// The longest piece for which the DVM waits.
    pub(super) wanted: Option<u32>,
    /// The `feed` that has given the rest, and has no answer.
    pub(super) feed: Option<Option<Id>>,
}

impl Input {
    pub(super) fn of(described: &Task) -> Input {
        let rest = Bytes::from(described.stdin.clone().unwrap_or_default());
        Input { rest, is_open: described.feed, wanted: None, feed: None }
    }

    /// Returns a piece for the DVM; an empty one is the end. None: the client has to give one first.
    pub(super) fn read(&mut self, limit: u32) -> Option<Bytes> {
        if self.rest.is_empty() && self.is_open {
            self.wanted = Some(limit);
            return None;
        }
        Some(self.rest.split_to(self.rest.len().min(limit as usize)))
    }
}
