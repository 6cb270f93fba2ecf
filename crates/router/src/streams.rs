//! Reliable messages from daemon to daemon: exactly once and in order for each pair, over whatever path there is.
//!
//! Links deliver in order, so a message is lost only with a link or a relay. Every message to a peer has a number; the
//! peer takes the next one and no other, and says how far it has come in what it sends back, or by an acknowledgement
//! of its own when it has nothing to send. A sender who hears nothing *asks* (a probe travels behind the messages on
//! the same path, so an answer that leaves some of them out proves their loss) and repeats only what was lost.
//!
//! Called by the transport of `core`. Nothing here sends or waits: the caller does what the methods return.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};

/// A sender asks after this time without an answer; then after twice as long, and so on.
const FIRST_PROBE: Duration = Duration::from_millis(1_000);
const LAST_PROBE: Duration = Duration::from_millis(16_000);
/// An acknowledgement of its own is due after so many messages ...
const ACK_EVERY: u32 = 32;
/// ... or so many bytes.
const ACK_BYTES: usize = 256 * 1024;

/// All conversations of one daemon. `P` is what it keeps of a message to be able to send it again.
#[derive(Clone, Debug)]
pub struct Streams<P> {
    peers: BTreeMap<DaemonRank, Peer<P>>,
    /// Those who have yet to acknowledge something.
    waiting: BTreeSet<DaemonRank>,
}

#[derive(Clone, Debug)]
struct Peer<P> {
    /// Number of the last message to it; they count from 1.
    sent: u64,
    /// The last of them, not acknowledged yet.
    unacked: VecDeque<P>,
    /// Number of the last message from it that was taken.
    received: u64,
    /// Taken and not acknowledged yet: messages and bytes.
    owed: u32,
    owed_bytes: usize,
    /// It was told that what follows this number is missing.
    complained: Option<u64>,
    /// When to ask it, and the time after which to ask again.
    due: Timestamp,
    patience: Duration,
    /// When it last said how far it is, or began to have something to acknowledge.
    heard: Timestamp,
}

/// What a message carries: its own number, and how far its sender has come with the other direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of this message.
    pub seq: u64,
    /// Number of the last message that was taken from the addressee.
    pub ack: u64,
}

/// How far a receiver has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Number of the last message that it has taken.
    pub upto: u64,
    /// What follows that number was sent and is lost: send it again.
    pub missing: bool,
}

/// What is to be done with a message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// It is the next one: handle it. Otherwise drop it.
    pub take: bool,
    /// To be sent to its author now.
    pub reply: Option<Ack>,
}

/// A question to a peer: "have you got everything up to this number?"
pub type Probe = (DaemonRank, u64);

impl<P> Default for Streams<P> {
    fn default() -> Self {
        Streams { peers: BTreeMap::new(), waiting: BTreeSet::new() }
    }
}

impl<P> Peer<P> {
    fn new() -> Peer<P> {
        Peer {
            sent: 0,
            unacked: VecDeque::new(),
            received: 0,
            owed: 0,
            owed_bytes: 0,
            complained: None,
            due: Timestamp(0),
            patience: FIRST_PROBE,
            heard: Timestamp(0),
        }
    }

    /// The number up to which everything was taken, which the other side is about to hear.
    fn acknowledge(&mut self) -> u64 {
        (self.owed, self.owed_bytes) = (0, 0);
        self.received
    }

    fn wait(&mut self, now: Timestamp, patience: Duration) {
        self.patience = patience.min(LAST_PROBE);
        self.due = now + self.patience;
    }
}

