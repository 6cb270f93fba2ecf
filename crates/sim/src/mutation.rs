//! Planted faults, which test the referee: it must report each of them.
//!
//! They change a daemon's effects before anything else sees them, as a bug would. The state machines need no switch for
//! tests.

pub(crate) mod families;
pub(crate) mod losses;
pub(crate) mod resizes;
pub(crate) mod spreads;
pub(crate) mod waits;

use bytes::Bytes;
use ferrite_core::{Effect, PmixEffect, Sink, StageEffect, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, ProcState, Signal};
use ferrite_wire::control::Reply;
use ferrite_wire::{DaemonMessage, Dest, Frame, FrameKind, HeadMessage, Message, Stream};
use serde::{Deserialize, Serialize};

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mutation {
    /// The head forgets to answer.
    NoReply,
    /// The head answers twice.
    TwoReplies,
    /// The head answers with another exit code.
    OtherCode,
    /// A job whose output is lost ends like a success.
    LossForgiven,
    /// Launch data goes to everybody.
    LaunchToAll,
    /// Each process is started twice.
    SpawnTwice,
    /// The head believes in more slots than there are.
    MoreSlots,
    /// Nobody is ever killed.
    NoKill,
    /// A daemon does not pass broadcasts on to its last child.
    ForgottenChild,
    /// A daemon acknowledges a broadcast as soon as it has it.
    EarlyAck,
    /// A daemon acknowledges twice.
    TwoAcks,
    /// Every piece of output that begins a job's second hundred lines is lost.
    LostOutput,
    /// A daemon loses the first lines that a process writes to a file.
    LostFileOutput,
    /// A daemon writes one byte of each piece of a job's files wrongly.
    SpoiltFile,
    /// A daemon does not write the last byte of each piece of a job's files.
    ShortFile,
    /// Daemons keep the files of a job that is over.
    KeptFiles,
    /// Output is written in pieces of ten bytes, each reversed.
    MixedOutput,
    /// Jobs are not registered with the PMIx library.
    NoRegistration,
    /// Fences are not answered.
    NoFenceAnswer,
    /// A fence returns only the data of the same node.
    PoorFence,
    /// A failed process is started again twice for one order.
    TwoRestarts,
    /// A process that is to be started again is not.
    NoRestart,
    /// The library is not told of processes that fail before their init.
    NoAbsent,
    /// A daemon does not say that its library has given up a collective.
    QuietRefusal,
    /// The library says that it has read all that an ended process has sent, and has not.
    HeardTooSoon,
    /// Failures are announced twice.
    ToldTwice,
    /// Processes that wait for a debugger are told to go on at once.
    NoDebugger,
    /// A daemon does not exit.
    NoExit,
    /// Daemons exit at once when ordered to, without ending their processes.
    HastyExit,
    /// A job leaves out a state.
    SkippedState,
    /// Daemons other than the head never hear that the DVM ends.
    NoExitOrder,
    /// The head is ready before the wireup is acknowledged.
    EarlyReady,
    /// Broadcasts are not sent again over a new link.
    NoReplay,
    /// Some daemons forget one of the dead daemons that a message names.
    ForgottenDead,
    /// The head does not broadcast deaths.
    NoDied,
    /// The head takes no notice when a lost daemon is reported.
    LostReports,
    /// The head declares the first child of a lost daemon dead instead of it.
    WrongDead,
    /// A parent reports a lost child without calling it.
    HastyReport,
    /// No daemon calls another after a loss.
    NobodyCalls,
    /// Daemons that have lost their parent call no other daemon.
    LazyOrphans,
    /// Parents do not call the children that they lost or adopted.
    LazyParents,
    /// No daemon sends probes.
    NoProbes,
    /// Messages that a peer reports missing are not sent again.
    DeafToComplaints,
    /// An acknowledgement claims one message more than was taken.
    BoastfulAck,
    /// A repeated message is numbered like a new one.
    RenumberedRepeat,
    /// No heartbeats are sent.
    NoHeartbeats,
    /// Silence is never noticed.
    SilenceUnnoticed,
    /// A daemon that reached nobody does not try again.
    NoSecondRound,
    /// A fence that fails succeeds on some daemons.
    KindFence,
    /// A daemon that was declared dead is not told to leave.
    UndeadStays,
    /// Launch orders go to the dead too.
    OrdersToTheDead,
    /// A relay acknowledges a death before those below it.
    AdoptedNotAwaited,
    /// A daemon is not told the addresses of the orphans that it adopts.
    LostOrphans,
    /// A daemon that has its parent again keeps the link of its detour.
    KeptDetour,
    /// A release by allocation id opens no campaign and raises no launch fence.
    QuietRelease,
    /// A job that was mapped onto leaving nodes is launched there (holes 2 and 8).
    LaunchOnTheLeaving,
    /// Held jobs are never released.
    NeverAdmitted,
    /// A grow that fails ends all jobs that are held.
    AllHeldAborted,
    /// The report of a newcomer is not counted.
    UncountedReport,
    /// Lanes are never closed.
    KeptLane,
    /// Each piece of a spread lacks a byte.
    ShortPiece,
    /// Nobody says which daemons below lack a spread's message.
    NobodyLacks,
    /// The head does not send a spread's message to those that lack it.
    NoWhole,
    /// A daemon confirms a spread when it begins.
    EarlyHeld,
    /// The head's own node is told to leave.
    HeadLeaves,
    /// Mapped jobs are held for grows too.
    HeldByGrows,
    /// A second release of a node orders its daemon out a second time.
    OrderedTwice,
    /// A node that joins again gets an earlier rank.
    OldRank,
    /// Granted nodes are not given back.
    KeptGrant,
    /// A grant is given back twice.
    GrantEndedTwice,
    /// Nodes that leave are not given back to the manager.
    KeptShare,
    /// A cancelled request is not withdrawn from the resource manager.
    NotWithdrawn,
    /// Newcomers are not told which daemons have left.
    NoHoles,
    /// Jobs are mapped while campaigns are open.
    NotHeld,
    /// Jobs that are held fail for want of resources.
    HeldFails,
    /// A grow is done as soon as all have reported.
    HastyGrown,
    /// The loss of any daemon fails the grow that is open.
    ForeignFailure,
    /// A grow that fails leaves its daemons where they are.
    NotUndone,
    /// A daemon that was told to leave stays.
    StaysOn,
    /// Resource managers are not asked.
    NoOffer,
    /// Events are sent twice.
    TwoEvents,
    /// No event is sent.
    NoEvent,
    /// The event is about another allocation.
    OtherAllocation,
    /// The requester's own name for its request is lost.
    NoRequestId,
    /// An event is sent for a request that changes nothing.
    EventForNothing,
    /// Jobs are parked even without elastic mode.
    ParkedAllTheSame,
    /// A job that has lost ranks to a shrink counts as ended well.
    LostRanksAreFine,
    /// Grows begin at once, even when due jobs are held.
    NoTurns,
    /// Nothing is reserved for a session.
    NotReserved,
    /// Sessions have no time limit.
    Timeless,
    /// Sessions that are told to pause do not.
    NotPaused,
    /// Sessions that are told to go on do not.
    NotResumed,
    /// More time for a session is promised and not given.
    NotExtended,
    /// A session gets half of the time that was asked for it.
    HalfTime,
    /// Nobody is warned before the end of a session.
    Unwarned,
    /// Daemons are told another session for a job.
    OtherSession,
    /// A session that is ended by an order stays.
    Undying,
    /// The status gives another reason for a wait.
    FalseReason,
    /// A late wireup fails its grow, whichever daemon delays it.
    ImpatientWireup,
    /// Jobs of the queue stay there when their slots are free.
    Unserved,
    /// Jobs that a pause has parked stay so when their session goes on.
    PausedForever,
    /// A change that has waited behind another never begins.
    ForeverBehind,
    /// A change that has let jobs have their turn never begins.
    ForeverQueued,
    /// Sessions stay when their time is up.
    Overtime,
    /// Sessions get twice the requested extra time.
    ExtendedTwice,
    /// A grow is said to wait for its wireup when its daemons have not reported.
    StaleReason,
    /// The DVM is said to wait for nothing.
    IdleDvm,
    /// Jobs of the queue are said to wait for slots that are free.
    FalseSlots,
    /// A spawn whose job has lost a daemon is never answered.
    UnansweredSpawn,
    /// A spawn is answered twice.
    SpawnAnsweredTwice,
    /// A spawn whose child has started and failed is answered with an error.
    ShortLivedRefused,
    /// A spawn is answered with the name of another job.
    OtherChild,
    /// A failed child's parent is killed in its place.
    FailureGoesUp,
    /// Children live on when their parent fails.
    ForgottenChildren,
    /// A separate job ends with its parent.
    NoneSeparate,
    /// Some daemons hear that a group was not made.
    HalfGroup,
    /// All groups have the same number.
    SameNumber,
    /// An event does not reach one daemon.
    LostEvent,
    /// Daemons tell of each event twice.
    EventTwice,
    /// Daemons tell of an event after the next one.
    EventsSwapped,
    /// Events come in the name of another process.
    EventForged,
    /// The parent of a job hears twice that it is over.
    ChildEndsTwice,
    /// The parent of a job never hears that it is over.
    ChildEndUntold,
    /// Jobs that disconnect stay connected.
    ForgottenParting,
    /// Jobs that connect are not recorded as connected.
    ForgottenConnection,
    /// One participant of a disconnect gets no answer.
    ForgottenMember,
    /// Published data of a process outlive it.
    DeadData,
    /// Data for one reader can be read again.
    ReadForEver,
    /// Data for one job can be read by all jobs.
    WideRange,
    /// Unpublished data can still be read.
    KeptData,
    /// Lookups find nothing.
    NothingFound,
    /// Daemons are not told of sets that processes define.
    UntoldSet,
    /// Daemons keep the sets of jobs that are over.
    KeptSet,
    /// The members of a set that processes define lack the last one.
    ShortSet,
    /// The end of a push is told to the scheduler.
    ToldOfPush,
    /// A push makes a session.
    OwnedPush,
    /// A push is not answered.
    SilentPush,
    /// Processes are not told that their nodes are to leave.
    NoNotice,
    /// A notice promises more time than there is.
    LongPromise,
    /// The head does not hear that processes were told, so that their time begins twenty seconds later.
    UnheardNotice,
    /// All waiting jobs have one priority.
    SamePriority,
    /// All waiting jobs are of one client.
    OneClient,
    /// Jobs pass the first one of the queue for too long.
    LongBackfill,
    /// No job passes the first one of the queue.
    NoBackfill,
    /// The head believes that each node has one unit of its resource more.
    MoreUnits,
    /// The head believes that each node has one unit of its resource less.
    FewerUnits,
    /// All nodes together have a unit more for the head than they have.
    MoreSharedUnits,
    /// All nodes together have a unit fewer for the head than they have.
    FewerSharedUnits,
    /// Jobs do not wait for those on which they depend.
    ForgottenDependency,
    /// Any end of a job is a good one for those that depend on it.
    AnyEnd,
    /// A job goes on waiting when those are over on which it depends.
    EverDependent,
    /// Nodes without a process are not sent away before the others of their shrink.
    LeaveTogether,
    /// A refusal of a job is taken for a request for a second more.
    UnheardRefusal,
    /// Nobody is told that nodes stay.
    NoStay,
    /// The head does not hear that a daemon got a signal of the manager.
    UnheardSignal,
    /// A daemon leaves at once although its preempted job has time left.
    NoWord,
    /// Only the world that is concerned hears that processes are to end.
    DeafWorlds,
    /// No process hears of an offer.
    UnheardOffer,
    /// A job is told of more slots than are kept for it.
    LargeOffer,
    /// A job is told that all slots of an offer are on its first node.
    CrampedOffer,
    /// The new members of an elastic job are placed as a job of their own.
    PlainMembers,
    /// The refusal of an offer is taken for another order.
    UnheardDecline,
    /// The head does not hear that processes have called finalize.
    UnheardFinalize,
    /// The head believes that a process which has called init has called finalize.
    EarlyFinalize,
    /// The policy for elastic jobs is off.
    IdlePolicy,
    /// The policy never looks again.
    OneLook,
    /// Processes are ended when they are told that they are to end.
    HastyEnd,
    /// Processes that have had their time are not ended.
    ForgottenEnd,
    /// The first processes of a job are ended in place of others.
    OthersEnd,
    /// The requester does not hear the end of a change of a job's size.
    UntoldSize,
}

