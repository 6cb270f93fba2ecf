//! Submissions of clients: they wait until the DVM is ready, become jobs, and end with an order of the client or with
//! the client itself.

use std::cmp::Reverse;

use ferrite_types::{JobId, JobState, Rank, Signal};
use ferrite_wire::control::{Done, Reply, Submission};
use ferrite_wire::{DaemonMessage, Dest};

use super::states::refuse;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::{CANCELLED, INTERRUPTED};
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_CANCELED};

impl Head {
    /// Dispatches a client's job, or keeps it until the DVM is ready (spec L9).
    pub(in crate::head) fn on_submit(&mut self, id: RequestId, submission: Submission, cx: &mut Cx) {
        if submission.spec.apps.is_empty() || submission.spec.apps.iter().any(|app| app.argv.is_empty()) {
            refuse(id, PMIX_ERR_BAD_PARAM, "The job names no program to run.".to_owned(), cx);
        } else if self.dvm.is_ending() {
            let cause = format!("The DVM {} is ending and takes no more jobs.", self.config.dvm);
            refuse(id, PMIX_ERR_JOB_CANCELED, cause, cx);
        } else if self.dvm.is_ready() {
            self.dispatch_job(id, submission, cx);
        } else {
            self.jobs.keep_early(id, submission);
        }
    }

    /// Dispatches the jobs that came before the DVM was ready (spec L9, L122, L152).
    pub(in crate::head) fn dispatch_early(&mut self, cx: &mut Cx) {
        let mut early = self.jobs.take_early();
        // A job comes behind those after which it begins; its priority counts when they are over.
        early.sort_by_key(|(_, submission)| match submission.after.is_empty() {
            true => (false, Reverse(submission.priority)),
            false => (true, Reverse(0)),
        });
        for (request, submission) in early {
            self.dispatch_job(request, submission, cx);
        }
    }

    /// Replies to the submitters of jobs that were never dispatched (spec L9).
    pub(in crate::head) fn refuse_early(&mut self, why: &str, cx: &mut Cx) {
        for (request, _) in self.jobs.take_early() {
            if request != RequestId::OWN {
                cx.notice_to(request, why.to_owned());
            }
            cx.reply(request, Reply::Done(Done { exit_code: INTERRUPTED, job: None }));
        }
    }

    /// Handles the client's cancel: its user wants to end the job (spec L117).
    pub(in crate::head) fn on_cancel(&mut self, request: RequestId, cx: &mut Cx) {
        if self.jobs.drop_early(request) {
            return cx.reply(request, Reply::Done(Done { exit_code: CANCELLED, job: None }));
        }
        for id in self.jobs.submitted_tree(request) {
            let text = format!("The run was interrupted.\nJob {id} was ended.");
            self.fail_job(id, JobState::KilledByCmd, CANCELLED, text, cx);
        }
    }

    /// Ends the jobs of a submission whose client is gone.
    pub(in crate::head) fn end_submission(&mut self, request: RequestId, cx: &mut Cx) {
        self.jobs.drop_early(request);
        for id in self.jobs.lose_submitter(request) {
            let text = "Its client (prun) is gone.".to_owned();
            self.fail_job(id, JobState::KilledByCmd, INTERRUPTED, text, cx);
        }
    }

    /// Replies to everybody who still waits for a job, at the end of the DVM (spec L39).
    pub(in crate::head) fn answer_submitters(&mut self, cx: &mut Cx) {
        self.give_up_waits(cx);
        for id in self.jobs.give_up(INTERRUPTED) {
            self.reply_to_submitter(id, cx);
        }
    }

    /// Sends a signal to the jobs of a submission.
    pub(in crate::head) fn on_signal_submitted(&mut self, request: RequestId, signal: Signal, cx: &mut Cx) {
        self.jobs.submitted_tree(request).into_iter().for_each(|id| self.send_signal(id, &[], signal, cx));
    }

    /// Sends a signal to some processes of a job; none = all.
    pub(in crate::head) fn send_signal(&self, id: JobId, ranks: &[Rank], signal: Signal, cx: &mut Cx) {
        let Some(job) = self.jobs.get(id).filter(|job| job.is_launched()) else { return };
        let hosts = match ranks.is_empty() {
            true => job.map().daemons(),
            false => ranks.iter().filter_map(|rank| job.map().daemon_of(*rank)).collect(),
        };
        let hosts = self.pool.reachable(&hosts);
        if !hosts.is_empty() {
            cx.multicast(Dest::Many(hosts), DaemonMessage::Signal { job: id, ranks: ranks.to_vec(), signal });
        }
    }
}
