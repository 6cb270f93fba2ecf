//! Spreads: large messages of the head to many daemons, which travel in pieces over a narrow tree of their own.
//!
//! In the routing tree the head would send a large message once for each of its children. In a spread each daemon
//! sends it to two others, and passes a piece on as soon as it has it. The head cuts the list of addressees in two; the
//! first of each half is a child, and gives the message to the rest of its half in the same way. Parent and child talk
//! over a connection of their own, a *lane*, which is closed when all below have the message.
//!
//! Lanes may be lost, and daemons may stand still. So the head keeps the message until each addressee has confirmed it
//! or is gone. Confirmations come up the lanes. Whoever may lack the message gets it as a whole by the routing tree;
//! the head asks those of whom it has heard nothing for a second. Each daemon takes the message once.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};
use ferrite_wire::{Contact, Dest, SpreadId, SpreadMessage};

use crate::cx::Cx;
use crate::{Effect, Lane, LaneEffect, LaneInput, LinkTimer, Timer};

/// The number of children of a daemon in the tree of a spread.
const WIDTH: usize = 2;
/// The largest piece (bytes).
const LARGEST_PIECE: usize = 32 * 1024;
/// The least number of pieces, so that a small message too is passed on before it is complete.
const LEAST_PIECES: usize = 4;
/// The limit of the call of a child.
const CALL_LIMIT: Duration = Duration::from_millis(3_000);
/// The time after which the head asks those that have not confirmed; each further wait is twice as long.
const FIRST_QUESTION: Duration = Duration::from_millis(1_000);
const LAST_QUESTION: Duration = Duration::from_millis(16_000);

/// Daemons and where they listen.
pub(crate) type Addressees = Vec<(DaemonRank, Contact)>;

/// The spreads that pass this node, and at the head the record of all.
#[derive(Debug, Default)]
pub(crate) struct Spreads {
    relays: BTreeMap<SpreadId, Relay>,
    /// Spreads whose message this node has taken, of those that may not be over everywhere.
    taken: BTreeSet<SpreadId>,
    /// Spreads with a lower number are over everywhere.
    settled: SpreadId,
    record: Record,
}

/// One spread at a daemon that passes it on.
#[derive(Debug, Default)]
struct Relay {
    /// The daemon above, while there is a lane to it.
    above: Option<DaemonRank>,
    /// The size of the whole message (bytes).
    length: usize,
    /// The pieces that have come, and their size (bytes).
    pieces: Vec<Bytes>,
    have: usize,
    /// The size of what had come at the last question of the head (bytes).
    asked_at: usize,
    /// The children that have not confirmed.
    children: BTreeMap<DaemonRank, Child>,
    /// Daemons below that may lack the message, and those of them that could not be called.
    lacking: RankSet,
    unreachable: RankSet,
}

/// A child in the tree of a spread.
#[derive(Debug)]
struct Child {
    below: Addressees,
    is_up: bool,
    /// The number of pieces that it was sent.
    sent: usize,
}

/// The head's record of spreads.
#[derive(Debug, Default)]
struct Record {
    last: u64,
    open: BTreeMap<SpreadId, Open>,
    /// Daemons that another one could not call. They get what is large by the routing tree.
    unreachable: RankSet,
    /// The time for which the timer is set.
    timer: Option<Timestamp>,
}

/// A spread that some addressees have not confirmed.
#[derive(Debug)]
struct Open {
    message: Bytes,
    waiting: RankSet,
    /// Those of them that get the message by the routing tree, and confirm it.
    given: RankSet,
    due: Timestamp,
    patience: Duration,
}

impl Relay {
    fn new(above: Option<DaemonRank>, length: usize) -> Relay {
        Relay { above, length, ..Relay::default() }
    }

    fn is_complete(&self) -> bool {
        self.have >= self.length
    }

    /// Notes a child that is gone: nobody knows what has reached it and those below it.
    fn lose_child(&mut self, peer: DaemonRank) -> Option<Child> {
        let child = self.children.remove(&peer)?;
        self.lacking.extend(child.below.iter().map(|(rank, _)| *rank).chain([peer]));
        Some(child)
    }

