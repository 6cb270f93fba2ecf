//! One process of the DVM: transport, daemon and, at rank 0, the head. It hands each input to the machine concerned,
//! and carries messages between the machines and the links.

use std::collections::VecDeque;

use bytes::Bytes;
use ferrite_rm::params::Params;
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};
use ferrite_wire::{CodecError, Message, Order as Passing, Ticket, TreeMessage};

use crate::cx::{Cx, Outgoing, Purpose};
use crate::daemon::{Daemon, Settings};
use crate::head::Head;
use crate::spread::Spreads;
use crate::transport::{Delivery, Transport};
use crate::{Effect, Effects, HeadConfig, Input, LaneInput, LinkInput, LinkTimer, LocalNode, Timer};

/// The number of silent intervals after which a link is dead.
const SILENT_INTERVALS: u64 = 3;

/// The time after which a leaving neighbour counts as hung; it is longer than the neighbour's own deadline.
const LEAVE_LIMIT: Duration = Duration::from_millis(20_000);

/// A way to read a message from its payload.
pub type Reader = fn(&Bytes) -> Result<Message, CodecError>;

/// A daemon, or the head with the daemon of its own node.
#[derive(Debug)]
pub struct Node {
    me: DaemonRank,
    transport: Transport,
    daemon: Daemon,
    head: Option<Head>,
    outbox: VecDeque<Outgoing>,
    spreads: Spreads,
    heartbeat: Heartbeat,
    departures: Departures,
    reader: Reader,
    /// True once all daemons were asked to acknowledge this leaving daemon's last messages.
    asked: bool,
}

/// The heartbeats on silent links.
#[derive(Debug)]
struct Heartbeat {
    interval: Duration,
    /// The time of the timer, while it is set.
    due: Option<Timestamp>,
}

impl Node {
    /// The head of a new DVM.
    #[must_use]
    pub fn head(config: HeadConfig, local: LocalNode) -> Node {
        let heartbeat = Heartbeat::by(&config.params);
        let settings = Settings::by(&config.params, heartbeat.limit());
        let head = Head::new(config, &local);
        let tree = Tree::new(head.radix(), 1);
        let daemon = Daemon::on_head(head.dvm(), local, settings);
        Node::made_of(DaemonRank::HEAD, tree, daemon, Some(head), heartbeat)
    }

    /// A daemon with the settings of its ticket.
    #[must_use]
    pub fn daemon(ticket: Ticket, local: LocalNode) -> Node {
        // A newcomer learns with the wireup which daemons have places.
        let holes = if ticket.joins { RankSet::new() } else { ticket.dead.clone() };
        let tree = Tree::with_holes(ticket.radix, ticket.size, holes);
        let heartbeat = Heartbeat::by(&ticket.params);
        let settings = Settings::by(&ticket.params, heartbeat.limit());
        let rank = ticket.rank;
        Node::made_of(rank, tree, Daemon::new(ticket, local, settings), None, heartbeat)
    }

    fn made_of(me: DaemonRank, tree: Tree, daemon: Daemon, head: Option<Head>, heartbeat: Heartbeat) -> Node {
        Node {
            me,
            transport: Transport::new(me, tree),
            daemon,
            head,
            outbox: VecDeque::new(),
            spreads: Spreads::default(),
            heartbeat,
            departures: Departures::default(),
            reader: |payload| Message::decode(payload),
            asked: false,
        }
    }

    /// Replaces how messages are read: nodes of one process can share what a broadcast says to all of them.
    #[must_use]
    pub fn reading_by(self, reader: Reader) -> Node {
        Node { reader, ..self }
    }

    /// The only entry point. `fx` is empty on entry and is drained before the next call.
    pub fn handle(&mut self, now: Timestamp, input: Input, fx: &mut Effects) {
        self.dispatch(now, input, fx);
        self.flush(now, fx);
        self.leave_when_done(now, fx);
    }

