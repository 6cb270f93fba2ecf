//! Reliable messages between daemons: exactly once and in order for each pair, over any path.
//!
//! Links deliver in order, so a message is lost only with a link or a relay. Every message to a peer has a number;
//! the peer accepts only the next one. It acknowledges with its own messages, or by a separate acknowledgement when
//! it has none to send. A sender without an answer *probes*: the probe travels behind the messages on the same path,
//! so an answer that leaves some of them out proves their loss. The sender repeats only lost messages.
//!
//! The transport of `core` calls these methods and carries out their results.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};

/// The time after which a sender probes; each further wait is twice as long.
pub const FIRST_PROBE: Duration = Duration::from_millis(1_000);
const LAST_PROBE: Duration = Duration::from_millis(16_000);
/// The number of messages after which a separate acknowledgement is due.
const ACK_EVERY: u32 = 32;
/// The number of bytes after which a separate acknowledgement is due.
const ACK_BYTES: usize = 256 * 1024;

/// All conversations of one daemon. `P` is the kept form of a message, from which it can be sent again.
#[derive(Clone, Debug)]
pub struct Streams<P> {
    peers: BTreeMap<DaemonRank, Peer<P>>,
    /// Peers that owe an acknowledgement.
    waiting: BTreeSet<DaemonRank>,
}

#[derive(Clone, Debug)]
struct Peer<P> {
    /// Number of the last message to the peer, from 1.
    sent: u64,
    /// The latest messages to it, not acknowledged yet.
    unacked: VecDeque<P>,
    /// Number of the last message accepted from it.
    received: u64,
    /// Accepted and unacknowledged messages; the next field counts their bytes.
    owed: u32,
    owed_bytes: usize,
    /// The number after which the peer was told that messages are missing.
    complained: Option<u64>,
    /// The time of the next probe, and the wait after it.
    due: Timestamp,
    patience: Duration,
    /// The time of its last acknowledgement, or of the first message that it owed one for.
    heard: Timestamp,
}

/// The numbers in a message: its own, and the acknowledgement of the other direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of this message.
    pub seq: u64,
    /// Number of the last message accepted from the addressee.
    pub ack: u64,
}

/// The acknowledgement of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Number of the last accepted message.
    pub upto: u64,
    /// True when later messages are lost and have to be sent again.
    pub missing: bool,
}

/// The treatment of a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// True for the next message, which is handled; any other is dropped.
    pub take: bool,
    /// The acknowledgement to send to its author now.
    pub reply: Option<Ack>,
}

/// A probe of a peer: whether everything up to this number has arrived.
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

    /// The number up to which everything was accepted, for an acknowledgement that is being sent.
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
    /// Without conversations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn peer(&mut self, rank: DaemonRank) -> &mut Peer<P> {
        self.peers.entry(rank).or_insert_with(Peer::new)
    }

    /// Numbers a message to a peer, and keeps it until it is acknowledged.
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

    /// Handles a message of `bytes` bytes of a peer.
    pub fn receive(&mut self, from: DaemonRank, seq: u64, bytes: usize) -> Arrival {
        let peer = self.peer(from);
        if seq <= peer.received {
            return Arrival { take: false, reply: None };
        }
        if seq > peer.received + 1 {
            // One complaint for each gap, because thousands of messages may follow the lost one.
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

    /// Handles a peer's acknowledgement. Returns the messages to send again, with their numbers, in order.
    pub fn acked(&mut self, from: DaemonRank, ack: Ack, now: Timestamp) -> Vec<(u64, P)> {
        let Some(peer) = self.peers.get_mut(&from) else {
            return Vec::new();
        };
        peer.heard = now;
        let first_unacked = peer.sent - peer.unacked.len() as u64 + 1;
        // An old acknowledgement, or one of messages that were never sent.
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

    /// Answers a peer's probe about everything up to `last`.
    pub fn probed(&mut self, from: DaemonRank, last: u64) -> Ack {
        let peer = self.peer(from);
        let upto = peer.acknowledge();
        Ack { upto, missing: upto < last }
    }

    /// Probes for the peers that have not answered for too long.
    pub fn overdue(&mut self, now: Timestamp) -> Vec<Probe> {
        let late: Vec<DaemonRank> = self.waiting.iter().copied().filter(|r| self.peers[r].due <= now).collect();
        late.into_iter().map(|rank| self.ask(rank, now, false)).collect()
    }

    /// Immediate probes for peers to which the route has changed or works again.
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

    /// Peers that owe an acknowledgement, ascending.
    pub fn waiting(&self) -> impl Iterator<Item = DaemonRank> + '_ {
        self.waiting.iter().copied()
    }

    /// Peers that owe an acknowledgement and have not answered probes for `limit`.
    pub fn silent(&self, now: Timestamp, limit: Duration) -> impl Iterator<Item = DaemonRank> + '_ {
        self.waiting().filter(move |rank| self.peers[rank].heard + limit <= now)
    }

    /// The time of the next probe; `None` when everything is acknowledged.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.iter().map(|rank| self.peers[rank].due).min()
    }

    /// Drops the conversations with dead daemons.
    pub fn forget(&mut self, dead: &RankSet) {
        for rank in dead.iter() {
            self.peers.remove(&rank);
            self.waiting.remove(&rank);
        }
    }

    /// Drops all conversations except for the one with this daemon.
    pub fn forget_all_but(&mut self, one: DaemonRank) {
        self.peers.retain(|rank, _| *rank == one);
        self.waiting.retain(|rank| *rank == one);
    }

    /// The number of messages kept until their acknowledgement.
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
