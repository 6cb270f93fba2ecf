//! Guarantee: processes whose job has asked for a grace are told before their node leaves, have the time that the
//! notice promises, and no node waits out a grace for nothing, neither its own nor that of another (spec E43 to E45,
//! E48). An elastic job that refuses keeps its nodes, and hears so (spec E52, E53).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, HeadInput, Input, PmixCall, PmixEffect, PmixToken, Transition};
use ferrite_types::pmix_status::FERRITE_NODES_STAY;
use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, DaemonRank, JobId, JobMap, JobState, ProcId, Rank, RankSet,
};
use ferrite_wire::{
    ControlOrder, DaemonMessage, EventInfo, FrameKind, HeadMessage, Message, ResizeRequest, TreeMessage,
    WithdrawalAnswer,
};

use super::changes::Changes;
use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;
use crate::world::Gone;

/// The way of a notice to a process and of the answer to the head, at most, when nothing is broken.
const TRIP: Time = 1_000_000;

/// A process that was told.
struct Told {
    rank: DaemonRank,
    /// The time at which it was told.
    since: Time,
    /// The end of its time.
    until: Time,
    /// The latest end of its time: its own request for more takes a while to reach the head.
    latest: Time,
    /// The time at which the head heard that it has ended.
    ended: Option<Time>,
}

#[derive(Default)]
pub(super) struct Graces {
    /// Jobs that have asked for time.
    asked: BTreeSet<JobId>,
    /// Living processes of these jobs, with their daemons and the time of their beginning.
    living: BTreeMap<ProcId, (DaemonRank, Time)>,
    /// The daemons of these jobs' processes.
    maps: BTreeMap<JobId, JobMap>,
    /// Processes whose daemons have had the notice.
    told: BTreeMap<ProcId, Told>,
    /// Jobs that are being ended.
    dying: BTreeSet<JobId>,
    /// Shrinks that drain or have drained, each with the beginning of the drain.
    drains: BTreeMap<CampaignId, Time>,
    /// Shrinks that drain or leave after a drain.
    draining: BTreeSet<CampaignId>,
    /// The end of the last shrink: one part of a drain leaves at a time.
    parted: Time,
    /// Processes that were launched, with their daemons, until the head hears that they have ended.
    launched: BTreeMap<ProcId, DaemonRank>,
    /// The last time at which the head heard of an end on a daemon.
    heard: BTreeMap<DaemonRank, Time>,
    changes: Changes,
    /// Answers that processes have given and the head has not answered, by daemon and token.
    given: BTreeMap<(DaemonRank, PmixToken), Answer>,
    /// Refusals that the head has taken, and no shrink has failed since they were given.
    refused: Vec<Time>,
    /// Jobs whose processes are to hear that their nodes stay: when they refused, and until when all have heard it.
    reassured: Vec<(JobId, Time, Time)>,
    /// True when some shrinks cannot be refused: processes that have refused are not reassured about these.
    is_forced: bool,
    /// The time of the last failure of a shrink that had drained.
    kept: Time,
    /// Daemons that got a signal of the manager about the end of its job, and when.
    announced: Vec<(DaemonRank, Time)>,
    /// The most that a drain may last longer than its notice says: the manager counts in whole seconds.
    more: Time,
    /// The time at which the manager has last said that a job of it has no time left: it is too late for a notice.
    too_late: Option<Time>,
    /// The time of the latest input.
    now: Time,
    /// Orders that were seen.
    orders: BTreeSet<u64>,
    /// True once a fault has struck: notices and answers may be late, and daemons gone.
    is_struck: bool,
    ending: bool,
}

/// The answer of a process to the notice.
struct Answer {
    proc: ProcId,
    what: WithdrawalAnswer,
    at: Time,
}

impl Graces {
    pub(super) fn new(scenario: &Scenario) -> Graces {
        let is_forced = |request: &ResizeRequest| matches!(request, ResizeRequest::Shrink(shrink) if shrink.force);
        let is_forced = scenario.elastic.resizes.iter().any(|plan| is_forced(&plan.request));
        let has_deadlines = scenario.elastic.manager.as_ref().is_some_and(|plan| plan.announces > 0);
        Graces { is_forced, more: if has_deadlines { 2_000_000 } else { 0 }, ..Graces::default() }
    }

