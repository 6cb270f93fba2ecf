//! Jobs that processes of other jobs have spawned. All that descend from one submission are a *spawn tree* and share
//! its submitter, which gets their output and hears of their failures. Its reply comes when the last job of the tree
//! is over, with the exit code of the first failure among them.
//!
//! A job that fails or is killed takes along the jobs that it has spawned; one that ends well does not. (Connected
//! jobs end with it in any case: `connections.rs`.) A job that was spawned as *separate* is the root of a tree of its
//! own, which nobody waits for. Spawned jobs walk through the states like any other.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_rm::params::Params;
use ferrite_types::{
    DaemonRank, EnvOp, JobFailure, JobId, JobSpec, JobState, OutputOptions, PmixStatus, ProcId, Rank, RankSet,
    StdinTarget,
};
use ferrite_wire::control::{Done, JobStatus, Reply, Submission};
use ferrite_wire::{DaemonMessage, Dest, LaunchOrder};

use super::notices;
use super::phase::Launch;
use super::placement_defaults::{self, Kinship};
use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::INTERRUPTED;
use crate::head::elastic::JobAllocation;
use crate::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_ALLOC_FAILED, PMIX_ERR_JOB_CANCELED, PMIX_ERR_JOB_FAILED_TO_LAUNCH,
    PMIX_ERR_JOB_KILLED_BY_CMD, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_OUT_OF_RESOURCE,
};
use crate::{Effect, HeadTimer};

/// The origin of a job, and what its parent knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Birth {
    /// A client or tool has submitted it.
    Submitted {
        /// True once the submitter was told whether it runs.
        told: bool,
    },
    /// A process has spawned it and waits for the answer.
    Awaited {
        parent: ProcId,
        /// The daemon of the process, and the number of its question there.
        asker: (DaemonRank, u64),
    },
    /// A process has spawned it and has heard that it runs.
    Spawned { parent: ProcId },
    /// A process has heard that it could not be started, and deals with that itself.
    Refused { parent: ProcId },
}

impl Birth {
    /// True while a process waits to hear whether it runs.
    pub(super) fn is_awaited(self) -> bool {
        matches!(self, Birth::Awaited { .. })
    }

    pub(super) fn parent(self) -> Option<ProcId> {
        match self {
            Birth::Submitted { .. } => None,
            Birth::Awaited { parent, .. } | Birth::Spawned { parent } | Birth::Refused { parent } => Some(parent),
        }
    }
}

/// Spawn trees of more than one job and separate trees, by the job at their root.
#[derive(Debug, Default)]
pub(super) struct Trees {
    open: BTreeMap<JobId, Tree>,
    /// Exit code of the latest submitted tree that has ended.
    submitted: u8,
}

/// Data of a tree that outlive its jobs.
#[derive(Debug, Default)]
struct Tree {
    /// True when the job at its root was spawned as separate.
    is_separate: bool,
    /// True when the failures of spawned jobs do not count.
    counts_root_only: bool,
    /// Exit code of the first failure.
    code: Option<u8>,
    /// The final status of the submitted job, once it is over.
    last: Option<JobStatus>,
}

impl Head {
    /// Handles a process's request to start a job.
    pub(in crate::head) fn on_spawn(
        &mut self,
        daemon: DaemonRank,
        id: u64,
        parent: ProcId,
        submission: Submission,
        cx: &mut Cx,
    ) {
        let names_none = submission.spec.apps.is_empty() || submission.spec.apps.iter().any(|app| app.argv.is_empty());
        let refusal = match self.jobs.get(parent.job) {
            Some(job) if job.is_launched() && job.is_healthy() && !job.is_over() && !self.dvm.is_ending() => {
                names_none.then_some(PMIX_ERR_BAD_PARAM)
            }
            _ => Some(PMIX_ERR_JOB_CANCELED),
        };
        match refusal {
            Some(status) => cx.send(daemon, DaemonMessage::SpawnReply { id, result: Err(status) }),
            None => match self.admit_spawn(parent, &submission, cx) {
                Ok(allocation) => {
                    let birth = Birth::Awaited { parent, asker: (daemon, id) };
                    self.dispatch_spawned(birth, parent, submission, allocation, cx);
                }
                Err(status) => cx.send(daemon, DaemonMessage::SpawnReply { id, result: Err(status) }),
            },
        }
    }

