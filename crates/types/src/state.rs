//! States of jobs and processes with the field's names and numbers (docs/spec/launch.md lists them).

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! states {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $number:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $number,)* }

        impl $name {
            /// Every state, in the order of its number.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            /// The field's name without its prefix, e.g. `VM_READY`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
            /// The field's number.
            #[must_use]
            pub const fn number(self) -> u8 { self as u8 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }
    };
}

states! {
    /// State of a job; the daemons' own job (0) uses the same table.
    JobState {
        /// Job record created.
        Init = 1, "INIT";
        /// Job id assigned.
        InitComplete = 2, "INIT_COMPLETE";
        /// Ready to ask for resources.
        Allocate = 3, "ALLOCATE";
        /// Resources are known.
        AllocationComplete = 4, "ALLOCATION_COMPLETE";
        /// Ready to place processes on nodes.
        Map = 5, "MAP";
        /// Placement is done.
        MapComplete = 6, "MAP_COMPLETE";
        /// Last checks before the launch.
        SystemPrep = 7, "SYSTEM_PREP";
        /// Ready to start daemons.
        LaunchDaemons = 8, "LAUNCH_DAEMONS";
        /// The launcher was started; daemons are to report.
        DaemonsLaunched = 9, "DAEMONS_LAUNCHED";
        /// All expected daemons reported.
        DaemonsReported = 10, "DAEMONS_REPORTED";
        /// Every daemon acknowledged the wireup.
        VmReady = 11, "VM_READY";
        /// Ready to send launch orders.
        LaunchApps = 12, "LAUNCH_APPS";
        /// Launch order assembled and sent.
        SendLaunchMsg = 13, "SEND_LAUNCH_MSG";
        /// Every process is forked.
        Running = 14, "RUNNING";
        /// Every process called `PMIx_Init`.
        Registered = 16, "REGISTERED";
        /// Parked by the launch fence.
        WaitingForDaemons = 17, "WAITING_FOR_DAEMONS";
        /// A first daemon has attempted its processes.
        LocalLaunchComplete = 18, "LOCAL_LAUNCH_COMPLETE";
        /// Every process has said that it waits for a debugger.
        ReadyForDebug = 19, "READY_FOR_DEBUG";
        /// At least one process is forked.
        Started = 20, "STARTED";
        /// Boundary: below it a job still runs.
        Unterminated = 30, "UNTERMINATED";
        /// Every process ended and its output is through.
        Terminated = 31, "TERMINATED";
        /// No job is left.
        AllJobsComplete = 32, "ALL_JOBS_COMPLETE";
        /// Every daemon is gone.
        DaemonsTerminated = 33, "DAEMONS_TERMINATED";
        /// The requester is to be told.
        NotifyCompleted = 34, "NOTIFY_COMPLETED";
        /// The requester was told.
        Notified = 35, "NOTIFIED";
        /// Boundary: from here on a job has failed.
        Error = 50, "ERROR";
        /// Ended on request.
        KilledByCmd = 51, "KILLED_BY_CMD";
        /// A process called abort for the whole job.
        Aborted = 52, "ABORTED";
        /// A process could not be started.
        FailedToStart = 53, "FAILED_TO_START";
        /// A process died of a signal.
        AbortedBySig = 54, "ABORTED_BY_SIG";
        /// A process left without finalizing.
        AbortedWoSync = 55, "ABORTED_WO_SYNC";
        /// A daemon with processes of the job was lost.
        CommFailed = 56, "COMM_FAILED";
        /// A process called abort for itself alone.
        CalledAbort = 59, "CALLED_ABORT";
        /// Given up before anything started.
        NeverLaunched = 60, "NEVER_LAUNCHED";
        /// A process ended with a non-zero code.
        NonZeroTerm = 62, "NON_ZERO_TERM";
        /// The DVM is ended by force.
        ForcedExit = 64, "FORCED_EXIT";
        /// The nodes that it is to have are not there.
        AllocFailed = 68, "ALLOC_FAILED";
        /// Placement is impossible.
        MapFailed = 69, "MAP_FAILED";
        /// No node could start one of its programs.
        CannotLaunch = 70, "CANNOT_LAUNCH";
    }
}