    /// The number of messages without a route, for status and tests.
    #[must_use]
    pub fn undeliverable(&self) -> u64 {
        self.transport.undeliverable()
    }

    /// The head's machine, for status and tests.
    #[must_use]
    pub fn as_head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    fn dispatch(&mut self, now: Timestamp, input: Input, fx: &mut Effects) {
        match input {
            Input::Link(input) => self.on_link(now, input, fx),
            Input::Lane(input) => self.on_lane(now, input, fx),
            Input::Head(input) => self.by_head(now, fx, |head, cx| head.handle(input, cx)),
            Input::Daemon(input) => self.by_daemon(now, fx, |daemon, cx| daemon.handle(input, cx)),
            Input::Timer(Timer::Link(timer)) => self.on_link_timer(now, timer, fx),
            Input::Timer(Timer::Head(timer)) => self.by_head(now, fx, |head, cx| head.on_timer(timer, cx)),
            Input::Timer(Timer::Daemon(timer)) => self.by_daemon(now, fx, |daemon, cx| daemon.on_timer(timer, cx)),
            // The head starts where there is one, else the daemon.
            Input::Start => match self.parts(now, fx) {
                (_, Some(head), mut cx) => head.start(&mut cx),
                (daemon, None, mut cx) => daemon.on_start(&mut cx),
            },
            Input::LauncherEnded { rank, status, message } => match self.parts(now, fx) {
                (_, Some(head), mut cx) => head.launcher_ended(rank, status, &message, &mut cx),
                (daemon, None, mut cx) => daemon.on_launcher_ended(rank, status, &message, &mut cx),
            },
            Input::Relay(input) => match self.parts(now, fx) {
                (_, Some(head), mut cx) => head.on_relay(input, &mut cx),
                (daemon, None, mut cx) => daemon.on_relay(input, &mut cx),
            },
            Input::ManagerSignal { is_order } => match self.parts(now, fx) {
                (_, Some(head), mut cx) => head.on_manager_signal(is_order, &mut cx),
                (daemon, None, mut cx) => daemon.on_manager_signal(is_order, &mut cx),
            },
            Input::Terminate { cause } => match self.parts(now, fx) {
                (_, Some(head), mut cx) => head.terminate(&cause, &mut cx),
                (daemon, None, mut cx) => daemon.on_terminate(&cause, &mut cx),
            },
        }
    }

    /// Lets the head act; a node without a head gets no inputs for it.
    fn by_head(&mut self, now: Timestamp, fx: &mut Effects, act: impl FnOnce(&mut Head, &mut Cx)) {
        let (_, head, mut cx) = self.parts(now, fx);
        act(head.expect("this node has the head"), &mut cx);
    }

    fn by_daemon(&mut self, now: Timestamp, fx: &mut Effects, act: impl FnOnce(&mut Daemon, &mut Cx)) {
        let (daemon, _, mut cx) = self.parts(now, fx);
        act(daemon, &mut cx);
    }

    fn by_spreads<T>(&mut self, now: Timestamp, fx: &mut Effects, act: impl FnOnce(&mut Spreads, &mut Cx) -> T) -> T {
        let mut spreads = std::mem::take(&mut self.spreads);
        let (_, _, mut cx) = self.parts(now, fx);
        let result = act(&mut spreads, &mut cx);
        self.spreads = spreads;
        result
    }

    fn on_lane(&mut self, now: Timestamp, input: LaneInput, fx: &mut Effects) {
        let payload = self.by_spreads(now, fx, |spreads, cx| spreads.on_lane(input, cx));
        self.take_spread(now, payload, fx);
    }

    /// Handles the message of a spread, which is one of the head.
    fn take_spread(&mut self, now: Timestamp, payload: Option<Bytes>, fx: &mut Effects) {
        let here = payload.map(|payload| Delivery::Here { origin: DaemonRank::HEAD, payload, xcast: None });
        self.deliver(now, here, fx);
    }

