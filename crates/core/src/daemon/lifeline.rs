//! The lifeline: reactions to the loss of a link to the parent or to a child, and to the deaths that the head
//! declares.
//!
//! A lost link is not yet a dead daemon. A parent calls the lost child once more, and tells the head only when that
//! fails; the head decides. A child that has lost its parent calls the daemons above it, nearest first and the parent
//! included, and hangs on the first that answers until the head's verdict names its parent. A daemon that reaches
//! nobody in time, or learns that the head's process is gone, leaves and ends its processes.
//!
//! Before the wireup a lost link ends the bring-up instead.

use std::collections::BTreeMap;

use ferrite_router::Adoption;
use ferrite_types::{DaemonRank, RankSet, Timestamp};
use ferrite_wire::{Contact, DaemonMessage, HeadMessage};

use super::bringup::Phase;
use super::{Daemon, Settings, after};
use crate::cx::{Cx, Outgoing};
use crate::{DaemonTimer, Effect};

/// The limit of one call of another daemon (milliseconds). A machine whose daemon is gone refuses at once; the limit
/// is for machines that do not answer. A shorter limit of silence on links shortens it.
const CALL_MS: u64 = 3_000;
/// The time between two rounds of calls (milliseconds).
const ROUND_MS: u64 = 250;

/// The state of a daemon's calls and of its search for an uplink.
#[derive(Debug, Default)]
pub(super) struct Lifeline {
    /// Contacts of all daemons that this one may have to call: those above it, and its children.
    contacts: BTreeMap<DaemonRank, Contact>,
    /// The wait for the answer to a call (milliseconds).
    call_ms: u64,
    /// The time after which a search for an uplink ends (milliseconds).
    alone_ms: u64,
    wired: bool,
    /// The number of the latest shape of the DVM that this daemon has taken over.
    shape: u64,
    search: Option<Search>,
    /// Children with new places here that are being called for the first time.
    fresh: RankSet,
    /// Daemons above that were being called when a search ended with another; their answers come too late.
    late: RankSet,
}

impl Lifeline {
    /// The lifeline for a daemon with these settings.
    pub(super) fn by(settings: &Settings) -> Lifeline {
        let call_ms = match settings.silence.0 / 1_000 {
            0 => CALL_MS,
            limit_ms => limit_ms.min(CALL_MS),
        };
        Lifeline { call_ms, alone_ms: settings.alone_ms, ..Lifeline::default() }
    }
}

/// The search for an uplink.
#[derive(Debug)]
struct Search {
    until: Timestamp,
    /// The daemon that is being called; `None` between two rounds.
    calling: Option<DaemonRank>,
}

impl Daemon {
    /// Starts the lifeline with the wireup. Children get the contacts of the daemons above them before the wireup,
    /// and tell their own children in turn.
    pub(super) fn wire_lifeline(&mut self, come: &RankSet, cx: &mut Cx) {
        let was_wired = std::mem::replace(&mut self.lifeline.wired, true);
        if self.me != DaemonRank::HEAD && !was_wired {
            self.settle_uplink(&RankSet::new(), cx);
        }
        let children = cx.tree.children(self.me);
        let (new, old): (Vec<DaemonRank>, Vec<DaemonRank>) =
            children.into_iter().partition(|rank| come.contains(*rank));
        for child in new.iter().chain(old.iter().filter(|_| !was_wired)) {
            self.tell_above(*child, cx);
        }
        self.lifeline.fresh.extend(new.iter().copied().filter(|child| !cx.is_linked(*child)));
        self.call_orphans(&new, cx);
    }

    /// Ends a call after this daemon was told to leave.
    pub(super) fn forget_call(&mut self, peer: DaemonRank) {
        self.child_calls.end(peer);
    }

    /// Calls new neighbours after a shrink that takes daemons above or below: the survivors link while the leaving
    /// daemons are still there.
    pub(super) fn move_up(&mut self, new_children: &[DaemonRank], cx: &mut Cx) {
        if self.lifeline.wired {
            self.call_orphans(new_children, cx);
            self.settle_uplink(&RankSet::new(), cx);
        }
    }

    /// True for a later shape of the DVM than this daemon has.
    pub(super) fn is_news(&mut self, number: u64) -> bool {
        let is_news = number > self.lifeline.shape;
        self.lifeline.shape = self.lifeline.shape.max(number);
        is_news
    }

    fn tell_above(&self, child: DaemonRank, cx: &mut Cx) {
        if cx.is_linked(child) {
            let known = |rank| Some((rank, self.lifeline.contacts.get(&rank)?.clone()));
            let above = cx.tree.ancestors(self.me).filter_map(known);
            let all = [(self.me, self.local.contact.clone())].into_iter().chain(above).collect();
            cx.direct(child, DaemonMessage::Above(all));
        }
    }

    pub(super) fn on_above(&mut self, contacts: Vec<(DaemonRank, Contact)>, cx: &mut Cx) {
        let mine = contacts.into_iter().filter(|(rank, _)| cx.tree.is_ancestor(*rank, self.me));
        self.lifeline.contacts.extend(mine);
    }

