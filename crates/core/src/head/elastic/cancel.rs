//! Cancellation of requests for another size (`PMIX_ALLOC_REQ_CANCEL`). The head withdraws changes that have not
//! begun. A change that has begun goes on to its end: undoing it would be a change of its own, and the requester can
//! give its nodes back afterwards.

use ferrite_types::{CampaignId, DaemonRank, ExtensionId};
use ferrite_wire::control::Reply;
use ferrite_wire::{CancelRequest, DaemonMessage, Resize, ResizeOutcome};

use super::Elastic;
use super::campaigns::Campaign;
use super::phase::Phase;
use super::plan::Reason;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_INVALID_OPERATION, PMIX_ERR_JOB_CANCELED, PMIX_ERR_NOT_FOUND};

const CANCELLED: &str = "The request was cancelled before it had begun.";

/// The changes of a request that a cancellation covers.
#[derive(Debug, Default)]
struct Pending {
    /// Campaigns of the request that have not begun.
    campaigns: Vec<CampaignId>,
    /// Extensions that wait for a resource manager.
    requests: Vec<ExtensionId>,
}

impl Campaign {
    /// True while nothing of the request has begun.
    fn is_pending(&self) -> bool {
        matches!(self.phase, Phase::Behind | Phase::Queued)
    }
}

impl Elastic {
    /// Finds the changes that a cancellation covers. Ends of sessions have no request and cannot be cancelled (spec
    /// E38).
    fn plan_cancel(&self, request: &CancelRequest) -> Result<Pending, Reason> {
        let named =
            |campaign: &Campaign| campaign.is_requested && request.names(&campaign.alloc_id, campaign.req_id.as_ref());
        let requests = self.extensions.named_by(request);
        let mut about = self.campaigns.open.iter().filter(|(_, campaign)| named(campaign)).peekable();
        if about.peek().is_none() && requests.is_empty() {
            let cause = "No request of that name is under way.";
            return Err(Reason::new(PMIX_ERR_NOT_FOUND, cause));
        }
        let campaigns: Vec<CampaignId> = about.filter(|(_, c)| c.is_pending()).map(|(id, _)| *id).collect();
        if campaigns.is_empty() && requests.is_empty() {
            let cause = "It has begun, and goes on to its end. Give the nodes back when they are there.";
            return Err(Reason::new(PMIX_ERR_INVALID_OPERATION, cause));
        }
        Ok(Pending { campaigns, requests })
    }
}

impl Head {
    /// Handles a tool's cancellation (`PMIx_Allocation_request`).
    pub(super) fn on_cancel_request(&mut self, id: RequestId, request: &CancelRequest, cx: &mut Cx) {
        let pending = self.elastic.plan_cancel(request);
        cx.reply(id, Reply::Resize(Box::new(self.answer_to_cancel(request, &pending))));
        self.withdraw_all(pending, cx);
    }

    /// Handles a process's cancellation.
    pub(super) fn on_cancel_message(&mut self, daemon: DaemonRank, id: u64, request: &CancelRequest, cx: &mut Cx) {
        let pending = self.elastic.plan_cancel(request);
        let resize = Box::new(self.answer_to_cancel(request, &pending));
        cx.send(daemon, DaemonMessage::ResizeReply { id, resize });
        self.withdraw_all(pending, cx);
    }

    fn answer_to_cancel(&self, request: &CancelRequest, pending: &Result<Pending, Reason>) -> Resize {
        let first = pending.as_ref().ok().and_then(|all| self.elastic.campaigns.open.get(all.campaigns.first()?));
        let awaited = pending.as_ref().ok().and_then(|all| self.elastic.extensions.alloc_id(*all.requests.first()?));
        let outcome = match pending {
            Ok(_) => ResizeOutcome::Unchanged,
            Err(Reason { status, cause }) => ResizeOutcome::Refused { status: *status, cause: cause.clone() },
        };
        Resize {
            alloc_id: first.map(|campaign| &campaign.alloc_id).or(awaited).cloned(),
            req_id: request.req_id.clone(),
            session: None,
            nodes: first.map(|campaign| self.pool.names(&campaign.nodes)).unwrap_or_default(),
            outcome,
        }
    }

    fn withdraw_all(&mut self, pending: Result<Pending, Reason>, cx: &mut Cx) {
        let Pending { campaigns, requests } = pending.unwrap_or_default();
        // The latest first: the end of a campaign lets those proceed that wait for it.
        for id in campaigns.into_iter().rev() {
            self.withdraw(id, Reason::new(PMIX_ERR_JOB_CANCELED, CANCELLED), cx);
        }
        for id in requests {
            self.withdraw_request(id, PMIX_ERR_JOB_CANCELED, CANCELLED, cx);
        }
        self.run_activated(cx);
    }

    /// Ends a campaign that has not begun as failed, and tells its requester. False for a campaign that has begun
    /// (spec E38).
    pub(super) fn withdraw(&mut self, id: CampaignId, why: Reason, cx: &mut Cx) -> bool {
        let is_pending = self.elastic.campaigns.open.get(&id).is_some_and(Campaign::is_pending);
        if is_pending {
            self.close_campaign(id, Some(why), cx);
        }
        is_pending
    }
}
