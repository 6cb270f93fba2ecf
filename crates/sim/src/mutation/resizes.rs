//! Planted faults of head and daemons about changes of size. They include each hole of the reference implementation,
//! as far as it can be imitated from outside.
//!
//! The world uses it in runs with a planted fault only, like `losses`.

use std::collections::BTreeSet;

use ferrite_core::{
    DaemonInput, Effect, HeadInput, HeadTimer, Input, LinkInput, PmixCall, PmixEffect, Timer, Transition,
};
use ferrite_types::pmix_status::FERRITE_NODES_STAY;
use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, DaemonRank, JobId, JobState, ProcId, Rank, RankSet, SessionId, Signal,
};
use ferrite_wire::control::{Reply, Request, SessionDirective};
use ferrite_wire::{
    ControlOrder, DaemonMessage, Dest, EventInfo, Frame, FrameKind, HeadMessage, LaunchFailure, Message, Resize,
    ResizeOutcome, ResizeRequest, TreeMessage, WithdrawalAnswer,
};

use super::losses::{frames, hush, replace, says};
use crate::mutation::Mutation;
use crate::scenario::Scenario;

/// The next look of the policy for elastic jobs.
const LOOK: Timer = Timer::Head(HeadTimer::Policy);

/// Exit code of a job that has lost processes to a shrink.
const NODES_LEFT: u8 = 75;

/// The state by which a planted fault finds the right time.
#[derive(Debug, Default)]
pub(crate) struct ResizeMutations {
    /// Daemons that are on their way in.
    coming: RankSet,
    /// Daemons that were told to leave.
    leaving: RankSet,
    grows: BTreeSet<u32>,
    draining: BTreeSet<CampaignId>,
    /// Daemons that have not been sent away with a part of a drain.
    kept: RankSet,
    parked: BTreeSet<JobId>,
}