    fn admit_spawn(
        &mut self,
        parent: ProcId,
        submission: &Submission,
        cx: &mut Cx,
    ) -> Result<JobAllocation, PmixStatus> {
        if let Err(refusal) = self.check_sets(&submission.spec) {
            self.on_bad_spawn(parent, refusal.cause.trim_end_matches('.'), cx);
            return Err(refusal.status);
        }
        self.allocate_job(submission, Some(parent.job), cx).map_err(|reason| reason.status)
    }

    /// Tells the submitter why a daemon has refused a spawn; the process that asked deals with the refusal.
    pub(in crate::head) fn on_bad_spawn(&self, parent: ProcId, reason: &str, cx: &mut Cx) {
        let request = self.jobs.get(parent.job).and_then(|job| job.request);
        if let Some(request) = request {
            cx.notice_to(request, notices::bad_spawn(parent, reason));
        }
    }

    fn dispatch_spawned(
        &mut self,
        birth: Birth,
        parent: ProcId,
        mut submission: Submission,
        JobAllocation { session, grows }: JobAllocation,
        cx: &mut Cx,
    ) {
        let id = self.jobs.number();
        let of = self.jobs.at(parent.job);
        take_over(&mut submission, id, of, parent.rank, &self.params);
        let is_separate = submission.separate;
        let children_separately = of.spec.options.children_separately && !is_separate;
        // A persistent DVM treats a separate job as detached: the submitter does not wait for it. A DVM that lives
        // for one job is the submitter itself: it stays as long as anything runs, because its end would take the
        // daemons away, and it shows the output.
        let request = of.request.filter(|_| !is_separate || !self.config.persistent);
        let root = if is_separate { id } else { of.root };
        let above: BTreeSet<JobId> = of.ancestors.iter().copied().chain([of.id]).collect();
        let (ancestors, mut apart_from) = if is_separate { (BTreeSet::new(), above) } else { (above, BTreeSet::new()) };
        apart_from.extend(&of.apart_from);
        let tree = self.jobs.trees.open.entry(root).or_default();
        tree.is_separate |= is_separate;
        tree.counts_root_only |= children_separately;
        if let Some(limit) = submission.spec.options.spawn_timeout {
            cx.set_timer(HeadTimer::SpawnTimeout(id), cx.now + limit);
        }
        self.add_job(
            Job { birth, root, ancestors, apart_from, session, grows, ..Job::new(id, request, submission) },
            cx,
        );
        grows.into_iter().for_each(|campaign| self.proceed(campaign, cx));
    }

    /// Answers the parent of a spawned job: all processes run, or the job failed before they did (spec L22).
    pub(in crate::head) fn answer_spawn(&mut self, id: JobId, result: Result<(), PmixStatus>, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        match job.birth {
            Birth::Awaited { parent, asker: (daemon, number) } => {
                if job.spec.pmi1.is_some() && result.is_ok() {
                    self.jobs.bind(parent.job, id);
                }
                let job = self.jobs.at_mut(id);
                job.birth = if result.is_ok() { Birth::Spawned { parent } } else { Birth::Refused { parent } };
                cx.send(daemon, DaemonMessage::SpawnReply { id: number, result: result.map(|()| id) });
            }
            Birth::Submitted { told: false } => {
                job.birth = Birth::Submitted { told: true };
                if let Some(request) = job.request {
                    cx.effect(Effect::Launched { request, result });
                }
            }
            Birth::Submitted { told: true } | Birth::Spawned { .. } | Birth::Refused { .. } => {}
        }
    }

    /// Goes on with a failed job after a daemon has reported its part of the launch, or is gone.
    pub(super) fn answer_failed_spawn(&mut self, id: JobId, cx: &mut Cx) {
        if self.jobs.at(id).is_healthy() {
            return;
        }
        self.answer_attempt(id, cx);
        let code = self.jobs.at(id).exit_code().unwrap_or(0);
        self.note_code(id, code);
        self.check_terminated(id, cx);
    }

