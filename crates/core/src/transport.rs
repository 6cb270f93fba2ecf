//! The links of one node and what travels over them: messages along the tree, broadcasts with their acknowledgements,
//! signs of life. Knows who is a neighbour and what is lost with one; what a payload means is the machines' affair.

mod messages;

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_router::{Adoption, Progress, Receipt, Streams, Tree, Xcasts};
use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};
use ferrite_wire::{Dest, Frame, FrameKind, Message, Order};

use crate::cx::Purpose;
use crate::{Effect, Effects};

/// What a frame means for the machines of this node.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// A payload for us.
    Here { origin: DaemonRank, payload: Bytes, xcast: Option<u64> },
    /// The head's broadcast was processed by every daemon.
    XcastComplete(Purpose),
}

/// One link that is up.
#[derive(Debug)]
pub(crate) struct Link {
    /// When something last came over it.
    heard: Timestamp,
    /// When something was last sent over it.
    said: Timestamp,
    /// It came up while the other side was on its way into the DVM; once that one has its place, messages go another
    /// way.
    bootstrap: bool,
}

/// The links and routes of one node.
#[derive(Debug)]
pub(crate) struct Transport {
    me: DaemonRank,
    pub(crate) tree: Tree,
    pub(crate) links: BTreeMap<DaemonRank, Link>,
    /// The daemon that this one hangs on while its parent in the tree is not to be reached.
    pub(crate) detour: Option<DaemonRank>,
    pub(crate) streams: Streams<Bytes>,
    xcasts: Xcasts,
    /// Broadcasts in flight, for children that have yet to get them.
    kept: BTreeMap<u64, Frame>,
    /// From whom the broadcasts in flight came: each of them waits for this node, whoever is above it by now.
    senders: BTreeMap<u64, RankSet>,
    /// On the head: what the broadcasts in flight are for.
    purposes: BTreeMap<u64, Purpose>,
    /// The probe timer is set.
    probing: bool,
    /// Frames without a way to their addressee, dropped: their authors will ask.
    undeliverable: u64,
}

impl Transport {
    pub(crate) fn new(me: DaemonRank, tree: Tree) -> Transport {
        Transport {
            me,
            tree,
            links: BTreeMap::new(),
            detour: None,
            streams: Streams::new(),
            xcasts: Xcasts::new(),
            kept: BTreeMap::new(),
            senders: BTreeMap::new(),
            purposes: BTreeMap::new(),
            probing: false,
            undeliverable: 0,
        }
    }

    pub(crate) fn undeliverable(&self) -> u64 {
        self.undeliverable
    }

    /// Whom this daemon hangs on: its parent in the tree, or for a while somebody further up.
    pub(crate) fn uplink(&self) -> Option<DaemonRank> {
        self.detour.or_else(|| self.tree.parent(self.me))
    }

    pub(crate) fn on_link_up(&mut self, now: Timestamp, peer: DaemonRank) {
        let bootstrap = self.tree.coming().contains(peer);
        self.links.insert(peer, Link { heard: now, said: now, bootstrap });
    }

    /// Sends what was waiting for this link, if it is up. After the machines have heard of it: they decide what it is
    /// for.
    pub(crate) fn resume(&mut self, now: Timestamp, peer: DaemonRank, fx: &mut Effects) {
        if !self.links.contains_key(&peer) {
            return;
        }
        let owed: Vec<Frame> = self.xcasts.owed_by(peer).filter_map(|seq| self.kept.get(&seq).cloned()).collect();
        for frame in owed {
            self.transmit(now, peer, frame, fx);
        }
        self.ask_over(now, peer, fx);
    }

    /// False when there was no such link.
    pub(crate) fn on_link_lost(&mut self, peer: DaemonRank) -> bool {
        self.links.remove(&peer).is_some()
    }

    /// These daemons are dead: the tree is repaired around them and nothing is expected of them. What that completes is
    /// returned, with what changed for this node.
    pub(crate) fn repair(&mut self, now: Timestamp, dead: &RankSet, fx: &mut Effects) -> (Adoption, Vec<Delivery>) {
        self.streams.forget(dead);
        let adoption = self.tree.repair_adopting(dead, self.me);
        let complete = self.hand_over(now, &adoption, &RankSet::new(), fx);
        self.ask_everybody(now, fx);
        (adoption, complete)
    }

    /// The same for daemons that were told to leave. Until they are gone they talk with the head, and with nobody else.
    /// Those that are being called get the order when they answer.
    pub(crate) fn let_leave(
        &mut self,
        now: Timestamp,
        leaving: &RankSet,
        called: &RankSet,
        fx: &mut Effects,
    ) -> (Adoption, Vec<Delivery>) {
        if leaving.contains(self.me) {
            self.streams.forget_all_but(DaemonRank::HEAD);
        } else if self.me != DaemonRank::HEAD {
            self.streams.forget(leaving);
        }
        let adoption = self.tree.let_leave_adopting(leaving, self.me);
        let complete = self.hand_over(now, &adoption, called, fx);
        (adoption, complete)
    }

