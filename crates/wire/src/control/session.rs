//! Sessions in requests: their names, and orders for them.

use ferrite_types::{AllocId, AllocReqId, SessionId, Signal};
use serde::{Deserialize, Serialize};

use super::Submission;
use crate::GrowRequest;

/// An order for a session (`PMIx_Session_control`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionDirective {
    /// Makes a session with this number: on an existing allocation, whose nodes it shares, or with nodes of its own.
    /// The answer comes when these are there.
    Instantiate(Box<GrowRequest>),
    /// Stops its processes and holds its jobs.
    Pause,
    /// Resumes its processes and jobs.
    Resume,
    /// Signals its processes.
    Signal(Signal),
    /// Ends its jobs and the sessions that depend on it; the nodes that it has brought leave the DVM.
    Terminate,
    /// Extends its time limit.
    Extend {
        /// The additional time (seconds).
        seconds: u32,
    },
    /// Lets it outlive its parent and its owner.
    Separate,
}

/// An order for sessions that a process or a tool gives by PMIx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrder {
    /// The session; `None` = all but the DVM's own.
    pub session: Option<SessionId>,
    /// The order.
    pub directive: SessionDirective,
    /// The first job of a new session, which starts as soon as the session is there. It has no submitter.
    pub job: Option<Box<Submission>>,
}

/// The name of a session in a submission or request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionChoice {
    /// No name: the parent job's session, else the DVM's own.
    #[default]
    Default,
    /// `--session-id`.
    Id(SessionId),
    /// `--alloc-id`.
    Alloc(AllocId),
    /// `--alloc-refid`: the requester's name for it.
    Ref(AllocReqId),
}
