//! Dependencies: jobs that begin after the ends of others (spec L152). A job waits in the state VM_READY, before any
//! campaign can hold it and before the queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{JobId, JobState};
use ferrite_wire::control::{Dependency, JobRef};

use super::record::Job;
use super::registry::Jobs;
use super::spawn::Birth;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::lists::listed;

/// The most jobs after which one job begins.
const MOST_DEPENDENCIES: usize = 4_096;
/// The number of failed jobs whose exit codes are kept.
const MOST_FAILURES: usize = 100_000;

/// The jobs that wait for the ends of others, and the exit codes of those that have failed.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    waiting: BTreeSet<JobId>,
    /// The jobs that wait for the end of this one.
    on: BTreeMap<JobId, BTreeSet<JobId>>,
    failures: BTreeMap<JobId, u8>,
    /// The latest job whose failure is kept no more.
    forgotten: Option<JobId>,
}

impl Dependencies {
    /// The number of jobs that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn wait(&mut self, id: JobId, on: impl Iterator<Item = JobId>) {
        self.waiting.insert(id);
        for other in on {
            self.on.entry(other).or_default().insert(id);
        }
    }

    fn forget(&mut self, id: JobId, on: impl Iterator<Item = JobId>) {
        self.waiting.remove(&id);
        for other in on {
            if let Some(waiting) = self.on.get_mut(&other) {
                waiting.remove(&id);
                if waiting.is_empty() {
                    self.on.remove(&other);
                }
            }
        }
    }

    /// Keeps the exit code of a job that has failed; of a spawn tree, the first one.
    fn note_failure(&mut self, id: JobId, code: u8) {
        self.failures.entry(id).or_insert(code);
        if self.failures.len() > MOST_FAILURES
            && let Some((oldest, _)) = self.failures.pop_first()
        {
            self.forgotten = self.forgotten.max(Some(oldest));
        }
    }
}

impl Job {
    /// The jobs for whose ends it waits.
    fn awaited(&self) -> impl Iterator<Item = JobId> + '_ {
        self.after.keys().copied()
    }
}

impl Jobs {
    /// True when no process of a job runs or will run: the job is over, and so is what it has spawned.
    fn is_past(&self, id: JobId) -> bool {
        self.get(id).is_none() && !self.has_tree(id)
    }
}

impl Head {
    /// The jobs that dependencies name; true = a job has to end well.
    ///
    /// # Errors
    /// One is not known, or the DVM does not know any more how it has ended.
    pub(super) fn resolve(&self, dependencies: &[Dependency]) -> Result<BTreeMap<JobId, bool>, String> {
        if dependencies.len() > MOST_DEPENDENCIES {
            let number = dependencies.len();
            return Err(format!("The job is to run after {number} others; {MOST_DEPENDENCIES} are the most."));
        }
        let mut after = BTreeMap::new();
        for Dependency { job, well } in dependencies {
            let id = self.find_job(job)?;
            if *well && self.jobs.is_past(id) && self.jobs.dependencies.forgotten.is_some_and(|last| id <= last) {
                return Err(format!(
                    "The job is to run after job {id}, and the DVM does not know any more how that one has ended.\n\
                     Submit the job without this dependency, or let it run after any end of job {id} (--after-any)."
                ));
            }
            *after.entry(id).or_default() |= well;
        }
        Ok(after)
    }

    fn find_job(&self, job: &JobRef) -> Result<JobId, String> {
        let (found, what) = match job {
            JobRef::Number(id) => (Some(*id), format!("job {id}")),
            JobRef::Name(name) => (self.find_named(name), format!("job of the name {name:?}")),
        };
        found.filter(|id| self.jobs.has_been(*id)).ok_or_else(|| {
            format!("The job is to run after another one, and there is no {what}; `pdvm jobs` lists them.")
        })
    }

    /// The job with this namespace, or the latest one whose task has this name.
    fn find_named(&self, name: &str) -> Option<JobId> {
        let of_dvm = name.strip_prefix(&*self.config.dvm).and_then(|rest| rest.strip_prefix('@'));
        if let Some(number) = of_dvm.and_then(|number| number.parse().ok()) {
            return Some(JobId(number));
        }
        self.jobs.named(name).max(self.ended_task(name))
    }

