//! Files that jobs bring along: takes them before the launch (spec L70 to L73), and reads them for jobs that local
//! processes spawn.

use ferrite_types::{JobId, PreloadEntry};
use ferrite_wire::{FilePiece, HeadMessage};

use super::Daemon;
use crate::cx::Cx;
use crate::preload::Receiving;
use crate::{Effect, StageEffect};

impl Daemon {
    /// Handles the announcement of a job's files.
    pub(super) fn on_preload(&mut self, job: JobId, entries: Vec<PreloadEntry>, cx: &mut Cx) {
        if self.preloads.contains_key(&job) || self.is_leaving() {
            return;
        }
        match Receiving::of(&entries) {
            Ok(receiving) => {
                self.preloads.insert(job, receiving);
                cx.effect(Effect::Stage { job, step: StageEffect::Begin(entries) });
                self.finish_preload(job, cx);
            }
            Err(cause) => cx.send_head(HeadMessage::Preloaded { job, result: Err(cause) }),
        }
    }

    /// Handles a piece of a job's files.
    pub(super) fn on_preload_piece(&mut self, job: JobId, piece: FilePiece, cx: &mut Cx) {
        let Some(receiving) = self.preloads.get_mut(&job) else { return };
        match receiving.on_piece(&piece) {
            Some(Ok(())) => {
                cx.effect(Effect::Stage { job, step: StageEffect::Write { entry: piece.entry, data: piece.data } });
                self.finish_preload(job, cx);
            }
            Some(Err(cause)) => self.report_preload(job, Err(cause), cx),
            None => {}
        }
    }

    fn finish_preload(&mut self, job: JobId, cx: &mut Cx) {
        if self.preloads.get_mut(&job).is_some_and(Receiving::is_at_end) {
            cx.effect(Effect::Stage { job, step: StageEffect::Finish });
        }
    }

    /// Handles the news that bytes are written.
    pub(super) fn on_staged(&mut self, job: JobId, bytes: u64, cx: &mut Cx) {
        if self.preloads.contains_key(&job) {
            cx.send_head(HeadMessage::PreloadCredit { job, bytes });
        }
    }

    /// Handles the end of the writing.
    pub(super) fn on_stage_ended(&mut self, job: JobId, result: Result<(), (u32, String)>, cx: &mut Cx) {
        let Some(receiving) = self.preloads.get(&job) else { return };
        let result = result.map_err(|(entry, cause)| format!("{}: {cause}", receiving.name(entry)));
        self.report_preload(job, result, cx);
    }

    fn report_preload(&mut self, job: JobId, result: Result<(), String>, cx: &mut Cx) {
        if self.preloads.get_mut(&job).is_some_and(Receiving::report) {
            cx.send_head(HeadMessage::Preloaded { job, result });
        }
    }
}