impl Mutation {
    /// Faults that show in any run.
    pub const ALL: [Mutation; 28] = [
        Mutation::NoReply,
        Mutation::TwoReplies,
        Mutation::OtherCode,
        Mutation::LaunchToAll,
        Mutation::SpawnTwice,
        Mutation::MoreSlots,
        Mutation::NoKill,
        Mutation::ForgottenChild,
        Mutation::EarlyAck,
        Mutation::TwoAcks,
        Mutation::LostOutput,
        Mutation::LostFileOutput,
        Mutation::MixedOutput,
        Mutation::NoRegistration,
        Mutation::NoFenceAnswer,
        Mutation::PoorFence,
        Mutation::TwoRestarts,
        Mutation::NoRestart,
        Mutation::NoAbsent,
        Mutation::QuietRefusal,
        Mutation::HeardTooSoon,
        Mutation::ToldTwice,
        Mutation::NoDebugger,
        Mutation::NoExit,
        Mutation::HastyExit,
        Mutation::SkippedState,
        Mutation::NoExitOrder,
        Mutation::EarlyReady,
    ];

    /// Faults that show when daemons are lost (`losses`).
    pub const LOSSES: [Mutation; 25] = [
        Mutation::SpoiltFile,
        Mutation::ShortFile,
        Mutation::KeptFiles,
        Mutation::NoReplay,
        Mutation::ForgottenDead,
        Mutation::NoDied,
        Mutation::LostReports,
        Mutation::WrongDead,
        Mutation::HastyReport,
        Mutation::NobodyCalls,
        Mutation::LazyOrphans,
        Mutation::LazyParents,
        Mutation::NoProbes,
        Mutation::DeafToComplaints,
        Mutation::BoastfulAck,
        Mutation::RenumberedRepeat,
        Mutation::NoHeartbeats,
        Mutation::SilenceUnnoticed,
        Mutation::NoSecondRound,
        Mutation::KindFence,
        Mutation::UndeadStays,
        Mutation::OrdersToTheDead,
        Mutation::AdoptedNotAwaited,
        Mutation::LostOrphans,
        Mutation::KeptDetour,
    ];

