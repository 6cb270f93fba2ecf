//! Inputs: all events that reach a daemon (or the head), as data. The driver and the simulator make them.

use std::collections::VecDeque;

use bytes::Bytes;
use ferrite_rm::JobEnd;
use ferrite_types::{
    CampaignId, DaemonRank, Duration, ExitStatus, ExtensionId, HostEntry, JobId, PmixStatus, ProcId, Rank, Signal,
};
use ferrite_wire::control::{BatchId, Request, SessionOrder, Submission};
use ferrite_wire::{
    CollectiveKind, CollectiveResult, ControlOrder, DataCall, EventRange, EventSource, FilePiece, Frame, GroupEntry,
    GroupPart, LogEntry, Members, PmixEvent, ResizeRequest, SpreadId, SpreadMessage, StartError, Stream, Subject,
};

use crate::effect::{Account, Recalled};
use crate::timer::Timer;

/// The number of a client's request, which the driver makes and never uses twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

impl RequestId {
    /// The submission of the head's own process (`prterun`), whose input and output are that process's.
    pub const OWN: RequestId = RequestId(0);
}

/// The name of a PMIx client's upcall until its reply; the driver makes it, the machines pass it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PmixToken(pub u64);

/// One event.
#[derive(Clone, Debug)]
pub enum Input {
    /// The machine starts. It is the first input, and comes once.
    Start,
    /// The launcher process of a daemon has ended (with ssh: ssh itself). After exit code 0 the daemon has detached.
    LauncherEnded {
        /// The daemon that it was to start; of several, the first.
        rank: DaemonRank,
        /// Its exit status; `None` = it could not be started.
        status: Option<ExitStatus>,
        /// The end of its standard error, or the reason why it could not be started.
        message: String,
    },
    /// A timer that was set and not cancelled is due.
    Timer(Timer),
    /// The head has to end: SIGTERM, or its guard or parent has died.
    Terminate {
        /// The cause, in words.
        cause: String,
    },
    /// A signal of the resource manager in whose job this process runs.
    ManagerSignal {
        /// True for SIGTERM, which may mean the end; other signals announce it (spec E66, E67).
        is_order: bool,
    },
    /// An event on the connection of a relayed client: at its daemon, or at the head.
    Relay(RelayInput),
    /// An event on a link to another daemon.
    Link(LinkInput),
    /// An event on a lane to another daemon.
    Lane(LaneInput),
    /// An input for the head; daemons get none.
    Head(HeadInput),
    /// An input for the daemon of this node.
    Daemon(DaemonInput),
}

/// Events on links. The node handles them: first the transport, then the machines concerned.
#[derive(Clone, Debug)]
pub enum LinkInput {
    /// An authenticated link to a daemon is up, whichever side called. It replaces any earlier link, whose
    /// undelivered messages are lost.
    LinkUp {
        /// The daemon at the other end.
        peer: DaemonRank,
    },
    /// Part of a frame has arrived over a link, which therefore is alive.
    LinkActivity {
        /// The daemon at the other end.
        peer: DaemonRank,
    },
    /// A link is lost.
    LinkLost {
        /// The daemon at the other end.
        peer: DaemonRank,
        /// The cause, in words.
        cause: String,
    },
    /// [`crate::Effect::Connect`] has failed for good.
    ConnectFailed {
        /// The daemon that was called.
        peer: DaemonRank,
        /// The cause, in words.
        cause: String,
        /// True when the machine answered that nobody listens there: that daemon's process is gone.
        refused: bool,
    },
    /// A frame has arrived over a link.
    Frame {
        /// The neighbour that has sent it, which need not be its author.
        from: DaemonRank,
        /// The whole frame.
        frame: Frame,
    },
}

/// A connection of two daemons that are neighbours in the tree of a spread. It lives as long as the spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The daemon at the other end.
    pub peer: DaemonRank,
    /// The spread.
    pub spread: SpreadId,
}

/// Events on lanes.
#[derive(Clone, Debug)]
pub enum LaneInput {
    /// A lane that this daemon has opened is up. The other end learns of it with the first message.
    Up(Lane),
    /// A message has arrived.
    Heard {
        /// The lane.
        lane: Lane,
        /// The message.
        message: SpreadMessage,
    },
    /// A lane is lost, was closed by the other side, or could not be opened.
    Lost {
        /// The lane.
        lane: Lane,
        /// The cause, in words.
        cause: String,
    },
}

