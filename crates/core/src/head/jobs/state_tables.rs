//! The state tables of jobs and of the DVM, as `--prtemca state_base_verbose 5` prints them at start
//! (docs/spec/launch.md). The head enters each of these states; the text beside a state names its handler.

use std::fmt::Write as _;

use ferrite_types::JobState;

/// The ordered states, each with the head's method that handles it, the state that follows at once (`-> NAME`), or a
/// dash for a state that only waits.
pub const LAUNCH_STATES: &[(JobState, &str)] = &[
    (JobState::Init, "-> INIT_COMPLETE"),
    (JobState::InitComplete, "-> ALLOCATE"),
    (JobState::Allocate, "-> ALLOCATION_COMPLETE"),
    (JobState::AllocationComplete, "-> LAUNCH_DAEMONS"),
    (JobState::LaunchDaemons, "launch_daemons"),
    (JobState::DaemonsLaunched, "-"),
    (JobState::DaemonsReported, "wire_up"),
    (JobState::VmReady, "pass_map_hold"),
    (JobState::WaitingForDaemons, "-"),
    (JobState::Map, "map_job"),
    (JobState::MapComplete, "mapping_complete"),
    (JobState::SystemPrep, "prepare"),
    (JobState::LaunchApps, "pass_launch_hold"),
    (JobState::SendLaunchMsg, "send_launch"),
    (JobState::Started, "-"),
    (JobState::LocalLaunchComplete, "-"),
    (JobState::Running, "post_launch"),
    (JobState::Registered, "-"),
    (JobState::ReadyForDebug, "-"),
    (JobState::Terminated, "-> NOTIFY_COMPLETED"),
    (JobState::NotifyCompleted, "notify"),
    (JobState::Notified, "clean_up"),
    (JobState::AllJobsComplete, "shut_down"),
    (JobState::DaemonsTerminated, "-"),
];

/// The states of a failed job or DVM, each with the method that enters it.
pub const ERROR_STATES: &[(JobState, &str)] = &[
    (JobState::KilledByCmd, "end_job"),
    (JobState::Aborted, "on_abort"),
    (JobState::FailedToStart, "on_start_failures"),
    (JobState::AbortedBySig, "on_procs_ended"),
    (JobState::AbortedWoSync, "on_procs_ended"),
    (JobState::CommFailed, "lose_procs"),
    (JobState::CalledAbort, "on_procs_ended"),
    (JobState::NeverLaunched, "abort_held"),
    (JobState::NonZeroTerm, "on_procs_ended"),
    (JobState::ForcedExit, "force_quit"),
    (JobState::AllocFailed, "fail_placement"),
    (JobState::MapFailed, "fail_placement"),
    (JobState::CannotLaunch, "on_start_failures"),
];

/// Both tables, one line per state.
#[must_use]
pub fn state_tables() -> String {
    let mut text = String::new();
    for (title, table) in [("ORDERED JOB STATES:", LAUNCH_STATES), ("STATES OF FAILED JOBS:", ERROR_STATES)] {
        let _ = writeln!(text, "{title}");
        for (state, what) in table {
            let _ = writeln!(text, "    {:>2} {:<24} {what}", state.number(), state.name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = concat!(
        include_str!("../dvm/bringup.rs"),
        include_str!("../dvm/end.rs"),
        include_str!("failures.rs"),
        include_str!("../elastic/launch_fence.rs"),
        include_str!("node_losses.rs"),
        include_str!("placement.rs"),
        include_str!("states.rs"),
    );

    #[test]
    fn what_stands_beside_a_state_is_there() {
        let is_state = |name: &str| JobState::ALL.iter().any(|state| state.name() == name);
        for (state, what) in LAUNCH_STATES.iter().chain(ERROR_STATES) {
            let is_there = match what.strip_prefix("-> ") {
                Some(next) => is_state(next),
                None => *what == "-" || HEAD.contains(&format!("fn {what}(")),
            };
            assert!(is_there, "{state}: {what}");
        }
    }
}