    /// Takes all that has not come yet of the whole message.
    fn take_rest(&mut self, message: &Bytes) {
        let size = (message.len() / LEAST_PIECES).clamp(1, LARGEST_PIECE);
        while self.have < message.len() {
            let end = (self.have + size).min(message.len());
            self.pieces.push(message.slice(self.have..end));
            self.have = end;
        }
        self.length = message.len();
    }
}

impl Spreads {
    /// Begins a spread of an encoded message from the head to these daemons (spec L157).
    pub(crate) fn start(&mut self, to: Addressees, message: Bytes, cx: &mut Cx) {
        self.record.last += 1;
        let id = SpreadId(self.record.last);
        let waiting = to.iter().map(|(rank, _)| *rank).collect();
        let patience = FIRST_QUESTION;
        let open = Open { message: message.clone(), waiting, given: RankSet::new(), due: cx.now + patience, patience };
        self.record.open.insert(id, open);
        let (to, apart): (Addressees, Addressees) =
            to.into_iter().partition(|(rank, _)| !self.record.unreachable.contains(*rank));
        self.record.give(id, &apart.into_iter().map(|(rank, _)| rank).collect(), cx);
        let mut relay = Relay::new(None, message.len());
        relay.take_rest(&message);
        self.relays.insert(id, relay);
        self.call_children(id, to, cx);
        self.record.await_question(cx);
        self.finish(id, cx);
    }

    /// Handles an event on a lane. Returns the message when it is complete.
    pub(crate) fn on_lane(&mut self, input: LaneInput, cx: &mut Cx) -> Option<Bytes> {
        match input {
            LaneInput::Up(lane) => {
                self.on_up(lane, cx);
                None
            }
            LaneInput::Lost { lane, .. } => {
                self.on_lost(lane, cx);
                None
            }
            LaneInput::Heard { lane, message } => self.on_heard(lane, message, cx),
        }
    }

    /// Handles a message about spreads that has come along the routing tree. Returns the spread's message when this
    /// node has lacked it.
    pub(crate) fn on_message(&mut self, origin: DaemonRank, message: SpreadMessage, cx: &mut Cx) -> Option<Bytes> {
        match message {
            SpreadMessage::Whole { id, message } => self.on_whole(id, message, cx),
            SpreadMessage::Ask(id) => {
                self.on_ask(id, cx);
                None
            }
            SpreadMessage::Wanted(id) => {
                self.record.give(id, &RankSet::from_iter([origin]), cx);
                None
            }
            SpreadMessage::Holds(id) => {
                self.confirm(id, &RankSet::from_iter([origin]), cx);
                None
            }
            // These come over lanes only.
            SpreadMessage::Begin { .. } | SpreadMessage::Piece(_) | SpreadMessage::Held { .. } => None,
        }
    }

    /// Handles the head's timer: asks those that have not confirmed (spec L157).
    pub(crate) fn on_timer(&mut self, cx: &mut Cx) {
        self.record.timer = None;
        let now = cx.now;
        for (id, open) in self.record.open.iter_mut().filter(|(_, open)| open.due <= now) {
            open.patience = Duration(2 * open.patience.0).min(LAST_QUESTION);
            open.due = now + open.patience;
            let mut silent = open.waiting.clone();
            silent.remove_all(&open.given);
            if !silent.is_empty() {
                cx.multicast(Dest::Many(silent), SpreadMessage::Ask(*id));
            }
        }
        self.record.await_question(cx);
    }

    /// Expects nothing more of daemons that are gone.
    pub(crate) fn lose(&mut self, gone: &RankSet, cx: &mut Cx) {
        self.record.unreachable.remove_all(gone);
        for id in self.record.open.keys().copied().collect::<Vec<_>>() {
            self.confirm(id, gone, cx);
        }
        let lanes: Vec<Lane> = (self.relays.iter())
            .flat_map(|(id, relay)| {
                let peers = relay.children.keys().chain(&relay.above).filter(|peer| gone.contains(**peer));
                peers.map(|peer| Lane { peer: *peer, spread: *id })
            })
            .collect();
        for lane in lanes {
            cx.effect(Effect::Lane(LaneEffect::Close(lane)));
            self.on_lost(lane, cx);
        }
    }

