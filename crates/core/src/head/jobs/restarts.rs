//! Failed processes that are started again on their nodes, as often as their job allows (`--max-restarts`).

use ferrite_types::{DaemonRank, JobId, ProcId, ProcState, Rank};
use ferrite_wire::{DaemonMessage, Dest, EventInfo, EventRange, EventSource, InitState, PmixEvent, ProcEnd, Restart};

use super::notices;
use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::PMIX_ERR_PROC_RESTART;

impl Job {
    /// The number of times that this process was started again.
    fn restarts_of(&self, rank: Rank) -> u32 {
        self.restarts.get(&rank).copied().unwrap_or(0)
    }

    /// The number of restarts of all its processes.
    pub(super) fn all_restarts(&self) -> u32 {
        self.restarts.values().sum()
    }

    /// True when a failed process would be started again if it had not called init: its library cannot come back.
    pub(super) fn cannot_restart(&self, end: &ProcEnd) -> bool {
        self.allows_restart(end) && end.init != InitState::Never
    }

    /// True when the process has ended by itself and its restarts are not used up. A process that waits for a debugger
    /// at its start is not started again.
    fn allows_restart(&self, end: &ProcEnd) -> bool {
        let by_itself = !matches!(end.state, ProcState::FailedToStart | ProcState::KilledByCmd);
        by_itself && self.spec.stop.is_none() && self.restarts_of(end.rank) < self.spec.options.max_restarts
    }
}

impl Head {
    /// The daemon that starts the process again after this failure; none when it is not started again (spec L81).
    pub(super) fn restarts_on(&self, job: &Job, end: &ProcEnd) -> Option<DaemonRank> {
        let stays = |daemon| self.pool.node_of(daemon).is_some() && !self.is_doomed(job.id, daemon);
        let is_allowed = end.init == InitState::Never && job.allows_restart(end);
        job.map().daemon_of(end.rank).filter(|daemon| is_allowed && stays(*daemon))
    }

    /// Orders a restart, counts it, and tells the submitter of it. The job does not end before the process has ended
    /// again (spec L82).
    pub(super) fn restart(&mut self, id: JobId, end: &ProcEnd, pid: Option<u32>, daemon: DaemonRank, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        *job.restarts.entry(end.rank).or_default() += 1;
        let count = job.restarts_of(end.rank);
        let mut text = notices::proc_end(job, end, pid);
        text.push_str(&notices::restarted(count, job.spec.options.max_restarts));
        if let Some(launch) = job.launch_mut() {
            launch.on_restart(end.rank);
        }
        let (request, tells) = (job.request, job.spec.options.announces_failures());
        if let Some(request) = request {
            cx.notice_to(request, text);
        }
        let proc = ProcId { job: id, rank: end.rank };
        cx.multicast(Dest::One(daemon), DaemonMessage::Restart(Restart { proc, count }));
        if tells {
            let info = EventInfo::Proc { proc, code: None };
            let event = PmixEvent { code: PMIX_ERR_PROC_RESTART, source: EventSource::Dvm, info };
            self.raise(event, EventRange::Job(id), cx);
        }
    }

    /// Handles the start of a process that was started again.
    pub(in crate::head) fn on_restarted(&mut self, proc: ProcId, pid: u32) {
        if let Some(launch) = self.jobs.get_mut(proc.job).and_then(Job::launch_mut) {
            launch.on_started(proc.rank, pid);
        }
    }
}