    fn on_link(&mut self, now: Timestamp, input: LinkInput, fx: &mut Effects) {
        match input {
            LinkInput::LinkUp { peer } => self.on_link_up(now, peer, fx),
            LinkInput::LinkActivity { peer } => self.transport.on_activity(now, peer),
            LinkInput::LinkLost { peer, cause } => self.on_link_lost(now, peer, cause, fx),
            LinkInput::Frame { from, frame } => {
                let delivery = self.transport.on_frame(now, from, frame, fx);
                self.deliver(now, delivery, fx);
            }
            LinkInput::ConnectFailed { peer, cause, refused } => {
                let (daemon, _, mut cx) = self.parts(now, fx);
                daemon.on_connect_failed(peer, &cause, refused, &mut cx);
                self.on_departed(now, peer, fx);
            }
        }
    }

    fn on_link_timer(&mut self, now: Timestamp, timer: LinkTimer, fx: &mut Effects) {
        match timer {
            LinkTimer::Leavers => self.on_leavers_timer(now, fx),
            LinkTimer::Heartbeat => self.on_heartbeat(now, fx),
            LinkTimer::Probe => self.transport.on_probe_timer(now, fx),
            LinkTimer::Spreads => self.by_spreads(now, fx, Spreads::on_timer),
        }
    }

    fn on_link_up(&mut self, now: Timestamp, peer: DaemonRank, fx: &mut Effects) {
        self.transport.on_link_up(now, peer);
        let (daemon, head, mut cx) = self.parts(now, fx);
        if let Some(head) = head {
            head.on_link_up(peer);
        }
        daemon.on_link_up(peer, &mut cx);
        daemon.resume_calls(&mut cx);
        self.flush(now, fx);
        self.transport.resume(now, peer, fx);
        if self.heartbeat.due.is_none() {
            self.await_heartbeat(now, fx);
        }
    }

    fn on_link_lost(&mut self, now: Timestamp, peer: DaemonRank, cause: String, fx: &mut Effects) {
        if !self.transport.on_link_lost(peer) {
            return;
        }
        let (daemon, head, mut cx) = self.parts(now, fx);
        match head {
            Some(head) if !cx.tree.contains(peer) && !cx.tree.is_leaving(peer) => {
                head.on_newcomer_lost(peer, &cause, &mut cx);
            }
            _ => daemon.on_link_lost(peer, cause, &mut cx),
        }
        if !self.may_not_have_heard(now, peer, fx) {
            self.on_departed(now, peer, fx);
        }
    }

    /// True for a neighbour that has not acknowledged its order to leave, and that is called about it. It may have
    /// closed a link that it had before it got its place, and be on its way here by another.
    fn may_not_have_heard(&mut self, now: Timestamp, peer: DaemonRank, fx: &mut Effects) -> bool {
        if !self.departures.awaits(peer) || !self.transport.is_owed_by(peer) {
            return false;
        }
        let (daemon, _, mut cx) = self.parts(now, fx);
        daemon.call_leaver(peer, &mut cx)
    }

    fn on_heartbeat(&mut self, now: Timestamp, fx: &mut Effects) {
        let Heartbeat { interval, due } = self.heartbeat;
        if due.is_some_and(|due| due + interval < now) {
            // This process was stopped or swapped out: messages of the others are still to be read.
            self.transport.pardon(now);
        }
        let limit = self.heartbeat.limit();
        for peer in self.transport.on_heartbeat(now, interval, limit, fx) {
            fx.push(Effect::CloseLink { peer });
            let seconds = limit.0 as f64 / 1e6;
            self.on_link_lost(now, peer, format!("no sign of life for {seconds} seconds"), fx);
        }
        let (daemon, _, mut cx) = self.parts(now, fx);
        daemon.resume_calls(&mut cx);
        self.await_heartbeat(now, fx);
    }

