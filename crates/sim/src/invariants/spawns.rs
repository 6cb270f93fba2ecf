//! Guarantee: each spawn is answered once, in time and correctly: with the job's name when all of it was started,
//! otherwise with an error. The caller's end excuses only its own answer. A living caller hears once that its job is
//! over. (`pmix` checks that no call is answered twice, or forgotten with its job.)

use ferrite_types::pmix_status::{
    PMIX_ERR_JOB_FAILED_TO_LAUNCH as FAILED_TO_LAUNCH, PMIX_ERR_JOB_KILLED_BY_CMD as KILLED_BY_CMD,
    PMIX_ERR_LOST_CONNECTION as LOST_CONNECTION,
};
use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, HeadInput, Input, PmixCall, PmixEffect, PmixToken, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, PmixStatus, ProcId, RankSet};
use ferrite_wire::{HeadMessage, Message};

use super::kin::Kin;
use super::silence::Silence;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The longest time for an answer to arrive, including the repair of a loss. Time in which the caller's daemon cannot
/// be heard is not counted.
const LATE: Time = 90_000_000;
/// The longest time for an answer on a route that no fault has struck.
const SOON: Time = 2_000_000;
/// The interval of the checks.
const EVERY: Time = 500_000;

pub(super) struct Spawns {
    kin: Kin,
    silence: Silence,
    struck: Struck,
    open: BTreeMap<ProcId, Open>,
    tokens: BTreeMap<(DaemonRank, PmixToken), ProcId>,
    jobs: BTreeMap<JobId, Seen>,
    /// Living processes, with their daemons.
    alive: BTreeMap<ProcId, DaemonRank>,
    gone: RankSet,
    /// Ended jobs whose parents must hear of it, with the time of their end.
    to_tell: BTreeMap<JobId, Time>,
    told: BTreeSet<JobId>,
    /// The caller of the spawn request that the head handles now.
    head_asks: Option<ProcId>,
    looked: Time,
}

/// A spawn without an answer.
struct Open {
    daemon: DaemonRank,
    child: Option<JobId>,
    /// The time at which the answer was known.
    decided: Option<Time>,
}

/// A job.
#[derive(Default)]
struct Seen {
    /// Its processes, once it is launched.
    procs: Option<u32>,
    hosts: RankSet,
    /// The processes that were started.
    born: BTreeSet<u32>,
    /// True when a process could not be started.
    start_failed: bool,
    /// True when it was ended by an order, or with other jobs.
    killed: bool,
    failed: bool,
    /// True once its parent has heard of the start.
    answered: bool,
}

impl Seen {
    fn is_whole(&self) -> bool {
        self.procs.is_some_and(|procs| self.born.len() == procs as usize)
    }
}

impl Spawns {
    pub(super) fn new(scenario: &Scenario) -> Spawns {
        Spawns {
            kin: Kin::default(),
            silence: Silence::default(),
            struck: Struck::new(scenario),
            open: BTreeMap::new(),
            tokens: BTreeMap::new(),
            jobs: BTreeMap::new(),
            alive: BTreeMap::new(),
            gone: RankSet::new(),
            to_tell: BTreeMap::new(),
            told: BTreeSet::new(),
            head_asks: None,
            looked: 0,
        }
    }

    fn answered(
        &mut self,
        rank: DaemonRank,
        token: PmixToken,
        result: Result<JobId, PmixStatus>,
    ) -> Result<(), String> {
        let Some(caller) = self.tokens.remove(&(rank, token)) else { return Ok(()) };
        let Some(open) = self.open.remove(&caller) else { return Ok(()) };
        let child = open.child;
        match result {
            Ok(job) => {
                require(child == Some(job), || {
                    format!("{caller} has spawned {child:?}, and is answered that it is job {job}")
                })?;
                let seen = self.jobs.entry(job).or_default();
                seen.answered = true;
                require(seen.is_whole(), || {
                    format!("{caller} hears that job {job} was started, of which only {:?} were", seen.born)
                })
            }
            Err(status) => {
                let Some((job, seen)) = child.and_then(|job| Some((job, self.jobs.get(&job)?))) else { return Ok(()) };
                let lost = seen.hosts.iter().any(|host| self.gone.contains(host) || self.struck.contains(host));
                let parent_failed = self.jobs.get(&caller.job).is_some_and(|parent| parent.failed);
                let excused = match status {
                    LOST_CONNECTION => lost,
                    FAILED_TO_LAUNCH => seen.start_failed,
                    KILLED_BY_CMD => seen.killed || parent_failed,
                    _ => false,
                };
                require(excused || !seen.is_whole(), || {
                    format!("{caller} hears {status} of job {job}, all of which was started")
                })
            }
        }
    }

    fn ended(&mut self, parent: ProcId, job: JobId, code: u8) -> Result<(), String> {
        self.to_tell.remove(&job);
        let by = self.kin.birth(job).map(|birth| birth.parent);
        require(by == Some(parent), || format!("{parent} hears of the end of job {job}, which {by:?} has spawned"))?;
        require(self.told.insert(job), || format!("{parent} hears twice that job {job} is over"))?;
        let seen = self.jobs.entry(job).or_default();
        require(seen.answered, || {
            format!("{parent} hears of the end of job {job} before it hears that it was started")
        })?;
        require(!seen.failed || code != 0, || format!("{parent} hears that job {job} has ended well, which has failed"))
    }

