//! Guarantee: a client gets the exit code of its processes, as long as no fault interferes.

use ferrite_core::Effect;
use ferrite_wire::control::Reply;

use super::{Invariant, Observation};
use crate::scenario::{Expect, Scenario};

pub(super) struct ExitCodes {
    expected: Vec<Expect>,
}

impl ExitCodes {
    pub(super) fn new(scenario: &Scenario) -> ExitCodes {
        let kind = scenario.is_kind();
        let expect = |e: Expect| if kind { e } else { Expect::Anything };
        ExitCodes { expected: scenario.jobs.iter().map(|j| expect(j.expect)).collect() }
    }
}

impl Invariant for ExitCodes {
    fn name(&self) -> &'static str {
        "a client gets the exit code that its processes earned"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { effect: Effect::Reply { request, reply: Reply::Done(done) }, .. } = what else {
            return Ok(());
        };
        let exit_code = &done.exit_code;
        match self.expected.get(request.0 as usize) {
            Some(Expect::Code(code)) if code != exit_code => {
                Err(format!("{request:?} ended with {exit_code}, expected {code}"))
            }
            Some(Expect::Failure) if *exit_code == 0 => Err(format!("{request:?} cannot have ended well")),
            Some(Expect::Code(_) | Expect::Failure | Expect::Anything) | None => Ok(()),
        }
    }
}
