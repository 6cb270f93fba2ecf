//! What daemons say to each other: one file per conversation, and the frame codec. Pure: bytes in, values out.
//!
//! A payload is encoded once by its author and decoded once by each addressee; relays look at the
//! frame's header only and pass the payload on unchanged.

mod bringup;
mod collective;
pub mod control;
pub mod dvm_contact;
mod frame;
mod handshake;
mod iof;
mod launch;
mod published;
pub mod remote;
mod resize;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use bringup::{Contact, DaemonReport, LaunchFailure, NodeLaunch, Ticket, TicketError, Wireup};
pub use collective::{CollectiveKey, CollectiveKind, CollectiveResult, Members, Part};
pub use dvm_contact::{ContactError, DvmContact};
pub use frame::{CodecError, Dest, Frame, FrameKind, MAX_FRAME, Numbers, Order};
pub use handshake::{Hello, PREAMBLE_LEN, PreambleError, check_preamble, preamble};
pub use iof::{StdinDest, Stream};
pub use launch::{LaunchOrder, ProcEnd, ProcFailure, StartError, StartErrorKind};
pub use published::{Access, DataCall, DataRange, DataRequest, Found, Persistence};
pub use resize::{
    Activation, AddedHost, CancelRequest, ExtendRequest, GrowRequest, Inheritance, Resize, ResizeOutcome,
    ResizeRequest, SessionTerms, ShrinkRequest, SlotChange, TimeWarning,
};

use ferrite_types::{DaemonRank, JobId, ProcId, Rank, RankSet};

