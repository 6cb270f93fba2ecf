//! The end of the DVM: after its last job, after a failure, or by order of the user.

use ferrite_types::{JobId, JobState, Signal};
use ferrite_wire::{DaemonMessage, Message};

use crate::Effect;
use crate::cx::{Cx, Outgoing, Purpose};
use crate::head::Head;
use crate::head::jobs::Job;

/// The progress of the end.
#[derive(Debug, Default)]
pub(super) struct Exit {
    code: Option<u8>,
    interrupts: u32,
}

impl Exit {
    pub(super) fn has_begun(&self) -> bool {
        self.code.is_some()
    }
}

/// Exit code after Ctrl-C or SIGTERM.
pub(in crate::head) const INTERRUPTED: u8 = 1;

/// The exit code of a job that its user has cancelled: ECANCELED.
pub(in crate::head) const CANCELLED: u8 = 125;

impl Head {
    /// Orders every daemon out, newcomers included. The code of the first caller counts (spec L37).
    pub(in crate::head) fn shut_down(&mut self, code: u8, cx: &mut Cx) {
        if self.dvm.is_ending() {
            return;
        }
        self.dvm.exit.code = Some(code);
        self.drain_changes(cx);
        self.dvm.launches.abandon(cx);
        for daemon in self.dvm.contacts.homeless().iter() {
            cx.out.push_back(Outgoing::Direct(daemon, Message::Daemon(DaemonMessage::Exit)));
        }
        cx.out.push_back(Outgoing::Xcast(Message::Daemon(DaemonMessage::Exit), Purpose::Exit));
    }

    /// Ends the DVM after every daemon, the head's own included, has left.
    pub(crate) fn on_daemons_gone(&mut self, cx: &mut Cx) {
        let code = self.dvm.exit.code.unwrap_or(INTERRUPTED);
        self.answer_submitters(cx);
        self.dvm.enter(JobState::DaemonsTerminated, cx);
        self.give_everything_back(cx);
        cx.effect(Effect::Exit { code });
    }

    /// Handles Ctrl-C: the first ends everything in order, the second warns, the third ends at once (spec L36).
    pub(in crate::head) fn on_interrupt(&mut self, cx: &mut Cx) {
        self.dvm.exit.interrupts += 1;
        match self.dvm.exit.interrupts {
            1 => self.stop_all("The run was interrupted.", INTERRUPTED, cx),
            2 => cx.notice(
                "The processes are being ended; this can take a moment.\n\
                 Interrupt once more to leave at once and without care."
                    .to_owned(),
            ),
            _ => self.force_quit(cx),
        }
    }

    /// Handles SIGTERM as the first Ctrl-C; after an interrupt it acts as the last one (spec L36).
    pub(in crate::head) fn on_terminate(&mut self, cause: &str, cx: &mut Cx) {
        if self.dvm.exit.interrupts > 0 {
            return self.force_quit(cx);
        }
        self.dvm.exit.interrupts = 1;
        self.stop_all(&format!("The run was ended: {cause}."), INTERRUPTED, cx);
    }

    /// Ends every job, then the DVM, which exits with `code`.
    pub(in crate::head) fn stop_all(&mut self, why: &str, code: u8, cx: &mut Cx) {
        self.refuse_early(why, cx);
        self.end_batches(cx);
        let jobs: Vec<JobId> = self.jobs.iter().map(Job::id).collect();
        for job in &jobs {
            self.fail_job(*job, JobState::KilledByCmd, INTERRUPTED, format!("{why}\nJob {job} was ended."), cx);
        }
        // A DVM that lives for one job leaves when that job is cleaned up; any other leaves now, even with jobs.
        if jobs.is_empty() || self.config.persistent {
            self.shut_down(code, cx);
        }
    }

    /// Leaves at once; guards and lifelines clean up.
    fn force_quit(&mut self, cx: &mut Cx) {
        self.answer_submitters(cx);
        self.dvm.enter(JobState::ForcedExit, cx);
        self.give_everything_back(cx);
        cx.effect(Effect::Exit { code: INTERRUPTED });
    }

    pub(in crate::head) fn on_forward_signal(&mut self, signal: Signal, cx: &mut Cx) {
        self.jobs.iter().for_each(|job| self.send_signal(job.id(), &[], signal, cx));
    }
}
