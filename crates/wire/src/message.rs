//! Messages between the machines, by addressee: the head, a daemon, or all daemons when the tree changes.

use std::sync::Arc;

use bytes::Bytes;
use ferrite_types::{CampaignId, DaemonRank, Duration, JobId, PmixStatus, PreloadEntry, ProcId, Rank, RankSet, Signal};
use serde::{Deserialize, Serialize};

use crate::{
    ClientWord, CodecError, CollectiveKey, CollectiveResult, Contact, ControlOrder, DaemonReport, DataCall, EventRange,
    Fact, FilePiece, Found, GroupEntry, LaunchFailure, LaunchOrder, LogRecord, Order, Part, PmixEvent, ProcEnd,
    ProcFailure, ProcessSet, Resize, ResizeRequest, Restart, SpreadMessage, StartError, StdinDest, Stream, Subject,
    TimeWarning, Wireup, control,
};

/// The payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// For the head, from a daemon.
    Head(HeadMessage),
    /// For a daemon: from the head, or from another daemon.
    Daemon(DaemonMessage),
    /// For every process of the DVM: a change of the tree.
    Tree(TreeMessage),
    /// For the head or a daemon: about a spread.
    Spread(SpreadMessage),
}

/// Messages to the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeadMessage {
    /// Daemon to head on its bootstrap link: the sender's contact.
    Announce(Contact),
    /// Daemon to head over its tree link: the sender is up.
    Report(Box<DaemonReport>),
    /// From a daemon that starts its subtree: a daemon did not start.
    LaunchFailed(LaunchFailure),
    /// From a parent: the link to a child is lost, and the child did not leave by order.
    DaemonLost {
        /// The child's rank.
        rank: DaemonRank,
        /// The cause, in words.
        cause: String,
    },
    /// From a daemon that has lost its parent: it is now linked to a daemon further up.
    Rejoined {
        /// The lost parent.
        lost: DaemonRank,
    },
    /// From a process's daemon: the process asks for more or fewer nodes.
    ResizeRequest {
        /// The number of the request, unique at the sender; the reply repeats it.
        id: u64,
        /// The process that asks.
        proc: ProcId,
        /// The change that it wants.
        request: Box<ResizeRequest>,
    },
    /// From a daemon of a node that is to leave: its processes have been told (spec E44).
    WithdrawalTold(CampaignId),
    /// From a daemon in a job of the resource manager: it got a signal of the manager (spec E66, E67).
    SignalOfManager {
        /// True for SIGTERM, which may mean the end. [`DaemonMessage::ManagerSays`] answers.
        is_order: bool,
    },
    /// From a daemon: a process or tool gives an order for sessions.
    SessionRequest {
        /// The number of the order, unique at the sender; the reply repeats it.
        id: u64,
        /// The order.
        order: control::SessionOrder,
    },
    /// From a hosting daemon: it has attempted to start all local processes.
    LocalLaunchComplete {
        /// The job.
        job: JobId,
        /// Started ranks with their pids.
        started: Vec<(Rank, u32)>,
        /// Ranks that could not be started.
        failed: Vec<(Rank, StartError)>,
    },
    /// From a hosting daemon: all local processes wait for a debugger.
    ReadyForDebug(JobId),
    /// From a hosting daemon: all local processes have called init.
    Registered(JobId),
    /// From a hosting daemon: a process of an elastic job has called finalize.
    Finalized(ProcId),
    /// From a hosting daemon: these processes have ended, and all their output was sent before.
    ProcsEnded {
        /// The job.
        job: JobId,
        /// The end of each process.
        ends: Vec<ProcEnd>,
    },
    /// From a hosting daemon: a process was started again.
    Restarted {
        /// The process.
        proc: ProcId,
        /// Its process id.
        pid: u32,
    },
    /// From a process's daemon: the process asks to abort its job.
    Abort {
        /// The process that asks.
        proc: ProcId,
        /// The exit code that it asks for.
        code: i32,
        /// Its message for the user.
        message: String,
    },
    /// From a process's daemon: the process asks to abort processes of other jobs, or some of its own.
    AbortOthers {
        /// The process that asks.
        proc: ProcId,
        /// The exit code that it asks for.
        code: i32,
        /// Its message for the user.
        message: String,
        /// The processes, by job; no ranks = the whole job.
        targets: Vec<(JobId, Vec<Rank>)>,
    },
    /// From a hosting daemon: the stack of a process, as a debugger tells it.
    Stack {
        /// The process.
        proc: ProcId,
        /// The words of the debugger, or why there are none.
        text: Bytes,
    },
    /// From a hosting daemon: it has taken the stacks of its processes of a job.
    StacksTaken {
        /// The job.
        job: JobId,
        /// Why it took none, or not all.
        obstacle: Option<String>,
    },
    /// From a hosting daemon: output of a process.
    Output {
        /// The process that has written it.
        proc: ProcId,
        /// Standard output or standard error.
        stream: Stream,
        /// The data.
        data: Bytes,
    },
    /// From a hosting daemon: output of a job cannot be written to its file. It comes once.
    OutputLost {
        /// The job.
        job: JobId,
        /// The message for the submitter.
        text: String,
    },
    /// From a hosting daemon: it cannot limit the memory of processes. It comes once.
    MemoryNotLimited {
        /// The first job there whose processes take memory.
        job: JobId,
        /// The text for the submitter.
        text: String,
    },
    /// From a hosting daemon: all local readers have taken bytes of standard input.
    StdinCredit {
        /// The job.
        job: JobId,
        /// The number of bytes.
        bytes: u64,
    },
    /// From a daemon that reads preloaded files for a spawned job: one piece, or why it cannot be read.
    FileRead {
        /// The job.
        job: JobId,
        /// The piece.
        piece: Result<FilePiece, String>,
    },
    /// From a hosting daemon: bytes of preloaded files are written.
    PreloadCredit {
        /// The job.
        job: JobId,
        /// The number of bytes.
        bytes: u64,
    },
    /// From a hosting daemon: all preloaded files of a job are in their places, or why they cannot be.
    Preloaded {
        /// The job.
        job: JobId,
        /// Nothing, or the file and the cause, in words.
        result: Result<(), String>,
    },
    /// From a participant: the collective can never be complete.
    CollectiveFailed {
        /// The collective's key.
        key: CollectiveKey,
        /// The cause, as a PMIx status.
        status: PmixStatus,
    },
    /// From a participant without a participating ancestor: its merged part.
    CollectiveRoot {
        /// The collective's key.
        key: CollectiveKey,
        /// The merged contribution, or the cause of its failure.
        part: Part,
    },
    /// From a process's daemon: the process wants to start a job (`PMIx_Spawn`).
    SpawnRequest {
        /// The number of the question, unique at the daemon; the reply repeats it.
        id: u64,
        /// The process that asks.
        parent: ProcId,
        /// The job to start.
        submission: Box<control::Submission>,
    },
    /// From a daemon: a process or tool lets processes go on that wait for a debugger.
    Release {
        /// Their job.
        job: JobId,
        /// The processes; `None` = all.
        ranks: Option<Vec<Rank>>,
    },
    /// From a process's daemon: a spawn of the process was refused there, and its submitter is to read why.
    BadSpawn {
        /// The process that asks.
        parent: ProcId,
        /// The reason.
        reason: String,
    },
    /// From a process's daemon: the process publishes data, or looks them up.
    DataRequest {
        /// The number of the question, unique at the daemon; the reply repeats it.
        id: u64,
        /// The process and its request.
        call: Box<DataCall>,
    },
    /// From a process's daemon: the process calls for a group whose members do not know each other.
    GroupEntry {
        /// The number of the question, unique at the daemon; the reply repeats it.
        id: u64,
        /// The call.
        entry: Box<GroupEntry>,
    },
    /// From a process's daemon: the process has left a group (`PMIx_Group_leave`).
    GroupLeft {
        /// The process.
        proc: ProcId,
        /// The name of the group.
        group: String,
    },
    /// From a daemon: a process or a tool gives an order for processes (`PMIx_Job_control`).
    Control {
        /// The number of the question, unique at the daemon; the reply repeats it.
        id: u64,
        /// The process that gives it; `None` = a tool does.
        by: Option<ProcId>,
        /// The order.
        order: Box<ControlOrder>,
    },
    /// From a daemon: a process or a tool logs a text in a log of the DVM (`PMIx_Log`).
    Log {
        /// The number of the question, unique at the daemon; the reply repeats it.
        id: u64,
        /// The text and its channel.
        record: Box<LogRecord>,
    },
    /// From a daemon: a process or a tool asks about the DVM (`PMIx_Query_info`).
    Query {
        /// The number of the question, unique at the daemon; the reply repeats it.
        id: u64,
        /// The subjects.
        about: Vec<Subject>,
    },
    /// From the daemon of a process or tool that has raised an event: the head addresses it.
    Event {
        /// The event.
        event: Box<PmixEvent>,
        /// The processes and tools that are to hear it.
        range: EventRange,
    },
    /// From the daemon of a process: a file that the process has named does not change any more
    /// (`PMIx_Process_monitor`). The head raises the event as one of the DVM.
    Alert {
        /// The process that has asked for it.
        proc: ProcId,
        /// The event.
        event: Box<PmixEvent>,
        /// The processes and tools that are to hear it.
        range: EventRange,
    },
    /// From the daemon of a relayed client: a message about the client's connection.
    Client {
        /// The client's number, unique at its daemon.
        number: u64,
        /// The content of the message.
        word: ClientWord,
    },
}

