//! Effects: all requests of the machines, as data. The driver carries them out; each completion comes back as an
//! [`crate::Input`].

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ferrite_rm::{GiveBack, LaunchCommand, NodeAsk};
use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, CpuSet, DaemonRank, Device, EnvOp, ExtensionId, JobId, JobState,
    PictureFormat, PmixStatus, PreloadEntry, ProcId, ProcState, Rank, Signal, SizeChangeStep, Timestamp,
};
use ferrite_wire::control::{BatchId, BatchStart, EndedJobs, JobDetail, Reply};
use ferrite_wire::{
    CollectiveResult, Contact, EventRange, Fact, Found, Frame, LaunchOrder, LogRecord, PmixEvent, ProcFailure,
    ProcessSet, Resize, Served, SpreadMessage, Stream, Ticket, TimeWarning,
};

use crate::input::{Lane, LogId, PmixToken, RelayId, RequestId};
use crate::timer::Timer;

/// One request of a machine to the driver.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Sends a frame over the link to a neighbour, after all earlier frames.
    Transmit {
        /// The neighbour at the other end of the link.
        peer: DaemonRank,
        /// The frame to send.
        frame: Frame,
    },
    /// Calls a daemon. `LinkUp` or `ConnectFailed` answers.
    Connect {
        /// The daemon to call.
        peer: DaemonRank,
        /// The addresses at which it listens.
        contact: Contact,
        /// The time at which the driver gives up.
        deadline: Timestamp,
        /// True to try until the deadline; else a refusal by the machine ends the call.
        insist: bool,
    },
    /// Flushes and closes a link. No `LinkLost` follows.
    CloseLink {
        /// The neighbour at the other end of the link.
        peer: DaemonRank,
    },
    /// An order about a lane.
    Lane(LaneEffect),
    /// Starts a daemon, or the daemons of a common ticket. `LauncherEnded` answers.
    LaunchDaemon {
        /// The daemon's rank; of several, the first.
        rank: DaemonRank,
        /// The command.
        command: LaunchCommand,
        /// The ticket for the command's standard input.
        ticket: Box<Ticket>,
    },
    /// Ends the launcher process of a daemon, if it still runs. No `LauncherEnded` follows.
    AbandonLaunch {
        /// The daemon's rank; of several, the first.
        rank: DaemonRank,
    },
    /// Sets a timer. Setting it again moves it.
    SetTimer {
        /// The timer's purpose, which names it.
        timer: Timer,
        /// The time at which it fires.
        at: Timestamp,
    },
    /// Cancels a timer.
    CancelTimer(Timer),
    /// Detaches the daemon from its launcher: it is linked and can report itself.
    Detach,
    /// Starts a process. `Spawned` or `SpawnFailed` answers.
    Spawn {
        /// The process to start.
        proc: ProcId,
        /// Its program, environment and binding.
        request: Box<SpawnRequest>,
    },
    /// Signals a local process and its descendants.
    Signal {
        /// The process to signal.
        proc: ProcId,
        /// The signal.
        signal: Signal,
    },
    /// Takes the stacks of local processes of a job with a debugger. A `StackTaken` for each of them answers, and
    /// `StacksTaken` at the end.
    TakeStacks {
        /// The job.
        job: JobId,
        /// Its processes.
        procs: Vec<ProcId>,
        /// The time at which the driver gives up.
        until: Timestamp,
        /// The most bytes of the stack of one process.
        most: usize,
    },
    /// Reads once from an output stream. `Output` or `OutputClosed` answers.
    ReadOutput {
        /// The process that writes.
        proc: ProcId,
        /// Standard output or standard error.
        stream: Stream,
        /// The most bytes to read.
        limit: usize,
    },
    /// Asks whether data wait in a stream that is being read. Without data `OutputIdle` answers, else the `Output` of
    /// the read.
    CheckOutput {
        /// The process that writes.
        proc: ProcId,
        /// Standard output or standard error.
        stream: Stream,
    },
    /// Writes data to a process's standard input. `StdinTaken` answers.
    WriteStdin {
        /// The process that reads.
        proc: ProcId,
        /// The data to write.
        data: Bytes,
    },
    /// Closes a process's standard input after all written data.
    CloseStdin {
        /// The process that reads.
        proc: ProcId,
    },
    /// Reads once from the submitter's standard input. `Stdin` answers.
    ReadStdin {
        /// The submission whose input is read.
        request: RequestId,
        /// The most bytes to read.
        limit: usize,
    },
    /// Reads a piece of a file of a submission, where its submitter is. [`crate::HeadInput::FileRead`] answers.
    ReadFile {
        /// The submission.
        request: RequestId,
        /// The file: its index among the entries of the job.
        entry: u32,
        /// Its absolute path.
        path: String,
        /// The place of the piece (bytes).
        offset: u64,
        /// Its size (bytes).
        length: u32,
    },
    /// Reads a piece of a file of this node, for a job that a local process spawns. [`crate::DaemonInput::FileRead`]
    /// answers.
    ReadLocalFile {
        /// The job.
        job: JobId,
        /// The file: its index among the entries of the job.
        entry: u32,
        /// Its absolute path.
        path: String,
        /// The place of the piece (bytes).
        offset: u64,
        /// Its size (bytes).
        length: u32,
    },
    /// Puts files of a job into its directory, in the order of these effects.
    Stage {
        /// The job.
        job: JobId,
        /// The step on this node.
        step: StageEffect,
    },
    /// Writes to a sink of the head, in order per sink. `OutputWritten` answers when `account` is given.
    WriteOutput {
        /// The sink to write to.
        sink: Sink,
        /// The process whose output it is; rank 0 stands for what the DVM says about the job.
        from: Rank,
        /// The data to write.
        data: Bytes,
        /// The window that the data count against; `OutputWritten` gives it back.
        account: Option<Account>,
    },
    /// Appends output of a process of this node to a file, which the first write of a job empties. Missing directories
    /// are made. `FileFailed` answers when it fails, before any other input, and the driver drops later output for
    /// the file.
    WriteFile {
        /// The job.
        job: JobId,
        /// The absolute path.
        path: String,
        /// The data to write.
        data: Bytes,
    },
    /// Closes a file of a job; nothing more is written to it.
    CloseFile(String),
    /// A request to the PMIx side.
    Pmix(PmixEffect),
    /// Shows a message on standard error. The printing process adds rules of 74 dashes.
    Notice {
        /// The submission whose client shows it; `None` = this process.
        to: Option<RequestId>,
        /// The message.
        text: String,
    },
    /// Shows a line about the bring-up on standard error, without rules.
    Progress(String),
    /// Gives the submitter a picture of a job's map to keep.
    Picture {
        /// The submission of the job.
        to: RequestId,
        /// The file format of the picture.
        format: PictureFormat,
        /// The whole content.
        text: String,
    },
    /// Writes a line for users who asked for verbosity.
    Trace(Transition),
    /// Announces that the DVM takes jobs.
    Ready,
    /// Tells a submitter the job of its submission.
    Accepted {
        /// The accepted submission.
        request: RequestId,
        /// The job that it became.
        job: JobId,
    },
    /// Tells a submitter that the processes of its job wait for a debugger: a person by the text, a tool by the event
    /// `PMIX_READY_FOR_DEBUG`.
    ReadyForDebug {
        /// The submission of the job.
        request: RequestId,
        /// The job.
        job: JobId,
        /// The places of the processes, and the next step for the user.
        text: String,
    },
    /// Tells a submitter that the job's processes run, or why they never will (a PMIx status). It comes once, before
    /// the reply.
    Launched {
        /// The submission of the job.
        request: RequestId,
        /// Success, or the PMIx status of the failure.
        result: Result<(), PmixStatus>,
    },
    /// Sends the one reply to a request.
    Reply {
        /// The request to answer.
        request: RequestId,
        /// The answer.
        reply: Reply,
    },
    /// Appends a job that is over to the history's files.
    Keep {
        /// The number of the job, counted in the order of ends.
        number: u64,
        /// The file that it belongs to; the files of lower numbers than `oldest` are removed.
        file: u64,
        /// The oldest file that stays.
        oldest: u64,
        /// The job.
        job: Box<JobDetail>,
    },
    /// A request about the processes and files of batches.
    Batch(BatchEffect),
    /// Looks into the history's files. [`crate::HeadInput::Recalled`] answers.
    Recall {
        /// The request that needs it; the answer repeats it.
        request: RequestId,
        /// The job or batch that the caller looks for.
        what: Recall,
    },
    /// Tells a tool that takes PMIx events the outcome of its request for another size, which was answered at the
    /// beginning.
    Resized {
        /// The request that has ended.
        request: RequestId,
        /// The outcome of the change.
        resize: Box<Resize>,
    },
    /// Warns a tool that takes PMIx events of the near end of its session.
    TimeWarning {
        /// The request that made the session.
        request: RequestId,
        /// The session, and the time that is left.
        warning: Box<TimeWarning>,
    },
    /// Writes a text to a log of this node, or sends it by e-mail. [`crate::HeadInput::Logged`] or
    /// [`crate::DaemonInput::Logged`] answers, within a minute.
    Log {
        /// The name that the answer repeats.
        id: LogId,
        /// The text and its channel.
        record: Box<LogRecord>,
    },
    /// Offers nodes that have left the DVM to their resource managers. `ReleaseOffered` answers.
    OfferRelease {
        /// The shrink; the answer repeats it.
        campaign: CampaignId,
        /// Names of the nodes.
        nodes: Vec<String>,
        /// The releases to the manager that granted the nodes, by its jobs.
        back: Vec<GiveBack>,
    },
    /// Asks the resource manager for more nodes. `NodesGranted` or `NodesRefused` answers, perhaps after hours, and
    /// before that any number of `NodesAwaited`.
    RequestNodes {
        /// The request's number; the answers repeat it.
        extension: ExtensionId,
        /// The number or job of nodes to ask for.
        ask: Box<NodeAsk>,
    },
    /// Asks the resource manager when a job of it ends. `JobEndTold` answers.
    AskForEnd {
        /// The manager's job.
        job: String,
    },
    /// Withdraws a request for nodes. Nothing follows, except `NodesGranted` when the grant was quicker.
    WithdrawRequest {
        /// The number of the request.
        extension: ExtensionId,
    },
    /// Gives back a further job of the manager with all of its nodes. `AllocationEnded` answers.
    EndAllocation {
        /// The manager's job.
        job: String,
    },
    /// Removes the directory and all remains of a job that is over here.
    CleanJob(JobId),
    /// A request about the connection of a relayed client.
    Relay(RelayEffect),
    /// Ends this process after all earlier effects, with flushed links.
    Exit {
        /// The exit code.
        code: u8,
    },
}

