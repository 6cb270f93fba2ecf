//! Everything that the machines can ask for, as data. The driver carries it out; each completion comes back as an
//! [`crate::Input`].

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ferrite_rm::{GiveBack, LaunchCommand, NodeAsk};
use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, CpuSet, DaemonRank, Device, EnvOp, ExtensionId, JobId, JobState,
    PictureFormat, PmixStatus, ProcId, ProcState, Rank, Timestamp,
};
use ferrite_wire::control::Reply;
use ferrite_wire::{
    CollectiveResult, Contact, Found, Frame, LaunchOrder, ProcFailure, Resize, Served, Stream, Ticket, TimeWarning,
};

use crate::input::{PmixToken, RelayId, RequestId};
use crate::timer::Timer;

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send over the link to this neighbour, after what was sent before.
    Transmit {
        /// The neighbour.
        peer: DaemonRank,
        /// What.
        frame: Frame,
    },
    /// Call this daemon. Answered by `LinkUp` or `ConnectFailed`.
    Connect {
        /// Whom.
        peer: DaemonRank,
        /// Where it listens.
        contact: Contact,
        /// Give up then.
        deadline: Timestamp,
        /// Try again until then whatever the answer is; else a refusal by the machine ends it.
        insist: bool,
    },
    /// Flush and close a link. No `LinkLost` follows.
    CloseLink {
        /// The neighbour.
        peer: DaemonRank,
    },
    /// Start a daemon, or the daemons of a ticket for several. Answered by `LauncherEnded`.
    LaunchDaemon {
        /// Its rank; that of the first.
        rank: DaemonRank,
        /// The command.
        command: LaunchCommand,
        /// For the command's standard input.
        ticket: Box<Ticket>,
    },
    /// End the launcher process of this daemon, if it still runs. No `LauncherEnded` follows.
    AbandonLaunch {
        /// The daemon; of several, the first.
        rank: DaemonRank,
    },
    /// Wake me then. Setting a timer again moves it.
    SetTimer {
        /// Which.
        timer: Timer,
        /// When.
        at: Timestamp,
    },
    /// Forget a timer.
    CancelTimer(Timer),
    /// The daemon detaches from its launcher: it is linked and can speak for itself.
    Detach,
    /// Start a process. Answered by `Spawned` or `SpawnFailed`.
    Spawn {
        /// Which.
        proc: ProcId,
        /// How.
        request: Box<SpawnRequest>,
    },
    /// Signal a local process and its descendants.
    Signal {
        /// Which.
        proc: ProcId,
        /// Signal number.
        signal: i32,
    },
    /// Read once, at most so many bytes. Answered by `Output` or `OutputClosed`.
    ReadOutput {
        /// Which process.
        proc: ProcId,
        /// Which stream.
        stream: Stream,
        /// Limit (bytes).
        limit: usize,
    },
    /// Say whether anything waits to be read from a stream that is being read. Answered by `OutputIdle` when nothing
    /// does, else by the `Output` of the read.
    CheckOutput {
        /// Which process.
        proc: ProcId,
        /// Which stream.
        stream: Stream,
    },
    /// Write all of it to the process's standard input. Answered by `StdinTaken`.
    WriteStdin {
        /// Which process.
        proc: ProcId,
        /// What.
        data: Bytes,
    },
    /// Close the process's standard input after what was written.
    CloseStdin {
        /// Which process.
        proc: ProcId,
    },
    /// Read once from the submitter's standard input. Answered by `Stdin`.
    ReadStdin {
        /// Whose.
        request: RequestId,
        /// Limit (bytes).
        limit: usize,
    },
    /// Write to a sink of the head, in order per sink. Answered by `OutputWritten` when `account` is given.
    WriteOutput {
        /// Where to.
        sink: Sink,
        /// What.
        data: Bytes,
        /// Whose window it is on; answered by `OutputWritten`.
        account: Option<Account>,
    },
    /// Nothing more will be written to this file.
    CloseFile(String),
    /// Something for the PMIx side.
    Pmix(PmixEffect),
    /// A message on standard error, already worded; framed by rules of 74 dashes by who prints it.
    Notice {
        /// For the submitter of this request; `None` = for whoever runs this process.
        to: Option<RequestId>,
        /// The message.
        text: String,
    },
    /// A picture of a job's map, for the submitter to keep.
    Picture {
        /// The submission.
        to: RequestId,
        /// What kind of picture.
        format: PictureFormat,
        /// All of it.
        text: String,
    },
    /// A line for those who asked for verbosity.
    Trace(Transition),
    /// The DVM is ready for jobs.
    Ready,
    /// A submission has become a job.
    Accepted {
        /// The submission.
        request: RequestId,
        /// Its job.
        job: JobId,
    },
    /// The processes of a submission's job run, or why they never will (a PMIx status). Said once, before the reply.
    Launched {
        /// The submission.
        request: RequestId,
        /// What became of it.
        result: Result<(), PmixStatus>,
    },
    /// The one reply to a request.
    Reply {
        /// Which.
        request: RequestId,
        /// The answer.
        reply: Reply,
    },
    /// A request to change the DVM's size that was answered when it began has come to its end: for a tool that takes
    /// PMIx events.
    Resized {
        /// The request.
        request: RequestId,
        /// Done, or failed.
        resize: Box<Resize>,
    },
    /// The session that a request made is about to end: for a tool that takes PMIx events.
    TimeWarning {
        /// The request.
        request: RequestId,
        /// Which session, and when.
        warning: Box<TimeWarning>,
    },
    /// These nodes have left the DVM: offer them back to each resource manager. Answered by `ReleaseOffered`.
    OfferRelease {
        /// For the answer.
        campaign: CampaignId,
        /// Their names.
        nodes: Vec<String>,
        /// What goes back to the manager that granted them, by its jobs.
        back: Vec<GiveBack>,
    },
    /// Ask the resource manager for more nodes. Answered by `NodesGranted` or `NodesRefused`, perhaps after hours, and
    /// before that by any number of `NodesAwaited`.
    RequestNodes {
        /// For the answer.
        extension: ExtensionId,
        /// What is wanted.
        ask: Box<NodeAsk>,
    },
    /// They are not wanted any more. Nothing follows, unless they were granted meanwhile: then `NodesGranted`.
    WithdrawRequest {
        /// From the request.
        extension: ExtensionId,
    },
    /// Give a job of the manager back that it has granted on top, and all of its nodes. Answered by `AllocationEnded`.
    EndAllocation {
        /// The job.
        job: String,
    },
    /// A job is over here: remove its directory and whatever it left.
    CleanJob(JobId),
    /// About the connection of a client on another node than the head's.
    Relay(RelayEffect),
    /// End this process after all effects before it, links flushed.
    Exit {
        /// With this code.
        code: u8,
    },
}

