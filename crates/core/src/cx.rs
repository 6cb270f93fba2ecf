//! The context of one input: the time, the tree, and the queues for effects and messages.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use ferrite_router::{Streams, Tree};
use ferrite_types::{CampaignId, DaemonRank, Duration, JobId, JobState, ProcId, ProcState, RankSet, Timestamp};
use ferrite_wire::control::Reply;
use ferrite_wire::{Dest, HeadMessage, Message, SpreadMessage};

use crate::spread::Addressees;
use crate::transport::Link;
use crate::{Effect, Effects, RequestId, Timer, Transition};

/// A message on its way out of a machine.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Along the tree; the addressee may be the other machine of the same node.
    Send(Dest, Message),
    /// Over the direct link to this daemon, which need not be a neighbour in the tree (bootstrap).
    Direct(DaemonRank, Message),
    /// To every daemon, acknowledged; the head is told when all have processed it.
    Xcast(Message, Purpose),
    /// A message of the head to these daemons, over a tree of its own (see [`crate::spread`]).
    Spread(Addressees, Message),
    /// No message: the route over the link to this neighbour works again.
    Renewed(DaemonRank),
    /// No message: close the link to this daemon once everything before is sent.
    Close(DaemonRank),
}

/// The purpose of a broadcast, which tells the head what its completion means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The wireup of the DVM.
    Wireup,
    /// The wireup that gives the daemons of this campaign their places.
    Grow(CampaignId),
    /// The order to leave; its completion means that the targets are gone.
    Shrink {
        /// The shrink, or the grow that is rolled back.
        campaign: CampaignId,
        /// The daemons that were told to leave.
        targets: RankSet,
    },
    /// The deaths of these daemons, around which every daemon repairs its tree.
    Deaths(RankSet),
    /// The end of the DVM.
    Exit,
}

/// The context of one call of a machine.
pub(crate) struct Cx<'a> {
    /// The time of the input.
    pub(crate) now: Timestamp,
    /// The routing tree.
    pub(crate) tree: &'a mut Tree,
    /// The links that are up.
    pub(crate) links: &'a BTreeMap<DaemonRank, Link>,
    /// The numbered message streams to other daemons.
    pub(crate) streams: &'a Streams<Bytes>,
    /// The daemon on which this one hangs while its tree parent cannot be reached.
    pub(crate) detour: &'a mut Option<DaemonRank>,
    /// Effects for the driver.
    pub(crate) fx: &'a mut Effects,
    /// Messages, routed when the machine returns.
    pub(crate) out: &'a mut VecDeque<Outgoing>,
}

impl Cx<'_> {
    pub(crate) fn send(&mut self, to: DaemonRank, message: impl Into<Message>) {
        self.out.push_back(Outgoing::Send(Dest::One(to), message.into()));
    }

    pub(crate) fn send_head(&mut self, message: HeadMessage) {
        self.send(DaemonRank::HEAD, message);
    }

    /// Sends a message about a spread to the head.
    pub(crate) fn send_head_about(&mut self, message: SpreadMessage) {
        self.send(DaemonRank::HEAD, message);
    }

    /// Sends to the neighbour at the other end of a link, in the tree or not.
    pub(crate) fn direct(&mut self, to: DaemonRank, message: impl Into<Message>) {
        self.out.push_back(Outgoing::Direct(to, message.into()));
    }

    pub(crate) fn close(&mut self, peer: DaemonRank) {
        self.out.push_back(Outgoing::Close(peer));
    }

    /// The daemon above `me`: its tree parent, or the detour.
    pub(crate) fn uplink(&self, me: DaemonRank) -> Option<DaemonRank> {
        self.detour.or_else(|| self.tree.parent(me))
    }

    pub(crate) fn is_linked(&self, peer: DaemonRank) -> bool {
        self.links.contains_key(&peer)
    }

    /// True when something has arrived over the link to this daemon within `limit`.
    pub(crate) fn has_heard(&self, peer: DaemonRank, limit: Duration) -> bool {
        self.links.get(&peer).is_some_and(|link| link.was_heard(self.now, limit))
    }

    /// Daemons that owe an acknowledgement, were probed, and have been silent for `limit`.
    pub(crate) fn silent(&self, limit: Duration) -> RankSet {
        self.streams.silent(self.now, limit).collect()
    }

    pub(crate) fn multicast(&mut self, to: Dest, message: impl Into<Message>) {
        self.out.push_back(Outgoing::Send(to, message.into()));
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.fx.push(effect);
    }

    /// Shows a message to the operator of this process.
    pub(crate) fn notice(&mut self, text: String) {
        self.fx.push(Effect::Notice { to: None, text });
    }

    /// Shows a message to the submitter of this request.
    pub(crate) fn notice_to(&mut self, request: RequestId, text: String) {
        self.fx.push(Effect::Notice { to: Some(request), text });
    }

    pub(crate) fn reply(&mut self, request: RequestId, reply: Reply) {
        self.fx.push(Effect::Reply { request, reply });
    }

    pub(crate) fn set_timer(&mut self, timer: impl Into<Timer>, at: Timestamp) {
        let timer = timer.into();
        self.fx.push(Effect::SetTimer { timer, at });
    }

    pub(crate) fn cancel_timer(&mut self, timer: impl Into<Timer>) {
        self.fx.push(Effect::CancelTimer(timer.into()));
    }

    pub(crate) fn trace_job(&mut self, job: JobId, from: Option<JobState>, to: JobState) {
        self.fx.push(Effect::Trace(Transition::Job { job, from, to }));
    }

    pub(crate) fn trace_proc(&mut self, proc: ProcId, from: ProcState, to: ProcState) {
        self.fx.push(Effect::Trace(Transition::Proc { proc, from, to }));
    }
}
