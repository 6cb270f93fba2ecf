//! The states of a job: one handler per state of the table (docs/spec/launch.md).

use ferrite_rm::Source;
use ferrite_types::{DaemonRank, Duration, JobId, JobState, PmixStatus, Rank, SessionId};
use ferrite_wire::control::{Reply, Submission};
use ferrite_wire::{DaemonMessage, Dest, StartError};

use super::phase::Launch;
use super::record::Job;
use super::{notices, placement_defaults};
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::head::dvm::INTERRUPTED;
use crate::head::elastic::JobAllocation;
use crate::pmix_status::PMIX_ERR_BAD_PARAM;
use crate::{Effect, HeadTimer, RequestId};

/// The time that the daemons of a debugger have, in a DVM for one job, to end after that job.
const COMPANIONS_LEAVE: Duration = Duration::from_secs(5);

/// Refuses a submission before it becomes a job.
pub(super) fn refuse(request: RequestId, status: PmixStatus, cause: String, cx: &mut Cx) {
    cx.effect(Effect::Launched { request, result: Err(status) });
    cx.reply(request, Reply::Refused(cause));
}

impl Head {
    /// Enters a state: records and traces it at once; its handler runs in turn.
    pub(in crate::head) fn activate(&mut self, id: JobId, to: JobState, cx: &mut Cx) {
        if id == JobId::DAEMONS {
            self.dvm.enter(to, cx);
        } else {
            let job = self.jobs.at_mut(id);
            let from = (job.state != to).then_some(job.state);
            job.state = to;
            job.states.push((to, cx.now));
            cx.trace_job(id, from, to);
        }
        self.jobs.activated.push_back((id, to));
    }

    pub(in crate::head) fn run_activated(&mut self, cx: &mut Cx) {
        loop {
            while let Some((id, state)) = self.jobs.activated.pop_front() {
                self.enter_state(id, state, cx);
            }
            // Only now is every due job launched.
            if !self.open_queued(cx) {
                break;
            }
        }
    }

    /// Handles a state of a job or of the DVM, which is job 0: the next state follows, or the job waits (spec L3).
    fn enter_state(&mut self, id: JobId, state: JobState, cx: &mut Cx) {
        let is_dvm = id == JobId::DAEMONS;
        if !is_dvm && self.jobs.get(id).is_none() {
            debug_assert!(false, "job {id} enters {state} after its end");
            return;
        }
        let next = match state {
            JobState::Init => JobState::InitComplete,
            JobState::InitComplete => JobState::Allocate,
            JobState::Allocate => JobState::AllocationComplete,
            JobState::AllocationComplete if is_dvm && self.jobs.only_map() => return self.pretend_daemons(cx),
            JobState::AllocationComplete => JobState::LaunchDaemons,
            JobState::LaunchDaemons if is_dvm => return self.launch_daemons(cx),
            // The DVM is up: no daemon needs a start.
            JobState::LaunchDaemons => JobState::DaemonsReported,
            JobState::DaemonsReported if is_dvm => return self.wire_up(cx),
            JobState::DaemonsReported => JobState::VmReady,
            JobState::VmReady if is_dvm => return self.vm_ready(cx),
            JobState::VmReady => return self.pass_dependencies(id, cx),
            JobState::Map => return self.map_job(id, cx),
            JobState::MapComplete => return self.mapping_complete(id, cx),
            JobState::SystemPrep => return self.prepare(id, cx),
            JobState::LaunchApps => return self.pass_launch_hold(id, cx),
            JobState::SendLaunchMsg => return self.send_launch(id, cx),
            JobState::Running => {
                self.tell_of_start(id, cx);
                return self.post_launch(id, cx);
            }
            JobState::Terminated => JobState::NotifyCompleted,
            JobState::NotifyCompleted => return self.notify(id, cx),
            JobState::Notified => return self.clean_up(id, cx),
            // A job waits in these states for an input, or has ended.
            JobState::DaemonsLaunched
            | JobState::Registered
            | JobState::WaitingForDaemons
            | JobState::LocalLaunchComplete
            | JobState::ReadyForDebug
            | JobState::Started
            | JobState::Unterminated
            | JobState::AllJobsComplete
            | JobState::DaemonsTerminated
            | JobState::Error
            | JobState::KilledByCmd
            | JobState::Aborted
            | JobState::FailedToStart
            | JobState::AbortedBySig
            | JobState::AbortedWoSync
            | JobState::CommFailed
            | JobState::CalledAbort
            | JobState::NeverLaunched
            | JobState::NonZeroTerm
            | JobState::ForcedExit
            | JobState::AllocFailed
            | JobState::MapFailed
            | JobState::CannotLaunch => return,
        };
        self.activate(id, next, cx);
    }

