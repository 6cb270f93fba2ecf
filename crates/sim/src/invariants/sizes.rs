//! Guarantee: an elastic job has a size of its range. Slots that are offered to it are nobody else's until it has
//! spawned or the offer is over, no rank starts for an offer that is refused, processes end only after the time that
//! they were promised, and every change ends (spec E54 to E60).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, HeadInput, Input, PmixCall, PmixEffect, PmixToken, RequestId, Transition};
use ferrite_types::pmix_status::{FERRITE_NODES_STAY, PMIX_ALLOC_TIMEOUT_WARNING};
use ferrite_types::{DaemonRank, JobId, JobState, PmixStatus, ProcId, Signal, SizeRange};
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{ControlOrder, EventInfo, JobResize, JobResizeOutcome, JobResized, Withdrawal, WithdrawalAnswer};

use super::{Invariant, Observation, offered_slots, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The longest time of a change when nothing is broken: the usual time, and the ways of messages.
const LONGEST: Time = 40_000_000;

/// The longest way of a notice to all processes when nothing is broken.
const TRIP: Time = 1_000_000;

/// A request without an answer.
struct Open {
    ask: JobResize,
    at: Time,
    /// The processes that were told that they are to end.
    told: BTreeSet<ProcId>,
}

/// An offer that a process has heard of.
struct Offer {
    /// The slots that are kept, by daemon.
    kept: BTreeMap<DaemonRank, u32>,
    /// The spawned job that has them.
    taker: Option<JobId>,
    /// True after a spawn has failed: the slots are others now.
    is_vague: bool,
}

/// A notice to an elastic job that processes of it are to end, or stay.
struct Notice {
    root: JobId,
    what: Withdrawal,
    code: PmixStatus,
    since: Time,
    heard: BTreeSet<ProcId>,
}

#[derive(Default)]
pub(super) struct Sizes {
    slots: u32,
    /// The root of each job of an elastic tree.
    roots: BTreeMap<JobId, JobId>,
    ranges: BTreeMap<JobId, SizeRange>,
    submitted: BTreeSet<JobId>,
    living: BTreeMap<ProcId, DaemonRank>,
    /// Processes that have called finalize: they have no slots (spec E70).
    finalized: BTreeSet<ProcId>,
    /// When each process began.
    born: BTreeMap<ProcId, Time>,
    /// Jobs that are being ended.
    dying: BTreeSet<JobId>,
    open: BTreeMap<RequestId, Open>,
    /// The present offer of each tree.
    offers: BTreeMap<JobId, Offer>,
    /// The end of the time of each process that was told.
    until: BTreeMap<ProcId, Time>,
    /// Answers that the head has not taken, by daemon and token.
    given: BTreeMap<(DaemonRank, PmixToken), (ProcId, ControlOrder, Time)>,
    /// Notices that processes hear of, with those that have heard them.
    notices: Vec<Notice>,
    /// True when only offers bring daemons.
    has_comers: bool,
    /// Daemons that have come for an offer and run nothing yet, and when they came.
    comers: BTreeMap<DaemonRank, Time>,
    daemons: u32,
    now: Time,
    is_struck: bool,
    ending: bool,
}

impl Sizes {
    pub(super) fn new(scenario: &Scenario) -> Sizes {
        let brings = |request: &Request| matches!(request, Request::ResizeJob(ask) if ask.nodes.is_some());
        let has_comers = scenario.questions.iter().any(|(_, request)| brings(request));
        Sizes { slots: scenario.slots, daemons: scenario.daemons, has_comers, ..Sizes::default() }
    }

    /// Notes which processes hear of a notice.
    fn is_heard(&mut self, what: &Withdrawal, code: PmixStatus, to: &[ProcId]) {
        let root = self.root_of(what.job);
        if !self.ranges.contains_key(&root) {
            return;
        }
        let known = self.notices.iter_mut().find(|notice| notice.what == *what && notice.code == code);
        match known {
            Some(notice) => notice.heard.extend(to),
            None => {
                let heard = to.iter().copied().collect();
                self.notices.push(Notice { root, what: what.clone(), code, since: self.now, heard });
            }
        }
    }

    /// Requires that all worlds of an elastic job hear of each notice (spec E43).
    fn all_worlds_hear(&mut self) -> Result<(), String> {
        let (now, is_calm) = (self.now, self.is_calm());
        let due = self.notices.extract_if(.., |notice| notice.since + TRIP < now).collect::<Vec<_>>();
        for notice in due.into_iter().filter(|notice| is_calm && !self.dying.contains(&notice.root)) {
            let of_tree = |proc: &&ProcId| self.root_of(proc.job) == notice.root && !self.dying.contains(&proc.job);
            let mut there = self.living.keys().filter(of_tree);
            let deaf = there.find(|proc| self.born[proc] < notice.since && !notice.heard.contains(proc));
            require(deaf.is_none(), || {
                format!("{deaf:?} of job {} has not heard that {:?} are to end or stay", notice.root, notice.what.ranks)
            })?;
        }
        Ok(())
    }

    /// Requires that nodes which have come for an offer leave when nothing has started there (spec E69).
    fn comers_leave(&self) -> Result<(), String> {
        let late = self.comers.iter().find(|(_, came)| **came + 2 * LONGEST < self.now);
        require(late.is_none() || !self.is_calm(), || {
            format!("daemon {:?} has come for an offer that is over, and is still there", late.map(|(rank, _)| rank))
        })
    }

    fn is_calm(&self) -> bool {
        !self.is_struck && !self.ending
    }

    fn root_of(&self, job: JobId) -> JobId {
        self.roots.get(&job).copied().unwrap_or(job)
    }

    /// The processes that have slots, with their daemons.
    fn members(&self) -> impl Iterator<Item = (ProcId, DaemonRank)> + '_ {
        let members = self.living.iter().filter(|(proc, _)| !self.finalized.contains(proc));
        members.map(|(proc, daemon)| (*proc, *daemon))
    }

    fn size(&self, root: JobId) -> u32 {
        self.members().filter(|(proc, _)| self.root_of(proc.job) == root).count() as u32
    }

    /// The request for fewer processes of a tree.
    fn retiring(&mut self, root: JobId) -> Option<&mut Open> {
        let id = *self.open.iter().find(|(_, open)| self.root_of(open.ask.job) == root)?.0;
        self.open.get_mut(&id)
    }

    fn is_born(&mut self, rank: DaemonRank, proc: ProcId) -> Result<(), String> {
        self.living.insert(proc, rank);
        self.born.insert(proc, self.now);
        let root = self.root_of(proc.job);
        if let Some(range) = self.ranges.get(&root) {
            let size = self.size(root);
            require(size <= range.max, || format!("job {root} has {size} processes and may have {range}"))?;
        }
        for (of, offer) in self.offers.iter().filter(|(_, offer)| offer.taker.is_none() && !offer.is_vague) {
            let kept = offer.kept.get(&rank).copied().unwrap_or(0);
            let there = self.members().filter(|(_, on)| *on == rank).count() as u32;
            require(self.is_struck || there + kept <= self.slots, || {
                let slots = self.slots;
                format!(
                    "{proc} is process {there} on daemon {rank} with {slots} slots, and {kept} are kept for job {of}"
                )
            })?;
        }
        Ok(())
    }

    /// Judges an answer to a request.
    fn is_answered(&mut self, id: RequestId, resized: &JobResized, at: Time) -> Result<(), String> {
        let Some(open) = self.open.remove(&id) else { return Ok(()) };
        let root = self.root_of(resized.job);
        let offer = if resized.is_offer { self.offers.remove(&root) } else { None };
        let taker = offer.as_ref().and_then(|offer| offer.taker);
        let is_calm = self.is_calm() && !self.dying.contains(&root);
        match &resized.outcome {
            JobResizeOutcome::Done if resized.is_offer => require(taker.is_some() && resized.procs > 0, || {
                format!("request {id:?}: job {root} has taken {} processes, and none was placed", resized.procs)
            }),
            JobResizeOutcome::Failed(cause) if resized.is_offer => {
                require(taker.is_none(), || format!("job {taker:?} has begun, and the offer ended: {cause}"))?;
                let heard = offer.is_some() || at < open.at + 2_000_000 || self.size(root) == 0;
                require(heard || !is_calm, || format!("nobody heard of the offer that ended: {cause}"))
            }
            JobResizeOutcome::Done => {
                let left = open.told.iter().find(|proc| self.living.contains_key(proc));
                require(left.is_none() || self.is_struck, || format!("{left:?} lives after the end of its change"))
            }
            _ => Ok(()),
        }
    }

    /// Judges a notice that processes are to end.
    fn is_told(&mut self, rank: DaemonRank, procs: BTreeSet<ProcId>, seconds: u32, at: Time) -> Result<(), String> {
        let Some(job) = procs.first().map(|proc| proc.job) else { return Ok(()) };
        let (root, until) = (self.root_of(job), at + Time::from(seconds) * 1_000_000);
        for proc in procs.iter().filter(|proc| self.living.get(proc) == Some(&rank)) {
            let end = self.until.entry(*proc).or_insert(until);
            *end = until.max(*end);
        }
        let Some(open) = self.retiring(root) else { return Ok(()) };
        open.told.extend(procs);
        let (told, is_forced) = (open.told.clone(), open.ask.force);
        let is_member = |proc: &ProcId| self.root_of(proc.job) == root && !told.contains(proc);
        let stay = self.members().filter(|(proc, _)| is_member(proc)).count();
        let min = self.ranges.get(&root).map_or(0, |range| range.min) as usize;
        require(is_forced || stay >= min || !self.is_calm() || self.dying.contains(&root), || {
            format!("{stay} processes of job {root} stay, which keeps at least {min}")
        })
    }

    /// Judges a signal that ends a process.
    fn is_ended(&self, proc: ProcId, at: Time) -> Result<(), String> {
        let root = self.root_of(proc.job);
        let is_meant = self.ranges.contains_key(&root) && !self.dying.contains(&proc.job) && self.is_calm();
        let mut asked = self.open.values().filter(|open| self.root_of(open.ask.job) == root);
        let at_once = asked.any(|open| open.ask.time_s == Some(0));
        if !is_meant || at_once {
            return Ok(());
        }
        match self.until.get(&proc) {
            Some(until) => {
                require(at >= *until, || format!("{proc} is ended at {at} us, and has time until {until} us"))
            }
            None => Err(format!("{proc} is ended, and nobody has told it")),
        }
    }

    /// Notes an answer of a process that the head has taken.
    fn is_taken(&mut self, (proc, order, given): &(ProcId, ControlOrder, Time)) -> Result<(), String> {
        let root = self.root_of(proc.job);
        match order {
            ControlOrder::RefuseGrowth => {
                let is_offer = |open: &&Open| self.root_of(open.ask.job) == root && open.at < *given;
                let is_open = self.open.values().any(|open| is_offer(&open)) && self.offers.contains_key(&root);
                require(!is_open || !self.is_calm(), || format!("{proc} has refused, and the offer goes on"))
            }
            ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Defer(seconds)) => {
                let until = given + Time::from(*seconds) * 1_000_000;
                let told = self.retiring(root).map(|open| open.told.clone()).unwrap_or_default();
                for proc in told {
                    let end = self.until.entry(proc).or_insert(until);
                    *end = until.max(*end);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn sees(&mut self, rank: DaemonRank, at: Time, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Accepted { job, .. } => drop(self.submitted.insert(*job)),
            Effect::Pmix(PmixEffect::Register(registration)) => {
                let order = &registration.order;
                if let Some(range) = order.spec.options.elastic {
                    let root = order.parent.map_or(order.job, |parent| self.root_of(parent.job));
                    self.roots.insert(order.job, root);
                    self.ranges.insert(root, range);
                }
            }
            Effect::Trace(Transition::Job { job: JobId::DAEMONS, to, .. }) => self.ending |= *to > JobState::VmReady,
            Effect::Trace(Transition::Job { job, to: JobState::MapComplete, .. }) if !self.submitted.contains(job) => {
                // Only one job of a scenario spawns.
                if let Some(offer) = self.offers.values_mut().find(|offer| offer.taker.is_none()) {
                    offer.taker = Some(*job);
                }
            }
            Effect::Trace(Transition::Job { job, to, .. }) if *to > JobState::Error => {
                self.dying.insert(*job);
                for offer in self.offers.values_mut().filter(|offer| offer.taker == Some(*job)) {
                    (offer.taker, offer.is_vague) = (None, true);
                }
            }
            Effect::Pmix(PmixEffect::Event { event, to, .. }) => {
                if let EventInfo::Withdrawal(notice) = &event.info {
                    self.is_heard(notice, event.code, to);
                }
                match &event.info {
                    EventInfo::Growth(offered) => {
                        let is_open = self.open.values().any(|open| self.root_of(open.ask.job) == offered.root);
                        if is_open {
                            let offer = Offer { kept: offered_slots(offered), taker: None, is_vague: false };
                            self.offers.entry(offered.root).or_insert(offer);
                        }
                    }
                    EventInfo::Withdrawal(notice) if notice.of_procs => {
                        let procs: BTreeSet<ProcId> =
                            notice.ranks.iter().map(|rank| ProcId { job: notice.job, rank: *rank }).collect();
                        match event.code {
                            PMIX_ALLOC_TIMEOUT_WARNING => return self.is_told(rank, procs, notice.seconds, at),
                            FERRITE_NODES_STAY => self.until.retain(|proc, _| !procs.contains(proc)),
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
            Effect::Pmix(PmixEffect::Reply { token, result }) => {
                let given = self.given.remove(&(rank, *token)).filter(|_| result.is_ok());
                return given.map_or(Ok(()), |given| self.is_taken(&given));
            }
            Effect::Signal { proc, signal: Signal::TERM | Signal::KILL } => return self.is_ended(*proc, at),
            Effect::Reply { request, reply: Reply::JobResized(resized) } => {
                return self.is_answered(*request, resized, at);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Invariant for Sizes {
    fn name(&self) -> &'static str {
        "elastic jobs change their size as agreed"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Fault { .. } | Observation::Cut { .. } => self.is_struck = true,
            Observation::Born { rank } if self.has_comers && rank.0 >= self.daemons => {
                self.comers.insert(*rank, self.now);
            }
            Observation::ProcBorn { rank, proc } => {
                self.comers.remove(rank);
                return self.is_born(*rank, *proc);
            }
            Observation::ProcEnded { proc, .. } => drop(self.living.remove(proc)),
            Observation::Gone { rank, .. } => {
                self.comers.remove(rank);
                self.living.retain(|_, on| on != rank);
            }
            Observation::Input { rank, at, input, .. } => {
                self.now = *at;
                self.comers_leave()?;
                self.all_worlds_hear()?;
                match input {
                    Input::Head(HeadInput::Request { id, request: Request::ResizeJob(ask) }) => {
                        let open = Open { ask: ask.clone(), at: *at, told: BTreeSet::new() };
                        self.open.insert(*id, open);
                    }
                    Input::Head(HeadInput::ClientGone(id)) => drop(self.open.remove(id)),
                    Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(proc)))
                        if self.ranges.contains_key(&self.root_of(proc.job)) =>
                    {
                        self.finalized.insert(*proc);
                    }
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Control { by: Some(by), order, token })) => {
                        self.given.insert((*rank, *token), (*by, (**order).clone(), *at));
                    }
                    _ => {}
                }
                let late = self.open.iter().find(|(_, open)| open.at + LONGEST < *at);
                return require(late.is_none() || !self.is_calm(), || {
                    format!("request {:?} for another size of a job is not over", late.map(|(id, _)| id))
                });
            }
            Observation::Effect { rank, at, effect, .. } => return self.sees(*rank, *at, effect),
            _ => {}
        }
        Ok(())
    }
}