/// Inputs for the head alone.
#[derive(Clone, Debug)]
pub enum HeadInput {
    /// Tasks of a step have ended on some nodes, as the launcher says; the launcher goes on.
    TasksEnded {
        /// The launcher's name: the first of the daemons that it was to start.
        launcher: DaemonRank,
        /// The nodes of the ended tasks.
        nodes: Vec<String>,
        /// The end of the launcher's standard error.
        message: String,
    },
    /// Answers [`crate::Effect::Log`] of the head.
    Logged {
        /// The daemon whose process or tool logs.
        daemon: DaemonRank,
        /// That daemon's number.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), PmixStatus>,
    },
    /// All resource managers have answered [`crate::Effect::OfferRelease`].
    ReleaseOffered {
        /// The shrink, from the effect.
        campaign: CampaignId,
        /// Nodes that the managers did not take back and that are still granted.
        kept: Vec<String>,
        /// The failure, in words; the shrink ends in any case.
        error: Option<String>,
    },
    /// The resource manager has granted the nodes of [`crate::Effect::RequestNodes`].
    NodesGranted {
        /// The request's number, from the effect.
        extension: ExtensionId,
        /// The manager's job that grants them.
        job: String,
        /// The granted nodes, with their slots.
        nodes: Vec<HostEntry>,
    },
    /// The resource manager has refused the nodes, or could not be asked.
    NodesRefused {
        /// The request's number, from the effect.
        extension: ExtensionId,
        /// The cause, in the manager's words if it gave any.
        cause: String,
    },
    /// The answer to [`crate::Effect::AskForEnd`].
    JobEndTold {
        /// The manager's job.
        job: String,
        /// What the manager says, or why it could not be asked.
        told: Result<JobEnd, String>,
    },
    /// The resource manager has not decided yet.
    NodesAwaited {
        /// The request's number, from the effect.
        extension: ExtensionId,
        /// The manager's word on the request.
        says: String,
    },
    /// The driver has carried out [`crate::Effect::EndAllocation`], or has failed to.
    AllocationEnded {
        /// The manager's job, from the effect.
        job: String,
        /// The failure, in words.
        error: Option<String>,
    },
    /// A client makes a request. Exactly one [`crate::Effect::Reply`] answers it, unless the client goes first.
    Request {
        /// The request's number.
        id: RequestId,
        /// The content of the request.
        request: Request,
    },
    /// The client of a request is gone: its output and reply have no reader, and its job ends.
    ClientGone(RequestId),
    /// A PMIx tool is gone that has made these requests, answered or not: the sessions that it has asked for end with
    /// it, each in its way. Comes before [`HeadInput::ClientGone`] for the requests that are open.
    ToolGone(Vec<RequestId>),
    /// The user wants the submitted job to end. The reply comes after the job's end.
    Cancel(RequestId),
    /// The user sends a signal to the processes of a submitted job.
    SignalSubmitted {
        /// The submission of the job.
        request: RequestId,
        /// The signal.
        signal: Signal,
    },
    /// The user presses Ctrl-C: the first ends in order, the second warns, the third ends at once.
    Interrupt,
    /// The user sends a signal to the processes of every job.
    ForwardSignal(Signal),
    /// The submitter's standard input has data; empty data mean its end. Answers one [`crate::Effect::ReadStdin`].
    Stdin {
        /// The submission whose input it is.
        request: RequestId,
        /// The data that were read.
        data: Bytes,
    },
    /// The piece of a file that [`crate::Effect::ReadFile`] asked for, or why it cannot be read.
    FileRead {
        /// The submission that the file belongs to.
        request: RequestId,
        /// The piece.
        piece: Result<FilePiece, String>,
    },
    /// Output of a [`crate::Effect::WriteOutput`] was written or dropped.
    OutputWritten(Account),
    /// An event of a batch.
    Batch(BatchInput),
    /// The answer to [`crate::Effect::Recall`].
    Recalled {
        /// The request, from the effect.
        request: RequestId,
        /// The jobs in the history's files.
        found: Recalled,
    },
}

