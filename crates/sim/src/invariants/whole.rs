//! Guarantee: in a job that ended well each process has ended by itself, with success. A process that a loss, a shrink
//! or a signal has ended is a failure, unless the job goes on after failures.

use std::collections::BTreeSet;

use ferrite_core::{Effect, Transition};
use ferrite_types::{JobId, ProcId, ProcState, Rank};
use ferrite_wire::control::Reply;

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

#[derive(Default)]
pub(super) struct Whole {
    /// For each request: true when its job goes on after failures.
    survives: Vec<bool>,
    /// Processes that have ended well.
    well: BTreeSet<ProcId>,
}

impl Whole {
    pub(super) fn new(scenario: &Scenario) -> Whole {
        let survives = scenario.jobs.iter().map(|job| job.spec.options.tolerates_failures()).collect();
        Whole { survives, well: BTreeSet::new() }
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
