//! The control protocol between clients (`prun`, `pterm`, `pdvm`) and a DVM, over the control socket or TCP.
//!
//! The client greets first; both greetings have the same form in every version, so that a client of another release
//! gets a clear refusal. Then frames follow: a length (4 bytes, little-endian) and that many bytes of postcard. The
//! client numbers its requests; everything that belongs to one carries its number, and each gets exactly one [`Reply`].

mod batch;
mod job;
mod session;

use bytes::Bytes;
use ferrite_types::{
    AllocId, AllocReqId, CampaignId, CampaignKind, CampaignStep, DaemonRank, EnvOp, JobId, JobSpec, JobState,
    PictureFormat, PmixStatus, ProcState, Rank, SessionId, Signal, SizeChangeStep,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::batch::{BatchCounts, BatchId, BatchOrder, BatchPiece, BatchStart, BatchStatus, MOST_OF_BATCH};
pub use self::job::{
    AppRecord, Dependency, Ending, JobDetail, JobRecord, JobRef, JobStatus, PendingChange, ProcStatus, SizeStep,
    TreeSize,
};
pub use self::session::{SessionChoice, SessionDirective, SessionOrder};
use crate::{
    CodecError, EventRange, Fact, FilePiece, GrowRequest, JobResize, JobResized, PmixEvent, Resize, ResizeRequest,
    Stream, Subject, TimeWarning, ToolName,
};

/// Version of the control protocol: increased with every change of one of its types.
pub const CONTROL_VERSION: u16 = 28;

/// Length of a greeting (bytes).
pub const GREETING_LEN: usize = 10;

/// Largest body of a frame (bytes).
pub const MAX_CONTROL_FRAME: usize = 64 << 20;

const MAGIC: &[u8; 8] = b"FERRCTL\n";

/// The greeting of this build: magic, version.
#[must_use]
pub fn greeting() -> [u8; GREETING_LEN] {
    let mut out = [0; GREETING_LEN];
    out[..8].copy_from_slice(MAGIC);
    out[8..].copy_from_slice(&CONTROL_VERSION.to_le_bytes());
    out
}

/// The reason why the other side of a control connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GreetingError {
    /// The other side is no Ferrite program.
    #[error("the other side does not speak Ferrite's control protocol")]
    Stranger,
    /// The other side speaks another version of the protocol.
    #[error(
        "the other side speaks version {0} of the control protocol, this is version {CONTROL_VERSION}: use the commands of the release that the DVM was started with"
    )]
    OtherVersion(u16),
}

/// Checks the other side's greeting.
///
/// # Errors
/// When it is not of this version.
pub fn check_greeting(theirs: &[u8; GREETING_LEN]) -> Result<(), GreetingError> {
    if &theirs[..8] != MAGIC {
        return Err(GreetingError::Stranger);
    }
    match u16::from_le_bytes([theirs[8], theirs[9]]) {
        CONTROL_VERSION => Ok(()),
        other => Err(GreetingError::OtherVersion(other)),
    }
}

/// A message of a client to the DVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientMessage {
    /// Opens a request.
    Open {
        /// The number of the request, which the client chooses; no open request of this connection has it.
        id: u32,
        /// The content of the request.
        request: Request,
    },
    /// Standard input of a submitted job; answers one [`DvmMessage::ReadStdin`]. Empty data mean its end.
    Stdin {
        /// The number of the submission.
        id: u32,
        /// The data that were read.
        data: Bytes,
    },
    /// A piece of a preloaded file of a submitted job; answers one [`DvmMessage::ReadFile`].
    File {
        /// The number of the submission.
        id: u32,
        /// The piece, or the cause why it cannot be read.
        piece: Result<FilePiece, String>,
    },
    /// Ends a submitted job at the user's wish (Ctrl-C). The reply comes after the job's end.
    Cancel {
        /// The number of the submission.
        id: u32,
    },
    /// Signals the processes of a submitted job.
    Signal {
        /// The number of the submission.
        id: u32,
        /// The signal.
        signal: Signal,
    },
    /// Subscribes to every step of every job; the events carry this number.
    Follow {
        /// The number of the subscription, which the client chooses.
        id: u32,
    },
    /// Makes this the connection of a PMIx tool: what it opens from here on belongs to the tool, which is gone when the
    /// connection ends. The DVM sends [`DvmMessage::Launched`], [`DvmMessage::ReadyForDebug`], [`DvmMessage::Resized`]
    /// and [`DvmMessage::Warned`]. A tool uses the number of a request once only.
    Tool,
    /// Asks for a [`DvmMessage::Launched`] when the processes of a job run that this connection has submitted.
    Starts,
}