states! {
    /// State of one application process.
    ProcState {
        /// Entry made by placement.
        Init = 1, "INIT";
        /// Forked.
        Running = 4, "RUNNING";
        /// Called `PMIx_Init`.
        Registered = 5, "REGISTERED";
        /// All its output pipes closed.
        IofComplete = 6, "IOF_COMPLETE";
        /// `waitpid` saw its end.
        WaitpidFired = 7, "WAITPID_FIRED";
        /// Said that it waits for a debugger.
        ReadyForDebug = 9, "READY_FOR_DEBUG";
        /// Boundary: below it a process still runs.
        Unterminated = 15, "UNTERMINATED";
        /// Both of the above, and cleaned up.
        Terminated = 20, "TERMINATED";
        /// Boundary: from here on it ended abnormally.
        Error = 50, "ERROR";
        /// Ended on request.
        KilledByCmd = 51, "KILLED_BY_CMD";
        /// Could not be started.
        FailedToStart = 53, "FAILED_TO_START";
        /// Died of a signal.
        AbortedBySig = 54, "ABORTED_BY_SIG";
        /// Left without finalizing.
        TermWoSync = 55, "TERM_WO_SYNC";
        /// Its daemon was lost.
        CommFailed = 56, "COMM_FAILED";
        /// Called abort.
        CalledAbort = 58, "CALLED_ABORT";
        /// Ended with a non-zero code.
        TermNonZero = 62, "TERM_NON_ZERO";
    }
}

impl JobState {
    /// The states that only separate the others, and that no job enters.
    pub const BOUNDARIES: [JobState; 2] = [JobState::Unterminated, JobState::Error];

    /// True while the job still runs (spec L1).
    #[must_use]
    pub fn is_unterminated(self) -> bool {
        self < JobState::Unterminated
    }
    /// True when the job has failed.
    #[must_use]
    pub fn is_error(self) -> bool {
        self >= JobState::Error
    }
}

/// The kind of a job's failure, by the state that it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// The nodes that it is to have are not there.
    NoNodes,
    /// Its nodes have no room for it.
    NoRoom,
    /// A daemon with processes of it was lost.
    LostDaemon,
    /// It was ended by order.
    Order,
    /// A process could not be started, or the launch was given up.
    Start,
    /// A process that was started has ended abnormally.
    Process,
}

impl JobState {
    /// The kind of the failure; `None` for a state of a job that has not failed.
    #[must_use]
    pub fn failure(self) -> Option<JobFailure> {
        match self {
            JobState::AllocFailed => Some(JobFailure::NoNodes),
            JobState::MapFailed => Some(JobFailure::NoRoom),
            JobState::CommFailed => Some(JobFailure::LostDaemon),
            JobState::KilledByCmd => Some(JobFailure::Order),
            JobState::FailedToStart | JobState::CannotLaunch | JobState::NeverLaunched | JobState::ForcedExit => {
                Some(JobFailure::Start)
            }
            JobState::Aborted
            | JobState::AbortedBySig
            | JobState::AbortedWoSync
            | JobState::CalledAbort
            | JobState::NonZeroTerm => Some(JobFailure::Process),
            JobState::Init
            | JobState::InitComplete
            | JobState::Allocate
            | JobState::AllocationComplete
            | JobState::Map
            | JobState::MapComplete
            | JobState::SystemPrep
            | JobState::LaunchDaemons
            | JobState::DaemonsLaunched
            | JobState::DaemonsReported
            | JobState::VmReady
            | JobState::LaunchApps
            | JobState::SendLaunchMsg
            | JobState::Running
            | JobState::Registered
            | JobState::WaitingForDaemons
            | JobState::LocalLaunchComplete
            | JobState::ReadyForDebug
            | JobState::Started
            | JobState::Unterminated
            | JobState::Terminated
            | JobState::AllJobsComplete
            | JobState::DaemonsTerminated
            | JobState::NotifyCompleted
            | JobState::Notified
            | JobState::Error => None,
        }
    }
}

impl ProcState {
    /// The states that only separate the others, and that no process enters.
    pub const BOUNDARIES: [ProcState; 2] = [ProcState::Unterminated, ProcState::Error];

    /// True when the process ended, well or badly (spec L2).
    #[must_use]
    pub fn has_ended(self) -> bool {
        self >= ProcState::Unterminated
    }
    /// True when it ended abnormally.
    #[must_use]
    pub fn is_error(self) -> bool {
        self >= ProcState::Error
    }
}
