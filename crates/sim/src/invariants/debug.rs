//! Guarantee: a job is ready for a debugger when all of its processes wait for one, and none of them goes on before its
//! job is released or ends (spec L55, L56).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, ProcId, ProcState, Signal};
use ferrite_wire::control::Request;

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct Debug {
    /// Processes that were started, with their daemons and the states that these have told.
    procs: BTreeMap<ProcId, (DaemonRank, ProcState)>,
    /// Jobs that were released.
    released: BTreeSet<JobId>,
    /// Processes that were told to end.
    ending: BTreeSet<ProcId>,
}

impl Debug {
    fn all_wait(&self, job: JobId) -> Result<(), String> {
        let of_job = self.procs.iter().filter(|(proc, _)| proc.job == job);
        let mut runs = of_job
            .filter(|(_, (_, state))| matches!(state, ProcState::Init | ProcState::Running | ProcState::Registered));
        match runs.next() {
            None => Ok(()),
            Some((proc, (_, state))) => Err(format!("job {job} is ready for a debugger, and {proc} is {state}")),
        }
    }
}

impl Invariant for Debug {
    fn name(&self) -> &'static str {
        "processes wait for a debugger until they are released"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::ProcBorn { rank, proc } => drop(self.procs.insert(*proc, (*rank, ProcState::Init))),
            Observation::Gone { rank, .. } => self.procs.retain(|_, (daemon, _)| daemon != rank),
            Observation::Input {
                input: Input::Head(HeadInput::Request { request: Request::Release { job, .. }, .. }),
                ..
            } => drop(self.released.insert(*job)),
            Observation::Effect { effect: Effect::Trace(Transition::Proc { proc, from, to }), .. } => {
                if let Some((_, state)) = self.procs.get_mut(proc) {
                    *state = *to;
                }
                let goes_on =
                    *from == ProcState::ReadyForDebug && matches!(to, ProcState::Running | ProcState::Registered);
                require(!goes_on || self.released.contains(&proc.job), || format!("{proc} goes on unreleased"))?;
            }
            Observation::Effect {
                effect: Effect::Trace(Transition::Job { job, to: JobState::ReadyForDebug, .. }),
                ..
            } => {
                self.all_wait(*job)?;
            }
            Observation::Effect { effect: Effect::Signal { proc, signal: Signal::TERM | Signal::KILL }, .. } => {
                self.ending.insert(*proc);
            }
            Observation::Effect { effect: Effect::Signal { proc, signal: Signal::CONT }, .. } => {
                let waits = self.procs.get(proc).is_some_and(|(_, state)| *state == ProcState::ReadyForDebug);
                require(!waits || self.ending.contains(proc), || format!("{proc} goes on unreleased"))?;
            }
            _ => {}
        }
        Ok(())
    }
}
