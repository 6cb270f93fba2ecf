//! The head's record of one job.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrite_types::{CampaignId, EnvOp, JobId, JobMap, JobSpec, JobState, NodeId, ProcState, Rank, RankSet, Timestamp};
use ferrite_wire::control::Submission;

use super::failure_policy::Failure;
use super::spawn::Birth;
use super::stdin::Pump;
use crate::RequestId;
use crate::head::clients::Counted;
use crate::head::elastic::Hold;

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
    /// The request to reply to; `None` = the job is detached, or its client is gone.
    pub(super) request: Option<RequestId>,
    pub(super) spec: Arc<JobSpec>,
    /// Environment that the submitter forwards.
    pub(super) env: Vec<EnvOp>,
    pub(super) wait_for_slots: bool,
    pub(super) personality: String,
    /// The tool that submitted it.
    pub(super) launcher: String,
    /// Its current state.
    pub(super) state: JobState,
    pub(super) map: Arc<JobMap>,
    pub(super) procs: Vec<ProcRecord>,
    /// Daemons that have not reported their part of the launch.
    pub(super) launching: RankSet,
    /// Daemons with processes that have not called init.
    pub(super) registering: RankSet,
    /// Daemons with processes that do not wait for a debugger yet.
    pub(super) debugging: RankSet,
    pub(super) ended: usize,
    /// Set by the first failure; success when none has set it.
    pub(super) exit_code: Option<u8>,
    /// The cause of its failure, once it fails.
    pub(super) cause: String,
    /// The first failure that it survived, which is its result unless another failure ends it.
    pub(super) survived: Option<Failure>,
    /// Daemons that were sent the launch order: its hosts, and others whose processes may meet its own.
    pub(super) known_at: RankSet,
    /// True once the launch order was sent.
    pub(super) launched: bool,
    /// The time at which it entered each state.
    pub(super) states: Vec<(JobState, Timestamp)>,
    pub(super) stdin: Pump,
    /// Processes that went with their nodes, by a departure or a loss.
    pub(super) lost: Vec<Rank>,
    /// The session in which it runs; 0 = the DVM's own.
    pub(super) session: u32,
    /// Its hold, while it is parked.
    pub(super) held: Option<Hold>,
    /// True after it was parked for the first time.
    pub(super) was_parked: bool,
    /// Nodes of an earlier map that have gone before the launch: the next map does without them.
    pub(super) missed: BTreeSet<NodeId>,
    /// True when it is to be launched before the DVM begins to grow again.
    pub(super) is_due: bool,
    /// Campaigns that hold it in the queue since its slots became free.
    pub(super) kept_by: BTreeSet<CampaignId>,
    /// The campaign that brings the nodes of its own request.
    pub(super) grows: Option<CampaignId>,
}

/// The head's record of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcRecord {
    pub(super) state: ProcState,
    pub(super) pid: Option<u32>,
}

impl Job {
    pub(super) fn new(id: JobId, request: Option<RequestId>, submission: Submission) -> Job {
        Job {
            id,
            birth: Birth::Submitted { told: false },
            root: id,
            ancestors: BTreeSet::new(),
            request,
            spec: Arc::new(submission.spec),
            env: submission.env,
            wait_for_slots: submission.wait_for_slots,
            personality: submission.personality,
            launcher: submission.launcher,
            state: JobState::Init,
            map: Arc::default(),
            procs: Vec::new(),
            launching: RankSet::new(),
            registering: RankSet::new(),
            debugging: RankSet::new(),
            ended: 0,
            exit_code: None,
            cause: String::new(),
            survived: None,
            known_at: RankSet::new(),
            launched: false,
            states: Vec::new(),
            stdin: Pump::default(),
            lost: Vec::new(),
            session: 0,
            held: None,
            was_parked: false,
            missed: BTreeSet::new(),
            is_due: false,
            kept_by: BTreeSet::new(),
            grows: None,
        }
    }

    /// Takes over a map.
    pub(super) fn set_map(&mut self, map: JobMap) {
        self.procs = vec![ProcRecord { state: ProcState::Init, pid: None }; map.procs.len()];
        self.launching = map.daemons();
        self.registering = map.daemons();
        self.debugging = map.daemons();
        self.map = Arc::new(map);
    }

    /// Drops a map before anything was launched.
    pub(super) fn clear_map(&mut self) {
        self.procs.clear();
        (self.launching, self.registering, self.debugging) = (RankSet::new(), RankSet::new(), RankSet::new());
        self.map = Arc::default();
    }

    pub(in crate::head) fn id(&self) -> JobId {
        self.id
    }

    /// The session in which it runs; 0 = the DVM's own.
    pub(in crate::head) fn session(&self) -> u32 {
        self.session
    }

    /// The places of its processes; empty before it is mapped.
    pub(in crate::head) fn map(&self) -> &JobMap {
        &self.map
    }

    /// True while its processes have places.
    pub(in crate::head) fn is_mapped(&self) -> bool {
        !self.procs.is_empty()
    }

    /// True once the launch order was sent.
    pub(in crate::head) fn is_launched(&self) -> bool {
        self.launched
    }

    /// True for a process of the job that has not ended.
    pub(in crate::head) fn has_living(&self, rank: Rank) -> bool {
        self.procs.get(rank.0 as usize).is_some_and(|proc| !proc.state.has_ended())
    }

    /// True when only the final notice is outstanding.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, JobState::Terminated | JobState::NotifyCompleted | JobState::Notified)
    }

    /// Ranks that have not ended.
    pub(super) fn living(&self) -> impl Iterator<Item = Rank> + '_ {
        let alive = self.procs.iter().enumerate().filter(|(_, proc)| !proc.state.has_ended());
        alive.map(|(rank, _)| Rank(rank as u32))
    }

    /// True when at least one program has no process that could be started.
    pub(super) fn cannot_be_launched(&self) -> bool {
        let mut could_not = vec![true; self.spec.apps.len()];
        for ((_, place), proc) in self.map.ranks().zip(&self.procs) {
            could_not[usize::from(place.app)] &= proc.state == ProcState::FailedToStart;
        }
        could_not.contains(&true)
    }

    /// The state of a process by the latest report of its daemon.
    pub(super) fn state_of(&self, rank: Rank) -> ProcState {
        let known = self.procs[rank.0 as usize].state;
        let has_said = |waits_for: &RankSet| self.map.daemon_of(rank).is_some_and(|daemon| !waits_for.contains(daemon));
        if known != ProcState::Running {
            known
        } else if has_said(&self.debugging) {
            ProcState::ReadyForDebug
        } else if has_said(&self.registering) {
            ProcState::Registered
        } else {
            known
        }
    }

    /// True when all its processes have ended.
    pub(super) fn all_ended(&self) -> bool {
        self.ended == self.procs.len()
    }

    /// What the metrics count when all its processes run.
    pub(super) fn running_since(&self, now: Timestamp) -> Counted {
        let submitted = self.states.iter().find(|(state, _)| *state == JobState::Init);
        let took_us = submitted.map_or(0, |(_, at)| now.0.saturating_sub(at.0));
        Counted::Running { procs: self.procs.len(), took_us }
    }

    /// True until a failure or an order has set its end.
    pub(in crate::head) fn is_healthy(&self) -> bool {
        self.exit_code.is_none()
    }
}
