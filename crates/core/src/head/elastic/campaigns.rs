//! Campaigns: the parts that all changes of the DVM's size share, from the request to the one answer at the end
//! (docs/spec/elastic.md). `grow.rs` and `shrink.rs` hold the steps of each kind, `launch_fence.rs` the waits of
//! jobs.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, DaemonRank, JobId, NodeId, PmixStatus, ProcId, RankSet, Timestamp,
};
use ferrite_wire::control::{CampaignStatus, Reply, SessionChoice};
use ferrite_wire::{
    CancelRequest, DaemonMessage, ExtendRequest, GrowRequest, Resize, ResizeOutcome, ResizeRequest, SessionTerms,
    ShrinkRequest, SlotChange,
};

use super::phase::{Change, Phase};
use super::requester::Requester;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::clients::Counted;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_UNREACH};
use crate::{Effect, HeadTimer, RequestId, Transition};

/// The open campaigns. The launch fence is up while there are any.
#[derive(Debug, Default)]
pub(in crate::head) struct Campaigns {
    pub(in crate::head) open: BTreeMap<CampaignId, Campaign>,
    last: u32,
}

/// One change of the DVM's size.
#[derive(Debug)]
pub(in crate::head) struct Campaign {
    pub(super) change: Change,
    pub(super) phase: Phase,
    pub(in crate::head) alloc_id: String,
    pub(super) req_id: Option<String>,
    pub(super) requester: Requester,
    /// True for a campaign that a requester asked for, even one that is gone; false for the end of a session.
    pub(super) is_requested: bool,
    /// The nodes that come or go.
    pub(in crate::head) nodes: Vec<NodeId>,
    /// The daemons that come or go, once the campaign has chosen them.
    pub(in crate::head) targets: BTreeMap<DaemonRank, NodeId>,
    /// Earlier campaigns that change the same nodes; this one waits for them.
    behind: BTreeSet<CampaignId>,
    began: Timestamp,
}

impl Campaign {
    pub(in crate::head) fn kind(&self) -> CampaignKind {
        self.change.kind()
    }

    pub(super) fn step(&self) -> CampaignStep {
        self.phase.step()
    }

    /// True for a grow that may still succeed.
    pub(in crate::head) fn is_coming(&self) -> bool {
        self.kind() == CampaignKind::Grow && !matches!(self.phase, Phase::RollingBack { .. })
    }

    /// The reason why it is rolled back.
    fn failure(&self) -> Option<&Reason> {
        if let Phase::RollingBack { cause, .. } = &self.phase { Some(cause) } else { None }
    }

    /// The nodes and terms that the session of a grow gets.
    pub(in crate::head) fn joins(&self) -> Option<&Joins> {
        match &self.change {
            Change::Grow { joins, .. } => Some(joins),
            Change::Shrink { .. } => None,
        }
    }

    pub(in crate::head) fn joins_mut(&mut self) -> Option<&mut Joins> {
        match &mut self.change {
            Change::Grow { joins, .. } => Some(joins),
            Change::Shrink { .. } => None,
        }
    }
}

/// The gains of a session when a request succeeds.
#[derive(Clone, Debug, Default)]
pub(in crate::head) struct Joins {
    /// Nodes of the session: those that come, and those of the request that are there already.
    pub(in crate::head) nodes: Vec<NodeId>,
    pub(in crate::head) terms: SessionTerms,
    /// A session that shares this allocation; its job has brought the nodes for it.
    pub(in crate::head) shared_by: Option<u32>,
}

/// The reason of a refused request or a failed campaign.
#[derive(Clone, Debug)]
pub(in crate::head) struct Reason {
    /// The PMIx status for the requester.
    pub(in crate::head) status: PmixStatus,
    /// The message for people.
    pub(in crate::head) cause: String,
}

impl Reason {
    pub(in crate::head) fn new(status: PmixStatus, cause: impl Into<String>) -> Reason {
        Reason { status, cause: cause.into() }
    }
}

/// The plan of a request, made before anything changes.
#[derive(Debug)]
pub(in crate::head) struct Plan {
    pub(in crate::head) change: Change,
    pub(in crate::head) alloc_id: String,
    pub(in crate::head) req_id: Option<String>,
    /// True for a request; false for the end of a session.
    pub(in crate::head) is_requested: bool,
    /// Nodes that come or go; empty when the request is fulfilled already.
    pub(in crate::head) nodes: Vec<NodeId>,
}

