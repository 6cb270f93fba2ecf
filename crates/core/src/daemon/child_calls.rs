//! Calls of children: a daemon calls a child whose link is lost or not there yet, and reports it lost when it does not
//! answer. A report needs a caller that could have heard the answer. A caller that stood still, or hears nothing from
//! above either, calls again instead.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, Duration, Timestamp};
use ferrite_wire::HeadMessage;

use super::bringup::Phase;
use super::{Daemon, after};
use crate::cx::Cx;

/// A call whose failure is noticed so long after its limit (milliseconds) says nothing: this daemon stood still, and
/// could not take the answer.
const LATE_MS: u64 = 50;

/// A message from above that arrives so soon after a call (milliseconds) may have been under way before this daemon was
/// cut off.
const BACKLOG_MS: u64 = 50;

/// The children that are being called.
#[derive(Debug, Default)]
pub(super) struct ChildCalls {
    /// Silence of the daemon above after which calls that fail are repeated; zero = never.
    doubt: Duration,
    open: BTreeMap<DaemonRank, Called>,
}

/// The call of a child.
#[derive(Debug)]
struct Called {
    /// The cause to report when it does not answer.
    cause: String,
    call: Call,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    /// The first one: when it was made, and its deadline.
    First { made: Timestamp, until: Timestamp },
    /// The first one, made while this daemon may have been cut off.
    Blind,
    /// One more, because this daemon could not have heard the answer to the one before.
    Again,
    /// The call has failed; the next one follows when the daemon above is heard after this time.
    Postponed { since: Timestamp },
}

impl Call {
    /// True when this daemon could not have heard the answer to a call that fails now.
    fn proves_nothing(self, now: Timestamp) -> bool {
        match self {
            Call::First { until, .. } => now > after(until, LATE_MS),
            Call::Blind => true,
            Call::Again | Call::Postponed { .. } => false,
        }
    }
}

impl ChildCalls {
    /// No calls yet. `silence` is the time after which a link counts as lost.
    pub(super) fn by(silence: Duration) -> ChildCalls {
        ChildCalls { doubt: Duration(silence.0 / 3 * 2), open: BTreeMap::new() }
    }

    /// Ends a call: the child has linked, leaves, or is gone.
    pub(super) fn end(&mut self, child: DaemonRank) {
        self.open.remove(&child);
    }
}

impl Daemon {
    pub(crate) fn is_called(&self, rank: DaemonRank) -> bool {
        self.child_calls.open.contains_key(&rank)
    }

    /// True while any of these daemons is being called.
    pub(crate) fn calls(&self, whom: impl Fn(&DaemonRank) -> bool) -> bool {
        self.child_calls.open.keys().any(whom)
    }

    pub(super) fn on_child_lost(&mut self, child: DaemonRank, cause: String, cx: &mut Cx) {
        if self.is_wired() && cx.tree.contains(child) {
            // Without a contact the child cannot be called, and its state is unknown; the call follows when the head
            // has sent the contact.
            if self.has_contact(child) {
                self.call_child(child, cause, cx);
            }
        } else {
            // A newcomer may already have children that were faster than itself.
            cx.send_head(HeadMessage::DaemonLost { rank: child, cause });
        }
    }

    fn call_child(&mut self, child: DaemonRank, cause: String, cx: &mut Cx) {
        let call = match self.is_cut_off(cx) {
            true => Call::Blind,
            false => Call::First { made: cx.now, until: self.call_deadline(cx.now) },
        };
        self.child_calls.open.insert(child, Called { cause, call });
        self.call(child, cx);
    }

    /// Calls a leaving child whose link is lost, because it may not have heard the order. False when it cannot be
    /// called.
    pub(crate) fn call_leaver(&mut self, child: DaemonRank, cx: &mut Cx) -> bool {
        let can_call = matches!(self.phase, Phase::Member) && self.has_contact(child);
        if can_call && !self.is_called(child) {
            self.call_child(child, "it was told to leave".to_owned(), cx);
        }
        can_call
    }

    /// Calls those of the orphans that are children here and have not linked yet.
    pub(super) fn call_orphans(&mut self, ranks: &[DaemonRank], cx: &mut Cx) {
        for orphan in ranks.iter().copied() {
            // A daemon that was told to leave on its way here has to hear it.
            let is_there = cx.tree.contains(orphan) || cx.tree.is_leaving(orphan);
            let mine = cx.tree.parent(orphan) == Some(self.me) && is_there;
            if mine && self.has_contact(orphan) && !cx.is_linked(orphan) && !self.is_called(orphan) {
                self.call_child(orphan, "it did not come back when its parent was lost".to_owned(), cx);
            }
        }
    }

    /// Handles the failed call of a child: reports it lost, or calls again when this daemon could not have heard it.
    /// False when no child of this rank was called.
    pub(super) fn on_child_silent(&mut self, child: DaemonRank, refused: bool, cx: &mut Cx) -> bool {
        let Some(Called { cause, call }) = self.child_calls.open.remove(&child) else { return false };
        // A daemon that was told to leave meanwhile, or has left, is not lost.
        if cx.tree.parent(child) != Some(self.me) || !cx.tree.contains(child) {
            return true;
        }
        if !refused && (self.is_cut_off(cx) || self.is_unconfirmed(call, cx)) {
            self.child_calls.open.insert(child, Called { cause, call: Call::Postponed { since: cx.now } });
        } else if !refused && call.proves_nothing(cx.now) {
            self.call_again(child, cause, cx);
        } else {
            let proof = if refused { "nobody listens there any more" } else { "it does not answer a call" };
            cx.send_head(HeadMessage::DaemonLost { rank: child, cause: format!("{cause}; {proof}") });
        }
        true
    }

    fn call_again(&mut self, child: DaemonRank, cause: String, cx: &mut Cx) {
        self.child_calls.open.insert(child, Called { cause, call: Call::Again });
        self.call(child, cx);
    }

    /// True when the daemon above has been silent for so long that this one may be cut off from everybody.
    fn is_cut_off(&self, cx: &Cx) -> bool {
        let doubt = self.child_calls.doubt;
        let is_silent = |above| doubt.0 > 0 && !cx.has_heard(above, doubt);
        cx.uplink(self.me).is_some_and(|above| !cx.is_linked(above) || is_silent(above))
    }

    /// True for a first call during which nothing came from above: a cut that is shorter than the silence that
    /// counts as one may have swallowed the answer.
    fn is_unconfirmed(&self, call: Call, cx: &Cx) -> bool {
        let Call::First { made, .. } = call else { return false };
        self.child_calls.doubt.0 > 0 && !self.has_heard_above_since(after(made, BACKLOG_MS), cx)
    }

    /// True when something has come from the daemon above at this time or later, and for the head, which has none.
    fn has_heard_above_since(&self, since: Timestamp, cx: &Cx) -> bool {
        cx.uplink(self.me).is_none_or(|above| cx.has_heard(above, cx.now - since))
    }

    /// Repeats the calls that were postponed, once the daemon above is heard.
    pub(crate) fn resume_calls(&mut self, cx: &mut Cx) {
        let postponed = |(rank, called): (&DaemonRank, &Called)| {
            let Call::Postponed { since } = called.call else { return None };
            self.has_heard_above_since(since, cx).then(|| (*rank, called.cause.clone()))
        };
        let again: Vec<(DaemonRank, String)> = self.child_calls.open.iter().filter_map(postponed).collect();
        if again.is_empty() || self.is_cut_off(cx) {
            return;
        }
        for (child, cause) in again {
            self.call_again(child, cause, cx);
        }
    }
}