/// What is to be done about clients whose connections are passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEffect {
    /// At a daemon: let the clients of this node in, who find the DVM by this.
    Listen(Box<Served>),
    /// At the head: serve this one like those of the head's own node; what it is told is read, and what it says is
    /// written.
    Serve(RelayId),
    /// Read once, at most so many bytes. Answered by `Read` or `Ended`.
    Read {
        /// From which.
        client: RelayId,
        /// Limit (bytes).
        limit: usize,
    },
    /// Write all of it. Answered by `Written`, or by `Ended`.
    Write {
        /// To which.
        client: RelayId,
        /// What.
        data: Bytes,
    },
    /// At the head: end the service when this client was told all that is for it; its end can be read behind that.
    Finish(RelayId),
    /// Close this end, after what was written. No `Ended` follows.
    Close(RelayId),
}

/// Where output of processes goes at the head.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sink {
    /// The submitter's standard output or standard error.
    Client(RequestId, Stream),
    /// A file; directories on the way are made.
    File(String),
}

/// Output that counts against the window of a job on a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The daemon that sent it.
    pub daemon: DaemonRank,
    /// The job that wrote it.
    pub job: JobId,
    /// Bytes as they came; tags and dates make what is written longer.
    pub bytes: u64,
}

/// How to start a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where to look for a program without a slash; `None` = `PATH` of the new environment.
    pub path: Option<String>,
    /// Working directory.
    pub wdir: String,
    /// True when the user named `wdir`: then it must exist. A submitter's directory that is missing here
    /// is replaced by the home directory.
    pub wdir_given: bool,
    /// Changes to the daemon's own environment, in order.
    pub env: Vec<EnvOp>,
    /// Hardware threads to bind to.
    pub cpus: Option<CpuSet>,
    /// Devices that are its own, which it is told in its environment.
    pub devices: Vec<Device>,
    /// True when it gets a pipe on standard input; else `/dev/null`.
    pub stdin: bool,
    /// True when standard error goes into standard output's pipe.
    pub merge_stderr: bool,
}