/// The plan of a grow request, with the session that it makes or extends.
#[derive(Debug)]
pub(in crate::head) struct GrowPlan {
    /// The session; `None` = a new one.
    pub(in crate::head) session: Option<u32>,
    pub(in crate::head) req_id: Option<String>,
    /// All nodes that the request names.
    pub(in crate::head) members: Vec<NodeId>,
    /// The named nodes that have no daemon yet.
    pub(in crate::head) nodes: Vec<NodeId>,
    /// The slots that the nodes get.
    pub(in crate::head) slots: Vec<(NodeId, SlotChange)>,
    /// The number of further nodes that the resource manager has to grant.
    pub(in crate::head) more: u32,
}

impl Campaigns {
    /// True while any campaign is open, so that jobs may not be mapped.
    pub(in crate::head) fn any(&self) -> bool {
        self.that_hold(None).next().is_some()
    }

    /// True while mapped jobs may not be launched (spec E8).
    pub(super) fn shrinking(&self) -> bool {
        self.open.values().any(|campaign| campaign.kind() == CampaignKind::Shrink && !campaign.is_queued())
    }

    /// The open campaign in which a daemon comes or goes.
    pub(in crate::head) fn of_daemon(&self, rank: DaemonRank) -> Option<CampaignId> {
        self.open.iter().find(|(_, campaign)| campaign.targets.contains_key(&rank)).map(|(id, _)| *id)
    }

    /// The open grow that brings a daemon. The loss of a daemon that leaves anyway needs no such campaign.
    pub(in crate::head) fn of_newcomer(&self, rank: DaemonRank) -> Option<CampaignId> {
        self.of_daemon(rank).filter(|id| self.open[id].kind() == CampaignKind::Grow)
    }

    /// Open grow campaigns that have not failed.
    pub(in crate::head) fn coming(&self) -> impl Iterator<Item = (&CampaignId, &Campaign)> {
        self.open.iter().filter(|(_, campaign)| campaign.is_coming())
    }

    /// Open grow campaigns of an allocation that have not failed.
    pub(in crate::head) fn coming_for(&self, alloc_id: &str) -> impl Iterator<Item = &Campaign> {
        self.coming().map(|(_, campaign)| campaign).filter(move |campaign| campaign.alloc_id == alloc_id)
    }

    /// The latest open campaign of a node, which decides whether the node stays.
    pub(in crate::head) fn of_node(&self, node: NodeId) -> Option<(CampaignId, CampaignKind)> {
        self.about(node).next_back().map(|(id, campaign)| (*id, campaign.kind()))
    }

    /// The latest open shrink of a node, begun or waiting: a later campaign changes the node after it has left.
    pub(in crate::head) fn leaves_with(&self, node: NodeId) -> Option<CampaignId> {
        self.about(node).rev().find(|(_, campaign)| campaign.kind() == CampaignKind::Shrink).map(|(id, _)| *id)
    }

    /// The open campaigns of a node, in their order.
    fn about(&self, node: NodeId) -> impl DoubleEndedIterator<Item = (&CampaignId, &Campaign)> {
        self.open.iter().filter(move |(_, campaign)| campaign.nodes.contains(&node))
    }
}

impl Head {
    /// True when jobs and events follow the rules of the launch fence (spec E1).
    pub(in crate::head) fn is_elastic(&self) -> bool {
        self.params.flag("prte_elastic_mode").unwrap_or(false)
    }

    /// Handles a client's request for another size (spec E36).
    pub(in crate::head) fn on_resize(&mut self, id: RequestId, request: &ResizeRequest, cx: &mut Cx) {
        let wait = match request {
            ResizeRequest::Grow(grow) => grow.wait,
            ResizeRequest::Shrink(shrink) => shrink.wait,
            ResizeRequest::Cancel(cancel) => return self.on_cancel_request(id, cancel, cx),
            ResizeRequest::Extend(extend) => return self.on_extend_request(id, extend, cx),
        };
        let requester = if wait { Requester::Waiting(id) } else { Requester::Answered(id) };
        let (campaign, resize) = self.resize(request, requester, cx);
        let to_come = matches!(resize.outcome, ResizeOutcome::Begun | ResizeOutcome::Requested { .. });
        if !(wait && to_come) {
            cx.reply(id, Reply::Resize(Box::new(resize)));
        }
        campaign.into_iter().for_each(|campaign| self.proceed(campaign, cx));
    }

