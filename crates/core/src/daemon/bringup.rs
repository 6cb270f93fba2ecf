//! Bring-up of a daemon: call home, link to the tree parent, start the own subtree, report, be wired up. The loss of
//! the parent before the wireup ends the daemon; `lifeline` handles losses after it.

use ferrite_types::{DaemonRank, ExitStatus};
use ferrite_wire::{Contact, DaemonMessage, DaemonReport, HeadMessage, Message, Ticket, Wireup};

use super::{Daemon, after};
use crate::cx::{Cx, Outgoing};
use crate::launches::TicketBase;
use crate::{DaemonTimer, Effect};

/// The phase of a daemon's life.
#[derive(Debug)]
pub(super) enum Phase {
    /// The daemon calls the daemon that its ticket names.
    Homing(Box<Ticket>),
    /// The daemon has called the head and waits for its tree parent's contact, or calls the parent.
    Rehoming(Box<Ticket>),
    /// The daemon is linked to its parent; it has reported or is about to.
    Member,
    /// The daemon ends its processes and waits for the daemons below to go.
    Leaving {
        /// True when the daemon leaves without waiting for the links below.
        alone: bool,
    },
    /// The daemon has left; only its process remains.
    Left,
}

/// The time after which a linked daemon without a wireup gives up (milliseconds).
const WIREUP_GRACE_MS: u64 = 600_000;

impl Daemon {
    pub(crate) fn on_start(&mut self, cx: &mut Cx) {
        let Phase::Homing(ticket) = &self.phase else {
            return;
        };
        let deadline = after(cx.now, ticket.connect_ms);
        cx.set_timer(DaemonTimer::Wireup, after(deadline, WIREUP_GRACE_MS));
        let contact = ticket.contact.clone();
        cx.effect(Effect::Connect { peer: ticket.home, contact, deadline, insist: true });
    }

    pub(crate) fn on_link_up(&mut self, peer: DaemonRank, cx: &mut Cx) {
        self.launches.on_linked(peer);
        let parent = cx.tree.parent(self.me);
        match std::mem::replace(&mut self.phase, Phase::Member) {
            Phase::Homing(ticket) if ticket.joins => self.wait_for_place(peer, cx),
            Phase::Homing(ticket) | Phase::Rehoming(ticket) if parent == Some(peer) => self.join(*ticket, cx),
            Phase::Homing(ticket) => {
                cx.out.push_back(Outgoing::Direct(
                    peer,
                    Message::Head(HeadMessage::Announce(self.local.contact.clone())),
                ));
                self.phase = Phase::Rehoming(ticket);
            }
            phase @ (Phase::Leaving { .. } | Phase::Left) => {
                self.phase = phase;
                self.on_linked_while_leaving(peer, cx);
            }
            phase @ (Phase::Rehoming(_) | Phase::Member) => {
                self.phase = phase;
                self.on_member_linked(peer, cx);
            }
        }
    }

    /// Handles a daemon below that links after the order to leave, which it has not heard. In a shrink, a daemon that
    /// stays has to look further up, and daemons above need no order.
    fn on_linked_while_leaving(&mut self, peer: DaemonRank, cx: &mut Cx) {
        self.forget_call(peer);
        if !cx.tree.stands_below(peer, self.me) {
            return;
        }
        if cx.tree.is_leaving(self.me) && cx.tree.contains(peer) {
            cx.close(peer);
        } else {
            cx.direct(peer, DaemonMessage::Exit);
        }
    }

    /// Joins the DVM over the link to the parent: from here on the daemon reports itself (spec L7).
    fn join(&mut self, ticket: Ticket, cx: &mut Cx) {
        self.phase = Phase::Member;
        cx.effect(Effect::Detach);
        if let Some(parent) = cx.tree.parent(self.me) {
            cx.direct(parent, DaemonMessage::Listening(self.local.contact.clone()));
            if ticket.home != parent {
                cx.close(ticket.home);
            }
        }
        // Children start first: their launchers take long, and the report is not urgent before they are up.
        if !ticket.subtree.is_empty() {
            let targets = ticket.subtree.clone();
            match TicketBase::of_daemon(ticket) {
                Ok(base) => self.launches.start(&base, self.me, &targets, &self.local, cx),
                // The head has checked the same parameters before any start.
                Err(error) => cx.notice(error.to_string()),
            }
        }
        cx.send_head(self.report());
    }

