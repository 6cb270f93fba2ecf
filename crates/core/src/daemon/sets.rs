//! Process sets that this daemon knows, and orders for processes, which it passes on to the head.

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_types::{JobId, PmixStatus, ProcId};
use ferrite_wire::{ControlOrder, HeadMessage, LaunchOrder, ProcessSet};

use super::Daemon;
use super::questions::Asker;
use crate::cx::Cx;
use crate::{Effect, PmixEffect, PmixToken};

/// The sets by name.
pub(super) type Sets = BTreeMap<String, ProcessSet>;

impl Daemon {
    /// Defines the sets that a job brings along, before its processes start.
    pub(super) fn define_sets_of(&mut self, order: &LaunchOrder, cx: &mut Cx) {
        for set in order.sets() {
            self.on_define_set(set, cx);
        }
    }

    /// Handles a new set (spec L44). One that is known already is a repeated message.
    pub(super) fn on_define_set(&mut self, set: ProcessSet, cx: &mut Cx) {
        if !self.is_leaving() && !self.sets.contains_key(&set.name) {
            self.sets.insert(set.name.clone(), set.clone());
            cx.effect(Effect::Pmix(PmixEffect::DefineSet(set)));
        }
    }

    /// Handles the end of a set.
    pub(super) fn on_delete_set(&mut self, name: String, cx: &mut Cx) {
        if self.sets.remove(&name).is_some() {
            cx.effect(Effect::Pmix(PmixEffect::DeleteSet(name)));
        }
    }

    /// Passes an order for processes on. A tool is in no job, and waits until it is answered.
    pub(super) fn on_control(&mut self, by: Option<ProcId>, order: Box<ControlOrder>, token: PmixToken, cx: &mut Cx) {
        let id = self.questions.keep(by.map_or(JobId::DAEMONS, |by| by.job), Asker::Pmix(token));
        cx.send_head(HeadMessage::Control { id, by, order });
    }

    pub(super) fn on_control_reply(&mut self, id: u64, result: Result<(), PmixStatus>, cx: &mut Cx) {
        if let Some(Asker::Pmix(token)) = self.questions.take(id) {
            let result = result.map(|()| Bytes::new());
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result }));
        }
    }
}
