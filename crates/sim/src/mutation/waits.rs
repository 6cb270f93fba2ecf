//! Planted faults about waiting: work that could go on does not, work that should wait does not, and the head reports
//! it wrongly.
//!
//! The world uses it in runs with a planted fault only, like `losses`.

use std::collections::BTreeSet;

use ferrite_core::{Effect, HeadInput, HeadTimer, Input, LinkTimer, Timer, Transition};
use ferrite_types::{CampaignId, CampaignKind, CampaignStep, DaemonRank, JobId, JobState};
use ferrite_wire::control::{Reply, Request, SessionDirective};
use ferrite_wire::{DaemonMessage, Message};

use super::losses::says;
use crate::mutation::Mutation;

/// The state by which a planted fault finds the right time.
#[derive(Debug, Default)]
pub(crate) struct WaitMutations {
    /// Changes of size that are stopped.
    stuck: BTreeSet<CampaignId>,
}

impl WaitMutations {
    /// Alters an input of the head.
    pub(crate) fn reach(mutation: Option<Mutation>, input: &mut Input) {
        match (mutation, input) {
            (Some(Mutation::Overtime), input @ Input::Timer(Timer::Head(HeadTimer::Session(_)))) => {
                *input = Input::Timer(Timer::Link(LinkTimer::Probe))
            }
            (
                Some(Mutation::ExtendedTwice),
                Input::Head(HeadInput::Request {
                    request: Request::Session { directive: SessionDirective::Extend { seconds }, .. },
                    ..
                }),
            ) => *seconds *= 2,
            (
                Some(
                    mutation @ (Mutation::SamePriority
                    | Mutation::OneClient
                    | Mutation::ForgottenDependency
                    | Mutation::AnyEnd),
                ),
                Input::Head(HeadInput::Request { request: Request::Submit(submission), .. }),
            ) => match mutation {
                Mutation::SamePriority => submission.priority = 0,
                Mutation::ForgottenDependency => submission.after.clear(),
                Mutation::AnyEnd => submission.after.iter_mut().for_each(|dependency| dependency.well = false),
                _ => submission.launcher.clear(),
            },
            _ => {}
        }
    }

    /// Alters the effects of the head after `cause`.
    pub(crate) fn tamper(&mut self, mutation: Mutation, rank: DaemonRank, cause: &Input, wanted: &mut Vec<Effect>) {
        if rank != DaemonRank::HEAD {
            return;
        }
        match mutation {
            Mutation::ImpatientWireup => fail_late_wireup(cause, wanted),
            Mutation::Unserved => {
                let served: Vec<JobId> = wanted.iter().filter_map(|effect| served(effect, wanted)).collect();
                forget(wanted, &served);
            }
            Mutation::EverDependent => {
                let freed: Vec<JobId> = wanted.iter().filter_map(|effect| freed(effect, wanted)).collect();
                forget(wanted, &freed);
            }
            Mutation::PausedForever if goes_on(cause) => {
                let released: Vec<JobId> = wanted.iter().filter_map(released).collect();
                forget(wanted, &released);
            }
            Mutation::ForeverBehind => self.stick(wanted, CampaignStep::Behind),
            Mutation::ForeverQueued => self.stick(wanted, CampaignStep::Queued),
            Mutation::StaleReason => wanted.iter_mut().for_each(|effect| {
                if let Effect::Reply { reply: Reply::Status(status), .. } = effect {
                    let launching = status.campaigns.iter_mut().filter(|c| c.step == CampaignStep::Launching);
                    launching.for_each(|campaign| campaign.waiting_for = "all daemons to be wired up".to_owned());
                }
            }),
            Mutation::IdleDvm => wanted.iter_mut().for_each(|effect| {
                if let Effect::Reply { reply: Reply::Status(status), .. } = effect {
                    status.waiting_for.clear();
                }
            }),
            Mutation::FalseSlots => wanted.iter_mut().for_each(|effect| {
                if let Effect::Reply { reply: Reply::Jobs(jobs), .. } = effect {
                    let waiting = jobs.iter_mut().filter(|job| job.waiting_for.contains(" slots ("));
                    waiting
                        .for_each(|job| job.waiting_for = "1 slots (1 of 1 are free, 0 jobs are before it)".to_owned());
                }
            }),
            _ => {}
        }
    }

    /// Stops a grow at this step.
    fn stick(&mut self, wanted: &mut Vec<Effect>, at: CampaignStep) {
        wanted.retain(|effect| {
            let Effect::Trace(Transition::Campaign { campaign, kind: CampaignKind::Grow, step }) = effect else {
                return true;
            };
            let is_stuck = self.stuck.contains(campaign);
            if *step == at {
                self.stuck.insert(*campaign);
            }
            !is_stuck
        });
    }
}

/// Rolls a grow back at its deadline during the wireup.
fn fail_late_wireup(cause: &Input, wanted: &mut Vec<Effect>) {
    let Input::Timer(Timer::Head(HeadTimer::Campaign(campaign))) = cause else { return };
    let looks_again = |e: &Effect| matches!(e, Effect::SetTimer { timer: Timer::Head(HeadTimer::Campaign(id)), .. } if id == campaign);
    if wanted.iter().any(looks_again) && !wanted.iter().any(|e| matches!(e, Effect::Trace(_))) {
        let (kind, step) = (CampaignKind::Grow, CampaignStep::RollingBack);
        wanted.push(Effect::Trace(Transition::Campaign { campaign: *campaign, kind, step }));
    }
}

/// The queued job that gets its map by this effect.
fn served(effect: &Effect, wanted: &[Effect]) -> Option<JobId> {
    let Effect::Trace(Transition::Job { job, to: JobState::MapComplete, .. }) = effect else { return None };
    let is_new = wanted
        .iter()
        .any(|e| matches!(e, Effect::Trace(Transition::Job { job: other, to: JobState::Map, .. }) if other == job));
    (!is_new).then_some(*job)
}

/// The job that begins by this effect after others.
fn freed(effect: &Effect, wanted: &[Effect]) -> Option<JobId> {
    let Effect::Trace(Transition::Job { job, to: JobState::Map, .. }) = effect else { return None };
    let is_new = wanted
        .iter()
        .any(|e| matches!(e, Effect::Trace(Transition::Job { job: other, to: JobState::VmReady, .. }) if other == job));
    (!is_new).then_some(*job)
}

/// The parked job that goes on by this effect.
fn released(effect: &Effect) -> Option<JobId> {
    match effect {
        Effect::Trace(Transition::Job { job, from: Some(JobState::WaitingForDaemons), .. }) => Some(*job),
        _ => None,
    }
}

fn goes_on(cause: &Input) -> bool {
    matches!(
        cause,
        Input::Head(HeadInput::Request { request: Request::Session { directive: SessionDirective::Resume, .. }, .. })
    )
}

/// Drops all effects for these jobs.
fn forget(wanted: &mut Vec<Effect>, jobs: &[JobId]) {
    wanted.retain(|effect| match effect {
        Effect::Trace(Transition::Job { job, .. }) => !jobs.contains(job),
        Effect::Transmit { frame, .. } => {
            !says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Launch(order)) if jobs.contains(&order.job)))
        }
        _ => true,
    });
}