    /// Requires that no daemon leaves by itself while the manager leaves time to a process that was told.
    fn goes(&self, rank: DaemonRank, at: Time, how: Gone) -> Result<(), String> {
        if self.is_struck || self.ending || self.more == 0 || !matches!(how, Gone::Exit(_)) {
            return Ok(());
        }
        let mut own = self.told.iter().filter(|(_, told)| told.rank == rank && told.ended.is_none());
        let early = own.find(|(proc, told)| told.until > at && !self.dying.contains(&proc.job));
        require(early.is_none(), || {
            format!("daemon {rank} goes at {at} us, and process {:?} has more time", early.map(|(proc, _)| proc))
        })
    }

    /// Requires that processes on nodes whose end the manager has announced know it soon (spec E66 to E68).
    fn know_the_end(&mut self, now: Time) -> Result<(), String> {
        let due = self.announced.extract_if(.., |(_, at)| *at + 2 * TRIP < now).collect::<Vec<_>>();
        if self.is_struck || self.ending {
            return Ok(());
        }
        for (rank, at) in due {
            let mut there = self.living.iter().filter(|(_, (daemon, born))| *daemon == rank && *born < at);
            let untold = there.find(|(proc, _)| !self.told.contains_key(proc) && !self.dying.contains(&proc.job));
            require(untold.is_none(), || {
                format!(
                    "the manager has announced at {at} us that the node of daemon {rank} goes, and {untold:?} does not know"
                )
            })?;
        }
        Ok(())
    }

    /// Requires that processes of jobs which have refused know that their nodes stay.
    fn know_that_they_stay(&mut self, now: Time) -> Result<(), String> {
        // A part that leaves meanwhile delays the end of its shrink.
        if self.is_struck || self.ending || !self.draining.is_empty() {
            return Ok(());
        }
        let due = self.reassured.extract_if(.., |(_, _, due)| (*due).max(self.parted + TRIP) < now);
        let due: Vec<(JobId, Time, Time)> = due.collect();
        for (job, since, _) in due {
            let mut own = self.told.iter().filter(|(proc, told)| proc.job == job && told.since < since);
            let left = own.find(|(proc, _)| self.living.contains_key(proc));
            require(left.is_none() || self.dying.contains(&job), || {
                format!(
                    "job {job} refused at {since} us, and {:?} does not know that its node stays",
                    left.map(|(p, _)| p)
                )
            })?;
        }
        Ok(())
    }

    /// Notes an answer that the head has taken.
    fn is_taken(&mut self, answer: &Answer) {
        match answer.what {
            WithdrawalAnswer::Refuse => {
                if self.kept < answer.at {
                    self.refused.push(answer.at);
                }
                if !self.is_forced {
                    self.reassured.push((answer.proc.job, answer.at, self.kept.max(answer.at) + 2 * TRIP));
                }
            }
            WithdrawalAnswer::Defer(seconds) => {
                let job = answer.proc.job;
                for (_, told) in self.told.iter_mut().filter(|(proc, _)| proc.job == job) {
                    // The head counts from the moment at which it hears of it; this is earlier.
                    told.until = told.until.max(answer.at + Time::from(seconds) * 1_000_000);
                    told.latest = told.latest.max(answer.at + TRIP + Time::from(seconds) * 1_000_000);
                }
            }
        }
    }

