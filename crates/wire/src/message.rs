//! Messages between the machines, by addressee: the head, a daemon, or everybody whose tree changes.

use bytes::Bytes;
use ferrite_types::{DaemonRank, JobId, PmixStatus, ProcId, Rank, RankSet};
use serde::{Deserialize, Serialize};

use crate::{
    ClientWord, CodecError, CollectiveKey, CollectiveResult, Contact, DaemonReport, DataCall, Found, LaunchFailure,
    LaunchOrder, Order, Part, ProcEnd, ProcFailure, Resize, ResizeRequest, StartError, StdinDest, Stream, TimeWarning,
    Wireup, control,
};

/// Everything that travels as a frame's payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// For the head, from a daemon.
    Head(HeadMessage),
    /// For a daemon: from the head, or from another daemon.
    Daemon(DaemonMessage),
    /// For every process of the DVM: the tree changes.
    Tree(TreeMessage),
}

/// What daemons say to the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeadMessage {
    /// Daemon to head on its bootstrap link: this is where I listen.
    Announce(Contact),
    /// Daemon to head over its tree link: I am up.
    Report(Box<DaemonReport>),
    /// A daemon that spawns its subtree to head: this one did not start.
    LaunchFailed(LaunchFailure),
    /// A daemon to head: the link to this child broke and the child did not leave by order.
    DaemonLost {
        /// The child.
        rank: DaemonRank,
        /// Why, in words.
        cause: String,
    },
    /// Daemon to head: my parent is lost, I hang on one further up.
    Rejoined {
        /// The parent.
        lost: DaemonRank,
    },
    /// Daemon to head: a process asks for more nodes, or fewer.
    ResizeRequest {
        /// Echoed in the reply; unique at the asker.
        id: u64,
        /// Who.
        proc: ProcId,
        /// What.
        request: Box<ResizeRequest>,
    },
    /// Daemon to head: a process, or a tool, has an order for sessions.
    SessionRequest {
        /// Echoed in the reply; unique at the asker.
        id: u64,
        /// What.
        order: control::SessionOrder,
    },
    /// Daemon to head: all local processes have been attempted.
    LocalLaunchComplete {
        /// The job.
        job: JobId,
        /// Started ranks with their pids.
        started: Vec<(Rank, u32)>,
        /// Ranks that could not be started.
        failed: Vec<(Rank, StartError)>,
    },
    /// Daemon to head: all local processes have said that they wait for a debugger.
    ReadyForDebug(JobId),
    /// Daemon to head: all local processes called init.
    Registered(JobId),
    /// Daemon to head: these processes are gone and all their output was sent before this.
    ProcsEnded {
        /// The job.
        job: JobId,
        /// How each ended.
        ends: Vec<ProcEnd>,
    },
    /// Daemon to head: a process asks to abort its job.
    Abort {
        /// Who.
        proc: ProcId,
        /// The exit code it asks for.
        code: i32,
        /// What it says.
        message: String,
    },
    /// Daemon to head.
    Output {
        /// Who wrote it.
        proc: ProcId,
        /// Where to.
        stream: Stream,
        /// What.
        data: Bytes,
    },
    /// Daemon to head: so many bytes of standard input have been taken.
    StdinCredit {
        /// The job.
        job: JobId,
        /// Bytes.
        bytes: u64,
    },
    /// To the head: this one can never be complete.
    CollectiveFailed {
        /// Which one.
        key: CollectiveKey,
        /// Why, as a PMIx status.
        status: PmixStatus,
    },
    /// To the head, from a participant without a participating ancestor.
    CollectiveRoot {
        /// Which one.
        key: CollectiveKey,
        /// The merged contribution, or why it failed below.
        part: Part,
    },
    /// Daemon to head: a process wants a job started (`PMIx_Spawn`).
    SpawnRequest {
        /// Echoed in the reply; unique at the daemon.
        id: u64,
        /// The process.
        parent: ProcId,
        /// The job.
        submission: Box<control::Submission>,
    },
    /// Daemon to head: a process publishes something, or looks it up.
    DataRequest {
        /// Echoed in the reply; unique at the daemon.
        id: u64,
        /// Who, and what.
        call: Box<DataCall>,
    },
    /// Between the head and the daemon on whose node a client is.
    Client {
        /// Names it; unique at its daemon.
        number: u64,
        /// What there is to say.
        word: ClientWord,
    },
}

