//! Requests of clients; each gets one reply.

use ferrite_types::{JobId, JobState};
use ferrite_wire::control::{Done, Reply, Request, Submission};
use ferrite_wire::{DaemonMessage, Dest};

use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::INTERRUPTED;
use crate::head::jobs::refuse;
use crate::head::sessions::wish_of;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_CANCELED};

impl Head {
    /// Handles a request. Its one reply comes now or later (spec L39).
    pub(in crate::head) fn on_request(&mut self, id: RequestId, request: Request, cx: &mut Cx) {
        let reply = match request {
            Request::Submit(submission) => return self.on_submit(id, *submission, cx),
            Request::Kill(job) => self.kill(job, cx),
            Request::Signal { job, signal } => self.signal(job, signal, cx),
            Request::Terminate => {
                cx.reply(id, Reply::Ordered);
                return self.stop_all("The DVM was ended by request (pterm).", 0, cx);
            }
            Request::Resize(request) => return self.on_resize(id, &request, cx),
            Request::Push(request) => return self.on_push(id, &request, cx),
            Request::Sessions => Reply::Sessions(self.session_statuses(cx.now)),
            Request::Session { session, directive } => match wish_of(&directive) {
                Some(wish) => return self.instantiate_for_client(id, &session, wish, cx),
                None => self.on_session_request(&session, &directive, cx),
            },
            Request::Status => Reply::Status(Box::new(self.status(cx.now))),
            Request::Metrics => Reply::Metrics(Box::new(self.metrics(cx.now))),
            Request::Nodes => Reply::Nodes(self.node_statuses()),
            Request::Jobs => Reply::Jobs(self.job_statuses()),
            Request::Job(job) => match self.known_detail(job) {
                Some(detail) => Reply::Job(Box::new(detail)),
                None => self.no_such_job(job),
            },
        };
        cx.reply(id, reply);
    }

    /// Dispatches a client's job, or keeps it until the DVM is ready (spec L9).
    fn on_submit(&mut self, id: RequestId, submission: Submission, cx: &mut Cx) {
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

    fn kill(&mut self, id: JobId, cx: &mut Cx) -> Reply {
        if self.jobs.get(id).is_none() {
            return self.no_such_job(id);
        }
        let text = format!("Job {id} was ended by request (pdvm kill).");
        self.fail_job(id, JobState::KilledByCmd, INTERRUPTED, text, cx);
        Reply::Ordered
    }

    fn signal(&mut self, id: JobId, signal: i32, cx: &mut Cx) -> Reply {
        match self.jobs.get(id) {
            None => self.no_such_job(id),
            Some(job) if !job.is_launched() => {
                Reply::Refused(format!("Job {id} has no processes yet: it waits for {}.", self.waiting_for(job)))
            }
            Some(_) => {
                self.send_signal(id, signal, cx);
                Reply::Ordered
            }
        }
    }

    fn no_such_job(&self, id: JobId) -> Reply {
        Reply::Refused(match self.clients.history.find(id) {
            Some(_) => format!("Job {id} is over."),
            None => format!("There is no job {id}; `pdvm jobs` lists them."),
        })
    }

    /// Handles the client's cancel: its user wants to end the job.
    pub(in crate::head) fn on_cancel(&mut self, request: RequestId, cx: &mut Cx) {
        if self.jobs.drop_early(request) {
            return cx.reply(request, Reply::Done(Done { exit_code: INTERRUPTED, job: None }));
        }
        for id in self.jobs.submitted_tree(request) {
            let text = format!("The run was interrupted.\nJob {id} was ended.");
            self.fail_job(id, JobState::KilledByCmd, INTERRUPTED, text, cx);
        }
    }

    /// Ends the job of a submission whose client is gone.
    pub(in crate::head) fn on_client_gone(&mut self, request: RequestId, cx: &mut Cx) {
        self.forget_requester(request);
        self.withdraw_of_client(request, cx);
        self.jobs.drop_early(request);
        for id in self.jobs.lose_submitter(request) {
            let text = "Its client (prun) is gone.".to_owned();
            self.fail_job(id, JobState::KilledByCmd, INTERRUPTED, text, cx);
        }
    }

    pub(in crate::head) fn on_signal_submitted(&mut self, request: RequestId, signal: i32, cx: &mut Cx) {
        self.jobs.submitted_tree(request).into_iter().for_each(|id| self.send_signal(id, signal, cx));
    }

    pub(in crate::head) fn send_signal(&self, id: JobId, signal: i32, cx: &mut Cx) {
        if let Some(job) = self.jobs.get(id).filter(|job| job.is_launched()) {
            let hosts = Dest::Many(self.pool.reachable(&job.map().daemons()));
            cx.multicast(hosts, DaemonMessage::Signal { job: id, signal });
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

    /// Replies to everybody who still waits for a job, at the end of the DVM (spec L39).
    pub(in crate::head) fn answer_everybody(&mut self, cx: &mut Cx) {
        for id in self.jobs.give_up(INTERRUPTED) {
            self.reply_to_submitter(id, cx);
        }
    }
}
