//! Plays a scenario up to a numbered event and shows the state of its daemons at that moment.
//!
//! It serves the search for the cause of a failed story. It changes nothing: the same events happen with and without
//! it.

use ferrite_types::DaemonRank;

use crate::invariants::Referee;
use crate::scenario::Scenario;
use crate::trace::Keep;
use crate::world::{Report, World};

/// The number of trace lines that are kept.
const LINES: usize = 4_000;

/// A run up to an event.
#[derive(Debug)]
pub struct Replay {
    /// The report of the part that was played.
    pub report: Report,
    /// The lines of the last events.
    pub last: Vec<String>,
    /// The state of the nodes that were asked for; `None` when there was no such daemon then.
    pub states: Vec<(DaemonRank, Option<String>)>,
}

/// Plays until event number `until` (to the end without it), and returns the lines of the last `events` events.
#[must_use]
pub fn replay(scenario: &Scenario, until: Option<u64>, events: usize, nodes: &[DaemonRank]) -> Replay {
    let keep = Keep::Last(LINES, Default::default());
    let mut world = World::new(scenario.clone(), keep, Referee::strict(scenario));
    world.begin();
    world.play(until);
    let state = |rank: &DaemonRank| (*rank, world.hosts.get(rank).map(|host| format!("{:#?}", host.node)));
    let states = nodes.iter().map(state).collect();
    let report = if until.is_some_and(|until| world.is_under_way(until)) { world.stop() } else { world.finish() };
    let last = last_events(&report.lines, events);
    Replay { report, last, states }
}

/// Returns the lines of the last events that wrote any.
fn last_events(lines: &[String], events: usize) -> Vec<String> {
    let number = |line: &String| line.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    let mut numbers: Vec<_> = lines.iter().filter_map(number).collect();
    numbers.dedup();
    let first = numbers.get(numbers.len().saturating_sub(events)).copied();
    lines.iter().filter(|line| number(line) >= first).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expect, job, run};

    #[test]
    fn a_replay_stops_at_its_event_and_shows_the_nodes_of_that_moment() {
        let scenario = Scenario::calm(1, 3, 2).with_job(0, job(2, "exit:0"), Expect::Code(0));
        let whole = run(&scenario, Keep::All(Vec::new()), Referee::strict(&scenario));
        let half = replay(&scenario, Some(whole.events / 2), 5, &[DaemonRank::HEAD, DaemonRank(9)]);
        assert_eq!((half.report.events, half.report.violation), (whole.events / 2, None));
        assert!(half.states[0].1.as_ref().is_some_and(|s| s.starts_with("Node {")));
        assert_eq!(half.states[1], (DaemonRank(9), None));
        assert!(half.last.iter().all(|line| whole.lines.contains(line)) && !half.last.is_empty());
        let full = replay(&scenario, None, 5, &[]);
        assert_eq!((full.report.fingerprint, full.report.events), (whole.fingerprint, whole.events));
        assert_eq!(full.last.last(), whole.lines.last());
    }

    #[test]
    fn a_shown_node_keeps_the_key_of_its_dvm_to_itself() {
        let scenario = Scenario::calm(1, 3, 2).with_job(0, job(2, "pause:10000"), Expect::Code(0));
        for until in [1, 10, 20] {
            let shown = replay(&scenario, Some(until), 1, &[DaemonRank::HEAD, DaemonRank(1)]);
            for (rank, state) in shown.states {
                // All bytes of the key are 7 here; no dump of a state may show it.
                let state: String = state.unwrap_or_default().split_whitespace().collect();
                assert!(!state.contains("7,7,7,7"), "{rank}");
            }
        }
    }
}