/// Effects for lanes.
#[derive(Clone, Debug)]
pub enum LaneEffect {
    /// Opens a lane. `Up` or `Lost` answers.
    Open {
        /// The lane.
        lane: Lane,
        /// The addresses at which the other daemon listens.
        contact: Contact,
        /// The time at which the driver gives up.
        deadline: Timestamp,
    },
    /// Sends a message over a lane, after all earlier ones. It is dropped when the lane is gone.
    Say {
        /// The lane.
        lane: Lane,
        /// The message.
        message: SpreadMessage,
    },
    /// Sends what is queued and closes a lane, or ends its call. No `Lost` follows.
    Close(Lane),
}

/// Effects for batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchEffect {
    /// Writes the list to a file and starts the process that submits its jobs. [`crate::BatchInput::Started`] answers,
    /// and later [`crate::BatchInput::Ended`].
    Start(BatchId, Box<BatchStart>),
    /// Starts that process again, which goes on with what has no record. The same answer.
    Restart(BatchId),
    /// Asks that process to cancel everything and to end.
    Cancel(BatchId),
    /// Reads from the file of results. [`crate::BatchInput::Read`] answers.
    Read {
        /// The request that needs it; the answer repeats it.
        request: RequestId,
        /// The batch.
        batch: BatchId,
        /// Where to begin (bytes).
        offset: u64,
    },
    /// Removes the files of a batch that is over, as far as they are in the session directory.
    Forget(BatchId),
}