impl<P: Clone> Streams<P> {
    /// No conversation yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn peer(&mut self, rank: DaemonRank) -> &mut Peer<P> {
        self.peers.entry(rank).or_insert_with(Peer::new)
    }

    /// A message to a peer, kept until it is acknowledged.
    pub fn send(&mut self, to: DaemonRank, kept: P, now: Timestamp) -> Stamp {
        let peer = self.peer(to);
        if peer.unacked.is_empty() {
            peer.wait(now, FIRST_PROBE);
            peer.heard = now;
        }
        peer.sent += 1;
        peer.unacked.push_back(kept);
        let stamp = Stamp { seq: peer.sent, ack: peer.acknowledge() };
        self.waiting.insert(to);
        stamp
    }

    /// A message of `bytes` bytes came from a peer.
    pub fn receive(&mut self, from: DaemonRank, seq: u64, bytes: usize) -> Arrival {
        let peer = self.peer(from);
        if seq <= peer.received {
            return Arrival { take: false, reply: None };
        }
        if seq > peer.received + 1 {
            // One complaint for each gap: behind the lost message there may be thousands.
            let known = peer.complained.replace(peer.received) == Some(peer.received);
            let reply = (!known).then(|| Ack { upto: peer.acknowledge(), missing: true });
            return Arrival { take: false, reply };
        }
        peer.received = seq;
        peer.owed += 1;
        peer.owed_bytes += bytes;
        let due = peer.owed >= ACK_EVERY || peer.owed_bytes >= ACK_BYTES;
        Arrival { take: true, reply: due.then(|| Ack { upto: peer.acknowledge(), missing: false }) }
    }

    /// A peer says how far it has come. Returns what to send to it again, with its numbers, in order.
    pub fn acked(&mut self, from: DaemonRank, ack: Ack, now: Timestamp) -> Vec<(u64, P)> {
        let Some(peer) = self.peers.get_mut(&from) else {
            return Vec::new();
        };
        peer.heard = now;
        let first_unacked = peer.sent - peer.unacked.len() as u64 + 1;
        // Later than what we know already, or never sent: old news, or nonsense.
        if ack.upto + 1 < first_unacked || ack.upto > peer.sent {
            return Vec::new();
        }
        peer.unacked.drain(..(ack.upto + 1 - first_unacked) as usize);
        peer.wait(now, FIRST_PROBE);
        if peer.unacked.is_empty() {
            self.waiting.remove(&from);
            return Vec::new();
        }
        if !ack.missing {
            return Vec::new();
        }
        (ack.upto + 1..).zip(peer.unacked.iter().cloned()).collect()
    }

    /// A peer asks whether everything up to `last` has come.
    pub fn probed(&mut self, from: DaemonRank, last: u64) -> Ack {
        let peer = self.peer(from);
        let upto = peer.acknowledge();
        Ack { upto, missing: upto < last }
    }

    /// Those who have not answered for too long; they are to be asked.
    pub fn overdue(&mut self, now: Timestamp) -> Vec<Probe> {
        let late: Vec<DaemonRank> = self.waiting.iter().copied().filter(|r| self.peers[r].due <= now).collect();
        late.into_iter().map(|rank| self.ask(rank, now, false)).collect()
    }

    /// The way to these peers is another, or there again: they are asked at once what they have got.
    pub fn hurry(&mut self, now: Timestamp, concerned: impl Fn(DaemonRank) -> bool) -> Vec<Probe> {
        let these: Vec<DaemonRank> = self.waiting.iter().copied().filter(|rank| concerned(*rank)).collect();
        these.into_iter().map(|rank| self.ask(rank, now, true)).collect()
    }

    fn ask(&mut self, rank: DaemonRank, now: Timestamp, afresh: bool) -> Probe {
        let peer = self.peer(rank);
        let patience = if afresh { FIRST_PROBE } else { Duration(peer.patience.0 * 2) };
        peer.wait(now, patience);
        (rank, peer.sent)
    }

    /// Those who have yet to acknowledge something, ascending.
    pub fn waiting(&self) -> impl Iterator<Item = DaemonRank> + '_ {
        self.waiting.iter().copied()
    }

    /// Those who have yet to acknowledge something and have said nothing for so long, though they were asked.
    pub fn silent(&self, now: Timestamp, limit: Duration) -> impl Iterator<Item = DaemonRank> + '_ {
        self.waiting().filter(move |rank| self.peers[rank].heard + limit <= now)
    }

    /// When somebody will be overdue; `None` when everything is acknowledged.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.iter().map(|rank| self.peers[rank].due).min()
    }

    /// These daemons are dead: nothing is owed to or by them.
    pub fn forget(&mut self, dead: &RankSet) {
        for rank in dead.iter() {
            self.peers.remove(&rank);
            self.waiting.remove(&rank);
        }
    }

    /// Nothing but the conversation with this one matters any more.
    pub fn forget_all_but(&mut self, one: DaemonRank) {
        self.peers.retain(|rank, _| *rank == one);
        self.waiting.retain(|rank| *rank == one);
    }

    /// Messages that are kept because they are not acknowledged.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.waiting.iter().map(|rank| self.peers[rank].unacked.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DaemonRank = DaemonRank(1);
    const B: DaemonRank = DaemonRank(2);
    const NOW: Timestamp = Timestamp(0);

    fn later(ms: u64) -> Timestamp {
        NOW + Duration::from_millis(ms)
    }

    #[test]
    fn messages_are_taken_once_and_in_order() {
        let (mut a, mut b) = (Streams::new(), Streams::<char>::new());
        let stamps: Vec<Stamp> = "xyz".chars().map(|c| a.send(B, c, NOW)).collect();
        assert_eq!(stamps.iter().map(|s| s.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(b.receive(A, 1, 1), Arrival { take: true, reply: None });
        assert!(!b.receive(A, 1, 1).take, "a repeated one is dropped");
        assert!(!b.receive(A, 3, 1).take, "one that comes too early is dropped");
        assert!(b.receive(A, 2, 1).take && b.receive(A, 3, 1).take);
    }

    #[test]
    fn an_answer_acknowledges_and_leaves_nothing_to_ask() {
        let (mut a, mut b) = (Streams::new(), Streams::new());
        a.send(B, 'x', NOW);
        b.receive(A, 1, 1);
        let answer = b.send(A, 'y', NOW);
        assert_eq!(a.acked(B, Ack { upto: answer.ack, missing: false }, NOW), []);
        assert_eq!((a.next_due(), a.kept()), (None, 0));
        assert_eq!(a.overdue(later(10_000)), []);
    }

    #[test]
    fn a_gap_is_complained_of_once_and_repeated_from_there() {
        let (mut a, mut b) = (Streams::new(), Streams::<char>::new());
        "wxyz".chars().for_each(|c| assert_eq!(a.send(B, c, NOW).ack, 0));
        b.receive(A, 1, 1);
        let complaint = Ack { upto: 1, missing: true };
        assert_eq!(b.receive(A, 3, 1).reply, Some(complaint));
        assert_eq!(b.receive(A, 4, 1).reply, None);
        assert_eq!(a.acked(B, complaint, NOW), [(2, 'x'), (3, 'y'), (4, 'z')]);
    }

    #[test]
    fn silence_is_asked_about_with_growing_patience() {
        let mut a = Streams::new();
        a.send(B, 'x', NOW);
        a.send(B, 'y', NOW);
        assert_eq!(a.overdue(later(999)), []);
        assert_eq!(a.overdue(later(1_000)), [(B, 2)]);
        assert_eq!(a.overdue(later(2_999)), []);
        assert_eq!(a.overdue(later(3_000)), [(B, 2)]);
        assert_eq!(a.hurry(later(3_100), |rank| rank == A), []);
        assert_eq!(a.hurry(later(3_100), |rank| rank == B), [(B, 2)]);
        assert_eq!(a.next_due(), Some(later(4_100)), "a new way deserves new patience");
    }

    #[test]
    fn a_probe_finds_out_what_was_lost() {
        let (mut a, mut b) = (Streams::new(), Streams::<char>::new());
        a.send(B, 'x', NOW);
        a.send(B, 'y', NOW);
        b.receive(A, 1, 1);
        assert_eq!(b.probed(A, 2), Ack { upto: 1, missing: true });
        assert_eq!(a.acked(B, Ack { upto: 1, missing: true }, NOW), [(2, 'y')]);
        b.receive(A, 2, 1);
        assert_eq!(b.probed(A, 2), Ack { upto: 2, missing: false });
        assert_eq!(a.acked(B, Ack { upto: 2, missing: false }, NOW), []);
        assert_eq!(a.next_due(), None);
    }

    #[test]
    fn who_only_listens_acknowledges_now_and_then() {
        let mut b = Streams::<char>::new();
        let replies: Vec<u64> = (1..=64).filter_map(|seq| b.receive(A, seq, 1).reply).map(|ack| ack.upto).collect();
        assert_eq!(replies, [32, 64]);
        assert_eq!(b.receive(A, 65, ACK_BYTES).reply, Some(Ack { upto: 65, missing: false }));
    }

    #[test]
    fn old_and_impossible_acknowledgements_change_nothing() {
        let mut a = Streams::new();
        a.send(B, 'x', NOW);
        a.send(B, 'y', NOW);
        assert_eq!(a.acked(B, Ack { upto: 1, missing: false }, NOW), []);
        assert_eq!(a.acked(B, Ack { upto: 0, missing: true }, NOW), [], "older than what is known");
        assert_eq!(a.acked(B, Ack { upto: 9, missing: true }, NOW), []);
        assert_eq!(a.kept(), 1);
    }

    #[test]
    fn the_dead_are_owed_nothing() {
        let mut a = Streams::new();
        a.send(B, 'x', NOW);
        a.forget(&RankSet::range(2, 3));
        assert_eq!((a.next_due(), a.kept()), (None, 0));
    }
}