    /// Faults that show when the DVM changes its size (`resizes`).
    pub const ELASTIC: [Mutation; 26] = [
        Mutation::QuietRelease,
        Mutation::LaunchOnTheLeaving,
        Mutation::NeverAdmitted,
        Mutation::AllHeldAborted,
        Mutation::UncountedReport,
        Mutation::HeadLeaves,
        Mutation::OrderedTwice,
        Mutation::OldRank,
        Mutation::NoHoles,
        Mutation::NotHeld,
        Mutation::HeldFails,
        Mutation::HastyGrown,
        Mutation::ForeignFailure,
        Mutation::NotUndone,
        Mutation::StaysOn,
        Mutation::NoOffer,
        Mutation::TwoEvents,
        Mutation::NoEvent,
        Mutation::OtherAllocation,
        Mutation::NoRequestId,
        Mutation::EventForNothing,
        Mutation::ParkedAllTheSame,
        Mutation::LostRanksAreFine,
        Mutation::ImpatientWireup,
        Mutation::Unserved,
        Mutation::ForeverBehind,
    ];

    /// Faults that show when a resource manager is asked for nodes.
    pub const MANAGED: [Mutation; 4] =
        [Mutation::KeptGrant, Mutation::GrantEndedTwice, Mutation::KeptShare, Mutation::NotWithdrawn];

