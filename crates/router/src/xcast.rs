//! Acknowledged broadcasts as one daemon sees them: pass on to the children, process, wait for the
//! children's acknowledgements, acknowledge to the parent.
//!
//! So one acknowledgement a link tells the head that everybody has processed the message. Whether a
//! message is passed on before or after it is processed is the caller's choice; payloads stay with
//! the caller.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, RankSet};

use crate::Tree;
use crate::seqset::SeqSet;

/// All broadcasts in flight at this daemon, ordered by sequence number.
#[derive(Clone, Debug, Default)]
pub struct Xcasts {
    /// The number that the head gave last; zero elsewhere.
    last: u64,
    open: BTreeMap<u64, Open>,
    /// Finished here, so that a repeated message is known for what it is.
    done: SeqSet,
}

#[derive(Clone, Debug)]
struct Open {
    /// Who gets the acknowledgement; `None` on the head.
    from: Option<DaemonRank>,
    processed: bool,
    owing: RankSet,
}

/// What a message that came from the parent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// Seen for the first time: process it and pass it on to these.
    New {
        /// The children to pass it on to.
        forward_to: Vec<DaemonRank>,
    },
    /// Seen before: drop it. When it is finished here, the sender (a new parent) has yet to learn that.
    Duplicate {
        /// Acknowledge once more, to the sender.
        ack_again: bool,
    },
}

/// What an event means for a broadcast that has just become complete below this daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Acknowledge to the parent.
    AckParent,
    /// On the head: every daemon has processed it.
    Complete,
}

impl Xcasts {
    /// No broadcast yet.
    #[must_use]
    pub fn new() -> Xcasts {
        Xcasts::default()
    }

    /// Opens a broadcast on the head and gives it the next sequence number (they count from 1).
    /// It is to be sent to [`Xcasts::waiting_for`], the head's children at this moment.
    pub fn start(&mut self, tree: &Tree) -> u64 {
        self.last += 1;
        let owing = tree.children(DaemonRank::HEAD).into_iter().collect();
        self.open.insert(self.last, Open { from: None, processed: false, owing });
        self.last
    }

    /// Takes note of a message that came from the parent. `children` are this daemon's at this moment.
    pub fn receive(&mut self, seq: u64, from: DaemonRank, children: Vec<DaemonRank>) -> Receipt {
        if self.done.contains(seq) {
            return Receipt::Duplicate { ack_again: true };
        }
        if let Some(open) = self.open.get_mut(&seq) {
            // After a repair the same message comes from another parent, who wants the acknowledgement.
            open.from = Some(from);
            return Receipt::Duplicate { ack_again: false };
        }
        let owing = children.iter().copied().collect();
        self.open.insert(seq, Open { from: Some(from), processed: false, owing });
        Receipt::New { forward_to: children }
    }

    /// This daemon has processed the message.
    pub fn processed_here(&mut self, seq: u64) -> Option<Progress> {
        self.open.get_mut(&seq)?.processed = true;
        self.settle(seq)
    }

    /// A child's whole sub-tree has processed the message. One that owes nothing changes nothing.
    pub fn acked_by(&mut self, seq: u64, child: DaemonRank) -> Option<Progress> {
        let owed = self.open.get_mut(&seq)?.owing.remove(child);
        owed.then(|| self.settle(seq)).flatten()
    }

    /// A lost child no longer owes acknowledgements. Call [`Xcasts::child_adopted`] for those that
    /// hung below it *first*, else a broadcast could complete without them.
    pub fn child_lost(&mut self, child: DaemonRank) -> Vec<(u64, Progress)> {
        let owed: Vec<u64> = self.owed_by(child).collect();
        owed.into_iter().filter_map(|seq| Some((seq, self.acked_by(seq, child)?))).collect()
    }

    /// A new child owes an acknowledgement for every broadcast in flight: returns what to send again
    /// to it, in order. It drops what it has already seen.
    pub fn child_adopted(&mut self, child: DaemonRank) -> Vec<u64> {
        for open in self.open.values_mut() {
            open.owing.insert(child);
        }
        self.open.keys().copied().collect()
    }

    /// Sequence numbers not finished here, ascending.
    pub fn in_flight(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.keys().copied()
    }

    /// The children that have not acknowledged yet; `None` when the broadcast is finished or unknown.
    #[must_use]
    pub fn waiting_for(&self, seq: u64) -> Option<&RankSet> {
        self.open.get(&seq).map(|open| &open.owing)
    }

