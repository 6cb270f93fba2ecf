//! Extensions: requests for nodes that a resource manager has yet to grant. A request may wait for hours and holds no
//! job; it becomes a campaign when the manager grants the nodes. `grants.rs` has what was granted.

use std::collections::BTreeMap;

use ferrite_rm::extension::job_name;
use ferrite_rm::{Manager, NodeAsk, Source, Wish};
use ferrite_types::{AllocId, ExtensionId, HostEntry, JobId, NodeId, PmixStatus, SessionId, SlotCount, Timestamp};
use ferrite_wire::{CancelRequest, GrowRequest, Resize, ResizeOutcome, SessionTerms, ShrinkRequest, SlotChange};

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

/// The extensions that the resource manager may still decide.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    open: BTreeMap<ExtensionId, Extension>,
    last: u32,
}

/// The phases of an extension that is not over.
#[derive(Debug)]
enum Extension {
    /// The manager decides.
    Waiting(Waiting),
    /// It was withdrawn, and a late grant is not released: another program has obtained this job of the manager.
    LeftAlone { job: String },
}

/// An extension that waits for the manager.
#[derive(Debug)]
struct Waiting {
    /// The plan with its nodes of the pool, which no other request gets meanwhile.
    plan: GrowPlan,
    wish: Wish,
    alloc_id: AllocId,
    terms: SessionTerms,
    requester: Requester,
    /// The manager's latest word on the request.
    says: String,
    began: Timestamp,
}

impl Extensions {
    /// The extensions that wait.
    fn waiting(&self) -> impl Iterator<Item = (ExtensionId, &Waiting)> {
        self.open.iter().filter_map(|(id, extension)| match extension {
            Extension::Waiting(waiting) => Some((*id, waiting)),
            Extension::LeftAlone { .. } => None,
        })
    }

    fn waiting_mut(&mut self) -> impl Iterator<Item = (ExtensionId, &mut Waiting)> {
        self.open.iter_mut().filter_map(|(id, extension)| match extension {
            Extension::Waiting(waiting) => Some((*id, waiting)),
            Extension::LeftAlone { .. } => None,
        })
    }

    /// Makes an extension wait for the manager.
    fn add(&mut self, waiting: Waiting) -> ExtensionId {
        self.last += 1;
        let id = ExtensionId(self.last);
        self.open.insert(id, Extension::Waiting(waiting));
        id
    }

    /// Ends the wait of an extension, if it waits.
    fn decided(&mut self, id: ExtensionId) -> Option<Waiting> {
        match self.open.remove(&id)? {
            Extension::Waiting(waiting) => Some(waiting),
            left @ Extension::LeftAlone { .. } => {
                self.open.insert(id, left);
                None
            }
        }
    }

    /// Ends an extension that was granted after its withdrawal. True when the job is not released.
    fn is_left_alone(&mut self, id: ExtensionId, granted: &str) -> bool {
        matches!(self.open.remove(&id), Some(Extension::LeftAlone { job }) if job == granted)
    }

    /// Notes the manager's latest word on an extension.
    pub(super) fn on_word(&mut self, id: ExtensionId, says: String) {
        if let Some((_, waiting)) = self.waiting_mut().find(|(waits, _)| *waits == id) {
            waiting.says = says;
        }
    }

    /// Extensions that a cancellation covers.
    pub(super) fn named_by(&self, request: &CancelRequest) -> Vec<ExtensionId> {
        let named = |waiting: &Waiting| request.names(&waiting.alloc_id, waiting.plan.req_id.as_ref());
        self.waiting().filter(|(_, waiting)| named(waiting)).map(|(id, _)| id).collect()
    }

    /// The allocation of an extension that waits.
    pub(super) fn alloc_id(&self, id: ExtensionId) -> Option<&AllocId> {
        self.waiting().find(|(waits, _)| *waits == id).map(|(_, waiting)| &waiting.alloc_id)
    }

    /// True for a node of the pool that an extension will use.
    pub(super) fn awaits(&self, node: NodeId) -> bool {
        self.waiting().map(|(_, waiting)| waiting).any(|waiting| waiting.plan.members.contains(&node))
    }

    /// True while an extension may bring nodes for an allocation.
    pub(super) fn is_for(&self, alloc_id: &AllocId) -> bool {
        self.waiting().map(|(_, waiting)| waiting).any(|waiting| waiting.alloc_id == *alloc_id)
    }