    /// Sets the heartbeat timer, unless the node has no links.
    fn await_heartbeat(&mut self, now: Timestamp, fx: &mut Effects) {
        let wanted = !self.transport.links.is_empty() && self.heartbeat.interval.0 > 0;
        self.heartbeat.due = wanted.then(|| now + self.heartbeat.interval);
        if let Some(at) = self.heartbeat.due {
            fx.push(Effect::SetTimer { timer: Timer::Link(LinkTimer::Heartbeat), at });
        }
    }

    fn flush(&mut self, now: Timestamp, fx: &mut Effects) {
        while let Some(outgoing) = self.outbox.pop_front() {
            self.route(now, outgoing, fx);
        }
    }

    fn deliver(&mut self, now: Timestamp, delivery: Option<Delivery>, fx: &mut Effects) {
        match delivery {
            None => {}
            Some(Delivery::XcastComplete(purpose)) => {
                match &purpose {
                    // All daemons have their places again, so messages that were lost with the dead can be found.
                    Purpose::Deaths(_) => self.transport.ask_everybody(now, fx),
                    Purpose::Shrink { targets, .. } => {
                        targets.iter().for_each(|rank| self.transport.departed(rank));
                        self.by_spreads(now, fx, |spreads, cx| spreads.lose(targets, cx));
                    }
                    Purpose::Wireup | Purpose::Grow(_) | Purpose::Exit => {}
                }
                if let (_, Some(head), mut cx) = self.parts(now, fx) {
                    head.on_xcast_complete(&purpose, &mut cx);
                }
            }
            Some(Delivery::Here { origin, payload, xcast }) => {
                let to_go = match (self.reader)(&payload) {
                    Ok(message) => self.process(now, origin, message, fx),
                    Err(error) => {
                        let text = format!(
                            "A message from daemon {origin} cannot be read ({error}).\nIt was ignored. Are all daemons of the same build?"
                        );
                        fx.push(Effect::Notice { to: None, text });
                        RankSet::new()
                    }
                };
                if let Some(seq) = xcast {
                    self.finish_xcast(now, seq, to_go, fx);
                }
            }
        }
    }

    /// Processes a message and sends all messages that follow from it; a broadcast is passed on before or after, as
    /// it demands. Returns the neighbours that have to be gone before the broadcast counts as processed.
    fn process(&mut self, now: Timestamp, origin: DaemonRank, message: Message, fx: &mut Effects) -> RankSet {
        let behind = std::mem::take(&mut self.outbox);
        let to_go = self.receive(now, origin, message, fx);
        self.flush(now, fx);
        self.outbox = behind;
        to_go
    }

    /// Ends the processing of a broadcast; one that had to be processed first is passed on now (spec E31).
    fn finish_xcast(&mut self, now: Timestamp, seq: u64, to_go: RankSet, fx: &mut Effects) {
        let next = self.transport.forward(now, seq, fx);
        self.deliver(now, next, fx);
        if to_go.is_empty() {
            let next = self.transport.processed(now, seq, fx);
            return self.deliver(now, next, fx);
        }
        let due = now + LEAVE_LIMIT;
        if self.departures.orders.is_empty() {
            fx.push(Effect::SetTimer { timer: Timer::Link(LinkTimer::Leavers), at: due });
        }
        self.departures.orders.push(Order { seq, to_go, due });
    }

