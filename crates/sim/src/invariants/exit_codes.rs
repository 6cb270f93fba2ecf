//! Guarantee: a client gets the exit code of its processes, as long as no fault interferes.

use std::collections::BTreeSet;

use ferrite_core::Effect;
use ferrite_types::JobId;
use ferrite_wire::control::Reply;

use super::{Invariant, Observation};
use crate::scenario::{Expect, FULL, Scenario};

/// The code of a job that lacks only output.
const OUTPUT_LOST: u8 = 74;

pub(super) struct ExitCodes {
    expected: Vec<Expect>,
    /// Jobs that have written to a full disk.
    short: BTreeSet<JobId>,
}

impl ExitCodes {
    pub(super) fn new(scenario: &Scenario) -> ExitCodes {
        let kind = scenario.is_kind();
        let expect = |e: Expect| if kind { e } else { Expect::Anything };
        ExitCodes { expected: scenario.jobs.iter().map(|j| expect(j.expect)).collect(), short: BTreeSet::new() }
    }
}

impl Invariant for ExitCodes {
    fn name(&self) -> &'static str {
        "a client gets the exit code that its processes earned"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { effect, .. } = what else { return Ok(()) };
        if let Effect::WriteFile { job, path, .. } = effect
            && path.starts_with(FULL)
        {
            self.short.insert(*job);
        }
        let Effect::Reply { request, reply: Reply::Done(done) } = effect else { return Ok(()) };
        let is_short = done.job.as_ref().is_some_and(|status| self.short.contains(&status.job));
        let exit_code = &done.exit_code;
        match self.expected.get(request.0 as usize) {
            Some(Expect::Code(0)) if is_short && *exit_code == OUTPUT_LOST => Ok(()),
            Some(Expect::Code(0)) if is_short => {
                Err(format!("{request:?} ended with {exit_code} although its output is lost"))
            }
            Some(Expect::Code(code)) if code != exit_code => {
                Err(format!("{request:?} ended with {exit_code}, expected {code}"))
            }
            Some(Expect::Failure) if *exit_code == 0 => Err(format!("{request:?} cannot have ended well")),
            Some(Expect::Code(_) | Expect::Failure | Expect::Anything) | None => Ok(()),
        }
    }
}
