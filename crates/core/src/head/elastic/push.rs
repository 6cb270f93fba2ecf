//! Changes of the DVM's size that a scheduler pushes: nodes come and go because it says so, and nobody has asked for
//! them (spec E41). They walk through the same campaigns as others. What differs: no completion event goes to anybody,
//! and what comes is nobody's own: the nodes are the DVM's, for everybody.

use ferrite_wire::control::Reply;
use ferrite_wire::{Resize, ResizeOutcome, ResizeRequest, SessionTerms};

use super::campaigns::Trouble;
use super::requester::Requester;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_SUPPORTED};

impl Head {
    /// A client with the right of a scheduler pushes a change: it is the answer that it hears, and nothing else (spec
    /// E41).
    pub(in crate::head) fn on_push(&mut self, id: RequestId, request: &ResizeRequest, cx: &mut Cx) {
        if let Err(Trouble { status, cause }) = check(request) {
            let outcome = ResizeOutcome::Refused { status, cause };
            let resize = Resize { alloc_id: String::new(), req_id: None, session: None, nodes: Vec::new(), outcome };
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
        campaign.into_iter().for_each(|campaign| self.proceed(campaign, cx));
    }
}

/// What cannot be pushed.
fn check(request: &ResizeRequest) -> Result<(), Trouble> {
    let refuse = |status, cause: &str| Err(Trouble::new(status, cause));
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
