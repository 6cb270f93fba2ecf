//! Requests of local processes for more or fewer nodes (`PMIx_Allocation_request`), which the daemon passes on to the
//! head.

use std::collections::BTreeMap;

use ferrite_types::{JobId, ProcId};
use ferrite_wire::{HeadMessage, Resize, ResizeRequest, TimeWarning};

use super::Daemon;
use crate::cx::Cx;
use crate::{Effect, PmixEffect, PmixToken};

/// Requests without an answer yet.
#[derive(Debug, Default)]
pub(super) struct Resizes {
    next: u64,
    waiting: BTreeMap<u64, PmixToken>,
}

impl Daemon {
    pub(super) fn on_resize(&mut self, proc: ProcId, request: ResizeRequest, token: PmixToken, cx: &mut Cx) {
        let id = self.resizes.next;
        self.resizes.next += 1;
        self.resizes.waiting.insert(id, token);
        cx.send_head(HeadMessage::ResizeRequest { id, proc, request: Box::new(request) });
    }

    pub(super) fn on_resize_reply(&mut self, id: u64, resize: Box<Resize>, cx: &mut Cx) {
        if let Some(token) = self.resizes.waiting.remove(&id) {
            cx.effect(Effect::Pmix(PmixEffect::ReplyResize { token, resize }));
        }
    }

    pub(super) fn on_resize_done(&mut self, proc: ProcId, resize: Box<Resize>, cx: &mut Cx) {
        if self.proc(proc).is_some_and(|local| !local.state.has_ended()) {
            cx.effect(Effect::Pmix(PmixEffect::ResizeEvent { proc, resize }));
        }
    }

    /// Tells a local process that a job which it has spawned is over.
    pub(super) fn on_spawned_ended(&mut self, parent: ProcId, job: JobId, code: u8, cx: &mut Cx) {
        if self.proc(parent).is_some_and(|local| !local.state.has_ended()) {
            cx.effect(Effect::Pmix(PmixEffect::JobEnd { parent, job, code }));
        }
    }

    pub(super) fn on_time_warning(&mut self, proc: ProcId, warning: Box<TimeWarning>, cx: &mut Cx) {
        if self.proc(proc).is_some_and(|local| !local.state.has_ended()) {
            cx.effect(Effect::Pmix(PmixEffect::TimeWarning { proc, warning }));
        }
    }
}
