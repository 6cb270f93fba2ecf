//! The names and numbers of states are those of the specification.

use ferrite_types::{JobState, ProcState};

const LAUNCH: &str = include_str!("../../../docs/spec/launch.md");

/// The rows `| number | NAME |` of the table that begins with this heading.
fn listed(heading: &str) -> Vec<String> {
    let (_, table) = LAUNCH.split_once(&format!("\n| {heading} | name | meaning |\n")).expect("the page has the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').skip(1).take(2).map(str::trim).collect::<Vec<_>>().join(" ")).collect()
}

/// A job's states have the field's numbers (spec L1).
#[test]
fn every_state_has_the_number_that_the_specification_gives_it() {
    let jobs: Vec<String> = JobState::ALL.iter().map(|state| format!("{} {state}", state.number())).collect();
    assert_eq!(jobs, listed("job"));
    for state in JobState::ALL {
        assert_eq!((state.is_unterminated(), state.is_error()), (state.number() < 30, state.number() >= 50), "{state}");
        assert_eq!(state.failure().is_some(), state.is_error() && *state != JobState::Error, "{state}");
    }
}

/// A process's states have the field's numbers (spec L2).
#[test]
fn a_process_runs_below_15_and_has_failed_from_50_on() {
    let procs: Vec<String> = ProcState::ALL.iter().map(|state| format!("{} {state}", state.number())).collect();
    assert_eq!(procs, listed("process"));
    for state in ProcState::ALL {
        assert_eq!((state.has_ended(), state.is_error()), (state.number() >= 15, state.number() >= 50), "{state}");
    }
}
