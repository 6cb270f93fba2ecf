//! Requesters of campaigns: each hears of the end by the reply to its request, by an event, or not at all.

use ferrite_types::{AllocReqId, DaemonRank, JobId, ProcId, SessionId};
use ferrite_wire::control::Reply;
use ferrite_wire::{DaemonMessage, Resize, ResizeOutcome, SessionTerms};

use super::campaigns::Campaign;
use super::plan::Reason;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::jobs::Job;
use crate::head::sessions::Owner;
use crate::{Effect, RequestId};

/// The addressee of a campaign's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::head) enum Requester {
    /// Nobody: the campaign is a job's own `--add-host`, or the requester is gone.
    Nobody,
    /// A scheduler that has pushed the change. With a request here it waits, and the outcome is the reply.
    Pushed(Option<RequestId>),
    /// A client that waits: the outcome is the reply to its request.
    Waiting(RequestId),
    /// A client that got its reply at the beginning, and may take events.
    Answered(RequestId),
    /// A process, reached through its daemon.
    Proc(ProcId, DaemonRank),
    /// The head itself: nodes for an offer to the elastic job with this root (spec E69).
    Offer(JobId),
    /// A client that has ordered a session; the reply comes when the session is there.
    OrderedBy(RequestId),
    /// A process or tool that has ordered a session: its daemon, and the number of its question there.
    OrderedAt(DaemonRank, u64),
}

impl Requester {
    /// True for the client with this request.
    pub(in crate::head) fn is(self, request: RequestId) -> bool {
        match self {
            Requester::Waiting(own) | Requester::Answered(own) | Requester::OrderedBy(own) => own == request,
            Requester::Pushed(waits) => waits == Some(request),
            Requester::Nobody | Requester::Offer(_) | Requester::Proc(..) | Requester::OrderedAt(..) => false,
        }
    }

    /// True for what a scheduler has pushed.
    pub(super) fn is_scheduler(self) -> bool {
        matches!(self, Requester::Pushed(_))
    }
}

impl Head {
    pub(super) fn tell_requester(&mut self, campaign: &Campaign, failure: Option<&Reason>, cx: &mut Cx) {
        let outcome = match failure {
            None => ResizeOutcome::Done,
            Some(Reason { status, cause }) => ResizeOutcome::Failed { status: *status, cause: cause.clone() },
        };
        let nodes = campaign.all_nodes();
        let resize = self.resize_of(&campaign.alloc_id, campaign.req_id.as_ref(), &nodes, outcome);
        self.tell(campaign.requester, resize, cx);
    }

    /// Tells the requester the outcome: the second phase (spec G8).
    pub(super) fn tell(&mut self, requester: Requester, resize: Resize, cx: &mut Cx) {
        match requester {
            Requester::Nobody | Requester::Pushed(None) => {}
            Requester::Waiting(request) | Requester::Pushed(Some(request)) => {
                cx.reply(request, Reply::Resize(Box::new(resize)))
            }
            Requester::Offer(root) => self.on_nodes_for_offer(root, &resize, cx),
            Requester::OrderedBy(request) => {
                let reply = match resize.outcome {
                    ResizeOutcome::Failed { cause, .. } => Reply::Refused(cause),
                    ResizeOutcome::Refused { .. }
                    | ResizeOutcome::Unchanged
                    | ResizeOutcome::Begun
                    | ResizeOutcome::Requested { .. }
                    | ResizeOutcome::Done => Reply::Ordered,
                };
                cx.reply(request, reply);
            }
            Requester::OrderedAt(daemon, id) => {
                let result = match resize.outcome {
                    ResizeOutcome::Failed { status, .. } => Err(status),
                    ResizeOutcome::Refused { .. }
                    | ResizeOutcome::Unchanged
                    | ResizeOutcome::Begun
                    | ResizeOutcome::Requested { .. }
                    | ResizeOutcome::Done => Ok(()),
                };
                cx.send(daemon, DaemonMessage::SessionReply { id, result });
            }
            Requester::Answered(_) | Requester::Proc(..) if !self.is_elastic() => {}
            Requester::Answered(request) => cx.effect(Effect::Resized { request, resize: Box::new(resize) }),
            Requester::Proc(proc, daemon) => {
                cx.send(daemon, DaemonMessage::ResizeDone { proc, resize: Box::new(resize) });
            }
        }
    }

    /// Forgets a requester that is gone; its campaign goes on (spec E37).
    pub(in crate::head) fn forget_requester(&mut self, request: RequestId, cx: &mut Cx) {
        self.elastic.campaigns.forget_requester(request);
        self.elastic.forget_sizer(request);
        self.sessions.forget_requester(request);
        self.withdraw_of_client(request, cx);
    }

    /// Opens the session of a request; its requester owns it.
    pub(super) fn open_session(
        &mut self,
        req_id: Option<AllocReqId>,
        requester: Requester,
        terms: &SessionTerms,
    ) -> SessionId {
        let owner = Owner::of(requester);
        let session = owner.as_ref().and_then(Owner::job).and_then(|job| self.jobs.get(job)).map(Job::session);
        let parent = session.filter(|session| *session != SessionId::DVM);
        self.sessions.open(req_id, owner, parent, terms)
    }
}
