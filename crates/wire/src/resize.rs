//! Requests to change the size of the DVM, and their answers: from clients over the control socket, and from
//! processes through their daemon (`PMIx_Allocation_request`).

use ferrite_types::{AllocId, AllocReqId, HostEntry, HostRef, JobId, PmixStatus, SessionId};
use serde::{Deserialize, Serialize};

/// The slots of a node in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotChange {
    /// Unstated: its present slots, or as many as it has cores.
    #[default]
    Unstated,
    /// This number of slots.
    Set(u32),
    /// This number of slots more, or fewer, than it has.
    Adjust(i32),
}

/// A node to add to the DVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedHost {
    /// Name, login and port; its own `slots` are ignored.
    pub host: HostEntry,
    /// The node's slots.
    pub slots: SlotChange,
}

/// Nodes of the pool to activate (`--activate`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// All nodes of the pool.
    All,
    /// These nodes of the pool.
    Nodes(Vec<HostRef>),
}

/// A request for more nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowRequest {
    /// Nodes by name, in the pool or not.
    pub hosts: Vec<AddedHost>,
    /// Nodes of the pool to activate.
    pub activate: Vec<Activation>,
    /// The number of further nodes of the DVM's choice.
    pub count: u32,
    /// The number of slots of nodes of the DVM's choice, instead of any other nodes; 0 = not requested.
    pub slots: u32,
    /// The queue of the resource manager that grants them, instead of the pool.
    pub queue: Option<String>,
    /// A job of the resource manager that the requester has obtained for the DVM: all its nodes, instead of any
    /// others.
    pub rm_job: Option<String>,
    /// The allocation that gets them; `None` = a new one.
    pub alloc_id: Option<AllocId>,
    /// The requester's own name for the request, which answers repeat (`PMIX_ALLOC_REQ_ID`).
    pub req_id: Option<AllocReqId>,
    /// The terms of the session that the nodes make.
    pub terms: SessionTerms,
    /// True for an answer at the end, false for one at the beginning.
    pub wait: bool,
}

impl GrowRequest {
    /// True when the DVM has to choose nodes.
    #[must_use]
    pub fn leaves_a_choice(&self) -> bool {
        self.count > 0 || self.slots > 0
    }
}

/// The terms of a session besides its nodes (docs/spec/sessions.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTerms {
    /// Withhold the nodes from jobs of other sessions.
    pub reserve: bool,
    /// The inheritance when the owning job ends; `None` = unchanged, at first the default.
    pub inheritance: Option<Inheritance>,
    /// True for a session that does not end with the session of its requester.
    pub separate: bool,
    /// The time limit of the session (seconds).
    pub time_limit_s: Option<u32>,
    /// The lead time of the warning before the limit (seconds).
    pub warn_s: Option<u32>,
}

/// The inheritance: when a session ends with its owner, and whether its nodes stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inheritance {
    /// With the owner's job; the nodes stay in the DVM, for everybody.
    #[default]
    Default,
    /// With the owner's job; the nodes leave the DVM.
    None,
    /// With the last job that the owner has spawned; the nodes leave the DVM.
    Child,
    /// With the last job that the owner has spawned; the nodes stay in the DVM, for everybody.
    ChildDefault,
}

/// A request for fewer nodes. Conditions are combined: nodes *of* an allocation, a count *of* an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShrinkRequest {
    /// Nodes by name.
    pub nodes: Vec<String>,
    /// The number of nodes of the DVM's choice: idle ones first, the latest first.
    pub count: u32,
    /// The allocation that gives them back; alone it means all of its nodes.
    pub alloc_id: Option<AllocId>,
    /// The requester's own name for the request.
    pub req_id: Option<AllocReqId>,
    /// The longest time that processes on these nodes may have (seconds), whatever their jobs have asked for; `None` =
    /// no limit, 0 = nobody is told.
    pub grace_s: Option<u32>,
    /// True for a shrink that elastic jobs cannot refuse, whatever size it leaves them.
    pub force: bool,
    /// True for an answer at the end, false for one at the beginning.
    pub wait: bool,
}

/// The cancellation of a request. Changes that have not begun are withdrawn; others go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// The allocation of the request.
    pub alloc_id: Option<AllocId>,
    /// The requester's own name for the request; with an allocation, both have to match.
    pub req_id: Option<AllocReqId>,
}

impl CancelRequest {
    /// True for a request with these names.
    #[must_use]
    pub fn names(&self, alloc_id: &AllocId, req_id: Option<&AllocReqId>) -> bool {
        self.alloc_id.as_ref().is_none_or(|asked| asked == alloc_id)
            && self.req_id.as_ref().is_none_or(|asked| req_id == Some(asked))
    }
}

