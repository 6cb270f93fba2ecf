//! Planted faults of daemons about losses, as a bug would cause them.
//!
//! The world uses it in runs with a planted fault only. Inputs are changed after the referee has seen them, effects
//! before.

use bytes::Bytes;
use ferrite_core::{DaemonTimer, Effect, Input, LinkInput, LinkTimer, PmixEffect, Timer};
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{Contact, DaemonMessage, Dest, Frame, FrameKind, HeadMessage, Message, Numbers, TreeMessage};

use crate::mutation::Mutation;
use crate::scenario::Scenario;

/// The state by which a planted fault finds the right time.
#[derive(Debug, Default)]
pub(crate) struct LossMutations {
    ready: bool,
    declared: RankSet,
}

impl LossMutations {
    /// Changes an input of a daemon.
    pub(crate) fn reach(&self, scenario: &Scenario, rank: DaemonRank, input: &mut Input) {
        let (Some(mutation), Input::Link(LinkInput::Frame { frame, .. })) = (scenario.mutation, input) else { return };
        match (mutation, rank) {
            (Mutation::LostReports, DaemonRank::HEAD) => replace(frame, |message| match message {
                Message::Head(HeadMessage::DaemonLost { rank, .. }) => {
                    Some(Message::Head(HeadMessage::Rejoined { lost: rank }))
                }
                _ => None,
            }),
            (Mutation::WrongDead, DaemonRank::HEAD) => replace(frame, |message| match message {
                Message::Head(HeadMessage::DaemonLost { rank, cause }) => {
                    let child = rank.0 * scenario.radix + 1;
                    let rank = if child < scenario.daemons { DaemonRank(child) } else { rank };
                    Some(Message::Head(HeadMessage::DaemonLost { rank, cause }))
                }
                _ => None,
            }),
            (Mutation::ForgottenDead, rank) if rank.0 % 2 == 1 => replace(frame, |message| match message {
                Message::Tree(TreeMessage::Died { mut ranks }) => {
                    ranks.first().map(|first| ranks.remove(first));
                    Some(Message::Tree(TreeMessage::Died { ranks }))
                }
                _ => None,
            }),
            (Mutation::DeafToComplaints, rank) if frame.dest == Dest::One(rank) => {
                if let FrameKind::Ack { missing, .. } = &mut frame.kind {
                    *missing = false;
                }
            }
            _ => {}
        }
    }

    /// Changes the effects of a daemon after `cause`.
    pub(crate) fn tamper(&mut self, mutation: Mutation, rank: DaemonRank, cause: &Input, wanted: &mut Vec<Effect>) {
        self.learn(rank, wanted);
        match mutation {
            Mutation::NoReplay if self.ready && matches!(cause, Input::Link(LinkInput::LinkUp { .. })) => {
                hush(wanted, |frame| matches!(frame.kind, FrameKind::Xcast { .. }));
            }
            Mutation::NoDied => hush(wanted, |frame| {
                matches!(frame.kind, FrameKind::Xcast { .. })
                    && says(frame, |m| matches!(m, Message::Tree(TreeMessage::Died { .. })))
            }),
            Mutation::HastyReport => wanted.iter_mut().for_each(|effect| {
                if let Effect::Connect { peer, contact, insist: false, .. } = effect
                    && *peer > rank
                {
                    // Nobody listens at this contact, so the call is refused at once.
                    *contact = Contact::default();
                }
            }),
            Mutation::NobodyCalls => wanted.retain(|e| !matches!(e, Effect::Connect { insist: false, .. })),
            Mutation::LazyOrphans => {
                wanted.retain(|e| !matches!(e, Effect::Connect { insist: false, peer, .. } if *peer < rank));
            }
            Mutation::LazyParents => {
                wanted.retain(|e| !matches!(e, Effect::Connect { insist: false, peer, .. } if *peer > rank));
            }
            Mutation::NoProbes => hush(wanted, |frame| matches!(frame.kind, FrameKind::Probe(_))),
            Mutation::BoastfulAck => frames(wanted).filter(|frame| frame.origin == rank).for_each(|frame| {
                if let FrameKind::Ack { upto, .. } = &mut frame.kind {
                    *upto += 1;
                }
            }),
            Mutation::RenumberedRepeat => renumber(rank, cause, wanted),
            Mutation::NoHeartbeats => {
                wanted.retain(|e| !matches!(e, Effect::Transmit { frame, .. } if frame.kind == FrameKind::Heartbeat));
            }
            Mutation::SilenceUnnoticed => {
                wanted.retain(|e| !matches!(e, Effect::SetTimer { timer: Timer::Link(LinkTimer::Heartbeat), .. }));
            }
            Mutation::NoSecondRound => {
                wanted.retain(|e| !matches!(e, Effect::SetTimer { timer: Timer::Daemon(DaemonTimer::Rejoin), .. }));
            }
            Mutation::KindFence if rank.0 % 2 == 1 => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Reply { result, .. }) = effect
                    && result.is_err()
                {
                    *result = Ok(Bytes::from(vec![b'f'; 1 << 16]));
                }
            }),
            Mutation::UndeadStays => hush(wanted, |frame| {
                frame.kind == FrameKind::Direct && says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Exit)))
            }),
            Mutation::OrdersToTheDead if rank == DaemonRank::HEAD => self.order_the_dead(wanted),
            Mutation::AdoptedNotAwaited if rank != DaemonRank::HEAD => acknowledge_deaths(rank, cause, wanted),
            Mutation::LostOrphans if rank == DaemonRank::HEAD => frames(wanted).for_each(|frame| {
                replace(frame, |message| match message {
                    Message::Daemon(DaemonMessage::Adopt(_)) => Some(Message::Daemon(DaemonMessage::Adopt(Vec::new()))),
                    _ => None,
                });
            }),
            Mutation::KeptDetour if self.ready => {
                wanted.retain(|e| !matches!(e, Effect::CloseLink { peer } if *peer < rank));
            }
            _ => {}
        }
    }

    fn learn(&mut self, rank: DaemonRank, wanted: &[Effect]) {
        self.ready |= wanted.iter().any(|effect| matches!(effect, Effect::Ready));
        if rank != DaemonRank::HEAD {
            return;
        }
        for effect in wanted {
            if let Effect::Transmit { frame, .. } = effect
                && matches!(frame.kind, FrameKind::Xcast { .. })
                && let Ok(Message::Tree(TreeMessage::Died { ranks, .. })) = Message::decode(&frame.payload)
            {
                self.declared.insert_all(&ranks);
            }
        }
    }

    fn order_the_dead(&self, wanted: &mut [Effect]) {
        let Some(dead) = self.declared.first() else { return };
        for frame in
            frames(wanted).filter(|frame| says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Launch(_)))))
        {
            let mut to = match &frame.dest {
                Dest::One(rank) => RankSet::range(rank.0, rank.0 + 1),
                Dest::Many(ranks) => ranks.clone(),
                Dest::All => continue,
            };
            to.insert(dead);
            frame.dest = Dest::Many(to);
        }
    }
}

