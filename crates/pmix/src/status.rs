//! Status codes of PMIx, which are also its event codes.

use ferrite_pmix_sys as sys;
use serde::{Deserialize, Serialize};

/// A status or event code. Negative values are errors or events; zero is success.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Status(pub i32);

impl Status {
    /// Done.
    pub const SUCCESS: Self = Self(sys::PMIX_SUCCESS as i32);
    /// Done at once; no callback will follow.
    pub const OPERATION_SUCCEEDED: Self = Self(sys::PMIX_OPERATION_SUCCEEDED);
    /// Something failed for an unknown reason.
    pub const ERROR: Self = Self(sys::PMIX_ERROR);
    /// Some of what was asked for is there.
    pub const PARTIAL_SUCCESS: Self = Self(sys::PMIX_ERR_PARTIAL_SUCCESS);
    /// This environment does not offer the service.
    pub const NOT_SUPPORTED: Self = Self(sys::PMIX_ERR_NOT_SUPPORTED);
    /// The service lacks something now.
    pub const NOT_AVAILABLE: Self = Self(sys::PMIX_ERR_NOT_AVAILABLE);
    /// The caller may not do this.
    pub const NO_PERMISSIONS: Self = Self(sys::PMIX_ERR_NO_PERMISSIONS);
    /// No such key, process or namespace.
    pub const NOT_FOUND: Self = Self(sys::PMIX_ERR_NOT_FOUND);
    /// The caller's own deadline passed.
    pub const TIMEOUT: Self = Self(sys::PMIX_ERR_TIMEOUT);
    /// The job was ended by request.
    pub const JOB_KILLED_BY_CMD: Self = Self(-183);
    /// A participant is gone.
    pub const LOST_CONNECTION: Self = Self(sys::PMIX_ERR_LOST_CONNECTION);
    /// The peer cannot be reached.
    pub const UNREACHABLE: Self = Self(sys::PMIX_ERR_UNREACH);
    /// An argument makes no sense.
    pub const BAD_PARAM: Self = Self(sys::PMIX_ERR_BAD_PARAM);
    /// A resource does not suffice.
    pub const OUT_OF_RESOURCE: Self = Self(sys::PMIX_ERR_OUT_OF_RESOURCE);
    /// The library is not running (any more).
    pub const NOT_RUNNING: Self = Self(sys::PMIX_ERR_INIT);
    /// Event: a process died by a signal or an abort.
    pub const PROC_ABORTED: Self = Self(sys::PMIX_ERR_PROC_ABORTED);
    /// Event: a process asked for an abort.
    pub const PROC_REQUESTED_ABORT: Self = Self(sys::PMIX_ERR_PROC_REQUESTED_ABORT);
    /// Event: a process ended without PMIx_Finalize.
    pub const PROC_TERM_WO_SYNC: Self = Self(sys::PMIX_ERR_PROC_TERM_WO_SYNC);
    /// Event: a process was ended by order.
    pub const PROC_KILLED_BY_CMD: Self = Self(sys::PMIX_ERR_PROC_KILLED_BY_CMD);
    /// Event: a process could not be started.
    pub const PROC_FAILED_TO_START: Self = Self(sys::PMIX_ERR_PROC_FAILED_TO_START);
    /// Event: a process was ended by a signal.
    pub const PROC_ABORTED_BY_SIG: Self = Self(sys::PMIX_ERR_PROC_ABORTED_BY_SIG);
    /// Event: a process ended with an exit code other than zero.
    pub const EXIT_NONZERO_TERM: Self = Self(sys::PMIX_ERR_EXIT_NONZERO_TERM);
    /// Event: nothing more is heard of a process, because its node or its daemon is gone.
    pub const COMM_FAILURE: Self = Self(sys::PMIX_ERR_COMM_FAILURE);
    /// Event: a process waits for a debugger.
    pub const READY_FOR_DEBUG: Self = Self(sys::PMIX_READY_FOR_DEBUG);
    /// Event: a job runs.
    pub const EVENT_JOB_START: Self = Self(sys::PMIX_EVENT_JOB_START);
    /// Lets processes go on that wait for a debugger.
    pub const DEBUGGER_RELEASE: Self = Self(sys::PMIX_DEBUGGER_RELEASE);
    /// Event: a job has ended.
    pub const EVENT_JOB_END: Self = Self(sys::PMIX_EVENT_JOB_END);
    /// Event: the DVM has the requested size. No bound release has a name for it.
    pub const DVM_IS_READY: Self = Self(-195);
    /// Event: the time of an allocation is nearly over. As [`Status::DVM_IS_READY`].
    pub const ALLOC_TIMEOUT_WARNING: Self = Self(-194);
    /// Event: the DVM could not get the requested size. As [`Status::DVM_IS_READY`].
    pub const DVM_MOD: Self = Self(-196);

    /// The end of standard input was taken.
    pub const IOF_COMPLETE: Self = Self(sys::PMIX_ERR_IOF_COMPLETE);

    /// `Ok` for success in either of its two forms.
    ///
    /// # Errors
    /// The status itself when it is none of them.
    pub fn into_result(self) -> Result<(), Self> {
        if self == Self::SUCCESS || self == Self::OPERATION_SUCCEEDED { Ok(()) } else { Err(self) }
    }

    fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::SUCCESS => "SUCCESS",
            Self::OPERATION_SUCCEEDED => "OPERATION_SUCCEEDED",
            Self::ERROR => "ERROR",
            Self::PARTIAL_SUCCESS => "ERR_PARTIAL_SUCCESS",
            Self::NOT_SUPPORTED => "ERR_NOT_SUPPORTED",
            Self::NOT_AVAILABLE => "ERR_NOT_AVAILABLE",
            Self::NO_PERMISSIONS => "ERR_NO_PERMISSIONS",
            Self::NOT_FOUND => "ERR_NOT_FOUND",
            Self::TIMEOUT => "ERR_TIMEOUT",
            Self::LOST_CONNECTION => "ERR_LOST_CONNECTION",
            Self::UNREACHABLE => "ERR_UNREACH",
            Self::OUT_OF_RESOURCE => "ERR_OUT_OF_RESOURCE",
            Self::BAD_PARAM => "ERR_BAD_PARAM",
            Self::NOT_RUNNING => "ERR_INIT",
            Self::PROC_ABORTED => "ERR_PROC_ABORTED",
            Self::PROC_REQUESTED_ABORT => "ERR_PROC_REQUESTED_ABORT",
            Self::PROC_TERM_WO_SYNC => "ERR_PROC_TERM_WO_SYNC",
            Self::PROC_KILLED_BY_CMD => "ERR_PROC_KILLED_BY_CMD",
            Self::PROC_FAILED_TO_START => "ERR_PROC_FAILED_TO_START",
            Self::PROC_ABORTED_BY_SIG => "ERR_PROC_ABORTED_BY_SIG",
            Self::EXIT_NONZERO_TERM => "ERR_EXIT_NONZERO_TERM",
            Self::COMM_FAILURE => "ERR_COMM_FAILURE",
            Self::EVENT_JOB_START => "EVENT_JOB_START",
            Self::EVENT_JOB_END => "EVENT_JOB_END",
            Self::DVM_IS_READY => "DVM_IS_READY",
            Self::DVM_MOD => "ERR_DVM_MOD",
            Self::IOF_COMPLETE => "ERR_IOF_COMPLETE",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "PMIX_{name} ({})", self.0),
            None => write!(f, "PMIx status {}", self.0),
        }
    }
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Status {}
