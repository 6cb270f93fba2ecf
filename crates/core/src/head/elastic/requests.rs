//! Requests for another size: the first phase of each, from the request to the first answer. `campaigns.rs` has the
//! campaigns that they open.

use std::collections::BTreeSet;

use ferrite_types::{AllocId, AllocReqId, CampaignId, DaemonRank, NodeId, ProcId};
use ferrite_wire::control::{Reply, SessionChoice};
use ferrite_wire::{
    CancelRequest, DaemonMessage, ExtendRequest, GrowRequest, Resize, ResizeOutcome, ResizeRequest, SessionTerms,
    ShrinkRequest,
};

use super::phase::Change;
use super::plan::{GrowPlan, Joins, Plan, Reason};
use super::requester::Requester;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_UNREACH};

impl Head {
    /// Handles a client's request for another size (spec E36).
    pub(in crate::head) fn on_resize(&mut self, id: RequestId, request: &ResizeRequest, cx: &mut Cx) {
        let wait = match request {
            ResizeRequest::Grow(grow) => grow.wait,
            ResizeRequest::Shrink(shrink) => shrink.wait,
            ResizeRequest::Cancel(cancel) => return self.on_cancel_request(id, cancel, cx),
            ResizeRequest::Extend(extend) => {
                let resize = Box::new(self.extend_time(extend, None, cx));
                return cx.reply(id, Reply::Resize(resize));
            }
        };
        let requester = if wait { Requester::Waiting(id) } else { Requester::Answered(id) };
        let (campaign, resize) = self.resize(request, requester, cx);
        let to_come = matches!(resize.outcome, ResizeOutcome::Begun | ResizeOutcome::Requested { .. });
        if !(wait && to_come) {
            cx.reply(id, Reply::Resize(Box::new(resize)));
        }
        self.go_on_after(campaign, cx);
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
            let resize = Box::new(self.extend_time(extend, Some(proc.job), cx));
            return cx.send(daemon, DaemonMessage::ResizeReply { id, resize });
        }
        let (campaign, resize) = self.resize(request, Requester::Proc(proc, daemon), cx);
        cx.send(daemon, DaemonMessage::ResizeReply { id, resize: Box::new(resize) });
        self.go_on_after(campaign, cx);
    }

    /// Lets the campaign of a request proceed. A request without one may have reserved nodes or changed slots, after
    /// which other jobs of the queue have their turn.
    pub(super) fn go_on_after(&mut self, campaign: Option<CampaignId>, cx: &mut Cx) {
        match campaign {
            Some(campaign) => self.proceed(campaign, cx),
            None => self.serve_queue(cx),
        }
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
                let req_id = req_id.clone();
                (None, Resize { alloc_id: None, req_id, session: None, nodes: Vec::new(), outcome })
            }
            Ok(plan) if plan.nodes.is_empty() => {
                if let Change::Shrink { returns, .. } = &plan.change {
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
        let alloc_id = session.and_then(|id| self.sessions.alloc_id(id)).cloned();
        let alloc_id = alloc_id.unwrap_or_else(|| match requester.is_scheduler() {
            true => self.sessions.dvm_alloc_id().clone(),
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

    /// Releases lent nodes, which takes effect at once (spec S16).
    fn return_lent(&mut self, alloc_id: &AllocId, nodes: &BTreeSet<NodeId>, cx: &mut Cx) {
        if !nodes.is_empty() {
            self.sessions.return_lent(alloc_id, nodes);
            self.sweep_sessions(cx);
            self.serve_queue(cx);
        }
    }

    pub(in crate::head) fn resize_of(
        &self,
        alloc_id: &AllocId,
        req_id: Option<&AllocReqId>,
        nodes: &[NodeId],
        outcome: ResizeOutcome,
    ) -> Resize {
        let session = self.sessions.session_of(&SessionChoice::Alloc(alloc_id.clone()), None).ok();
        Resize {
            alloc_id: Some(alloc_id.clone()),
            req_id: req_id.cloned(),
            session,
            nodes: self.pool.names(nodes),
            outcome,
        }
    }
}
