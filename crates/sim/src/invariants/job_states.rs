//! Guarantee: jobs make only the transitions of the state table (spec L3).

use std::collections::BTreeMap;

use ferrite_core::{Effect, Transition};
use ferrite_types::{JobId, JobState};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct JobStates {
    now: BTreeMap<JobId, JobState>,
}

/// The possible next states of a job without failure (spec L3).
fn next(state: JobState) -> &'static [JobState] {
    use JobState::*;
    match state {
        Init => &[InitComplete],
        InitComplete => &[Allocate],
        Allocate => &[AllocationComplete],
        // The daemons are up already, or a job without a launch needs none.
        AllocationComplete => &[LaunchDaemons, DaemonsReported, VmReady],
        LaunchDaemons => &[DaemonsLaunched, DaemonsReported],
        DaemonsLaunched => &[DaemonsReported],
        DaemonsReported => &[VmReady],
        VmReady => &[Map, WaitingForDaemons, LaunchDaemons, AllJobsComplete, DaemonsTerminated],
        WaitingForDaemons => &[Map, LaunchApps],
        Map => &[MapComplete],
        MapComplete => &[SystemPrep],
        // A job that is only shown ends here.
        SystemPrep => &[LaunchApps, Terminated],
        // A job whose map has lost a node is mapped again.
        LaunchApps => &[SendLaunchMsg, WaitingForDaemons, VmReady],
        SendLaunchMsg => &[Started, LocalLaunchComplete],
        Started => &[LocalLaunchComplete, Running, Terminated],
        LocalLaunchComplete => &[Started, Running, Terminated],
        Running => &[Registered, ReadyForDebug, Terminated],
        Registered => &[ReadyForDebug, Terminated],
        // A debugger has released the processes.
        ReadyForDebug => &[Running, Registered, Terminated],
        Terminated => &[NotifyCompleted],
        NotifyCompleted => &[Notified],
        Notified => &[AllJobsComplete],
        AllJobsComplete => &[DaemonsTerminated],
        Unterminated | DaemonsTerminated | Error => &[],
        // A failed job is cleaned up and its requester told, like any other.
        KilledByCmd | Aborted | AbortedBySig | AbortedWoSync | CommFailed | CalledAbort | NeverLaunched
        | NonZeroTerm | AllocFailed | MapFailed | CannotLaunch => &[Terminated, NotifyCompleted],
        // The last daemon reports that none could start the program.
        FailedToStart => &[CannotLaunch, Terminated, NotifyCompleted],
        ForcedExit => &[Terminated, NotifyCompleted, AllJobsComplete, DaemonsTerminated],
    }
}

/// A job may fail as long as it is not over; the DVM itself may be told to end at any time.
fn legal(job: JobId, from: JobState, to: JobState) -> bool {
    let fails = to > JobState::Error && from.is_unterminated();
    let dvm_ends = job == JobId::DAEMONS
        && matches!(to, JobState::AllJobsComplete | JobState::DaemonsTerminated | JobState::ForcedExit);
    fails || dvm_ends || next(from).contains(&to)
}

impl Invariant for JobStates {
    fn name(&self) -> &'static str {
        "jobs walk the state table"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { effect: Effect::Trace(Transition::Job { job, from, to }), .. } = what else {
            return Ok(());
        };
        let known = self.now.insert(*job, *to);
        require(known == *from, || format!("job {job} was in {known:?}, not in {from:?}"))?;
        match from {
            None => require(*to == JobState::Init, || format!("job {job} begins with {to}")),
            Some(from) => require(legal(*job, *from, *to), || format!("job {job} goes from {from} to {to}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use JobState::*;

    #[test]
    fn the_seeds_walk_is_legal_and_shortcuts_are_not() {
        let walk = [
            Init,
            InitComplete,
            Allocate,
            AllocationComplete,
            VmReady,
            Map,
            MapComplete,
            SystemPrep,
            LaunchApps,
            SendLaunchMsg,
            Started,
            LocalLaunchComplete,
            Running,
            Registered,
            Terminated,
            NotifyCompleted,
            Notified,
        ];
        assert!(walk.windows(2).all(|w| legal(JobId(1), w[0], w[1])));
        assert!(legal(JobId(1), Running, NonZeroTerm) && legal(JobId(1), NonZeroTerm, NotifyCompleted));
        for (from, to) in
            [(Init, Running), (Terminated, Aborted), (Notified, Map), (Running, Map), (Running, DaemonsTerminated)]
        {
            assert!(!legal(JobId(1), from, to), "{from} -> {to}");
        }
    }
}
