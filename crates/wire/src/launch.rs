//! Launching a job, and how its processes ended.

use ferrite_types::{Device, EnvOp, ExitStatus, JobId, JobMap, JobSpec, ProcId, ProcState, Rank};
use serde::{Deserialize, Serialize};

/// What a daemon needs to start its processes of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// The job.
    pub job: JobId,
    /// The process that spawned it; `None` = a submitter did.
    pub parent: Option<ProcId>,
    /// The session that it runs in; 0 = the DVM's own (`PMIX_SESSION_ID`).
    pub session: u32,
    /// What was asked for.
    pub spec: JobSpec,
    /// Where everything runs.
    pub map: JobMap,
    /// Environment that the submitter forwards to every process, before each app's own changes.
    pub env: Vec<EnvOp>,
    /// Slots of the whole DVM (`PMIX_UNIV_SIZE`).
    pub univ_size: u32,
    /// True when leaving without finalize is no failure (`prte_allowed_exit_without_sync`).
    pub exit_without_sync_ok: bool,
    /// Devices that every node is taken to have, when a topology file says so; `None` = those that each daemon has
    /// found.
    pub devices: Option<Vec<Device>>,
}

/// Why a process could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartError {
    /// What kind.
    pub kind: StartErrorKind,
    /// What exactly, in words.
    pub detail: String,
}

/// Kinds of start errors, each with its own message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartErrorKind {
    /// No such executable, or not executable.
    Executable,
    /// The working directory does not exist or may not be entered.
    Directory,
    /// The system refused (limits, memory).
    System,
}

/// The failure of a process whose job goes on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcFailure {
    /// Which rank.
    pub rank: Rank,
    /// The error state that fits.
    pub state: ProcState,
    /// Its exit code, as a shell would show it; `None` when nobody saw its end.
    pub code: Option<u8>,
}

/// The end of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcEnd {
    /// Which rank.
    pub rank: Rank,
    /// `TERMINATED`, or the error state that fits.
    pub state: ProcState,
    /// What `waitpid` said.
    pub status: ExitStatus,
}
