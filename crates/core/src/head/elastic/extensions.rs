//! Extensions: requests for nodes that a resource manager has yet to grant. A request may wait for hours and holds no
//! job; it becomes a campaign when the manager grants the nodes. The head also records all granted nodes, to give
//! them back: when they leave, when none of a manager's job is in use any more, and at the end of the DVM.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_rm::extension::job_name;
use ferrite_rm::{GiveBack, Manager, NodeAsk, Share, Source, Wish};
use ferrite_types::{CampaignId, ExtensionId, HostEntry, JobId, NodeId, PmixStatus, SlotCount, Timestamp};
use ferrite_wire::{CancelRequest, GrowRequest, Resize, ResizeOutcome, SessionTerms, ShrinkRequest, SlotChange};

use super::campaigns::Campaign;
use super::phase::Phase;
use super::plan::{GrowPlan, Reason};
use super::requester::Requester;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_CANCELED, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_UNREACH,
};
use crate::{Effect, RequestId};

/// The limit of concurrent requests, which protects the manager.
const MOST_REQUESTS: usize = 64;

/// The most digits of a manager's job number.
const LONGEST_JOB: usize = 20;

/// The extensions that wait, and the grants of the manager.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    waiting: BTreeMap<ExtensionId, Waiting>,
    /// Jobs of the manager beside the first one, each with the nodes that it still grants.
    granted: BTreeMap<String, BTreeSet<NodeId>>,
    /// Jobs that another program has obtained and that no grow took in; the DVM does not release them.
    left_alone: BTreeSet<String>,
    /// Nodes that the manager has granted a second time (`doubtful.rs`). While in use they count as granted.
    pub(super) doubtful: BTreeSet<NodeId>,
    last: u32,
}

/// An extension that waits for the manager.
#[derive(Debug)]
struct Waiting {
    /// The plan with its nodes of the pool, which no other request gets meanwhile.
    plan: GrowPlan,
    wish: Wish,
    alloc_id: String,
    terms: SessionTerms,
    requester: Requester,
    /// The manager's latest word on the request.
    says: String,
    began: Timestamp,
}

impl Extensions {
    /// True for a node of the pool that an extension will use.
    pub(super) fn awaits(&self, node: NodeId) -> bool {
        self.waiting.values().any(|waiting| waiting.plan.members.contains(&node))
    }

    /// True while an extension may bring nodes for an allocation.
    pub(super) fn is_for(&self, alloc_id: &str) -> bool {
        self.waiting.values().any(|waiting| waiting.alloc_id == alloc_id)
    }

    /// True when an extension brings an allocation a time limit.
    pub(super) fn limits(&self, alloc_id: &str) -> bool {
        self.waiting.values().any(|waiting| waiting.alloc_id == alloc_id && waiting.terms.time_limit_s.is_some())
    }

    pub(super) fn grants(&self, node: NodeId) -> bool {
        self.granted.values().any(|nodes| nodes.contains(&node))
    }

    /// No job grants this node any more.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.doubtful.remove(&node);
        self.granted.values_mut().for_each(|nodes| {
            nodes.remove(&node);
        });
    }
}

impl Head {
    /// The manager that can grant more nodes, and the job with which the DVM began.
    pub(super) fn elastic_manager(&self) -> Option<(Manager, String)> {
        match &self.config.allocation.source {
            Source::Managed { manager, job } if manager.is_elastic() => Some((*manager, job.clone())),
            Source::Managed { .. }
            | Source::Hostfile(_)
            | Source::Hosts
            | Source::Places(_)
            | Source::Simulated
            | Source::DefaultHostfile(_)
            | Source::ThisMachine => None,
        }
    }

