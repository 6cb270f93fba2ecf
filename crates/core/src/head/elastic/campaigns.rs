//! Campaigns: the parts that all changes of the DVM's size share, from the request to the one answer at the end
//! (docs/spec/elastic.md). `grow.rs` and `shrink.rs` hold the steps of each kind, `launch_fence.rs` the waits of
//! jobs.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{
    AllocId, AllocReqId, CampaignId, CampaignKind, CampaignStep, DaemonRank, NodeId, RankSet, Timestamp,
};
use ferrite_wire::DaemonMessage;
use ferrite_wire::control::CampaignStatus;

use super::phase::{Change, Phase};
use super::plan::{Joins, Plan, Reason};
use super::requester::Requester;
use super::turns::behind_others;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::Counted;
use crate::head::lists::listed;
use crate::pmix_status::PMIX_ERR_UNREACH;
use crate::{Effect, HeadTimer, RequestId, Transition};

/// The open campaigns. The launch fence is up while there are any.
#[derive(Debug, Default)]
pub(super) struct Campaigns {
    pub(super) open: BTreeMap<CampaignId, Campaign>,
    last: u32,
}

/// One change of the DVM's size.
#[derive(Debug)]
pub(super) struct Campaign {
    pub(super) change: Change,
    pub(super) phase: Phase,
    pub(super) alloc_id: AllocId,
    pub(super) req_id: Option<AllocReqId>,
    pub(super) requester: Requester,
    /// True for a campaign that a requester asked for, even one that is gone; false for the end of a session.
    pub(super) is_requested: bool,
    /// The nodes that come or go.
    pub(super) nodes: Vec<NodeId>,
    /// The daemons that come or go, once the campaign has chosen them.
    pub(super) targets: BTreeMap<DaemonRank, NodeId>,
    /// Earlier campaigns that change the same nodes; this one waits for them.
    pub(super) behind: BTreeSet<CampaignId>,
    pub(super) began: Timestamp,
}

impl Campaign {
    pub(super) fn kind(&self) -> CampaignKind {
        self.change.kind()
    }

    pub(super) fn step(&self) -> CampaignStep {
        self.phase.step()
    }

    /// True for a grow that may still succeed.
    pub(super) fn is_coming(&self) -> bool {
        self.kind() == CampaignKind::Grow && !matches!(self.phase, Phase::RollingBack { .. })
    }

    /// The reason why it is rolled back.
    fn failure(&self) -> Option<&Reason> {
        if let Phase::RollingBack { cause, .. } = &self.phase { Some(cause) } else { None }
    }

    /// The nodes and terms that the session of a grow gets.
    pub(super) fn joins(&self) -> Option<&Joins> {
        match &self.change {
            Change::Grow { joins, .. } => Some(joins),
            Change::Shrink { .. } => None,
        }
    }

    pub(super) fn joins_mut(&mut self) -> Option<&mut Joins> {
        match &mut self.change {
            Change::Grow { joins, .. } => Some(joins),
            Change::Shrink { .. } => None,
        }
    }
}

impl Campaigns {
    /// A campaign that its caller knows to be open.
    pub(super) fn expect(&self, id: CampaignId) -> &Campaign {
        self.open.get(&id).unwrap_or_else(|| panic!("campaign {id} is not open"))
    }

    /// A campaign that its caller knows to be open.
    pub(super) fn expect_mut(&mut self, id: CampaignId) -> &mut Campaign {
        self.open.get_mut(&id).unwrap_or_else(|| panic!("campaign {id} is not open"))
    }

    /// True while mapped jobs may not be launched (spec E8).
    pub(super) fn shrinking(&self) -> bool {
        self.open.values().any(|campaign| campaign.kind() == CampaignKind::Shrink && campaign.holds())
    }

    /// Shrinks whose processes have time to end.
    pub(super) fn draining(&self) -> impl Iterator<Item = (CampaignId, &Campaign)> {
        self.open.iter().filter(|(_, campaign)| campaign.is_draining()).map(|(id, campaign)| (*id, campaign))
    }