    /// Answers the parent of a failed job once every daemon with processes of it has tried to start them, or is gone:
    /// when all were started, the spawn counts as a success. The other daemons that hear of the launch are not waited
    /// for, because nobody can meet the processes of a failed job.
    fn answer_attempt(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        if !job.launch().is_some_and(Launch::is_attempted) {
            return;
        }
        let is_lost = |rank: &Rank| job.proc(*rank).is_none_or(|proc| proc.pid.is_none());
        let result = match () {
            () if job.lost.iter().any(is_lost) => Err(PMIX_ERR_LOST_CONNECTION),
            // The parent would wait for the contact of its children.
            () if job.spec.pmi1.is_some() => Err(PMIX_ERR_JOB_FAILED_TO_LAUNCH),
            () => Ok(()),
        };
        self.answer_spawn(id, result, cx);
    }

    /// Answers the parent of a job that cannot start for another reason than the failure of a process.
    pub(super) fn refuse_spawn(&mut self, id: JobId, status: PmixStatus, cx: &mut Cx) {
        self.answer_spawn(id, Err(status), cx);
        self.check_terminated(id, cx);
    }

    /// Tells the parent that a job is over, if it has heard that the job runs.
    pub(super) fn tell_parent(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let Birth::Spawned { parent } = job.birth else { return };
        let code = job.exit_code().unwrap_or(0);
        let daemon = self.jobs.get(parent.job).and_then(|of| of.map().daemon_of(parent.rank));
        let is_there = |rank: &DaemonRank| self.pool.node_of(*rank).is_some();
        if let Some(daemon) = daemon.filter(is_there) {
            cx.send(daemon, DaemonMessage::SpawnedEnded { parent, job: id, code });
        }
    }

    /// Spreads a failure or kill through the spawn tree: answers a parent that waits, keeps the exit code, ends the
    /// children.
    pub(super) fn fail_in_tree(&mut self, id: JobId, state: JobState, code: u8, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let (root, status) = (job.root, spawn_status(state));
        // The failure of a started process does not answer whether the job could be started.
        match state.failure() {
            Some(JobFailure::Process) => self.answer_attempt(id, cx),
            _ => self.answer_spawn(id, Err(status), cx),
        }
        if !self.jobs.trees.open.contains_key(&root) {
            return;
        }
        self.note_code(id, code);
        let children: Vec<JobId> = self.jobs.children(id).filter(|child| self.jobs.at(*child).root == root).collect();
        for child in children {
            let text = format!("Job {id}, which has spawned it, failed.");
            self.end_job(child, JobState::KilledByCmd, INTERRUPTED, text, cx);
        }
    }

    /// A sentence for the user about jobs that go on after a spawned job has failed.
    pub(super) fn who_goes_on(&self, id: JobId) -> Option<String> {
        let Birth::Spawned { parent } = self.jobs.at(id).birth else {
            return None;
        };
        let parent = self.jobs.get(parent.job).filter(|job| job.is_healthy() && !job.is_over())?;
        Some(format!("\nJob {}, which has spawned it, goes on.", parent.id))
    }

    /// True when the failures of spawned jobs of a tree are failures of the tree.
    pub(super) fn counts_spawned(&self, root: JobId) -> bool {
        let root_only = self.jobs.trees.open.get(&root).is_some_and(|tree| tree.counts_root_only);
        !root_only && !self.params.flag("prte_report_child_jobs_separately").unwrap_or(false)
    }

    /// Keeps the first failure of a tree as its result. A failed spawn whose parent was told, or is about to be told,
    /// does not count.
    fn note_code(&mut self, id: JobId, code: u8) {
        let Job { root, birth, .. } = *self.jobs.at(id);
        let counts = match birth {
            Birth::Submitted { .. } => true,
            Birth::Spawned { .. } => self.counts_spawned(root),
            Birth::Awaited { .. } | Birth::Refused { .. } => false,
        };
        if let (Some(tree), true) = (self.jobs.trees.open.get_mut(&root), counts)
            && code != 0
        {
            tree.code.get_or_insert(code);
        }
    }

    /// Replies to the submitter of a job that is over. While other jobs of its spawn tree run, the reply waits.
    pub(super) fn reply_to_submitter(&mut self, id: JobId, cx: &mut Cx) {
        let Some(request) = self.jobs.at_mut(id).request.take() else { return };
        if let Some((exit_code, job)) = self.leave_tree(id) {
            self.jobs.submitted.remove(&request);
            cx.reply(request, Reply::Done(Done { exit_code, job }));
        }
    }

