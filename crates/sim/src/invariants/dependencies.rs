//! Guarantee: a job that depends on others begins when they are over, and neither earlier nor later. When one that had
//! to end well has not, the job is never run (spec L152).
//!
//! It judges DVMs whose jobs spawn none, so that the end of a job is the end of all that belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{DaemonRank, JobId, JobState};
use ferrite_wire::control::{Ending, JobRef, JobStatus, Reply, Request, Submission};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

#[derive(Default)]
pub(super) struct Dependencies {
    asked: BTreeMap<RequestId, Submission>,
    /// The latest job of each name.
    names: BTreeMap<String, JobId>,
    /// The jobs on which each waiting job depends; true = it has to end well.
    waiting: BTreeMap<JobId, Vec<(JobId, bool)>>,
    /// Waiting jobs that somebody has ended.
    ended: BTreeSet<JobId>,
    /// The exit codes of jobs that are over.
    codes: BTreeMap<JobId, u8>,
    ending: bool,
}

impl Dependencies {
    /// `None` for scenarios without dependencies.
    pub(super) fn new(scenario: &Scenario) -> Option<Dependencies> {
        let has_some = scenario.jobs.iter().any(|plan| !plan.after.is_empty());
        (has_some && scenario.children.is_empty()).then(Dependencies::default)
    }

    fn failed(&self, (job, well): &(JobId, bool)) -> bool {
        *well && self.codes.get(job).is_some_and(|code| *code != 0)
    }

    /// Judges between two inputs: nobody waits without need.
    fn look(&self) -> Result<(), String> {
        for (id, after) in self.waiting.iter().filter(|(id, _)| !self.ended.contains(id)) {
            let is_open = after.iter().any(|(job, _)| !self.codes.contains_key(job));
            let failed = after.iter().find(|dependency| self.failed(dependency));
            require(failed.is_none(), || format!("job {id} waits for others, and {failed:?} has failed"))?;
            require(is_open, || format!("job {id} waits for others, and they are over: {after:?}"))?;
        }
        Ok(())
    }

    fn accept(&mut self, request: RequestId, id: JobId) -> Result<(), String> {
        let Some(submission) = self.asked.remove(&request) else { return Ok(()) };
        let job_of = |job: &JobRef| match job {
            JobRef::Number(id) => Some(*id),
            JobRef::Name(name) => self.names.get(name).copied(),
        };
        let after: Option<Vec<(JobId, bool)>> =
            submission.after.iter().map(|dependency| Some((job_of(&dependency.job)?, dependency.well))).collect();
        require(after.is_some(), || format!("job {id} is accepted, and depends on {:?}", submission.after))?;
        if let Some(after) = after.filter(|after| !after.is_empty()) {
            self.waiting.insert(id, after);
        }
        if !submission.task.is_empty() {
            self.names.insert(submission.task, id);
        }
        Ok(())
    }

    /// Judges a job that begins.
    fn begins(&mut self, id: JobId) -> Result<(), String> {
        let Some(after) = self.waiting.remove(&id) else { return Ok(()) };
        for dependency @ (other, _) in &after {
            require(self.codes.contains_key(other), || format!("job {id} begins before job {other} is over"))?;
            require(!self.failed(dependency), || format!("job {id} begins, and job {other} has failed"))?;
        }
        Ok(())
    }

    fn over(&mut self, status: &JobStatus) -> Result<(), String> {
        let (id, code) = (status.job, status.exit_code.unwrap_or(0));
        self.codes.insert(id, code);
        let after = self.waiting.remove(&id).unwrap_or_default();
        let failed = after.iter().any(|dependency| self.failed(dependency));
        require(failed || status.ending != Some(Ending::NotRun), || {
            format!("job {id} is not run, and none of these has failed: {after:?}")
        })
    }

    fn says(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) } => {
                self.accept(*request, *job)
            }
            Effect::Trace(Transition::Job { job, to: JobState::Map, .. }) => self.begins(*job),
            Effect::Trace(Transition::Job { job, to, .. }) if to.is_error() => {
                self.ended.insert(*job);
                Ok(())
            }
            Effect::Keep { job, .. } => self.over(&job.status),
            _ => Ok(()),
        }
    }

    fn hears(&mut self, input: &Input) {
        match input {
            Input::Terminate { .. } | Input::Head(HeadInput::Interrupt) => self.ending = true,
            Input::Head(HeadInput::Request { request: Request::Terminate, .. }) => self.ending = true,
            Input::Head(HeadInput::Request { id, request: Request::Submit(submission) }) => {
                self.asked.insert(*id, (**submission).clone());
            }
            _ => {}
        }
    }
}

impl Invariant for Dependencies {
    fn name(&self) -> &'static str {
        "a job begins after those on which it depends"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, .. } if !self.ending => {
                self.look()?;
                self.hears(input);
                Ok(())
            }
            Observation::Effect { rank: DaemonRank::HEAD, effect, .. } if !self.ending => self.says(effect),
            _ => Ok(()),
        }
    }
}
