//! The head's record of one job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrite_types::{
    CampaignId, EnvOp, JobId, JobMap, JobSpec, JobState, NodeId, ProcState, Rank, RankSet, SessionId, StdinTarget,
    Timestamp,
};
use ferrite_wire::control::{Submission, Watch};

use super::failure_policy::Failure;
use super::phase::{Launch, Phase, ProcRecord, Wait};
use super::spawn::Birth;
use crate::RequestId;
use crate::head::counters::Counted;
use crate::preload::Transfer;

/// A job that is not over.
#[derive(Debug)]
pub(in crate::head) struct Job {
    /// Its number within the DVM.
    pub(super) id: JobId,
    pub(super) birth: Birth,
    /// The submitted job at the root of its spawn tree; a submitted job is its own root.
    pub(super) root: JobId,
    /// All jobs that it descends from, over or not: its parent, that one's parent, and so on. A separate job has
    /// none.
    pub(super) ancestors: BTreeSet<JobId>,
    /// The jobs above the root of its spawn tree, when that root is a separate job: an order about a whole tree finds
    /// the job by them (spec L130).
    pub(super) apart_from: BTreeSet<JobId>,
    /// The request to reply to; `None` = the job is detached, or its client is gone.
    pub(super) request: Option<RequestId>,
    /// True for the head's own job and what it has spawned.
    pub(super) is_own: bool,
    pub(super) spec: Arc<JobSpec>,
    /// Environment that the submitter forwards.
    pub(super) env: Vec<EnvOp>,
    pub(super) wait_for_slots: bool,
    /// Among jobs that wait for slots, those with a higher one come first.
    pub(super) priority: i16,
    /// The jobs for whose ends it waits before it begins; true = the job has to end well.
    pub(super) after: BTreeMap<JobId, bool>,
    /// The events about it that its requester wants.
    pub(super) watch: Watch,
    pub(super) personality: String,
    /// The tool that submitted it: the client in whose turn it begins.
    pub(super) launcher: String,
    /// The name that its author has given it; empty = none.
    pub(super) task: String,
    /// Its current state.
    pub(super) state: JobState,
    pub(super) phase: Phase,
    pub(super) outcome: Outcome,
    /// The time at which it entered each state.
    pub(super) states: Vec<(JobState, Timestamp)>,
    /// Processes that went with their nodes, by a departure or a loss.
    pub(super) lost: Vec<Rank>,
    /// Processes that have ended and whose slots others may use.
    pub(super) freed: BTreeSet<Rank>,
    /// The session in which it runs; 0 = the DVM's own.
    pub(super) session: SessionId,
    /// Nodes of an earlier map that have gone before the launch: the next map does without them.
    pub(super) missed: BTreeSet<NodeId>,
    /// The campaign that brings the nodes of its own request.
    pub(super) grows: Option<CampaignId>,
    /// The way of the files that it brings along, once it was mapped.
    pub(super) transfer: Option<Box<Transfer>>,
    /// Stacks of its processes that have come.
    pub(super) stacks_taken: u32,
    /// The number of times that each failed process was started again.
    pub(super) restarts: BTreeMap<Rank, u32>,
    /// The message about its first output file that could not be written.
    pub(super) lost_output: Option<String>,
}

/// The result of a job, as far as it is known.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It may still succeed.
    Open {
        /// The first failure that it survived, which is its result unless another failure ends it.
        survived: Option<Failure>,
    },
    /// A failure or an order has set its end.
    Set {
        code: u8,
        /// The cause of its failure, for people.
        cause: String,
    },
}

impl Job {
    pub(super) fn new(id: JobId, request: Option<RequestId>, mut submission: Submission) -> Job {
        let usual = if request.is_some() { StdinTarget::Rank(Rank(0)) } else { StdinTarget::None };
        submission.spec.stdin.get_or_insert(usual);
        Job {
            id,
            is_own: request == Some(RequestId::OWN),
            birth: Birth::Submitted { told: false },
            root: id,
            ancestors: BTreeSet::new(),
            apart_from: BTreeSet::new(),
            request,
            spec: Arc::new(submission.spec),
            env: submission.env,
            wait_for_slots: submission.wait_for_slots,
            priority: submission.priority,
            after: BTreeMap::new(),
            watch: submission.watch,
            personality: submission.personality,
            launcher: submission.launcher,
            task: submission.task,
            state: JobState::Init,
            phase: Phase::Unmapped(Wait::default()),
            outcome: Outcome::Open { survived: None },
            states: Vec::new(),
            lost: Vec::new(),
            freed: BTreeSet::new(),
            session: SessionId::DVM,
            missed: BTreeSet::new(),
            grows: None,
            transfer: None,
            stacks_taken: 0,
            restarts: BTreeMap::new(),
            lost_output: None,
        }
    }

    pub(in crate::head) fn id(&self) -> JobId {
        self.id
    }

    /// True when its standard input is nobody's, and waits for a client that feeds it: it has readers and either no
    /// submitter, or one whose input belongs to the job that has spawned it.
    pub(super) fn is_fed(&self) -> bool {
        let has_readers = self.spec.stdin.is_some_and(|readers| readers != StdinTarget::None);
        has_readers && (self.request.is_none() || self.birth.parent().is_some())
    }

    /// The session in which it runs; 0 = the DVM's own.
    pub(in crate::head) fn session(&self) -> SessionId {
        self.session
    }

    /// Its priority among jobs that wait.
    pub(in crate::head) fn priority(&self) -> i16 {
        self.priority
    }

