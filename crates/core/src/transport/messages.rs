//! Messages between daemons: numbered, passed on along the tree, accepted once and in order, probed and repeated
//! after a loss. The parent module handles broadcasts and messages over one link.

use bytes::Bytes;
use ferrite_router::{Ack, FIRST_PROBE, Probe};
use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};
use ferrite_wire::{Dest, Frame, FrameKind, Message, Numbers};

use super::{Delivery, Transport};
use crate::{Effect, Effects, LinkTimer, Timer};

/// Daemons whose silence exceeds the limit within this time are probed together.
const PROBE_TOGETHER: Duration = Duration::from_millis(250);

impl Transport {
    /// Sends a message of this node along the tree; true when this node is an addressee too.
    pub(crate) fn send(&mut self, now: Timestamp, dest: Dest, message: &Message, fx: &mut Effects) -> bool {
        match dest {
            // The addressee is on this node, so nothing is encoded.
            Dest::One(dest) if dest == self.me => true,
            Dest::One(dest) => {
                // Late messages for dead daemons are dropped.
                if self.tree.contains(dest) || self.tree.is_leaving(dest) {
                    let payload = message.encode();
                    let stamp = self.streams.send(dest, payload.clone(), now);
                    let kind = FrameKind::Message { numbers: Numbers::Same(stamp.seq), ack: stamp.ack };
                    self.originate(now, Dest::One(dest), kind, payload, fx);
                }
                false
            }
            Dest::Many(mut dests) => {
                let here = dests.remove(self.me);
                self.send_to_many(now, dests, message, fx);
                here
            }
            Dest::All => {
                let everybody = self.tree.living();
                self.send(now, Dest::Many(everybody), message, fx)
            }
        }
    }

    fn send_to_many(&mut self, now: Timestamp, dests: RankSet, message: &Message, fx: &mut Effects) {
        let dests: RankSet = dests.iter().filter(|dest| self.tree.contains(*dest)).collect();
        if dests.is_empty() {
            return;
        }
        let payload = message.encode();
        let stamped = dests.iter().map(|dest| (dest, self.streams.send(dest, payload.clone(), now).seq));
        let kind = FrameKind::Message { numbers: Numbers::of(stamped), ack: 0 };
        self.originate(now, Dest::Many(dests), kind, payload, fx);
    }

    fn originate(&mut self, now: Timestamp, dest: Dest, kind: FrameKind, payload: Bytes, fx: &mut Effects) {
        // Others that have been silent for long are probed seldom; the addressee of this message is not.
        let first = now + FIRST_PROBE;
        if self.probe_at.is_none_or(|at| first < at) {
            self.set_probe(first, fx);
        }
        self.pass_on(now, Frame { dest, origin: self.me, kind, payload }, fx);
    }

    /// Probes the daemons that have been silent for too long.
    pub(crate) fn on_probe_timer(&mut self, now: Timestamp, fx: &mut Effects) {
        let probes = self.streams.overdue(now);
        self.probe(now, probes, fx);
        self.await_probe(now, fx);
    }

    /// Sets the probe timer for the first daemon that will exceed the limit, and groups the others with it.
    fn await_probe(&mut self, now: Timestamp, fx: &mut Effects) {
        self.probe_at = None;
        if let Some(due) = self.streams.next_due() {
            self.set_probe(due.max(now + PROBE_TOGETHER), fx);
        }
    }

    fn set_probe(&mut self, at: Timestamp, fx: &mut Effects) {
        self.probe_at = Some(at);
        fx.push(Effect::SetTimer { timer: Timer::Link(LinkTimer::Probe), at });
    }

    pub(super) fn probe(&mut self, now: Timestamp, probes: Vec<Probe>, fx: &mut Effects) {
        let dest = match probes.as_slice() {
            [] => return,
            [(one, _)] => Dest::One(*one),
            many => Dest::Many(many.iter().map(|(rank, _)| *rank).collect()),
        };
        let kind = FrameKind::Probe(Numbers::of(probes));
        self.pass_on(now, Frame { dest, origin: self.me, kind, payload: Bytes::new() }, fx);
    }

    /// Passes a frame on towards its addressees, and returns the part for this node.
    pub(super) fn pass_on(&mut self, now: Timestamp, frame: Frame, fx: &mut Effects) -> Option<Delivery> {
        let here = match &frame.dest {
            Dest::One(dest) if *dest == self.me => true,
            Dest::One(dest) => {
                match self.hop(*dest) {
                    Some(hop) => self.transmit(now, hop, frame.clone(), fx),
                    None => self.undeliverable += 1,
                }
                false
            }
            Dest::Many(set) => self.split(now, &frame, &set.clone(), fx),
            Dest::All => self.split(now, &frame, &self.tree.living(), fx),
        };
        if here { self.take(now, frame, fx) } else { None }
    }