    /// Accepts a request that the pool alone cannot fulfil, and asks the manager for the rest (spec E39).
    pub(super) fn request_nodes(
        &mut self,
        mut plan: GrowPlan,
        request: &GrowRequest,
        requester: Requester,
        cx: &mut Cx,
    ) -> Result<Resize, Reason> {
        let terms = &request.terms;
        let wish = request.rm_job.clone().map_or(Wish::Nodes(plan.more), Wish::Job);
        let Some((manager, parent)) =
            self.elastic_manager().filter(|_| !matches!(requester, Requester::Nobody | Requester::Pushed(_)))
        else {
            // A scheduler's push brings nodes that are granted already, so the manager is not asked. A job that
            // brings its own nodes would be held for as long as the manager takes.
            return Err(self.too_few(request, &plan.nodes));
        };
        if self.elastic.extensions.waiting.len() >= MOST_REQUESTS {
            let cause = format!("{MOST_REQUESTS} requests for nodes wait for {manager} already.");
            return Err(Reason::new(PMIX_ERR_OUT_OF_RESOURCE, cause));
        }
        let session = plan.session.unwrap_or_else(|| self.open_session(plan.req_id.clone(), requester, terms));
        plan.session = Some(session);
        let alloc_id = self.sessions.alloc_id(session).map(str::to_owned).unwrap_or_default();
        let ask = NodeAsk {
            manager,
            name: job_name(&self.config.dvm, &parent),
            parent,
            wish: wish.clone(),
            queue: request.queue.clone(),
            slots: self.slots_of_all(),
            time_limit_s: terms.time_limit_s.map(|more| self.sessions.lasts_s(plan.session, more, cx.now)),
            has: self.pool.inside().map(|node| self.pool.host(node.id).name.clone()).collect(),
        };
        let outcome = ResizeOutcome::Requested { what: format!("{wish} of {manager}") };
        let answer = self.resize_of(&alloc_id, plan.req_id.as_ref(), &plan.nodes, outcome);
        self.elastic.extensions.last += 1;
        let extension = ExtensionId(self.elastic.extensions.last);
        let (terms, says, began) = (terms.clone(), String::new(), cx.now);
        self.elastic
            .extensions
            .waiting
            .insert(extension, Waiting { plan, wish, alloc_id, terms, requester, says, began });
        cx.effect(Effect::RequestNodes { extension, ask: Box::new(ask) });
        Ok(answer)
    }

    /// Refuses a manager's job whose nodes the DVM has already.
    pub(super) fn check_can_take(&self, job: &str) -> Result<(), Reason> {
        let bad = |cause: String| Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
        let Some((manager, parent)) = self.elastic_manager() else {
            let cause =
                "The nodes of this DVM are not those of a job of Slurm, so those of other jobs of it cannot come.";
            return Err(Reason::new(PMIX_ERR_NOT_SUPPORTED, cause));
        };
        if job.is_empty() || job.len() > LONGEST_JOB || !job.bytes().all(|b| b.is_ascii_digit()) {
            return bad(format!("{job:?} is no job of {manager}. Give the number that squeue shows."));
        }
        let is_asked =
            self.elastic.extensions.waiting.values().any(|waiting| waiting.wish == Wish::Job(job.to_owned()));
        if job == parent || is_asked || self.elastic.extensions.granted.contains_key(job) {
            return bad(format!("The nodes of {manager} job {job} are the DVM's already, or on their way."));
        }
        Ok(())
    }

    /// True for a node that the manager has taken back and not granted again, or has granted to another job meanwhile.
    pub(super) fn is_taken_back(&self, node: NodeId) -> bool {
        let managed = matches!(self.config.allocation.source, Source::Managed { .. });
        let is_gone = self.pool.is_outside(node) && !self.elastic.extensions.grants(node);
        managed && (is_gone || self.elastic.extensions.doubtful.contains(&node))
    }

    pub(in crate::head) fn on_nodes_awaited(&mut self, id: ExtensionId, says: String) {
        if let Some(waiting) = self.elastic.extensions.waiting.get_mut(&id) {
            waiting.says = says;
        }
    }

    pub(in crate::head) fn on_nodes_refused(&mut self, id: ExtensionId, cause: &str, cx: &mut Cx) {
        let Some(waiting) = self.elastic.extensions.waiting.remove(&id) else { return };
        let manager = self.elastic_manager().map_or_else(String::new, |(manager, _)| manager.to_string());
        let cause = format!("{manager} does not grant {}: {cause}.", waiting.wish);
        self.give_up(&waiting, Reason::new(PMIX_ERR_OUT_OF_RESOURCE, cause), cx);
    }

