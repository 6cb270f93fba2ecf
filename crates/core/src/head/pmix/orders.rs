//! Orders of processes and tools for processes (`PMIx_Job_control`). The head answers each once.

use ferrite_types::{DaemonRank, ProcId};
use ferrite_wire::{ControlOrder, DaemonMessage};

use super::sets::SetRefusal;
use crate::cx::Cx;
use crate::head::Head;

impl Head {
    /// Carries out an order, or refuses it. `by` is the process that gives it; a tool has no name here.
    pub(in crate::head) fn on_control(
        &mut self,
        daemon: DaemonRank,
        id: u64,
        by: Option<ProcId>,
        order: ControlOrder,
        cx: &mut Cx,
    ) {
        let result = match order {
            ControlOrder::DefineSet(set) => {
                self.define_set(set, cx).map_err(|refusal| self.tell_refusal(by, refusal, cx))
            }
        };
        cx.send(daemon, DaemonMessage::ControlReply { id, result });
    }

    /// Tells the submitter of the caller's job why a set is refused; the caller gets the status.
    fn tell_refusal(&self, by: Option<ProcId>, refusal: SetRefusal, cx: &mut Cx) -> ferrite_types::PmixStatus {
        if let Some(request) = by.and_then(|by| self.jobs.get(by.job)?.request()) {
            cx.notice_to(request, refusal.cause);
        }
        refusal.status
    }
}
