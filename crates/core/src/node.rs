//! One process of the DVM: transport, daemon and, at rank 0, the head. It hands each input to the machine
//! that it concerns, and carries messages between the machines and the links.

use std::collections::VecDeque;

use ferrite_router::Tree;
use ferrite_types::{DaemonRank, Timestamp};
use ferrite_wire::{Message, Ticket};

use crate::cx::{Cx, Outgoing};
use crate::daemon::Daemon;
use crate::head::Head;
use crate::transport::{Delivery, Transport};
use crate::{Effect, Effects, HeadConfig, Input, LocalNode};

/// A daemon, or the head with the daemon of its own node.
#[derive(Debug)]
pub struct Node {
    me: DaemonRank,
    transport: Transport,
    daemon: Daemon,
    head: Option<Head>,
    outbox: VecDeque<Outgoing>,
}

impl Node {
    /// The head of a new DVM.
    #[must_use]
    pub fn head(config: HeadConfig, local: LocalNode) -> Node {
        let head = Head::new(config, &local);
        let tree = Tree::new(head.radix(), 1);
        Node {
            me: DaemonRank::HEAD,
            transport: Transport::new(DaemonRank::HEAD, tree),
            daemon: Daemon::on_head(head.dvm(), local),
            head: Some(head),
            outbox: VecDeque::new(),
        }
    }

    /// A daemon, as its ticket says.
    #[must_use]
    pub fn daemon(ticket: Ticket, local: LocalNode) -> Node {
        let tree = Tree::with_dead(ticket.radix, ticket.size, ticket.dead.clone());
        Node {
            me: ticket.rank,
            transport: Transport::new(ticket.rank, tree),
            daemon: Daemon::new(ticket, local),
            head: None,
            outbox: VecDeque::new(),
        }
    }

    /// The only way in. `fx` is empty on entry and is drained before the next call.
    pub fn handle(&mut self, now: Timestamp, input: Input, fx: &mut Effects) {
        self.dispatch(now, input, fx);
        self.flush(now, fx);
        self.leave_when_done(now, fx);
    }

    /// Messages that found no way, for status and tests.
    #[must_use]
    pub fn undeliverable(&self) -> u64 {
        self.transport.undeliverable()
    }

    /// The head's part, for status and tests.
    #[must_use]
    pub fn as_head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    fn dispatch(&mut self, now: Timestamp, input: Input, fx: &mut Effects) {
        match input {
            Input::LinkUp { peer } => self.on_link_up(now, peer, fx),
            Input::LinkLost { peer, cause } => self.on_link_lost(now, peer, cause, fx),
            Input::Frame { from, frame } => {
                let delivery = self.transport.on_frame(from, frame, fx);
                self.deliver(now, delivery, fx);
            }
            input => {
                let (daemon, head, mut cx) = self.parts(now, fx);
                match head {
                    Some(head) if Head::handles(&input) => head.handle(input, &mut cx),
                    _ => daemon.handle(input, &mut cx),
                }
            }
        }
    }

    fn on_link_up(&mut self, now: Timestamp, peer: DaemonRank, fx: &mut Effects) {
        self.transport.on_link_up(peer);
        let (daemon, head, mut cx) = self.parts(now, fx);
        if let Some(head) = head {
            head.on_link_up(peer);
        }
        daemon.on_link_up(peer, &mut cx);
    }

    fn on_link_lost(&mut self, now: Timestamp, peer: DaemonRank, cause: String, fx: &mut Effects) {
        if !self.transport.is_linked(peer) {
            return;
        }
        self.transport.on_link_lost(peer);
        let (daemon, _, mut cx) = self.parts(now, fx);
        daemon.on_link_lost(peer, cause, &mut cx);
        // The loss is told before the broadcasts that it completes: the head must not take the missing
        // acknowledgement of a lost sub-tree for a DVM that is ready.
        self.flush(now, fx);
        let delivery = self.transport.excuse(peer, fx);
        self.deliver(now, delivery, fx);
    }

    fn flush(&mut self, now: Timestamp, fx: &mut Effects) {
        while let Some(outgoing) = self.outbox.pop_front() {
            self.route(now, outgoing, fx);
        }
    }

    fn deliver(&mut self, now: Timestamp, delivery: Option<Delivery>, fx: &mut Effects) {
        match delivery {
            None => {}
            Some(Delivery::XcastComplete) => {
                if let (_, Some(head), mut cx) = self.parts(now, fx) {
                    head.on_xcast_complete(&mut cx);
                }
            }
            Some(Delivery::Here { origin, payload, xcast }) => {
                match Message::decode(&payload) {
                    Ok(message) => self.receive(now, origin, message, fx),
                    Err(error) => fx.push(Effect::Notice {
                        to: None,
                        text: format!(
                            "A message from daemon {origin} cannot be read ({error}).\nIt was ignored. Are all daemons of the same build?"
                        ),
                    }),
                }
                if let Some(seq) = xcast {
                    let next = self.transport.processed(seq, fx);
                    self.deliver(now, next, fx);
                }
            }
        }
    }

    fn receive(&mut self, now: Timestamp, origin: DaemonRank, message: Message, fx: &mut Effects) {
        let (daemon, head, mut cx) = self.parts(now, fx);
        match head {
            Some(head) if Head::receives(&message) => head.receive(origin, message, &mut cx),
            _ => daemon.receive(origin, message, &mut cx),
        }
    }

    fn route(&mut self, now: Timestamp, outgoing: Outgoing, fx: &mut Effects) {
        match outgoing {
            Outgoing::Send(dest, message) => {
                if self.transport.send(dest, &message, fx) {
                    self.receive(now, self.me, message, fx);
                }
            }
            Outgoing::Direct(peer, message) => self.transport.send_direct(peer, &message, fx),
            Outgoing::Close(peer) => self.transport.close(peer, fx),
            Outgoing::Xcast(message) => {
                let seq = self.transport.xcast(&message, fx);
                self.receive(now, self.me, message, fx);
                let next = self.transport.processed(seq, fx);
                self.deliver(now, next, fx);
            }
        }
    }

    /// Departure runs bottom-up: this node goes when its processes and all links below it are gone.
    fn leave_when_done(&mut self, now: Timestamp, fx: &mut Effects) {
        let parent = self.transport.tree.parent(self.me);
        let links_below = self.transport.links().any(|peer| Some(peer) != parent);
        if !self.daemon.may_leave(links_below) {
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
        let cx = Cx { now, tree: &mut self.transport.tree, fx, out: &mut self.outbox };
        (&mut self.daemon, self.head.as_mut(), cx)
    }
}