/// Messages of the head, or of another daemon, to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DaemonMessage {
    /// Head to a daemon on its bootstrap link: the tree parent is up, and the daemon is to link to it, then report.
    Rehome {
        /// The tree parent's rank.
        parent: DaemonRank,
        /// The contact of the tree parent.
        contact: Contact,
    },
    /// Daemon to its parent over their link: the sender's contact, for calls after a loss.
    Listening(Contact),
    /// Daemon to a child over their link: the contacts of the sender and of the daemons above it, for calls after a
    /// loss.
    Above(Vec<(DaemonRank, Contact)>),
    /// Head to all, acknowledged: the shape of the DVM.
    Wireup(Wireup),
    /// Head to the new parent of orphans: their contacts, to call those that do not come.
    Adopt(Vec<(DaemonRank, Contact)>),
    /// Head to all, acknowledged: they end their processes and leave, children first.
    Exit,
    /// Head to the daemon of the process that asked: the first phase.
    ResizeReply {
        /// The number from the request.
        id: u64,
        /// Refused, unchanged, or begun.
        resize: Box<Resize>,
    },
    /// Head to the daemon of the process that asked: the second phase.
    ResizeDone {
        /// The process that asked.
        proc: ProcId,
        /// The outcome of the change.
        resize: Box<Resize>,
    },
    /// Head to the daemon of the process that asked for a warning: its session ends soon.
    TimeWarning {
        /// The process that asked.
        proc: ProcId,
        /// The session, and the time that is left.
        warning: Box<TimeWarning>,
    },
    /// Head to the daemons of nodes that are to leave: the notice for their processes came before (spec E44).
    Withdrawal(CampaignId),
    /// Head to a daemon that got SIGTERM of the resource manager (spec E67).
    ManagerSays {
        /// True when its job is preempted and has time left; otherwise the daemon leaves at once.
        stays: bool,
    },
    /// Head to the daemons of processes that are to end, after the notice: each end is to be reported at once. Answered
    /// by [`HeadMessage::WithdrawalTold`] (spec E57).
    Retiring {
        /// The number of the change.
        change: CampaignId,
        /// The processes, by job.
        procs: Vec<(JobId, Vec<Rank>)>,
    },
    /// Head to the daemons of processes that have had their time: SIGTERM, then SIGKILL (spec E58).
    Retire(Vec<(JobId, Vec<Rank>)>),
    /// Head to the daemon of a process: a job that it has spawned is over.
    SpawnedEnded {
        /// The process that has spawned it.
        parent: ProcId,
        /// The job that is over.
        job: JobId,
        /// Its exit code.
        code: u8,
    },
    /// Head to the daemon of the process or tool that gave the order: accepted or refused.
    SessionReply {
        /// The number from the request.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), PmixStatus>,
    },
    /// Head to the daemons that host processes of the job, and to others whose processes may meet them: each starts
    /// its own processes, if any.
    Launch(Arc<LaunchOrder>),
    /// Head to hosting daemons: processes have failed, and the job goes on without them.
    ProcsFailed {
        /// The job.
        job: JobId,
        /// The failures that became known together.
        failed: Vec<ProcFailure>,
    },
    /// Head to the hosting daemon: it starts a failed process again.
    Restart(Restart),
    /// Head to hosting daemons: they run the kill sequence for the job's remaining processes.
    Kill(JobId),
    /// Head to hosting daemons: they pass a signal on to the job's processes.
    Signal {
        /// The job.
        job: JobId,
        /// The processes that get it; none = all.
        ranks: Vec<Rank>,
        /// The signal.
        signal: Signal,
    },
    /// Head to hosting daemons: processes that wait for a debugger go on, at once or when they come to wait.
    Release {
        /// The job.
        job: JobId,
        /// The processes; `None` = all.
        ranks: Option<Vec<Rank>>,
    },
    /// Head to the daemon of a process: all processes of a job that it has spawned wait for a debugger.
    SpawnedReady {
        /// The process that has spawned it.
        parent: ProcId,
        /// The job.
        job: JobId,
    },
    /// Head to hosting daemons: they take the stacks of the job's processes and send them.
    TakeStacks {
        /// The job.
        job: JobId,
        /// The time for it, from now on.
        limit: Duration,
        /// The most bytes that one daemon sends.
        most: u32,
    },
    /// Head to hosting daemons: they end these processes, as failures of their own in a job that goes on.
    AbortProcs {
        /// The job.
        job: JobId,
        /// The processes.
        ranks: Vec<Rank>,
        /// The exit code of the call.
        code: i32,
    },
    /// Head to hosting daemons: they forget the job, which is over everywhere.
    Forget(JobId),
    /// Head to a hosting daemon: output of a job has left the head.
    OutputCredit {
        /// The job.
        job: JobId,
        /// The number of bytes.
        bytes: u64,
    },
    /// Head to hosting daemons: standard input of a job.
    Stdin {
        /// The job.
        job: JobId,
        /// The ranks that read it.
        dest: StdinDest,
        /// The data; empty = end of input.
        data: Bytes,
    },
    /// Head to hosting daemons: the files that a job brings along. Their pieces follow.
    Preload {
        /// The job.
        job: JobId,
        /// The files, parents before what they hold.
        entries: Vec<PreloadEntry>,
    },
    /// Head to hosting daemons: the next piece of a job's preloaded files.
    PreloadPiece {
        /// The job.
        job: JobId,
        /// The piece.
        piece: FilePiece,
    },
    /// Head to the daemon of a process that has spawned a job: a piece of a preloaded file is wanted.
    ReadFile {
        /// The job.
        job: JobId,
        /// The file: its index among the entries of the job.
        entry: u32,
        /// Its absolute path.
        path: String,
        /// The place of the piece (bytes from the beginning).
        offset: u64,
        /// The size of the piece (bytes).
        length: u32,
    },
    /// To the participant parent: the merged part of the sender's subtree.
    CollectivePart {
        /// The collective's key.
        key: CollectiveKey,
        /// The merged contribution, or the cause of its failure.
        part: Part,
    },
    /// Head to all participants: the result of a collective.
    CollectiveDone {
        /// The collective's key.
        key: CollectiveKey,
        /// The merged data, or a PMIx status.
        result: CollectiveResult,
    },
    /// Daemon to daemon: asks for the published data of a process.
    ModexRequest {
        /// The number of the question, unique at the sender; the reply repeats it.
        id: u64,
        /// The process whose data are wanted.
        proc: ProcId,
    },
    /// Daemon to daemon: the published data of the process.
    ModexReply {
        /// The number from the request.
        id: u64,
        /// The process's data, or a PMIx status.
        result: CollectiveResult,
    },
    /// Head to the daemon of the process that spawned a job: all its processes run, or it failed.
    SpawnReply {
        /// The number from the request.
        id: u64,
        /// The new job, or the PMIx status of its failure.
        result: Result<JobId, PmixStatus>,
    },
    /// Head to the daemon of the process that called the data server: the result.
    DataReply {
        /// The number from the request.
        id: u64,
        /// The values that a lookup has found, or a PMIx status.
        result: Result<Vec<Found>, PmixStatus>,
    },
    /// Head to the daemon of a process that called for a group whose members do not know each other.
    GroupReply {
        /// The number from the request.
        id: u64,
        /// The group (a [`crate::GroupBuilt`]), or a PMIx status.
        result: CollectiveResult,
    },
    /// Head to the daemon of the process or tool that gave the order for processes.
    ControlReply {
        /// The number from the request.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), PmixStatus>,
    },
    /// Head to the daemon of the process or tool that logged a text: the log has it, or not.
    LogReply {
        /// The number from the request.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), PmixStatus>,
    },
    /// Head to the daemon of the process or tool that asked about the DVM.
    QueryReply {
        /// The number from the request.
        id: u64,
        /// The answers, one for each subject.
        facts: Vec<Fact>,
    },
    /// Head to the daemons that know a job with members: a process set was defined after the launch of the job.
    DefineSet(Box<ProcessSet>),
    /// Head to the daemons that know the process set: it is over.
    DeleteSet(String),
    /// Head to the daemons of those that are to hear an event.
    Event {
        /// The event.
        event: Box<PmixEvent>,
        /// The processes and tools that are to hear it.
        range: EventRange,
    },
    /// To the daemon of a relayed client: a message about the client's connection.
    Client {
        /// The client's number, unique at its daemon.
        number: u64,
        /// The content of the message.
        word: ClientWord,
    },
}