/// A request of a client. Each gets one [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Runs a job; answered by [`Reply::Done`], or [`Reply::Detached`].
    Submit(Box<Submission>),
    /// Asks for the state of the DVM; answered by [`Reply::Status`].
    Status,
    /// Asks for the nodes; answered by [`Reply::Nodes`].
    Nodes,
    /// Asks for the jobs that are not over, then those of the history, latest last; answered by [`Reply::Jobs`].
    Jobs,
    /// Asks for the details of a job; answered by [`Reply::Job`].
    Job(JobId),
    /// Waits for the end of a job; answered by [`Reply::Job`] when it is over.
    Wait(JobId),
    /// Asks for a page of the history; answered by [`Reply::Ended`].
    Ended {
        /// The number of the first job, counted in the order of ends; older ones may be forgotten. 0 = the oldest.
        from: u64,
    },
    /// Asks for the DVM's counters; answered by [`Reply::Metrics`].
    Metrics,
    /// Ends a job; answered by [`Reply::Ordered`].
    Kill(JobId),
    /// Ends a job and all jobs that descend from it, those of a job that is over too; answered by [`Reply::Killed`],
    /// and by a refusal when none of them runs.
    KillTree(JobId),
    /// Signals a job's processes; answered by [`Reply::Ordered`].
    Signal {
        /// The job.
        job: JobId,
        /// The signal.
        signal: Signal,
    },
    /// Lets processes go on that wait for a debugger; answered by [`Reply::Ordered`].
    Release {
        /// The job.
        job: JobId,
        /// The processes; `None` = all.
        ranks: Option<Vec<Rank>>,
    },
    /// Raises an event of a PMIx tool that directs this client (spec L143); answered by [`Reply::Ordered`].
    Raise {
        /// The event; its source is a tool.
        event: Box<PmixEvent>,
        /// Its addressees.
        range: EventRange,
    },
    /// Pulls the output of a job from now on, beside its submitter: [`DvmMessage::Launched`] says that it begins, and
    /// [`DvmMessage::Output`] brings it as the processes write it. Answered by [`Reply::Ordered`] at the job's end, and
    /// by a refusal when there is no such job or the client does not read.
    Pull(JobId),
    /// Feeds a job whose standard input is nobody's: it has readers, and was submitted with `detach` or spawned by a
    /// process. [`DvmMessage::Launched`] says that it may; [`DvmMessage::ReadStdin`] asks for each piece, when those
    /// who came earlier are done, and an empty piece ends the input for ever. Answered by [`Reply::Ordered`] at the end
    /// of input, and by a refusal when the job takes none, when others than these ranks read it, or when the job is
    /// over before.
    Feed {
        /// The job.
        job: JobId,
        /// Its readers; none = whoever reads.
        ranks: Vec<Rank>,
    },
    /// Asks for more or fewer nodes; answered by [`Reply::Resize`].
    Resize(Box<ResizeRequest>),
    /// Pushes a change of the size as a scheduler: new nodes are for everybody, and only a client that waits for the
    /// reply hears of the end. Answered by [`Reply::Resize`].
    Push(Box<ResizeRequest>),
    /// Asks for more or fewer processes of an elastic job; answered by [`Reply::JobResized`], at the beginning of the
    /// change, or at its end for a client that waits.
    ResizeJob(JobResize),
    /// Asks for the defaults of jobs, before one is submitted; answered by [`Reply::Defaults`].
    Defaults,
    /// Asks for the sessions; answered by [`Reply::Sessions`].
    Sessions,
    /// Asks what a PMIx tool asks by `PMIx_Query_info`; answered by [`Reply::Facts`], one for each subject.
    Facts(Vec<Subject>),
    /// Gives an order for a session; answered by [`Reply::Ordered`].
    Session {
        /// The session that the order is for.
        session: SessionChoice,
        /// The order.
        directive: SessionDirective,
    },
    /// Is about batches.
    Batch(BatchOrder),
    /// Ends the DVM; answered by [`Reply::Ordered`]. The connection closes when the DVM is gone.
    Terminate,
}