/// A question to the history's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// A job.
    Job(JobId),
    /// Jobs from this number on, counted in the order of ends.
    From(u64),
}

/// The jobs in the history's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// The job, if they have it.
    Job(JobId, Option<Box<JobDetail>>),
    /// Jobs in the order of their ends.
    Page(EndedJobs),
}

/// Steps by which the files of a job come to this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageEffect {
    /// Makes their directories; all names were checked.
    Begin(Vec<PreloadEntry>),
    /// Appends data to a file. `Staged` answers, or `StageEnded` with the cause of a failure; after a failure nothing
    /// more is written.
    Write {
        /// The file: its index among the entries.
        entry: u32,
        /// The data.
        data: Bytes,
    },
    /// Unpacks archives and makes links. `StageEnded` answers.
    Finish,
}

/// Effects for the connections of relayed clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEffect {
    /// At a daemon: admits clients of this node, which find the DVM by this announcement.
    Listen(Box<Served>),
    /// At the head: serves a client like those of the head's node; the driver reads its bytes here and writes the
    /// answers.
    Serve(RelayId),
    /// Reads once from a client's connection. `Read` or `Ended` answers.
    Read {
        /// The client to read from.
        client: RelayId,
        /// The most bytes to read.
        limit: usize,
    },
    /// Writes data to a client's connection. `Written` or `Ended` answers.
    Write {
        /// The client to write to.
        client: RelayId,
        /// The data to write.
        data: Bytes,
    },
    /// At the head: ends the service after the client's last answer; the end can be read after that.
    Finish(RelayId),
    /// Closes this end after all written data. No `Ended` follows.
    Close(RelayId),
}

