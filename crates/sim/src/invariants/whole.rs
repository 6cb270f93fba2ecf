//! Guarantee: in a job that ended well each process has ended by itself, with success. A process that a loss, a shrink
//! or a signal has ended is a failure, unless the job goes on after failures.

use std::collections::BTreeSet;

use ferrite_core::{Effect, HeadInput, Input, PmixEffect, Transition};
use ferrite_types::{JobId, ProcId, ProcState, Rank};
use ferrite_wire::EventInfo;
use ferrite_wire::control::{Reply, Request};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

#[derive(Default)]
pub(super) struct Whole {
    /// For each request: true when its job goes on after failures.
    survives: Vec<bool>,
    /// Processes that have ended well.
    well: BTreeSet<ProcId>,
    /// True once somebody has asked for fewer processes of a job, which are not told.
    at_once: bool,
}

impl Whole {
    pub(super) fn new(scenario: &Scenario) -> Whole {
        let survives = scenario.jobs.iter().map(|job| job.spec.options.tolerates_failures()).collect();
        Whole { survives, ..Whole::default() }
    }

    fn ends_well(&self, job: JobId, procs: u32) -> Result<(), String> {
        let missing = (0..procs).map(|rank| ProcId { job, rank: Rank(rank) }).find(|proc| !self.well.contains(proc));
        require(missing.is_none(), || format!("job {job} is said to have ended well, and {missing:?} has not"))
    }
}

impl Invariant for Whole {
    fn name(&self) -> &'static str {
        "a job that ends well has lost nobody"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect { effect: Effect::Trace(Transition::Proc { proc, to, .. }), .. }
                if *to == ProcState::Terminated =>
            {
                self.well.insert(*proc);
            }
            // Processes by which their job is to become smaller may end as they like (spec E58).
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Event { event, .. }), .. } => {
                if let EventInfo::Withdrawal(notice) = &event.info
                    && notice.of_procs
                {
                    self.well.extend(notice.ranks.iter().map(|rank| ProcId { job: notice.job, rank: *rank }));
                }
            }
            Observation::Input { input: Input::Head(HeadInput::Request { request, .. }), .. } => {
                self.at_once |= matches!(request, Request::ResizeJob(ask) if ask.time_s == Some(0));
            }
            Observation::Effect { effect: Effect::Trace(Transition::Proc { proc, to, .. }), .. }
                if *to == ProcState::KilledByCmd && self.at_once =>
            {
                self.well.insert(*proc);
            }
            Observation::Effect { effect: Effect::Reply { request, reply: Reply::Done(done) }, .. } => {
                let goes_on = self.survives.get(request.0 as usize) != Some(&false);
                if let (0, Some(job), false) = (done.exit_code, &done.job, goes_on) {
                    return self.ends_well(job.job, job.procs);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
