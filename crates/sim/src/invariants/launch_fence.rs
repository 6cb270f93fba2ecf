//! Guarantee: the launch fence is up exactly while the DVM changes its size. A job is mapped only while no campaign
//! is open, and launched only while no shrink is; it is parked only while a campaign holds it (spec E7, E8), or its
//! session is paused.

use ferrite_core::{Effect, Transition};
use ferrite_types::{JobId, JobState};

use super::changes::Changes;
use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct LaunchFence {
    changes: Changes,
}

impl LaunchFence {
    fn passes(&self, job: JobId, from: JobState, to: JobState) -> Result<(), String> {
        use JobState::{LaunchApps, Map, MapComplete, SendLaunchMsg, VmReady, WaitingForDaemons};
        let (any, shrinking) = (self.changes.any(), self.changes.shrinking());
        let holds = match (from, to) {
            (VmReady | WaitingForDaemons, Map) | (Map, MapComplete) => !any,
            (VmReady, WaitingForDaemons) => self.changes.any_or_queued() || self.changes.may_pause(job),
            (WaitingForDaemons, LaunchApps) | (LaunchApps, SendLaunchMsg) => !shrinking,
            (LaunchApps, WaitingForDaemons) => shrinking || self.changes.may_pause(job),
            _ => true,
        };
        require(holds, || {
            let open: Vec<String> = self.changes.open().map(|(id, change)| format!("{} {id}", change.kind)).collect();
            format!("job {job} goes from {from} to {to} while these are open: {open:?}")
        })
    }
}

impl Invariant for LaunchFence {
    fn name(&self) -> &'static str {
        "jobs are held exactly while the DVM changes its size"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        match what {
            Observation::Effect { effect: Effect::Trace(Transition::Job { job, from: Some(from), to }), .. }
                if *job != JobId::DAEMONS =>
            {
                self.passes(*job, *from, *to)
            }
            _ => Ok(()),
        }
    }
}