    /// Who gets the acknowledgement of a broadcast in flight; `None` on the head.
    #[must_use]
    pub fn came_from(&self, seq: u64) -> Option<DaemonRank> {
        self.open.get(&seq)?.from
    }

    fn owed_by(&self, child: DaemonRank) -> impl Iterator<Item = u64> + '_ {
        self.open.iter().filter(move |(_, open)| open.owing.contains(child)).map(|(seq, _)| *seq)
    }

    /// Closes a broadcast that waits for nothing any more.
    fn settle(&mut self, seq: u64) -> Option<Progress> {
        let finished = |open: &Open| open.processed && open.owing.is_empty();
        if !self.open.get(&seq).is_some_and(finished) {
            return None;
        }
        let open = self.open.remove(&seq)?;
        self.done.insert(seq);
        Some(match open.from {
            Some(_) => Progress::AckParent,
            None => Progress::Complete,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(rank: u32) -> DaemonRank {
        DaemonRank(rank)
    }

    #[test]
    fn the_head_completes_when_it_and_all_its_children_have_processed() {
        let mut head = Xcasts::new();
        let seq = head.start(&Tree::new(2, 10));
        assert_eq!(head.waiting_for(seq).map(ToString::to_string).as_deref(), Some("1-2"));
        assert_eq!(head.acked_by(seq, r(2)), None);
        assert_eq!(head.processed_here(seq), None);
        assert_eq!(head.acked_by(seq, r(2)), None, "a repeated ack counts once");
        assert_eq!(head.acked_by(seq, r(1)), Some(Progress::Complete));
        assert_eq!(head.in_flight().count(), 0);
        assert_eq!(head.acked_by(seq, r(1)), None);
    }

    #[test]
    fn a_head_alone_completes_at_once() {
        let mut head = Xcasts::new();
        let seq = head.start(&Tree::new(64, 1));
        assert_eq!(head.processed_here(seq), Some(Progress::Complete));
    }

    #[test]
    fn a_relay_acknowledges_when_its_children_have() {
        let mut relay = Xcasts::new();
        let children = vec![r(3), r(4)];
        assert_eq!(relay.receive(9, r(0), children.clone()), Receipt::New { forward_to: children });
        assert_eq!(relay.acked_by(9, r(3)), None);
        assert_eq!(relay.acked_by(9, r(4)), None, "it has not processed the message itself");
        assert_eq!(relay.processed_here(9), Some(Progress::AckParent));
        assert_eq!(relay.processed_here(9), None);
    }

    #[test]
    fn a_repeated_message_is_dropped_and_acknowledged_again_only_when_finished() {
        let mut leaf = Xcasts::new();
        assert_eq!(leaf.receive(1, r(3), vec![]), Receipt::New { forward_to: vec![] });
        assert_eq!(leaf.receive(1, r(1), vec![]), Receipt::Duplicate { ack_again: false });
        assert_eq!(leaf.came_from(1), Some(r(1)));
        assert_eq!(leaf.processed_here(1), Some(Progress::AckParent));
        assert_eq!(leaf.receive(1, r(0), vec![]), Receipt::Duplicate { ack_again: true });
    }

    #[test]
    fn a_lost_child_owes_nothing_in_any_broadcast() {
        let mut head = Xcasts::new();
        let tree = Tree::new(2, 3);
        let (a, b, c) = (head.start(&tree), head.start(&tree), head.start(&tree));
        for seq in [a, b] {
            head.processed_here(seq);
        }
        head.acked_by(a, r(2));
        head.acked_by(c, r(2));
        assert_eq!(head.child_lost(r(1)), [(a, Progress::Complete)]);
        assert_eq!(head.waiting_for(b).map(ToString::to_string).as_deref(), Some("2"));
        assert_eq!(head.processed_here(c), Some(Progress::Complete));
        assert_eq!(head.child_lost(r(1)), []);
    }

    #[test]
    fn adopted_children_hold_a_broadcast_open_when_their_relay_is_lost() {
        let mut head = Xcasts::new();
        let seq = head.start(&Tree::new(2, 4));
        head.processed_here(seq);
        head.acked_by(seq, r(2));
        assert_eq!(head.child_adopted(r(3)), [seq]);
        assert_eq!(head.child_lost(r(1)), []);
        assert_eq!(head.acked_by(seq, r(3)), Some(Progress::Complete));
    }
}