/// A sink of output at the head: a submitter's standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sink {
    /// The submission.
    pub to: RequestId,
    /// Standard output or standard error.
    pub stream: Stream,
}

/// The window that output counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The daemon that has sent the output.
    pub daemon: DaemonRank,
    /// The job that has written it.
    pub job: JobId,
    /// Bytes as the daemon sent them; tags and dates make the written text longer.
    pub bytes: u64,
    /// For output that several read: the piece, and which of them.
    pub share: Option<Share>,
}

/// One reader's share of a piece of output that several read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the piece.
    pub piece: u64,
    /// The request of the reader: the submission, or a pull.
    pub reader: RequestId,
}

/// The description of a process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The name that the process gets as its own (`argv[0]` of `execve`); `None` = the program.
    pub arg0: Option<String>,
    /// The search path for a program without a slash; `None` = `PATH` of the new environment.
    pub path: Option<String>,
    /// Working directory.
    pub wdir: String,
    /// True when the user named `wdir`, which then must exist. The home directory replaces a submitter's directory
    /// that is missing here.
    pub wdir_given: bool,
    /// Changes to the daemon's own environment, in order.
    pub env: Vec<EnvOp>,
    /// Command that starts the process; `None` = that of the parameters, empty = none.
    pub agent: Option<Vec<String>>,
    /// True when the process starts in its own directory below the session directory, and not in `wdir`.
    pub session_cwd: bool,
    /// True when the files of its job are linked into that directory.
    pub preloaded: bool,
    /// Hardware threads to which the process is bound.
    pub cpus: Option<CpuSet>,
    /// The memory that it may use (bytes), where the node can limit it (spec L163); `None` = no limit.
    pub memory: Option<u64>,
    /// Devices of the process, which its environment names.
    pub devices: Vec<Device>,
    /// True when a debugger that did not start the process may attach to it, where the system lets processes decide.
    pub traceable: bool,
    /// True when the process is to stop (SIGSTOP) before the first instruction of its program.
    pub stopped: bool,
    /// The number of times that the process has failed and is started again.
    pub restarts: u32,
    /// True for a pipe on standard input; else the process reads `/dev/null`.
    pub stdin: bool,
    /// True when standard error goes into standard output's pipe.
    pub merge_stderr: bool,
}