    fn receive(&mut self, now: Timestamp, origin: DaemonRank, message: Message, fx: &mut Effects) -> RankSet {
        let (daemon, head, mut cx) = self.parts(now, fx);
        match (message, head) {
            (Message::Tree(TreeMessage::Died { ranks }), _) => self.on_died(now, &ranks, fx),
            (Message::Tree(TreeMessage::Shrink { targets }), _) => return self.on_shrink(now, &targets, fx),
            (Message::Daemon(message), _) => daemon.receive(origin, message, &mut cx),
            (Message::Spread(message), _) => {
                let payload = self.by_spreads(now, fx, |spreads, cx| spreads.on_message(origin, message, cx));
                self.take_spread(now, payload, fx);
            }
            (Message::Head(message), Some(head)) => head.receive(origin, message, &mut cx),
            (Message::Head(message), None) => {
                let text = format!(
                    "Daemon {origin} has sent {} to this daemon, which is not the head.\nIt was ignored; \
                     please report this.",
                    message.kind()
                );
                fx.push(Effect::Notice { to: None, text });
            }
        }
        RankSet::new()
    }

    /// Handles the head's declaration of deaths: first the tree, then the machines that talk along it.
    fn on_died(&mut self, now: Timestamp, ranks: &RankSet, fx: &mut Effects) {
        let (adoption, complete) = self.transport.repair(now, ranks, fx);
        self.by_spreads(now, fx, |spreads, cx| spreads.lose(ranks, cx));
        let (daemon, _, mut cx) = self.parts(now, fx);
        daemon.on_died(ranks, &adoption, &mut cx);
        for delivery in complete {
            self.deliver(now, Some(delivery), fx);
        }
        for rank in ranks.iter() {
            self.on_departed(now, rank, fx);
        }
    }

    /// Handles an order to leave. Returns the neighbours whose departure this node awaits: each leaving neighbour
    /// goes after all that leave by way of it (spec E29).
    fn on_shrink(&mut self, now: Timestamp, targets: &RankSet, fx: &mut Effects) -> RankSet {
        let uplink = self.transport.uplink();
        let called: RankSet = targets.iter().filter(|rank| self.daemon.is_called(*rank)).collect();
        let (adoption, complete) = self.transport.let_leave(now, targets, &called, fx);
        let (daemon, _, mut cx) = self.parts(now, fx);
        let to_go = daemon.on_shrink(targets, &adoption, uplink, &mut cx);
        for delivery in complete {
            self.deliver(now, Some(delivery), fx);
        }
        to_go
    }

    /// Handles a neighbour that is gone or out of reach: orders to leave may now be complete (spec G6).
    fn on_departed(&mut self, now: Timestamp, peer: DaemonRank, fx: &mut Effects) {
        if self.transport.links.contains_key(&peer) {
            return;
        }
        let complete = match self.transport.tree.contains(peer) {
            true => Vec::new(),
            false => self.transport.excuse(now, peer, fx),
        };
        if self.transport.tree.is_leaving(peer) && self.departures.awaits(peer) {
            self.transport.departed(peer);
        }
        for delivery in complete {
            self.deliver(now, Some(delivery), fx);
        }
        for seq in self.departures.gone(peer) {
            let next = self.transport.processed(now, seq, fx);
            self.deliver(now, next, fx);
        }
    }

    /// Handles the deadline of leaving neighbours: one that hangs is no longer waited for (spec E32).
    fn on_leavers_timer(&mut self, now: Timestamp, fx: &mut Effects) {
        for peer in self.departures.overdue(now) {
            self.transport.close(peer, fx);
            self.on_departed(now, peer, fx);
        }
        if let Some(at) = self.departures.orders.iter().map(|order| order.due).min() {
            fx.push(Effect::SetTimer { timer: Timer::Link(LinkTimer::Leavers), at });
        }
    }

