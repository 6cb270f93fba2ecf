//! What clients (`prun`, `pterm`, `pdvm`) and a DVM say to each other, over the control socket or TCP.
//!
//! The client greets first; both greetings have the same form in every version, so that a client of another release
//! gets a clear refusal. Then frames follow: a length (4 bytes, little-endian) and that many bytes of postcard. The
//! client numbers its requests; everything that belongs to one carries its number, and each gets exactly one [`Reply`].

use bytes::Bytes;
use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, DaemonRank, EnvOp, JobId, JobSpec, JobState, PictureFormat, ProcId,
    ProcState, Rank, StdinTarget,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{CodecError, GrowRequest, Resize, ResizeRequest, Stream};

/// Version of this conversation: bumped with every change of a type in it.
pub const CONTROL_VERSION: u16 = 10;

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

/// Why the other side of a control connection cannot be talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GreetingError {
    /// Not one of us.
    #[error("the other side does not speak Ferrite's control protocol")]
    Stranger,
    /// One of us, of another version.
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

/// From a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientMessage {
    /// A new request.
    Open {
        /// Chosen by the client, not in use by an open request of this connection.
        id: u32,
        /// What it wants.
        request: Request,
    },
    /// Standard input of a submitted job; answers one [`DvmMessage::ReadStdin`]. Empty = its end.
    Stdin {
        /// The submission.
        id: u32,
        /// What was read.
        data: Bytes,
    },
    /// The user wants a submitted job to end (Ctrl-C). The reply comes when it has.
    Cancel {
        /// The submission.
        id: u32,
    },
    /// A signal for the processes of a submitted job.
    Signal {
        /// The submission.
        id: u32,
        /// Signal number.
        signal: i32,
    },
    /// From now on tell me every step of every job, with this number.
    Follow {
        /// Chosen by the client.
        id: u32,
    },
}

/// What a client can ask for. Each gets one [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Run a job; answered by [`Reply::Done`], or [`Reply::Detached`].
    Submit(Box<Submission>),
    /// How is the DVM? [`Reply::Status`]
    Status,
    /// Its nodes. [`Reply::Nodes`]
    Nodes,
    /// Jobs that are not over, then those of the history, latest last. [`Reply::Jobs`]
    Jobs,
    /// One job in detail. [`Reply::Job`]
    Job(JobId),
    /// What the DVM has counted. [`Reply::Metrics`]
    Metrics,
    /// End a job. [`Reply::Ordered`]
    Kill(JobId),
    /// Signal a job's processes. [`Reply::Ordered`]
    Signal {
        /// The job.
        job: JobId,
        /// Signal number.
        signal: i32,
    },
    /// More nodes, or fewer. [`Reply::Resize`]
    Resize(Box<ResizeRequest>),
    /// The same, as a scheduler pushes it: what comes is for everybody, and nobody hears of the end but who waits for
    /// the reply. [`Reply::Resize`]
    Push(Box<ResizeRequest>),
    /// The sessions. [`Reply::Sessions`]
    Sessions,
    /// Do something with a session. [`Reply::Ordered`]
    Session {
        /// Which.
        session: SessionChoice,
        /// What.
        directive: SessionDirective,
    },
    /// End the DVM. [`Reply::Ordered`]; the connection closes when it is gone.
    Terminate,
}

/// A job, and what its submitter brings along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// What to run.
    pub spec: JobSpec,
    /// Environment of the submitter that is forwarded to every process.
    pub env: Vec<EnvOp>,
    /// The job outlives its submitter: it is replied to at once, has no standard input, and its output goes to files or
    /// nowhere.
    pub detach: bool,
    /// When the slots are taken: wait for them. Else the job is refused.
    pub wait_for_slots: bool,
    /// Nodes that the DVM is to have before the job is placed (`--add-host`, `--activate`).
    pub grow: Option<Box<GrowRequest>>,
    /// The session that it is to run in.
    pub session: SessionChoice,
    /// The personality with which its line was read; empty = `prte`.
    pub personality: String,
    /// The name of the tool that submits it: `prun.HOST.PID`, or its namespace; empty = nobody said.
    pub launcher: String,
    /// Of what a process spawns: it is nobody's child when something ends or fails (`PMIX_SPAWN_CHILD_SEP`).
    pub separate: bool,
}

