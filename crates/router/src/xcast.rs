//! Acknowledged broadcasts from one daemon's view: pass on to the children, process, wait for the children's
//! acknowledgements, acknowledge to the parent.
//!
//! One acknowledgement per link thus tells the head that every daemon has processed the message. The caller passes a
//! message on before or after it processes it, which determines the children; the caller also keeps the payloads.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, RankSet};

use crate::seqset::SeqSet;

/// All broadcasts in flight at this daemon, ordered by sequence number.
#[derive(Clone, Debug, Default)]
pub struct Xcasts {
    /// The latest number, at the head; zero elsewhere.
    last: u64,
    open: BTreeMap<u64, Open>,
    /// Finished broadcasts, by which a repeated message is recognised.
    done: SeqSet,
}

#[derive(Clone, Debug)]
struct Open {
    /// True for a broadcast of this daemon, which is the head: it gets the last acknowledgements.
    own: bool,
    processed: bool,
    /// Children that owe an acknowledgement; `None` before the message was passed on.
    owing: Option<RankSet>,
}

/// The kind of a message that has come from the parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// Seen for the first time: process it and pass it on.
    New,
    /// A repeated message: dropped. When it is finished here, a new parent may lack the acknowledgement.
    Duplicate {
        /// True to acknowledge once more, to the sender.
        ack_again: bool,
    },
}

/// The step of a broadcast that is complete below this daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Acknowledge to the parent.
    AckParent,
    /// At the head: every daemon has processed it.
    Complete,
}

impl Xcasts {
    /// Without broadcasts.
    #[must_use]
    pub fn new() -> Xcasts {
        Xcasts::default()
    }