    /// VM_READY: lets a job go on when the jobs are over after which it begins (spec L152).
    pub(super) fn pass_dependencies(&mut self, id: JobId, cx: &mut Cx) {
        self.drop_past(id);
        let job = self.jobs.at(id);
        if let Some((other, code)) = self.failed_dependency(job) {
            return self.never_run(id, other, code, cx);
        }
        if job.after.is_empty() {
            return self.pass_map_hold(id, cx);
        }
        let awaited: Vec<JobId> = job.awaited().collect();
        self.jobs.dependencies.wait(id, awaited.into_iter());
    }

    /// Takes the jobs out that a job need not wait for any more.
    fn drop_past(&mut self, id: JobId) {
        let failed = |other: &JobId| self.jobs.dependencies.failures.contains_key(other);
        let after = &self.jobs.at(id).after;
        let past = after.iter().filter(|(other, well)| self.jobs.is_past(**other) && !(**well && failed(other)));
        let past: Vec<JobId> = past.map(|(other, _)| *other).collect();
        let job = self.jobs.at_mut(id);
        job.after.retain(|other, _| !past.contains(other));
    }

    /// A job that is over, and was to end well and did not.
    fn failed_dependency(&self, job: &Job) -> Option<(JobId, u8)> {
        let mut past = job.after.iter().filter(|(other, well)| **well && self.jobs.is_past(**other));
        past.find_map(|(other, _)| Some((*other, *self.jobs.dependencies.failures.get(other)?)))
    }

    fn never_run(&mut self, id: JobId, other: JobId, code: u8, cx: &mut Cx) {
        let text = format!(
            "Job {id} was not run: it was to run after a good end of job {other}, which has ended with code {code}."
        );
        self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
    }

    /// Notes the end of a job that was just taken out, and lets those go on that have waited for it, by priority
    /// (spec L152).
    pub(super) fn end_dependencies(&mut self, job: &Job, cx: &mut Cx) {
        self.jobs.dependencies.forget(job.id, job.awaited());
        let code = job.exit_code().unwrap_or(0);
        for id in BTreeSet::from([job.id, job.root]) {
            let counts = id == job.id || self.counts_for_tree(job);
            if code != 0 && counts {
                self.jobs.dependencies.note_failure(id, code);
            }
            if self.jobs.is_past(id) {
                self.on_past(id, cx);
            }
        }
    }

    /// True when the failure of a job is one of its spawn tree.
    fn counts_for_tree(&self, job: &Job) -> bool {
        match job.birth {
            Birth::Submitted { .. } => true,
            Birth::Spawned { .. } => self.counts_spawned(job.root),
            Birth::Awaited { .. } | Birth::Refused { .. } => false,
        }
    }

    fn on_past(&mut self, id: JobId, cx: &mut Cx) {
        let Some(waiting) = self.jobs.dependencies.on.remove(&id) else { return };
        let healthy = waiting.into_iter().filter_map(|id| self.jobs.get(id).filter(|job| job.is_healthy()));
        let mut healthy: Vec<(Reverse<i16>, JobId)> = healthy.map(|job| (Reverse(job.priority), job.id)).collect();
        healthy.sort_unstable();
        for (_, waiting) in healthy {
            self.drop_past(waiting);
            let job = self.jobs.at(waiting);
            if let Some((other, code)) = self.failed_dependency(job) {
                self.never_run(waiting, other, code, cx);
            } else if job.after.is_empty() {
                self.jobs.dependencies.waiting.remove(&waiting);
                self.pass_map_hold(waiting, cx);
            }
        }
    }

    /// The jobs for whose ends a job waits, in words; `None` = it waits for none.
    pub(super) fn awaited_jobs(&self, job: &Job) -> Option<String> {
        if !self.jobs.dependencies.waiting.contains(&job.id) {
            return None;
        }
        let named = |(id, well): (&JobId, &bool)| {
            let task = self.jobs.get(*id).map(|job| job.task.as_str()).filter(|task| !task.is_empty());
            let task = task.map(|task| format!(" ({task})")).unwrap_or_default();
            format!("{id}{task}{}", if *well { "" } else { " at any end" })
        };
        let jobs: Vec<String> = job.after.iter().map(named).collect();
        let noun = if jobs.len() == 1 { "job" } else { "jobs" };
        Some(format!("the end of {noun} {}", listed(jobs.iter().map(String::as_str))))
    }
}