impl Submission {
    /// A job without anything else.
    #[must_use]
    pub fn of(spec: JobSpec) -> Submission {
        Submission {
            spec,
            env: Vec::new(),
            detach: false,
            wait_for_slots: false,
            grow: None,
            session: SessionChoice::Default,
            personality: String::new(),
            launcher: String::new(),
            separate: false,
        }
    }
}

/// What can be done with a session (`PMIx_Session_control`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionDirective {
    /// Make it, with this number: on an allocation that is there, whose nodes it shares, or with nodes of its own.
    /// Answered when these are there.
    Instantiate(Box<GrowRequest>),
    /// Stop its processes, and launch none.
    Pause,
    /// Let them go on.
    Resume,
    /// Signal its processes.
    Signal(i32),
    /// End its jobs and the sessions that hang on it; the nodes that it has brought leave the DVM.
    Terminate,
    /// Move its time limit.
    Extend {
        /// By so much.
        seconds: u32,
    },
    /// Let it outlive its parent and its owner.
    Separate,
}

/// An order for sessions that a process or a tool of PMIx gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrder {
    /// For which; `None` = for all but the DVM's own.
    pub session: Option<u32>,
    /// What is to be done.
    pub directive: SessionDirective,
    /// What is to run in a session that is made, as soon as it is there. It has no submitter.
    pub job: Option<Box<Submission>>,
}

/// How a submission, or a request about a session, names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionChoice {
    /// Not at all: that of the parent job, else the DVM's own.
    #[default]
    Default,
    /// `--session-id`.
    Id(u32),
    /// `--alloc-id`.
    Alloc(String),
    /// `--alloc-refid`: the name that the requester gave it.
    Ref(String),
}

/// From the DVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DvmMessage {
    /// A submission has become a job.
    Accepted {
        /// The submission.
        id: u32,
        /// Its job.
        job: JobId,
        /// Its namespace.
        nspace: String,
    },
    /// Output of its processes, or of the DVM about it (`--display`).
    Output {
        /// The submission.
        id: u32,
        /// Where to.
        stream: Stream,
        /// What.
        data: Bytes,
    },
    /// A message for the user about a submission, to be framed and written to standard error.
    Notice {
        /// The submission.
        id: u32,
        /// Already worded.
        text: String,
    },
    /// A piece of a picture of a job's map (`--display map:svg=FILE`). All pieces of one come before those of the next.
    Picture {
        /// The submission.
        id: u32,
        /// What kind of picture.
        format: PictureFormat,
        /// The piece.
        data: Bytes,
        /// The picture is complete with it.
        last: bool,
    },
    /// Read once from your standard input. Answered by [`ClientMessage::Stdin`], in turn when there are several; none
    /// is answered after the end of input.
    ReadStdin {
        /// The submission.
        id: u32,
        /// At most so much (bytes).
        limit: u32,
    },
    /// The one reply to a request.
    Reply {
        /// The request.
        id: u32,
        /// The answer.
        reply: Reply,
    },
    /// Something happened; to those who follow.
    Event {
        /// From [`ClientMessage::Follow`].
        id: u32,
        /// What.
        event: Event,
    },
    /// Events were left out because this client reads too slowly.
    EventsLost {
        /// From [`ClientMessage::Follow`].
        id: u32,
        /// How many.
        count: u64,
    },
}

/// Answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The job is over.
    Done(Done),
    /// The job was accepted and goes its own way.
    Detached(JobId),
    /// It is being done.
    Ordered,
    /// It cannot be done, and why.
    Refused(String),
    /// Of [`Request::Status`].
    Status(Box<DvmStatus>),
    /// Of [`Request::Nodes`].
    Nodes(Vec<NodeStatus>),
    /// Of [`Request::Jobs`].
    Jobs(Vec<JobStatus>),
    /// Of [`Request::Job`].
    Job(Box<JobDetail>),
    /// Of [`Request::Metrics`].
    Metrics(Box<Metrics>),
    /// Of [`Request::Resize`] and [`Request::Push`]: when it has begun, or when it is true if that is waited for.
    Resize(Box<Resize>),
    /// Of [`Request::Sessions`].
    Sessions(Vec<SessionStatus>),
}

