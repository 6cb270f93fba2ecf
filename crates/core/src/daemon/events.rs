//! Events that local processes and tools raise for others, and those of others for them. The head addresses all of
//! them, so that each comes once and in the order of its source.

use ferrite_types::ProcId;
use ferrite_wire::{EventRange, EventSource, HeadMessage, PmixEvent};

use super::Daemon;
use super::job::LocalJob;
use crate::cx::Cx;
use crate::{Effect, PmixEffect};

impl Daemon {
    /// Passes an event of this node on. A process that has just ended may have raised it: only a stranger is refused.
    pub(super) fn on_event(&mut self, event: Box<PmixEvent>, range: EventRange, cx: &mut Cx) {
        let is_own = match &event.source {
            EventSource::Dvm => false,
            EventSource::Proc(proc) => self.proc(*proc).is_some(),
            EventSource::Tool(_) => true,
        };
        if is_own {
            cx.send_head(HeadMessage::Event { event, range });
        }
    }

    /// Passes an alert on that a local process has asked for, as long as it runs (spec L137).
    pub(super) fn on_alert(&mut self, proc: ProcId, event: Box<PmixEvent>, range: EventRange, cx: &mut Cx) {
        if self.proc(proc).is_some_and(|local| !local.state.has_ended()) {
            cx.send_head(HeadMessage::Alert { proc, event, range });
        }
    }

    /// Tells local processes and tools of an event from elsewhere (spec L60).
    pub(super) fn on_event_of_others(&mut self, event: PmixEvent, range: EventRange, cx: &mut Cx) {
        let to: Vec<ProcId> =
            self.jobs.values().flat_map(LocalJob::living).filter(|proc| range.includes(*proc)).collect();
        cx.effect(Effect::Pmix(PmixEffect::Event { event: Box::new(event), to, range }));
    }
}