    /// The places of its processes; empty before it is mapped.
    pub(in crate::head) fn map(&self) -> &Arc<JobMap> {
        self.phase.map()
    }

    /// True while its processes have places.
    pub(in crate::head) fn is_mapped(&self) -> bool {
        !matches!(self.phase, Phase::Unmapped(_))
    }

    /// Its launch, once the launch order was sent.
    pub(super) fn launch(&self) -> Option<&Launch> {
        if let Phase::Launched(launch) = &self.phase { Some(launch) } else { None }
    }

    pub(super) fn launch_mut(&mut self) -> Option<&mut Launch> {
        if let Phase::Launched(launch) = &mut self.phase { Some(launch) } else { None }
    }

    /// True once the launch order was sent.
    pub(in crate::head) fn is_launched(&self) -> bool {
        self.launch().is_some()
    }

    /// The program of a process; empty before the job is mapped.
    pub(super) fn program_of(&self, rank: Rank) -> &str {
        let place = self.map().procs.get(rank.0 as usize);
        place.map_or("", |place| self.spec.apps[usize::from(place.app)].argv[0].as_str())
    }

    /// The number of its processes; 0 before it is mapped.
    pub(super) fn size(&self) -> usize {
        self.map().procs.len()
    }

    /// Its processes in the order of their ranks.
    pub(super) fn procs(&self) -> impl Iterator<Item = (Rank, ProcRecord)> + '_ {
        let started = self.launch().map(Launch::procs);
        (0..self.size()).map(move |at| (Rank(at as u32), started.map_or(ProcRecord::NEW, |procs| procs[at])))
    }

    /// A process by its rank.
    pub(super) fn proc(&self, rank: Rank) -> Option<ProcRecord> {
        match self.launch() {
            Some(launch) => launch.procs().get(rank.0 as usize).copied(),
            None => self.map().procs.get(rank.0 as usize).map(|_| ProcRecord::NEW),
        }
    }

    /// True for a process of the job that has not ended.
    pub(in crate::head) fn has_living(&self, rank: Rank) -> bool {
        self.proc(rank).is_some_and(|proc| !proc.state.has_ended())
    }

    /// Daemons that were sent the launch order.
    pub(in crate::head) fn known_at(&self) -> RankSet {
        self.launch().map(|launch| launch.known_at.clone()).unwrap_or_default()
    }

    /// True when only the final notice is outstanding.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, JobState::Terminated | JobState::NotifyCompleted | JobState::Notified)
    }

    /// Ranks that have not ended.
    pub(super) fn living(&self) -> impl Iterator<Item = Rank> + '_ {
        self.procs().filter(|(_, proc)| !proc.state.has_ended()).map(|(rank, _)| rank)
    }

    /// True when at least one program has no process that could be started.
    pub(super) fn cannot_be_launched(&self) -> bool {
        let mut could_not = vec![true; self.spec.apps.len()];
        for ((_, place), (_, proc)) in self.map().ranks().zip(self.procs()) {
            could_not[usize::from(place.app)] &= proc.state == ProcState::FailedToStart;
        }
        could_not.contains(&true)
    }

    /// The state of a process by the latest report of its daemon.
    pub(super) fn state_of(&self, rank: Rank) -> ProcState {
        let Some(launch) = self.launch() else { return ProcState::Init };
        let known = launch.procs()[rank.0 as usize].state;
        let has_said =
            |waits_for: &RankSet| launch.map().daemon_of(rank).is_some_and(|daemon| !waits_for.contains(daemon));
        if known != ProcState::Running {
            known
        } else if has_said(&launch.debugging) && self.stops(rank) && !launch.released.has(rank) {
            ProcState::ReadyForDebug
        } else if has_said(&launch.registering) {
            ProcState::Registered
        } else {
            known
        }
    }

    /// The number of its processes that have ended, or will not begin.
    pub(super) fn ended(&self) -> usize {
        match &self.phase {
            Phase::Launched(launch) => launch.ended(),
            Phase::Unmapped(_) | Phase::Mapped(..) if self.is_healthy() => 0,
            Phase::Unmapped(_) | Phase::Mapped(..) => self.size(),
        }
    }

    /// True when all its processes have ended, or will not begin.
    pub(super) fn all_ended(&self) -> bool {
        self.ended() == self.size()
    }

    /// The event for the metrics when all its processes run.
    pub(super) fn running_since(&self, now: Timestamp) -> Counted {
        let submitted = self.states.iter().find(|(state, _)| *state == JobState::Init);
        let took_us = submitted.map_or(0, |(_, at)| now.0.saturating_sub(at.0));
        Counted::Running { procs: self.size(), took_us }
    }

    /// True until a failure or an order has set its end.
    pub(in crate::head) fn is_healthy(&self) -> bool {
        matches!(self.outcome, Outcome::Open { .. })
    }

    /// Sets its end.
    pub(super) fn set_outcome(&mut self, code: u8, cause: String) {
        self.outcome = Outcome::Set { code, cause };
    }

    /// Its exit code, once its end is set.
    pub(super) fn exit_code(&self) -> Option<u8> {
        match self.outcome {
            Outcome::Open { .. } => None,
            Outcome::Set { code, .. } => Some(code),
        }
    }

    /// The cause of its failure; empty while it has not failed.
    pub(super) fn cause(&self) -> &str {
        match &self.outcome {
            Outcome::Open { .. } => "",
            Outcome::Set { cause, .. } => cause,
        }
    }
}