/// Changes of the tree, from the head to all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeMessage {
    /// Head to all, acknowledged: daemons are dead, and all others repair the tree.
    Died {
        /// The dead daemons. None of them comes back: a daemon that hears of its own death leaves.
        ranks: RankSet,
    },
    /// Head to all, acknowledged after the departure: daemons leave. They end their processes and go, children first;
    /// all others repair the tree around all of them at once.
    Shrink {
        /// The leaving daemons.
        targets: RankSet,
    },
}

impl Message {
    /// Encodes the payload of a frame.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        Bytes::from(postcard::to_stdvec(self).expect("messages hold no type that postcard refuses"))
    }

    /// Decodes the payload of a frame.
    ///
    /// # Errors
    /// When the bytes are no message of this build, or are followed by others.
    pub fn decode(payload: &[u8]) -> Result<Message, CodecError> {
        match postcard::take_from_bytes(payload) {
            Ok((message, [])) => Ok(message),
            Ok((_, rest)) => Err(CodecError::Trailing(rest.len())),
            Err(_) => Err(CodecError::Payload),
        }
    }

    /// The order in which a daemon processes this broadcast and passes it on. A change of the tree is
    /// processed first, so that it reaches daemons that become children by the change. An order to leave is passed on
    /// first, so that no daemon leaves before those below have it (spec E28).
    #[must_use]
    pub fn order(&self) -> Order {
        match self {
            Message::Daemon(DaemonMessage::Wireup(_)) | Message::Tree(TreeMessage::Died { .. }) => Order::ProcessFirst,
            Message::Head(_) | Message::Tree(TreeMessage::Shrink { .. }) | Message::Daemon(_) | Message::Spread(_) => {
                Order::ForwardFirst
            }
        }
    }

    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Head(message) => message.kind(),
            Message::Daemon(message) => message.kind(),
            Message::Tree(message) => message.kind(),
            Message::Spread(message) => message.kind(),
        }
    }
}