    /// Divides the addressees into parts, and calls the first of each.
    fn call_children(&mut self, id: SpreadId, to: Addressees, cx: &mut Cx) {
        let Some(relay) = self.relays.get_mut(&id) else { return };
        let size = to.len().div_ceil(WIDTH).max(1);
        for part in to.chunks(size) {
            let [(peer, contact), below @ ..] = part else { continue };
            let lane = Lane { peer: *peer, spread: id };
            let deadline = cx.now + CALL_LIMIT;
            cx.effect(Effect::Lane(LaneEffect::Open { lane, contact: contact.clone(), deadline }));
            relay.children.insert(*peer, Child { below: below.to_vec(), is_up: false, sent: 0 });
        }
    }

    fn on_up(&mut self, lane: Lane, cx: &mut Cx) {
        let settled = self.settled();
        let relay = self.relays.get_mut(&lane.spread);
        let Some((length, child)) = relay.and_then(|r| Some((r.length, r.children.get_mut(&lane.peer)?))) else {
            return cx.effect(Effect::Lane(LaneEffect::Close(lane)));
        };
        child.is_up = true;
        let message = SpreadMessage::Begin { length: length as u64, below: child.below.clone(), settled };
        cx.effect(Effect::Lane(LaneEffect::Say { lane, message }));
        self.pass_on(lane.spread, cx);
    }

    fn on_lost(&mut self, lane: Lane, cx: &mut Cx) {
        let Some(relay) = self.relays.get_mut(&lane.spread) else { return };
        if relay.above == Some(lane.peer) {
            relay.above = None;
            if !relay.is_complete() {
                cx.send_head_about(SpreadMessage::Wanted(lane.spread));
            }
        } else if let Some(child) = relay.lose_child(lane.peer)
            && !child.is_up
        {
            relay.unreachable.insert(lane.peer);
        }
        self.finish(lane.spread, cx);
    }

    fn on_heard(&mut self, lane: Lane, message: SpreadMessage, cx: &mut Cx) -> Option<Bytes> {
        let id = lane.spread;
        match message {
            SpreadMessage::Begin { length, below, settled } => {
                self.settle(settled, cx);
                if id < self.settled || self.taken.contains(&id) || self.relays.contains_key(&id) {
                    cx.effect(Effect::Lane(LaneEffect::Close(lane)));
                    return None;
                }
                self.relays.insert(id, Relay::new(Some(lane.peer), usize::try_from(length).unwrap_or(usize::MAX)));
                self.call_children(id, below, cx);
                None
            }
            SpreadMessage::Piece(piece) => {
                let relay = self.relays.get_mut(&id).filter(|r| r.above == Some(lane.peer) && !r.is_complete())?;
                relay.have += piece.len();
                relay.pieces.push(piece);
                self.on_progress(id, cx)
            }
            SpreadMessage::Held { lacking, unreachable } => {
                let relay = self.relays.get_mut(&id)?;
                relay.children.remove(&lane.peer)?;
                relay.lacking.insert_all(&lacking);
                relay.unreachable.insert_all(&unreachable);
                cx.effect(Effect::Lane(LaneEffect::Close(lane)));
                self.finish(id, cx);
                None
            }
            // These come along the routing tree only.
            SpreadMessage::Whole { .. }
            | SpreadMessage::Ask(_)
            | SpreadMessage::Wanted(_)
            | SpreadMessage::Holds(_) => None,
        }
    }

    /// Passes new pieces on. Returns the message when it is complete.
    fn on_progress(&mut self, id: SpreadId, cx: &mut Cx) -> Option<Bytes> {
        self.pass_on(id, cx);
        let relay = self.relays.get(&id).filter(|relay| relay.is_complete())?;
        let message = relay.pieces.concat().into();
        self.taken.insert(id);
        self.finish(id, cx);
        Some(message)
    }

    fn pass_on(&mut self, id: SpreadId, cx: &mut Cx) {
        let Some(relay) = self.relays.get_mut(&id) else { return };
        for (peer, child) in relay.children.iter_mut().filter(|(_, child)| child.is_up) {
            let lane = Lane { peer: *peer, spread: id };
            for piece in relay.pieces.iter().skip(child.sent) {
                let message = SpreadMessage::Piece(piece.clone());
                cx.effect(Effect::Lane(LaneEffect::Say { lane, message }));
            }
            child.sent = relay.pieces.len();
        }
    }

