//! Waits for the ends of jobs, and questions to the history (spec L115, L116). What is in memory is answered at once;
//! for the rest the driver looks into the history's files.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::JobId;
use ferrite_wire::control::{JobDetail, Reply};

use super::history::Place;
use crate::cx::Cx;
use crate::effect::{Effect, Recall, Recalled};
use crate::head::Head;
use crate::input::RequestId;

/// The requests that wait for the end of a job.
#[derive(Debug, Default)]
pub(super) struct Waits {
    of_job: BTreeMap<JobId, BTreeSet<RequestId>>,
    jobs: BTreeMap<RequestId, JobId>,
}

impl Waits {
    fn add(&mut self, request: RequestId, job: JobId) {
        self.jobs.insert(request, job);
        self.of_job.entry(job).or_default().insert(request);
    }

    /// Removes the waits for a job, and returns the requests.
    fn take(&mut self, job: JobId) -> BTreeSet<RequestId> {
        let Some(requests) = self.of_job.remove(&job) else { return BTreeSet::new() };
        self.jobs.retain(|_, of| *of != job);
        requests
    }

    fn forget(&mut self, request: RequestId) {
        let Some(job) = self.jobs.remove(&request) else { return };
        if let Some(requests) = self.of_job.get_mut(&job) {
            requests.remove(&request);
            if requests.is_empty() {
                self.of_job.remove(&job);
            }
        }
    }
}

impl Head {
    /// Keeps what is known of a job that is over, and answers those who wait for it (spec L115, L116).
    pub(in crate::head) fn remember(&mut self, job: JobDetail, cx: &mut Cx) {
        for request in self.clients.waits.take(job.status.job) {
            cx.reply(request, Reply::Job(Box::new(job.clone())));
        }
        let remembered = self.remembered();
        if remembered > 0 {
            let number = self.clients.history.ended;
            let Place { file, oldest } = Place::of(number, remembered);
            cx.effect(Effect::Keep { number, file, oldest, job: Box::new(job.clone()) });
        }
        self.clients.history.add(job);
    }

    /// The number of jobs that the files remember at least; 0 = there are none. A DVM for one job has no files.
    fn remembered(&self) -> u64 {
        let remembered = self.params.number("ferrite_history_jobs").unwrap_or(0);
        if self.config.persistent { remembered.into() } else { 0 }
    }

    /// Answers when the job is over (spec L116).
    pub(super) fn on_wait(&mut self, request: RequestId, job: JobId, cx: &mut Cx) {
        if self.jobs.get(job).is_some() {
            return self.clients.waits.add(request, job);
        }
        match self.clients.history.find(job) {
            Some(detail) => cx.reply(request, Reply::Job(Box::new(detail.clone()))),
            None => self.look_back(request, job, cx),
        }
    }

    /// The latest job in memory that is over and whose task has this name.
    pub(in crate::head) fn ended_task(&self, task: &str) -> Option<JobId> {
        self.clients.history.of_task(task)
    }

    /// Answers with a job that is not in memory, if the files have it.
    pub(super) fn look_back(&mut self, request: RequestId, job: JobId, cx: &mut Cx) {
        if self.remembered() > 0 && self.clients.history.has_more() {
            return cx.effect(Effect::Recall { request, what: Recall::Job(job) });
        }
        cx.reply(request, self.no_such_job(job));
    }

    /// Answers with a page of the history.
    pub(super) fn on_ended(&mut self, request: RequestId, from: u64, cx: &mut Cx) {
        if self.remembered() > 0 && self.clients.history.has_more() {
            return cx.effect(Effect::Recall { request, what: Recall::From(from) });
        }
        cx.reply(request, Reply::Ended(self.clients.history.page(from)));
    }

    /// Passes on what the history's files have.
    pub(in crate::head) fn on_recalled(&mut self, request: RequestId, found: Recalled, cx: &mut Cx) {
        let reply = match found {
            Recalled::Job(id, Some(mut job)) => {
                // Other worlds of an elastic job may go on.
                if self.jobs.has_tree(id) {
                    job.record.changes = self.size_steps(id);
                }
                Reply::Job(job)
            }
            Recalled::Job(job, None) => self.no_such_job(job),
            Recalled::Page(page) => Reply::Ended(page),
        };
        cx.reply(request, reply);
    }

    /// Forgets a request whose client is gone.
    pub(in crate::head) fn forget_wait(&mut self, request: RequestId) {
        self.clients.waits.forget(request);
        self.clients.batches.forget(request);
    }

    /// Answers all waits at the end of the DVM (spec L39).
    pub(in crate::head) fn give_up_waits(&mut self, cx: &mut Cx) {
        for (request, job) in std::mem::take(&mut self.clients.waits).jobs {
            cx.reply(request, Reply::Refused(format!("The DVM is ending, and job {job} is not over.")));
        }
        self.give_up_batches(cx);
    }
}