    /// Accepts a frame for this node: messages once and in order.
    fn take(&mut self, now: Timestamp, frame: Frame, fx: &mut Effects) -> Option<Delivery> {
        let Frame { origin, kind, payload, .. } = frame;
        // Late messages of departed daemons are dropped; leaving ones may still talk with the head.
        if self.tree.has_departed(origin) || (self.tree.is_leaving(origin) && self.me != DaemonRank::HEAD) {
            return None;
        }
        match kind {
            FrameKind::Message { numbers, ack } => {
                self.repeat(now, origin, Ack { upto: ack, missing: false }, fx);
                let arrival = self.streams.receive(origin, numbers.at(self.me)?, payload.len());
                if let Some(ack) = arrival.reply {
                    self.acknowledge(now, origin, ack, fx);
                }
                arrival.take.then_some(Delivery::Here { origin, payload, xcast: None })
            }
            FrameKind::Probe(numbers) => {
                let ack = self.streams.probed(origin, numbers.at(self.me)?);
                self.acknowledge(now, origin, ack, fx);
                None
            }
            FrameKind::Ack { upto, missing } => {
                self.repeat(now, origin, Ack { upto, missing }, fx);
                None
            }
            FrameKind::Direct
            | FrameKind::Xcast { .. }
            | FrameKind::XcastAck { .. }
            | FrameKind::Renewed
            | FrameKind::Heartbeat => None,
        }
    }

    fn acknowledge(&mut self, now: Timestamp, to: DaemonRank, ack: Ack, fx: &mut Effects) {
        let kind = FrameKind::Ack { upto: ack.upto, missing: ack.missing };
        self.pass_on(now, Frame { dest: Dest::One(to), origin: self.me, kind, payload: Bytes::new() }, fx);
    }

    /// Repeats the messages that a peer lacks by its acknowledgement.
    fn repeat(&mut self, now: Timestamp, peer: DaemonRank, ack: Ack, fx: &mut Effects) {
        for (seq, payload) in self.streams.acked(peer, ack, now) {
            let kind = FrameKind::Message { numbers: Numbers::Same(seq), ack: 0 };
            self.pass_on(now, Frame { dest: Dest::One(peer), origin: self.me, kind, payload }, fx);
        }
    }

    /// Forwards first, so that a receiver that leaves on this message has passed it on.
    fn split(&mut self, now: Timestamp, frame: &Frame, dests: &RankSet, fx: &mut Effects) -> bool {
        let split = self.tree.split(self.me, dests);
        let up = self.uplink().filter(|_| !split.up.is_empty()).map(|uplink| (uplink, split.up));
        for (hop, part) in split.down.into_iter().chain(up) {
            let kind = match &frame.kind {
                FrameKind::Message { numbers, ack } => FrameKind::Message { numbers: numbers.within(&part), ack: *ack },
                FrameKind::Probe(numbers) => FrameKind::Probe(numbers.within(&part)),
                FrameKind::Direct
                | FrameKind::Ack { .. }
                | FrameKind::Xcast { .. }
                | FrameKind::XcastAck { .. }
                | FrameKind::Renewed
                | FrameKind::Heartbeat => frame.kind.clone(),
            };
            self.transmit(now, hop, Frame { dest: Dest::Many(part), kind, ..frame.clone() }, fx);
        }
        split.here
    }

    /// Probes all daemons that owe an acknowledgement, because routes have changed.
    pub(crate) fn ask_everybody(&mut self, now: Timestamp, fx: &mut Effects) {
        let probes = self.streams.hurry(now, |_| true);
        self.probe(now, probes, fx);
    }

    /// Probes the daemons that owe an acknowledgement and are reached over a new link. Others are left out: a change
    /// of size or a loss brings up many links, and each would probe all daemons.
    pub(super) fn ask_over(&mut self, now: Timestamp, peer: DaemonRank, fx: &mut Effects) {
        self.ask_those(now, |transport, to| transport.hop(to) == Some(peer), fx);
    }

    /// Handles a restored route behind a neighbour, over a link to the daemon `beyond`. A renewed link below reaches
    /// that daemon and those below it, and nobody else is probed: in a change of size each daemon may get a new parent.
    /// The route to the neighbour itself has not changed.
    pub(super) fn on_renewed(&mut self, now: Timestamp, from: DaemonRank, beyond: DaemonRank, fx: &mut Effects) {
        let is_above = self.uplink() == Some(from);
        let concerned = |transport: &Transport, to: DaemonRank| {
            let behind = is_above || to == beyond || transport.tree.stands_below(to, beyond);
            behind && to != from && transport.hop(to) == Some(from)
        };
        self.ask_those(now, concerned, fx);
        self.renewed(now, from, beyond, fx);
    }

    fn ask_those(&mut self, now: Timestamp, concerned: impl Fn(&Transport, DaemonRank) -> bool, fx: &mut Effects) {
        let these: RankSet = self.streams.waiting().filter(|to| concerned(self, *to)).collect();
        let probes = self.streams.hurry(now, |to| these.contains(to));
        self.probe(now, probes, fx);
    }

    /// Tells the daemons on this side of the link to `over` that the route over it to `beyond` works again, so that
    /// they probe for lost messages. This daemon itself probes when the link comes up, or when it hears of it.
    pub(crate) fn renewed(&mut self, now: Timestamp, over: DaemonRank, beyond: DaemonRank, fx: &mut Effects) {
        let uplink = self.uplink();
        let away: Vec<DaemonRank> =
            if uplink == Some(over) { self.tree.children(self.me) } else { uplink.into_iter().collect() };
        for neighbour in away.into_iter().filter(|neighbour| self.links.contains_key(neighbour)).collect::<Vec<_>>() {
            let (dest, kind) = (Dest::One(neighbour), FrameKind::Renewed);
            let frame = Frame { dest, origin: beyond, kind, payload: Bytes::new() };
            self.transmit(now, neighbour, frame, fx);
        }
    }
}