    pub(super) fn dispatch_job(&mut self, request: RequestId, mut submission: Submission, cx: &mut Cx) {
        placement_defaults::from_params(&mut submission.spec, &self.params);
        if let Err(refusal) = self.check_sets(&submission.spec) {
            return refuse(request, refusal.status, refusal.cause, cx);
        }
        let after = match self.resolve(&submission.after) {
            Ok(after) => after,
            Err(cause) => return refuse(request, PMIX_ERR_BAD_PARAM, cause, cx),
        };
        let JobAllocation { session, grows } = match self.allocate_job(&submission, None, cx) {
            Ok(allocation) => allocation,
            Err(reason) => return refuse(request, reason.status, reason.cause, cx),
        };
        let id = self.jobs.number();
        let client = if submission.detach {
            cx.reply(request, Reply::Detached(id));
            None
        } else {
            cx.effect(Effect::Accepted { request, job: id });
            self.jobs.submitted.insert(request, id);
            Some(request)
        };
        self.add_job(Job { session, grows, after, ..Job::new(id, client, submission) }, cx);
        grows.into_iter().for_each(|campaign| self.proceed(campaign, cx));
    }

    /// Starts a job without a submitter in a session.
    pub(in crate::head) fn dispatch_in_session(&mut self, session: SessionId, mut submission: Submission, cx: &mut Cx) {
        placement_defaults::from_params(&mut submission.spec, &self.params);
        if let Err(refusal) = self.check_sets(&submission.spec) {
            return cx.notice(format!("The first job of session {session} is refused.\n{}", refusal.cause));
        }
        let id = self.jobs.number();
        self.add_job(Job { session, ..Job::new(id, None, submission) }, cx);
    }

    /// Adds a job, which enters its first state.
    pub(super) fn add_job(&mut self, job: Job, cx: &mut Cx) {
        let id = job.id;
        self.counters.count(Counted::Submitted);
        self.reserve_sets(id, &job.spec);
        self.jobs.add(job);
        self.activate(id, JobState::Init, cx);
    }

    /// Gives each node the topology of this machine, or of the topology file.
    fn pretend_daemons(&mut self, cx: &mut Cx) {
        self.pool.pretend(&self.local.topology, self.config.allocation.source == Source::Simulated);
        self.activate(JobId::DAEMONS, JobState::DaemonsReported, cx);
    }

    /// SYSTEM_PREP is done: sends the job on to the launch.
    fn prepare(&mut self, id: JobId, cx: &mut Cx) {
        if !self.jobs.at(id).spec.preload.is_empty() {
            return self.preload(id, cx);
        }
        match self.params.number("ferrite_debug_prep_ms").unwrap_or(0) {
            0 => self.activate(id, JobState::LaunchApps, cx),
            ms => cx.set_timer(HeadTimer::Prep(id), cx.now + Duration::from_millis(u64::from(ms))),
        }
    }

    pub(in crate::head) fn on_prepared(&mut self, id: JobId, cx: &mut Cx) {
        if self.jobs.get(id).is_some_and(|job| job.is_healthy() && job.state == JobState::SystemPrep) {
            self.activate(id, JobState::LaunchApps, cx);
        }
    }