    /// Takes a job that is over out of its tree: the exit code and last status for the submitter, unless other jobs
    /// of the tree go on.
    fn leave_tree(&mut self, id: JobId) -> Option<(u8, Option<JobStatus>)> {
        let job = self.jobs.at(id);
        let (root, code, line) = (job.root, job.exit_code().unwrap_or(0), self.job_status(job));
        if !self.jobs.trees.open.contains_key(&root) {
            return Some((code, Some(line)));
        }
        self.note_code(id, code);
        // Each job gives its request up as it leaves.
        let others = self.jobs.tree_of(root).into_iter().any(|other| self.jobs.at(other).request.is_some());
        let tree = self.jobs.trees.open.get_mut(&root)?;
        if id == root {
            tree.last = Some(line);
        }
        // The submitter of its ancestor gets the reply of that tree.
        if others || tree.is_separate { None } else { Some((tree.code.unwrap_or(0), tree.last.take())) }
    }

    /// The exit code of a DVM that lives for one job, when the removed job was its last: the code of the submitted
    /// tree, whichever job ran last.
    pub(super) fn code_after(&mut self, job: &Job) -> u8 {
        let tree = self.jobs.trees.open.get(&job.root);
        // The result of a DVM for one job is not that of what tools have started.
        if job.is_own && job.takes_slots() && tree.is_none_or(|tree| !tree.is_separate) {
            let of_job = job.exit_code().unwrap_or(0);
            self.jobs.trees.submitted = tree.map_or(of_job, |tree| tree.code.unwrap_or(0));
        }
        if self.jobs.tree_of(job.root).is_empty() {
            self.jobs.trees.open.remove(&job.root);
        }
        self.jobs.trees.submitted
    }

    /// The jobs whose processes may meet those of this one: those of its own tree and of its parent's.
    fn kin_of(&self, job: &Job) -> Vec<JobId> {
        let parents = job.birth.parent().and_then(|parent| self.jobs.get(parent.job)).map(|parent| parent.root);
        let apart = parents.filter(|root| *root != job.root).map(|root| self.jobs.tree_of(root)).unwrap_or_default();
        self.jobs.tree_of(job.root).into_iter().chain(apart).filter(|kin| *kin != job.id).collect()
    }

    /// The daemons that have to know a job before its launch: its own, and those of its kin, whose processes may join
    /// it in a collective. Its kin are first made known to its daemons.
    pub(super) fn audience(&mut self, id: JobId, cx: &mut Cx) -> RankSet {
        let job = self.jobs.at(id);
        let (root, hosts, kin) = (job.root, job.map().daemons(), self.kin_of(job));
        if !self.jobs.trees.open.contains_key(&root) {
            return hosts;
        }
        let mut audience = hosts.clone();
        for other in kin {
            self.introduce(other, &hosts, cx);
            audience.insert_all(&self.known_at(other));
        }
        self.pool.reachable(&audience)
    }

    /// Lets the daemons of two jobs know each other's job, because their processes may meet in a collective.
    pub(in crate::head) fn acquaint(&mut self, one: JobId, other: JobId, cx: &mut Cx) {
        for (job, to) in [(one, other), (other, one)] {
            let daemons = self.known_at(to);
            self.introduce(job, &daemons, cx);
        }
    }

    /// The daemons that have been sent the job.
    fn known_at(&self, id: JobId) -> RankSet {
        self.jobs.get(id).map(Job::known_at).unwrap_or_default()
    }

    /// Makes a running job known to daemons that host none of its processes.
    fn introduce(&mut self, id: JobId, to: &RankSet, cx: &mut Cx) {
        let Some(job) = self.jobs.get(id).filter(|job| !job.is_over()) else {
            return;
        };
        let Some(launch) = job.launch() else { return };
        let strangers: RankSet = to.iter().filter(|rank| !launch.known_at.contains(*rank)).collect();
        if strangers.is_empty() {
            return;
        }
        let strangers = self.pool.reachable(&strangers);
        let order = self.launch_order(job, Vec::new());
        cx.multicast(Dest::Many(strangers.clone()), DaemonMessage::Launch(order.into()));
        if let Some(launch) = self.jobs.get_mut(id).and_then(Job::launch_mut) {
            launch.known_at.insert_all(&strangers);
        }
        self.introduce_sets(id, &strangers, cx);
    }