    /// Opens a broadcast on the head and gives it the next sequence number (they count from 1).
    pub fn start(&mut self) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Open { own: true, processed: false, owing: None });
        self.last
    }

    /// Notes a message that has come from a parent.
    pub fn receive(&mut self, seq: u64) -> Receipt {
        if self.done.contains(seq) || self.open.contains_key(&seq) {
            // After a repair the same message comes from another parent; one that is open is acknowledged to it later.
            return Receipt::Duplicate { ack_again: self.done.contains(seq) };
        }
        self.open.insert(seq, Open { own: false, processed: false, owing: None });
        Receipt::New
    }

    /// Notes that a broadcast was passed on to these children, which now owe an acknowledgement.
    pub fn forwarded(&mut self, seq: u64, children: &[DaemonRank]) -> Option<Progress> {
        self.open.get_mut(&seq)?.owing = Some(children.iter().copied().collect());
        self.settle(seq)
    }

    /// Notes that this daemon has processed the message.
    pub fn processed_here(&mut self, seq: u64) -> Option<Progress> {
        self.open.get_mut(&seq)?.processed = true;
        self.settle(seq)
    }

    /// Notes that a child's whole sub-tree has processed the message. A child that owes nothing changes nothing.
    pub fn acked_by(&mut self, seq: u64, child: DaemonRank) -> Option<Progress> {
        let owed = self.open.get_mut(&seq)?.owing.as_mut()?.remove(child);
        owed.then(|| self.settle(seq)).flatten()
    }

    /// Cancels the acknowledgements of a lost child. Call [`Xcasts::child_adopted`] for the daemons below it *first*:
    /// otherwise a broadcast could complete without them.
    pub fn child_lost(&mut self, child: DaemonRank) -> Vec<(u64, Progress)> {
        let owed: Vec<u64> = self.owed_by(child).collect();
        owed.into_iter().filter_map(|seq| Some((seq, self.acked_by(seq, child)?))).collect()
    }

    /// Makes a new child owe an acknowledgement for every broadcast that was passed on and is in flight. The caller
    /// sends it [`Xcasts::owed_by`]; the child drops repeated messages.
    pub fn child_adopted(&mut self, child: DaemonRank) {
        for owing in self.open.values_mut().filter_map(|open| open.owing.as_mut()) {
            owing.insert(child);
        }
    }

    /// Sequence numbers not finished here, ascending.
    pub fn in_flight(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.keys().copied()
    }

    /// The children that owe an acknowledgement; `None` when the broadcast is finished, unknown or not passed on.
    #[must_use]
    pub fn waiting_for(&self, seq: u64) -> Option<&RankSet> {
        self.open.get(&seq)?.owing.as_ref()
    }

    /// The broadcasts that a child has to acknowledge, in order, to send again over a new link.
    pub fn owed_by(&self, child: DaemonRank) -> impl Iterator<Item = u64> + '_ {
        let owes = move |open: &Open| open.owing.as_ref().is_some_and(|owing| owing.contains(child));
        self.open.iter().filter(move |(_, open)| owes(open)).map(|(seq, _)| *seq)
    }

    /// Closes a broadcast that is complete.
    fn settle(&mut self, seq: u64) -> Option<Progress> {
        let finished = |open: &Open| open.processed && open.owing.as_ref().is_some_and(RankSet::is_empty);
        if !self.open.get(&seq).is_some_and(finished) {
            return None;
        }
        let open = self.open.remove(&seq)?;
        self.done.insert(seq);
        Some(if open.own { Progress::Complete } else { Progress::AckParent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(rank: u32) -> DaemonRank {
        DaemonRank(rank)
    }

    /// A head with a broadcast that was passed on to these.
    fn sent_to(head: &mut Xcasts, children: &[u32]) -> u64 {
        let seq = head.start();
        let children: Vec<_> = children.iter().copied().map(DaemonRank).collect();
        assert_eq!(head.forwarded(seq, &children), None);
        seq
    }

    #[test]
    fn the_head_completes_when_it_and_all_its_children_have_processed() {
        let mut head = Xcasts::new();
        let seq = sent_to(&mut head, &[1, 2]);
        assert_eq!(head.waiting_for(seq).map(ToString::to_string).as_deref(), Some("1-2"));
        assert_eq!(head.acked_by(seq, r(2)), None);
        assert_eq!(head.processed_here(seq), None);
        assert_eq!(head.acked_by(seq, r(2)), None, "a repeated ack counts once");
        assert_eq!(head.acked_by(seq, r(1)), Some(Progress::Complete));
        assert_eq!(head.in_flight().count(), 0);
        assert_eq!(head.acked_by(seq, r(1)), None);
    }

    #[test]
    fn a_head_alone_completes_at_once_whatever_comes_first() {
        let mut head = Xcasts::new();
        let seq = sent_to(&mut head, &[]);
        assert_eq!(head.processed_here(seq), Some(Progress::Complete));
        let seq = head.start();
        assert_eq!(head.processed_here(seq), None, "nobody knows yet to whom it goes");
        assert_eq!(head.forwarded(seq, &[]), Some(Progress::Complete));
    }

    #[test]
    fn a_relay_acknowledges_when_its_children_have() {
        let mut relay = Xcasts::new();
        assert_eq!(relay.receive(9), Receipt::New);
        assert_eq!(relay.forwarded(9, &[r(3), r(4)]), None);
        assert_eq!(relay.acked_by(9, r(3)), None);
        assert_eq!(relay.acked_by(9, r(4)), None, "it has not processed the message itself");
        assert_eq!(relay.processed_here(9), Some(Progress::AckParent));
        assert_eq!(relay.processed_here(9), None);
    }

    #[test]
    fn a_repeated_message_is_dropped_and_acknowledged_again_only_when_finished() {
        let mut leaf = Xcasts::new();
        assert_eq!(leaf.receive(1), Receipt::New);
        leaf.forwarded(1, &[]);
        assert_eq!(leaf.receive(1), Receipt::Duplicate { ack_again: false });
        assert_eq!(leaf.processed_here(1), Some(Progress::AckParent));
        assert_eq!(leaf.receive(1), Receipt::Duplicate { ack_again: true });
    }

    #[test]
    fn a_lost_child_owes_nothing_in_any_broadcast() {
        let mut head = Xcasts::new();
        let [a, b, c] = [(); 3].map(|()| sent_to(&mut head, &[1, 2]));
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
        let seq = sent_to(&mut head, &[1, 2]);
        let unsent = head.start();
        head.processed_here(seq);
        head.acked_by(seq, r(2));
        head.child_adopted(r(3));
        assert_eq!(head.owed_by(r(3)).collect::<Vec<_>>(), [seq], "what was not passed on is not owed");
        assert_eq!(head.child_lost(r(1)), []);
        assert_eq!(head.acked_by(seq, r(3)), Some(Progress::Complete));
        assert_eq!(head.in_flight().collect::<Vec<_>>(), [unsent]);
    }
}