/// How a submitted job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// What the submitter exits with.
    pub exit_code: u8,
    /// The job's last word; `None` when it never became one.
    pub job: Option<JobStatus>,
}

/// A step of a state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When (microseconds since the DVM began).
    pub at_us: u64,
    /// What.
    pub what: EventKind,
}

/// Kinds of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A job has entered a state.
    Job {
        /// Which; 0 = the DVM itself.
        job: JobId,
        /// The state.
        state: JobState,
    },
    /// A process of the head's own node has entered a state.
    Proc {
        /// Its job.
        job: JobId,
        /// Its rank.
        rank: Rank,
        /// The state.
        state: ProcState,
    },
    /// A campaign has come further.
    Campaign {
        /// Which.
        campaign: CampaignId,
        /// Which way.
        kind: CampaignKind,
        /// How far.
        step: CampaignStep,
    },
}

/// The DVM as a whole.
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
    /// What the DVM itself waits for; empty = nothing.
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
    /// Changes of its size that are under way.
    pub campaigns: Vec<CampaignStatus>,
    /// Jobs that are over, ever.
    pub jobs_ended: u64,
    /// Those of them that failed.
    pub jobs_failed: u64,
    /// Processes that run.
    pub procs_running: u32,
}

/// A change of the DVM's size that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignStatus {
    /// Its number.
    pub campaign: CampaignId,
    /// Which way.
    pub kind: CampaignKind,
    /// How far it has come.
    pub step: CampaignStep,
    /// A scheduler has pushed it.
    pub pushed: bool,
    /// The allocation that it is about.
    pub alloc_id: String,
    /// The nodes that come or go.
    pub nodes: Vec<String>,
    /// What it waits for.
    pub waiting_for: String,
    /// When it began (microseconds since the DVM began).
    pub began_us: u64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Its number.
    pub session: u32,
    /// The allocation's id.
    pub alloc_id: String,
    /// The name that the requester gave it.
    pub req_id: Option<String>,
    /// Its nodes.
    pub nodes: Vec<String>,
    /// Slots of these.
    pub slots: u32,
    /// Slots of these in use, by whatever job.
    pub slots_in_use: u32,
    /// Sessions that end with it.
    pub children: Vec<u32>,
    /// Its jobs that are not over.
    pub jobs: Vec<JobId>,
    /// Its nodes are withheld from jobs of other sessions.
    pub reserved: bool,
    /// Its processes are stopped.
    pub paused: bool,
    /// The session with which it ends.
    pub parent: Option<u32>,
    /// The job with which it ends.
    pub owner: Option<JobId>,
    /// Seconds until its time limit, if it has one.
    pub seconds_left: Option<u64>,
    /// Seconds before its time limit at which a warning is given, if one was asked for.
    pub warns_s: Option<u64>,
    /// The warning was given.
    pub warned: bool,
}

/// What a DVM has counted since it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// How it is now.
    pub status: DvmStatus,
    /// Jobs that it has taken.
    pub jobs_submitted: u64,
    /// Jobs all of whose processes were started.
    pub jobs_started: u64,
    /// Processes that were started.
    pub procs_started: u64,
    /// From a job's submission to the start of its last process.
    pub launch: Histogram,
    /// Output of processes that came to the head (bytes).
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
    /// Daemons that lost their parent and found somebody further up.
    pub rejoins: u64,
}

/// How many values were at most so large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper limits (microseconds), ascending, and how many values are within one and above the one before.
    pub buckets: Vec<(u64, u64)>,
    /// Values above the last limit.
    pub above: u64,
    /// Sum of all values (microseconds).
    pub sum_us: u64,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its daemon's rank, if it has one.
    pub daemon: Option<DaemonRank>,
    /// `up`, `starting`, `leaving`, `lost` (its daemon is gone), or `down` (it has none).
    pub state: String,
    /// Slots.
    pub slots: u32,
    /// Slots in use.
    pub slots_in_use: u32,
    /// Upper limit with oversubscription; 0 = none.
    pub max_slots: u32,
    /// Cores.
    pub cores: u32,
}