/// A request for more time for a session with a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendRequest {
    /// The session's allocation, by id or by the requester's name; `None` = the session of the process's job.
    pub alloc_id: Option<AllocId>,
    /// The requester's own name for the request.
    pub req_id: Option<AllocReqId>,
    /// The additional time (seconds).
    pub seconds: u32,
}

/// A request for another size or more time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResizeRequest {
    /// More nodes.
    Grow(GrowRequest),
    /// Fewer nodes.
    Shrink(ShrinkRequest),
    /// The cancellation of an earlier request.
    Cancel(CancelRequest),
    /// The same nodes for a longer time.
    Extend(ExtendRequest),
}

/// The answer to a request, or its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resize {
    /// The allocation of the request; `None` in a refusal, and for a cancellation of several requests' changes.
    pub alloc_id: Option<AllocId>,
    /// The requester's own name from the request.
    pub req_id: Option<AllocReqId>,
    /// Number of the allocation's session (`PMIX_SESSION_ID`); `None` in a refusal, and when it has ended.
    pub session: Option<SessionId>,
    /// The nodes that come or go.
    pub nodes: Vec<String>,
    /// The progress of the request.
    pub outcome: ResizeOutcome,
}

/// The warning before the end of a session with a time limit (`PMIX_ALLOC_TIMEOUT_WARNING`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeWarning {
    /// The session's allocation.
    pub alloc_id: AllocId,
    /// The requester's own name for it.
    pub req_id: Option<AllocReqId>,
    /// The session's number.
    pub session: SessionId,
    /// The session's nodes.
    pub nodes: Vec<String>,
    /// The time that is left, rounded up (seconds).
    pub seconds_left: u32,
}

/// The progress or outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResizeOutcome {
    /// Refused; nothing was done.
    Refused {
        /// A PMIx status.
        status: PmixStatus,
        /// The cause, in words.
        cause: String,
    },
    /// The DVM has this size already; nothing follows.
    Unchanged,
    /// Accepted and begun; a notice of the end follows.
    Begun,
    /// Accepted, and the resource manager was asked for nodes; the DVM grows when it grants them. A notice of the end
    /// follows.
    Requested {
        /// The requested nodes, like `2 more nodes of Slurm`.
        what: String,
    },
    /// The DVM has the new size.
    Done,
    /// The change has failed; the DVM has its former size.
    Failed {
        /// A PMIx status.
        status: PmixStatus,
        /// The cause, in words.
        cause: String,
    },
}

/// A request for another size of an elastic job: of all processes of its spawn tree (spec E54, E57).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobResize {
    /// A job of the tree.
    pub job: JobId,
    /// The change.
    pub size: SizeChange,
    /// The time that the job has: for its answer to an offer, or for its processes to end (seconds). `None` = that of
    /// the job (`--grace`), or of the DVM (`ferrite_resize_time`).
    pub time_s: Option<u32>,
    /// True for a change that the job cannot refuse, and which may leave fewer processes than its smallest size.
    pub force: bool,
    /// True for an answer at the end, false for one at the beginning.
    pub wait: bool,
    /// The nodes that come first when too few slots are free for more processes (spec E69).
    pub nodes: Option<Box<GrowRequest>>,
}

/// A change of a job's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SizeChange {
    /// So many more processes.
    More(u32),
    /// So many fewer processes.
    Fewer(u32),
    /// So many processes in the end.
    To(u32),
}

/// The answer to a request for another size of a job, or its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobResized {
    /// The job of the request.
    pub job: JobId,
    /// The living processes of its spawn tree at this moment.
    pub size: u32,
    /// True for more processes, false for fewer.
    pub is_offer: bool,
    /// The processes that are offered, that the job has taken, that are to end, or that have ended.
    pub procs: u32,
    /// The progress of the request.
    pub outcome: JobResizeOutcome,
}

/// The progress or outcome of a request for another size of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobResizeOutcome {
    /// Refused, with the cause; nothing was done.
    Refused(String),
    /// The job has this size already; nothing follows.
    Unchanged,
    /// Begun: the job has been told, and has this time (seconds).
    Begun(u32),
    /// Begun: the nodes are on their way, and the job is told when they are there.
    NodesFirst,
    /// The job has taken what was offered, wholly or partly, or all processes have ended.
    Done,
    /// The job has its former size, for this cause.
    Failed(String),
}