/// Events of batches.
#[derive(Clone, Debug)]
pub enum BatchInput {
    /// The process of a batch was started: the file of results, or why it could not be.
    Started(BatchId, Result<String, String>),
    /// The process of a batch has ended.
    Ended(BatchId, ExitStatus),
    /// A piece of the file of results; none = there is no more.
    Read {
        /// The request, from the effect.
        request: RequestId,
        /// The batch.
        batch: BatchId,
        /// The piece, or why it cannot be read.
        data: Result<Bytes, String>,
    },
}

/// Events of a daemon: its processes, their output and their PMIx calls.
#[derive(Clone, Debug)]
pub enum DaemonInput {
    /// A local process runs.
    Spawned {
        /// The process that runs.
        proc: ProcId,
        /// Its pid.
        pid: u32,
    },
    /// The driver could not start a local process.
    SpawnFailed {
        /// The process that was to start.
        proc: ProcId,
        /// The cause of the failure.
        error: StartError,
    },
    /// The system ended a local process, or one that it had started, because it used more memory than it may (spec
    /// L163). Comes before its end.
    OverMemory(ProcId),
    /// The memory of a process of a job is not limited on this node. Comes once.
    MemoryNotLimited {
        /// The first job whose processes take memory.
        job: JobId,
        /// The reason, for the submitter.
        obstacle: String,
    },
    /// A local process has ended and was reaped.
    Exited {
        /// The process that has ended.
        proc: ProcId,
        /// Its exit code or signal.
        status: ExitStatus,
    },
    /// A local process has written data. Answers the one open [`crate::Effect::ReadOutput`] of the stream.
    Output {
        /// The process that has written.
        proc: ProcId,
        /// Standard output or standard error.
        stream: Stream,
        /// The data, never empty.
        data: Bytes,
    },
    /// A stream had no data when [`crate::Effect::CheckOutput`] asked.
    OutputIdle {
        /// The process that writes.
        proc: ProcId,
        /// Standard output or standard error.
        stream: Stream,
        /// True when the process has work to do; on a busy node it may just wait for a processor.
        writer_runs: bool,
    },
    /// Answers [`crate::Effect::Log`] of the daemon.
    Logged {
        /// Its number.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), PmixStatus>,
    },
    /// An output file cannot be written. It comes once for each file.
    FileFailed {
        /// The job whose output it gets.
        job: JobId,
        /// Its path.
        path: String,
        /// The error of the system.
        error: String,
    },
    /// A stream has ended. It comes after all of the stream's `Output`.
    OutputClosed {
        /// The process that wrote.
        proc: ProcId,
        /// Standard output or standard error.
        stream: Stream,
    },
    /// A process has taken bytes of a [`crate::Effect::WriteStdin`], or they were dropped because it reads no more.
    StdinTaken {
        /// The process that reads.
        proc: ProcId,
        /// The number of bytes.
        bytes: u64,
    },
    /// Bytes of a job's files are written ([`crate::StageEffect::Write`]).
    Staged {
        /// The job.
        job: JobId,
        /// The number of bytes.
        bytes: u64,
    },
    /// All files of a job are in their places ([`crate::StageEffect::Finish`]), or one cannot be. Comes once.
    StageEnded {
        /// The job.
        job: JobId,
        /// Nothing, or the file (its index among the entries) and the cause.
        result: Result<(), (u32, String)>,
    },
    /// The piece of a file that [`crate::Effect::ReadLocalFile`] asked for, or why it cannot be read.
    FileRead {
        /// The job that the file is for.
        job: JobId,
        /// The piece.
        piece: Result<FilePiece, String>,
    },
    /// The stack of a local process, for [`crate::Effect::TakeStacks`].
    StackTaken {
        /// The process.
        proc: ProcId,
        /// The words of the debugger, or why there are none.
        text: Bytes,
    },
    /// The driver has done what [`crate::Effect::TakeStacks`] asked for. It comes once, at the end.
    StacksTaken {
        /// The job.
        job: JobId,
        /// Why there are no stacks, or not all.
        obstacle: Option<String>,
    },
    /// A PMIx or PMI-1 client makes a call, or a PMIx operation is done.
    Pmix(PmixCall),
}