    /// Handles a process's request for another size (spec E36).
    pub(in crate::head) fn on_resize_message(
        &mut self,
        daemon: DaemonRank,
        id: u64,
        proc: ProcId,
        request: &ResizeRequest,
        cx: &mut Cx,
    ) {
        if let ResizeRequest::Cancel(cancel) = request {
            return self.on_cancel_message(daemon, id, cancel, cx);
        }
        if let ResizeRequest::Extend(extend) = request {
            return self.on_extend_message(daemon, id, proc.job, extend, cx);
        }
        let (campaign, resize) = self.resize(request, Requester::Proc(proc, daemon), cx);
        cx.send(daemon, DaemonMessage::ResizeReply { id, resize: Box::new(resize) });
        campaign.into_iter().for_each(|campaign| self.proceed(campaign, cx));
    }

    /// The first phase: refuses the request without a trace, finds it fulfilled, or opens its campaign. The caller
    /// lets the campaign proceed after it has sent the answer, because the campaign may end at once (spec E3, E4).
    pub(super) fn resize(
        &mut self,
        request: &ResizeRequest,
        requester: Requester,
        cx: &mut Cx,
    ) -> (Option<CampaignId>, Resize) {
        let plan = match request {
            _ if self.dvm.is_ending() => Err(Reason::new(PMIX_ERR_UNREACH, "The DVM is ending.")),
            _ if !self.dvm.is_ready() => {
                Err(Reason::new(PMIX_ERR_BAD_PARAM, "The DVM is not ready yet. Try again in a moment."))
            }
            ResizeRequest::Grow(grow) => match self.plan_grow(grow) {
                Ok(plan) if plan.more > 0 || grow.rm_job.is_some() => {
                    match self.request_nodes(plan, grow, requester, cx) {
                        Ok(resize) => return (None, resize),
                        Err(reason) => Err(reason),
                    }
                }
                planned => planned.map(|plan| self.with_session(plan, &grow.terms, requester, cx)),
            },
            ResizeRequest::Shrink(shrink) => {
                let plan = self.plan_shrink(shrink, requester);
                if plan.is_ok() && shrink.nodes.is_empty() && shrink.count == 0 {
                    self.withdraw_of_allocation(shrink, cx);
                }
                plan
            }
            ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => unreachable!("it is no change of size"),
        };
        match plan {
            Err(Reason { status, cause }) => {
                let (ResizeRequest::Grow(GrowRequest { req_id, .. })
                | ResizeRequest::Shrink(ShrinkRequest { req_id, .. })
                | ResizeRequest::Cancel(CancelRequest { req_id, .. })
                | ResizeRequest::Extend(ExtendRequest { req_id, .. })) = request;
                let outcome = ResizeOutcome::Refused { status, cause };
                let (alloc_id, req_id) = (String::new(), req_id.clone());
                (None, Resize { alloc_id, req_id, session: None, nodes: Vec::new(), outcome })
            }
            Ok(plan) if plan.nodes.is_empty() => {
                if let Change::Shrink { returns } = &plan.change {
                    self.return_lent(&plan.alloc_id, returns, cx);
                }
                (None, self.resize_of(&plan.alloc_id, plan.req_id.as_ref(), &[], ResizeOutcome::Unchanged))
            }
            Ok(plan) => {
                let nodes = plan.nodes.clone();
                let (alloc_id, req_id) = (plan.alloc_id.clone(), plan.req_id.clone());
                let id = self.open_campaign(plan, requester, cx);
                (Some(id), self.resize_of(&alloc_id, req_id.as_ref(), &nodes, ResizeOutcome::Begun))
            }
        }
    }

