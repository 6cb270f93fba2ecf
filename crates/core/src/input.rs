//! Everything that can happen to a daemon (or the head), as data. The driver and the simulator make these;
//! nothing else reaches the machines.

use bytes::Bytes;
use ferrite_types::{CampaignId, DaemonRank, ExitStatus, ExtensionId, HostEntry, ProcId};
use ferrite_wire::control::{Request, SessionOrder, Submission};
use ferrite_wire::{CollectiveResult, DataCall, Frame, Members, ResizeRequest, StartError, Stream};

use crate::effect::Account;
use crate::timer::Timer;

/// Names a request of a client until its reply. Made by the driver, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

impl RequestId {
    /// The job of the head's own process (`prterun`), whose input and output are that process's.
    pub const OWN: RequestId = RequestId(0);
}

/// Names an upcall of a PMIx client until its reply; made by the driver, opaque here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PmixToken(pub u64);

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// The machine may begin. First input, once.
    Start,
    /// The launcher process of a daemon ended (with ssh: ssh itself). Zero is fine: the daemon has detached.
    LauncherEnded {
        /// The daemon that it was to start.
        rank: DaemonRank,
        /// Its end, or `None` when it could not be started at all.
        status: Option<ExitStatus>,
        /// The last of what it wrote to its standard error, or why it could not be started.
        message: String,
    },
    /// A timer that was set and not cancelled is due.
    Timer(Timer),
    /// The head was told to end (SIGTERM, its guard or parent died).
    Terminate {
        /// Why, in words.
        cause: String,
    },
    /// About the connection of a client on another node than the head's: at its daemon, or at the head.
    Relay(RelayInput),
    /// Something about a link to another daemon.
    Link(LinkInput),
    /// Something for the head. At a daemon nobody makes it.
    Head(HeadInput),
    /// Something for the daemon of this node.
    Daemon(DaemonInput),
}

/// What happens to links. The node handles it: the transport, then the machines that are concerned.
#[derive(Clone, Debug)]
pub enum LinkInput {
    /// An authenticated link to this daemon is up, whoever called. It replaces one that there may have been: what was
    /// on its way over that one is lost.
    LinkUp {
        /// The other side.
        peer: DaemonRank,
    },
    /// Something is arriving over a link, though no whole frame for a while: it is alive.
    LinkActivity {
        /// The other side.
        peer: DaemonRank,
    },
    /// A link that was up is gone.
    LinkLost {
        /// The other side.
        peer: DaemonRank,
        /// Why, in words.
        cause: String,
    },
    /// [`crate::Effect::Connect`] failed for good.
    ConnectFailed {
        /// Whom it called.
        peer: DaemonRank,
        /// Why, in words.
        cause: String,
        /// The machine answered that nobody listens there any more: that daemon's process is gone.
        refused: bool,
    },
    /// A frame came over a link.
    Frame {
        /// The neighbour that sent it (not its author).
        from: DaemonRank,
        /// The frame.
        frame: Frame,
    },
}

/// What happens to the head alone.
#[derive(Clone, Debug)]
pub enum HeadInput {
    /// What a launcher has started on some nodes has ended, by its own words; it itself goes on.
    TasksEnded {
        /// By which it is known: the first of the daemons that it was to start.
        launcher: DaemonRank,
        /// The nodes.
        nodes: Vec<String>,
        /// The last of what it wrote.
        message: String,
    },
    /// All resource managers have made up their minds about the nodes of [`crate::Effect::OfferRelease`].
    ReleaseOffered {
        /// From the effect.
        campaign: CampaignId,
        /// Nodes that could not go back, and are still granted.
        kept: Vec<String>,
        /// What went wrong, in words; nothing hangs on it.
        trouble: Option<String>,
    },
    /// The resource manager has granted what [`crate::Effect::RequestNodes`] asked for.
    NodesGranted {
        /// From the effect.
        extension: ExtensionId,
        /// Its job that grants them.
        job: String,
        /// They, with their slots.
        nodes: Vec<HostEntry>,
    },
    /// It has refused, or could not be asked.
    NodesRefused {
        /// From the effect.
        extension: ExtensionId,
        /// Why, in its words where it has said any.
        cause: String,
    },
    /// It has not decided yet.
    NodesAwaited {
        /// From the effect.
        extension: ExtensionId,
        /// What it says of the request.
        says: String,
    },
    /// [`crate::Effect::EndAllocation`] has been carried out, or could not be.
    AllocationEnded {
        /// From the effect.
        job: String,
        /// What went wrong, in words.
        trouble: Option<String>,
    },
    /// A client asks for something. Answered by exactly one [`crate::Effect::Reply`], unless the client goes first.
    Request {
        /// Names it.
        id: RequestId,
        /// What.
        request: Request,
    },
    /// The client of this request is gone: nobody reads its output or its reply, and its job ends.
    ClientGone(RequestId),
    /// A PMIx tool is gone that has made these requests, answered or not: the sessions that it has asked for end with
    /// it, each in its way. Comes before [`HeadInput::ClientGone`] for the requests that are open.
    ToolGone(Vec<RequestId>),
    /// The user wants the submitted job to end. Its reply comes when it has.
    Cancel(RequestId),
    /// A signal for the processes of a submitted job.
    SignalSubmitted {
        /// The submission.
        request: RequestId,
        /// Signal number.
        signal: i32,
    },
    /// The user wants out (Ctrl-C): once = orderly, again = a warning, a third time = at once.
    Interrupt,
    /// A signal for the processes of every job.
    ForwardSignal(i32),
    /// Standard input of the submitter; empty = end. Answers one [`crate::Effect::ReadStdin`].
    Stdin {
        /// Whose.
        request: RequestId,
        /// What.
        data: Bytes,
    },
    /// Output that a [`crate::Effect::WriteOutput`] carried has left this process, or has nowhere to go.
    OutputWritten(Account),
}

