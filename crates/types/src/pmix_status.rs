//! PMIx status codes of refused and failed requests (PMIx standard, status codes).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A PMIx status: negative for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PmixStatus(pub i32);

/// A failure of unknown cause.
pub const PMIX_ERROR: PmixStatus = PmixStatus(-1);
/// A request with invalid parameters.
pub const PMIX_ERR_BAD_PARAM: PmixStatus = PmixStatus(-27);
/// A key that is published already.
pub const PMIX_ERR_DUPLICATE_KEY: PmixStatus = PmixStatus(-53);
/// An operation that is not possible in the present state.
pub const PMIX_ERR_INVALID_OPERATION: PmixStatus = PmixStatus(-158);
/// An object that exists already.
pub const PMIX_ERR_EXISTS: PmixStatus = PmixStatus(-11);
/// The job, or the request, was ended before it began.
pub const PMIX_ERR_JOB_CANCELED: PmixStatus = PmixStatus(-180);
/// A process, or a daemon, could not be started.
pub const PMIX_ERR_JOB_FAILED_TO_LAUNCH: PmixStatus = PmixStatus(-181);
/// The nodes for the job are missing.
pub const PMIX_ERR_JOB_ALLOC_FAILED: PmixStatus = PmixStatus(-188);
/// The job was ended by request.
pub const PMIX_ERR_JOB_KILLED_BY_CMD: PmixStatus = PmixStatus(-183);
/// A participant, or a daemon, is gone.
pub const PMIX_ERR_LOST_CONNECTION: PmixStatus = PmixStatus(-61);
/// An object that does not exist.
pub const PMIX_ERR_NOT_FOUND: PmixStatus = PmixStatus(-46);
/// An operation that is not supported here.
pub const PMIX_ERR_NOT_SUPPORTED: PmixStatus = PmixStatus(-47);
/// An object that belongs to others.
pub const PMIX_ERR_NO_PERMISSIONS: PmixStatus = PmixStatus(-23);
/// A resource that does not suffice.
pub const PMIX_ERR_OUT_OF_RESOURCE: PmixStatus = PmixStatus(-29);
/// A resource that is in use.
pub const PMIX_ERR_RESOURCE_BUSY: PmixStatus = PmixStatus(-28);
/// A limit of time that has passed.
pub const PMIX_ERR_TIMEOUT: PmixStatus = PmixStatus(-24);
/// Event: all processes of a job are started.
pub const PMIX_LAUNCH_COMPLETE: PmixStatus = PmixStatus(-174);
/// Event: the time of an allocation, or of some of its nodes, is nearly up.
pub const PMIX_ALLOC_TIMEOUT_WARNING: PmixStatus = PmixStatus(-194);
/// Event of this DVM (below `PMIX_EXTERNAL_ERR_BASE`): nodes that were announced to leave stay (spec E53).
pub const FERRITE_NODES_STAY: PmixStatus = PmixStatus(-3_001);
/// Event of this DVM: an elastic job may have more processes (spec E54).
pub const FERRITE_GROWTH_OFFERED: PmixStatus = PmixStatus(-3_002);
/// Event: a job runs.
pub const PMIX_EVENT_JOB_START: PmixStatus = PmixStatus(-191);
/// Event: a job is over.
pub const PMIX_EVENT_JOB_END: PmixStatus = PmixStatus(-145);
/// Event: a process was started again.
pub const PMIX_ERR_PROC_RESTART: PmixStatus = PmixStatus(-4);
/// Event: a process has ended.
pub const PMIX_EVENT_PROC_TERMINATED: PmixStatus = PmixStatus(-201);
/// Event: a member of a group is gone.
pub const PMIX_GROUP_MEMBER_FAILED: PmixStatus = PmixStatus(-170);
/// A service that lacks something now.
pub const PMIX_ERR_NOT_AVAILABLE: PmixStatus = PmixStatus(-64);
/// Some of what was asked for is done.
pub const PMIX_ERR_PARTIAL_SUCCESS: PmixStatus = PmixStatus(-52);
/// The DVM is ending.
pub const PMIX_ERR_UNREACH: PmixStatus = PmixStatus(-25);

impl fmt::Display for PmixStatus {
    /// The number, as libraries print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