impl Request {
    /// True for a question: it is answered at once from what the head knows, and changes nothing.
    #[must_use]
    pub fn is_question(&self) -> bool {
        match self {
            Request::Status
            | Request::Nodes
            | Request::Jobs
            | Request::Job(_)
            | Request::Ended { .. }
            | Request::Metrics
            | Request::Defaults
            | Request::Sessions
            | Request::Facts(_) => true,
            Request::Submit(_)
            | Request::Wait(_)
            | Request::Kill(_)
            | Request::KillTree(_)
            | Request::Signal { .. }
            | Request::Release { .. }
            | Request::Raise { .. }
            | Request::Pull(_)
            | Request::Feed { .. }
            | Request::Resize(_)
            | Request::Push(_)
            | Request::ResizeJob(_)
            | Request::Session { .. }
            | Request::Batch(_)
            | Request::Terminate => false,
        }
    }
}

/// A job request with the data of its submitter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The job to run.
    pub spec: JobSpec,
    /// Environment of the submitter that is forwarded to every process.
    pub env: Vec<EnvOp>,
    /// True for a job that outlives its submitter: the reply comes at once, its output goes to files or is dropped, and
    /// it has no standard input, or one for [`Request::Feed`] if the submission names readers.
    pub detach: bool,
    /// True to wait for slots when they are taken; otherwise the job is refused.
    pub wait_for_slots: bool,
    /// Among jobs that wait for slots, those with a higher one come first: -1000 to 1000, usually 0.
    pub priority: i16,
    /// The jobs after whose ends it begins (spec L152).
    pub after: Vec<Dependency>,
    /// Nodes that the DVM gets before the job is placed (`--add-host`, `--activate`).
    pub grow: Option<Box<GrowRequest>>,
    /// The session in which the job runs.
    pub session: SessionChoice,
    /// The personality that parsed the command line; empty = `prte`.
    pub personality: String,
    /// The name of the submitting tool: `prun.HOST.PID`, or its namespace; empty = unknown.
    pub launcher: String,
    /// The name that its author has given the job; empty = none.
    pub task: String,
    /// For a spawned job: true when it is the root of a spawn tree of its own (`PMIX_SPAWN_CHILD_SEP`).
    pub separate: bool,
    /// The events about the job that its requester wants.
    pub watch: Watch,
}

/// The PMIx events about a job that its requester has asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The tool that gets them; `None` = the process that has spawned the job.
    pub tool: Option<ToolName>,
    /// True for an event when the job runs (`PMIX_NOTIFY_JOB_EVENTS`).
    pub job: bool,
    /// True for an event when a process ends (`PMIX_NOTIFY_PROC_TERMINATION`).
    pub ends: bool,
    /// True for an event when a process fails (`PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION`).
    pub failures: bool,
}

impl Submission {
    /// A submission of this job with no further settings.
    #[must_use]
    pub fn of(spec: JobSpec) -> Submission {
        Submission {
            spec,
            env: Vec::new(),
            detach: false,
            wait_for_slots: false,
            priority: 0,
            after: Vec::new(),
            grow: None,
            session: SessionChoice::Default,
            personality: String::new(),
            launcher: String::new(),
            task: String::new(),
            separate: false,
            watch: Watch::default(),
        }
    }
}