/// What the head, or another daemon, says to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DaemonMessage {
    /// Head to a daemon on its bootstrap link: your tree parent is there; link to it, then report.
    Rehome {
        /// The tree parent's rank.
        parent: DaemonRank,
        /// Where it listens.
        contact: Contact,
    },
    /// Daemon to its parent over their link: there I listen, should you have to call me.
    Listening(Contact),
    /// Daemon to a child over their link: there we listen, I and those above me, should you have to call one of us.
    Above(Vec<(DaemonRank, Contact)>),
    /// Head to all, acknowledged: the whole DVM.
    Wireup(Wireup),
    /// Head to the new parent of daemons that hung on a dead one: there they listen; call those that do not come.
    Adopt(Vec<(DaemonRank, Contact)>),
    /// Head to all, acknowledged: end your processes and leave, children first.
    Exit,
    /// The answer of the first phase.
    ResizeReply {
        /// From the request.
        id: u64,
        /// Refused, unchanged, or begun.
        resize: Box<Resize>,
    },
    /// Head to the daemon of the process that asked: the second phase.
    ResizeDone {
        /// Who asked.
        proc: ProcId,
        /// Done, or failed.
        resize: Box<Resize>,
    },
    /// Head to the daemon of the process that asked for a warning: a session is about to end.
    TimeWarning {
        /// Who asked.
        proc: ProcId,
        /// Which session, and when.
        warning: Box<TimeWarning>,
    },
    /// Head to the daemon of a process: a job that it has spawned is over.
    SpawnedEnded {
        /// Who has spawned it.
        parent: ProcId,
        /// Which.
        job: JobId,
        /// Its exit code.
        code: u8,
    },
    /// It is being done, or it was refused.
    SessionReply {
        /// From the request.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), PmixStatus>,
    },
    /// Head to the daemons that host processes of the job, and to others whose processes are to know it: start those
    /// that are yours, if any.
    Launch(Box<LaunchOrder>),
    /// Head to hosting daemons: these have failed, and the job goes on without them.
    ProcsFailed {
        /// The job.
        job: JobId,
        /// All that became known together.
        failed: Vec<ProcFailure>,
    },
    /// Head to hosting daemons: run the kill sequence on what is left of the job.
    Kill(JobId),
    /// Head to hosting daemons: pass this signal on.
    Signal {
        /// The job.
        job: JobId,
        /// Signal number.
        signal: i32,
    },
    /// Head to hosting daemons: the job is over everywhere; forget it.
    Forget(JobId),
    /// Head to daemon: so many bytes of a job's output have left the head.
    OutputCredit {
        /// The job.
        job: JobId,
        /// Bytes.
        bytes: u64,
    },
    /// Head to hosting daemons.
    Stdin {
        /// The job.
        job: JobId,
        /// Which of its ranks.
        dest: StdinDest,
        /// What; empty = end of input.
        data: Bytes,
    },
    /// To the participant parent: the merged part of my participant subtree.
    CollectivePart {
        /// Which one.
        key: CollectiveKey,
        /// The merged contribution, or why it failed below.
        part: Part,
    },
    /// Head to all participants.
    CollectiveDone {
        /// Which one.
        key: CollectiveKey,
        /// The merged data, or a PMIx status.
        result: CollectiveResult,
    },
    /// Daemon to daemon: what has this process published?
    ModexRequest {
        /// Echoed in the reply; unique at the asker.
        id: u64,
        /// Whom it is about.
        proc: ProcId,
    },
    /// The answer.
    ModexReply {
        /// From the request.
        id: u64,
        /// The process's blob, or a PMIx status.
        result: CollectiveResult,
    },
    /// The answer, once all its processes run.
    SpawnReply {
        /// From the request.
        id: u64,
        /// The new job, or the PMIx status of what went wrong.
        result: Result<JobId, PmixStatus>,
    },
    /// The answer.
    DataReply {
        /// From the request.
        id: u64,
        /// What was found (of a lookup), or a PMIx status.
        result: Result<Vec<Found>, PmixStatus>,
    },
    /// Between the head and the daemon on whose node a client is.
    Client {
        /// Names it; unique at its daemon.
        number: u64,
        /// What there is to say.
        word: ClientWord,
    },
}

