//! The kill sequence of a job on this node: SIGCONT and SIGTERM, then SIGKILL, then no more waiting for pipes that
//! an escaped grandchild holds.

use ferrite_types::JobId;

use super::job::LocalJob;
use super::{Daemon, after};
use crate::cx::Cx;
use crate::{DaemonTimer, Effect};

/// What comes next in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillStep {
    /// SIGTERM was sent; SIGKILL follows.
    Terminating,
    /// SIGKILL was sent.
    Killing,
}

/// Between SIGTERM and SIGKILL (milliseconds): twice the field's 250.
const TERM_GRACE_MS: u64 = 500;
/// Between SIGKILL and giving up on pipes (milliseconds).
const KILL_GRACE_MS: u64 = 1_000;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGCONT: i32 = 18;

impl Daemon {
    /// SIGCONT and SIGTERM, for what is left of the job here (spec L27).
    pub(super) fn on_kill(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if job.kill.is_some() || job.living().next().is_none() {
            return;
        }
        job.kill = Some(KillStep::Terminating);
        self.signal_living(id, &[SIGCONT, SIGTERM], cx);
        self.read_last(cx);
        cx.set_timer(DaemonTimer::KillStep(id), after(cx.now, TERM_GRACE_MS));
    }

    /// SIGKILL, and after it no more waiting for pipes (spec L27).
    pub(super) fn on_kill_step(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let step = job.kill;
        if job.living().next().is_none() {
            return;
        }
        job.kill = Some(KillStep::Killing);
        self.signal_living(id, &[SIGKILL], cx);
        if step == Some(KillStep::Killing) {
            self.close_pipes(id, cx);
        }
        cx.set_timer(DaemonTimer::KillStep(id), after(cx.now, KILL_GRACE_MS));
    }

    /// SIGKILL for what has not had it. True when there was any.
    pub(super) fn kill_spared(&mut self, cx: &mut Cx) -> bool {
        let is_spared = |job: &LocalJob| job.kill != Some(KillStep::Killing) && job.living().next().is_some();
        let spared: Vec<JobId> = self.jobs.iter().filter(|(_, job)| is_spared(job)).map(|(id, _)| *id).collect();
        for id in &spared {
            if let Some(job) = self.jobs.get_mut(id) {
                job.kill = Some(KillStep::Killing);
            }
            self.signal_living(*id, &[SIGKILL], cx);
        }
        self.read_last(cx);
        !spared.is_empty()
    }

    /// Passes a signal of the user on.
    pub(super) fn on_signal(&mut self, id: JobId, signal: i32, cx: &mut Cx) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        for proc in job.living() {
            cx.effect(Effect::Signal { proc, signal });
        }
    }

    fn signal_living(&mut self, id: JobId, signals: &[i32], cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        for proc in job.living().collect::<Vec<_>>() {
            if let Some(local) = job.procs.get_mut(&proc.rank) {
                // One that has already ended on its own account keeps its own end.
                local.killed |= local.exit.is_none();
            }
            for signal in signals {
                cx.effect(Effect::Signal { proc, signal: *signal });
            }
        }
    }

    fn close_pipes(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
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
