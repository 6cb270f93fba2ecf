//! Reactions to failures: which job each one ends, with which exit code and message.

use ferrite_types::{JobId, JobState, ProcId, ProcState, Rank};
use ferrite_wire::{DaemonMessage, Dest, InitState, ProcEnd, ProcFailure, StartError};

use super::aborts;
use super::failure_policy::Failure;
use super::notices;
use super::phase::ProcRecord;
use super::record::Job;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::pmix_status::{PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_JOB_KILLED_BY_CMD, PMIX_ERR_TIMEOUT};

/// Exit code of a job that ran into its time limit: the same as that of timeout(1).
const TIMEOUT_CODE: u8 = 124;

/// A job that is over without a failure gets none any more: its submitter may have its reply.
fn assert_goes_on(job: &Job, state: JobState) {
    debug_assert!(!job.is_over(), "job {} is {} and cannot enter {state}", job.id, job.state);
}

impl Head {
    /// Handles processes that have ended and whose output is complete.
    pub(in crate::head) fn on_procs_ended(&mut self, id: JobId, ends: &[ProcEnd], cx: &mut Cx) {
        if self.jobs.get(id).is_none() {
            return self.counters.count(Counted::Late(Late::End));
        }
        let survived = ends.iter().filter_map(|end| self.on_proc_end(id, end, cx)).collect();
        self.tell_survivors(id, survived, cx);
        self.check_terminated(id, cx);
        self.free_slots_of_elastic(id, ends, cx);
    }

    /// Handles the end of a process. Returns the failure when the job goes on in spite of it (spec L29).
    fn on_proc_end(&mut self, id: JobId, end: &ProcEnd, cx: &mut Cx) -> Option<ProcFailure> {
        let job = self.jobs.at_mut(id);
        let survives_losses = job.survives_losses();
        let ProcRecord { pid, .. } = job.launch_mut()?.on_ended(end.rank, end.state)?;
        let daemon = job.map().daemon_of(end.rank);
        self.tell_of_end(ProcId { job: id, rank: end.rank }, end.state.is_error(), Some(end.status.code()), cx);
        // Processes by which the job is to become smaller end as they like, or as they are ordered (spec E58).
        let proc = ProcId { job: id, rank: end.rank };
        if end.state.is_error() && end.state != ProcState::CalledAbort && self.elastic.retires(proc) {
            self.close_lines(proc, cx);
            self.pmix.purge_failed(proc, cx);
            return Some(failure(end, None));
        }
        if end.state == ProcState::KilledByCmd && daemon.is_some_and(|daemon| self.is_doomed(id, daemon)) {
            self.take_procs(id, &[end.rank], survives_losses, cx);
            return Some(failure(end, None));
        }
        self.close_lines(proc, cx);
        let job = self.jobs.at(id);
        let harmless = end.state == ProcState::TermNonZero && !job.spec.options.error_nonzero_status;
        let consequence = consequence(end).filter(|_| !harmless && job.is_healthy());
        if consequence.is_some()
            && let Some(daemon) = self.restarts_on(job, end)
        {
            self.restart(id, end, pid, daemon, cx);
            return None;
        }
        if end.state.is_error() {
            self.pmix.purge_failed(proc, cx)
        } else {
            self.pmix.purge_proc(proc, cx)
        }
        let (state, code) = consequence?;
        let job = self.jobs.at(id);
        let mut text = notices::proc_end(job, end, pid);
        if job.cannot_restart(end) {
            text.push_str(notices::NO_RESTART);
        }
        let survived = job.survives_ends();
        self.on_failure(id, Failure { state, code, text }, survived, cx);
        survived.then(|| failure(end, Some(end.status.code())))
    }

    /// Ends a job with start failures, whatever its policy is (spec L23).
    pub(super) fn on_start_failures(&mut self, id: JobId, failed: Vec<(Rank, StartError)>, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let launch = job.launch_mut().expect("only a launched job has processes that could not be started");
        let mut fresh = failed;
        fresh.retain(|(rank, _)| launch.on_ended(*rank, ProcState::FailedToStart).is_some());
        if let Some((rank, error)) = fresh.first() {
            let node = job.map().node_of(*rank).map_or("", |n| n.name.as_str());
            let text = notices::start_failure(id, *rank, node, job.program_of(*rank), error, fresh.len());
            self.fail_job(id, JobState::FailedToStart, 1, text, cx);
            let job = self.jobs.at(id);
            if job.state == JobState::FailedToStart && job.cannot_be_launched() {
                self.activate(id, JobState::CannotLaunch, cx);
            }
            self.refuse_spawn(id, PMIX_ERR_JOB_FAILED_TO_LAUNCH, cx);
        }
        self.check_terminated(id, cx);
    }

    /// Handles a process's call of abort (spec L30).
    pub(in crate::head) fn on_abort(&mut self, proc: ProcId, code: i32, message: &str, cx: &mut Cx) {
        let Some(job) = self.jobs.get(proc.job) else {
            return self.counters.count(Counted::Late(Late::Abort));
        };
        let text = notices::abort(job, proc.rank, code, message);
        self.fail_job(proc.job, JobState::Aborted, aborts::shown(code), text, cx);
    }