/// What changes the tree, from the head to all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeMessage {
    /// Head to all, acknowledged: these daemons are dead; repair the tree.
    Died {
        /// Who. Never one of them again: a daemon that hears of its own death leaves.
        ranks: RankSet,
    },
    /// Head to all, acknowledged when they are gone: these daemons leave. They end their processes and go, children
    /// first; everybody else repairs the tree around all of them at once.
    Shrink {
        /// Who.
        targets: RankSet,
    },
}

impl Message {
    /// Encodes for a frame's payload.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        Bytes::from(postcard::to_stdvec(self).expect("messages hold no type that postcard refuses"))
    }

    /// Decodes a frame's payload.
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

    /// What a daemon does first with this message when it is broadcast. What changes the tree is processed first, so
    /// that it reaches those who are children only by the change; an order to leave is passed on first, so that nobody
    /// keeps it from those below by leaving (spec E28).
    #[must_use]
    pub fn order(&self) -> Order {
        match self {
            Message::Daemon(DaemonMessage::Wireup(_)) | Message::Tree(TreeMessage::Died { .. }) => Order::ProcessFirst,
            Message::Head(_) | Message::Tree(TreeMessage::Shrink { .. }) | Message::Daemon(_) => Order::ForwardFirst,
        }
    }

    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Head(message) => message.kind(),
            Message::Daemon(message) => message.kind(),
            Message::Tree(message) => message.kind(),
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
            HeadMessage::SessionRequest { .. } => "session-request",
            HeadMessage::LocalLaunchComplete { .. } => "local-launch-complete",
            HeadMessage::ReadyForDebug(_) => "ready-for-debug",
            HeadMessage::Registered(_) => "registered",
            HeadMessage::ProcsEnded { .. } => "procs-ended",
            HeadMessage::Abort { .. } => "abort",
            HeadMessage::Output { .. } => "output",
            HeadMessage::StdinCredit { .. } => "stdin-credit",
            HeadMessage::CollectiveFailed { .. } => "collective-failed",
            HeadMessage::CollectiveRoot { .. } => "collective-root",
            HeadMessage::SpawnRequest { .. } => "spawn-request",
            HeadMessage::DataRequest { .. } => "data-request",
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
            DaemonMessage::SpawnedEnded { .. } => "spawned-ended",
            DaemonMessage::SessionReply { .. } => "session-reply",
            DaemonMessage::Launch(_) => "launch",
            DaemonMessage::ProcsFailed { .. } => "procs-failed",
            DaemonMessage::Kill(_) => "kill",
            DaemonMessage::Signal { .. } => "signal",
            DaemonMessage::Forget(_) => "forget",
            DaemonMessage::OutputCredit { .. } => "output-credit",
            DaemonMessage::Stdin { .. } => "stdin",
            DaemonMessage::CollectivePart { .. } => "collective-part",
            DaemonMessage::CollectiveDone { .. } => "collective-done",
            DaemonMessage::ModexRequest { .. } => "modex-request",
            DaemonMessage::ModexReply { .. } => "modex-reply",
            DaemonMessage::SpawnReply { .. } => "spawn-reply",
            DaemonMessage::DataReply { .. } => "data-reply",
            DaemonMessage::Client { .. } => "client",
        }
    }
}

impl From<DaemonMessage> for Message {
    fn from(message: DaemonMessage) -> Message {
        Message::Daemon(message)
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
    fn bytes_after_a_message_are_an_error_and_not_ignored() {
        let mut bytes = Message::Daemon(DaemonMessage::Exit).encode().to_vec();
        bytes.push(0);
        assert!(matches!(Message::decode(&bytes), Err(CodecError::Trailing(1))));
    }
}