impl ResizeMutations {
    /// Changes an input of a daemon.
    pub(crate) fn reach(&self, scenario: &Scenario, rank: DaemonRank, input: &mut Input) {
        let Some(mutation) = scenario.mutation else { return };
        if let Input::Head(HeadInput::Request { request: Request::Resize(request), .. }) = input
            && let ResizeRequest::Grow(grow) = &mut **request
        {
            grow.terms.reserve &= mutation != Mutation::NotReserved;
            grow.terms.time_limit_s = grow.terms.time_limit_s.filter(|_| mutation != Mutation::Timeless);
            if mutation == Mutation::HalfTime {
                grow.terms.time_limit_s = grow.terms.time_limit_s.map(|limit| limit.div_ceil(2));
            }
        }
        if let Input::Head(HeadInput::Request { request: Request::Session { directive, .. }, .. }) = input {
            let is_lost = match directive {
                SessionDirective::Pause => mutation == Mutation::NotPaused,
                SessionDirective::Resume => mutation == Mutation::NotResumed,
                SessionDirective::Extend { .. } => mutation == Mutation::NotExtended,
                SessionDirective::Terminate => mutation == Mutation::Undying,
                SessionDirective::Instantiate(_) | SessionDirective::Signal(_) | SessionDirective::Separate => false,
            };
            if is_lost {
                // Running processes do not notice this signal.
                *directive = SessionDirective::Signal(Signal::CONT);
            }
        }
        if let (Mutation::UnheardRefusal, Input::Daemon(DaemonInput::Pmix(PmixCall::Control { order, .. }))) =
            (mutation, &mut *input)
            && rank == DaemonRank::HEAD
            && **order == ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse)
        {
            **order = ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Defer(1));
        }
        if let (Mutation::UnheardDecline, Input::Daemon(DaemonInput::Pmix(PmixCall::Control { order, .. }))) =
            (mutation, &mut *input)
            && **order == ControlOrder::RefuseGrowth
        {
            **order = ControlOrder::Signal { targets: Vec::new(), signal: Signal::CONT };
        }
        if let (Mutation::PlainMembers, Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { submission, .. }))) =
            (mutation, &mut *input)
        {
            submission.spec.map.inherit = Some(false);
        }
        let Input::Link(LinkInput::Frame { frame, .. }) = input else { return };
        match (mutation, rank) {
            (Mutation::HastyEnd, _) => replace(frame, |message| match message {
                Message::Daemon(DaemonMessage::Retiring { procs, .. }) => {
                    Some(Message::Daemon(DaemonMessage::Retire(procs)))
                }
                _ => None,
            }),
            (Mutation::ForgottenEnd, _) if says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Retire(_)))) => {
                frame.kind = FrameKind::Heartbeat;
            }
            (Mutation::OthersEnd, _) => replace(frame, |message| match message {
                Message::Daemon(DaemonMessage::Retire(mut procs)) => {
                    procs.iter_mut().flat_map(|(_, ranks)| ranks).for_each(|rank| rank.0 = rank.0.saturating_sub(1));
                    Some(Message::Daemon(DaemonMessage::Retire(procs)))
                }
                _ => None,
            }),
            (Mutation::UncountedReport, DaemonRank::HEAD)
                if !self.coming.is_empty() && says(frame, |m| matches!(m, Message::Head(HeadMessage::Report(_)))) =>
            {
                frame.kind = FrameKind::Heartbeat;
            }
            // A message of which the head takes no notice stands in its place, so that nothing is sent again.
            (Mutation::UnheardFinalize, DaemonRank::HEAD) => replace(frame, |message| match message {
                Message::Head(HeadMessage::Finalized(_)) => {
                    Some(Message::Head(HeadMessage::StdinCredit { job: JobId(u32::MAX), bytes: 0 }))
                }
                _ => None,
            }),
            (Mutation::EarlyFinalize, DaemonRank::HEAD) => replace(frame, |message| match message {
                Message::Head(HeadMessage::Registered(job)) => {
                    Some(Message::Head(HeadMessage::Finalized(ProcId { job, rank: Rank(0) })))
                }
                _ => None,
            }),
            (Mutation::UnheardNotice, DaemonRank::HEAD)
                if says(frame, |m| matches!(m, Message::Head(HeadMessage::WithdrawalTold(_)))) =>
            {
                frame.kind = FrameKind::Heartbeat;
            }
            (Mutation::UnheardSignal, DaemonRank::HEAD)
                if says(frame, |m| matches!(m, Message::Head(HeadMessage::SignalOfManager { .. }))) =>
            {
                frame.kind = FrameKind::Heartbeat;
            }
            (Mutation::NoWord, _) => replace(frame, |message| match message {
                Message::Daemon(DaemonMessage::ManagerSays { .. }) => {
                    Some(Message::Daemon(DaemonMessage::ManagerSays { stays: false }))
                }
                _ => None,
            }),
            (Mutation::UnheardRefusal, DaemonRank::HEAD) => replace(frame, |message| match message {
                Message::Head(HeadMessage::Control { id, by, order }) => {
                    let is_refusal = *order == ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse);
                    let order = Box::new(ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Defer(1)));
                    is_refusal.then_some(Message::Head(HeadMessage::Control { id, by, order }))
                }
                _ => None,
            }),
            (Mutation::ForeignFailure, DaemonRank::HEAD) => replace(frame, |message| match message {
                Message::Head(HeadMessage::DaemonLost { cause, .. }) => {
                    let rank = self.coming.first()?;
                    let failure = LaunchFailure { rank, nodes: Vec::new(), command: String::new(), cause };
                    Some(Message::Head(HeadMessage::LaunchFailed(failure)))
                }
                _ => None,
            }),
            (Mutation::NoHoles, rank) if rank != DaemonRank::HEAD => replace(frame, |message| match message {
                Message::Daemon(DaemonMessage::Wireup(mut wireup)) if wireup.come.contains(rank) => {
                    wireup.dead = wireup.coming.clone();
                    Some(Message::Daemon(DaemonMessage::Wireup(wireup)))
                }
                _ => None,
            }),
            _ => {}
        }
    }

    /// Changes the effects of a daemon after `cause`.
    pub(crate) fn tamper(&mut self, mutation: Mutation, rank: DaemonRank, cause: &Input, wanted: &mut Vec<Effect>) {
        if rank == DaemonRank::HEAD {
            if mutation == Mutation::LeaveTogether {
                self.leave_together(wanted);
            }
            self.tamper_head(mutation, cause, wanted);
            self.learn(wanted);
        }
        match mutation {
            Mutation::StaysOn if self.leaving.contains(rank) => wanted.retain(|e| !matches!(e, Effect::Exit { .. })),
            Mutation::TwoEvents => {
                let twice = |e: Effect| if is_event(&e) { vec![e.clone(), e] } else { vec![e] };
                *wanted = std::mem::take(wanted).into_iter().flat_map(twice).collect();
            }
            Mutation::NoEvent => wanted.retain(|e| !is_event(e)),
            Mutation::UnheardOffer => wanted.retain(|e| !matches!(e, Effect::Pmix(PmixEffect::Event { event, .. }) if matches!(event.info, EventInfo::Growth(_)))),
            Mutation::DeafWorlds => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Event { event, to, .. }) = effect
                    && let EventInfo::Withdrawal(notice) = &event.info
                {
                    to.retain(|proc| proc.job == notice.job);
                }
            }),
            Mutation::LargeOffer => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Event { event, .. }) = effect
                    && let EventInfo::Growth(offer) = &mut event.info
                {
                    offer.slots.iter_mut().for_each(|(_, slots)| *slots += 1);
                }
            }),
            Mutation::CrampedOffer => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Event { event, .. }) = effect
                    && let EventInfo::Growth(offer) = &mut event.info
                {
                    let others: u32 = offer.slots.drain(1..).map(|(_, slots)| slots).sum();
                    offer.slots[0].1 += others;
                }
            }),
            Mutation::UntoldSize => wanted.retain(|e| !matches!(e, Effect::Reply { reply: Reply::JobResized(_), .. })),
            Mutation::NoStay => wanted.retain(|e| !matches!(e, Effect::Pmix(PmixEffect::Event { event, .. }) if event.code == FERRITE_NODES_STAY)),
            Mutation::NoNotice => wanted.retain(|e| !matches!(e, Effect::Pmix(PmixEffect::Event { event, .. }) if matches!(event.info, EventInfo::Withdrawal(_)))),
            Mutation::LongPromise => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Event { event, .. }) = effect
                    && let EventInfo::Withdrawal(notice) = &mut event.info
                {
                    notice.seconds *= 2;
                }
            }),
            Mutation::OtherAllocation => events(wanted).for_each(|resize| resize.alloc_id = Some("x".into())),
            Mutation::NoRequestId => events(wanted).for_each(|resize| resize.req_id = None),
            _ => {}
        }
    }

    fn tamper_head(&self, mutation: Mutation, cause: &Input, wanted: &mut Vec<Effect>) {
        match mutation {
            Mutation::Unwarned => wanted.retain(|e| !matches!(e, Effect::TimeWarning { .. })),
            Mutation::FalseReason => give_false_reasons(wanted),
            Mutation::OtherSession => frames(wanted).for_each(|frame| {
                replace(frame, |message| match message {
                    Message::Daemon(DaemonMessage::Launch(mut order)) => {
                        std::sync::Arc::make_mut(&mut order).session.0 += 1;
                        Some(Message::Daemon(DaemonMessage::Launch(order)))
                    }
                    _ => None,
                });
            }),
            Mutation::QuietRelease if releases_all(cause) => {
                wanted.retain(|e| !matches!(e, Effect::Trace(Transition::Campaign { .. })));
            }
            Mutation::LaunchOnTheLeaving => self.launch_on_the_leaving(wanted),
            Mutation::NeverAdmitted => cut_off(wanted, |from, to| {
                from == JobState::WaitingForDaemons && matches!(to, JobState::Map | JobState::LaunchApps)
            }),
            Mutation::HeldByGrows if !self.grows.is_empty() => {
                cut_off(wanted, |from, to| (from, to) == (JobState::WaitingForDaemons, JobState::LaunchApps))
            }
            Mutation::AllHeldAborted => self.abort_all(wanted),
            Mutation::HeadLeaves => frames(wanted).for_each(|frame| {
                replace(frame, |message| match message {
                    Message::Tree(TreeMessage::Shrink { mut targets }) => {
                        targets.insert(DaemonRank::HEAD);
                        Some(Message::Tree(TreeMessage::Shrink { targets }))
                    }
                    _ => None,
                });
            }),
            Mutation::OrderedTwice => frames(wanted).for_each(|frame| {
                replace(frame, |message| match message {
                    Message::Tree(TreeMessage::Shrink { mut targets }) => {
                        targets.insert_all(&self.leaving);
                        Some(Message::Tree(TreeMessage::Shrink { targets }))
                    }
                    _ => None,
                });
            }),
            Mutation::OldRank => wanted.iter_mut().for_each(|effect| {
                if let (Effect::LaunchDaemon { rank, ticket, .. }, Some(old)) = (effect, self.leaving.first()) {
                    (*rank, ticket.rank) = (old, old);
                }
            }),
            Mutation::NotHeld => reroute(wanted, JobState::VmReady, JobState::WaitingForDaemons, JobState::Map),
            Mutation::HeldFails => reroute(wanted, JobState::WaitingForDaemons, JobState::Map, JobState::MapFailed),
            Mutation::HastyGrown => wanted.iter_mut().for_each(|effect| {
                if let Effect::Trace(Transition::Campaign { step, .. }) = effect
                    && *step == CampaignStep::WiringUp
                {
                    *step = CampaignStep::Done;
                }
            }),
            Mutation::NoTurns => wanted.iter_mut().for_each(|effect| {
                if let Effect::Trace(Transition::Campaign { step, .. }) = effect
                    && *step == CampaignStep::Queued
                {
                    *step = CampaignStep::Open;
                }
            }),
            Mutation::NotUndone => hush(wanted, |frame| {
                frame.kind == FrameKind::Direct && says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Exit)))
            }),
            Mutation::OneLook if matches!(cause, Input::Timer(timer) if *timer == LOOK) => {
                wanted.retain(|e| !matches!(e, Effect::SetTimer { timer: LOOK, .. }));
            }
            Mutation::NoOffer => wanted.retain(|e| !matches!(e, Effect::OfferRelease { .. })),
            Mutation::LostRanksAreFine => wanted.iter_mut().for_each(|effect| {
                if let Effect::Reply { reply: Reply::Done(done), .. } = effect
                    && done.exit_code == NODES_LEFT
                {
                    done.exit_code = 0;
                }
            }),
            Mutation::EventForNothing => {
                let more: Vec<Effect> =
                    wanted.iter().filter_map(|e| event_after(e, &ResizeOutcome::Unchanged)).collect();
                wanted.extend(more);
            }
            Mutation::ToldOfPush if is_push(cause) => {
                let more: Vec<Effect> = wanted.iter().filter_map(|e| event_after(e, &ResizeOutcome::Begun)).collect();
                wanted.extend(more);
            }
            Mutation::OwnedPush if is_push(cause) => wanted.iter_mut().for_each(|effect| {
                if let Effect::Reply { reply: Reply::Resize(resize), .. } = effect {
                    resize.session = Some(SessionId(7));
                }
            }),
            Mutation::SilentPush if is_push(cause) => wanted.retain(|e| !matches!(e, Effect::Reply { .. })),
            Mutation::ParkedAllTheSame if !self.grows.is_empty() => {
                reroute(wanted, JobState::VmReady, JobState::Map, JobState::WaitingForDaemons);
            }
            _ => {}
        }
    }

    /// Takes the daemons out of an order to leave while a shrink drains, and sends them away with the next one.
    fn leave_together(&mut self, wanted: &mut [Effect]) {
        for effect in wanted.iter() {
            if let Effect::Trace(Transition::Campaign { campaign, step, .. }) = effect {
                match step {
                    CampaignStep::Draining => self.draining.insert(*campaign),
                    _ => self.draining.remove(campaign),
                };
            }
        }
        for frame in frames(wanted) {
            replace(frame, |message| match message {
                Message::Tree(TreeMessage::Shrink { mut targets }) => {
                    if self.draining.is_empty() {
                        targets.insert_all(&self.kept);
                    } else {
                        self.kept.insert_all(&targets);
                        targets = RankSet::new();
                    }
                    Some(Message::Tree(TreeMessage::Shrink { targets }))
                }
                _ => None,
            });
        }
    }

    fn launch_on_the_leaving(&self, wanted: &mut [Effect]) {
        let Some(leaving) = self.leaving.first() else { return };
        for frame in
            frames(wanted).filter(|frame| says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Launch(_)))))
        {
            if let Dest::One(rank) = frame.dest {
                frame.dest = Dest::Many(RankSet::range(rank.0, rank.0 + 1));
            }
            if let Dest::Many(ranks) = &mut frame.dest {
                ranks.insert(leaving);
            }
        }
    }

    fn abort_all(&self, wanted: &mut Vec<Effect>) {
        let fails = |e: &Effect| {
            matches!(
                e,
                Effect::Trace(Transition::Campaign { kind: CampaignKind::Grow, step: CampaignStep::Failed, .. })
            )
        };
        if wanted.iter().any(fails) {
            let (from, to) = (Some(JobState::WaitingForDaemons), JobState::NeverLaunched);
            let moved = |job: JobId| wanted.iter().any(|e| moves(e).is_some_and(|(who, ..)| who == job));
            let aborted: Vec<JobId> = self.parked.iter().copied().filter(|job| !moved(*job)).collect();
            wanted.extend(aborted.into_iter().map(|job| Effect::Trace(Transition::Job { job, from, to })));
        }
    }

    fn learn(&mut self, wanted: &[Effect]) {
        for effect in wanted {
            match effect {
                Effect::LaunchDaemon { ticket, .. } if ticket.joins => self.coming.extend(ticket.ranks()),
                Effect::Trace(Transition::Campaign { campaign, kind: CampaignKind::Grow, step }) => match step {
                    CampaignStep::Open => {
                        self.grows.insert(campaign.0);
                    }
                    CampaignStep::Done | CampaignStep::Failed => {
                        self.grows.remove(&campaign.0);
                        if self.grows.is_empty() {
                            self.coming = RankSet::new();
                        }
                    }
                    _ => {}
                },
                Effect::Trace(Transition::Job { job, to, .. }) => {
                    if *to == JobState::WaitingForDaemons {
                        self.parked.insert(*job);
                    } else {
                        self.parked.remove(job);
                    }
                }
                Effect::Transmit { frame: Frame { kind: FrameKind::Xcast { .. }, payload, .. }, .. } => {
                    if let Ok(Message::Tree(TreeMessage::Shrink { targets })) = Message::decode(payload) {
                        self.leaving.insert_all(&targets);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Makes the status say that every wait is for a session.
fn give_false_reasons(wanted: &mut [Effect]) {
    for effect in wanted {
        if let Effect::Reply { reply: Reply::Jobs(jobs), .. } = effect {
            let waiting = jobs.iter_mut().filter(|job| !job.waiting_for.is_empty());
            waiting.for_each(|job| job.waiting_for = "its session to be resumed".to_owned());
        }
    }
}

fn releases_all(cause: &Input) -> bool {
    let Input::Head(HeadInput::Request { request: Request::Resize(resize), .. }) = cause else { return false };
    matches!(&**resize, ResizeRequest::Shrink(shrink) if shrink.alloc_id.is_some() && shrink.nodes.is_empty())
}

fn is_push(cause: &Input) -> bool {
    matches!(cause, Input::Head(HeadInput::Request { request: Request::Push(_), .. }))
}

fn is_event(effect: &Effect) -> bool {
    matches!(effect, Effect::Resized { .. } | Effect::Pmix(PmixEffect::ResizeEvent { .. }))
}

fn events(wanted: &mut [Effect]) -> impl Iterator<Item = &mut Resize> {
    wanted.iter_mut().filter_map(|effect| match effect {
        Effect::Resized { resize, .. } | Effect::Pmix(PmixEffect::ResizeEvent { resize, .. }) => Some(&mut **resize),
        _ => None,
    })
}

/// The event of a change that is done, for an answer with this outcome.
fn event_after(effect: &Effect, outcome: &ResizeOutcome) -> Option<Effect> {
    match effect {
        Effect::Reply { request, reply: Reply::Resize(resize) } if resize.outcome == *outcome => {
            let resize = Box::new(Resize { outcome: ResizeOutcome::Done, ..(**resize).clone() });
            Some(Effect::Resized { request: *request, resize })
        }
        _ => None,
    }
}

/// Returns the change of a job's state that an effect reports.
fn moves(effect: &Effect) -> Option<(JobId, JobState, JobState)> {
    match effect {
        Effect::Trace(Transition::Job { job, from: Some(from), to }) if *job != JobId::DAEMONS => {
            Some((*job, *from, *to))
        }
        _ => None,
    }
}

/// Drops a job's change of state and all effects after it.
fn cut_off(wanted: &mut Vec<Effect>, which: impl Fn(JobState, JobState) -> bool) {
    if let Some(at) = wanted.iter().position(|e| moves(e).is_some_and(|(_, from, to)| which(from, to))) {
        wanted.truncate(at);
    }
}

/// Replaces a job's change of state by another.
fn reroute(wanted: &mut [Effect], from: JobState, to: JobState, instead: JobState) {
    for effect in wanted {
        if let Effect::Trace(Transition::Job { job, from: Some(was), to: will }) = effect
            && *job != JobId::DAEMONS
            && (*was, *will) == (from, to)
        {
            *will = instead;
        }
    }
}