    fn report(&self) -> HeadMessage {
        HeadMessage::Report(Box::new(DaemonReport {
            rank: self.me,
            hostname: self.local.hostname.clone(),
            contact: self.local.contact.clone(),
            topology: self.local.topology.clone(),
            pid: self.local.pid,
        }))
    }

    /// Waits for a place in a running DVM: the daemon hangs on the one that it called until the wireup (spec E20).
    fn wait_for_place(&mut self, home: DaemonRank, cx: &mut Cx) {
        cx.effect(Effect::Detach);
        *cx.detour = Some(home);
        cx.direct(home, self.report());
    }

    pub(super) fn on_rehome(&mut self, parent: DaemonRank, contact: Contact, cx: &mut Cx) {
        let Phase::Rehoming(ticket) = &self.phase else {
            return;
        };
        let deadline = after(cx.now, ticket.connect_ms);
        cx.effect(Effect::Connect { peer: parent, contact, deadline, insist: true });
    }

    pub(crate) fn on_connect_failed(&mut self, peer: DaemonRank, cause: &str, refused: bool, cx: &mut Cx) {
        if matches!(self.phase, Phase::Member) {
            self.on_call_failed(peer, refused, cx);
        } else if self.is_leaving() {
            self.forget_call(peer);
        } else if let Phase::Homing(ticket) | Phase::Rehoming(ticket) = &self.phase {
            cx.notice(format!(
                "The daemon on node {} cannot reach daemon {peer} of DVM {}: {cause}.\n\
                 Check that a firewall lets the nodes of the allocation connect to each other.",
                ticket.node, ticket.dvm
            ));
            self.phase = Phase::Left;
            cx.effect(Effect::Exit { code: 1 });
        }
    }

    pub(crate) fn on_launcher_ended(
        &mut self,
        rank: DaemonRank,
        status: Option<ExitStatus>,
        message: &str,
        cx: &mut Cx,
    ) {
        if let Some(failure) = self.launches.on_ended(rank, status, message, &describe(status)).failure {
            cx.send_head(HeadMessage::LaunchFailed(failure));
        }
    }

    pub(super) fn on_wireup(&mut self, wireup: &Wireup, cx: &mut Cx) {
        cx.cancel_timer(DaemonTimer::Wireup);
        if !self.is_news(wireup.number) {
            // A new parent has repeated a wireup that this daemon already had from its ticket.
            return;
        }
        // The head has assigned the places itself.
        if self.me != DaemonRank::HEAD {
            cx.tree.reshape(wireup.size, wireup.dead.clone(), wireup.coming.clone());
        }
        self.wire_lifeline(&wireup.come, cx);
        self.let_clients_in(cx);
        if let Some(parent) = cx.tree.parent(self.me).filter(|_| wireup.come.contains(self.me)) {
            cx.direct(parent, DaemonMessage::Listening(self.local.contact.clone()));
        }
    }

    pub(super) fn on_wireup_deadline(&mut self, cx: &mut Cx) {
        if matches!(self.phase, Phase::Homing(_) | Phase::Rehoming(_) | Phase::Member) {
            self.depart_alone(cx);
        }
    }
}

/// The end of a launcher, in words.
pub(crate) fn describe(status: Option<ExitStatus>) -> String {
    match status {
        None => "it could not be started".to_owned(),
        Some(ExitStatus::Exited(code)) => format!("exit code {code}"),
        Some(ExitStatus::Signaled(signal)) => format!("ended by signal {signal}"),
    }
}