    /// Opens or extends the session of a valid grow request (spec S10).
    pub(super) fn with_session(
        &mut self,
        plan: GrowPlan,
        terms: &SessionTerms,
        requester: Requester,
        cx: &mut Cx,
    ) -> Plan {
        let GrowPlan { session, req_id, members, nodes, slots, more: _ } = plan;
        let says_more = *terms != SessionTerms::default();
        let session = match session {
            // Nodes of a scheduler's push belong to the DVM, not to a session.
            None if requester.is_scheduler() => None,
            None if says_more || !nodes.is_empty() => Some(self.open_session(req_id.clone(), requester, terms)),
            session => session,
        };
        let alloc_id = session.and_then(|id| self.sessions.get(id)).map(|session| session.alloc_id.clone());
        let alloc_id = alloc_id.unwrap_or_else(|| match requester.is_scheduler() {
            true => self.config.dvm.clone(),
            false => self.alloc_id_of(&members),
        });
        let joins =
            Joins { nodes: if says_more { members } else { nodes.clone() }, terms: terms.clone(), shared_by: None };
        if nodes.is_empty() {
            self.pool.change_slots(&slots);
            self.join_session(&alloc_id, &joins, &BTreeSet::new(), requester, cx);
        }
        Plan { change: Change::Grow { joins, slots }, alloc_id, req_id, is_requested: true, nodes }
    }

    pub(in crate::head) fn resize_of(
        &self,
        alloc_id: &str,
        req_id: Option<&String>,
        nodes: &[NodeId],
        outcome: ResizeOutcome,
    ) -> Resize {
        let session = self.session_of(&SessionChoice::Alloc(alloc_id.to_owned()), None).ok();
        Resize {
            alloc_id: alloc_id.to_owned(),
            req_id: req_id.cloned(),
            session,
            nodes: self.pool.names(nodes),
            outcome,
        }
    }

