//! Planted faults of head and daemons about spawned jobs, connections between jobs and published data.
//!
//! The world uses it in runs with a planted fault only, like `losses`.

use ferrite_types::pmix_status::{
    PMIX_ERR_JOB_FAILED_TO_LAUNCH as FAILED_TO_LAUNCH, PMIX_ERR_LOST_CONNECTION as LOST_CONNECTION,
    PMIX_ERR_NOT_FOUND as NOT_FOUND,
};
use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, LinkInput, PmixCall, PmixEffect, Transition};
use ferrite_types::{DaemonRank, JobId, PmixStatus};
use ferrite_wire::{
    CollectiveKind, DaemonMessage, DataCall, DataRange, DataRequest, EventSource, GroupBuilt, HeadMessage, Message,
    Persistence,
};

use super::losses::{frames, replace};
use crate::mutation::Mutation;

/// The state by which a planted fault finds the right time.
#[derive(Debug, Default)]
pub(crate) struct FamilyMutations {
    /// The job that has spawned each.
    parents: BTreeMap<JobId, JobId>,
    /// The event that each daemon keeps back.
    kept: BTreeMap<DaemonRank, Effect>,
    /// Jobs with a failed process.
    failed: BTreeSet<JobId>,
}

impl FamilyMutations {
    /// Changes an input of a daemon.
    pub(crate) fn reach(&mut self, mutation: Option<Mutation>, rank: DaemonRank, input: &mut Input) {
        let Some(mutation) = mutation else { return };
        match (mutation, &mut *input) {
            (Mutation::ForgottenParting, Input::Daemon(DaemonInput::Pmix(PmixCall::Disconnect { members, token }))) => {
                let (members, token) = (members.clone(), *token);
                *input = Input::Daemon(DaemonInput::Pmix(PmixCall::Connect { members, token }));
            }
            (Mutation::ForgottenConnection, Input::Daemon(DaemonInput::Pmix(PmixCall::Connect { members, token }))) => {
                let (members, token, data) = (members.clone(), *token, bytes::Bytes::new());
                *input = Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, data, token }));
            }
            (Mutation::ForgottenChildren, Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { submission, .. }))) => {
                submission.separate = true
            }
            (Mutation::NoneSeparate, Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { submission, .. }))) => {
                submission.separate = false
            }
            (_, Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, .. }))) => change_call(mutation, call),
            // Another message takes its place, so that no gap in the numbers shows and nothing is sent again.
            (Mutation::ForgottenMember, Input::Link(LinkInput::Frame { frame, .. })) => {
                if let Ok(Message::Daemon(DaemonMessage::CollectiveDone { key, .. })) = Message::decode(&frame.payload)
                    && key.kind == CollectiveKind::PmixDisconnect
                {
                    frame.payload = Message::from(DaemonMessage::Adopt(Vec::new())).encode();
                }
            }
            (Mutation::LostEvent, Input::Link(LinkInput::Frame { frame, .. })) if rank.0 % 3 == 1 => {
                if let Ok(Message::Daemon(DaemonMessage::Event { .. })) = Message::decode(&frame.payload) {
                    frame.payload = Message::from(DaemonMessage::Adopt(Vec::new())).encode();
                }
            }
            (_, Input::Link(LinkInput::Frame { frame, .. })) if rank == DaemonRank::HEAD => {
                if let Ok(Message::Head(HeadMessage::ProcsEnded { job, ends })) = Message::decode(&frame.payload)
                    && ends.iter().any(|end| end.state.is_error())
                {
                    self.failed.insert(job);
                }
            }
            _ => {}
        }
    }

    /// Changes the effects of a daemon.
    pub(crate) fn tamper(&mut self, mutation: Mutation, rank: DaemonRank, wanted: &mut Vec<Effect>) {
        self.learn(wanted);
        match mutation {
            Mutation::UnansweredSpawn => {
                wanted.retain(|e| !matches!(answer(e), Some(Err(LOST_CONNECTION))));
            }
            Mutation::SpawnAnsweredTwice => double(wanted, |e| answer(e).is_some()),
            Mutation::ShortLivedRefused => answers(wanted).for_each(|result| {
                if result.is_ok_and(|job| self.failed.contains(&job)) {
                    *result = Err(FAILED_TO_LAUNCH);
                }
            }),
            Mutation::OtherChild => answers(wanted).for_each(|result| *result = result.map(|job| JobId(job.0 + 1))),
            Mutation::FailureGoesUp if rank == DaemonRank::HEAD => frames(wanted).for_each(|frame| {
                replace(frame, |message| match message {
                    Message::Daemon(DaemonMessage::Kill(child)) => {
                        self.parents.get(&child).map(|parent| Message::Daemon(DaemonMessage::Kill(*parent)))
                    }
                    _ => None,
                });
            }),
            Mutation::UntoldSet | Mutation::KeptSet if rank == DaemonRank::HEAD => frames(wanted).for_each(|frame| {
                // The message is dropped: nothing takes its place.
                replace(frame, |message| match (mutation, message) {
                    (Mutation::UntoldSet, Message::Daemon(DaemonMessage::DefineSet(_)))
                    | (Mutation::KeptSet, Message::Daemon(DaemonMessage::DeleteSet(_))) => {
                        Some(Message::from(DaemonMessage::Adopt(Vec::new())))
                    }
                    _ => None,
                });
            }),
            Mutation::ShortSet if rank == DaemonRank::HEAD => frames(wanted).for_each(|frame| {
                replace(frame, |message| match message {
                    Message::Daemon(DaemonMessage::DefineSet(mut set)) => {
                        for (_, ranks) in &mut set.members {
                            ranks.pop();
                        }
                        Some(Message::Daemon(DaemonMessage::DefineSet(set)))
                    }
                    _ => None,
                });
            }),
            Mutation::ChildEndsTwice => double(wanted, |e| matches!(e, Effect::Pmix(PmixEffect::JobEnd { .. }))),
            Mutation::ChildEndUntold => wanted.retain(|e| !matches!(e, Effect::Pmix(PmixEffect::JobEnd { .. }))),
            Mutation::HalfGroup | Mutation::SameNumber => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Reply { result, .. }) = effect
                    && let Some(built) = result.as_ref().ok().and_then(|bytes| GroupBuilt::decode(bytes))
                    && built.data.iter().all(|byte| *byte == b'g')
                    && !built.data.is_empty()
                {
                    *result = match mutation {
                        Mutation::SameNumber => Ok(GroupBuilt { context: 1, ..built }.encode()),
                        _ if rank.0 % 2 == 1 => Err(LOST_CONNECTION),
                        _ => return,
                    };
                }
            }),
            Mutation::EventTwice => double(wanted, is_event),
            Mutation::EventForged => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::Event { event, .. }) = effect
                    && let EventSource::Proc(proc) = &mut event.source
                {
                    proc.rank.0 += 1;
                }
            }),
            Mutation::EventsSwapped => {
                let mut swapped = Vec::new();
                for effect in wanted.drain(..) {
                    match (is_event(&effect), self.kept.remove(&rank)) {
                        (true, None) => drop(self.kept.insert(rank, effect)),
                        (true, Some(before)) => swapped.extend([effect, before]),
                        (false, kept) => {
                            kept.into_iter().for_each(|kept| drop(self.kept.insert(rank, kept)));
                            swapped.push(effect);
                        }
                    }
                }
                *wanted = swapped;
            }
            Mutation::NothingFound => wanted.iter_mut().for_each(|effect| {
                if let Effect::Pmix(PmixEffect::DataReply { result, .. }) = effect
                    && result.as_ref().is_ok_and(|found| !found.is_empty())
                {
                    *result = Err(NOT_FOUND);
                }
            }),
            _ => {}
        }
    }

    fn learn(&mut self, wanted: &[Effect]) {
        for effect in wanted {
            match effect {
                Effect::Pmix(PmixEffect::Register(registration)) => {
                    if let Some(parent) = registration.order.parent {
                        self.parents.insert(registration.order.job, parent.job);
                    }
                }
                Effect::Trace(Transition::Job { job, to, .. }) if to.is_error() => {
                    self.failed.insert(*job);
                }
                _ => {}
            }
        }
    }
}