/// A message of the DVM to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DvmMessage {
    /// A submission has become a job.
    Accepted {
        /// The number of the submission.
        id: u32,
        /// The job's id.
        job: JobId,
        /// The job's namespace.
        nspace: String,
    },
    /// For a PMIx tool and whoever asks for it, before the reply: the processes of its job run, or never will.
    Launched {
        /// The number of the submission.
        id: u32,
        /// Nothing, or why the job never runs.
        result: Result<(), PmixStatus>,
    },
    /// For a PMIx tool, before the reply: the processes of its job wait for a debugger.
    ReadyForDebug {
        /// The number of the submission.
        id: u32,
    },
    /// For a PMIx tool, after the reply: the change of the DVM's size that it has requested is over.
    Resized {
        /// The number of the request.
        id: u32,
        /// The result.
        resize: Box<Resize>,
    },
    /// For a PMIx tool, after the reply: the time of the session that it has requested is nearly over.
    Warned {
        /// The number of the request.
        id: u32,
        /// The session, and the time that is left.
        warning: TimeWarning,
    },
    /// Output of the job's processes, or of the DVM about the job (`--display`).
    Output {
        /// The number of the submission or of the pull.
        id: u32,
        /// The process whose output it is; rank 0 stands for what the DVM says about the job.
        rank: Rank,
        /// Standard output or standard error.
        stream: Stream,
        /// The data to write.
        data: Bytes,
    },
    /// A message for the user about a submission, which the client frames and writes to standard error.
    Notice {
        /// The number of the submission.
        id: u32,
        /// The whole message.
        text: String,
    },
    /// A piece of a picture of a job's map (`--display map:svg=FILE`), or of the table of its processes. All pieces of
    /// one picture come before the next.
    Picture {
        /// The number of the submission.
        id: u32,
        /// The file format of the picture.
        format: PictureFormat,
        /// The bytes of the piece.
        data: Bytes,
        /// True for the last piece of the picture.
        last: bool,
    },
    /// Asks the client to read once from its standard input. [`ClientMessage::Stdin`] answers, in turn for several
    /// requests; after the end of input none is answered.
    ReadStdin {
        /// The number of the submission.
        id: u32,
        /// The most bytes to read.
        limit: u32,
    },
    /// Asks the client for a piece of a preloaded file of its submission. [`ClientMessage::File`] answers, in turn for
    /// several requests.
    ReadFile {
        /// The number of the submission.
        id: u32,
        /// The file: its index among the entries of the job.
        entry: u32,
        /// The place of the piece (bytes from the beginning).
        offset: u64,
        /// The size of the piece (bytes).
        length: u32,
    },
    /// The one reply to a request.
    Reply {
        /// The number of the request.
        id: u32,
        /// The content of the reply.
        reply: Reply,
    },
    /// An event, for clients that follow.
    Event {
        /// The number of the subscription, from [`ClientMessage::Follow`].
        id: u32,
        /// The event.
        event: Event,
    },
    /// Events were dropped because this client reads too slowly.
    EventsLost {
        /// The number of the subscription, from [`ClientMessage::Follow`].
        id: u32,
        /// The number of dropped events.
        count: u64,
    },
}

/// The content of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The job is over.
    Done(Done),
    /// The job was accepted and runs without its submitter.
    Detached(JobId),
    /// The order was accepted and is being carried out.
    Ordered,
    /// Answers [`Request::KillTree`]: the jobs that are being ended, in the order of their submission; never empty.
    Killed(Vec<JobId>),
    /// The request was refused, with the reason.
    Refused(String),
    /// Answers [`Request::Status`].
    Status(Box<DvmStatus>),
    /// Answers [`Request::Nodes`].
    Nodes(Vec<NodeStatus>),
    /// Answers [`Request::Jobs`].
    Jobs(Vec<JobStatus>),
    /// Answers [`Request::Job`] and [`Request::Wait`].
    Job(Box<JobDetail>),
    /// Answers [`Request::Ended`].
    Ended(EndedJobs),
    /// Answers [`Request::Metrics`].
    Metrics(Box<Metrics>),
    /// Answers [`Request::Resize`] and [`Request::Push`]: at the beginning of the change, or at its end for a client
    /// that waits.
    Resize(Box<Resize>),
    /// Answers [`Request::ResizeJob`].
    JobResized(JobResized),
    /// Answers [`Request::Defaults`]: parameters of the DVM that a client's line and own parameters may override.
    Defaults(Vec<(String, String)>),
    /// Answers [`Request::Sessions`].
    Sessions(Vec<SessionStatus>),
    /// Answers [`Request::Facts`].
    Facts(Vec<Fact>),
    /// Answers [`BatchOrder::Start`] and [`BatchOrder::List`].
    Batches(Vec<BatchStatus>),
    /// Answers [`BatchOrder::Results`].
    Results(BatchPiece),
}

/// A page of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedJobs {
    /// Jobs that are over, in the order of their ends.
    pub jobs: Vec<JobStatus>,
    /// The number at which the next page begins; `None` = this is the last one.
    pub next: Option<u64>,
}

/// The end of a submitted job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The exit code of the submitter.
    pub exit_code: u8,
    /// The job's final status; `None` for a submission that never became a job.
    pub job: Option<JobStatus>,
}

