//! Guarantee: a failure ends exactly the right jobs. The children of a failed job and the jobs connected with it end;
//! no other job ends for that reason. A parent that ends well, and a separate job, end no other.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{
    DaemonInput, Effect, HeadInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer, Transition,
};
use ferrite_types::{DaemonRank, JobId, JobState, ProcId, RankSet};
use ferrite_wire::control::Request;
use ferrite_wire::{DaemonMessage, HeadMessage, LaunchOrder, Members, Message, TreeMessage};

use super::changes::Changes;
use super::kin::Kin;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct Bonds {
    kin: Kin,
    changes: Changes,
    struck: Struck,
    meetings: Meetings,
    jobs: BTreeMap<JobId, Seen>,
    /// Processes whose daemon has seen their end, or is gone.
    ended: BTreeSet<ProcId>,
    /// Jobs with processes that have failed, or asked for the end of their job.
    failed: BTreeSet<JobId>,
    /// Daemons that were told to leave or are gone.
    leaving: RankSet,
    /// Jobs that fail in the present input of the head.
    failing: Vec<JobId>,
    /// True when the present input may end jobs by order.
    ordered: bool,
}

#[derive(Default)]
struct Seen {
    hosts: RankSet,
    procs: Vec<ProcId>,
    tolerant: bool,
    /// The head has said that it sends the launch order.
    ordered: bool,
    failed: bool,
    over: bool,
}

/// The connects and disconnects of a set of jobs, as far as they are visible from outside.
#[derive(Default)]
struct Meetings {
    tokens: BTreeMap<(DaemonRank, PmixToken), (Members, bool)>,
    counts: BTreeMap<Members, BTreeMap<DaemonRank, Counts>>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    /// Connects that were called here, and those that have succeeded.
    connects: [u32; 2],
    /// Disconnects, and fences with the same meaning, counted alike.
    parts: [u32; 2],
}

impl Meetings {
    fn called(&mut self, rank: DaemonRank, token: PmixToken, members: &Members, connects: bool) {
        if !members.others.is_empty() {
            self.tokens.insert((rank, token), (members.clone(), connects));
            self.count(rank, members, connects)[0] += 1;
        }
    }

    fn answered(&mut self, rank: DaemonRank, token: PmixToken, well: bool) {
        if let Some((members, connects)) = self.tokens.remove(&(rank, token))
            && well
        {
            self.count(rank, &members, connects)[1] += 1;
        }
    }

    fn count(&mut self, rank: DaemonRank, members: &Members, connects: bool) -> &mut [u32; 2] {
        let counts = self.counts.entry(members.clone()).or_default().entry(rank).or_default();
        if connects { &mut counts.connects } else { &mut counts.parts }
    }

    /// The jobs that are connected with one, certainly or possibly.
    fn with(&self, job: JobId, surely: bool) -> BTreeSet<JobId> {
        let most = |all: &BTreeMap<DaemonRank, Counts>, which: fn(&Counts) -> u32| all.values().map(which).max();
        let connected = |all: &BTreeMap<DaemonRank, Counts>| {
            if surely {
                most(all, |counts| counts.connects[1]) > most(all, |counts| counts.parts[0])
            } else {
                most(all, |counts| counts.connects[0]) > most(all, |counts| counts.parts[1])
            }
        };
        let bound = self.counts.iter().filter(|(members, all)| members.include(job) && connected(all));
        bound.flat_map(|(members, _)| members.jobs()).map(|(other, _)| other).filter(|other| *other != job).collect()
    }
}

impl Bonds {
    pub(super) fn new(scenario: &Scenario) -> Bonds {
        Bonds {
            kin: Kin::default(),
            changes: Changes::default(),
            struck: Struck::new(scenario),
            meetings: Meetings::default(),
            jobs: BTreeMap::new(),
            ended: BTreeSet::new(),
            failed: BTreeSet::new(),
            leaving: RankSet::new(),
            failing: Vec::new(),
            ordered: false,
        }
    }

    fn launched(&mut self, order: &LaunchOrder) {
        let (job, map) = (order.job, &order.map);
        let seen = self.jobs.entry(job).or_default();
        seen.hosts = map.daemons();
        seen.procs = map.ranks().map(|(rank, _)| ProcId { job, rank }).collect();
        seen.tolerant = order.spec.options.tolerates_failures();
    }

