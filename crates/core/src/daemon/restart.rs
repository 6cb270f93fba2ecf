//! Processes that are started again after a failure, by order of the head.

use ferrite_types::{ExitStatus, ProcId, Signal};
use ferrite_wire::Restart;

use super::Daemon;
use super::job::reads_stdin;
use super::proc::LocalProc;
use crate::Effect;
use crate::cx::Cx;

impl Daemon {
    /// Handles the order to start a failed process again (spec L81).
    pub(super) fn on_restart(&mut self, order: Restart, cx: &mut Cx) {
        let Restart { proc, count } = order;
        let leaving = self.is_leaving();
        let Some(job) = self.jobs.get_mut(&proc.job) else { return };
        let killed = job.is_being_killed();
        let Some(local) = job.procs.get_mut(&proc.rank) else { return };
        // The order to leave has overtaken this one: the head ends the process with the node.
        if leaving || !local.state.has_ended() {
            return;
        }
        *local = LocalProc::new(reads_stdin(&job.order, proc.rank));
        local.restarts = count;
        job.pmi1.renew(proc.rank);
        if killed {
            // The process ends with its job, before it has begun.
            local.killed = true;
            local.exit = Some(ExitStatus::Signaled(Signal::KILL));
            local.stdout.closed = true;
            local.stderr.closed = true;
            self.try_complete(proc, cx);
        } else {
            self.spawn_again(proc, cx);
        }
    }

    /// Ends the standard input of a process that was started after the end of its job's input.
    pub(super) fn end_stdin_of(&mut self, proc: ProcId, cx: &mut Cx) {
        let ended = self.jobs.get(&proc.job).is_some_and(|job| job.stdin_ended);
        if ended && self.proc(proc).is_some_and(|local| local.stdin_pending.is_some()) {
            cx.effect(Effect::CloseStdin { proc });
        }
    }
}