impl HeadMessage {
    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            HeadMessage::Announce(_) => "announce",
            HeadMessage::Report(_) => "report",
            HeadMessage::LaunchFailed(_) => "launch-failed",
            HeadMessage::DaemonLost { .. } => "daemon-lost",
            HeadMessage::Rejoined { .. } => "rejoined",
            HeadMessage::ResizeRequest { .. } => "resize-request",
            HeadMessage::SignalOfManager { .. } => "signal-of-manager",
            HeadMessage::WithdrawalTold(_) => "withdrawal-told",
            HeadMessage::SessionRequest { .. } => "session-request",
            HeadMessage::LocalLaunchComplete { .. } => "local-launch-complete",
            HeadMessage::ReadyForDebug(_) => "ready-for-debug",
            HeadMessage::Registered(_) => "registered",
            HeadMessage::Finalized(_) => "finalized",
            HeadMessage::MemoryNotLimited { .. } => "memory-not-limited",
            HeadMessage::ProcsEnded { .. } => "procs-ended",
            HeadMessage::Restarted { .. } => "restarted",
            HeadMessage::Abort { .. } => "abort",
            HeadMessage::AbortOthers { .. } => "abort-others",
            HeadMessage::Release { .. } => "release",
            HeadMessage::Stack { .. } => "stack",
            HeadMessage::StacksTaken { .. } => "stacks-taken",
            HeadMessage::Output { .. } => "output",
            HeadMessage::OutputLost { .. } => "output-lost",
            HeadMessage::StdinCredit { .. } => "stdin-credit",
            HeadMessage::FileRead { .. } => "file-read",
            HeadMessage::PreloadCredit { .. } => "preload-credit",
            HeadMessage::Preloaded { .. } => "preloaded",
            HeadMessage::CollectiveFailed { .. } => "collective-failed",
            HeadMessage::CollectiveRoot { .. } => "collective-root",
            HeadMessage::SpawnRequest { .. } => "spawn-request",
            HeadMessage::BadSpawn { .. } => "bad-spawn",
            HeadMessage::DataRequest { .. } => "data-request",
            HeadMessage::GroupEntry { .. } => "group-entry",
            HeadMessage::GroupLeft { .. } => "group-left",
            HeadMessage::Control { .. } => "control",
            HeadMessage::Log { .. } => "log",
            HeadMessage::Query { .. } => "query",
            HeadMessage::Event { .. } => "event",
            HeadMessage::Alert { .. } => "alert",
            HeadMessage::Client { .. } => "client",
        }
    }
}