    /// Ends the part of this node in a spread when it has the message and all children have confirmed.
    fn finish(&mut self, id: SpreadId, cx: &mut Cx) {
        let finished = |relay: &&Relay| relay.is_complete() && relay.children.is_empty();
        if self.relays.get(&id).filter(finished).is_none() {
            return;
        }
        let Some(Relay { above, lacking, unreachable, .. }) = self.relays.remove(&id) else { return };
        if let Some(peer) = above {
            let message = SpreadMessage::Held { lacking, unreachable };
            cx.effect(Effect::Lane(LaneEffect::Say { lane: Lane { peer, spread: id }, message }));
        } else if let Some(open) = self.record.open.get(&id) {
            let mut held = open.waiting.clone();
            held.remove_all(&open.given);
            held.remove_all(&lacking);
            // A daemon that is gone needs no note.
            self.record.unreachable.extend(unreachable.iter().filter(|rank| open.waiting.contains(*rank)));
            self.record.give(id, &lacking, cx);
            self.confirm(id, &held, cx);
        }
    }

    fn on_whole(&mut self, id: SpreadId, message: Bytes, cx: &mut Cx) -> Option<Bytes> {
        cx.send_head_about(SpreadMessage::Holds(id));
        if id < self.settled || self.taken.contains(&id) {
            return None;
        }
        match self.relays.get_mut(&id) {
            // Those below get the rest from here.
            Some(relay) => {
                relay.take_rest(&message);
                self.on_progress(id, cx)
            }
            None => {
                self.taken.insert(id);
                Some(message)
            }
        }
    }

    /// Answers the head's question. While pieces come there is no answer yet.
    fn on_ask(&mut self, id: SpreadId, cx: &mut Cx) {
        if id < self.settled || self.taken.contains(&id) {
            return cx.send_head_about(SpreadMessage::Holds(id));
        }
        match self.relays.get_mut(&id) {
            Some(relay) if relay.have > relay.asked_at => relay.asked_at = relay.have,
            _ => cx.send_head_about(SpreadMessage::Wanted(id)),
        }
    }

    /// The number below which all spreads are over, at the head; elsewhere as it has said.
    fn settled(&self) -> SpreadId {
        let here = SpreadId(self.record.last + 1);
        let oldest = self.record.open.keys().next().copied().unwrap_or(here);
        if self.record.last == 0 { self.settled } else { oldest }
    }

    /// Forgets spreads that are over everywhere.
    fn settle(&mut self, settled: SpreadId, cx: &mut Cx) {
        self.settled = self.settled.max(settled);
        self.taken = self.taken.split_off(&self.settled);
        while let Some(id) = self.relays.keys().next().copied().filter(|id| *id < self.settled) {
            self.drop_relay(id, cx);
        }
    }

    /// At the head: notes daemons that have the message, or are gone. With the last of them the spread is over.
    fn confirm(&mut self, id: SpreadId, by: &RankSet, cx: &mut Cx) {
        let Some(open) = self.record.open.get_mut(&id) else { return };
        open.waiting.remove_all(by);
        if open.waiting.is_empty() {
            self.record.open.remove(&id);
            self.drop_relay(id, cx);
        }
    }

    fn drop_relay(&mut self, id: SpreadId, cx: &mut Cx) {
        let Some(relay) = self.relays.remove(&id) else { return };
        for peer in relay.children.into_keys().chain(relay.above) {
            cx.effect(Effect::Lane(LaneEffect::Close(Lane { peer, spread: id })));
        }
    }
}

impl Record {
    /// Gives the message to these daemons by the routing tree, unless they have confirmed it or were given it.
    fn give(&mut self, id: SpreadId, to: &RankSet, cx: &mut Cx) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let wants = |rank: &DaemonRank| open.waiting.contains(*rank) && !open.given.contains(*rank);
        let to: RankSet = to.iter().filter(wants).collect();
        open.given.insert_all(&to);
        if !to.is_empty() {
            cx.multicast(Dest::Many(to), SpreadMessage::Whole { id, message: open.message.clone() });
        }
    }

    /// Sets the timer for the first question that is due.
    fn await_question(&mut self, cx: &mut Cx) {
        let Some(at) = self.open.values().map(|open| open.due).min() else { return };
        if self.timer.is_none_or(|set| at < set) {
            self.timer = Some(at);
            cx.set_timer(Timer::Link(LinkTimer::Spreads), at);
        }
    }
}
