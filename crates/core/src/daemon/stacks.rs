//! The stacks of local processes, for a job whose time is over. The driver runs a debugger on each process; this part
//! bounds what goes to the head.

use bytes::Bytes;
use ferrite_types::{Duration, JobId, ProcId};
use ferrite_wire::{HeadMessage, Stream};

use super::Daemon;
use super::job::LocalJob;
use crate::Effect;
use crate::cx::Cx;

/// The largest stack of one process (bytes): some hundred threads.
const MOST_OF_ONE: usize = 64 * 1024;
const CUT: &[u8] = b"\n(the rest is left out: the stacks of this node are too long)";

impl Daemon {
    /// Takes the stacks of the job's living local processes, or reports at once that there are none (spec L50).
    pub(super) fn on_take_stacks(&mut self, id: JobId, limit: Duration, most: u32, cx: &mut Cx) {
        let procs: Vec<ProcId> = self.jobs.get(&id).into_iter().flat_map(LocalJob::running).collect();
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !procs.is_empty() && job.stacks.is_none()) else {
            return cx.send_head(HeadMessage::StacksTaken { job: id, obstacle: None });
        };
        job.stacks = Some(most as usize);
        cx.effect(Effect::TakeStacks { job: id, procs, until: cx.now + limit, most: MOST_OF_ONE });
    }

    /// Passes the stack of a process on, as far as there is room, and puts it into the file of its standard error.
    pub(super) fn on_stack_taken(&mut self, proc: ProcId, mut text: Bytes, cx: &mut Cx) {
        let Some(room) = self.jobs.get_mut(&proc.job).and_then(|job| job.stacks.as_mut()) else {
            return;
        };
        if text.len() > *room {
            text.truncate(*room);
            text = [text.as_ref(), CUT].concat().into();
        }
        *room = room.saturating_sub(text.len());
        let heading = format!("Stack of rank {}:\n", proc.rank);
        self.write_file(proc, Stream::Stderr, Bytes::from([heading.as_bytes(), &text, b"\n"].concat()), cx);
        cx.send_head(HeadMessage::Stack { proc, text });
    }

    pub(super) fn on_stacks_taken(&mut self, id: JobId, obstacle: Option<String>, cx: &mut Cx) {
        if self.jobs.get_mut(&id).is_some_and(|job| job.stacks.take().is_some()) {
            let first = self.jobs.get(&id).and_then(|job| job.running().next());
            if let (Some(obstacle), Some(proc)) = (&obstacle, first) {
                let text = format!("No stacks from node {}: {obstacle}.\n", self.local.hostname);
                self.write_file(proc, Stream::Stderr, text.into(), cx);
            }
            cx.send_head(HeadMessage::StacksTaken { job: id, obstacle });
        }
    }
}

impl LocalJob {
    /// Processes that were started and have not been reaped.
    fn running(&self) -> impl Iterator<Item = ProcId> + '_ {
        let runs = |proc: &ProcId| {
            let local = &self.procs[&proc.rank];
            local.exit.is_none() && local.state != ferrite_types::ProcState::Init
        };
        self.living().filter(runs)
    }
}