    /// Faults that show with terms of sessions.
    pub const SESSIONS: [Mutation; 16] = [
        Mutation::NotReserved,
        Mutation::Timeless,
        Mutation::NotPaused,
        Mutation::NotResumed,
        Mutation::NotExtended,
        Mutation::HalfTime,
        Mutation::Unwarned,
        Mutation::OtherSession,
        Mutation::Undying,
        Mutation::FalseReason,
        Mutation::PausedForever,
        Mutation::Overtime,
        Mutation::ExtendedTwice,
        Mutation::StaleReason,
        Mutation::IdleDvm,
        Mutation::FalseSlots,
    ];

    /// Faults that show with jobs that spawn others, connect and exchange data (`families`).
    pub const FAMILIES: [Mutation; 26] = [
        Mutation::HalfGroup,
        Mutation::SameNumber,
        Mutation::LostEvent,
        Mutation::EventTwice,
        Mutation::EventsSwapped,
        Mutation::EventForged,
        Mutation::UnansweredSpawn,
        Mutation::SpawnAnsweredTwice,
        Mutation::ShortLivedRefused,
        Mutation::OtherChild,
        Mutation::FailureGoesUp,
        Mutation::ForgottenChildren,
        Mutation::NoneSeparate,
        Mutation::ChildEndsTwice,
        Mutation::ChildEndUntold,
        Mutation::ForgottenParting,
        Mutation::ForgottenConnection,
        Mutation::ForgottenMember,
        Mutation::DeadData,
        Mutation::ReadForEver,
        Mutation::WideRange,
        Mutation::KeptData,
        Mutation::NothingFound,
        Mutation::UntoldSet,
        Mutation::KeptSet,
        Mutation::ShortSet,
    ];