    /// Sends the launch order to the hosting daemons and those of the spawn tree (spec L17).
    fn send_launch(&mut self, id: JobId, cx: &mut Cx) {
        if let Some(text) = self.lacks_target(id) {
            return self.fail_job(id, JobState::MapFailed, 1, text, cx);
        }
        let audience = self.audience(id, cx);
        let rank_offset = self.jobs.take_rank_offset(self.jobs.at(id).map().procs.len());
        let job = self.jobs.at_mut(id);
        let ended = job.ended();
        let debugging = job.stopping_daemons();
        job.phase.launch(audience.clone(), ended, rank_offset, debugging);
        let job = self.jobs.at(id);
        // The environment for all jobs of the DVM comes first, so that the job's own wins.
        let order = self.launch_order(job, self.config.env.iter().chain(&job.env).cloned().collect());
        self.launch_sets(&order, &audience);
        cx.multicast(Dest::Many(audience), DaemonMessage::Launch(order.into()));
        self.membership_changes(id);
    }

    /// Handles a daemon's report that it has attempted to start its processes (spec L20).
    pub(in crate::head) fn on_local_launch(
        &mut self,
        daemon: DaemonRank,
        id: JobId,
        started: Vec<(Rank, u32)>,
        failed: Vec<(Rank, StartError)>,
        cx: &mut Cx,
    ) {
        let Some(job) = self.jobs.get_mut(id) else {
            return self.counters.count(Counted::Late(Late::Launch));
        };
        let is_over = job.is_over();
        let Some(launch) = job.launch_mut().filter(|_| !is_over) else {
            return self.counters.count(Counted::Late(Late::Launch));
        };
        if !launch.launching.remove(daemon) {
            return;
        }
        started.iter().for_each(|(rank, pid)| launch.on_started(*rank, *pid));
        let all = launch.launching.is_empty();
        let has_entered = |state| job.states.iter().any(|(entered, _)| *entered == state);
        let first = !has_entered(JobState::Started);
        // A daemon without processes of the job only confirms that it knows the job.
        let first_host = job.is_healthy()
            && !has_entered(JobState::LocalLaunchComplete)
            && job.map().on_daemon(daemon).next().is_some();
        if job.spec.display.bind || !job.spec.display.bind_of.is_empty() {
            self.show_bindings(id, daemon, &started, cx);
        }
        let job = self.jobs.at(id);
        let healthy = job.is_healthy() && failed.is_empty();
        // When all daemons that had to start processes have left, no report comes from them.
        let none_yet = all && first;
        if healthy && ((first && !started.is_empty()) || none_yet) {
            self.activate(id, JobState::Started, cx);
        }
        if first_host {
            self.activate(id, JobState::LocalLaunchComplete, cx);
        }
        if healthy && all {
            self.activate(id, JobState::Running, cx);
            self.note_registered(id, cx);
            self.note_ready_for_debug(id, cx);
        }
        self.on_start_failures(id, failed, cx);
        self.answer_failed_spawn(id, cx);
    }

    fn post_launch(&mut self, id: JobId, cx: &mut Cx) {
        // A job that has waited for a debugger runs for the second time.
        if self.jobs.at(id).states.iter().filter(|(state, _)| *state == JobState::Running).count() > 1 {
            return;
        }
        cx.cancel_timer(HeadTimer::SpawnTimeout(id));
        self.counters.count(self.jobs.at(id).running_since(cx.now));
        self.show_processes(id, cx);
        self.tell_unlimited(id, cx);
        self.start_stdin(id, cx);
        self.answer_spawn(id, Ok(()), cx);
        if self.jobs.has_grace(id) {
            self.watch_deadlines(cx);
        }
        // A short job may be over already.
        self.check_terminated(id, cx);
    }