    /// True when an extension brings an allocation a time limit.
    pub(super) fn limits(&self, alloc_id: &AllocId) -> bool {
        self.waiting()
            .map(|(_, waiting)| waiting)
            .any(|waiting| waiting.alloc_id == *alloc_id && waiting.terms.time_limit_s.is_some())
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
        if self.elastic.extensions.waiting().count() >= MOST_REQUESTS {
            let cause = format!("{MOST_REQUESTS} requests for nodes wait for {manager} already.");
            return Err(Reason::new(PMIX_ERR_OUT_OF_RESOURCE, cause));
        }
        let session = plan.session.unwrap_or_else(|| self.open_session(plan.req_id.clone(), requester, terms));
        plan.session = Some(session);
        let alloc_id = self.sessions.alloc_id(session).expect("a session that grows is there").clone();
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
        let (terms, says, began) = (terms.clone(), String::new(), cx.now);
        let waiting = Waiting { plan, wish, alloc_id, terms, requester, says, began };
        let extension = self.elastic.extensions.add(waiting);
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
        let is_asked = self.elastic.extensions.waiting().any(|(_, waiting)| waiting.wish == Wish::Job(job.to_owned()));
        if job == parent || is_asked || self.elastic.grants.has_job(job) {
            return bad(format!("The nodes of {manager} job {job} are the DVM's already, or on their way."));
        }
        Ok(())
    }

    pub(in crate::head) fn on_nodes_refused(&mut self, id: ExtensionId, cause: &str, cx: &mut Cx) {
        // It may have been withdrawn meanwhile.
        let Some(waiting) = self.elastic.extensions.decided(id) else { return };
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
        let Some(waiting) = self.elastic.extensions.decided(id) else {
            // The request was withdrawn before the grant.
            if !self.elastic.extensions.is_left_alone(id, &job) {
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
        let which = self.elastic.extensions.waiting().filter(|(_, waiting)| which(waiting));
        let ids: Vec<ExtensionId> = which.map(|(id, _)| id).collect();
        for id in ids {
            self.withdraw_request(id, status, why, cx);
        }
    }

    pub(super) fn withdraw_request(&mut self, id: ExtensionId, status: PmixStatus, why: &str, cx: &mut Cx) {
        if let Some(waiting) = self.elastic.extensions.decided(id) {
            cx.effect(Effect::WithdrawRequest { extension: id });
            if let Wish::Job(job) = &waiting.wish {
                self.elastic.extensions.open.insert(id, Extension::LeftAlone { job: job.clone() });
            }
            self.give_up(&waiting, Reason::new(status, why), cx);
        }
    }

    /// Withdraws the extension of a client that is gone.
    pub(super) fn withdraw_of_client(&mut self, request: RequestId, cx: &mut Cx) {
        for (_, waiting) in self.elastic.extensions.waiting_mut() {
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

    /// Withdraws the extension for an offer to a job that is over (spec E69).
    pub(super) fn withdraw_for_offer(&mut self, root: JobId, cx: &mut Cx) {
        let is_its = |waiting: &Waiting| waiting.requester == Requester::Offer(root);
        self.withdraw_requests(is_its, PMIX_ERR_JOB_CANCELED, "The job is over.", cx);
    }

    pub(in crate::head) fn withdraw_of_session(&mut self, session: SessionId, why: &str, cx: &mut Cx) {
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

    /// Withdraws what nobody needs any more when the DVM ends: campaigns and extensions.
    pub(in crate::head) fn drain_changes(&mut self, cx: &mut Cx) {
        self.drain_campaigns(cx);
        self.drain_extensions(cx);
    }

    /// Gives everything back to the resource manager at the very end: extensions that wait, and all granted jobs.
    pub(in crate::head) fn give_everything_back(&mut self, cx: &mut Cx) {
        self.drain_extensions(cx);
        self.elastic.grants.end_all(cx);
    }

    /// Withdraws all extensions at the end of the DVM.
    fn drain_extensions(&mut self, cx: &mut Cx) {
        self.withdraw_requests(|_| true, PMIX_ERR_UNREACH, "The DVM is ending.", cx);
    }

    /// The reasons why extensions wait, in words.
    pub(super) fn extensions_in_words(&self, now: Timestamp) -> impl Iterator<Item = String> {
        let manager = self.elastic_manager().map_or_else(String::new, |(manager, _)| manager.to_string());
        self.elastic.extensions.waiting().map(move |(_, waiting)| {
            let says = if waiting.says.is_empty() { String::new() } else { format!(" ({})", waiting.says) };
            let seconds = Timestamp(now.0.saturating_sub(waiting.began.0)).0 / 1_000_000;
            let Waiting { alloc_id, wish, .. } = waiting;
            format!("grow of {alloc_id}: {manager} to grant {wish}, for {seconds} s now{says}")
        })
    }
}
