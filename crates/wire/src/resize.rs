//! Requests to change the size of the DVM, and how they are answered: by clients over the control socket, and by
//! processes through their daemon (`PMIx_Allocation_request`).

use ferrite_types::{HostEntry, HostRef, PmixStatus};
use serde::{Deserialize, Serialize};

/// What a request wants of a node's slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotChange {
    /// Nothing: what it has, or as many as it has cores.
    #[default]
    Unstated,
    /// So many.
    Set(u32),
    /// So many more, or fewer, than it has.
    Adjust(i32),
}

/// A node that is to be in the DVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedHost {
    /// Name, login and port; its own `slots` are not looked at.
    pub host: HostEntry,
    /// Its slots.
    pub slots: SlotChange,
}

/// Nodes of the pool that are to have a daemon (`--activate`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// Every one of them.
    All,
    /// These.
    Nodes(Vec<HostRef>),
}

/// More nodes for the DVM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowRequest {
    /// Nodes by name, in the pool or not.
    pub hosts: Vec<AddedHost>,
    /// Nodes of the pool.
    pub activate: Vec<Activation>,
    /// So many nodes of the DVM's choice, on top.
    pub count: u32,
    /// As many nodes of the DVM's choice as have so many slots together: instead of any others; 0 = that is not asked
    /// for.
    pub slots: u32,
    /// They come from this queue of the resource manager, and not from the pool.
    pub queue: Option<String>,
    /// All nodes of this job of the resource manager, which somebody has got for the DVM: instead of any others.
    pub rm_job: Option<String>,
    /// The allocation that gets them; `None` = a new one.
    pub alloc_id: Option<String>,
    /// The requester's own name for the request, echoed in what it hears (`PMIX_ALLOC_REQ_ID`).
    pub req_id: Option<String>,
    /// What is wanted of the session that the nodes make.
    pub terms: SessionTerms,
    /// Answer when it is true, not when it has begun.
    pub wait: bool,
}

impl GrowRequest {
    /// True when the DVM is to choose nodes.
    #[must_use]
    pub fn leaves_a_choice(&self) -> bool {
        self.count > 0 || self.slots > 0
    }
}

/// What is wanted of a session beyond its nodes (docs/spec/sessions.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTerms {
    /// Withhold the nodes from jobs of other sessions.
    pub reserve: bool,
    /// What becomes of it when the job ends whose process asked for it; `None` = as it is, at first the default.
    pub inheritance: Option<Inheritance>,
    /// It does not end with the session in which it was asked for.
    pub separate: bool,
    /// It ends after so many seconds.
    pub time_limit_s: Option<u32>,
    /// Its jobs are warned so many seconds before that.
    pub warn_s: Option<u32>,
}

/// When a session ends with its owner, and what becomes of its nodes.
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

/// Fewer nodes. What is given together must hold together: nodes *of* an allocation, a count *of* an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShrinkRequest {
    /// Nodes by name.
    pub nodes: Vec<String>,
    /// So many nodes of the DVM's choice: idle ones first, the latest first.
    pub count: u32,
    /// The allocation that gives them back; alone, all of its nodes.
    pub alloc_id: Option<String>,
    /// The requester's own name for the request.
    pub req_id: Option<String>,
    /// Answer when it is true, not when it has begun.
    pub wait: bool,
}

/// A request that is not wanted any more. What has not begun is withdrawn; what has begun goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// The allocation that was to come of it.
    pub alloc_id: Option<String>,
    /// The requester's own name for it; with an allocation, both have to fit.
    pub req_id: Option<String>,
}

impl CancelRequest {
    /// True for a request with these names.
    #[must_use]
    pub fn names(&self, alloc_id: &str, req_id: Option<&str>) -> bool {
        let fits = |own: Option<&str>, asked: &Option<String>| asked.as_deref().is_none_or(|asked| own == Some(asked));
        fits(Some(alloc_id), &self.alloc_id) && fits(req_id, &self.req_id)
    }
}

/// More time for a session that has a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendRequest {
    /// Its allocation, by id or by the requester's own name for it; `None` = the session of the job whose process asks.
    pub alloc_id: Option<String>,
    /// The requester's own name for the request.
    pub req_id: Option<String>,
    /// By so much.
    pub seconds: u32,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResizeRequest {
    /// More.
    Grow(GrowRequest),
    /// Fewer.
    Shrink(ShrinkRequest),
    /// Not what was asked for.
    Cancel(CancelRequest),
    /// As many, for longer.
    Extend(ExtendRequest),
}

/// What has become of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resize {
    /// The allocation that it is about; empty in a refusal.
    pub alloc_id: String,
    /// From the request.
    pub req_id: Option<String>,
    /// Number of the session that the allocation is (`PMIX_SESSION_ID`); `None` in a refusal, and when it has ended.
    pub session: Option<u32>,
    /// The nodes that come or go.
    pub nodes: Vec<String>,
    /// How far it has come.
    pub outcome: ResizeOutcome,
}

/// A session with a time limit is about to end (`PMIX_ALLOC_TIMEOUT_WARNING`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeWarning {
    /// Its allocation.
    pub alloc_id: String,
    /// The requester's own name for it.
    pub req_id: Option<String>,
    /// Its number.
    pub session: u32,
    /// What is left of its time, rounded up.
    pub seconds_left: u32,
}

/// See [`Resize`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResizeOutcome {
    /// Refused; nothing was done.
    Refused {
        /// A PMIx status.
        status: PmixStatus,
        /// Why, in words.
        cause: String,
    },
    /// It is so already; nothing more will be heard of it.
    Unchanged,
    /// Accepted and begun; its end will be told.
    Begun,
    /// Accepted; the resource manager has been asked for nodes, and the DVM grows when it grants them. The end will be
    /// told.
    Requested {
        /// What, as `2 more nodes of Slurm`.
        what: String,
    },
    /// The DVM has the new size.
    Done,
    /// It could not be done; the DVM has the size that it had.
    Failed {
        /// A PMIx status.
        status: PmixStatus,
        /// Why, in words.
        cause: String,
    },
}