    pub(super) fn on_listening(&mut self, child: DaemonRank, contact: Contact) {
        self.lifeline.contacts.insert(child, contact);
    }

    /// Handles a new link to a daemon that belongs to the DVM, as far as this one knows (spec E23).
    pub(super) fn on_member_linked(&mut self, peer: DaemonRank, cx: &mut Cx) {
        if !self.lifeline.wired && self.me != DaemonRank::HEAD {
            // A newcomer without a place was told to call here, and gets the wireup over this link.
            return;
        }
        if cx.tree.has_departed(peer) {
            return dismiss(peer, cx);
        }
        self.child_calls.end(peer);
        if cx.tree.is_leaving(peer) && cx.tree.stands_below(self.me, peer) {
            // The peer has not heard that it leaves, and calls a child that has moved up.
            return dismiss(peer, cx);
        }
        if cx.tree.is_leaving(peer) {
            // The peer may have been out of reach when the order passed.
            return cx.direct(peer, DaemonMessage::Exit);
        }
        if cx.tree.coming().contains(peer) {
            return;
        }
        let late = self.lifeline.late.remove(peer);
        let searching = self.lifeline.search.is_some();
        if late && !searching && cx.tree.parent(self.me) != Some(peer) {
            return cx.close(peer);
        }
        if searching && cx.tree.is_ancestor(peer, self.me) {
            self.hang_on(peer, cx);
        } else if cx.tree.parent(self.me) == Some(peer)
            && let Some(old) = cx.detour.take()
        {
            cx.close(old);
        }
        let uplink = cx.uplink(self.me);
        if self.lifeline.wired && cx.tree.parent(peer) == Some(self.me) {
            self.tell_above(peer, cx);
        }
        if self.lifeline.fresh.remove(peer) {
            return;
        }
        if self.lifeline.wired && (uplink == Some(peer) || cx.tree.parent(peer) == Some(self.me)) {
            cx.out.push_back(Outgoing::Renewed(peer));
        }
    }

    fn hang_on(&mut self, peer: DaemonRank, cx: &mut Cx) {
        self.end_search(peer, cx);
        let parent = cx.tree.parent(self.me);
        *cx.detour = (parent != Some(peer)).then_some(peer);
        if let Some(lost) = parent.filter(|parent| *parent != peer) {
            cx.send_head(HeadMessage::Rejoined { lost });
        }
    }

    fn end_search(&mut self, found: DaemonRank, cx: &mut Cx) {
        let search = self.lifeline.search.take();
        self.lifeline.late.extend(search.and_then(|search| search.calling).filter(|called| *called != found));
        cx.cancel_timer(DaemonTimer::Rejoin);
    }

    /// Handles a lost link to the uplink, to a child, or to a leaving daemon (spec L12).
    pub(crate) fn on_link_lost(&mut self, peer: DaemonRank, cause: String, cx: &mut Cx) {
        self.launches.on_linked(peer);
        let uplink = cx.uplink(self.me);
        if cx.tree.is_leaving(peer) && uplink != Some(peer) {
            return;
        }
        match &self.phase {
            Phase::Left => {}
            // Until it is linked to its parent, a daemon hangs on the one that it called first.
            Phase::Rehoming(ticket) if ticket.home == peer => self.depart_alone(cx),
            Phase::Leaving { .. } | Phase::Homing(_) | Phase::Rehoming(_) | Phase::Member if uplink == Some(peer) => {
                if self.lifeline.wired && matches!(self.phase, Phase::Member) {
                    self.search(cx);
                } else {
                    self.depart_alone(cx);
                }
            }
            Phase::Homing(_) | Phase::Rehoming(_) | Phase::Member if cx.tree.parent(peer) == Some(self.me) => {
                self.on_child_lost(peer, cause, cx);
            }
            Phase::Leaving { .. } | Phase::Homing(_) | Phase::Rehoming(_) | Phase::Member => {}
        }
    }

    /// Calls a daemon; [`Daemon::on_member_linked`] or [`Daemon::on_call_failed`] follows.
    pub(super) fn call(&self, peer: DaemonRank, cx: &mut Cx) {
        let contact = self.lifeline.contacts.get(&peer).cloned().unwrap_or_default();
        cx.effect(Effect::Connect { peer, contact, deadline: self.call_deadline(cx.now), insist: false });
    }

    pub(super) fn call_deadline(&self, now: Timestamp) -> Timestamp {
        after(now, self.lifeline.call_ms)
    }

    pub(super) fn is_wired(&self) -> bool {
        self.lifeline.wired
    }

    /// True when this daemon knows where another listens.
    pub(super) fn has_contact(&self, rank: DaemonRank) -> bool {
        self.lifeline.contacts.contains_key(&rank)
    }