    /// Faults that show when a scheduler pushes changes (`resizes`).
    pub const PUSHED: [Mutation; 3] = [Mutation::ToldOfPush, Mutation::OwnedPush, Mutation::SilentPush];

    /// Faults about the time of processes whose nodes are to leave (`resizes`).
    pub const GRACES: [Mutation; 6] = [
        Mutation::NoNotice,
        Mutation::LongPromise,
        Mutation::UnheardNotice,
        Mutation::LeaveTogether,
        Mutation::UnheardRefusal,
        Mutation::NoStay,
    ];

    /// Faults about ends of the manager's jobs (`resizes`).
    pub const DEADLINES: [Mutation; 2] = [Mutation::UnheardSignal, Mutation::NoWord];

    /// Faults about the size of elastic jobs (`resizes`).
    pub const SIZES: [Mutation; 12] = [
        Mutation::UnheardOffer,
        Mutation::LargeOffer,
        Mutation::CrampedOffer,
        Mutation::PlainMembers,
        Mutation::UnheardDecline,
        Mutation::HastyEnd,
        Mutation::ForgottenEnd,
        Mutation::OthersEnd,
        Mutation::UntoldSize,
        Mutation::DeafWorlds,
        Mutation::UnheardFinalize,
        Mutation::EarlyFinalize,
    ];

    /// Faults of the policy for elastic jobs (the head's parameters, and `resizes`).
    pub const FILLS: [Mutation; 2] = [Mutation::IdlePolicy, Mutation::OneLook];

    /// Faults about jobs that wait for slots (`waits`, and the head's parameters).
    pub const QUEUES: [Mutation; 11] = [
        Mutation::SamePriority,
        Mutation::OneClient,
        Mutation::LongBackfill,
        Mutation::NoBackfill,
        Mutation::MoreUnits,
        Mutation::FewerUnits,
        Mutation::MoreSharedUnits,
        Mutation::FewerSharedUnits,
        Mutation::ForgottenDependency,
        Mutation::AnyEnd,
        Mutation::EverDependent,
    ];

    /// Faults about spreads (`spreads`).
    pub const SPREADS: [Mutation; 5] =
        [Mutation::KeptLane, Mutation::ShortPiece, Mutation::NobodyLacks, Mutation::NoWhole, Mutation::EarlyHeld];

    /// Faults that stories show and seeds seldom do: they need a job that is held while changes overlap in a certain
    /// way.
    pub const STORIES: [Mutation; 3] = [Mutation::NoTurns, Mutation::HeldByGrows, Mutation::ForeverQueued];