    /// Broadcasts in flight: what the lost children owed, the new ones owe.
    fn hand_over(&mut self, now: Timestamp, adoption: &Adoption, called: &RankSet, fx: &mut Effects) -> Vec<Delivery> {
        // Adopt before excusing: else a broadcast could complete without those below the dead.
        for child in &adoption.new_children {
            self.xcasts.child_adopted(*child);
        }
        let mut complete = Vec::new();
        for child in &adoption.lost_children {
            // One that is told to leave still answers for what came before, and for those below that leave by way of
            // it.
            let reachable = self.links.contains_key(child) || called.contains(*child);
            if !(self.tree.is_leaving(*child) && reachable) {
                complete.extend(self.excuse(now, *child, fx));
            }
        }
        for child in &adoption.new_children {
            self.resume(now, *child, fx);
        }
        complete
    }

    /// True for a child that has yet to acknowledge a broadcast.
    pub(crate) fn is_owed_by(&self, child: DaemonRank) -> bool {
        self.xcasts.owed_by(child).next().is_some()
    }

    /// Nothing more is to be expected of a child. Returns what that completes.
    pub(crate) fn excuse(&mut self, now: Timestamp, child: DaemonRank, fx: &mut Effects) -> Vec<Delivery> {
        let owed = self.xcasts.child_lost(child);
        owed.into_iter().filter_map(|(seq, step)| self.advance(now, seq, Some(step), fx)).collect()
    }

    /// A daemon that was leaving is gone.
    pub(crate) fn departed(&mut self, rank: DaemonRank) {
        self.tree.departed(rank);
        self.streams.forget(&std::iter::once(rank).collect());
    }

    /// True when everything that this node has said has arrived.
    pub(crate) fn is_settled(&self) -> bool {
        self.streams.waiting().next().is_none()
    }

    /// A frame from a neighbour: passes it on, and returns what concerns this node.
    pub(crate) fn on_frame(
        &mut self,
        now: Timestamp,
        from: DaemonRank,
        frame: Frame,
        fx: &mut Effects,
    ) -> Option<Delivery> {
        if self.tree.has_departed(from) {
            // It woke up, and does not know yet that it has no say any more: its order to leave is for itself.
            return None;
        }
        if let Some(link) = self.links.get_mut(&from) {
            link.heard = now;
        }
        match frame.kind {
            FrameKind::Heartbeat => None,
            FrameKind::Renewed => {
                self.on_renewed(now, from, fx);
                None
            }
            FrameKind::Direct => Some(Delivery::Here { origin: frame.origin, payload: frame.payload, xcast: None }),
            FrameKind::XcastAck { seq } => {
                let step = self.xcasts.acked_by(seq, from);
                self.advance(now, seq, step, fx)
            }
            FrameKind::Xcast { seq, order } => self.on_xcast(now, from, seq, order, frame, fx),
            FrameKind::Message { .. } | FrameKind::Probe(_) | FrameKind::Ack { .. } => self.pass_on(now, frame, fx),
        }
    }

    fn on_xcast(
        &mut self,
        now: Timestamp,
        from: DaemonRank,
        seq: u64,
        order: Order,
        frame: Frame,
        fx: &mut Effects,
    ) -> Option<Delivery> {
        match self.xcasts.receive(seq) {
            Receipt::New => {
                self.senders.entry(seq).or_default().insert(from);
                let (origin, payload) = (frame.origin, frame.payload.clone());
                self.kept.insert(seq, frame);
                match order {
                    Order::ForwardFirst => self.forward(now, seq, fx),
                    Order::ProcessFirst => None,
                };
                Some(Delivery::Here { origin, payload, xcast: Some(seq) })
            }
            Receipt::Duplicate { ack_again } => {
                if ack_again {
                    self.transmit(now, from, self.ack(seq), fx);
                } else {
                    self.senders.entry(seq).or_default().insert(from);
                }
                None
            }
        }
    }

    /// Sends over a direct link, in the tree or not; lost with the link.
    pub(crate) fn send_direct(&mut self, now: Timestamp, peer: DaemonRank, message: &Message, fx: &mut Effects) {
        let (dest, payload) = (Dest::One(peer), message.encode());
        self.transmit(now, peer, Frame { dest, origin: self.me, kind: FrameKind::Direct, payload }, fx);
    }

    /// Closes a link of our own accord: no loss is reported for it.
    pub(crate) fn close(&mut self, peer: DaemonRank, fx: &mut Effects) {
        if self.links.remove(&peer).is_some() {
            fx.push(Effect::CloseLink { peer });
        }
    }

