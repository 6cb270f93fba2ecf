//! Departure of a daemon: by order of the head (children first), with the whole DVM or in a shrink, on the loss of
//! the lifeline, or on SIGTERM. In each case the daemon leaves no process of a job behind.

use ferrite_router::Adoption;
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{DaemonMessage, HeadMessage};

use super::bringup::Phase;
use super::{Daemon, after};
use crate::DaemonTimer;
use crate::cx::Cx;

/// The time after which a departing daemon no longer waits for its processes and the daemons below (milliseconds).
const DEPARTURE_MS: u64 = 5_000;
/// The additional wait per level of a leaving branch of the tree (milliseconds).
const LEVEL_MS: u64 = 500;

/// The time for processes on a leaving node to end by themselves (milliseconds), so that a short job that was just
/// launched can finish.
const GRACE_MS: u64 = 500;

/// The time to end for processes that get SIGKILL only at the departure's deadline (milliseconds).
const KILLED_MS: u64 = 1_000;

/// The time for the head to say whether a SIGTERM of the resource manager means the end (milliseconds). It asks the
/// manager for at most as long.
const WORD_MS: u64 = 6_000;

impl Daemon {
    /// Handles the head's order that ends the DVM.
    pub(super) fn on_exit_order(&mut self, cx: &mut Cx) {
        if self.is_leaving() {
            return;
        }
        self.phase = Phase::Leaving { alone: false };
        self.end_everything(cx);
        self.part_with_clients(cx);
        // A daemon on a detour gets no broadcast over this link, and is told directly.
        let strays = cx.links.keys().copied();
        let strays = strays.filter(|r| cx.tree.stands_below(*r, self.me) && cx.tree.parent(*r) != Some(self.me));
        for stray in strays.collect::<Vec<_>>() {
            cx.direct(stray, DaemonMessage::Exit);
        }
    }

    /// Handles an order to leave for `targets` after the tree is repaired around them; `uplink` is the daemon's
    /// former uplink. Returns the neighbours whose departure this daemon awaits.
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
        // A child without a link may be on its way here from a parent that leaves as well.
        let children = adoption.lost_children.iter().copied().filter(|child| Some(*child) != uplink);
        let to_go: RankSet = there.iter().chain(called).chain(children).collect();
        for stray in there.iter().filter(|rank| !adoption.lost_children.contains(rank)) {
            // A daemon on a detour gets no broadcast over this link, and is told directly.
            cx.direct(stray, DaemonMessage::Exit);
        }
        let linked_uplink = uplink.filter(|uplink| cx.is_linked(*uplink));
        if targets.contains(self.me) {
            // Last messages of this node and of those below keep their route, because that uplink leaves later.
            *cx.detour = linked_uplink;
        }
        if self.is_leaving() {
            // A neighbour may have said that it leaves before this order came.
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

    /// Leaves the DVM in order; processes get time to end first (spec E30).
    fn leave_in_order(&mut self, cx: &mut Cx) {
        self.phase = Phase::Leaving { alone: false };
        self.launches.abandon(cx);
        // A daemon waits longer than the daemons below, which may still go by themselves.
        let patience = DEPARTURE_MS + LEVEL_MS * u64::from(cx.tree.height(self.me));
        cx.set_timer(DaemonTimer::Departure, after(cx.now, patience));
        self.read_last(cx);
        self.part_with_clients(cx);
        if !self.living().is_empty() {
            cx.set_timer(DaemonTimer::Grace, after(cx.now, GRACE_MS));
        }
    }

    /// Ends the remaining processes after their grace period (spec E30).
    pub(super) fn on_grace_over(&mut self, cx: &mut Cx) {
        for job in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.on_kill(job, cx);
        }
    }

    /// Handles SIGTERM of the guard or the user; the parent notices the lost link.
    pub(crate) fn on_terminate(&mut self, _cause: &str, cx: &mut Cx) {
        self.depart_alone(cx);
    }

    /// Handles a signal of the resource manager. SIGTERM may announce that its job is preempted: the head asks the
    /// manager, and without its word this daemon leaves (spec E66, E67).
    pub(crate) fn on_manager_signal(&mut self, is_order: bool, cx: &mut Cx) {
        if self.is_leaving() {
            return;
        }
        if !matches!(self.phase, Phase::Member) {
            if is_order {
                self.depart_alone(cx);
            }
            return;
        }
        cx.send_head(HeadMessage::SignalOfManager { is_order });
        if is_order {
            cx.set_timer(DaemonTimer::Word, after(cx.now, WORD_MS));
        }
    }

    /// Handles the head's word on a SIGTERM of the resource manager (spec E67).
    pub(super) fn on_word_of_manager(&mut self, stays: bool, cx: &mut Cx) {
        cx.cancel_timer(DaemonTimer::Word);
        // It may have been ordered to leave meanwhile, and does so in order.
        if !stays && !self.is_leaving() {
            self.depart_alone(cx);
        }
    }

    /// Leaves without waiting for the daemons below: they notice the lost link and do the same.
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

    /// Handles the deadline of an orderly departure (spec L37).
    pub(super) fn on_departure_deadline(&mut self, cx: &mut Cx) {
        if !matches!(self.phase, Phase::Leaving { .. }) {
            return;
        }
        if self.kill_spared(cx) {
            // This node was stopped: all its deadlines are due at once, and no process was killed yet.
            return cx.set_timer(DaemonTimer::Departure, after(cx.now, KILLED_MS));
        }
        // Remaining processes ignore SIGKILL or remaining links are silent; the guard cleans up.
        self.phase = Phase::Leaving { alone: true };
        self.jobs.clear();
    }

    /// True when the daemon is leaving and nothing holds it any more.
    pub(crate) fn may_leave(&self, links_below: bool) -> bool {
        match self.phase {
            Phase::Leaving { alone } => (alone || (!links_below && self.relays.is_empty())) && self.living().is_empty(),
            Phase::Homing(_) | Phase::Rehoming(_) | Phase::Member | Phase::Left => false,
        }
    }

    /// True once the daemon leaves or has left: it starts nothing new.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Left)
    }

    /// False when the daemon leaves alone or has exceeded its time.
    pub(crate) fn has_time(&self) -> bool {
        !self.goes_alone()
    }

    /// True when this daemon leaves without waiting for others: without the head's order, or after its deadline.
    pub(super) fn goes_alone(&self) -> bool {
        matches!(self.phase, Phase::Leaving { alone: true })
    }

    /// Records that the node has announced its departure.
    pub(crate) fn on_left(&mut self) {
        self.phase = Phase::Left;
    }
}
