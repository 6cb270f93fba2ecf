//! Jobs as the DVM shows them to clients: in lists, in full, and in its history.

use ferrite_types::{JobId, JobState, ProcId, ProcState, Rank, SessionId, SizeRange, StdinTarget};
use serde::{Deserialize, Serialize};

/// A job after whose end another one begins (spec L152).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// The job that ends first.
    pub job: JobRef,
    /// True when it has to end with exit code 0; false when any end will do.
    pub well: bool,
}

/// A job, as its users name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobRef {
    /// By its number.
    Number(JobId),
    /// By its namespace, or by the name of its task; the latest task of a name counts.
    Name(String),
}

/// The status line of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its number.
    pub job: JobId,
    /// The job whose process has spawned it; `None` = it was submitted.
    pub parent: Option<JobId>,
    /// Its programs, separated by ` : `.
    pub name: String,
    /// The name that its author has given it; empty = none.
    pub task: String,
    /// Its priority among jobs that wait for slots.
    pub priority: i16,
    /// The command lines of its programs, quoted for a shell and separated by ` : `; a long one is cut and ends with
    /// `…`.
    pub command: String,
    /// The working directory of its first program; `None` = each process has one of its own.
    pub wdir: Option<String>,
    /// Its processes; 0 before they are mapped.
    pub procs: u32,
    /// Its nodes; 0 before they are mapped.
    pub nodes: u32,
    /// Name of its first node; empty before it is mapped.
    pub first_node: String,
    /// Its state.
    pub state: JobState,
    /// The exit code; `None` while it is open.
    pub exit_code: Option<u8>,
    /// Its end; `None` until it is over.
    pub ending: Option<Ending>,
    /// The reason why it waits; empty when it is over.
    pub waiting_for: String,
    /// The time of its submission (microseconds since the DVM began).
    pub submitted_us: u64,
    /// The time at which all its processes were started.
    pub running_us: Option<u64>,
    /// The time of its end.
    pub ended_us: Option<u64>,
    /// The size of its spawn tree; `None` = it is not elastic.
    pub tree: Option<TreeSize>,
}

/// The size of an elastic job: of all processes of its spawn tree (spec E51).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSize {
    /// The job at the root of the tree; it may be over.
    pub root: JobId,
    /// The sizes that it may have.
    pub range: SizeRange,
    /// Its living processes.
    pub procs: u32,
    /// Its jobs that are not over: its worlds.
    pub worlds: u32,
    /// The change that is under way (`pdvm resize`).
    pub change: Option<PendingChange>,
}

/// A change of an elastic job's size that is under way (spec E54, E57).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// True for an offer of more processes, false for processes that are to end.
    pub is_offer: bool,
    /// The number of processes.
    pub procs: u32,
    /// The end of its time (microseconds since the DVM began); `None` = it has not begun, or is over.
    pub until_us: Option<u64>,
}

/// The kind of a job's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// All its processes ended well, or as its options allow.
    Done,
    /// A process failed, or could not be started.
    Failed,
    /// A user ended it, or it reached its time limit.
    Killed,
    /// No process was started: it could not be placed, or the nodes that it waited for did not come.
    Refused,
    /// No process was started: a job after which it was to run has not ended well.
    NotRun,
    /// Nodes with its processes have left or were lost.
    LostRanks,
}

impl Ending {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Done => "done",
            Ending::Failed => "failed",
            Ending::Killed => "killed",
            Ending::Refused => "refused",
            Ending::NotRun => "not_run",
            Ending::LostRanks => "lost ranks",
        }
    }
}

/// The details of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDetail {
    /// Its status line.
    pub status: JobStatus,
    /// Its namespace.
    pub nspace: String,
    /// The time at which it entered each state (microseconds since the DVM began), in order.
    pub states: Vec<(JobState, u64)>,
    /// Its processes; empty when it is over.
    pub procs: Vec<ProcStatus>,
    /// The places of its processes, a line for each node or group of equal nodes: `n0  [0 1 . .] [2 3 . .]`; empty
    /// when it is over.
    pub places: Vec<String>,
    /// The cause of its failure; empty without one.
    pub cause: String,
    /// Processes that went with their nodes, by a departure or a loss, in this order.
    pub lost_ranks: Vec<Rank>,
    /// Further data of the head (docs/spec/sessions.md).
    pub record: JobRecord,
}