fn is_event(effect: &Effect) -> bool {
    matches!(effect, Effect::Pmix(PmixEffect::Event { .. }))
}

fn change_call(mutation: Mutation, call: &mut DataCall) {
    match (mutation, &mut call.request) {
        (Mutation::DeadData, DataRequest::Publish { persistence, .. }) => *persistence = Persistence::Session,
        (Mutation::ReadForEver, DataRequest::Publish { persistence: once @ Persistence::FirstRead, .. }) => {
            *once = Persistence::App;
        }
        (Mutation::WideRange, DataRequest::Publish { range, .. }) => *range = DataRange::Dvm,
        (Mutation::KeptData, DataRequest::Unpublish { keys, .. }) => *keys = vec!["another".to_owned()],
        _ => {}
    }
}

fn answer(effect: &Effect) -> Option<Result<JobId, PmixStatus>> {
    match effect {
        Effect::Pmix(PmixEffect::SpawnReply { result, .. }) => Some(*result),
        _ => None,
    }
}

fn answers(wanted: &mut [Effect]) -> impl Iterator<Item = &mut Result<JobId, PmixStatus>> {
    wanted.iter_mut().filter_map(|effect| match effect {
        Effect::Pmix(PmixEffect::SpawnReply { result, .. }) => Some(result),
        _ => None,
    })
}

fn double(wanted: &mut Vec<Effect>, which: impl Fn(&Effect) -> bool) {
    let twice = |e: Effect| if which(&e) { vec![e.clone(), e] } else { vec![e] };
    *wanted = std::mem::take(wanted).into_iter().flat_map(twice).collect();
}
