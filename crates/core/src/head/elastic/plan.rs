//! Plans of requests: what a change of the DVM's size is to do, found before anything changes.

use ferrite_types::{AllocId, AllocReqId, NodeId, PmixStatus, SessionId};
use ferrite_wire::{SessionTerms, SlotChange};

use super::phase::Change;

/// The gains of a session when a request succeeds.
#[derive(Clone, Debug, Default)]
pub(in crate::head) struct Joins {
    /// Nodes of the session: those that come, and those of the request that are there already.
    pub(in crate::head) nodes: Vec<NodeId>,
    pub(in crate::head) terms: SessionTerms,
    /// A session that shares this allocation; its job has brought the nodes for it.
    pub(in crate::head) shared_by: Option<SessionId>,
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
    pub(in crate::head) alloc_id: AllocId,
    pub(in crate::head) req_id: Option<AllocReqId>,
    /// True for a request; false for the end of a session.
    pub(in crate::head) is_requested: bool,
    /// Nodes that come or go; empty when the request is fulfilled already.
    pub(in crate::head) nodes: Vec<NodeId>,
}

/// The plan of a grow request, with the session that it makes or extends.
#[derive(Debug)]
pub(in crate::head) struct GrowPlan {
    /// The session; `None` = a new one.
    pub(in crate::head) session: Option<SessionId>,
    pub(in crate::head) req_id: Option<AllocReqId>,
    /// All nodes that the request names.
    pub(in crate::head) members: Vec<NodeId>,
    /// The named nodes that have no daemon yet.
    pub(in crate::head) nodes: Vec<NodeId>,
    /// The slots that the nodes get.
    pub(in crate::head) slots: Vec<(NodeId, SlotChange)>,
    /// The number of further nodes that the resource manager has to grant.
    pub(in crate::head) more: u32,
}