/// The head's record of a job (docs/spec/sessions.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The session in which it runs.
    pub session: SessionId,
    /// The personality that parsed its command line.
    pub personality: String,
    /// The tool that submitted it, or the job that it descends from; empty = unknown.
    pub launcher: String,
    /// The process that has spawned it.
    pub parent: Option<ProcId>,
    /// Jobs that its processes have spawned and that are not over.
    pub children: Vec<JobId>,
    /// Its programs.
    pub apps: Vec<AppRecord>,
    /// The directory of its files on the head's node, which exists while processes of that node use PMIx; its
    /// counterparts on other nodes lie in the session directories of their daemons.
    pub session_dir: String,
    /// The process sets with processes of it, each with its number of members.
    pub sets: Vec<(String, u32)>,
    /// The ranks that read its standard input.
    pub stdin: Option<StdinTarget>,
    /// The sizes that it may have, with the processes that live in its spawn tree; `None` = it is not elastic.
    pub elastic: Option<(SizeRange, u32)>,
    /// The latest changes of the size of its spawn tree, in the order of their beginnings.
    pub changes: Vec<SizeStep>,
    /// Slots of the nodes that it may use.
    pub slots: u32,
    /// The last node to which it was mapped, by name; empty before it is mapped.
    pub bookmark: String,
    /// Nodes that host it.
    pub daemons: u32,
    /// The number of these nodes whose daemons have attempted its processes.
    pub daemons_reported: u32,
    /// Processes that are mapped.
    pub mapped: u32,
    /// Processes that are mapped to the head's node.
    pub local: u32,
    /// Processes that were started.
    pub launched: u32,
    /// Processes on nodes whose processes have all called init.
    pub registered: u32,
    /// Processes on nodes whose processes have all said that they wait for a debugger.
    pub ready_for_debug: u32,
    /// Processes that have ended.
    pub terminated: u32,
    /// The number of stack traces that were taken of its processes (`--get-stack-traces`).
    pub traces: u32,
    /// The number of times that failed processes were started again.
    pub restarts: u32,
}

/// A change of the size of an elastic job (docs/spec/elastic.md, changes of size of jobs). Times are microseconds since
/// the DVM began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeStep {
    /// True for more processes, false for fewer.
    pub is_offer: bool,
    /// Their number as it was offered, or told.
    pub procs: u32,
    /// The time of the offer, or of the order.
    pub begun_us: u64,
    /// The end of the change; `None` = it is under way.
    pub ended_us: Option<u64>,
    /// Processes that have come, or have ended.
    pub done: u32,
    /// Processes of the job after that.
    pub size: u32,
    /// Who has refused, or why there was no change; empty when it was made.
    pub cause: String,
}

/// The record of one program of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppRecord {
    /// The program and its first arguments, as far as the record of a job has room for them.
    pub argv: Vec<String>,
    /// The number of arguments that are left out at the end.
    pub left_out: u32,
    /// The number of its processes; 0 before it is mapped.
    pub procs: u32,
    /// Its working directory; `None` = each process has one of its own.
    pub wdir: Option<String>,
}

/// The status of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcStatus {
    /// Its rank.
    pub rank: Rank,
    /// Its app's index.
    pub app: u16,
    /// Its node's name.
    pub node: String,
    /// Its binding: `package[0][core:L0]`; empty when it is not bound, or in a job of very many processes.
    pub bound_to: String,
    /// Names of the devices that it was given.
    pub devices: Vec<String>,
    /// Its pid on its node, once it runs.
    pub pid: Option<u32>,
    /// Its state.
    pub state: ProcState,
}
