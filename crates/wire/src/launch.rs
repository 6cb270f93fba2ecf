//! Launch orders, and the ends of processes.

use ferrite_types::{Device, EnvOp, ExitStatus, JobId, JobMap, JobSpec, ProcId, ProcState, Rank, SessionId};
use serde::{Deserialize, Serialize};

use crate::ProcessSet;

/// The launch order: the data with which a daemon starts its processes of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// The job.
    pub job: JobId,
    /// The process that spawned it; `None` = a submitter did.
    pub parent: Option<ProcId>,
    /// The session in which it runs; 0 = the DVM's own (`PMIX_SESSION_ID`).
    pub session: SessionId,
    /// The job as requested.
    pub spec: JobSpec,
    /// The places of all its processes.
    pub map: JobMap,
    /// Environment that the submitter forwards to every process, before each app's own changes.
    pub env: Vec<EnvOp>,
    /// Number of processes that the DVM has launched before it (`PMIX_NPROC_OFFSET`): with it a rank is unique among
    /// all jobs of the DVM.
    pub rank_offset: u32,
    /// Slots of the whole DVM (`PMIX_UNIV_SIZE`).
    pub univ_size: u32,
    /// True when leaving without finalize is no failure (`prte_allowed_exit_without_sync`).
    pub exit_without_sync_ok: bool,
    /// Devices of every node according to a topology file; `None` = each daemon uses the devices that it has found.
    pub devices: Option<Vec<Device>>,
}

/// The order to start a failed process again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// The process.
    pub proc: ProcId,
    /// The number of times that it was started again, this time included (`PMIX_REINCARNATION`).
    pub count: u32,
}

impl LaunchOrder {
    /// The process sets that its programs bring along (spec L43).
    pub fn sets(&self) -> impl Iterator<Item = ProcessSet> + '_ {
        let named = self.spec.apps.iter().zip(0u16..).filter_map(|(app, at)| Some((app.set.as_ref()?, at)));
        named.map(|(name, at)| {
            let ranks = self.map.ranks().filter(|(_, place)| place.app == at).map(|(rank, _)| rank);
            ProcessSet { name: name.clone(), members: vec![(self.job, ranks.collect())] }
        })
    }
}

/// The failure to start a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartError {
    /// The kind of the error.
    pub kind: StartErrorKind,
    /// The details, in words.
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
    /// The rank that failed.
    pub rank: Rank,
    /// The error state that it entered.
    pub state: ProcState,
    /// Its exit code, as a shell would show it; `None` when its end was not observed.
    pub code: Option<u8>,
    /// True when it had called init (of PMIx or PMI) and not finalize.
    pub without_finalize: bool,
}

/// The calls of init and finalize (of PMIx or PMI) that a process has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InitState {
    /// None.
    Never,
    /// Init, and no finalize after it.
    Initialized,
    /// Init and finalize.
    Finalized,
}

/// The end of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcEnd {
    /// The rank that has ended.
    pub rank: Rank,
    /// `TERMINATED`, or the error state that it entered.
    pub state: ProcState,
    /// Its exit code or signal, from `waitpid`.
    pub status: ExitStatus,
    /// Its calls of init and finalize.
    pub init: InitState,
    /// True when the system ended it, or one that it had started, because it used more memory than it may (`--mem`).
    pub over_memory: bool,
}
