//! Logs of the DVM (`PMIx_Log`): the driver of the head writes them, and its answer goes to the daemon that has asked.

use ferrite_types::DaemonRank;
use ferrite_wire::{DaemonMessage, EventSource, LogRecord};

use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::PMIX_ERR_NO_PERMISSIONS;
use crate::{Effect, LogId};

impl Head {
    /// Has a text of a process or tool logged (spec L134). A daemon speaks for its own processes only.
    pub(in crate::head) fn on_log(&mut self, origin: DaemonRank, id: u64, record: Box<LogRecord>, cx: &mut Cx) {
        let is_of_origin = match &record.source {
            EventSource::Dvm => false,
            // The last text of a process may come after the end of its job.
            EventSource::Proc(proc) => {
                self.jobs.get(proc.job).is_none_or(|job| job.map().daemon_of(proc.rank) == Some(origin))
            }
            EventSource::Tool(_) => true,
        };
        if is_of_origin {
            cx.effect(Effect::Log { id: LogId::Head(origin, id), record });
        } else {
            cx.send(origin, DaemonMessage::LogReply { id, result: Err(PMIX_ERR_NO_PERMISSIONS) });
        }
    }
}