    /// Changes the effects of a daemon.
    pub(crate) fn tamper(self, rank: DaemonRank, wanted: &mut Vec<Effect>) {
        let head = rank == DaemonRank::HEAD;
        match self {
            Mutation::KeptGrant => wanted.retain(|e| !matches!(e, Effect::EndAllocation { .. })),
            Mutation::GrantEndedTwice => double(wanted, |e| matches!(e, Effect::EndAllocation { .. })),
            Mutation::KeptShare => change(wanted, |e| {
                if let Effect::OfferRelease { back, .. } = e {
                    back.clear();
                }
            }),
            Mutation::NotWithdrawn => wanted.retain(|e| !matches!(e, Effect::WithdrawRequest { .. })),
            Mutation::NoReply => wanted.retain(|e| !matches!(e, Effect::Reply { .. })),
            Mutation::TwoReplies => double(wanted, |e| matches!(e, Effect::Reply { .. })),
            Mutation::LossForgiven => change(wanted, |e| {
                if let Effect::Reply { reply: Reply::Done(done), .. } = e
                    && done.exit_code == 74
                {
                    done.exit_code = 0;
                }
            }),
            Mutation::OtherCode => change(wanted, |e| {
                if let Effect::Reply { reply: Reply::Done(done), .. } = e {
                    done.exit_code = done.exit_code.wrapping_add(1);
                }
            }),
            Mutation::LaunchToAll => change(wanted, |e| {
                if let Effect::Transmit { frame, .. } = e
                    && says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Launch(_))))
                {
                    frame.dest = Dest::All;
                }
            }),
            Mutation::SpawnTwice => double(wanted, |e| matches!(e, Effect::Spawn { .. })),
            // The head gets this fault with its configuration, and `World` plays the library of the next.
            Mutation::MoreSlots | Mutation::HeardTooSoon => {}
            Mutation::NoKill => wanted.retain(|e| !matches!(e, Effect::Signal { .. })),
            Mutation::ForgottenChild => {
                let passes_on = |e: &Effect| matches!(e, Effect::Transmit { frame, .. } if matches!(frame.kind, FrameKind::Xcast { .. }));
                if let Some(last) = wanted.iter().rposition(passes_on) {
                    wanted.remove(last);
                }
            }
            Mutation::EarlyAck => acknowledge_early(wanted),
            Mutation::TwoAcks => double(wanted, is_ack),
            Mutation::LostOutput => wanted.retain(|e| !matches!(e, Effect::WriteOutput { data, .. } if data.starts_with(b"1 0 stdout"))),
            Mutation::LostFileOutput => {
                let is_first = |data: &[u8]| data.split(|b| *b == b' ').nth(3) == Some(b"0");
                wanted.retain(|e| !matches!(e, Effect::WriteFile { data, .. } if is_first(data)));
            }
            Mutation::SpoiltFile => change(wanted, |e| {
                if let Effect::Stage { step: StageEffect::Write { data, .. }, .. } = e {
                    let mut bytes = data.to_vec();
                    bytes[0] = !bytes[0];
                    *data = bytes.into();
                }
            }),
            Mutation::ShortFile => change(wanted, |e| {
                if let Effect::Stage { step: StageEffect::Write { data, .. }, .. } = e {
                    data.truncate(data.len() - 1);
                }
            }),
            Mutation::KeptFiles => wanted.retain(|e| !matches!(e, Effect::CleanJob(_))),
            Mutation::MixedOutput => change(wanted, |e| {
                if let Effect::WriteOutput { sink: Sink { stream: Stream::Stdout, .. }, data, .. } = e {
                    *data = data.chunks(10).rev().flatten().copied().collect::<Vec<u8>>().into();
                }
            }),
            Mutation::NoRegistration => wanted.retain(|e| !matches!(e, Effect::Pmix(PmixEffect::Register(_)))),
            Mutation::NoFenceAnswer => wanted.retain(|e| !is_fence_answer(e)),
            Mutation::PoorFence => change(wanted, |e| {
                if let Effect::Pmix(PmixEffect::Reply { result: Ok(data), .. }) = e {
                    data.truncate(crate::pmix::FENCE_BYTES);
                }
            }),
            Mutation::NoDebugger => {
                let stopped = |effect: &Effect| match effect {
                    Effect::Trace(Transition::Proc { proc, to: ProcState::ReadyForDebug, .. }) => Some(*proc),
                    _ => None,
                };
                let proc = wanted.iter().find_map(stopped);
                wanted.extend(proc.map(|proc| Effect::Signal { proc, signal: Signal::CONT }));
            }
            Mutation::TwoRestarts => double(wanted, is_restart),
            Mutation::NoRestart => wanted.retain(|e| !is_restart(e)),
            Mutation::NoAbsent => wanted.retain(|e| !matches!(e, Effect::Pmix(PmixEffect::Absent(_)))),
            Mutation::QuietRefusal => wanted.retain(|e| {
                !matches!(e, Effect::Transmit { frame, .. } if says(frame, |m| matches!(m, Message::Head(HeadMessage::CollectiveFailed { .. }))))
            }),
            Mutation::ToldTwice => double(wanted, |e| matches!(e, Effect::Pmix(PmixEffect::Notify { .. }))),
            Mutation::NoExit => {
                if rank == DaemonRank(1) {
                    wanted.retain(|e| !matches!(e, Effect::Exit { .. }));
                }
            }
            Mutation::HastyExit => {
                if !head && wanted.iter().any(|e| matches!(e, Effect::Signal { signal: Signal::KILL, .. })) {
                    wanted.clear();
                    wanted.push(Effect::Exit { code: 0 });
                }
            }
            Mutation::SkippedState => wanted.retain(|e| {
                !matches!(e, Effect::Trace(Transition::Job { job, to: JobState::SystemPrep, .. }) if *job != JobId::DAEMONS)
            }),
            Mutation::NoExitOrder => wanted.retain(|e| {
                !matches!(e, Effect::Transmit { frame, .. } if says(frame, |m| matches!(m, Message::Daemon(DaemonMessage::Exit))))
            }),
            Mutation::EarlyReady => {
                if head && wanted.iter().any(|e| matches!(e, Effect::Transmit { frame, .. } if matches!(frame.kind, FrameKind::Xcast { .. }))) {
                    wanted.push(Effect::Ready);
                }
            }
            // The modules `losses`, `resizes`, `waits`, `families` and `spreads` plant these.
            other => {
                let elsewhere = [&Mutation::LOSSES[..], &Mutation::ELASTIC, &Mutation::SESSIONS, &Mutation::FAMILIES, &Mutation::PUSHED, &Mutation::GRACES, &Mutation::DEADLINES, &Mutation::SIZES, &Mutation::FILLS, &Mutation::QUEUES, &Mutation::SPREADS, &Mutation::STORIES];
                debug_assert!(elsewhere.into_iter().flatten().any(|m| *m == other), "{other:?} does nothing");
            }
        }
    }
}