/// What the PMIx side is asked for.
#[derive(Clone, Debug)]
pub enum PmixEffect {
    /// Make a job known, before any of its processes is spawned here.
    Register(Arc<Registration>),
    /// Forget it.
    Deregister(JobId),
    /// Reply to an upcall; exactly one per token.
    Reply {
        /// Which.
        token: PmixToken,
        /// Data, or a PMIx status (negative).
        result: CollectiveResult,
    },
    /// Reply to [`crate::PmixCall::Resize`]: refused, unchanged, or begun.
    ReplyResize {
        /// Which.
        token: PmixToken,
        /// The answer.
        resize: Box<Resize>,
    },
    /// The second phase, for this local process alone: `PMIX_DVM_IS_READY`, or `PMIX_ERR_DVM_MOD` with the cause.
    ResizeEvent {
        /// Who asked.
        proc: ProcId,
        /// Done, or failed.
        resize: Box<Resize>,
    },
    /// Tells a local process that a job which it has spawned is over.
    JobEnd {
        /// The process.
        parent: ProcId,
        /// The job.
        job: JobId,
        /// Its exit code.
        code: u8,
    },
    /// A session is about to end, for the local process alone that asked to be told (`PMIX_ALLOC_TIMEOUT_WARNING`).
    TimeWarning {
        /// Who asked.
        proc: ProcId,
        /// Which session, and when.
        warning: Box<TimeWarning>,
    },
    /// The same for [`crate::PmixCall::Spawn`].
    SpawnReply {
        /// Which.
        token: PmixToken,
        /// The new job, or a PMIx status.
        result: Result<JobId, PmixStatus>,
    },
    /// The same for [`crate::PmixCall::Data`].
    DataReply {
        /// Which.
        token: PmixToken,
        /// What was found (of a lookup), or a PMIx status.
        result: Result<Vec<Found>, PmixStatus>,
    },
    /// Get what a local process has published. Answered by `ModexFetched`.
    FetchModex {
        /// Names the answer.
        fetch: u64,
        /// Which process.
        proc: ProcId,
    },
    /// Tell the local processes of this job that others of it have failed: an event for each.
    Notify {
        /// The job.
        job: JobId,
        /// Who, and how.
        failed: Vec<ProcFailure>,
    },
    /// Write to the PMI-1 socket of a local process.
    Pmi1 {
        /// Which.
        proc: ProcId,
        /// What.
        data: Bytes,
    },
}

/// What the PMIx library must know of a job.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The launch order: job, map, apps.
    pub order: Arc<LaunchOrder>,
    /// Name of the DVM.
    pub dvm: String,
    /// The daemon that registers.
    pub daemon: DaemonRank,
    /// This node has more processes than cores: they should let each other run while they wait.
    pub oversubscribed: bool,
    /// Devices of the processes here that were given some.
    pub devices: BTreeMap<Rank, Vec<Device>>,
}

/// One step of a state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Of a job.
    Job {
        /// Which.
        job: JobId,
        /// Its former state; `None` at its creation.
        from: Option<JobState>,
        /// Its new state.
        to: JobState,
    },
    /// Of a process.
    Proc {
        /// Which.
        proc: ProcId,
        /// Its former state.
        from: ProcState,
        /// Its new state.
        to: ProcState,
    },
    /// Of a change of the DVM's size.
    Campaign {
        /// Which.
        campaign: CampaignId,
        /// Which way.
        kind: CampaignKind,
        /// How far it has come.
        step: CampaignStep,
    },
}

/// Where a machine puts what it wants done. Empty on entry; drained before the next input.
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
    /// Adds one.
    pub fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }
    /// Takes all, in order.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Effect> {
        self.list.drain(..)
    }
    /// True when nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// What was asked for so far.
    #[must_use]
    pub fn as_slice(&self) -> &[Effect] {
        &self.list
    }
}
