//! Jobs whose processes wait for a debugger (READY_FOR_DEBUG), and their release. The wait has no limit of its own: it
//! belongs to the debugger or the person for whom the processes stop, and the job ends like any other.

use std::collections::BTreeSet;
use std::fmt::Write;

use ferrite_types::{DaemonRank, JobId, JobState, Rank, RankSet};
use ferrite_wire::{DaemonMessage, Dest};

use super::phase::Launch;
use super::record::Job;
use crate::Effect;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};

/// The number of processes that a message lists.
const MOST_LISTED: usize = 64;

/// The processes that were released, whether they waited or not.
#[derive(Debug, Default)]
pub(super) struct Released {
    all: bool,
    ranks: BTreeSet<Rank>,
}

impl Released {
    pub(super) fn has(&self, rank: Rank) -> bool {
        self.all || self.ranks.contains(&rank)
    }
}

impl Job {
    /// True for a process that may come to wait for a debugger.
    pub(super) fn stops(&self, rank: Rank) -> bool {
        self.spec.stop.as_ref().is_none_or(|stop| stop.concerns(rank))
    }

    /// Daemons with processes that may come to wait for a debugger.
    pub(super) fn stopping_daemons(&self) -> RankSet {
        let ranks = self.map().ranks().filter(|(rank, _)| self.stops(*rank));
        ranks.filter_map(|(rank, _)| self.map().daemon_of(rank)).collect()
    }

    /// The number of processes that wait for a debugger, or have waited.
    pub(super) fn count_ready(&self, launch: &Launch) -> u32 {
        let has_said = |rank| self.map().daemon_of(rank).is_some_and(|daemon| !launch.debugging.contains(daemon));
        self.map().ranks().filter(|(rank, _)| self.stops(*rank) && has_said(*rank)).count() as u32
    }

    /// Ranks that are to wait for a debugger and were not released.
    fn unreleased(&self) -> impl Iterator<Item = Rank> + '_ {
        let is_released = |rank| self.launch().is_some_and(|launch| launch.released.has(rank));
        self.living().filter(move |rank| self.stops(*rank) && !is_released(*rank))
    }

    /// The debugger for which the job waits, in words.
    pub(super) fn awaited_debugger(&self) -> Option<String> {
        let stop = self.spec.stop.as_ref().filter(|_| self.is_healthy())?;
        let count = self.unreleased().count();
        let ready = self.state == JobState::ReadyForDebug;
        let what = if ready { "stopped" } else { "to stop" };
        (count > 0).then(|| {
            format!(
                "a debugger, or `pdvm release {}`: {count} of {} processes {what} {}",
                self.id,
                self.size(),
                stop.at.words()
            )
        })
    }
}

impl Head {
    /// Handles a daemon's report that all its processes of a job wait for a debugger.
    pub(in crate::head) fn on_ready_for_debug(&mut self, daemon: DaemonRank, id: JobId, cx: &mut Cx) {
        let running = self.jobs.get_mut(id).filter(|job| !job.is_over());
        let Some(launch) = running.and_then(Job::launch_mut) else {
            return self.counters.count(Counted::Late(Late::Init));
        };
        if launch.debugging.remove(daemon) {
            self.note_ready_for_debug(id, cx);
        }
    }

    /// Notes that all processes wait for a debugger, and tells the requester (spec L55).
    pub(super) fn note_ready_for_debug(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let all_wait = job.launch().is_some_and(|launch| launch.debugging.is_empty() && launch.launching.is_empty());
        let has_waited = job.states.iter().any(|(state, _)| *state == JobState::ReadyForDebug);
        if !all_wait || has_waited || !job.is_healthy() || job.is_over() || job.unreleased().next().is_none() {
            return;
        }
        self.activate(id, JobState::ReadyForDebug, cx);
        let job = self.jobs.at(id);
        if job.spec.stop.is_none() {
            return;
        }
        if let Some(parent) = job.birth.parent() {
            let daemon = self.jobs.get(parent.job).and_then(|of| of.map().daemon_of(parent.rank));
            if let Some(daemon) = daemon.filter(|daemon| self.pool.node_of(*daemon).is_some()) {
                cx.send(daemon, DaemonMessage::SpawnedReady { parent, job: id });
            }
        } else if let Some(request) = job.request {
            let text = self.where_to_attach(job);
            cx.effect(Effect::ReadyForDebug { request, job: id, text });
        }
    }

    /// Lets processes go on that wait for a debugger, or will (spec L56).
    ///
    /// # Errors
    /// A sentence that says why nothing can be released.
    pub(in crate::head) fn release(&mut self, id: JobId, ranks: Option<Vec<Rank>>, cx: &mut Cx) -> Result<(), String> {
        let Some(job) = self.jobs.get_mut(id) else { return Err(format!("There is no job {id}.")) };
        let size = job.size();
        if let Some(rank) = ranks.iter().flatten().find(|rank| rank.0 as usize >= size) {
            return Err(format!("Job {id} has no rank {rank}: it has {size} processes."));
        }
        let may_stop = job.spec.stop.is_some() || job.state == JobState::ReadyForDebug;
        let Some(launch) = job.launch_mut() else {
            return Err(format!("Job {id} has no processes yet; ask again when `pdvm job {id}` shows that they wait."));
        };
        if !may_stop {
            return Err(format!(
                "No process of job {id} waits for a debugger (--stop-in-init and its like make them)."
            ));
        }
        match &ranks {
            None => launch.released.all = true,
            Some(ranks) => launch.released.ranks.extend(ranks),
        }
        let hosts = launch.map().daemons();
        cx.multicast(Dest::Many(self.pool.reachable(&hosts)), DaemonMessage::Release { job: id, ranks });
        let job = self.jobs.at(id);
        if job.state == JobState::ReadyForDebug && job.unreleased().next().is_none() {
            let registered = job.launch().is_some_and(Launch::is_registered);
            self.activate(id, if registered { JobState::Registered } else { JobState::Running }, cx);
        }
        Ok(())
    }

    /// The message about the processes of a job that wait: their places, and the way to let them go on.
    fn where_to_attach(&self, job: &Job) -> String {
        let at = job.spec.stop.as_ref().map_or("", |stop| stop.at.words());
        let mut text = format!("The processes of job {} wait for a debugger {at}.", job.id);
        for (rank, proc) in job.procs().filter(|(rank, _)| job.stops(*rank)).take(MOST_LISTED) {
            let node = job.map().node_of(rank).map_or("", |node| node.name.as_str());
            let _ = write!(text, "\n  rank {rank} on node {node}: pid {}", proc.pid.unwrap_or(0));
        }
        let more = job.procs().filter(|(rank, _)| job.stops(*rank)).count().saturating_sub(MOST_LISTED);
        if more > 0 {
            let _ = write!(text, "\n  and {more} more (pdvm job {})", job.id);
        }
        let (id, dvm) = (job.id, &self.config.dvm);
        let _ = write!(
            text,
            "\nAttach with `gdb -p PID` on the node; `pdvm release {id} --namespace {dvm}` lets them go on."
        );
        text
    }
}
