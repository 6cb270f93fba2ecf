//! The kill sequence of a job on this node: SIGCONT and SIGTERM, then SIGKILL, then the end of the wait for pipes,
//! which an escaped grandchild may hold open.

use ferrite_types::{JobId, ProcId, Rank, Signal};

use super::job::LocalJob;
use super::{Daemon, after};
use crate::cx::Cx;
use crate::{DaemonTimer, Effect};

/// The present step of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillStep {
    /// SIGTERM was sent; SIGKILL follows.
    Terminating,
    /// SIGKILL was sent.
    Killing,
}

/// The time between SIGTERM and SIGKILL (milliseconds): twice the field's 250.
const TERM_GRACE_MS: u64 = 500;
/// The time between SIGTERM and SIGKILL of processes that a process has started and left (milliseconds). Python's
/// resource tracker needs a few of them to remove semaphores (spec L156).
pub const TIDY_MS: u64 = 200;
/// The time between SIGKILL and the end of the wait for pipes (milliseconds).
const KILL_GRACE_MS: u64 = 1_000;

impl Daemon {
    /// Sends SIGCONT and SIGTERM to the job's remaining local processes (spec L27).
    pub(super) fn on_kill(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if job.kill.is_some() || job.living().next().is_none() {
            return;
        }
        job.kill = Some(KillStep::Terminating);
        self.signal_living(id, &[Signal::CONT, Signal::TERM], cx);
        self.read_last(cx);
        cx.set_timer(DaemonTimer::KillStep(id), after(cx.now, TERM_GRACE_MS));
    }

    /// Sends SIGKILL; the step after it ends the wait for pipes (spec L27).
    pub(super) fn on_kill_step(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let step = job.kill;
        if job.living().next().is_none() {
            return;
        }
        job.kill = Some(KillStep::Killing);
        self.signal_living(id, &[Signal::KILL], cx);
        if step == Some(KillStep::Killing) {
            self.close_pipes(id, cx);
        }
        cx.set_timer(DaemonTimer::KillStep(id), after(cx.now, KILL_GRACE_MS));
    }

    /// Ends the descendants of a failed process: they hold its pipes, and would delay the end of the job. They have a
    /// moment to tidy up (spec L156).
    pub(super) fn end_descendants(&mut self, proc: ProcId, cx: &mut Cx) {
        let Some(job) = self.jobs.get(&proc.job) else { return };
        if job.kill.is_some() || job.procs.get(&proc.rank).is_none_or(|local| local.is_retired) {
            // They have had SIGTERM as well, and SIGKILL follows.
            return;
        }
        cx.effect(Effect::Signal { proc, signal: Signal::TERM });
        cx.set_timer(DaemonTimer::Descendants(proc), after(cx.now, TIDY_MS));
    }

    /// Sends SIGKILL to descendants that have ignored SIGTERM.
    pub(super) fn on_descendants_late(&mut self, proc: ProcId, cx: &mut Cx) {
        if self.proc(proc).is_some_and(|local| local.exit.is_some() && !local.output_is_through()) {
            cx.effect(Effect::Signal { proc, signal: Signal::KILL });
        }
    }

    /// Notes processes that are to end: the head hears of each end at once (spec E57).
    pub(super) fn on_retiring(&mut self, procs: &[(JobId, Vec<Rank>)], cx: &mut Cx) {
        for (id, ranks) in procs {
            let Some(job) = self.jobs.get_mut(id) else { continue };
            for rank in ranks {
                if let Some(local) = job.procs.get_mut(rank) {
                    local.retires = true;
                }
            }
            self.report_ends(*id, cx);
        }
    }

    /// Sends SIGCONT and SIGTERM to processes that have had their time (spec E58).
    pub(super) fn on_retire(&mut self, procs: &[(JobId, Vec<Rank>)], cx: &mut Cx) {
        for (id, ranks) in procs {
            if self.signal_retired(*id, Some(ranks), &[Signal::CONT, Signal::TERM], cx) {
                self.read_last(cx);
                cx.set_timer(DaemonTimer::RetireStep(*id), after(cx.now, TERM_GRACE_MS));
            }
        }
    }

