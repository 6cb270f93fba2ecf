//! The links of one node and their traffic: messages along the tree, broadcasts with their acknowledgements,
//! heartbeats. It knows the neighbours and which messages a lost link affects; the machines interpret the payloads.

mod messages;

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_router::{Adoption, Progress, Receipt, Streams, Tree, Xcasts};
use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};
use ferrite_wire::{Dest, Frame, FrameKind, Message, Order};

use crate::cx::Purpose;
use crate::{Effect, Effects};

/// The result of a frame for the machines of this node.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// A payload for this node.
    Here { origin: DaemonRank, payload: Bytes, xcast: Option<u64> },
    /// Every daemon has processed a broadcast of the head.
    XcastComplete(Purpose),
}

/// One link that is up.
#[derive(Debug)]
pub(crate) struct Link {
    /// The time of the last arrival.
    heard: Timestamp,
    /// The time of the last transmission.
    said: Timestamp,
    /// True when it came up while the other daemon was on its way into the DVM. Once that daemon has its place,
    /// messages take another route.
    bootstrap: bool,
}

impl Link {
    /// True when something has arrived within `limit`.
    pub(crate) fn was_heard(&self, now: Timestamp, limit: Duration) -> bool {
        now < self.heard + limit
    }
}

/// The links and routes of one node.
#[derive(Debug)]
pub(crate) struct Transport {
    me: DaemonRank,
    pub(crate) tree: Tree,
    pub(crate) links: BTreeMap<DaemonRank, Link>,
    /// The daemon on which this one hangs while its tree parent cannot be reached.
    pub(crate) detour: Option<DaemonRank>,
    pub(crate) streams: Streams<Bytes>,
    xcasts: Xcasts,
    /// Broadcasts in flight, kept for children that have not got them yet.
    kept: BTreeMap<u64, Frame>,
    /// The senders of each broadcast in flight; each sender waits for this node, whichever daemon is above now.
    senders: BTreeMap<u64, RankSet>,
    /// At the head: the purposes of the broadcasts in flight.
    purposes: BTreeMap<u64, Purpose>,
    /// The time for which the probe timer is set.
    probe_at: Option<Timestamp>,
    /// The number of dropped frames without a route; their authors will probe.
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
            probe_at: None,
            undeliverable: 0,
        }
    }

    pub(crate) fn undeliverable(&self) -> u64 {
        self.undeliverable
    }

    /// The daemon above this one: its tree parent, or the detour.
    pub(crate) fn uplink(&self) -> Option<DaemonRank> {
        self.detour.or_else(|| self.tree.parent(self.me))
    }

    pub(crate) fn on_link_up(&mut self, now: Timestamp, peer: DaemonRank) {
        let bootstrap = self.tree.coming().contains(peer);
        self.links.insert(peer, Link { heard: now, said: now, bootstrap });
    }

    /// Sends the messages that wait for this link, if it is up. The machines are told of the link first, because they
    /// decide its use.
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

    /// Removes a lost link. False when there was none.
    pub(crate) fn on_link_lost(&mut self, peer: DaemonRank) -> bool {
        self.links.remove(&peer).is_some()
    }

    /// Repairs the tree around dead daemons, from which nothing is expected any more. Returns the changes for this
    /// node, and the broadcasts that are complete now.
    pub(crate) fn repair(&mut self, now: Timestamp, dead: &RankSet, fx: &mut Effects) -> (Adoption, Vec<Delivery>) {
        self.streams.forget(dead);
        let adoption = self.tree.repair_adopting(dead, self.me);
        let complete = self.hand_over(now, &adoption, &RankSet::new(), fx);
        self.ask_everybody(now, fx);
        (adoption, complete)
    }

    /// Repairs the tree around daemons that were told to leave. Until they are gone they exchange messages with the
    /// head only. Daemons that are being called get the order when they answer.
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

    /// Hands broadcasts in flight over: the new children owe the acknowledgements of the lost ones.
    fn hand_over(&mut self, now: Timestamp, adoption: &Adoption, called: &RankSet, fx: &mut Effects) -> Vec<Delivery> {
        // Adoption comes first: otherwise a broadcast could complete without the daemons below the dead.
        for child in &adoption.new_children {
            self.xcasts.child_adopted(*child);
        }
        let mut complete = Vec::new();
        for child in &adoption.lost_children {
            // A leaving child still acknowledges earlier broadcasts, for itself and for the daemons that leave by way
            // of it.
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

    /// True for a child that owes the acknowledgement of a broadcast.
    pub(crate) fn is_owed_by(&self, child: DaemonRank) -> bool {
        self.xcasts.owed_by(child).next().is_some()
    }

    /// Expects nothing more of a child. Returns the broadcasts that are complete now.
    pub(crate) fn excuse(&mut self, now: Timestamp, child: DaemonRank, fx: &mut Effects) -> Vec<Delivery> {
        let owed = self.xcasts.child_lost(child);
        owed.into_iter().filter_map(|(seq, step)| self.advance(now, seq, Some(step), fx)).collect()
    }

    /// Removes a leaving daemon that is gone.
    pub(crate) fn departed(&mut self, rank: DaemonRank) {
        self.tree.departed(rank);
        self.streams.forget(&std::iter::once(rank).collect());
    }

    /// True when all messages of this node were acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.streams.waiting().next().is_none()
    }

    /// Handles a frame of a neighbour: passes it on, and returns the part for this node.
    pub(crate) fn on_frame(
        &mut self,
        now: Timestamp,
        from: DaemonRank,
        frame: Frame,
        fx: &mut Effects,
    ) -> Option<Delivery> {
        if self.tree.has_departed(from) {
            // The sender has woken up and has not heard that it leaves; its order to leave is meant for itself.
            return None;
        }
        if let Some(link) = self.links.get_mut(&from) {
            link.heard = now;
        }
        match frame.kind {
            FrameKind::Heartbeat => None,
            FrameKind::Renewed => {
                self.on_renewed(now, from, frame.origin, fx);
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

    /// Sends over a direct link, in the tree or not; the message is lost with the link.
    pub(crate) fn send_direct(&mut self, now: Timestamp, peer: DaemonRank, message: &Message, fx: &mut Effects) {
        let (dest, payload) = (Dest::One(peer), message.encode());
        self.transmit(now, peer, Frame { dest, origin: self.me, kind: FrameKind::Direct, payload }, fx);
    }

    /// Closes a link from this side; no loss is reported.
    pub(crate) fn close(&mut self, peer: DaemonRank, fx: &mut Effects) {
        if self.links.remove(&peer).is_some() {
            fx.push(Effect::CloseLink { peer });
        }
    }

    /// Opens an acknowledged broadcast of the head. The caller hands the number to `forward` and `processed`, in the
    /// order that the message demands.
    pub(crate) fn start_xcast(&mut self, message: &Message, purpose: Purpose) -> (u64, Order) {
        let (seq, order) = (self.xcasts.start(), message.order());
        let kind = FrameKind::Xcast { seq, order };
        self.kept.insert(seq, Frame { dest: Dest::All, origin: self.me, kind, payload: message.encode() });
        self.purposes.insert(seq, purpose);
        (seq, order)
    }

    /// Passes a broadcast on to the present children, unless that was done.
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

    /// Notes that this node has processed a broadcast.
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
                // In a shrink both the old parent and the new one may have sent it.
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

    /// The neighbour on the route to a daemon.
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

    /// Notes the arrival of part of a frame over a link.
    pub(crate) fn on_activity(&mut self, now: Timestamp, peer: DaemonRank) {
        if let Some(link) = self.links.get_mut(&peer) {
            link.heard = now;
        }
    }

    /// Excuses all silence after a pause of this node itself.
    pub(crate) fn pardon(&mut self, now: Timestamp) {
        self.links.values_mut().for_each(|link| link.heard = now);
    }

    /// Sends a heartbeat over each link that was silent for `interval`. Returns the links without an arrival for
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
            if !link.was_heard(now, limit) {
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
