//! How a daemon comes into the DVM: call home, link to the tree parent, start the own subtree, report, be wired up.
//! Losing the parent before the wireup ends the daemon; after it, see `lifeline`.

use ferrite_types::{DaemonRank, ExitStatus};
use ferrite_wire::{Contact, DaemonMessage, DaemonReport, HeadMessage, Message, Ticket, Wireup};

use super::{Daemon, after};
use crate::cx::{Cx, Outgoing};
use crate::launches::TicketBase;
use crate::{DaemonTimer, Effect};

/// Where a daemon is in its life.
#[derive(Debug)]
pub(super) enum Phase {
    /// Calls the daemon that its ticket names.
    Homing(Box<Ticket>),
    /// Has called the head and waits to hear who its tree parent is, or calls that one.
    Rehoming(Box<Ticket>),
    /// Linked to its parent; has reported or is about to.
    Member,
    /// Ends its processes and waits for those below to go.
    Leaving {
        /// True when nobody waits for this daemon any more: links below no longer hold it.
        alone: bool,
    },
    /// Gone; only the process is still to end.
    Left,
}

/// A daemon that is linked but not wired up after this time has been forgotten (milliseconds).
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

    /// Somebody below was started before the order to leave and is linked after it: it has not heard the order. Whoever
    /// stays when this daemon alone leaves has to look further up, and those above are not to be told anything.
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

    /// The link to the parent is up: this daemon can speak for itself from here on (spec L7).
    fn join(&mut self, ticket: Ticket, cx: &mut Cx) {
        self.phase = Phase::Member;
        cx.effect(Effect::Detach);
        if let Some(parent) = cx.tree.parent(self.me) {
            cx.direct(parent, DaemonMessage::Listening(self.local.contact.clone()));
            if ticket.home != parent {
                cx.close(ticket.home);
            }
        }
        // Children first: their launchers take long, and the report is not urgent before they are up.
        if !ticket.subtree.is_empty() {
            let targets = ticket.subtree.clone();
            match TicketBase::of_daemon(ticket) {
                Ok(base) => self.launches.start(&base, self.me, &targets, &self.local, cx),
                // The head has checked the same parameters before it started anything.
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

    /// The DVM has been there for a while: this daemon hangs on the one that it called, until the wireup gives it its
    /// place (spec E20).
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
            // A new parent has passed it on that did not know how much this daemon was told at its coming.
            return;
        }
        // The head has given the places itself.
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

/// How a launcher ended, for people.
pub(crate) fn describe(status: Option<ExitStatus>) -> String {
    match status {
        None => "it could not be started".to_owned(),
        Some(ExitStatus::Exited(code)) => format!("exit code {code}"),
        Some(ExitStatus::Signaled(signal)) => format!("ended by signal {signal}"),
    }
}