/// A step of a state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The time of the step (microseconds since the DVM began).
    pub at_us: u64,
    /// The step.
    pub what: EventKind,
}

/// Kinds of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A job has entered a state.
    Job {
        /// The job that changes; 0 = the DVM itself.
        job: JobId,
        /// The state that it enters.
        state: JobState,
    },
    /// A process of the head's own node has entered a state.
    Proc {
        /// The job of the process.
        job: JobId,
        /// The rank of the process.
        rank: Rank,
        /// The state that it enters.
        state: ProcState,
    },
    /// A campaign has entered a step.
    Campaign {
        /// The campaign that changes.
        campaign: CampaignId,
        /// A grow or a shrink.
        kind: CampaignKind,
        /// The step that it enters.
        step: CampaignStep,
    },
    /// A change of an elastic job's size has entered a step.
    Size {
        /// The first job of its spawn tree.
        job: JobId,
        /// True for more processes, false for fewer.
        is_offer: bool,
        /// Their number; at the end those that have come, or ended.
        procs: u32,
        /// The step that it enters.
        step: SizeChangeStep,
    },
}

/// The status of the DVM as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DvmStatus {
    /// Its name.
    pub dvm: String,
    /// Version of the software.
    pub version: String,
    /// The time of this status (microseconds since the DVM began).
    pub now_us: u64,
    /// State of the daemons' own job.
    pub state: Option<JobState>,
    /// The reason why the DVM itself waits; empty = it does not wait.
    pub waiting_for: String,
    /// Nodes of the pool.
    pub nodes: u32,
    /// Nodes with a daemon.
    pub daemons: u32,
    /// Slots of the nodes with a daemon.
    pub slots: u32,
    /// Slots in use.
    pub slots_in_use: u32,
    /// Jobs that are not over and not queued.
    pub jobs_running: u32,
    /// Jobs that wait for slots, or for the DVM to be ready.
    pub jobs_queued: u32,
    /// Jobs that wait for a change of the DVM's size to end.
    pub jobs_held: u32,
    /// Open campaigns.
    pub campaigns: Vec<CampaignStatus>,
    /// The number of ended jobs since the DVM began.
    pub jobs_ended: u64,
    /// The number of ended jobs that failed.
    pub jobs_failed: u64,
    /// Processes that run.
    pub procs_running: u32,
    /// The resources that all nodes share, such as licences.
    pub resources: Vec<ResourceStatus>,
}

/// The status of an open campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignStatus {
    /// Its number.
    pub campaign: CampaignId,
    /// A grow or a shrink.
    pub kind: CampaignKind,
    /// Its present step.
    pub step: CampaignStep,
    /// True for a push of a scheduler.
    pub pushed: bool,
    /// The id of its allocation.
    pub alloc_id: AllocId,
    /// The nodes that come or go.
    pub nodes: Vec<String>,
    /// The reason why it waits.
    pub waiting_for: String,
    /// The time of its beginning (microseconds since the DVM began).
    pub began_us: u64,
}

/// The status of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Its number.
    pub session: SessionId,
    /// The allocation's id.
    pub alloc_id: AllocId,
    /// The requester's name for it.
    pub req_id: Option<AllocReqId>,
    /// Its nodes.
    pub nodes: Vec<String>,
    /// The slots of its nodes.
    pub slots: u32,
    /// The slots of its nodes that any jobs use.
    pub slots_in_use: u32,
    /// Sessions that end with it.
    pub children: Vec<SessionId>,
    /// Its jobs that are not over.
    pub jobs: Vec<JobId>,
    /// True when its nodes are withheld from jobs of other sessions.
    pub reserved: bool,
    /// True while its processes are stopped.
    pub paused: bool,
    /// The session with which it ends.
    pub parent: Option<SessionId>,
    /// The job with which it ends.
    pub owner: Option<JobId>,
    /// Seconds until its time limit, if it has one.
    pub seconds_left: Option<u64>,
    /// Seconds before its time limit at which a warning is given, if one was asked for.
    pub warns_s: Option<u64>,
    /// True once the warning was given.
    pub warned: bool,
}