/// Everything that travels as a frame's payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    // --- bring-up
    /// Head to a daemon on its bootstrap link: your tree parent is there; link to it, then report.
    Rehome {
        /// The tree parent's rank.
        parent: DaemonRank,
        /// Where it listens.
        contact: Contact,
    },
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
    /// Daemon to its parent over their link: there I listen, should you have to call me.
    Listening(Contact),
    /// Daemon to a child over their link: there we listen, I and those above me, should you have to call one of us.
    Above(Vec<(DaemonRank, Contact)>),
    /// Head to all, acknowledged: the whole DVM.
    Wireup(Wireup),
    /// Head to all, acknowledged: these daemons are dead; repair the tree.
    Died {
        /// Who. Never one of them again: a daemon that hears of its own death leaves.
        ranks: RankSet,
    },
    /// Head to the new parent of daemons that hung on a dead one: there they listen; call those that do not come.
    Adopt(Vec<(DaemonRank, Contact)>),
    /// Daemon to head: my parent is lost, I hang on one further up.
    Rejoined {
        /// The parent.
        lost: DaemonRank,
    },
    /// Head to all, acknowledged when they are gone: these daemons leave. They end their processes and go, children first; everybody
    /// else repairs the tree around all of them at once.
    Shrink {
        /// Who.
        targets: RankSet,
    },
    /// Head to all, acknowledged: end your processes and leave, children first.
    Exit,

    // --- changes of the DVM's size, asked for by processes
    /// Daemon to head: a process asks for more nodes, or fewer.
    ResizeRequest {
        /// Echoed in the reply; unique at the asker.
        id: u64,
        /// Who.
        proc: ProcId,
        /// What.
        request: Box<ResizeRequest>,
    },
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

    // --- sessions
    /// Daemon to head: a process, or a tool, has an order for sessions.
    SessionRequest {
        /// Echoed in the reply; unique at the asker.
        id: u64,
        /// What.
        order: control::SessionOrder,
    },
    /// It is being done, or it was refused.
    SessionReply {
        /// From the request.
        id: u64,
        /// A PMIx status (negative).
        result: Result<(), i32>,
    },

    // --- jobs
    /// Head to the daemons that host processes of the job, and to others whose processes are to know it: start those that are
    /// yours, if any.
    Launch(Box<LaunchOrder>),
    /// Daemon to head: all local processes have been attempted.
    LocalLaunchComplete {
        /// The job.
        job: JobId,
        /// Started ranks with their pids.
        started: Vec<(Rank, u32)>,
        /// Ranks that could not be started.
        failed: Vec<(Rank, StartError)>,
    },
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

    // --- I/O forwarding
    /// Daemon to head.
    Output {
        /// Who wrote it.
        proc: ProcId,
        /// Where to.
        stream: Stream,
        /// What.
        data: Bytes,
    },
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
    /// Daemon to head: so many bytes of standard input have been taken.
    StdinCredit {
        /// The job.
        job: JobId,
        /// Bytes.
        bytes: u64,
    },

    // --- collectives and modex
    /// To the participant parent: the merged part of my participant subtree.
    CollectivePart {
        /// Which one.
        key: CollectiveKey,
        /// The merged contribution, or why it failed below.
        part: Part,
    },
    /// To the head: this one can never be complete.
    CollectiveFailed {
        /// Which one.
        key: CollectiveKey,
        /// Why, as a PMIx status.
        status: i32,
    },
    /// To the head, from a participant without a participating ancestor.
    CollectiveRoot {
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

    // --- what processes ask of the head
    /// Daemon to head: a process wants a job started (`PMIx_Spawn`).
    SpawnRequest {
        /// Echoed in the reply; unique at the daemon.
        id: u64,
        /// The process.
        parent: ProcId,
        /// The job.
        submission: Box<control::Submission>,
    },
    /// The answer, once all its processes run.
    SpawnReply {
        /// From the request.
        id: u64,
        /// The new job, or the PMIx status of what went wrong.
        result: Result<JobId, i32>,
    },
    /// Daemon to head: a process publishes something, or looks it up.
    DataRequest {
        /// Echoed in the reply; unique at the daemon.
        id: u64,
        /// Who, and what.
        call: Box<DataCall>,
    },
    /// The answer.
    DataReply {
        /// From the request.
        id: u64,
        /// What was found (of a lookup), or a PMIx status.
        result: Result<Vec<Found>, i32>,
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

    /// What a daemon does first with this message when it is broadcast. What changes the tree is processed first, so that
    /// it reaches those who are children only by the change; an order to leave is passed on first, so that nobody keeps it
    /// from those below by leaving (seed 4, step 3).
    #[must_use]
    pub fn order(&self) -> Order {
        match self {
            Message::Wireup(_) | Message::Died { .. } => Order::ProcessFirst,
            _ => Order::ForwardFirst,
        }
    }

    /// The name of the kind, for logs and counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Rehome { .. } => "rehome",
            Message::Announce(_) => "announce",
            Message::Report(_) => "report",
            Message::LaunchFailed(_) => "launch-failed",
            Message::DaemonLost { .. } => "daemon-lost",
            Message::Listening(_) => "listening",
            Message::Above(_) => "above",
            Message::Wireup(_) => "wireup",
            Message::Died { .. } => "died",
            Message::Adopt(_) => "adopt",
            Message::Rejoined { .. } => "rejoined",
            Message::Shrink { .. } => "shrink",
            Message::Exit => "exit",
            Message::ResizeRequest { .. } => "resize-request",
            Message::ResizeReply { .. } => "resize-reply",
            Message::ResizeDone { .. } => "resize-done",
            Message::TimeWarning { .. } => "time-warning",
            Message::SpawnedEnded { .. } => "spawned-ended",
            Message::SessionRequest { .. } => "session-request",
            Message::SessionReply { .. } => "session-reply",
            Message::Launch(_) => "launch",
            Message::LocalLaunchComplete { .. } => "local-launch-complete",
            Message::Registered(_) => "registered",
            Message::ProcsEnded { .. } => "procs-ended",
            Message::Abort { .. } => "abort",
            Message::ProcsFailed { .. } => "procs-failed",
            Message::Kill(_) => "kill",
            Message::Signal { .. } => "signal",
            Message::Forget(_) => "forget",
            Message::Output { .. } => "output",
            Message::OutputCredit { .. } => "output-credit",
            Message::Stdin { .. } => "stdin",
            Message::StdinCredit { .. } => "stdin-credit",
            Message::CollectivePart { .. } => "collective-part",
            Message::CollectiveFailed { .. } => "collective-failed",
            Message::CollectiveRoot { .. } => "collective-root",
            Message::CollectiveDone { .. } => "collective-done",
            Message::ModexRequest { .. } => "modex-request",
            Message::ModexReply { .. } => "modex-reply",
            Message::SpawnRequest { .. } => "spawn-request",
            Message::SpawnReply { .. } => "spawn-reply",
            Message::DataRequest { .. } => "data-request",
            Message::DataReply { .. } => "data-reply",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_went() {
        let message = Message::Output {
            proc: ProcId { job: JobId(1), rank: Rank(3) },
            stream: Stream::Stderr,
            data: Bytes::from_static(b"hello\n"),
        };
        assert_eq!(Message::decode(&message.encode()).unwrap(), message);
    }

    #[test]
    fn bytes_after_a_message_are_an_error_and_not_ignored() {
        let mut bytes = Message::Exit.encode().to_vec();
        bytes.push(0);
        assert!(matches!(Message::decode(&bytes), Err(CodecError::Trailing(1))));
    }
}