    /// Sends SIGKILL to processes of the job that have not ended after SIGTERM. Those that are gone and whose pipes
    /// something else holds open are waited for no longer.
    pub(super) fn on_retire_step(&mut self, id: JobId, cx: &mut Cx) {
        if self.signal_retired(id, None, &[Signal::KILL], cx) {
            cx.set_timer(DaemonTimer::RetireStep(id), after(cx.now, KILL_GRACE_MS));
        }
    }

    /// Signals living processes of a job that were ordered to end; `ranks` are ordered now. At the last signal the
    /// pipes of those that are gone are closed. True while there are any.
    fn signal_retired(&mut self, id: JobId, ranks: Option<&[Rank]>, signals: &[Signal], cx: &mut Cx) -> bool {
        let Some(job) = self.jobs.get_mut(&id) else { return false };
        if job.kill.is_some() {
            // The whole job is being ended.
            return false;
        }
        let mut gone = Vec::new();
        let mut is_any = false;
        for proc in job.living().collect::<Vec<_>>() {
            let Some(local) = job.procs.get_mut(&proc.rank) else { continue };
            let is_meant = ranks.map_or(local.is_retired, |ranks| ranks.contains(&proc.rank));
            if !is_meant {
                continue;
            }
            is_any = true;
            local.is_retired = true;
            // A process that has already ended by itself keeps its own exit status.
            local.killed |= local.exit.is_none();
            if local.exit.is_some() && ranks.is_none() {
                local.stdout.closed = true;
                local.stderr.closed = true;
                gone.push(proc);
            }
            if !local.has_left() {
                signals.iter().for_each(|signal| cx.effect(Effect::Signal { proc, signal: *signal }));
            }
        }
        gone.into_iter().for_each(|proc| self.try_complete(proc, cx));
        is_any
    }

    /// Sends SIGKILL to all processes that have not had it. True when there was any.
    pub(super) fn kill_spared(&mut self, cx: &mut Cx) -> bool {
        let is_spared = |job: &LocalJob| job.kill != Some(KillStep::Killing) && job.living().next().is_some();
        let spared: Vec<JobId> = self.jobs.iter().filter(|(_, job)| is_spared(job)).map(|(id, _)| *id).collect();
        for id in &spared {
            if let Some(job) = self.jobs.get_mut(id) {
                job.kill = Some(KillStep::Killing);
            }
            self.signal_living(*id, &[Signal::KILL], cx);
        }
        self.read_last(cx);
        !spared.is_empty()
    }

    /// Passes on a signal of the user.
    pub(super) fn on_signal(&mut self, id: JobId, ranks: &[Rank], signal: Signal, cx: &mut Cx) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        // SIGCONT, also at the end of a session's pause, is no release.
        let is_kept = |proc: &ProcId| signal == Signal::CONT && job.keeps_stopped(proc.rank);
        let is_meant = |proc: &ProcId| ranks.is_empty() || ranks.contains(&proc.rank);
        let is_here = |proc: &ProcId| !job.procs[&proc.rank].has_left();
        for proc in job.living().filter(|proc| is_meant(proc) && is_here(proc) && !is_kept(proc)) {
            cx.effect(Effect::Signal { proc, signal });
        }
    }

    fn signal_living(&mut self, id: JobId, signals: &[Signal], cx: &mut Cx) {
        let job = self.job_mut(id);
        let here = job.living().filter(|proc| !job.procs[&proc.rank].has_left());
        for proc in here.collect::<Vec<_>>() {
            if let Some(local) = job.procs.get_mut(&proc.rank) {
                // A process that has already ended by itself keeps its own exit status.
                local.killed |= local.exit.is_none();
            }
            // A process that is stopped for a debugger takes SIGTERM when it goes on: it must not run before that.
            let mut signals = signals.to_vec();
            if job.keeps_stopped(proc.rank) {
                signals.reverse();
            }
            for signal in signals {
                cx.effect(Effect::Signal { proc, signal });
            }
        }
    }

    fn close_pipes(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.job_mut(id);
        let reaped: Vec<_> = job.living().filter(|p| job.procs[&p.rank].exit.is_some()).collect();
        for proc in reaped {
            if let Some(local) = job.procs.get_mut(&proc.rank) {
                local.stdout.closed = true;
                local.stderr.closed = true;
            }
        }
        for proc in self.living() {
            self.try_complete(proc, cx);
        }
    }
}