    /// The open campaign in which a daemon comes or goes.
    pub(super) fn of_daemon(&self, rank: DaemonRank) -> Option<CampaignId> {
        self.open.iter().find(|(_, campaign)| campaign.targets.contains_key(&rank)).map(|(id, _)| *id)
    }

    /// The open grow that brings a daemon. The loss of a daemon that leaves anyway needs no such campaign.
    pub(super) fn of_newcomer(&self, rank: DaemonRank) -> Option<CampaignId> {
        self.of_daemon(rank).filter(|id| self.open[id].kind() == CampaignKind::Grow)
    }

    /// Open grow campaigns that have not failed.
    pub(super) fn coming(&self) -> impl Iterator<Item = (&CampaignId, &Campaign)> {
        self.open.iter().filter(|(_, campaign)| campaign.is_coming())
    }

    /// Open grow campaigns of an allocation that have not failed.
    pub(super) fn coming_for(&self, alloc_id: &AllocId) -> impl Iterator<Item = &Campaign> {
        self.coming().map(|(_, campaign)| campaign).filter(move |campaign| campaign.alloc_id == *alloc_id)
    }

    /// The latest open campaign of a node, which decides whether the node stays.
    pub(super) fn of_node(&self, node: NodeId) -> Option<(CampaignId, CampaignKind)> {
        self.about(node).next_back().map(|(id, campaign)| (*id, campaign.kind()))
    }

    /// The latest open shrink of a node, begun or waiting: a later campaign changes the node after it has left. A part
    /// counts as its whole.
    pub(super) fn leaves_with(&self, node: NodeId) -> Option<CampaignId> {
        let shrink = self.about(node).rev().find(|(_, campaign)| campaign.kind() == CampaignKind::Shrink);
        shrink.map(|(id, campaign)| campaign.whole().unwrap_or(*id))
    }

    /// A number for a new change.
    pub(super) fn number(&mut self) -> CampaignId {
        self.last += 1;
        CampaignId(self.last)
    }

    /// Adds a campaign.
    pub(super) fn add(&mut self, campaign: Campaign) -> CampaignId {
        let id = self.number();
        self.open.insert(id, campaign);
        id
    }

    /// Enters a phase.
    pub(super) fn enter(&mut self, id: CampaignId, phase: Phase, cx: &mut Cx) {
        let campaign = self.expect_mut(id);
        campaign.phase = phase;
        let (kind, step) = (campaign.kind(), campaign.step());
        cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step }));
    }

    /// Makes a campaign wait for the end of another.
    pub(super) fn wait_behind(&mut self, id: CampaignId, other: CampaignId, cx: &mut Cx) {
        self.expect_mut(id).behind.insert(other);
        self.enter(id, Phase::Behind, cx);
    }

    /// Takes a campaign out.
    fn close(&mut self, id: CampaignId) -> Campaign {
        self.open.remove(&id).unwrap_or_else(|| panic!("campaign {id} is not open"))
    }

    /// Ends the wait of others for a campaign that is over. Returns those that wait for no other one.
    fn let_pass(&mut self, over: CampaignId) -> Vec<CampaignId> {
        let mut next = Vec::new();
        for (other, waiting) in &mut self.open {
            if waiting.behind.remove(&over) && waiting.behind.is_empty() {
                next.push(*other);
            }
        }
        next
    }

    /// Forgets a requester that is gone; its campaigns go on (spec E37).
    pub(super) fn forget_requester(&mut self, request: RequestId) {
        for campaign in self.open.values_mut().filter(|campaign| campaign.requester.is(request)) {
            let is_pushed = campaign.requester.is_scheduler();
            campaign.requester = if is_pushed { Requester::Pushed(None) } else { Requester::Nobody };
        }
    }

    /// The open campaigns of a node, in their order.
    pub(super) fn about(&self, node: NodeId) -> impl DoubleEndedIterator<Item = (&CampaignId, &Campaign)> {
        let about = self.open.iter().filter(|(_, campaign)| campaign.nodes.contains(&node));
        let mut about: Vec<(&CampaignId, &Campaign)> = about.collect();
        about.sort_by_key(|(id, campaign)| campaign.whole().unwrap_or(**id));
        about.into_iter()
    }
}

