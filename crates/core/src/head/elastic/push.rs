//! Pushes: changes of the DVM's size that a scheduler makes without a requester (spec E41). They use the same
//! campaigns as other changes. Two things differ: nobody gets a completion event, and the new nodes belong to the
//! DVM, for everybody.

use ferrite_wire::control::Reply;
use ferrite_wire::{Resize, ResizeOutcome, ResizeRequest, SessionTerms};

use super::plan::Reason;
use super::requester::Requester;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_SUPPORTED};

impl Head {
    /// Handles the push of a client with the right of a scheduler. The client gets the reply, and no event (spec
    /// E41).
    pub(in crate::head) fn on_push(&mut self, id: RequestId, request: &ResizeRequest, cx: &mut Cx) {
        if let Err(Reason { status, cause }) = check(request) {
            let outcome = ResizeOutcome::Refused { status, cause };
            let resize = Resize { alloc_id: None, req_id: None, session: None, nodes: Vec::new(), outcome };
            return cx.reply(id, Reply::Resize(Box::new(resize)));
        }
        let wait = match request {
            ResizeRequest::Grow(grow) => grow.wait,
            ResizeRequest::Shrink(shrink) => shrink.wait,
            ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => false,
        };
        let (campaign, resize) = self.resize(request, Requester::Pushed(wait.then_some(id)), cx);
        if !(wait && resize.outcome == ResizeOutcome::Begun) {
            cx.reply(id, Reply::Resize(Box::new(resize)));
        }
        self.go_on_after(campaign, cx);
    }
}

/// Refuses requests that a push cannot make.
fn check(request: &ResizeRequest) -> Result<(), Reason> {
    let refuse = |status, cause: &str| Err(Reason::new(status, cause));
    match request {
        ResizeRequest::Grow(grow) if grow.terms != SessionTerms::default() => refuse(
            PMIX_ERR_BAD_PARAM,
            "Nodes that are pushed are for everybody: they are not reserved, and have no time limit and no heirs.",
        ),
        ResizeRequest::Grow(grow) if grow.rm_job.is_some() => refuse(
            PMIX_ERR_NOT_SUPPORTED,
            "The nodes of a job of the resource manager cannot be pushed: ask for them (pdvm grow --rm-job).",
        ),
        ResizeRequest::Grow(_) | ResizeRequest::Shrink(_) => Ok(()),
        ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => {
            refuse(PMIX_ERR_BAD_PARAM, "Only nodes that come or go can be pushed.")
        }
    }
}