    fn job_moves(&mut self, job: JobId, at: Time, to: JobState) {
        // The job of a caller may itself be spawned by nobody.
        let seen = self.jobs.entry(job).or_default();
        seen.failed |= to.is_error();
        seen.killed |= to == JobState::KilledByCmd;
        let Some(birth) = self.kin.birth(job) else { return };
        // A failed job may still be starting on other nodes; the answer is not known before that is over.
        let is_answer = match to {
            JobState::Running | JobState::Terminated => true,
            _ => to.is_error() && seen.is_whole(),
        };
        if let Some(open) = self.open.get_mut(&birth.parent).filter(|open| open.child == Some(job) && is_answer) {
            open.decided.get_or_insert(at);
        }
        if to == JobState::NotifyCompleted && !self.told.contains(&job) {
            self.to_tell.insert(job, at);
        }
    }

    /// Judges callers that have waited for too long.
    fn look(&mut self, at: Time) -> Result<(), String> {
        if at < self.looked + EVERY {
            return Ok(());
        }
        self.looked = at;
        let limit = |daemon| if self.struck.on_the_way(daemon) { LATE } else { SOON };
        let late =
            |daemon, since| at - since > limit(daemon) + self.silence.within(&[daemon, DaemonRank::HEAD], since, at);
        for (caller, open) in &self.open {
            let waits = self.alive.contains_key(caller) && !self.gone.contains(open.daemon);
            if let Some(since) = open.decided.filter(|since| waits && late(open.daemon, *since)) {
                return Err(format!("{caller} waits for the answer to its spawn, which is known since {since} us"));
            }
        }
        for (job, since) in &self.to_tell {
            let Some(parent) = self.kin.birth(*job).map(|birth| birth.parent) else { continue };
            let Some(daemon) = self.alive.get(&parent).filter(|daemon| !self.gone.contains(**daemon)) else { continue };
            let knows_it = self.jobs.get(job).is_some_and(|seen| seen.answered);
            if knows_it && late(*daemon, *since) {
                return Err(format!("{parent} does not hear that job {job} is over, which it is since {since} us"));
            }
        }
        Ok(())
    }

    fn see_head_input(&mut self, input: &Input, message: Option<&Message>, at: Time) {
        // The last request has made no job, so its answer is known.
        if let Some(open) = self.head_asks.take().and_then(|caller| self.open.get_mut(&caller))
            && open.child.is_none()
        {
            open.decided.get_or_insert(at);
        }
        self.head_asks = match (input, message) {
            (Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc, .. })), _) => Some(*proc),
            (_, Some(Message::Head(HeadMessage::SpawnRequest { parent, .. }))) => Some(*parent),
            _ => None,
        };
        // An order may end a job that has already failed; no state shows that.
        let is_order = matches!(
            input,
            Input::Head(HeadInput::Cancel(_))
                | Input::Head(HeadInput::ClientGone(_))
                | Input::Head(HeadInput::Request { .. })
        );
        if is_order || matches!(input, Input::Terminate { .. } | Input::Head(HeadInput::Interrupt)) {
            let waiting = self.open.values().filter_map(|open| open.child);
            for job in waiting.collect::<Vec<_>>() {
                let seen = self.jobs.entry(job).or_default();
                seen.killed |= seen.failed;
            }
        }
    }
}

impl Invariant for Spawns {
    fn name(&self) -> &'static str {
        "a spawn is answered in time with the truth"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.struck.see(what);
        if let Some(job) = self.kin.see(what)
            && let Some(open) = self.kin.birth(job).and_then(|birth| self.open.get_mut(&birth.parent))
        {
            open.child = Some(job);
        }
        match what {
            Observation::Fault { at, fault } => self.silence.begin(*at, fault),
            Observation::Born { rank } => self.silence.born(*rank),
            Observation::Gone { rank, .. } => {
                self.gone.insert(*rank);
                self.alive.retain(|_, daemon| daemon != rank);
            }
            Observation::ProcBorn { rank, proc } => {
                self.alive.insert(*proc, *rank);
                self.jobs.entry(proc.job).or_default().born.insert(proc.rank.0);
            }
            Observation::ProcEnded { proc, .. } => {
                self.alive.remove(proc);
            }
            Observation::Input { rank, at, input, message } => {
                match input {
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc, token, .. })) => {
                        self.tokens.insert((*rank, *token), *proc);
                        self.open.insert(*proc, Open { daemon: *rank, child: None, decided: None });
                    }
                    Input::Daemon(DaemonInput::SpawnFailed { proc, .. }) => {
                        self.jobs.entry(proc.job).or_default().start_failed = true
                    }
                    _ => {}
                }
                if *rank == DaemonRank::HEAD {
                    self.see_head_input(input, *message, *at);
                }
                return self.look(*at);
            }
            Observation::Effect { rank, at, effect, .. } => match effect {
                Effect::Trace(Transition::Job { job, to, .. }) => self.job_moves(*job, *at, *to),
                Effect::Pmix(PmixEffect::Register(registration)) => {
                    let map = &registration.order.map;
                    let seen = self.jobs.entry(registration.order.job).or_default();
                    (seen.procs, seen.hosts) = (Some(map.procs.len() as u32), map.daemons());
                }
                Effect::Pmix(PmixEffect::SpawnReply { token, result }) => {
                    return self.answered(*rank, *token, *result);
                }
                // The daemon has forgotten the caller's job.
                Effect::Pmix(PmixEffect::Reply { token, .. }) => {
                    if let Some(caller) = self.tokens.remove(&(*rank, *token)) {
                        self.open.remove(&caller);
                        let lives = self.alive.contains_key(&caller);
                        return require(!lives, || format!("{caller} lives, and its spawn is given up"));
                    }
                }
                Effect::Pmix(PmixEffect::JobEnd { parent, job, code }) => return self.ended(*parent, *job, *code),
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}