impl From<HeadMessage> for Message {
    fn from(message: HeadMessage) -> Message {
        Message::Head(message)
    }
}

impl DaemonMessage {
    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            DaemonMessage::Rehome { .. } => "rehome",
            DaemonMessage::Listening(_) => "listening",
            DaemonMessage::Above(_) => "above",
            DaemonMessage::Wireup(_) => "wireup",
            DaemonMessage::Adopt(_) => "adopt",
            DaemonMessage::Exit => "exit",
            DaemonMessage::ResizeReply { .. } => "resize-reply",
            DaemonMessage::ResizeDone { .. } => "resize-done",
            DaemonMessage::TimeWarning { .. } => "time-warning",
            DaemonMessage::ManagerSays { .. } => "manager-says",
            DaemonMessage::Withdrawal(_) => "withdrawal",
            DaemonMessage::Retiring { .. } => "retiring",
            DaemonMessage::Retire(_) => "retire",
            DaemonMessage::SpawnedEnded { .. } => "spawned-ended",
            DaemonMessage::SessionReply { .. } => "session-reply",
            DaemonMessage::Launch(_) => "launch",
            DaemonMessage::ProcsFailed { .. } => "procs-failed",
            DaemonMessage::Restart(_) => "restart",
            DaemonMessage::Kill(_) => "kill",
            DaemonMessage::Signal { .. } => "signal",
            DaemonMessage::Release { .. } => "release",
            DaemonMessage::SpawnedReady { .. } => "spawned-ready",
            DaemonMessage::TakeStacks { .. } => "take-stacks",
            DaemonMessage::AbortProcs { .. } => "abort-procs",
            DaemonMessage::Forget(_) => "forget",
            DaemonMessage::OutputCredit { .. } => "output-credit",
            DaemonMessage::Stdin { .. } => "stdin",
            DaemonMessage::Preload { .. } => "preload",
            DaemonMessage::PreloadPiece { .. } => "preload-piece",
            DaemonMessage::ReadFile { .. } => "read-file",
            DaemonMessage::CollectivePart { .. } => "collective-part",
            DaemonMessage::CollectiveDone { .. } => "collective-done",
            DaemonMessage::ModexRequest { .. } => "modex-request",
            DaemonMessage::ModexReply { .. } => "modex-reply",
            DaemonMessage::SpawnReply { .. } => "spawn-reply",
            DaemonMessage::DataReply { .. } => "data-reply",
            DaemonMessage::GroupReply { .. } => "group-reply",
            DaemonMessage::ControlReply { .. } => "control-reply",
            DaemonMessage::LogReply { .. } => "log-reply",
            DaemonMessage::QueryReply { .. } => "query-reply",
            DaemonMessage::DefineSet(_) => "define-set",
            DaemonMessage::DeleteSet(_) => "delete-set",
            DaemonMessage::Event { .. } => "event",
            DaemonMessage::Client { .. } => "client",
        }
    }
}