    /// Handles a failed call of a daemon that is wired up (spec L38).
    pub(super) fn on_call_failed(&mut self, peer: DaemonRank, refused: bool, cx: &mut Cx) {
        self.lifeline.late.remove(peer);
        if cx.is_linked(peer) {
            return;
        }
        if self.on_child_silent(peer, refused, cx) {
            return;
        }
        let Some(search) = &mut self.lifeline.search else {
            return;
        };
        if search.calling != Some(peer) {
            return;
        }
        if peer == DaemonRank::HEAD && refused {
            // The machine answers that the head's process is gone, and so is the DVM.
            return self.depart_alone(cx);
        }
        self.call_next(cx);
    }

    /// Starts the search for an uplink.
    fn search(&mut self, cx: &mut Cx) {
        *cx.detour = None;
        self.lifeline.search = Some(Search { until: after(cx.now, self.lifeline.alone_ms), calling: None });
        self.call_next(cx);
    }

    pub(super) fn on_rejoin_timer(&mut self, cx: &mut Cx) {
        let waiting = self.lifeline.search.as_ref().is_some_and(|search| search.calling.is_none());
        if waiting && matches!(self.phase, Phase::Member) {
            self.call_next(cx);
        }
    }

    /// Calls the next daemon above, or begins again after a pause.
    fn call_next(&mut self, cx: &mut Cx) {
        let Some(search) = &self.lifeline.search else {
            return;
        };
        let (last, until) = (search.calling, search.until);
        let above: Vec<DaemonRank> = cx.tree.ancestors(self.me).filter(|r| last.is_none_or(|last| *r < last)).collect();
        if let Some(there) = above.iter().copied().find(|rank| cx.is_linked(*rank)) {
            return self.hang_on(there, cx);
        }
        let next = above.into_iter().find(|rank| self.lifeline.contacts.contains_key(rank));
        if next.is_none() && cx.now >= until {
            return self.give_up(cx);
        }
        if let Some(search) = &mut self.lifeline.search {
            search.calling = next;
        }
        match next {
            Some(peer) => self.call(peer, cx),
            None => cx.set_timer(DaemonTimer::Rejoin, after(cx.now, ROUND_MS)),
        }
    }

    /// Leaves after a search without success. Daemons below are cut off as well: a daemon that had reached another
    /// would have a new parent.
    fn give_up(&mut self, cx: &mut Cx) {
        let below = cx.links.keys().copied().filter(|rank| cx.tree.is_ancestor(self.me, *rank));
        for rank in below.collect::<Vec<_>>() {
            cx.direct(rank, DaemonMessage::Exit);
        }
        self.depart_alone(cx);
    }

    /// Handles the head's verdict on dead daemons. The tree is repaired already.
    pub(crate) fn on_died(&mut self, ranks: &RankSet, adoption: &Adoption, cx: &mut Cx) {
        if ranks.contains(self.me) {
            // The verdict is about this daemon, which was out of reach for too long: its place is gone.
            return self.depart_alone(cx);
        }
        if !self.lifeline.wired {
            // The wireup will name the living daemons.
            return;
        }
        for rank in ranks.iter() {
            self.lifeline.contacts.remove(&rank);
            self.child_calls.end(rank);
            if cx.is_linked(rank) {
                dismiss(rank, cx);
            }
        }
        self.lose_peers(ranks, cx);
        if self.is_leaving() {
            return;
        }
        self.call_orphans(&adoption.new_children, cx);
        self.settle_uplink(ranks, cx);
    }

    /// Handles the contacts of new children. The message may come after the deaths that made them orphans, or before,
    /// by another route.
    pub(super) fn on_adopt(&mut self, orphans: Vec<(DaemonRank, Contact)>, cx: &mut Cx) {
        if self.is_leaving() {
            return;
        }
        let ranks: Vec<DaemonRank> = orphans.iter().map(|(rank, _)| *rank).collect();
        self.lifeline.contacts.extend(orphans.into_iter().filter(|(rank, _)| !cx.tree.has_departed(*rank)));
        if self.lifeline.wired {
            self.call_orphans(&ranks, cx);
        }
    }

    /// Links to the tree parent after a change of the tree; until that link is up the daemon stays on its present
    /// uplink.
    fn settle_uplink(&mut self, dead: &RankSet, cx: &mut Cx) {
        let Some(parent) = cx.tree.parent(self.me).filter(|_| self.lifeline.wired) else {
            return;
        };
        if cx.is_linked(parent) {
            self.end_search(parent, cx);
            if let Some(old) = cx.detour.take().filter(|old| *old != parent && !dead.contains(*old)) {
                cx.close(old);
            }
            return;
        }
        if cx.detour.is_some_and(|detour| dead.contains(detour)) {
            *cx.detour = None;
        }
        if cx.detour.is_some() {
            self.call(parent, cx);
        } else if self.lifeline.search.is_none() {
            self.search(cx);
        }
    }
}

/// Tells a daemon that was declared dead to go, and closes its link.
fn dismiss(peer: DaemonRank, cx: &mut Cx) {
    cx.direct(peer, DaemonMessage::Exit);
    cx.close(peer);
}