/// The name of a relayed client: its daemon, and a number that this daemon uses once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelayId {
    /// The daemon on its node.
    pub daemon: DaemonRank,
    /// The number, which that daemon's driver makes.
    pub number: u64,
}

/// Events on the connection of a relayed client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayInput {
    /// A client of this daemon's node has sent its first bytes.
    Came(RelayId),
    /// Data of a client were read; never empty. Answers one [`crate::RelayEffect::Read`].
    Read {
        /// The client that was read from.
        client: RelayId,
        /// The data that were read.
        data: Bytes,
    },
    /// A client has taken bytes of a [`crate::RelayEffect::Write`].
    Written {
        /// The client that was written to.
        client: RelayId,
        /// The number of bytes.
        bytes: usize,
    },
    /// This end of the connection is closed or broken.
    Ended(RelayId),
}

/// The processes that an abort ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortScope {
    /// All processes of the job.
    Job,
    /// The caller alone, as a failure of its own.
    Caller,
}

/// The form in which the texts of one `PMIx_Log` appear, beside what the job's output options say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogForm {
    /// Each line names the process and the stream.
    pub tag: bool,
    /// Each line has this date: seconds since 1970, in local time.
    pub time_s: Option<i64>,
    /// Each line is an XML element.
    pub xml: bool,
}

/// One call of `PMIx_Log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCall {
    /// The process or tool that calls, by its connection.
    pub source: EventSource,
    /// Local time of the call, in seconds since 1970.
    pub time_s: i64,
    /// The form of those texts that become output.
    pub form: LogForm,
    /// True when the first channel that takes its text is to be the only one.
    pub once: bool,
    /// The refusal of channels of the call that are not offered.
    pub refused: Option<PmixStatus>,
    /// The channels in their order, each with its text.
    pub steps: VecDeque<LogStep>,
}

/// A channel of a call of `PMIx_Log`, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogStep {
    /// Output of the process: whole lines.
    Show(Stream, Bytes),
    /// A log of this node.
    Here(LogEntry),
    /// A log of the DVM, which the head keeps.
    AtHead(LogEntry),
}

/// The name of a [`crate::Effect::Log`], for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogId {
    /// Of the daemon of this node, by its number.
    Daemon(u64),
    /// Of the head, for this daemon and by that one's number.
    Head(DaemonRank, u64),
}