impl From<DaemonMessage> for Message {
    fn from(message: DaemonMessage) -> Message {
        Message::Daemon(message)
    }
}

impl From<SpreadMessage> for Message {
    fn from(message: SpreadMessage) -> Message {
        Message::Spread(message)
    }
}

impl TreeMessage {
    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            TreeMessage::Died { .. } => "died",
            TreeMessage::Shrink { .. } => "shrink",
        }
    }
}

impl From<TreeMessage> for Message {
    fn from(message: TreeMessage) -> Message {
        Message::Tree(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventSource, LogEntry, Mail};

    #[test]
    fn a_message_comes_back_as_it_went() {
        let message = Message::Head(HeadMessage::Output {
            proc: ProcId { job: JobId(1), rank: Rank(3) },
            stream: Stream::Stderr,
            data: Bytes::from_static(b"hello\n"),
        });
        assert_eq!(Message::decode(&message.encode()).unwrap(), message);
    }

    #[test]
    fn a_text_for_a_log_comes_back_as_it_went() {
        let source = EventSource::Proc(ProcId { job: JobId(1), rank: Rank(3) });
        let text = |text: &str| text.to_owned();
        let mail = Mail { to: text("a@b"), from: text(""), subject: text("ü"), text: text("c\n") };
        let system = LogEntry::System { priority: 7, text: text("a") };
        for entry in [system, LogEntry::JobLog(text("b")), LogEntry::Mail(Box::new(mail))] {
            let record = Box::new(LogRecord { source: source.clone(), time_s: -1, entry });
            let message = Message::Head(HeadMessage::Log { id: u64::MAX, record });
            assert_eq!(Message::decode(&message.encode()).unwrap(), message);
        }
    }

    #[test]
    fn bytes_after_a_message_are_an_error_and_not_ignored() {
        let mut bytes = Message::Daemon(DaemonMessage::Exit).encode().to_vec();
        bytes.push(0);
        assert!(matches!(Message::decode(&bytes), Err(CodecError::Trailing(1))));
    }
}
