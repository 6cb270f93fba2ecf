//! Guarantee: at the end every daemon is gone, and none has left a process behind. Without faults no deadline was
//! needed.

use ferrite_core::{DaemonTimer, HeadInput, Input, Timer};
use ferrite_types::DaemonRank;

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;
use crate::world::Gone;

pub(super) struct NothingLeft {
    /// True when nothing in the scenario slows a departure.
    smooth: bool,
    /// True after a third interrupt or the head's death: then the operating system cleans up.
    forced: bool,
}

impl NothingLeft {
    pub(super) fn new(scenario: &Scenario) -> NothingLeft {
        NothingLeft { smooth: scenario.is_kind() && scenario.faults.is_empty(), forced: false }
    }
}

impl Invariant for NothingLeft {
    fn name(&self) -> &'static str {
        "nothing is left at the end"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { input: Input::Head(HeadInput::Interrupt), .. } => self.forced = true,
            Observation::Input { rank, input: Input::Timer(Timer::Daemon(DaemonTimer::Departure)), .. } => {
                return require(!self.smooth, || format!("daemon {rank} waited in vain for others to go"));
            }
            Observation::Gone { rank, how: Gone::Exit(code), running, .. } => {
                return require(*running == 0 || self.forced, || {
                    format!("daemon {rank} ends with code {code} while {running} of its processes run")
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn at_end(&mut self, left: &[DaemonRank]) -> Result<(), String> {
        require(left.is_empty(), || format!("{} daemons are still there, first {:?}", left.len(), left.first()))
    }
}