/// The counters of a DVM since it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// The present status.
    pub status: DvmStatus,
    /// Jobs that it has accepted.
    pub jobs_submitted: u64,
    /// Jobs whose processes have all been started.
    pub jobs_started: u64,
    /// Processes that were started.
    pub procs_started: u64,
    /// Times from a job's submission to the start of its last process.
    pub launch: Histogram,
    /// Output of processes that has reached the head (bytes).
    pub output_bytes: u64,
    /// Standard input that was passed on to processes (bytes).
    pub stdin_bytes: u64,
    /// Broadcasts to all daemons.
    pub xcasts: u64,
    /// Daemons that were lost.
    pub daemons_lost: u64,
    /// Repairs of the tree that all daemons have done.
    pub repairs: u64,
    /// Grow campaigns that ended well.
    pub grows: u64,
    /// Grow campaigns that failed and were rolled back.
    pub grows_failed: u64,
    /// Shrink campaigns that ended.
    pub shrinks: u64,
    /// Detours: daemons that lost their parent and found another daemon further up.
    pub rejoins: u64,
    /// Messages of daemons about jobs, processes or collectives that were over, by their kind; kinds without any are
    /// left out.
    pub late_messages: Vec<(String, u64)>,
}

/// A histogram: the number of values below each limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper limits (microseconds), ascending, each with the number of values above the limit before it.
    pub buckets: Vec<(u64, u64)>,
    /// Values above the last limit.
    pub above: u64,
    /// Sum of all values (microseconds).
    pub sum_us: u64,
}

/// A resource of a node, or of all nodes together: devices of a class (`gpu`), memory (`mem`, in bytes), or what the
/// site has stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceStatus {
    /// Its name.
    pub name: String,
    /// What the node, or the DVM, has.
    pub amount: u64,
    /// What running jobs take of it.
    pub in_use: u64,
}

/// The status of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its daemon's rank, if it has one.
    pub daemon: Option<DaemonRank>,
    /// `up`, `starting`, `leaving`, `lost` (its daemon is gone), or `down` (it has none).
    pub state: String,
    /// The number of its slots.
    pub slots: u32,
    /// Slots in use.
    pub slots_in_use: u32,
    /// Upper limit with oversubscription; 0 = none.
    pub max_slots: u32,
    /// The number of its cores.
    pub cores: u32,
    /// What of it is counted across jobs besides slots.
    pub resources: Vec<ResourceStatus>,
    /// The jobs with processes there that have not ended, each with the number of these processes.
    pub jobs: Vec<(JobId, u32)>,
}

macro_rules! framed {
    ($type:ident) => {
        impl $type {
            /// A whole frame: length and body.
            #[must_use]
            pub fn encode_frame(&self) -> Bytes {
                let frame =
                    postcard::to_extend(self, vec![0; 4]).expect("control messages hold no type that postcard refuses");
                sealed(frame)
            }

            /// Decodes the body of a frame.
            ///
            /// # Errors
            /// When it is no message of this version, or is followed by other bytes.
            pub fn decode(body: &[u8]) -> Result<$type, CodecError> {
                match postcard::take_from_bytes(body) {
                    Ok((message, [])) => Ok(message),
                    Ok((_, rest)) => Err(CodecError::Trailing(rest.len())),
                    Err(_) => Err(CodecError::Payload),
                }
            }
        }
    };
}

framed!(ClientMessage);
framed!(DvmMessage);

fn sealed(mut frame: Vec<u8>) -> Bytes {
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Bytes::from(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_its_length_and_a_message() {
        let message = ClientMessage::Stdin { id: 7, data: Bytes::from_static(b"abc") };
        let frame = message.encode_frame();
        let (length, body) = frame.split_at(4);
        assert_eq!(u32::from_le_bytes(length.try_into().unwrap()) as usize, body.len());
        assert_eq!(ClientMessage::decode(body).unwrap(), message);
        assert!(ClientMessage::decode(&body[1..]).is_err() || body.len() == 1);
    }

    #[test]
    fn another_version_is_named_and_a_stranger_is_called_one() {
        assert_eq!(check_greeting(&greeting()), Ok(()));
        assert_eq!(check_greeting(b"GET / HTTP"), Err(GreetingError::Stranger));
        let mut newer = greeting();
        newer[8] += 1;
        assert_eq!(check_greeting(&newer), Err(GreetingError::OtherVersion(CONTROL_VERSION + 1)));
    }
}
