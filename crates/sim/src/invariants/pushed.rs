//! Guarantee: nodes that are pushed belong to nobody: the answer names no session, and no session has the id of their
//! allocation later (spec E41). A push into an allocation that it names is another matter.

use std::collections::BTreeSet;

use ferrite_core::{Effect, HeadInput, Input, RequestId};
use ferrite_types::{AllocId, SessionId};
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{Resize, ResizeOutcome, ResizeRequest};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct NobodysNodes {
    /// Pushes of nodes that have no answer yet.
    open: BTreeSet<RequestId>,
    /// The ids of the allocations of pushes.
    pushed: BTreeSet<AllocId>,
}

impl NobodysNodes {
    fn answered(&mut self, request: RequestId, resize: &Resize) -> Result<(), String> {
        if !self.open.remove(&request) || matches!(resize.outcome, ResizeOutcome::Refused { .. }) {
            return Ok(());
        }
        self.pushed.extend(resize.alloc_id.clone());
        let nobodys = resize.session.is_none_or(|session| session == SessionId(0));
        require(nobodys, || format!("a push has made session {:?}", resize.session))
    }
}

impl Invariant for NobodysNodes {
    fn name(&self) -> &'static str {
        "what is pushed belongs to nobody"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input {
                input: Input::Head(HeadInput::Request { id, request: Request::Push(request) }),
                ..
            } => {
                if matches!(&**request, ResizeRequest::Grow(grow) if grow.alloc_id.is_none()) {
                    self.open.insert(*id);
                }
                Ok(())
            }
            Observation::Effect { effect: Effect::Reply { request, reply: Reply::Resize(resize) }, .. } => {
                self.answered(*request, resize)
            }
            Observation::Effect { effect: Effect::Reply { reply: Reply::Sessions(sessions), .. }, .. } => {
                let owned = sessions.iter().find(|session| self.pushed.contains(&session.alloc_id));
                require(owned.is_none(), || format!("a session owns what was pushed: {owned:?}"))
            }
            _ => Ok(()),
        }
    }
}