/// What happens to a daemon: its processes, their output and their PMIx calls.
#[derive(Clone, Debug)]
pub enum DaemonInput {
    /// A local process runs.
    Spawned {
        /// Which.
        proc: ProcId,
        /// Its pid.
        pid: u32,
    },
    /// A local process could not be started.
    SpawnFailed {
        /// Which.
        proc: ProcId,
        /// Why.
        error: StartError,
    },
    /// A local process ended and was reaped.
    Exited {
        /// Which.
        proc: ProcId,
        /// How.
        status: ExitStatus,
    },
    /// A local process wrote this. Consumes the one outstanding [`crate::Effect::ReadOutput`] of the stream.
    Output {
        /// Which process.
        proc: ProcId,
        /// Where.
        stream: Stream,
        /// What; never empty.
        data: Bytes,
    },
    /// Nothing waited to be read from a stream when [`crate::Effect::CheckOutput`] asked.
    OutputIdle {
        /// Which process.
        proc: ProcId,
        /// Which stream.
        stream: Stream,
        /// The process has work to do; on a busy node it may only be waiting for a processor.
        writer_runs: bool,
    },
    /// No more will come of this stream. Comes after all of its `Output`.
    OutputClosed {
        /// Which process.
        proc: ProcId,
        /// Which stream.
        stream: Stream,
    },
    /// So many bytes of a [`crate::Effect::WriteStdin`] were taken by the process (or dropped, because it reads no
    /// more).
    StdinTaken {
        /// Which process.
        proc: ProcId,
        /// Bytes.
        bytes: u64,
    },
    /// A PMIx or PMI-1 client wants something, or a PMIx operation is done.
    Pmix(PmixCall),
}

/// Names a client whose connection is passed on: its daemon, and a number that this daemon uses once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelayId {
    /// The daemon on its node.
    pub daemon: DaemonRank,
    /// Made by the driver of that one.
    pub number: u64,
}

/// What happens to such a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayInput {
    /// A client of this daemon's own node has begun to speak.
    Came(RelayId),
    /// What was read; never empty. Answers one [`crate::RelayEffect::Read`].
    Read {
        /// Of which client.
        client: RelayId,
        /// What.
        data: Bytes,
    },
    /// So many bytes of a [`crate::RelayEffect::Write`] were taken.
    Written {
        /// By which client.
        client: RelayId,
        /// Bytes.
        bytes: usize,
    },
    /// This end of the connection is closed, or broken.
    Ended(RelayId),
}

/// Whom an abort is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortScope {
    /// The job.
    Job,
    /// The caller alone: nothing but a failure of its own.
    Caller,
}

/// Calls of local MPI processes.
#[derive(Clone, Debug)]
pub enum PmixCall {
    /// `PMIx_Init` of a local process.
    ClientConnected(ProcId),
    /// A local process has notified `PMIX_READY_FOR_DEBUG`: it waits for a debugger.
    ReadyForDebug(ProcId),
    /// `PMIx_Finalize` of a local process.
    ClientFinalized(ProcId),
    /// `PMIx_Abort`. Replied to by [`crate::PmixEffect::Reply`].
    Abort {
        /// Who.
        proc: ProcId,
        /// The exit code it asks for.
        code: i32,
        /// What it says.
        message: String,
        /// Whom it wants to end.
        scope: AbortScope,
        /// For the reply.
        token: PmixToken,
    },
    /// All local participants entered a fence.
    Fence {
        /// All participants.
        members: Members,
        /// The local contribution.
        data: Bytes,
        /// For the reply, which carries the data of all.
        token: PmixToken,
    },
    /// `PMIx_Allocation_request` of a local process.
    Resize {
        /// Who.
        proc: ProcId,
        /// What.
        request: ResizeRequest,
        /// For the reply of the first phase, [`crate::PmixEffect::ReplyResize`].
        token: PmixToken,
    },
    /// `PMIx_Session_control` of a local process, or of a tool. Replied to by [`crate::PmixEffect::Reply`], without
    /// data.
    Session {
        /// What.
        order: SessionOrder,
        /// For the reply.
        token: PmixToken,
    },
    /// All local participants called `PMIx_Connect`.
    Connect {
        /// All participants.
        members: Members,
        /// For the reply.
        token: PmixToken,
    },
    /// All local participants called `PMIx_Disconnect`.
    Disconnect {
        /// All participants.
        members: Members,
        /// For the reply.
        token: PmixToken,
    },
    /// A local process wants a job started. Replied to by [`crate::PmixEffect::SpawnReply`].
    Spawn {
        /// Who.
        proc: ProcId,
        /// What. An app without a directory gets its parent's.
        submission: Box<Submission>,
        /// For the reply.
        token: PmixToken,
    },
    /// A local process publishes something, or looks it up. Replied to by [`crate::PmixEffect::DataReply`].
    Data {
        /// Who, and what.
        call: Box<DataCall>,
        /// For the reply.
        token: PmixToken,
    },
    /// A local process wants what a remote one has published.
    Modex {
        /// The remote process.
        proc: ProcId,
        /// For the reply.
        token: PmixToken,
    },
    /// Answers [`crate::PmixEffect::FetchModex`].
    ModexFetched {
        /// From the effect.
        fetch: u64,
        /// The blob, or a PMIx status.
        result: CollectiveResult,
    },
    /// Bytes on the PMI-1 socket of a local process; empty = it closed the socket.
    Pmi1 {
        /// Which process.
        proc: ProcId,
        /// What came.
        data: Bytes,
    },
}
