//! The head's side of a transfer: which piece is read next, which nodes it goes to, and when all of them have all.

use std::collections::{BTreeMap, VecDeque};

use ferrite_types::{DaemonRank, PreloadEntry, RankSet};
use ferrite_wire::FilePiece;

use super::{Place, WINDOW};

/// The files of one job on their way to its nodes. A job that is mapped again has another round, for the nodes that
/// are new.
#[derive(Debug)]
pub(crate) struct Transfer {
    sizes: Vec<u64>,
    total: u64,
    /// Nodes that were told of the files: they have something to remove.
    told: RankSet,
    /// Nodes that have all files.
    complete: RankSet,
    round: Option<Round>,
}

/// One reading of all files.
#[derive(Debug)]
struct Round {
    /// The nodes that it is for, with the bytes that each has written; those that have all files are out.
    nodes: BTreeMap<DaemonRank, u64>,
    /// The next place to ask the reader for.
    next: Place,
    /// Places that the reader was asked for and has not answered.
    asked: VecDeque<Place>,
    /// Bytes that the reader was asked for.
    requested: u64,
    /// Bytes that were sent to the nodes.
    sent: u64,
}

/// The next step of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Tell these nodes what comes.
    Tell(RankSet),
    /// Ask the reader for a piece.
    Read {
        /// The index of the file among the entries.
        entry: u32,
        /// Its place (bytes).
        offset: u64,
        /// Its size (bytes).
        length: u32,
    },
    /// Send a piece to these nodes.
    Send(RankSet, FilePiece),
    /// All nodes of the round have all files.
    Complete,
}

impl Transfer {
    pub(crate) fn of(entries: &[PreloadEntry]) -> Transfer {
        let sizes: Vec<u64> = entries.iter().map(PreloadEntry::size).collect();
        let total = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
        Transfer { sizes, total, told: RankSet::new(), complete: RankSet::new(), round: None }
    }

    /// Begins a round for the nodes of a map. Those that have all files already get nothing.
    pub(crate) fn begin(&mut self, nodes: &RankSet) -> Vec<Step> {
        let missing: RankSet = nodes.iter().filter(|rank| !self.complete.contains(*rank)).collect();
        if missing.is_empty() {
            return vec![Step::Complete];
        }
        self.told.insert_all(&missing);
        self.round = Some(Round {
            nodes: missing.iter().map(|rank| (rank, 0)).collect(),
            next: Place::first(&self.sizes),
            asked: VecDeque::new(),
            requested: 0,
            sent: 0,
        });
        let mut steps = vec![Step::Tell(missing)];
        steps.extend(self.reads());
        steps
    }

    /// Takes a piece of the reader. One that was not asked for in this round is dropped.
    ///
    /// # Errors
    /// The index of the file, when the piece is not what was asked for: the file has changed, or the way has.
    pub(crate) fn on_piece(&mut self, piece: FilePiece) -> Result<Vec<Step>, u32> {
        let Some(round) = &mut self.round else { return Ok(Vec::new()) };
        let place = Place { entry: piece.entry as usize, offset: piece.offset };
        if round.asked.front() != Some(&place) {
            return Ok(Vec::new());
        }
        round.asked.pop_front();
        if piece.data.len() as u64 != place.piece(&self.sizes) || !piece.is_intact() {
            return Err(piece.entry);
        }
        round.sent += piece.data.len() as u64;
        let nodes = round.nodes.keys().copied().collect();
        Ok(vec![Step::Send(nodes, piece)])
    }

    /// Notes that a node has written bytes.
    pub(crate) fn on_credit(&mut self, node: DaemonRank, bytes: u64) -> Vec<Step> {
        let Some(round) = &mut self.round else { return Vec::new() };
        let sent = round.sent;
        if let Some(written) = round.nodes.get_mut(&node) {
            *written = written.saturating_add(bytes).min(sent);
        }
        self.reads()
    }

    /// Notes that a node has all files in their places.
    pub(crate) fn on_complete(&mut self, node: DaemonRank) -> Vec<Step> {
        let total = self.total;
        let Some(round) = self.round.as_mut().filter(|round| round.sent == total) else { return Vec::new() };
        if round.nodes.remove(&node).is_some() {
            self.complete.insert(node);
        }
        self.settle()
    }

    /// Expects nothing more of a node that is gone, so that it holds up no other.
    pub(crate) fn forget(&mut self, node: DaemonRank) -> Vec<Step> {
        self.complete.remove(node);
        let known = self.round.as_mut().is_some_and(|round| round.nodes.remove(&node).is_some());
        if known { self.settle() } else { Vec::new() }
    }

    /// Ends the transfer: nothing more is read or sent.
    pub(crate) fn stop(&mut self) {
        self.round = None;
    }

    /// True while files are on their way.
    pub(crate) fn is_open(&self) -> bool {
        self.round.is_some()
    }

    /// Nodes that were told of the files.
    pub(crate) fn told(&self) -> &RankSet {
        &self.told
    }

    /// The node that has written the least, with its bytes and all bytes.
    pub(crate) fn slowest(&self) -> Option<(DaemonRank, u64, u64)> {
        let (node, written) = self.round.as_ref()?.nodes.iter().min_by_key(|(_, written)| **written)?;
        Some((*node, *written, self.total))
    }

    /// Ends the round when no node is left in it; else goes on.
    fn settle(&mut self) -> Vec<Step> {
        if self.round.as_ref().is_some_and(|round| round.nodes.is_empty()) {
            self.round = None;
            return vec![Step::Complete];
        }
        self.reads()
    }

    /// The pieces to ask for now: as many as the slowest node has room for (spec L70).
    fn reads(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(round) = &mut self.round else { return steps };
        let written = round.nodes.values().min().copied().unwrap_or(0);
        while let length @ 1.. = round.next.piece(&self.sizes)
            && round.requested + length <= written + WINDOW
        {
            steps.push(Step::Read {
                entry: round.next.entry as u32,
                offset: round.next.offset,
                // A piece is small.
                length: length as u32,
            });
            round.asked.push_back(round.next);
            round.requested += length;
            round.next = round.next.after(length, &self.sizes);
        }
        steps
    }
}

#[cfg(test)]
mod tests;
