//! Future events of the world as data.

use ferrite_core::{Input, RequestId, Timer};
use ferrite_types::{DaemonRank, ExtensionId, JobId, ProcId};
use ferrite_wire::{Contact, Frame, SpreadId};

use crate::fault::Fault;
use crate::network::LinkId;
use crate::queue::Time;

/// A future event.
#[derive(Debug)]
pub(crate) enum Event {
    /// A daemon gets an input.
    Input(DaemonRank, Input),
    /// A link comes up at one end.
    LinkUp { at: DaemonRank, peer: DaemonRank, id: LinkId },
    /// One end of a link learns that it is lost.
    LinkDown { at: DaemonRank, peer: DaemonRank, id: LinkId, cause: &'static str },
    /// A frame arrives.
    Arrive { from: DaemonRank, to: DaemonRank, id: LinkId, frame: Frame },
    /// A daemon calls another: for a link, or for the lane of a spread.
    Call { from: DaemonRank, peer: DaemonRank, contact: Contact, until: Time, insist: bool, lane: Option<SpreadId> },
    /// The deadline of an accepted call passes.
    CallLapses { from: DaemonRank, peer: DaemonRank, id: LinkId },
    /// A timer is due, unless it was set again or cancelled.
    Timer { rank: DaemonRank, timer: Timer, setting: u64 },
    /// A launched daemon starts.
    DaemonStarts(DaemonRank),
    /// A process goes on after a pause.
    Wake(DaemonRank, ProcId),
    /// A process leaves that was told that it is to end.
    Leaves(DaemonRank, ProcId),
    /// The work of a spawn tree is done, unless its workers have changed since.
    WorkDone(JobId, u64),
    /// The last descendant of a process that is gone ends.
    OrphanEnds(DaemonRank, ProcId),
    /// A process asks for another size, by the plan of this number.
    ProcAsks(usize),
    /// A daemon's process is killed.
    Killed(DaemonRank),
    /// A fault strikes.
    Fault(Fault),
    /// A paused daemon goes on.
    Resume(DaemonRank),
    /// An isolated daemon's network works again.
    Heal(DaemonRank),
    /// The head is told to end.
    Finish,
    /// A client leaves, answered or not.
    ClientLeaves(RequestId),
    /// The resource manager decides a request.
    ManagerDecides(ExtensionId),
    /// The resource manager ends a job that it has granted.
    ManagerEnds(String),
    /// The resource manager announces the end of a job that it has granted.
    ManagerAnnounces(String),
}

impl Event {
    /// Returns the two ends between which the event passes the network; `None` = it does not.
    pub(crate) fn passes(&self) -> Option<[DaemonRank; 2]> {
        match self {
            Event::LinkUp { at, peer, .. } | Event::LinkDown { at, peer, .. } => Some([*at, *peer]),
            Event::Arrive { from, to, .. } => Some([*from, *to]),
            // The answer of a call is decided when the call is made.
            Event::Call { .. }
            | Event::CallLapses { .. }
            | Event::Input(..)
            | Event::Timer { .. }
            | Event::DaemonStarts(_)
            | Event::Wake(..)
            | Event::Leaves(..)
            | Event::WorkDone(..)
            | Event::OrphanEnds(..)
            | Event::ProcAsks(_)
            | Event::Killed(_)
            | Event::Fault(_)
            | Event::Resume(_)
            | Event::Heal(_)
            | Event::Finish
            | Event::ClientLeaves(_)
            | Event::ManagerDecides(_)
            | Event::ManagerEnds(_)
            | Event::ManagerAnnounces(_) => None,
        }
    }

    /// Returns the daemon that acts in the event; a paused daemon acts later.
    pub(crate) fn whose(&self) -> Option<DaemonRank> {
        match self {
            Event::Input(rank, _) | Event::Timer { rank, .. } => Some(*rank),
            Event::LinkUp { at, .. } | Event::LinkDown { at, .. } => Some(*at),
            Event::Arrive { to, .. } => Some(*to),
            Event::Call { from, .. } | Event::CallLapses { from, .. } => Some(*from),
            Event::Finish | Event::ClientLeaves(_) => Some(DaemonRank::HEAD),
            Event::DaemonStarts(_)
            | Event::Wake(..)
            | Event::Leaves(..)
            | Event::WorkDone(..)
            | Event::OrphanEnds(..)
            | Event::ProcAsks(_)
            | Event::Killed(_)
            | Event::Fault(_)
            | Event::Resume(_)
            | Event::Heal(_)
            | Event::ManagerDecides(_)
            | Event::ManagerEnds(_)
            | Event::ManagerAnnounces(_) => None,
        }
    }
}