    /// Judges an order to leave at the moment at which the head sends it.
    fn leaves(&self, targets: &RankSet, at: Time, drain: Option<Time>) -> Result<(), String> {
        let there =
            self.living.iter().filter(|(proc, (rank, _))| targets.contains(*rank) && !self.dying.contains(&proc.job));
        let there: Vec<(ProcId, DaemonRank)> = there.map(|(proc, (rank, _))| (*proc, *rank)).collect();
        for (proc, rank) in &there {
            let Some(told) = self.told.get(proc) else {
                return require(self.is_struck || self.too_late == Some(at), || {
                    format!("daemon {rank} is to leave, and process {proc} was not told")
                });
            };
            let until = told.until;
            require(until <= at, || {
                format!("daemon {rank} is to leave, and process {proc} has time until {until} us")
            })?;
        }
        let Some(began) = drain.filter(|_| !self.is_struck) else { return Ok(()) };
        // Until the manager takes its nodes, jobs that have asked for no time run there as well.
        let others =
            self.launched.iter().filter(|(proc, rank)| targets.contains(**rank) && !self.asked.contains(&proc.job));
        if self.more > 0 && others.count() > 0 {
            return Ok(());
        }
        let heard = targets.iter().filter_map(|rank| self.heard.get(&rank)).max().copied();
        let last_end = heard.filter(|_| self.more > 0).unwrap_or(0);
        let here = self.told.values().filter(|told| targets.contains(told.rank));
        // Without any, the processes had ended before the notice came.
        let due = here.map(|told| told.latest.min(told.ended.unwrap_or(Time::MAX))).max();
        require(due.is_none_or(|due| at <= due.max(self.parted).max(last_end) + TRIP + self.more), || {
            format!("{targets} are to leave at {at} us, and nobody there has had time since {due:?} us")
        })?;
        let busy: RankSet = self.launched.values().copied().collect();
        let idle_since = |rank: DaemonRank| self.heard.get(&rank).copied().unwrap_or(0).max(began).max(self.parted);
        let late = targets.iter().find(|rank| !busy.contains(*rank) && at > idle_since(*rank) + TRIP);
        require(late.is_none(), || {
            format!("daemon {late:?} is to leave at {at} us with others, and has had no process for long")
        })
    }
}

impl Invariant for Graces {
    fn name(&self) -> &'static str {
        "processes are told and have their time before their node leaves"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        if let Observation::Input { at, .. } = what {
            self.know_that_they_stay(*at)?;
            self.know_the_end(*at)?;
            self.now = *at;
        }
        match what {
            Observation::Fault { .. } | Observation::Cut { .. } => self.is_struck = true,
            Observation::ProcBorn { rank, proc } => {
                self.launched.insert(*proc, *rank);
                if self.asked.contains(&proc.job) {
                    self.living.insert(*proc, (*rank, self.now));
                }
            }
            Observation::ProcEnded { proc, .. } => {
                self.living.remove(proc);
            }
            Observation::Gone { rank, at, how, .. } => {
                self.living.retain(|_, (daemon, _)| daemon != rank);
                return self.goes(*rank, *at, *how);
            }
            Observation::Input {
                rank: DaemonRank::HEAD,
                at,
                message: Some(Message::Head(HeadMessage::ProcsEnded { job, ends })),
                ..
            } => {
                for proc in ends.iter().map(|end| ProcId { job: *job, rank: end.rank }) {
                    if let Some(told) = self.told.get_mut(&proc) {
                        told.ended = Some(*at);
                    }
                    if let Some(rank) = self.launched.remove(&proc) {
                        self.heard.insert(rank, *at);
                    }
                }
            }
            Observation::Input { at, input: Input::Head(HeadInput::JobEndTold { told: Ok(end), .. }), .. } => {
                self.too_late = (end.left_s == Some(0)).then_some(*at).or(self.too_late);
            }
            Observation::Input { rank, at, input: Input::ManagerSignal { .. }, .. } => {
                self.announced.push((*rank, *at))
            }
            Observation::Input { rank, at, input: Input::Daemon(DaemonInput::Pmix(call)), .. } => {
                if let PmixCall::Control { by: Some(proc), order, token } = call
                    && let ControlOrder::AnswerWithdrawal(what) = **order
                {
                    self.given.insert((*rank, *token), Answer { proc: *proc, what, at: *at });
                }
            }
            Observation::Effect { rank, at, effect, message } => return self.sees(*rank, *at, effect, *message),
            _ => {}
        }
        Ok(())
    }
}