    /// Continues a granted request as an ordinary grow (spec E39).
    pub(in crate::head) fn on_nodes_granted(
        &mut self,
        id: ExtensionId,
        job: String,
        hosts: Vec<HostEntry>,
        cx: &mut Cx,
    ) {
        let Some(waiting) = self.elastic.extensions.waiting.remove(&id) else {
            // The request was withdrawn before the grant.
            if !self.elastic.extensions.left_alone.remove(&job) {
                cx.effect(Effect::EndAllocation { job });
            }
            return;
        };
        if let Some(host) = hosts.iter().find(|host| self.pool.find(&host.name).is_some_and(|node| !self.is_free(node)))
        {
            let cause =
                format!("Job {job}, which was granted, has node {}, and the DVM has that node already.", host.name);
            // A job that another program has obtained stays with that program unless a grow takes it in.
            if matches!(waiting.wish, Wish::Nodes(_)) {
                cx.effect(Effect::EndAllocation { job });
            }
            self.give_up(&waiting, Reason::new(PMIX_ERR_OUT_OF_RESOURCE, cause), cx);
            return self.doubt(&hosts, cx);
        }
        let Waiting { mut plan, terms, requester, .. } = waiting;
        // Other requests may have brought nodes of the pool meanwhile.
        plan.nodes.retain(|node| self.pool.record(*node).daemon.is_none());
        for host in hosts {
            let slots = match host.slots {
                SlotCount::Given(slots) => SlotChange::Set(slots),
                SlotCount::FromCores => SlotChange::Unstated,
            };
            let node = self.take_in(&job, host);
            plan.members.push(node);
            plan.nodes.push(node);
            plan.slots.push((node, slots));
        }
        let plan = self.with_session(plan, &terms, requester, cx);
        let campaign = self.open_campaign(plan, requester, cx);
        self.proceed(campaign, cx);
    }

    /// True for a node that the manager may grant: it has no daemon of ours, or the daemon is gone and the node was
    /// offered back.
    fn is_free(&self, node: NodeId) -> bool {
        let going = self.elastic.campaigns.of_node(node).and_then(|(id, _)| self.elastic.campaigns.open.get(&id));
        match going {
            Some(campaign) => matches!(campaign.phase, Phase::Releasing { .. }),
            None => self.pool.is_outside(node),
        }
    }

    fn take_in(&mut self, job: &str, host: HostEntry) -> NodeId {
        let host = HostEntry { rm_job: Some(job.to_owned()), ..host };
        let node = self.pool.admit_granted(host, &self.local);
        // The new grant replaces any earlier one.
        self.elastic.extensions.forget(node);
        self.elastic.extensions.granted.entry(job.to_owned()).or_default().insert(node);
        node
    }

    /// Ends a request without nodes and tells its requester.
    fn give_up(&mut self, waiting: &Waiting, reason: Reason, cx: &mut Cx) {
        let Reason { status, cause } = reason;
        let outcome = ResizeOutcome::Failed { status, cause };
        let resize = self.resize_of(&waiting.alloc_id, waiting.plan.req_id.as_ref(), &[], outcome);
        self.tell(waiting.requester, resize, cx);
        self.sweep_sessions(cx);
        self.settle_grants(cx);
    }

    fn withdraw_requests(&mut self, which: impl Fn(&Waiting) -> bool, status: PmixStatus, why: &str, cx: &mut Cx) {
        let ids: Vec<ExtensionId> =
            self.elastic.extensions.waiting.iter().filter(|(_, waiting)| which(waiting)).map(|(id, _)| *id).collect();
        for id in ids {
            self.withdraw_request(id, status, why, cx);
        }
    }

    /// Extensions that a cancellation covers.
    pub(super) fn waiting_requests(&self, request: &CancelRequest) -> Vec<ExtensionId> {
        let named = |waiting: &Waiting| request.names(&waiting.alloc_id, waiting.plan.req_id.as_deref());
        self.elastic.extensions.waiting.iter().filter(|(_, waiting)| named(waiting)).map(|(id, _)| *id).collect()
    }

    /// The allocation of an extension.
    pub(super) fn allocation_awaited(&self, id: ExtensionId) -> Option<&str> {
        self.elastic.extensions.waiting.get(&id).map(|waiting| waiting.alloc_id.as_str())
    }