/// Requests to the PMIx side.
#[derive(Clone, Debug)]
pub enum PmixEffect {
    /// Makes a job known, before any of its processes is spawned here.
    Register(Arc<Registration>),
    /// Makes a job unknown.
    Deregister(JobId),
    /// A local process has failed before its init, and its job goes on: the library is to count it among those that are
    /// gone.
    Absent(ProcId),
    /// A local process has ended without a word of its finalize: the library may not have read all that it sent.
    /// Answered by [`crate::PmixCall::HeardOut`] when it has, or is gone.
    HearOut(ProcId),
    /// Answers an upcall, exactly once per token.
    Reply {
        /// The upcall to answer.
        token: PmixToken,
        /// The data, or a PMIx status (negative).
        result: CollectiveResult,
    },
    /// Tells local processes and tools of an event, each once.
    Event {
        /// The event.
        event: Box<PmixEvent>,
        /// The local processes that are to hear it, whether they have called init yet or not.
        to: Vec<ProcId>,
        /// The addressees; the driver finds its tools among them.
        range: EventRange,
    },
    /// Answers [`crate::PmixCall::Resize`]: refused, unchanged, or begun.
    ReplyResize {
        /// The upcall to answer.
        token: PmixToken,
        /// The answer of the first phase.
        resize: Box<Resize>,
    },
    /// Sends the event of the second phase to one local process: `PMIX_DVM_IS_READY`, or `PMIX_ERR_DVM_MOD` with the
    /// cause.
    ResizeEvent {
        /// The process that asked for the change.
        proc: ProcId,
        /// The outcome of the change.
        resize: Box<Resize>,
    },
    /// Tells a local process that a job which it has spawned is over.
    JobEnd {
        /// The process to tell.
        parent: ProcId,
        /// The job that is over.
        job: JobId,
        /// Its exit code.
        code: u8,
    },
    /// Tells a local process that all processes of a job which it has spawned wait for a debugger.
    JobReady {
        /// The process to tell.
        parent: ProcId,
        /// The job.
        job: JobId,
    },
    /// Lets a local process go on that waits for a debugger in the library (`PMIX_DEBUGGER_RELEASE`).
    Release(ProcId),
    /// Warns a local process of the near end of its session (`PMIX_ALLOC_TIMEOUT_WARNING`).
    TimeWarning {
        /// The process that asked for the warning.
        proc: ProcId,
        /// The session, and the time that is left.
        warning: Box<TimeWarning>,
    },
    /// Answers [`crate::PmixCall::Spawn`].
    SpawnReply {
        /// The upcall to answer.
        token: PmixToken,
        /// The new job, or a PMIx status.
        result: Result<JobId, PmixStatus>,
    },
    /// Answers [`crate::PmixCall::Data`].
    DataReply {
        /// The upcall to answer.
        token: PmixToken,
        /// The values that a lookup has found, or a PMIx status.
        result: Result<Vec<Found>, PmixStatus>,
    },
    /// Answers [`crate::PmixCall::Query`].
    QueryReply {
        /// The upcall to answer.
        token: PmixToken,
        /// The answers, one for each subject, in their order.
        facts: Vec<Fact>,
    },
    /// Makes a process set known, and tells local processes of it. Comes after its jobs were registered.
    DefineSet(ProcessSet),
    /// Ends a process set, and tells local processes of it.
    DeleteSet(String),
    /// Gets the published data of a local process. `ModexFetched` answers.
    FetchModex {
        /// The number of the fetch; the answer repeats it.
        fetch: u64,
        /// The process whose data are wanted.
        proc: ProcId,
    },
    /// Sends the local processes of a job one event for each failed process.
    Notify {
        /// The job of the failed processes.
        job: JobId,
        /// The failed processes, each with its end.
        failed: Vec<ProcFailure>,
    },
    /// Writes to the PMI-1 socket of a local process.
    Pmi1 {
        /// The process to write to.
        proc: ProcId,
        /// The data to write.
        data: Bytes,
    },
}

/// The data that the PMIx library needs of a job.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The launch order: job, map, apps.
    pub order: Arc<LaunchOrder>,
    /// Name of the DVM.
    pub dvm: String,
    /// The daemon that registers.
    pub daemon: DaemonRank,
    /// True when this node has more processes than cores, so that waiting processes should yield.
    pub oversubscribed: bool,
    /// Devices of the local processes that were mapped by devices.
    pub devices: BTreeMap<Rank, Vec<Device>>,
}

/// One step of a state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// A step of a job.
    Job {
        /// The job that changes.
        job: JobId,
        /// Its former state; `None` at its creation.
        from: Option<JobState>,
        /// Its new state.
        to: JobState,
    },
    /// A step of a process.
    Proc {
        /// The process that changes.
        proc: ProcId,
        /// Its former state.
        from: ProcState,
        /// Its new state.
        to: ProcState,
    },
    /// A step of a campaign.
    Campaign {
        /// The campaign that changes.
        campaign: CampaignId,
        /// A grow or a shrink.
        kind: CampaignKind,
        /// The step that it enters.
        step: CampaignStep,
    },
    /// A step of a change of an elastic job's size.
    Size {
        /// The root of its spawn tree.
        root: JobId,
        /// True for more processes, false for fewer.
        is_offer: bool,
        /// Their number; at the end those that have come, or ended.
        procs: u32,
        /// The step that it enters.
        step: SizeChangeStep,
    },
}

/// The list of effects of one call. Empty on entry; drained before the next input.
#[derive(Debug, Default)]
pub struct Effects {
    list: Vec<Effect>,
}

impl Effects {
    /// An empty list.
    #[must_use]
    pub fn new() -> Effects {
        Effects::default()
    }
    /// Adds an effect.
    pub fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }
    /// Takes all effects, in order.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Effect> {
        self.list.drain(..)
    }
    /// True when there is no effect.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// The effects so far.
    #[must_use]
    pub fn as_slice(&self) -> &[Effect] {
        &self.list
    }
}