impl Graces {
    fn sees(&mut self, rank: DaemonRank, at: Time, effect: &Effect, message: Option<&Message>) -> Result<(), String> {
        match effect {
            Effect::Pmix(PmixEffect::Register(registration)) if registration.order.spec.options.grace.is_some() => {
                self.asked.insert(registration.order.job);
                self.maps.insert(registration.order.job, registration.order.map.clone());
            }
            Effect::Pmix(PmixEffect::Event { event, .. }) => {
                if matches!(&event.info, EventInfo::Withdrawal(notice) if notice.of_procs) {
                    // Their nodes stay.
                } else if let EventInfo::Withdrawal(notice) = &event.info
                    && event.code == FERRITE_NODES_STAY
                {
                    let stays = |proc: &ProcId| proc.job == notice.job && notice.ranks.contains(&proc.rank);
                    self.told.retain(|proc, told| told.rank != rank || !stays(proc));
                } else if let EventInfo::Withdrawal(notice) = &event.info {
                    let until = at + Time::from(notice.seconds) * 1_000_000;
                    let is_here =
                        |own: &Rank| self.maps.get(&notice.job).and_then(|map| map.daemon_of(*own)) == Some(rank);
                    for own in notice.ranks.iter().copied().filter(is_here) {
                        self.told.insert(
                            ProcId { job: notice.job, rank: own },
                            Told { rank, since: at, until, latest: until, ended: None },
                        );
                    }
                }
            }
            Effect::Trace(Transition::Job { job: JobId::DAEMONS, to, .. }) => self.ending |= *to > JobState::VmReady,
            Effect::Trace(Transition::Job { job, to, .. }) if *to > JobState::Error => drop(self.dying.insert(*job)),
            Effect::Trace(Transition::Campaign { campaign, step: CampaignStep::Draining, .. }) => {
                self.drains.insert(*campaign, at);
                self.draining.insert(*campaign);
            }
            Effect::Pmix(PmixEffect::Reply { token, result }) => {
                let answer = self.given.remove(&(rank, *token)).filter(|_| result.is_ok());
                answer.into_iter().for_each(|answer| self.is_taken(&answer));
            }
            Effect::Trace(Transition::Campaign {
                campaign,
                kind: CampaignKind::Shrink,
                step: step @ (CampaignStep::Done | CampaignStep::Failed),
            }) => {
                self.parted = at;
                self.draining.remove(campaign);
                let had_drained = self.drains.contains_key(campaign);
                if *step == CampaignStep::Failed && had_drained {
                    self.kept = at;
                    self.refused.clear();
                }
                let is_judged = had_drained && self.draining.is_empty() && !self.is_forced;
                let is_calm = !self.is_struck && !self.ending;
                return require(!(is_judged && is_calm) || self.refused.is_empty(), || {
                    format!("{campaign} is done, and the refusals of {:?} us were taken before", self.refused)
                });
            }
            Effect::Transmit { frame, .. } => match (message, &frame.kind) {
                (Some(Message::Daemon(DaemonMessage::Launch(order))), _) if rank == DaemonRank::HEAD => {
                    let place = |(own, _)| Some((ProcId { job: order.job, rank: own }, order.map.daemon_of(own)?));
                    self.launched.extend(order.map.ranks().filter_map(place));
                }
                (Some(Message::Daemon(DaemonMessage::Kill(job))), _) => drop(self.dying.insert(*job)),
                (Some(Message::Daemon(DaemonMessage::Exit)), _) => self.ending = true,
                (Some(Message::Tree(TreeMessage::Shrink { targets })), FrameKind::Xcast { seq, .. })
                    if rank == DaemonRank::HEAD && self.orders.insert(*seq) && !self.ending =>
                {
                    let campaign = self.changes.orders.get(seq).copied().flatten();
                    let drain = campaign.and_then(|id| self.drains.get(&id)).copied();
                    return self.leaves(targets, at, drain);
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}
