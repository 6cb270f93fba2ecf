//! Local processes that wait for a debugger: stopped before their first instruction, in `PMIx_Init`, or where the
//! program itself waits. The head is told once that all of them wait; its release lets them go on.

use std::collections::BTreeSet;

use ferrite_types::{JobId, ProcId, ProcState, Rank, Signal, StopPoint};
use ferrite_wire::HeadMessage;

use super::Daemon;
use super::job::LocalJob;
use super::proc::{proc_id, set_state};
use crate::cx::Cx;
use crate::{Effect, PmixEffect};

/// The waits of a job's local processes for a debugger.
#[derive(Debug, Default)]
pub(super) struct Debug {
    /// True when the head was told that all of them wait.
    reported: bool,
    /// True when all processes are released, including those that will wait later.
    all_released: bool,
    released: BTreeSet<Rank>,
}

impl Debug {
    fn has_released(&self, rank: Rank) -> bool {
        self.all_released || self.released.contains(&rank)
    }
}

impl Daemon {
    /// Notes the wait of a process that was started stopped (spec L55).
    pub(super) fn note_stopped(&mut self, proc: ProcId, cx: &mut Cx) {
        let is_stopped = self.jobs.get(&proc.job).is_some_and(|job| {
            job.order.spec.stop_of(proc.rank) == Some(StopPoint::Exec)
                && job.procs.get(&proc.rank).is_some_and(|local| local.state == ProcState::Running && !local.killed)
        });
        if is_stopped {
            self.wait_for_debugger(proc, cx);
        }
    }

    /// Handles a process's word that it waits for a debugger in the library, or in its program.
    pub(super) fn on_ready_for_debug(&mut self, proc: ProcId, cx: &mut Cx) {
        if self.proc(proc).is_some_and(|local| local.state == ProcState::Registered) {
            self.wait_for_debugger(proc, cx);
        }
    }

    /// Handles the library's word that all local processes of a job wait for a debugger.
    pub(super) fn on_all_ready_for_debug(&mut self, id: JobId, cx: &mut Cx) {
        let all: Vec<ProcId> = self.jobs.get(&id).into_iter().flat_map(LocalJob::living).collect();
        all.into_iter().for_each(|proc| self.on_ready_for_debug(proc, cx));
    }

    fn wait_for_debugger(&mut self, proc: ProcId, cx: &mut Cx) {
        let job = self.job_mut(proc.job);
        let goes_on = job.debug.has_released(proc.rank)
            || job.order.spec.stop.as_ref().is_some_and(|stop| !stop.concerns(proc.rank));
        if let Some(local) = job.procs.get_mut(&proc.rank) {
            set_state(local, proc, ProcState::ReadyForDebug, cx);
        }
        if goes_on {
            // libpmix stops all processes of a node when any of them is to stop.
            job.release(proc.rank, cx);
        }
        let stops = |rank: Rank| job.order.spec.stop.as_ref().is_none_or(|stop| stop.concerns(rank));
        let waits = |rank: Rank, state: ProcState| {
            state == ProcState::ReadyForDebug || state.has_ended() || job.debug.has_released(rank)
        };
        let all_wait = job.procs.iter().all(|(rank, local)| !stops(*rank) || waits(*rank, local.state));
        if all_wait && !std::mem::replace(&mut job.debug.reported, true) {
            cx.send_head(HeadMessage::ReadyForDebug(proc.job));
        }
    }

    /// Lets processes go on that wait for a debugger, or will (spec L56).
    pub(super) fn on_release(&mut self, id: JobId, ranks: Option<Vec<Rank>>, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let local = |rank: &Rank| job.procs.contains_key(rank);
        let chosen: Vec<Rank> = match ranks {
            None => {
                job.debug.all_released = true;
                job.procs.keys().copied().collect()
            }
            Some(ranks) => ranks.into_iter().filter(local).collect(),
        };
        job.debug.released.extend(&chosen);
        chosen.into_iter().for_each(|rank| job.release(rank, cx));
    }
}

impl LocalJob {
    /// True for a process that is stopped for a debugger.
    pub(super) fn keeps_stopped(&self, rank: Rank) -> bool {
        let waits = self.procs.get(&rank).is_some_and(|local| local.state == ProcState::ReadyForDebug);
        waits && self.order.spec.stop_of(rank) == Some(StopPoint::Exec)
    }

    /// Lets a process go on, if it waits for a debugger.
    fn release(&mut self, rank: Rank, cx: &mut Cx) {
        let proc = proc_id(self.order.job, rank);
        let is_stopped = self.order.spec.stop_of(rank) == Some(StopPoint::Exec);
        let Some(local) = self.procs.get_mut(&rank).filter(|local| local.state == ProcState::ReadyForDebug) else {
            return;
        };
        if is_stopped && !local.connected {
            set_state(local, proc, ProcState::Running, cx);
            cx.effect(Effect::Signal { proc, signal: Signal::CONT });
        } else {
            set_state(local, proc, ProcState::Registered, cx);
            cx.effect(Effect::Pmix(PmixEffect::Release(proc)));
        }
    }
}