/// Calls of local processes through PMIx or PMI-1.
#[derive(Clone, Debug)]
pub enum PmixCall {
    /// `PMIx_Init` of a local process.
    ClientConnected(ProcId),
    /// A local process has notified `PMIX_READY_FOR_DEBUG`: it waits for a debugger.
    ReadyForDebug(ProcId),
    /// All local processes of a job wait for a debugger.
    AllReadyForDebug(JobId),
    /// A local process, or a tool, lets processes of a job go on that wait for a debugger.
    Release {
        /// The job.
        job: JobId,
        /// The processes; `None` = all.
        ranks: Option<Vec<Rank>>,
    },
    /// `PMIx_Finalize` of a local process.
    ClientFinalized(ProcId),
    /// Answers [`crate::PmixEffect::HearOut`]: every call of this process, which has ended, was passed on.
    HeardOut(ProcId),
    /// A process calls `PMIx_Abort`. [`crate::PmixEffect::Reply`] answers.
    Abort {
        /// The process that calls.
        proc: ProcId,
        /// The exit code that it asks for.
        code: i32,
        /// Its message for the user.
        message: String,
        /// The processes that it wants to end.
        scope: AbortScope,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A process calls `PMIx_Abort` for processes of other jobs, or for some of its own.
    /// [`crate::PmixEffect::Reply`] answers.
    AbortOthers {
        /// The process that calls.
        proc: ProcId,
        /// The exit code that it asks for.
        code: i32,
        /// Its message for the user.
        message: String,
        /// The processes, by job; no ranks = the whole job.
        targets: Vec<(JobId, Vec<Rank>)>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// All local participants have entered a fence.
    Fence {
        /// All participants.
        members: Members,
        /// The local contribution.
        data: Bytes,
        /// The upcall's token for the reply, which carries the data of all participants.
        token: PmixToken,
    },
    /// A local process calls `PMIx_Allocation_request`.
    Resize {
        /// The process that calls.
        proc: ProcId,
        /// The change that it wants.
        request: ResizeRequest,
        /// The upcall's token for the reply of the first phase, [`crate::PmixEffect::ReplyResize`].
        token: PmixToken,
    },
    /// A local process, or a tool, calls `PMIx_Session_control`. [`crate::PmixEffect::Reply`] answers, without data.
    Session {
        /// The order and its sender.
        order: SessionOrder,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process, or a tool, calls `PMIx_Job_control`. [`crate::PmixEffect::Reply`] answers, without data.
    Control {
        /// The process that calls; `None` = a tool does.
        by: Option<ProcId>,
        /// The order.
        order: Box<ControlOrder>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process, or a tool, calls `PMIx_Log`. [`crate::PmixEffect::Reply`] answers, without data.
    Log {
        /// The call.
        call: Box<LogCall>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process, or a tool, calls `PMIx_Query_info`. [`crate::PmixEffect::QueryReply`] answers.
    Query {
        /// The subjects of its questions.
        about: Vec<Subject>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// All local participants have called `PMIx_Connect`.
    Connect {
        /// All participants.
        members: Members,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// All local participants have called `PMIx_Disconnect`.
    Disconnect {
        /// All participants.
        members: Members,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// All local members have called `PMIx_Group_construct`. The reply carries a [`ferrite_wire::GroupBuilt`].
    GroupConstruct {
        /// The name of the group.
        name: String,
        /// All members.
        members: Members,
        /// The contribution of the local members.
        part: GroupPart,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process has called `PMIx_Group_construct` for a group whose members do not know each other. The reply
    /// carries a [`ferrite_wire::GroupBuilt`].
    GroupEntry {
        /// The call.
        entry: Box<GroupEntry>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process has left a group (`PMIx_Group_leave`). Nothing answers.
    GroupLeft {
        /// The process.
        proc: ProcId,
        /// The name of the group.
        group: String,
    },
    /// All local members have called `PMIx_Group_destruct`.
    GroupDestruct {
        /// The name of the group.
        name: String,
        /// All members.
        members: Members,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// This node takes no part in a collective: its library has given the attempt up, or what its processes ask for
    /// is not offered. The attempt ends with this status for all members (spec L141). The reply carries the status.
    GiveUp {
        /// The collective.
        kind: CollectiveKind,
        /// All members.
        members: Members,
        /// The reason.
        status: PmixStatus,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process wants to start a job. [`crate::PmixEffect::SpawnReply`] answers.
    Spawn {
        /// The process that calls.
        proc: ProcId,
        /// The job to start. An app without a directory gets its parent's.
        submission: Box<Submission>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process, or a tool of this node, raises an event for processes of other nodes; the library
    /// has told those of this node. Nothing answers.
    Event {
        /// The event; its source is the holder of the connection.
        event: Box<PmixEvent>,
        /// The processes and tools that are to hear it.
        range: EventRange,
    },
    /// A file that a local process has named does not change any more (`PMIx_Process_monitor`). Nothing answers.
    Alert {
        /// The process that has asked for the event.
        proc: ProcId,
        /// The event.
        event: Box<PmixEvent>,
        /// The processes and tools that are to hear it.
        range: EventRange,
    },
    /// A local process publishes data, or looks them up. [`crate::PmixEffect::DataReply`] answers.
    Data {
        /// The process and its request to the data server.
        call: Box<DataCall>,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// A local process wants the published data of a remote one.
    Modex {
        /// The remote process.
        proc: ProcId,
        /// The upcall's token for the reply.
        token: PmixToken,
    },
    /// The caller of an open fence, connect, disconnect or modex waits no longer than this (`PMIX_TIMEOUT`). Follows
    /// that call.
    Limit {
        /// The token of that call.
        token: PmixToken,
        /// The limit, from now on.
        limit: Duration,
    },
    /// Answers [`crate::PmixEffect::FetchModex`].
    ModexFetched {
        /// The number of the fetch, from the effect.
        fetch: u64,
        /// The data, or a PMIx status.
        result: CollectiveResult,
    },
    /// Bytes have arrived on the PMI-1 socket of a local process; empty data mean that it closed the socket.
    Pmi1 {
        /// The process at the socket.
        proc: ProcId,
        /// The bytes that have arrived.
        data: Bytes,
    },
}