    fn route(&mut self, now: Timestamp, outgoing: Outgoing, fx: &mut Effects) {
        match outgoing {
            Outgoing::Send(dest, message) => {
                if self.transport.send(now, dest, &message, fx) {
                    // Only broadcasts return neighbours to wait for.
                    let _ = self.receive(now, self.me, message, fx);
                }
            }
            Outgoing::Spread(to, message) => {
                let message = message.encode();
                self.by_spreads(now, fx, |spreads, cx| spreads.start(to, message, cx));
            }
            Outgoing::Direct(peer, message) => self.transport.send_direct(now, peer, &message, fx),
            Outgoing::Renewed(peer) => self.transport.renewed(now, peer, peer, fx),
            Outgoing::Close(peer) => {
                self.transport.close(peer, fx);
                self.on_departed(now, peer, fx);
            }
            Outgoing::Xcast(message, purpose) => {
                let (seq, order) = self.transport.start_xcast(&message, purpose);
                if order == Passing::ForwardFirst {
                    let next = self.transport.forward(now, seq, fx);
                    self.deliver(now, next, fx);
                }
                let to_go = self.process(now, self.me, message, fx);
                self.finish_xcast(now, seq, to_go, fx);
            }
        }
    }

    /// Leaves bottom-up: after the own processes and all links below are gone (spec L37).
    fn leave_when_done(&mut self, now: Timestamp, fx: &mut Effects) {
        let tree = &self.transport.tree;
        let below = |peer: &DaemonRank| tree.stands_below(*peer, self.me);
        // A leaving daemon that is being called has not heard the order, which waits for the link.
        let calls_below = tree.is_leaving(self.me) && self.daemon.calls(|peer| tree.is_leaving(*peer) && below(peer));
        let links_below = self.transport.links.keys().any(below);
        if !self.daemon.may_leave(links_below || calls_below) {
            return;
        }
        if self.transport.tree.is_leaving(self.me) && self.daemon.has_time() && !self.transport.is_settled() {
            // The last messages are on their way; their acknowledgement lets this node leave.
            if !std::mem::replace(&mut self.asked, true) {
                self.transport.ask_everybody(now, fx);
            }
            return;
        }
        let (daemon, head, mut cx) = self.parts(now, fx);
        daemon.on_left();
        match head {
            Some(head) => head.on_daemons_gone(&mut cx),
            None => cx.effect(Effect::Exit { code: 0 }),
        }
    }

    fn parts<'a>(&'a mut self, now: Timestamp, fx: &'a mut Effects) -> (&'a mut Daemon, Option<&'a mut Head>, Cx<'a>) {
        let Transport { tree, links, detour, streams, .. } = &mut self.transport;
        let cx = Cx { now, tree, links, streams, detour, fx, out: &mut self.outbox };
        (&mut self.daemon, self.head.as_mut(), cx)
    }
}

/// Orders to leave that this node has passed on and that are not complete.
#[derive(Debug, Default)]
struct Departures {
    orders: Vec<Order>,
}

#[derive(Debug)]
struct Order {
    /// The number of the broadcast.
    seq: u64,
    /// Neighbours that are still there.
    to_go: RankSet,
    due: Timestamp,
}

impl Departures {
    fn awaits(&self, peer: DaemonRank) -> bool {
        self.orders.iter().any(|order| order.to_go.contains(peer))
    }

    /// Notes that a neighbour is gone. Returns the broadcasts that have waited for no other.
    fn gone(&mut self, peer: DaemonRank) -> Vec<u64> {
        let finished = |order: &mut Order| order.to_go.remove(peer) && order.to_go.is_empty();
        self.orders.extract_if(.., finished).map(|order| order.seq).collect()
    }

    fn overdue(&self, now: Timestamp) -> Vec<DaemonRank> {
        self.orders.iter().filter(|order| order.due <= now).flat_map(|order| order.to_go.iter()).collect()
    }
}

impl Heartbeat {
    /// The silence after which a link is lost; zero = never.
    fn limit(&self) -> Duration {
        Duration(self.interval.0 * SILENT_INTERVALS)
    }

    fn by(settings: &[(String, String)]) -> Heartbeat {
        let mut params = Params::default();
        settings.iter().for_each(|(name, value)| params.set(name, value));
        // The head reports a bad value at its start.
        let ms = params.number("ferrite_heartbeat_ms").unwrap_or(0);
        Heartbeat { interval: Duration::from_millis(u64::from(ms)), due: None }
    }
}