    /// Handles a daemon's report that all its processes of a job have called init (spec L21).
    pub(in crate::head) fn on_registered(&mut self, daemon: DaemonRank, id: JobId, cx: &mut Cx) {
        let Some(launch) = self.jobs.get_mut(id).and_then(Job::launch_mut) else {
            return self.counters.count(Counted::Late(Late::Init));
        };
        if launch.registering.remove(daemon) {
            self.note_registered(id, cx);
        }
    }

    /// Notes that all processes have called init. A spawned job may be this far before all other daemons have
    /// confirmed that they know it: it then runs first.
    fn note_registered(&mut self, id: JobId, cx: &mut Cx) {
        let is_registered = |job: &Job| job.launch().is_some_and(Launch::is_registered);
        let job = self.jobs.at(id);
        let waits = job.state == JobState::ReadyForDebug;
        if is_registered(job) && job.is_healthy() && !job.is_over() && !waits {
            self.activate(id, JobState::Registered, cx);
        }
    }

    /// Tells the parent and the submitter that a job is over (spec L34).
    fn notify(&mut self, id: JobId, cx: &mut Cx) {
        self.tell_parent(id, cx);
        self.tell_companions(id, cx);
        self.reply_to_submitter(id, cx);
        self.activate(id, JobState::Notified, cx);
    }

    /// Removes a job that is over and keeps its history; a DVM for one job ends with that job and what it has spawned,
    /// and takes the jobs of tools along (spec L35).
    fn clean_up(&mut self, id: JobId, cx: &mut Cx) {
        let mut job = self.jobs.take(id).expect("a job is cleaned up once");
        cx.cancel_timer(HeadTimer::JobTimeout(id));
        cx.cancel_timer(HeadTimer::SpawnTimeout(id));
        cx.cancel_timer(HeadTimer::Prep(id));
        cx.cancel_timer(HeadTimer::Stacks(id));
        self.forget_stacks(id, cx);
        self.remember(self.final_detail(&job), cx);
        self.inherit_sessions(id, cx);
        self.sweep_sessions(cx);
        self.jobs.output.forget(id);
        self.end_pulls(id, cx);
        self.end_feed(id, cx);
        self.jobs.connections.forget(id);
        self.pmix.forget_job(id, cx);
        self.end_sets(id, cx);
        if job.spec.options.elastic.is_some() {
            self.tree_changes(job.root);
        }
        self.jobs.hand_on_whole(&mut job);
        self.release_slots(&job, cx);
        self.end_dependencies(&job, cx);
        let mut known_at = job.known_at();
        if let Some(transfer) = &job.transfer {
            known_at.insert_all(transfer.told());
        }
        if !known_at.is_empty() {
            cx.multicast(Dest::Many(self.pool.reachable(&known_at)), DaemonMessage::Forget(id));
        }
        let code = self.code_after(&job);
        if self.config.persistent {
            return;
        }
        if self.jobs.is_empty() {
            self.dvm.enter(JobState::AllJobsComplete, cx);
            self.shut_down(code, cx);
        } else if !self.jobs.iter().any(|job| job.is_own) {
            if job.is_own && self.jobs.companions().any(Job::is_healthy) {
                // They have just heard of the end of their target.
                cx.set_timer(HeadTimer::Companions, cx.now + COMPANIONS_LEAVE);
            }
            self.end_jobs_of_tools(Job::takes_slots, cx);
        }
    }

    /// Ends these jobs, which tools have started in a DVM for one job: that one is over (spec L35).
    pub(in crate::head) fn end_jobs_of_tools(&mut self, which: fn(&Job) -> bool, cx: &mut Cx) {
        let to_end = |job: &&Job| job.is_healthy() && which(job);
        let alive: Vec<JobId> = self.jobs.iter().filter(to_end).map(Job::id).collect();
        for id in alive {
            // Its end may have been that of another in its tree.
            if self.jobs.get(id).is_some_and(Job::is_healthy) {
                let text = notices::job_of_tool_ended(id);
                // The tool hears of it by the failure.
                cx.notice(text.clone());
                self.fail_job(id, JobState::KilledByCmd, INTERRUPTED, text, cx);
            }
        }
    }
}