    pub(super) fn withdraw_request(&mut self, id: ExtensionId, status: PmixStatus, why: &str, cx: &mut Cx) {
        if let Some(waiting) = self.elastic.extensions.waiting.remove(&id) {
            cx.effect(Effect::WithdrawRequest { extension: id });
            if let Wish::Job(job) = &waiting.wish {
                self.elastic.extensions.left_alone.insert(job.clone());
            }
            self.give_up(&waiting, Reason::new(status, why), cx);
        }
    }

    /// Withdraws the extension of a client that is gone.
    pub(in crate::head) fn withdraw_of_client(&mut self, request: RequestId, cx: &mut Cx) {
        for waiting in self.elastic.extensions.waiting.values_mut() {
            if waiting.requester.is(request) {
                waiting.requester = Requester::Nobody;
            }
        }
        self.withdraw_requests(|waiting| waiting.requester == Requester::Nobody, PMIX_ERR_JOB_CANCELED, "", cx);
    }

    /// Withdraws the extensions of a job whose processes are gone.
    pub(in crate::head) fn withdraw_of_job(&mut self, job: JobId, cx: &mut Cx) {
        let asked = |waiting: &Waiting| matches!(waiting.requester, Requester::Proc(proc, _) if proc.job == job);
        self.withdraw_requests(asked, PMIX_ERR_JOB_CANCELED, "The job that asked for the nodes is over.", cx);
    }

    pub(in crate::head) fn withdraw_of_session(&mut self, session: u32, why: &str, cx: &mut Cx) {
        self.withdraw_requests(|waiting| waiting.plan.session == Some(session), PMIX_ERR_JOB_CANCELED, why, cx);
    }

    /// Withdraws the extensions of an allocation that is released whole.
    pub(super) fn withdraw_of_allocation(&mut self, request: &ShrinkRequest, cx: &mut Cx) {
        let session = request.alloc_id.as_ref().and_then(|name| self.sessions.allocation_named(name).ok());
        if let Some(session) = session {
            self.forget_lost_nodes(session);
            self.withdraw_of_session(session, "The request was taken back.", cx);
            self.sweep_sessions(cx);
        }
    }

    /// Withdraws all extensions at the end of the DVM.
    pub(in crate::head) fn drain_extensions(&mut self, cx: &mut Cx) {
        self.withdraw_requests(|_| true, PMIX_ERR_UNREACH, "The DVM is ending.", cx);
    }

    /// Releases all granted jobs after the daemons have gone.
    pub(in crate::head) fn end_allocations(&mut self, cx: &mut Cx) {
        for job in std::mem::take(&mut self.elastic.extensions.granted).into_keys() {
            cx.effect(Effect::EndAllocation { job });
        }
    }

    /// The releases at the manager for nodes that leave. A job that is given back whole leaves the record here (spec
    /// E40).
    pub(super) fn plan_give_back(&mut self, id: CampaignId, leaving: &[NodeId]) -> Vec<GiveBack> {
        let Some((manager, parent)) = self.elastic_manager() else { return Vec::new() };
        self.give_up_doubtful(leaving);
        let mut jobs: BTreeMap<String, BTreeSet<NodeId>> = BTreeMap::new();
        for node in leaving.iter().filter(|node| !self.is_taken_back(**node)) {
            if let Some(job) = &self.pool.host(*node).rm_job {
                jobs.entry(job.clone()).or_default().insert(*node);
            }
        }
        let mut back = Vec::new();
        for (job, leave) in jobs {
            let all: BTreeSet<NodeId> = match self.elastic.extensions.granted.get(&job) {
                Some(nodes) => nodes.clone(),
                None if job == parent => {
                    self.pool.inside().map(|node| node.id).filter(|node| self.is_of(*node, &job)).collect()
                }
                None => continue,
            };
            // Nodes that another shrink has just offered count as gone.
            let stays = |node: &&NodeId| !leave.contains(*node) && !self.is_offered(**node, &job);
            let stay: BTreeSet<NodeId> = all.iter().filter(stays).copied().collect();
            let share = if job == parent || stay.iter().any(|node| self.is_in_use(*node)) {
                if let Some(Phase::Releasing { offered }) =
                    self.elastic.campaigns.open.get_mut(&id).map(|campaign| &mut campaign.phase)
                {
                    offered.extend(leave.iter().map(|node| (*node, job.clone())));
                }
                Share::Part { leave: self.host_names(&leave), stay: self.host_names(&stay) }
            } else {
                self.forget_grant(&job);
                Share::Whole
            };
            back.push(GiveBack { manager, job, share });
        }
        back
    }