pub(crate) fn frames(wanted: &mut [Effect]) -> impl Iterator<Item = &mut Frame> {
    wanted.iter_mut().filter_map(|effect| match effect {
        Effect::Transmit { frame, .. } => Some(frame),
        _ => None,
    })
}

/// Replaces frames by heartbeats, so that the daemon believes to have sent them.
pub(crate) fn hush(wanted: &mut [Effect], which: impl Fn(&Frame) -> bool) {
    frames(wanted).filter(|frame| which(frame)).for_each(|frame| {
        (frame.kind, frame.payload) = (FrameKind::Heartbeat, Bytes::new());
    });
}

pub(crate) fn says(frame: &Frame, what: impl Fn(&Message) -> bool) -> bool {
    Message::decode(&frame.payload).is_ok_and(|message| what(&message))
}

/// Puts another message into a frame.
pub(crate) fn replace(frame: &mut Frame, with: impl FnMut(Message) -> Option<Message>) {
    if let Some(other) = Message::decode(&frame.payload).ok().and_then(with) {
        frame.payload = other.encode();
    }
}

/// Sends the messages that a peer reports missing with new numbers.
fn renumber(rank: DaemonRank, cause: &Input, wanted: &mut [Effect]) {
    let Input::Link(LinkInput::Frame {
        frame: Frame { origin, kind: FrameKind::Ack { missing: true, .. }, .. }, ..
    }) = cause
    else {
        return;
    };
    let again = |frame: &&mut Frame| frame.origin == rank && frame.dest == Dest::One(*origin);
    let mut repeated: Vec<&mut u64> = frames(wanted)
        .filter(again)
        .filter_map(|frame| match &mut frame.kind {
            FrameKind::Message { numbers: Numbers::Same(number), .. } => Some(number),
            _ => None,
        })
        .collect();
    let count = repeated.len() as u64;
    repeated.iter_mut().for_each(|number| **number += count);
}

/// Makes a relay acknowledge a death before those below it have.
fn acknowledge_deaths(rank: DaemonRank, cause: &Input, wanted: &mut Vec<Effect>) {
    let Input::Link(LinkInput::Frame { from, frame }) = cause else { return };
    let FrameKind::Xcast { seq, .. } = frame.kind else { return };
    let done = |e: &Effect| matches!(e, Effect::Transmit { frame, .. } if frame.kind == FrameKind::XcastAck { seq });
    if says(frame, |m| matches!(m, Message::Tree(TreeMessage::Died { .. }))) && !wanted.iter().any(done) {
        let (dest, kind) = (Dest::One(DaemonRank::HEAD), FrameKind::XcastAck { seq });
        let frame = Frame { dest, origin: rank, kind, payload: Bytes::new() };
        wanted.push(Effect::Transmit { peer: *from, frame });
    }
}
