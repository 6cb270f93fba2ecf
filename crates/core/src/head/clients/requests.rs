//! Requests of clients; each gets one reply.

use ferrite_types::{JobId, JobState, Rank, Signal};
use ferrite_wire::control::{Reply, Request};

use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::CANCELLED;

impl Head {
    /// Handles a request. Its one reply comes now or later (spec L39).
    pub(in crate::head) fn on_request(&mut self, id: RequestId, request: Request, cx: &mut Cx) {
        let reply = match request {
            Request::Submit(submission) => return self.on_submit(id, *submission, cx),
            Request::Kill(job) => self.kill(job, cx),
            Request::KillTree(job) => self.kill_tree(job, cx),
            Request::Signal { job, signal } => self.signal(job, signal, cx),
            Request::Release { job, ranks } => self.release_stopped(job, ranks, cx),
            Request::Raise { event, range } => self.raise_of_tool(*event, range, cx),
            Request::Terminate => {
                cx.reply(id, Reply::Ordered);
                return self.stop_all("The DVM was ended by request (pterm).", 0, cx);
            }
            Request::Pull(job) => return self.on_pull(id, job, cx),
            Request::Feed { job, ranks } => return self.on_feed(id, job, &ranks, cx),
            Request::Resize(request) => return self.on_resize(id, &request, cx),
            Request::Push(request) => return self.on_push(id, &request, cx),
            Request::ResizeJob(ask) => return self.on_job_resize(id, &ask, cx),
            Request::Defaults => Reply::Defaults(self.job_defaults()),
            Request::Sessions => Reply::Sessions(self.session_statuses(cx.now)),
            Request::Facts(about) => Reply::Facts(self.facts(&about, cx)),
            Request::Session { session, directive } => return self.on_session_request(id, &session, &directive, cx),
            Request::Status => Reply::Status(Box::new(self.status(cx.now))),
            Request::Metrics => Reply::Metrics(Box::new(self.counters.beside(self.status(cx.now)))),
            Request::Nodes => Reply::Nodes(self.node_statuses()),
            Request::Jobs => Reply::Jobs(self.job_statuses()),
            Request::Job(job) => match self.known_detail(job) {
                Some(detail) => Reply::Job(Box::new(detail)),
                None => return self.look_back(id, job, cx),
            },
            Request::Batch(order) => return self.on_batch(id, order, cx),
            Request::Wait(job) => return self.on_wait(id, job, cx),
            Request::Ended { from } => return self.on_ended(id, from, cx),
        };
        cx.reply(id, reply);
    }

    /// The parameters of the DVM that are defaults of its jobs and that a client has to read, as they name its files.
    /// (Those of placement are filled in when a job is mapped.)
    fn job_defaults(&self) -> Vec<(String, String)> {
        let value = |name: &str| self.params.text(name).ok().flatten().map(|text| (name.to_owned(), text.to_owned()));
        ["display", "output", "rtos"].into_iter().filter_map(value).collect()
    }

    /// Ends a job (spec L117).
    fn kill(&mut self, id: JobId, cx: &mut Cx) -> Reply {
        if self.jobs.get(id).is_none() {
            return self.no_such_job(id);
        }
        let text = format!("Job {id} was ended by request (pdvm kill).");
        self.fail_job(id, JobState::KilledByCmd, CANCELLED, text, cx);
        Reply::Ordered
    }

    /// Ends a job and all that descend from it (spec L117, L130).
    fn kill_tree(&mut self, id: JobId, cx: &mut Cx) -> Reply {
        let family = self.jobs.with_descendants(id);
        if family.is_empty() {
            return self.no_such_job(id);
        }
        for job in &family {
            // The end of a job ends its children, and those that have no processes are gone then.
            if self.jobs.get(*job).is_some() {
                let text = format!("Job {job} was ended by request (pdvm kill {id} --tree).");
                self.fail_job(*job, JobState::KilledByCmd, CANCELLED, text, cx);
            }
        }
        Reply::Killed(family)
    }

    fn signal(&mut self, id: JobId, signal: Signal, cx: &mut Cx) -> Reply {
        match self.jobs.get(id) {
            None => self.no_such_job(id),
            Some(job) if !job.is_launched() => {
                Reply::Refused(format!("Job {id} has no processes yet: it waits for {}.", self.waiting_for(job)))
            }
            Some(_) => {
                self.send_signal(id, &[], signal, cx);
                Reply::Ordered
            }
        }
    }

    fn release_stopped(&mut self, id: JobId, ranks: Option<Vec<Rank>>, cx: &mut Cx) -> Reply {
        if self.jobs.get(id).is_none() {
            return self.no_such_job(id);
        }
        self.release(id, ranks, cx).map_or_else(Reply::Refused, |()| Reply::Ordered)
    }

    pub(in crate::head) fn no_such_job(&self, id: JobId) -> Reply {
        Reply::Refused(self.why_not_there(id))
    }

    /// The reason why a job cannot be found.
    pub(in crate::head) fn why_not_there(&self, id: JobId) -> String {
        match self.clients.history.find(id) {
            Some(_) => format!("Job {id} is over."),
            None => format!("There is no job {id}; `pdvm jobs` lists them."),
        }
    }
}