    /// Opens a campaign and raises the launch fence (spec E2).
    pub(in crate::head) fn open_campaign(&mut self, plan: Plan, requester: Requester, cx: &mut Cx) -> CampaignId {
        self.campaigns.last += 1;
        let id = CampaignId(self.campaigns.last);
        // All earlier campaigns of these nodes: the newest waits for each, because any may be cancelled.
        let before: BTreeSet<CampaignId> =
            plan.nodes.iter().flat_map(|node| self.campaigns.about(*node)).map(|(id, _)| *id).collect();
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
        self.campaigns.open.insert(id, campaign);
        if requester.is_scheduler() {
            cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step: CampaignStep::Pushed }));
        }
        self.enter(id, if is_queued { Phase::Queued } else { Phase::Open }, cx);
        id
    }

    /// Begins a campaign that waits for no other (spec E5).
    pub(in crate::head) fn proceed(&mut self, id: CampaignId, cx: &mut Cx) {
        let is_to_begin = |campaign: &&Campaign| matches!(campaign.phase, Phase::Open | Phase::Behind);
        let Some(campaign) = self.campaigns.open.get(&id).filter(is_to_begin) else { return };
        match (campaign.behind.is_empty(), campaign.kind()) {
            (false, _) => self.enter(id, Phase::Behind, cx),
            (true, CampaignKind::Grow) => self.launch_newcomers(id, cx),
            (true, CampaignKind::Shrink) => self.order_departure(id, cx),
        }
    }

    /// Makes a campaign wait for the end of another.
    pub(super) fn wait_behind(&mut self, id: CampaignId, other: CampaignId, cx: &mut Cx) {
        if let Some(campaign) = self.campaigns.open.get_mut(&id) {
            campaign.behind.insert(other);
        }
        self.enter(id, Phase::Behind, cx);
    }

    pub(super) fn enter(&mut self, id: CampaignId, phase: Phase, cx: &mut Cx) {
        if let Some(campaign) = self.campaigns.open.get_mut(&id) {
            campaign.phase = phase;
            let (kind, step) = (campaign.kind(), campaign.step());
            cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step }));
        }
    }

    /// Closes a campaign by its phase: with the reason of its rollback, or with success (spec G8).
    pub(super) fn end_campaign(&mut self, id: CampaignId, cx: &mut Cx) {
        let failure = self.campaigns.open.get(&id).and_then(Campaign::failure).cloned();
        self.close_campaign(id, failure, cx);
    }

    /// Closes a campaign with success, or with the reason for its failure: records the outcome, answers the requester
    /// once, and lowers the launch fence (spec G8).
    pub(super) fn close_campaign(&mut self, id: CampaignId, failure: Option<Reason>, cx: &mut Cx) {
        cx.cancel_timer(HeadTimer::Campaign(id));
        let Some(campaign) = self.campaigns.open.remove(&id) else { return };
        let (kind, failed) = (campaign.kind(), failure.is_some());
        let step = if failed { CampaignStep::Failed } else { CampaignStep::Done };
        cx.effect(Effect::Trace(Transition::Campaign { campaign: id, kind, step }));
        self.clients.count(Counted::Campaign { kind, failed });
        self.settle_grants(cx);
        self.tell_requester(&campaign, failure.as_ref(), cx);
        match (&failure, &campaign.change) {
            (Some(Reason { status, cause }), _) => self.abort_held(id, *status, cause, cx),
            (None, Change::Shrink { returns }) => self.sessions.return_lent(&campaign.alloc_id, returns),
            (None, Change::Grow { .. }) => {}
        }
        let mut next = Vec::new();
        for (other, waiting) in &mut self.campaigns.open {
            if waiting.behind.remove(&id) && waiting.behind.is_empty() {
                next.push(*other);
            }
        }
        for other in next {
            self.proceed(other, cx);
        }
        self.sweep_sessions(cx);
        self.on_campaign_over(id);
        self.admit_held(cx);
    }

    pub(in crate::head) fn on_campaign_deadline(&mut self, id: CampaignId, cx: &mut Cx) {
        let Some(campaign) = self.campaigns.open.get(&id) else { return };
        match campaign.phase {
            Phase::Launching { .. } => self.on_grow_deadline(id, cx),
            Phase::WiringUp { .. } => self.on_late_wireup(id, cx),
            Phase::RollingBack { .. } => self.give_up_on_newcomers(id, cx),
            Phase::Open | Phase::Queued | Phase::Behind | Phase::Leaving | Phase::Releasing { .. } => {}
        }
    }

    /// Cancels the open campaigns at the end of the DVM and answers their requesters (spec E6).
    pub(in crate::head) fn drain_campaigns(&mut self, cx: &mut Cx) {
        for (id, campaign) in std::mem::take(&mut self.campaigns.open) {
            cx.cancel_timer(HeadTimer::Campaign(id));
            let outside: RankSet = campaign.targets.keys().copied().filter(|rank| !cx.tree.contains(*rank)).collect();
            for rank in outside.iter() {
                self.launches.abandon_one(rank, cx);
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
    pub(in crate::head) fn campaign_waits_for(&self, id: CampaignId) -> String {
        let Some(campaign) = self.campaigns.open.get(&id) else { return String::new() };
        let of = |ranks: &RankSet| {
            let names = campaign.targets.iter().filter(|(rank, _)| ranks.contains(**rank));
            crate::head::clients::listed_names(names.map(|(_, node)| self.pool.record(*node).name.as_str()))
        };
        match &campaign.phase {
            Phase::Behind => {
                let before: Vec<String> = campaign.behind.iter().map(|id| format!("campaign {id}")).collect();
                format!("{} to end", crate::head::clients::listed_names(before.iter().map(String::as_str)))
            }
            Phase::Queued => self.turns_before(),
            Phase::Launching { missing } => format!("the daemons of {} to report", of(missing)),
            Phase::WiringUp { late } => self.wireup_waits_for(late),
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
        self.campaigns.open.iter().map(status).collect()
    }

    /// Jobs with processes on any of these daemons.
    pub(super) fn jobs_on(&self, daemons: &RankSet) -> Vec<JobId> {
        let hit = self.jobs.values().filter(|job| job.map.nodes.iter().any(|node| daemons.contains(node.daemon)));
        hit.map(|job| job.id).collect()
    }

    /// Jobs that any of these daemons knows: because it runs them, or because its processes may meet theirs.
    pub(super) fn jobs_known_at(&self, daemons: &RankSet) -> Vec<JobId> {
        let hit = self.jobs.values().filter(|job| daemons.iter().any(|rank| job.known_at.contains(rank)));
        hit.map(|job| job.id).collect()
    }
}