    /// The order by which daemons learn of a job, with its session (spec S35).
    pub(super) fn launch_order(&self, job: &Job, env: Vec<EnvOp>) -> LaunchOrder {
        LaunchOrder {
            job: job.id,
            parent: job.birth.parent(),
            session: job.session,
            // The files are at the nodes by now.
            spec: JobSpec { preload: Vec::new(), ..(*job.spec).clone() },
            map: (**job.map()).clone(),
            env,
            rank_offset: job.launch().map_or(0, |launch| launch.rank_offset),
            univ_size: self.pool.slots(),
            exit_without_sync_ok: self.params.flag("prte_allowed_exit_without_sync").unwrap_or(false),
            devices: self.config.topology.as_ref().map(|topology| topology.devices.clone()),
        }
    }
}

/// The status that the parent gets for a job that failed in this state.
fn spawn_status(state: JobState) -> PmixStatus {
    match state.failure() {
        Some(JobFailure::NoRoom) => PMIX_ERR_OUT_OF_RESOURCE,
        Some(JobFailure::NoNodes) => PMIX_ERR_JOB_ALLOC_FAILED,
        Some(JobFailure::LostDaemon) => PMIX_ERR_LOST_CONNECTION,
        Some(JobFailure::Order) => PMIX_ERR_JOB_KILLED_BY_CMD,
        Some(JobFailure::Start | JobFailure::Process) | None => PMIX_ERR_JOB_FAILED_TO_LAUNCH,
    }
}

/// Fills in a spawned job's unstated directories, environment, output and, where requested, placement from its
/// parent. The standard input of the submitter stays that of the submitted job.
fn take_over(submission: &mut Submission, id: JobId, parent: &Job, rank: Rank, params: &Params) {
    let spec = &mut submission.spec;
    let app = parent.map().procs.get(rank.0 as usize).and_then(|place| parent.spec.apps.get(usize::from(place.app)));
    for (own, app) in spec.apps.iter_mut().filter(|own| own.submit_dir.is_empty()).zip(app.into_iter().cycle()) {
        own.submit_dir.clone_from(&app.submit_dir);
        own.wdir = own.wdir.take().or_else(|| app.wdir.clone());
    }
    submission.env = parent.env.iter().cloned().chain(submission.env.drain(..)).collect();
    submission.detach = false;
    submission.launcher.clone_from(&parent.launcher);
    submission.priority = parent.priority;
    if submission.personality.is_empty() {
        submission.personality.clone_from(&parent.personality);
    }
    let placement = app.and_then(|app| app.map.as_ref()).unwrap_or(&parent.spec.map);
    let is_member = !submission.separate && parent.spec.options.elastic.is_some();
    let kinship = if is_member { Kinship::Member } else { Kinship::Child };
    placement_defaults::from_parent(spec, placement, kinship, params);
    placement_defaults::from_params(spec, params);
    spec.stdin.get_or_insert(StdinTarget::None);
    spec.options.fwd_environment = parent.spec.options.fwd_environment;
    if is_member {
        spec.options.elastic = parent.spec.options.elastic;
        // Each process of an elastic job takes what its first ones take, and has their variables (spec E71).
        for (own, app) in spec.apps.iter_mut().zip(app.into_iter().cycle()) {
            if own.takes.is_empty() {
                own.takes.clone_from(&app.takes);
            }
            own.env = added_to(&app.env, std::mem::take(&mut own.env));
        }
        spec.options.grace = parent.spec.options.grace;
    }
    if spec.output == OutputOptions::default() {
        spec.output = parent.spec.output.clone();
        // Each job has its own files: their names have its namespace, unless a pattern leaves it out.
        if spec.output.pattern {
            let own = |file: String| if file.contains("%n") { file } else { format!("{file}.{id}") };
            spec.output.file = spec.output.file.take().map(own);
        }
    }
}

/// The changes of `first` that `then` does not make itself, and those of `then`. With each generation of a job the list
/// becomes no longer than there are variables (spec E71).
fn added_to(first: &[EnvOp], then: Vec<EnvOp>) -> Vec<EnvOp> {
    let sets = |name: &str| then.iter().any(|op| matches!(op, EnvOp::Set(own, _) if own == name));
    let is_moot = |op: &EnvOp| then.contains(op) || matches!(op, EnvOp::Set(name, _) if sets(name));
    let kept: Vec<EnvOp> = first.iter().filter(|op| !is_moot(op)).cloned().collect();
    kept.into_iter().chain(then).collect()
}