    /// Opens an acknowledged broadcast of the head; the number is for `forward` and `processed`, in the order that the
    /// message wants.
    pub(crate) fn start_xcast(&mut self, message: &Message, purpose: Purpose) -> (u64, Order) {
        let (seq, order) = (self.xcasts.start(), message.order());
        let kind = FrameKind::Xcast { seq, order };
        self.kept.insert(seq, Frame { dest: Dest::All, origin: self.me, kind, payload: message.encode() });
        self.purposes.insert(seq, purpose);
        (seq, order)
    }

    /// Passes a broadcast on to the children of this moment, unless that was done.
    pub(crate) fn forward(&mut self, now: Timestamp, seq: u64, fx: &mut Effects) -> Option<Delivery> {
        if self.xcasts.waiting_for(seq).is_some() {
            return None;
        }
        let frame = self.kept.get(&seq)?.clone();
        let children = self.tree.children(self.me);
        for child in &children {
            self.transmit(now, *child, frame.clone(), fx);
        }
        let step = self.xcasts.forwarded(seq, &children);
        self.advance(now, seq, step, fx)
    }

    /// This node has processed a broadcast.
    pub(crate) fn processed(&mut self, now: Timestamp, seq: u64, fx: &mut Effects) -> Option<Delivery> {
        let step = self.xcasts.processed_here(seq);
        self.advance(now, seq, step, fx)
    }

    fn advance(&mut self, now: Timestamp, seq: u64, step: Option<Progress>, fx: &mut Effects) -> Option<Delivery> {
        let step = step?;
        self.kept.remove(&seq);
        let senders = self.senders.remove(&seq).unwrap_or_default();
        match step {
            Progress::Complete => self.purposes.remove(&seq).map(Delivery::XcastComplete),
            Progress::AckParent => {
                // In a shrink the old parent and the new one may both have sent it.
                let uplink = self.uplink();
                let others = senders.iter().filter(|rank| Some(*rank) != uplink && self.links.contains_key(rank));
                for to in uplink.into_iter().chain(others).collect::<Vec<_>>() {
                    self.transmit(now, to, self.ack(seq), fx);
                }
                None
            }
        }
    }

    fn ack(&self, seq: u64) -> Frame {
        let kind = FrameKind::XcastAck { seq };
        Frame { dest: Dest::One(DaemonRank::HEAD), origin: self.me, kind, payload: Bytes::new() }
    }

    /// The neighbour on the way to a daemon.
    fn hop(&self, dest: DaemonRank) -> Option<DaemonRank> {
        let placed_elsewhere = || self.tree.contains(dest) && self.tree.parent(dest) != Some(self.me);
        if self.links.get(&dest).is_some_and(|link| !link.bootstrap || !placed_elsewhere()) {
            return Some(dest);
        }
        if self.tree.is_leaving(self.me) && !self.tree.stands_below(dest, self.me) {
            return self.uplink();
        }
        let hop = self.tree.next_hop(self.me, dest)?;
        let upwards = Some(hop) == self.tree.parent(self.me);
        if upwards { self.uplink() } else { Some(hop) }
    }

    fn transmit(&mut self, now: Timestamp, peer: DaemonRank, frame: Frame, fx: &mut Effects) {
        match self.links.get_mut(&peer) {
            Some(link) => {
                link.said = now;
                fx.push(Effect::Transmit { peer, frame });
            }
            None => self.undeliverable += 1,
        }
    }

    /// Something is coming over a link, though not enough for a frame yet.
    pub(crate) fn on_activity(&mut self, now: Timestamp, peer: DaemonRank) {
        if let Some(link) = self.links.get_mut(&peer) {
            link.heard = now;
        }
    }

    /// This node itself was away: what it did not hear in the meantime says nothing of others.
    pub(crate) fn pardon(&mut self, now: Timestamp) {
        self.links.values_mut().for_each(|link| link.heard = now);
    }

    /// A sign of life over each link that was silent for `interval`. Returns the links over which none came for
    /// `limit`.
    pub(crate) fn on_heartbeat(
        &mut self,
        now: Timestamp,
        interval: Duration,
        limit: Duration,
        fx: &mut Effects,
    ) -> Vec<DaemonRank> {
        let mut dead = Vec::new();
        for (peer, link) in &mut self.links {
            if link.heard + limit <= now {
                dead.push(*peer);
            } else if link.said + interval <= now {
                link.said = now;
                let (dest, kind) = (Dest::One(*peer), FrameKind::Heartbeat);
                let frame = Frame { dest, origin: self.me, kind, payload: Bytes::new() };
                fx.push(Effect::Transmit { peer: *peer, frame });
            }
        }
        dead
    }
}