/// One job in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its number.
    pub job: JobId,
    /// Its programs, separated by ` : `.
    pub name: String,
    /// Its processes; 0 before they are mapped.
    pub procs: u32,
    /// Its nodes; 0 before they are mapped.
    pub nodes: u32,
    /// Name of its first node; empty before it is mapped.
    pub first_node: String,
    /// Its state.
    pub state: JobState,
    /// The exit code; `None` while nothing has decided it.
    pub exit_code: Option<u8>,
    /// How it has ended; `None` until it is over.
    pub ending: Option<Ending>,
    /// What it waits for; empty when it is over.
    pub waiting_for: String,
    /// When it was submitted (microseconds since the DVM began).
    pub submitted_us: u64,
    /// When its processes were all started.
    pub running_us: Option<u64>,
    /// When it was over.
    pub ended_us: Option<u64>,
}

/// How a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// All its processes ended well, or as its options allow.
    Done,
    /// A process failed, or could not be started.
    Failed,
    /// Somebody ended it, or its time was up.
    Killed,
    /// Nothing of it was started: it could not be placed, or the nodes that it waited for did not come.
    Refused,
    /// Nodes have left, or were lost, with processes of it.
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
            Ending::LostRanks => "lost ranks",
        }
    }
}

/// One job in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDetail {
    /// The line of it.
    pub status: JobStatus,
    /// Its namespace.
    pub nspace: String,
    /// When it entered which state (microseconds since the DVM began), in order.
    pub states: Vec<(JobState, u64)>,
    /// Its processes; empty when it is over.
    pub procs: Vec<ProcStatus>,
    /// Where they are, a line for each node or for each kind of nodes: `n0  [0 1 . .] [2 3 . .]`; empty when it is
    /// over.
    pub places: Vec<String>,
    /// Why it failed; empty when it did not.
    pub cause: String,
    /// Processes that went with their nodes, whether these left or were lost, in this order.
    pub lost_ranks: Vec<Rank>,
    /// What the head keeps of it besides (docs/spec/sessions.md).
    pub record: JobRecord,
}

/// The head's record of a job (docs/spec/sessions.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The session that it runs in.
    pub session: u32,
    /// The personality with which its line was read.
    pub personality: String,
    /// The tool that asked for it, or for the job that it descends from; empty = nobody said.
    pub launcher: String,
    /// The process that has spawned it.
    pub parent: Option<ProcId>,
    /// Jobs that its processes have spawned and that are not over.
    pub children: Vec<JobId>,
    /// Each of its programs, and how many processes it has.
    pub apps: Vec<(String, u32)>,
    /// Who reads its standard input.
    pub stdin: Option<StdinTarget>,
    /// Slots of the nodes that it may use.
    pub slots: u32,
    /// The last node to which it was mapped, by name; empty before it is mapped.
    pub bookmark: String,
    /// Nodes that host it.
    pub daemons: u32,
    /// Those of them whose daemons have attempted its processes.
    pub daemons_reported: u32,
    /// Processes that have a place.
    pub mapped: u32,
    /// Those on the head's node.
    pub local: u32,
    /// Processes that were started.
    pub launched: u32,
    /// Processes on nodes whose processes have all called init.
    pub registered: u32,
    /// Processes on nodes whose processes have all said that they wait for a debugger.
    pub ready_for_debug: u32,
    /// Processes that have ended.
    pub terminated: u32,
    /// Stack traces that were collected of failed processes: none is yet, as `--get-stack-traces` is not offered.
    pub traces: u32,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcStatus {
    /// Its rank.
    pub rank: Rank,
    /// Its app.
    pub app: u16,
    /// Its node.
    pub node: String,
    /// What it is bound to: `package[0][core:L0]`; empty when it is not bound, or in a job of very many processes.
    pub bound_to: String,
    /// Names of the devices that it was given.
    pub devices: Vec<String>,
    /// Its pid there, once it runs.
    pub pid: Option<u32>,
    /// Its state.
    pub state: ProcState,
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