    fn is_of(&self, node: NodeId, job: &str) -> bool {
        self.pool.host(node).rm_job.as_deref() == Some(job)
    }

    fn is_offered(&self, node: NodeId, job: &str) -> bool {
        let offers = |campaign: &Campaign| matches!(&campaign.phase, Phase::Releasing { offered } if offered.get(&node).is_some_and(|of| of == job));
        self.elastic.campaigns.open.values().any(offers)
    }

    /// True for a node that has a daemon, or may get one by what is under way.
    fn is_in_use(&self, node: NodeId) -> bool {
        self.is_in_change(node) || self.elastic.extensions.awaits(node)
    }

    fn is_in_change(&self, node: NodeId) -> bool {
        self.pool.record(node).daemon.is_some() || self.elastic.campaigns.of_node(node).is_some()
    }

    /// The names of nodes at the manager.
    fn host_names(&self, nodes: &BTreeSet<NodeId>) -> Vec<String> {
        nodes.iter().map(|node| self.pool.host(*node).name.clone()).collect()
    }

    fn forget_grant(&mut self, job: &str) {
        let nodes = self.elastic.extensions.granted.remove(job).unwrap_or_default();
        let list: Vec<NodeId> = nodes.iter().copied().collect();
        self.sessions.remove(&list);
        list.iter().for_each(|node| self.elastic.extensions.forget(*node));
        self.pool.put_outside(nodes);
    }

    /// Removes offered nodes from the grants, except for those that the manager lets the DVM keep.
    pub(super) fn on_taken_back(&mut self, offered: BTreeMap<NodeId, String>, kept: &[String]) {
        for (node, job) in offered {
            if kept.contains(&self.pool.host(node).name) {
                continue;
            }
            self.pool.put_outside([node]);
            if let Some(nodes) = self.elastic.extensions.granted.get_mut(&job) {
                nodes.remove(&node);
            }
        }
    }

    /// A doubtful node that is not in use is not granted any more. A job of which no node is in use is given back: its
    /// grow has failed, or all of its daemons were lost, with it perhaps (spec E40).
    pub(in crate::head) fn settle_grants(&mut self, cx: &mut Cx) {
        let gone = self.elastic.extensions.doubtful.iter().copied().filter(|node| !self.is_in_change(*node));
        let gone: Vec<NodeId> = gone.collect();
        self.give_up_doubtful(&gone);
        let idle = |(_, nodes): &(&String, &BTreeSet<NodeId>)| !nodes.iter().any(|node| self.is_in_use(*node));
        let jobs: Vec<String> =
            self.elastic.extensions.granted.iter().filter(idle).map(|(job, _)| job.clone()).collect();
        for job in jobs {
            self.forget_grant(&job);
            cx.effect(Effect::EndAllocation { job });
        }
    }

    pub(in crate::head) fn on_allocation_ended(&mut self, job: &str, error: Option<String>, cx: &mut Cx) {
        if let Some(error) = error {
            let manager = self.elastic_manager().map_or_else(String::new, |(manager, _)| manager.to_string());
            cx.notice(format!(
                "{manager} job {job} could not be given back: {error}.\nUnless somebody ends it, it lasts until its time limit."
            ));
        }
    }

    /// The reasons why extensions wait, in words.
    pub(in crate::head) fn extensions_in_words(&self, now: Timestamp) -> impl Iterator<Item = String> {
        let manager = self.elastic_manager().map_or_else(String::new, |(manager, _)| manager.to_string());
        self.elastic.extensions.waiting.values().map(move |waiting| {
            let says = if waiting.says.is_empty() { String::new() } else { format!(" ({})", waiting.says) };
            let seconds = Timestamp(now.0.saturating_sub(waiting.began.0)).0 / 1_000_000;
            let Waiting { alloc_id, wish, .. } = waiting;
            format!("grow of {alloc_id}: {manager} to grant {wish}, for {seconds} s now{says}")
        })
    }
}