impl Head {
    /// True when jobs and events follow the rules of the launch fence (spec E1).
    pub(in crate::head) fn is_elastic(&self) -> bool {
        self.params.flag("prte_elastic_mode").unwrap_or(false)
    }

    /// Opens a campaign and raises the launch fence (spec E2).
    pub(in crate::head) fn open_campaign(&mut self, plan: Plan, requester: Requester, cx: &mut Cx) -> CampaignId {
        // All earlier campaigns of these nodes: the newest waits for each, because any may be cancelled.
        let before: BTreeSet<CampaignId> =
            plan.nodes.iter().flat_map(|node| self.elastic.campaigns.about(*node)).map(|(id, _)| *id).collect();
        let kind = plan.change.kind();
        let is_queued = self.is_to_queue(kind, &before);
        let campaign = Campaign {
            change: plan.change,
            phase: Phase::Open,
            alloc_id: plan.alloc_id,
            req_id: plan.req_id,
            requester,
            is_requested: plan.is_requested,
            nodes: plan.nodes,
            targets: BTreeMap::new(),
            behind: before,
            began: cx.now,
        };
        let id = self.elastic.campaigns.add(campaign);
        if requester.is_scheduler() {
            cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step: CampaignStep::Pushed }));
        }
        self.elastic.campaigns.enter(id, if is_queued { Phase::Queued } else { Phase::Open }, cx);
        id
    }

    /// Begins a campaign that waits for no other (spec E5).
    pub(in crate::head) fn proceed(&mut self, id: CampaignId, cx: &mut Cx) {
        let is_to_begin = |campaign: &&Campaign| matches!(campaign.phase, Phase::Open | Phase::Behind);
        // One of several that could begin may have begun or ended with another.
        let Some(campaign) = self.elastic.campaigns.open.get(&id).filter(is_to_begin) else { return };
        match (campaign.behind.is_empty(), campaign.kind()) {
            (false, _) => self.elastic.campaigns.enter(id, Phase::Behind, cx),
            (true, CampaignKind::Grow) => self.launch_newcomers(id, cx),
            (true, CampaignKind::Shrink) => self.begin_departure(id, cx),
        }
    }

    /// Closes a campaign by its phase: with the reason of its rollback, or with success (spec G8).
    pub(super) fn end_campaign(&mut self, id: CampaignId, cx: &mut Cx) {
        let failure = self.elastic.campaigns.expect(id).failure().cloned();
        self.close_campaign(id, failure, cx);
    }

    /// Closes a campaign with success, or with the reason for its failure: records the outcome, answers the requester
    /// once, and lowers the launch fence (spec G8).
    pub(super) fn close_campaign(&mut self, id: CampaignId, failure: Option<Reason>, cx: &mut Cx) {
        cx.cancel_timer(HeadTimer::Campaign(id));
        let campaign = self.elastic.campaigns.close(id);
        let (kind, failed) = (campaign.kind(), failure.is_some());
        let step = if failed { CampaignStep::Failed } else { CampaignStep::Done };
        cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step }));
        if campaign.whole().is_none() {
            self.counters.count(Counted::Campaign { kind, failed });
        }
        self.settle_grants(cx);
        self.tell_requester(&campaign, failure.as_ref(), cx);
        match (&failure, &campaign.change) {
            (Some(Reason { status, cause }), Change::Grow { .. }) => self.abort_held(id, *status, cause, cx),
            (None, Change::Shrink { returns, .. }) => self.sessions.return_lent(&campaign.alloc_id, returns),
            // The nodes of a shrink that was refused or taken back stay: nobody lacks anything.
            (Some(_), Change::Shrink { .. }) | (None, Change::Grow { .. }) => {}
        }
        for other in self.elastic.campaigns.let_pass(id) {
            self.proceed(other, cx);
        }
        self.sweep_sessions(cx);
        self.jobs.on_campaign_over(id);
        self.admit_held(cx);
    }

    pub(in crate::head) fn on_campaign_deadline(&mut self, id: CampaignId, cx: &mut Cx) {
        // The timer may have fired before the campaign ended.
        let Some(campaign) = self.elastic.campaigns.open.get(&id) else { return self.on_size_timer(id, cx) };
        match campaign.phase {
            Phase::Launching { .. } => self.on_grow_deadline(id, cx),
            Phase::WiringUp { .. } => self.on_late_wireup(id, cx),
            Phase::RollingBack { .. } => self.give_up_on_newcomers(id, cx),
            Phase::Draining(_) => self.on_drain_timer(id, cx),
            Phase::Open | Phase::Queued | Phase::Behind | Phase::Leaving | Phase::Releasing { .. } => {}
        }
    }

    /// Cancels the open campaigns at the end of the DVM and answers their requesters (spec E6).
    pub(super) fn drain_campaigns(&mut self, cx: &mut Cx) {
        self.drain_sizes(cx);
        for (id, campaign) in std::mem::take(&mut self.elastic.campaigns.open) {
            cx.cancel_timer(HeadTimer::Campaign(id));
            let outside: RankSet = campaign.targets.keys().copied().filter(|rank| !cx.tree.contains(*rank)).collect();
            for rank in outside.iter() {
                self.dvm.abandon_launch(rank, cx);
                if cx.is_linked(rank) && campaign.kind() == CampaignKind::Grow {
                    cx.direct(rank, DaemonMessage::Exit);
                }
            }
            let ending = || Reason::new(PMIX_ERR_UNREACH, "The DVM is ending.");
            let failure = campaign.failure().cloned().unwrap_or_else(ending);
            let (kind, step) = (campaign.kind(), CampaignStep::Failed);
            cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step }));
            self.tell_requester(&campaign, Some(&failure), cx);
        }
    }

    /// The reason why a campaign waits, in words.
    pub(super) fn campaign_waits_for(&self, id: CampaignId) -> String {
        let campaign = self.elastic.campaigns.expect(id);
        let of = |ranks: &RankSet| {
            let names = campaign.targets.iter().filter(|(rank, _)| ranks.contains(**rank));
            listed(names.map(|(_, node)| self.pool.record(*node).name.as_str()))
        };
        match &campaign.phase {
            Phase::Behind => behind_others(&campaign.behind),
            Phase::Queued => self.turns_before(&campaign.behind),
            Phase::Launching { missing } => format!("the daemons of {} to report", of(missing)),
            Phase::WiringUp { late } => self.wireup_waits_for(late),
            Phase::Draining(drain) => self.drain_waits_for(id, drain, &campaign.nodes),
            Phase::Leaving => {
                format!("the daemons of {} to leave", of(&campaign.targets.keys().copied().collect()))
            }
            Phase::RollingBack { .. } => "what it started to leave".to_owned(),
            Phase::Releasing { .. } => "the resource managers to take the nodes back".to_owned(),
            Phase::Open => String::new(),
        }
    }

    pub(in crate::head) fn campaign_statuses(&self) -> Vec<CampaignStatus> {
        let status = |(id, campaign): (&CampaignId, &Campaign)| CampaignStatus {
            campaign: *id,
            kind: campaign.kind(),
            step: campaign.step(),
            pushed: campaign.requester.is_scheduler(),
            alloc_id: campaign.alloc_id.clone(),
            nodes: self.pool.names(&campaign.nodes),
            waiting_for: self.campaign_waits_for(*id),
            began_us: campaign.began.0,
        };
        self.elastic.campaigns.open.iter().map(status).collect()
    }

    /// The open campaigns and extensions in words; empty when there are none.
    pub(in crate::head) fn resize_in_words(&self, now: Timestamp) -> String {
        let campaigns = self.elastic.campaigns.open.iter();
        let campaigns =
            campaigns.map(|(id, campaign)| format!("{} {id}: {}", campaign.kind(), self.campaign_waits_for(*id)));
        campaigns.chain(self.extensions_in_words(now)).collect::<Vec<_>>().join("; ")
    }
}