fn change(wanted: &mut [Effect], with: impl FnMut(&mut Effect)) {
    wanted.iter_mut().for_each(with);
}

fn double(wanted: &mut Vec<Effect>, which: impl Fn(&Effect) -> bool) {
    *wanted =
        std::mem::take(wanted).into_iter().flat_map(|e| if which(&e) { vec![e.clone(), e] } else { vec![e] }).collect();
}

fn is_restart(effect: &Effect) -> bool {
    matches!(effect, Effect::Spawn { request, .. } if request.restarts > 0)
}

fn is_ack(effect: &Effect) -> bool {
    matches!(effect, Effect::Transmit { frame, .. } if matches!(frame.kind, FrameKind::XcastAck { .. }))
}

fn is_fence_answer(effect: &Effect) -> bool {
    matches!(effect, Effect::Pmix(PmixEffect::Reply { result, .. }) if result.as_ref().is_ok_and(|data| !data.is_empty()))
}

fn says(frame: &Frame, what: impl Fn(&Message) -> bool) -> bool {
    Message::decode(&frame.payload).is_ok_and(|m| what(&m))
}

/// Makes a daemon acknowledge a broadcast together with passing it on.
fn acknowledge_early(wanted: &mut Vec<Effect>) {
    let passed_on = wanted.iter().find_map(|e| match e {
        Effect::Transmit { frame, .. } => match frame.kind {
            FrameKind::Xcast { seq, .. } => Some(seq),
            _ => None,
        },
        _ => None,
    });
    if let Some(seq) = passed_on {
        let kind = FrameKind::XcastAck { seq };
        let frame = Frame { dest: Dest::One(DaemonRank::HEAD), origin: DaemonRank::HEAD, kind, payload: Bytes::new() };
        wanted.push(Effect::Transmit { peer: DaemonRank::HEAD, frame });
    }
}
