//! Departure: on the head's order (children first), with the whole DVM or in a shrink campaign, on the loss of the
//! lifeline, or on SIGTERM. Whatever the cause, no process of a job is left when the daemon goes.

use ferrite_router::Adoption;
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::DaemonMessage;

use super::bringup::Phase;
use super::{Daemon, after};
use crate::DaemonTimer;
use crate::cx::Cx;

/// Processes that were told to end, and daemons below, get this long before this daemon goes without them
/// (milliseconds).
const DEPARTURE_MS: u64 = 5_000;
/// When a branch leaves, each level of it waits so much longer than the one below (milliseconds).
const LEVEL_MS: u64 = 500;

/// When a node leaves the DVM, its processes get this long to end by themselves (milliseconds): a short job that was
/// launched just before is not cut off for it.
const GRACE_MS: u64 = 500;

/// Processes that get SIGKILL only when their daemon should have left already have this long to end (milliseconds).
const KILLED_MS: u64 = 1_000;

impl Daemon {
    /// The head ends the DVM.
    pub(super) fn on_exit_order(&mut self, cx: &mut Cx) {
        if self.is_leaving() {
            return;
        }
        self.phase = Phase::Leaving { alone: false };
        self.end_everything(cx);
        self.part_with_clients(cx);
        // Whoever hangs here for want of its parent gets no broadcast over this link.
        let strays = cx.links.keys().copied();
        let strays = strays.filter(|r| cx.tree.stands_below(*r, self.me) && cx.tree.parent(*r) != Some(self.me));
        for stray in strays.collect::<Vec<_>>() {
            cx.direct(stray, DaemonMessage::Exit);
        }
    }

    /// The head has told these to leave, and the tree is repaired around them; `uplink` is whom this daemon hung on
    /// before. Returns the neighbours whose leaving this daemon sees.
    pub(crate) fn on_shrink(
        &mut self,
        targets: &RankSet,
        adoption: &Adoption,
        uplink: Option<DaemonRank>,
        cx: &mut Cx,
    ) -> RankSet {
        self.lose_peers(targets, cx);
        let linked = |rank: &DaemonRank| targets.contains(*rank) && Some(*rank) != uplink;
        let there: RankSet = cx.links.keys().copied().filter(linked).collect();
        let called = targets.iter().filter(|rank| self.is_called(*rank));
        // A child that is not linked may be on its way here from a parent that leaves as well.
        let children = adoption.lost_children.iter().copied().filter(|child| Some(*child) != uplink);
        let to_go: RankSet = there.iter().chain(called).chain(children).collect();
        for stray in there.iter().filter(|rank| !adoption.lost_children.contains(rank)) {
            // Whoever hangs here for want of its parent gets no broadcast over this link.
            cx.direct(stray, DaemonMessage::Exit);
        }
        let linked_uplink = uplink.filter(|uplink| cx.is_linked(*uplink));
        if targets.contains(self.me) {
            // What is still to be said here and below goes the way that it went, for that one does not leave before.
            *cx.detour = linked_uplink;
        }
        if self.is_leaving() {
            // A neighbour's word may have come before the order.
            return to_go;
        }
        if targets.contains(self.me) {
            self.leave_in_order(cx);
            return RankSet::new();
        }
        if uplink.is_some_and(|uplink| targets.contains(uplink)) {
            *cx.detour = linked_uplink;
        }
        self.move_up(&[adoption.new_children.as_slice(), &adoption.lost_children].concat(), cx);
        to_go
    }

    /// This node leaves the DVM, and its processes may end first (spec E30).
    fn leave_in_order(&mut self, cx: &mut Cx) {
        self.phase = Phase::Leaving { alone: false };
        self.launches.abandon(cx);
        // Nobody goes without those below who may still go by themselves.
        let patience = DEPARTURE_MS + LEVEL_MS * u64::from(cx.tree.height(self.me));
        cx.set_timer(DaemonTimer::Departure, after(cx.now, patience));
        self.read_last(cx);
        self.part_with_clients(cx);
        if !self.living().is_empty() {
            cx.set_timer(DaemonTimer::Grace, after(cx.now, GRACE_MS));
        }
    }

    /// Whoever was about to end has ended (spec E30).
    pub(super) fn on_grace_over(&mut self, cx: &mut Cx) {
        for job in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.on_kill(job, cx);
        }
    }

    /// SIGTERM: the guard or the user ends this daemon; the parent will see the link go.
    pub(crate) fn on_terminate(&mut self, _cause: &str, cx: &mut Cx) {
        self.depart_alone(cx);
    }

    /// Leaves without waiting for the daemons below: they see the link go and do the same.
    pub(super) fn depart_alone(&mut self, cx: &mut Cx) {
        if matches!(self.phase, Phase::Left) {
            return;
        }
        self.phase = Phase::Leaving { alone: true };
        self.end_everything(cx);
    }

    fn end_everything(&mut self, cx: &mut Cx) {
        self.launches.abandon(cx);
        self.kill_spared(cx);
        cx.set_timer(DaemonTimer::Departure, after(cx.now, DEPARTURE_MS));
    }

    /// The time for an orderly departure is up (spec L37).
    pub(super) fn on_departure_deadline(&mut self, cx: &mut Cx) {
        if !matches!(self.phase, Phase::Leaving { .. }) {
            return;
        }
        if self.kill_spared(cx) {
            // This node stood still: all its deadlines are due at once, and nobody has been killed yet.
            return cx.set_timer(DaemonTimer::Departure, after(cx.now, KILLED_MS));
        }
        // What is left now does not react to SIGKILL or holds a link without a word; the guard sweeps up.
        self.phase = Phase::Leaving { alone: true };
        self.jobs.clear();
    }

    /// True when this node is leaving and nothing holds it any more.
    pub(crate) fn may_leave(&self, links_below: bool) -> bool {
        match self.phase {
            Phase::Leaving { alone } => (alone || (!links_below && self.relays.is_empty())) && self.living().is_empty(),
            Phase::Homing(_) | Phase::Rehoming(_) | Phase::Member | Phase::Left => false,
        }
    }

    /// Told to leave, or on its way: nothing new is started here.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Left)
    }

    /// False when nobody waits for this daemon any more, or it has taken too long.
    pub(crate) fn has_time(&self) -> bool {
        !self.goes_alone()
    }

    /// True when this daemon leaves without waiting for anybody: not on the head's order, or not any more.
    pub(super) fn goes_alone(&self) -> bool {
        matches!(self.phase, Phase::Leaving { alone: true })
    }

    /// The node has said that it goes.
    pub(crate) fn on_left(&mut self) {
        self.phase = Phase::Left;
    }
}
