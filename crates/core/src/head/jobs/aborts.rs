//! Aborts that a process asks for in the name of others: another job, or some processes of a job.

use ferrite_types::{JobId, JobState, ProcId, Rank};
use ferrite_wire::{DaemonMessage, Dest};

use super::notices;
use crate::cx::Cx;
use crate::head::Head;

impl Head {
    /// Handles a process's call of abort for other processes (spec L30). A job that goes on after failures loses only
    /// the processes that are named.
    pub(in crate::head) fn on_abort_others(
        &mut self,
        caller: ProcId,
        code: i32,
        message: &str,
        targets: Vec<(JobId, Vec<Rank>)>,
        cx: &mut Cx,
    ) {
        for (id, ranks) in targets {
            let Some(job) = self.jobs.get(id) else { continue };
            if ranks.is_empty() || !job.spec.options.tolerates_failures() {
                let text = notices::abort_by(id, caller, code, message);
                self.fail_job(id, JobState::Aborted, shown(code), text, cx);
            } else {
                let hosts = ranks.iter().filter_map(|rank| job.map().daemon_of(*rank)).collect();
                let hosts = Dest::Many(self.pool.reachable(&hosts));
                cx.multicast(hosts, DaemonMessage::AbortProcs { job: id, ranks, code });
            }
        }
    }
}

/// The exit code as a shell sees `exit(code)`; an abort is never a success.
pub(super) fn shown(code: i32) -> u8 {
    ((code & 0xff) as u8).max(1)
}