    /// Ends a job that has reached its time limit (spec L31).
    pub(in crate::head) fn on_job_timeout(&mut self, id: JobId, cx: &mut Cx) {
        if self.jobs.get(id).is_some() && !self.gather_stacks(id, cx) {
            self.time_is_over(id, cx);
        }
    }

    /// Ends a job whose time is over, after the stacks of its processes if they are wanted.
    pub(super) fn time_is_over(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        if job.is_over() {
            return;
        }
        let seconds = job.spec.options.timeout.map_or(0, |t| t.as_micros() / 1_000_000);
        let states = if job.spec.options.report_state_on_timeout { notices::states(job) } else { String::new() };
        self.fail_job(id, JobState::KilledByCmd, TIMEOUT_CODE, notices::timeout(seconds, &states), cx);
    }

    pub(in crate::head) fn on_spawn_timeout(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get(id) else {
            return;
        };
        let seconds = job.spec.options.spawn_timeout.map_or(0, |t| t.as_micros() / 1_000_000);
        self.answer_spawn(id, Err(PMIX_ERR_TIMEOUT), cx);
        self.fail_job(id, JobState::KilledByCmd, TIMEOUT_CODE, notices::spawn_timeout(seconds), cx);
    }

    /// Ends a job and tells its submitter. The first failure sets message and code; the remaining processes are
    /// killed.
    pub(in crate::head) fn fail_job(&mut self, id: JobId, state: JobState, code: u8, text: String, cx: &mut Cx) {
        let job = self.jobs.at(id);
        if let Some(request) = job.request.filter(|_| job.is_healthy()) {
            let more = self.who_ends_too(id).or_else(|| self.who_goes_on(id)).unwrap_or_default();
            cx.notice_to(request, format!("{text}{more}"));
        }
        self.end_job(id, state, code, text, cx);
    }

    /// Ends a job without notifying its submitter, who is told by another path (spec L26).
    pub(super) fn end_job(&mut self, id: JobId, state: JobState, code: u8, text: String, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        if !job.is_healthy() {
            if state == JobState::KilledByCmd {
                self.refuse_spawn(id, PMIX_ERR_JOB_KILLED_BY_CMD, cx);
            }
            return;
        }
        assert_goes_on(job, state);
        if let Some(launch) = job.launch_mut() {
            launch.stdin.stop();
        }
        if let Some(transfer) = &mut job.transfer {
            transfer.stop();
        }
        cx.cancel_timer(HeadTimer::JobTimeout(id));
        cx.cancel_timer(HeadTimer::SpawnTimeout(id));
        job.set_outcome(code, text);
        let (launched, hosts) = (job.is_launched(), job.map().daemons());
        if self.jobs.gatherings.end(id) {
            cx.cancel_timer(HeadTimer::Stacks(id));
        }
        self.activate(id, state, cx);
        if launched {
            let hosts = self.pool.reachable(&hosts);
            cx.multicast(Dest::Many(hosts), DaemonMessage::Kill(id));
        } else {
            self.jobs.queue.remove(id);
        }
        self.fail_in_tree(id, state, code, cx);
        self.fail_connected(id, code, cx);
        self.check_terminated(id, cx);
    }

    /// Moves a job without living processes to TERMINATED (spec L34).
    pub(super) fn check_terminated(&mut self, id: JobId, cx: &mut Cx) {
        let over = |state| matches!(state, JobState::Terminated | JobState::NotifyCompleted | JobState::Notified);
        let job = self.jobs.at(id);
        // The job ends after the answer to its parent, which may wait for daemons without its processes as well.
        if job.all_ended() && (job.is_launched() || !job.is_healthy()) && !job.birth.is_awaited() && !over(job.state) {
            self.settle(id, cx);
            self.activate(id, JobState::Terminated, cx);
        }
    }
}

/// The job state and exit code for an abnormal end (spec L28).
fn consequence(end: &ProcEnd) -> Option<(JobState, u8)> {
    let code = end.status.code();
    match end.state {
        ProcState::TermNonZero => Some((JobState::NonZeroTerm, code)),
        ProcState::AbortedBySig => Some((JobState::AbortedBySig, code)),
        // Exit code 0 without finalize is an error too.
        ProcState::TermWoSync => Some((JobState::AbortedWoSync, code.max(1))),
        ProcState::KilledByCmd => Some((JobState::KilledByCmd, code.max(1))),
        ProcState::CalledAbort => Some((JobState::CalledAbort, code.max(1))),
        ProcState::CommFailed => Some((JobState::CommFailed, 1)),
        ProcState::FailedToStart => Some((JobState::FailedToStart, 1)),
        ProcState::Init
        | ProcState::Running
        | ProcState::Registered
        | ProcState::IofComplete
        | ProcState::WaitpidFired
        | ProcState::ReadyForDebug
        | ProcState::Unterminated
        | ProcState::Terminated
        | ProcState::Error => None,
    }
}

/// The failure that the survivors of a job hear of.
fn failure(end: &ProcEnd, code: Option<u8>) -> ProcFailure {
    let without_finalize = end.init == InitState::Initialized;
    ProcFailure { rank: end.rank, state: end.state, code, without_finalize }
}
