//! The stacks of processes of a job whose time is over. The daemons take them; the submitter reads them before the job
//! is ended. The wait has a limit of its own, so that no debugger keeps the job alive.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ferrite_types::{DaemonRank, Duration, JobId, ProcId, printable};
use ferrite_wire::{DaemonMessage, Dest};

use super::notices;
use super::record::Job;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::head::lists::listed;

/// Bytes of stacks of one job that all daemons together may send, which bounds the head's memory.
const MOST_OF_JOB: usize = 16 << 20;
const LEAST_OF_DAEMON: usize = 4 << 10;
const MOST_OF_DAEMON: usize = 1 << 20;
/// The usual time for the stacks (seconds, `prte_timeout_for_stack_trace`).
const USUAL_LIMIT_S: u32 = 30;

/// The jobs that wait for the stacks of their processes and of those of the jobs that they have spawned: for each, the
/// daemons that have not taken all stacks of their processes of a job.
#[derive(Debug, Default)]
pub(super) struct Gatherings(BTreeMap<JobId, BTreeSet<(JobId, DaemonRank)>>);

impl Gatherings {
    /// True when a job waits for stacks of this one.
    fn awaits(&self, of: JobId) -> bool {
        self.0.values().flatten().any(|(job, _)| *job == of)
    }

    /// Ends the wait of a job. False when it did not wait.
    pub(super) fn end(&mut self, id: JobId) -> bool {
        self.0.remove(&id).is_some()
    }
}

impl Head {
    /// Asks for the stacks of a job whose time is over, if they are wanted (spec L50). False when there is nothing to
    /// wait for.
    pub(super) fn gather_stacks(&mut self, id: JobId, cx: &mut Cx) -> bool {
        let job = self.jobs.at(id);
        if !job.spec.options.stack_traces || !job.is_healthy() || job.is_over() {
            return false;
        }
        let is_meant = |other: &&Job| {
            (other.id == id || other.ancestors.contains(&id)) && other.is_launched() && !other.all_ended()
        };
        let hosts = |job: &Job| (job.id, self.pool.reachable(&job.map().daemons()));
        let asked: Vec<_> = self.jobs.iter().filter(is_meant).map(hosts).collect();
        let waits_for: BTreeSet<_> =
            asked.iter().flat_map(|(job, daemons)| daemons.iter().map(|daemon| (*job, daemon))).collect();
        if waits_for.is_empty() {
            return false;
        }
        let most = (MOST_OF_JOB / waits_for.len()).clamp(LEAST_OF_DAEMON, MOST_OF_DAEMON) as u32;
        let limit = self.params.number("prte_timeout_for_stack_trace").unwrap_or(USUAL_LIMIT_S);
        let limit = Duration::from_secs(limit.into());
        for (job, daemons) in asked {
            cx.multicast(Dest::Many(daemons), DaemonMessage::TakeStacks { job, limit, most });
        }
        // Daemons give up at the limit; what they have by then is on its way.
        cx.set_timer(HeadTimer::Stacks(id), cx.now + limit + Duration::from_secs(1));
        self.jobs.gatherings.0.insert(id, waits_for);
        true
    }

    /// Shows the stack of a process to the submitter.
    pub(in crate::head) fn on_stack(&mut self, proc: ProcId, text: &Bytes, cx: &mut Cx) {
        let is_late = !self.jobs.gatherings.awaits(proc.job);
        let Some(job) = self.jobs.get_mut(proc.job).filter(|_| !is_late) else {
            return self.counters.count(Counted::Late(Late::Stack));
        };
        job.stacks_taken += 1;
        let text = notices::stack(job, proc.rank, &String::from_utf8_lossy(text));
        if let Some(request) = job.request {
            cx.notice_to(request, text);
        }
    }

    /// Notes that a daemon has taken the stacks of its processes of a job.
    pub(in crate::head) fn on_stacks_taken(
        &mut self,
        daemon: DaemonRank,
        of: JobId,
        obstacle: Option<String>,
        cx: &mut Cx,
    ) {
        let mut gatherings = self.jobs.gatherings.0.iter();
        let Some(id) = gatherings.find(|(_, waits_for)| waits_for.contains(&(of, daemon))).map(|(id, _)| *id) else {
            return self.counters.count(Counted::Late(Late::Stack));
        };
        if let Some(obstacle) = obstacle {
            let job = self.jobs.at(of);
            let text = format!("No stacks from node {}: {}.", self.node_name(daemon), printable(&obstacle));
            if let Some(request) = job.request {
                cx.notice_to(request, text);
            }
        }
        self.expect_no_stacks([id], |waited| *waited == (of, daemon), cx);
    }

    /// Expects no stacks of a daemon that is lost or has left.
    pub(super) fn lose_stacks(&mut self, daemon: DaemonRank, cx: &mut Cx) {
        self.expect_no_stacks(self.gathering_jobs(), |(_, waited)| *waited == daemon, cx);
    }

    /// Ends the wait of a job that is over, and expects no stacks of it.
    pub(super) fn forget_stacks(&mut self, of: JobId, cx: &mut Cx) {
        self.jobs.gatherings.end(of);
        self.expect_no_stacks(self.gathering_jobs(), |(waited, _)| *waited == of, cx);
    }

    /// Ends the wait of a job for stacks, and the job with it.
    pub(in crate::head) fn on_stacks_deadline(&mut self, id: JobId, cx: &mut Cx) {
        let Some(waits_for) = self.jobs.gatherings.0.remove(&id) else { return };
        let late: BTreeSet<DaemonRank> = waits_for.into_iter().map(|(_, daemon)| daemon).collect();
        let names = listed(late.into_iter().map(|daemon| self.node_name(daemon)));
        if let Some(request) = self.jobs.at(id).request {
            let what = format!("Not all stacks of node {names} came within the limit (prte_timeout_for_stack_trace).");
            cx.notice_to(request, what);
        }
        self.time_is_over(id, cx);
    }

    /// The nodes whose stacks a job waits for, in words.
    pub(super) fn awaited_stacks(&self, job: &Job) -> Option<String> {
        let waits_for = self.jobs.gatherings.0.get(&job.id)?;
        let late: BTreeSet<DaemonRank> = waits_for.iter().map(|(_, daemon)| *daemon).collect();
        let names = listed(late.into_iter().map(|daemon| self.node_name(daemon)));
        Some(format!("the stacks of its processes on {names}; its time is over"))
    }

    /// The jobs that wait for stacks.
    fn gathering_jobs(&self) -> Vec<JobId> {
        self.jobs.gatherings.0.keys().copied().collect()
    }

    fn expect_no_stacks(
        &mut self,
        ids: impl IntoIterator<Item = JobId>,
        is_gone: impl Fn(&(JobId, DaemonRank)) -> bool,
        cx: &mut Cx,
    ) {
        for id in ids {
            // The end of the wait of one job may have ended that of another.
            let Some(waits_for) = self.jobs.gatherings.0.get_mut(&id) else { continue };
            waits_for.retain(|waited| !is_gone(waited));
            if waits_for.is_empty() {
                self.jobs.gatherings.end(id);
                cx.cancel_timer(HeadTimer::Stacks(id));
                self.time_is_over(id, cx);
            }
        }
    }
}