    /// Judges the failure of a job: its own, by order, or with another.
    fn fails(&mut self, job: JobId, to: JobState) -> Result<(), String> {
        let Some(seen) = self.jobs.get(&job) else { return Ok(()) };
        match to {
            JobState::KilledByCmd => {
                // A daemon without a link does not hear its order to leave.
                let leaves =
                    |host| self.leaving.contains(host) || (self.changes.shrinking() && self.struck.on_the_way(host));
                // Nor does the launch order come to anybody: who was to host the job is unknown then.
                let unsent = seen.ordered && seen.hosts.is_empty() && self.changes.shrinking() && self.struck.any();
                let leaves = unsent || seen.hosts.iter().any(leaves);
                let parent = self.kin.birth(job).filter(|birth| !birth.separate).map(|birth| birth.parent.job);
                let connected = self.meetings.with(job, false);
                let with = |other: &JobId| parent == Some(*other) || connected.contains(other);
                require(self.ordered || leaves || self.failing.iter().any(with), || {
                    format!(
                        "job {job} is ended; {:?} fail, its parent is {parent:?}, connected may be {connected:?}",
                        self.failing
                    )
                })
            }
            JobState::NonZeroTerm | JobState::AbortedBySig | JobState::AbortedWoSync | JobState::CalledAbort => {
                require(self.failed.contains(&job), || {
                    format!("job {job} is {to}, and none of its processes has failed")
                })
            }
            _ => Ok(()),
        }
    }

    /// Judges after all effects of the last input.
    fn look(&mut self) -> Result<(), String> {
        for job in std::mem::take(&mut self.failing) {
            for child in self.kin.children(job) {
                let goes_on = self.jobs.get(&child).is_some_and(|seen| !seen.failed && !seen.over);
                require(!goes_on, || format!("job {job} has failed, and job {child}, which it has spawned, goes on"))?;
            }
            for other in self.meetings.with(job, true) {
                let goes_on = |seen: &Seen| !seen.failed && !seen.over && !seen.tolerant && self.runs(seen);
                let goes_on = self.jobs.get(&other).is_some_and(goes_on);
                require(!goes_on, || format!("job {job} has failed, and job {other}, which is connected, goes on"))?;
            }
        }
        Ok(())
    }

    fn runs(&self, seen: &Seen) -> bool {
        seen.procs.iter().any(|proc| !self.ended.contains(proc))
    }

    fn see_head_input(&mut self, input: &Input, message: Option<&Message>) {
        self.ordered = matches!(
            input,
            Input::Head(HeadInput::Cancel(_))
                | Input::Head(HeadInput::ClientGone(_))
                | Input::Head(HeadInput::Request { request: Request::Kill(_) | Request::Session { .. }, .. })
                | Input::Terminate { .. }
                | Input::Head(HeadInput::Interrupt)
                | Input::Timer(
                    Timer::Head(HeadTimer::JobTimeout(_))
                        | Timer::Head(HeadTimer::SpawnTimeout(_))
                        | Timer::Head(HeadTimer::Session(_))
                )
        );
        if let Some(Message::Head(HeadMessage::Abort { proc, .. })) = message {
            self.failed.insert(proc.job);
        }
    }
}

impl Invariant for Bonds {
    fn name(&self) -> &'static str {
        "a failure ends whom it must and nobody else"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.kin.see(what);
        self.changes.see(what);
        self.struck.see(what);
        match what {
            Observation::Gone { rank, .. } => {
                self.leaving.insert(*rank);
                let on_it = |seen: &&Seen| seen.hosts.contains(*rank);
                // Processes on that daemon have ended unseen.
                self.ended.extend(self.jobs.values().filter(on_it).flat_map(|seen| seen.procs.iter().copied()));
            }
            Observation::Input { rank, input, message, .. } => {
                match input {
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Connect { members, token })) => {
                        self.meetings.called(*rank, *token, members, true);
                    }
                    Input::Daemon(DaemonInput::Pmix(
                        PmixCall::Disconnect { members, token } | PmixCall::Fence { members, token, .. },
                    )) => {
                        self.meetings.called(*rank, *token, members, false);
                    }
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Abort { proc, .. })) => {
                        self.failed.insert(proc.job);
                    }
                    _ => {}
                }
                if *rank == DaemonRank::HEAD {
                    self.look()?;
                    self.see_head_input(input, *message);
                }
            }
            Observation::Effect { rank, effect, message, .. } => {
                match message {
                    Some(Message::Tree(TreeMessage::Shrink { targets })) => self.leaving.insert_all(targets),
                    Some(Message::Daemon(DaemonMessage::Launch(order))) => self.launched(order),
                    _ => {}
                }
                match effect {
                    Effect::Pmix(PmixEffect::Register(registration)) => {
                        self.launched(&registration.order);
                    }
                    Effect::Pmix(PmixEffect::Reply { token, result }) => {
                        self.meetings.answered(*rank, *token, result.is_ok());
                    }
                    Effect::Trace(Transition::Proc { proc, to, .. }) if to.has_ended() => {
                        self.ended.insert(*proc);
                        if to.is_error() {
                            self.failed.insert(proc.job);
                        }
                    }
                    Effect::Trace(Transition::Job { job, to, .. }) if *job != JobId::DAEMONS => {
                        let seen = self.jobs.entry(*job).or_default();
                        seen.ordered |= *to == JobState::SendLaunchMsg;
                        seen.over |= matches!(to, JobState::Terminated | JobState::NotifyCompleted);
                        if to.is_error() {
                            seen.failed = true;
                            self.fails(*job, *to)?;
                            self.failing.push(*job);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
