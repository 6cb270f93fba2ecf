//! What is going to happen in the world, as data: made by whoever knows that it will, acted out by the world.

use ferrite_core::{Input, RequestId, Timer};
use ferrite_types::{DaemonRank, ExtensionId, ProcId};
use ferrite_wire::{Contact, Frame};

use crate::fault::Fault;
use crate::network::LinkId;
use crate::queue::Time;

/// Something that is going to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// A daemon gets an input.
    Input(DaemonRank, Input),
    /// A link comes up at one end.
    LinkUp { at: DaemonRank, peer: DaemonRank, id: LinkId },
    /// One end learns that a link is gone.
    LinkDown { at: DaemonRank, peer: DaemonRank, id: LinkId, cause: &'static str },
    /// A frame arrives.
    Arrive { from: DaemonRank, to: DaemonRank, id: LinkId, frame: Frame },
    /// A daemon tries to reach another.
    Call { from: DaemonRank, peer: DaemonRank, contact: Contact, until: Time, insist: bool },
    /// A timer is due, unless it was set again or cancelled.
    Timer { rank: DaemonRank, timer: Timer, setting: u64 },
    /// A daemon that was launched begins to live.
    DaemonStarts(DaemonRank),
    /// A process goes on after a pause.
    Wake(DaemonRank, ProcId),
    /// The last descendant of a process that is gone ends.
    OrphanEnds(DaemonRank, ProcId),
    /// A process asks for another size, by the plan of this number.
    ProcAsks(usize),
    /// A daemon's process is killed.
    Killed(DaemonRank),
    /// Something goes wrong.
    Fault(Fault),
    /// A daemon that stood still goes on.
    Resume(DaemonRank),
    /// The network of a daemon that was isolated is whole again.
    Heal(DaemonRank),
    /// Somebody told the head to end.
    Finish,
    /// A client goes away, answered or not.
    ClientLeaves(RequestId),
    /// The resource manager looks at a request.
    ManagerDecides(ExtensionId),
    /// The resource manager ends a job that it has granted.
    ManagerEnds(String),
}

impl Event {
    /// The two ends of the network between which it passes, when it comes from elsewhere.
    pub(crate) fn passes(&self) -> Option<[DaemonRank; 2]> {
        match self {
            Event::LinkUp { at, peer, .. } | Event::LinkDown { at, peer, .. } => Some([*at, *peer]),
            Event::Arrive { from, to, .. } => Some([*from, *to]),
            // A call is made here; whether anybody answers is seen when it is made.
            Event::Call { .. }
            | Event::Input(..)
            | Event::Timer { .. }
            | Event::DaemonStarts(_)
            | Event::Wake(..)
            | Event::OrphanEnds(..)
            | Event::ProcAsks(_)
            | Event::Killed(_)
            | Event::Fault(_)
            | Event::Resume(_)
            | Event::Heal(_)
            | Event::Finish
            | Event::ClientLeaves(_)
            | Event::ManagerDecides(_)
            | Event::ManagerEnds(_) => None,
        }
    }

    /// The daemon that takes part in it actively, and so cannot while it stands still.
    pub(crate) fn whose(&self) -> Option<DaemonRank> {
        match self {
            Event::Input(rank, _) | Event::Timer { rank, .. } => Some(*rank),
            Event::LinkUp { at, .. } | Event::LinkDown { at, .. } => Some(*at),
            Event::Arrive { to, .. } => Some(*to),
            Event::Call { from, .. } => Some(*from),
            Event::Finish | Event::ClientLeaves(_) => Some(DaemonRank::HEAD),
            Event::DaemonStarts(_)
            | Event::Wake(..)
            | Event::OrphanEnds(..)
            | Event::ProcAsks(_)
            | Event::Killed(_)
            | Event::Fault(_)
            | Event::Resume(_)
            | Event::Heal(_)
            | Event::ManagerDecides(_)
            | Event::ManagerEnds(_) => None,
        }
    }
}
