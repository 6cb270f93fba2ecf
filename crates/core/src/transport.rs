//! Frames between links and machines: routing along the tree, relays that do not look inside, acknowledged
//! broadcasts. It never knows what a message means.

use std::collections::BTreeSet;

use bytes::Bytes;
use ferrite_router::{Progress, Receipt, Tree, Xcasts};
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{Dest, Frame, FrameKind, Message};

use crate::{Effect, Effects};

/// What a frame means for the machines of this node.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// A payload for us.
    Here { origin: DaemonRank, payload: Bytes, xcast: Option<u64> },
    /// The head's broadcast was processed by every daemon.
    XcastComplete,
}

/// The links and routes of one node.
#[derive(Debug)]
pub(crate) struct Transport {
    me: DaemonRank,
    pub(crate) tree: Tree,
    links: BTreeSet<DaemonRank>,
    xcasts: Xcasts,
    /// Frames without a way to their addressee, dropped: late messages to daemons that are gone.
    undeliverable: u64,
}

impl Transport {
    pub(crate) fn new(me: DaemonRank, tree: Tree) -> Transport {
        Transport { me, tree, links: BTreeSet::new(), xcasts: Xcasts::new(), undeliverable: 0 }
    }

    pub(crate) fn undeliverable(&self) -> u64 {
        self.undeliverable
    }

    pub(crate) fn on_link_up(&mut self, peer: DaemonRank) {
        self.links.insert(peer);
    }

    pub(crate) fn on_link_lost(&mut self, peer: DaemonRank) {
        self.links.remove(&peer);
    }

    /// A lost child no longer owes acknowledgements; what that completes is returned.
    pub(crate) fn excuse(&mut self, peer: DaemonRank, fx: &mut Effects) -> Option<Delivery> {
        let progress = self.xcasts.child_lost(peer);
        progress.into_iter().filter_map(|(seq, step)| self.advance(seq, Some(step), fx)).last()
    }

    /// A frame from a neighbour: passes it on, and returns what concerns this node.
    pub(crate) fn on_frame(&mut self, from: DaemonRank, frame: Frame, fx: &mut Effects) -> Option<Delivery> {
        match frame.kind {
            FrameKind::XcastAck { seq } => {
                let step = self.xcasts.acked_by(seq, from);
                self.advance(seq, step, fx)
            }
            FrameKind::Xcast { seq } => {
                let children = self.tree.children(self.me);
                match self.xcasts.receive(seq, from, children) {
                    Receipt::New { forward_to } => {
                        self.forward(&frame, &forward_to, fx);
                        Some(Delivery::Here { origin: frame.origin, payload: frame.payload, xcast: Some(seq) })
                    }
                    Receipt::Duplicate { ack_again } => {
                        if ack_again {
                            self.transmit(from, self.ack(seq), fx);
                        }
                        None
                    }
                }
            }
            FrameKind::Message => self.pass_on(frame, fx),
        }
    }

    /// Sends a message of this node along the tree; true when this node is an addressee too.
    pub(crate) fn send(&mut self, dest: Dest, message: &Message, fx: &mut Effects) -> bool {
        // The common case of a local job: nothing to encode.
        if dest == Dest::One(self.me) {
            return true;
        }
        let frame = Frame { dest, origin: self.me, kind: FrameKind::Message, payload: message.encode() };
        self.pass_on(frame, fx).is_some()
    }

    /// Sends over a direct link, in the tree or not.
    pub(crate) fn send_direct(&mut self, peer: DaemonRank, message: &Message, fx: &mut Effects) {
        let frame =
            Frame { dest: Dest::One(peer), origin: self.me, kind: FrameKind::Message, payload: message.encode() };
        self.transmit(peer, frame, fx);
    }

    /// Closes a link of our own accord: no loss is reported for it.
    pub(crate) fn close(&mut self, peer: DaemonRank, fx: &mut Effects) {
        if self.links.remove(&peer) {
            fx.push(Effect::CloseLink { peer });
        }
    }

    /// Starts an acknowledged broadcast of the head; the number is for `processed`.
    pub(crate) fn xcast(&mut self, message: &Message, fx: &mut Effects) -> u64 {
        let seq = self.xcasts.start(&self.tree);
        let children = self.tree.children(self.me);
        let frame =
            Frame { dest: Dest::All, origin: self.me, kind: FrameKind::Xcast { seq }, payload: message.encode() };
        self.forward(&frame, &children, fx);
        seq
    }

    /// This node has processed a broadcast.
    pub(crate) fn processed(&mut self, seq: u64, fx: &mut Effects) -> Option<Delivery> {
        let step = self.xcasts.processed_here(seq);
        self.advance(seq, step, fx)
    }

    /// True when a link to this daemon is up.
    pub(crate) fn is_linked(&self, peer: DaemonRank) -> bool {
        self.links.contains(&peer)
    }

    /// All links that are up.
    pub(crate) fn links(&self) -> impl Iterator<Item = DaemonRank> + '_ {
        self.links.iter().copied()
    }

    fn advance(&mut self, seq: u64, step: Option<Progress>, fx: &mut Effects) -> Option<Delivery> {
        match step? {
            Progress::Complete => Some(Delivery::XcastComplete),
            Progress::AckParent => {
                if let Some(parent) = self.tree.parent(self.me) {
                    self.transmit(parent, self.ack(seq), fx);
                }
                None
            }
        }
    }

    fn ack(&self, seq: u64) -> Frame {
        Frame {
            dest: Dest::One(DaemonRank::HEAD),
            origin: self.me,
            kind: FrameKind::XcastAck { seq },
            payload: Bytes::new(),
        }
    }

    fn pass_on(&mut self, frame: Frame, fx: &mut Effects) -> Option<Delivery> {
        let here = match &frame.dest {
            Dest::One(dest) if *dest == self.me => true,
            Dest::One(dest) => {
                let hop = if self.links.contains(dest) { Some(*dest) } else { self.tree.next_hop(self.me, *dest) };
                match hop {
                    Some(hop) => self.transmit(hop, frame.clone(), fx),
                    None => self.undeliverable += 1,
                }
                false
            }
            Dest::Many(set) => self.split(&frame, &set.clone(), fx),
            Dest::All => self.split(&frame, &self.tree.living(), fx),
        };
        here.then_some(Delivery::Here { origin: frame.origin, payload: frame.payload, xcast: None })
    }

    /// Forwards first, so that a receiver that leaves on this message has passed it on before.
    fn split(&mut self, frame: &Frame, dests: &RankSet, fx: &mut Effects) -> bool {
        let split = self.tree.split(self.me, dests);
        for (child, part) in split.down {
            self.transmit(child, Frame { dest: Dest::Many(part), ..frame.clone() }, fx);
        }
        if let Some(parent) = self.tree.parent(self.me).filter(|_| !split.up.is_empty()) {
            self.transmit(parent, Frame { dest: Dest::Many(split.up), ..frame.clone() }, fx);
        }
        split.here
    }

    fn forward(&mut self, frame: &Frame, children: &[DaemonRank], fx: &mut Effects) {
        for child in children {
            self.transmit(*child, frame.clone(), fx);
        }
    }

    fn transmit(&mut self, peer: DaemonRank, frame: Frame, fx: &mut Effects) {
        if self.links.contains(&peer) {
            fx.push(Effect::Transmit { peer, frame });
        } else {
            self.undeliverable += 1;
        }
    }
}
