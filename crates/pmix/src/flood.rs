//! Bounds for events of local clients: a budget of each source and one of the whole node, which refill with time. A
//! client that floods spends its own budget; its further events are refused, and nobody else notices.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::Proc;

/// Largest size of one event (bytes of its infos).
const LARGEST: u64 = 1 << 20;
/// Number of sources beyond which those are forgotten that have not spent anything lately.
const SOURCES: usize = 1_024;

/// A budget's size and its refill per second.
#[derive(Clone, Copy)]
struct Rate {
    events: u64,
    events_a_second: u64,
    bytes: u64,
    bytes_a_second: u64,
}

const OF_ONE: Rate = Rate { events: 1_024, events_a_second: 1_000, bytes: 4 << 20, bytes_a_second: 1 << 20 };
const OF_ALL: Rate = Rate { events: 8_192, events_a_second: 8_000, bytes: 32 << 20, bytes_a_second: 16 << 20 };

/// The rest of a budget.
#[derive(Clone, Copy)]
struct Budget {
    events: u64,
    bytes: u64,
    /// Time of the last refill (after the start of the server).
    at: Duration,
}

impl Budget {
    fn full(rate: Rate, at: Duration) -> Budget {
        Budget { events: rate.events, bytes: rate.bytes, at }
    }

    /// The budget at `now`. The time that gives less than one event is not lost.
    fn refilled(self, rate: Rate, now: Duration) -> Budget {
        let micros = u64::try_from(now.saturating_sub(self.at).as_micros()).unwrap_or(u64::MAX);
        let grown = |a_second: u64| micros.saturating_mul(a_second) / 1_000_000;
        if grown(rate.events_a_second) == 0 {
            return self;
        }
        let events = rate.events.min(self.events.saturating_add(grown(rate.events_a_second)));
        let bytes = rate.bytes.min(self.bytes.saturating_add(grown(rate.bytes_a_second)));
        Budget { events, bytes, at: now }
    }

    fn spend(self, bytes: u64) -> Option<Budget> {
        let (events, bytes) = (self.events.checked_sub(1)?, self.bytes.checked_sub(bytes)?);
        Some(Budget { events, bytes, ..self })
    }

    fn is_full(&self, rate: Rate) -> bool {
        (self.events, self.bytes) == (rate.events, rate.bytes)
    }
}

/// The budgets of all sources of a node.
pub(crate) struct Floodgate {
    sources: BTreeMap<Proc, Budget>,
    all: Budget,
    /// Sources whose refusal was noted.
    noted: BTreeSet<Proc>,
}

impl Floodgate {
    pub(crate) fn new() -> Floodgate {
        Floodgate { sources: BTreeMap::new(), all: Budget::full(OF_ALL, Duration::ZERO), noted: BTreeSet::new() }
    }

    /// True when an event of that size may pass at `now` (after the start of the server, spec L61).
    pub(crate) fn admits(&mut self, source: &Proc, bytes: u64, now: Duration) -> bool {
        let own = self.sources.get(source).copied().unwrap_or(Budget::full(OF_ONE, now)).refilled(OF_ONE, now);
        let all = self.all.refilled(OF_ALL, now);
        let (Some(own), Some(all)) = (own.spend(bytes), all.spend(bytes)) else { return false };
        if bytes > LARGEST {
            return false;
        }
        if self.sources.len() >= SOURCES {
            self.sources.retain(|_, budget| !budget.refilled(OF_ONE, now).is_full(OF_ONE));
        }
        self.sources.insert(source.clone(), own);
        self.all = all;
        true
    }

    /// True for the first refusal of a source: a note of each would be a flood as well.
    pub(crate) fn is_news(&mut self, source: &Proc) -> bool {
        self.noted.len() < SOURCES && self.noted.insert(source.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Duration = Duration::from_millis;

    fn passed(gate: &mut Floodgate, source: &Proc, tries: u64, bytes: u64, now: Duration) -> u64 {
        (0..tries).filter(|_| gate.admits(source, bytes, now)).count() as u64
    }

    /// spec L61
    #[test]
    fn a_source_that_floods_is_refused_and_the_others_are_not() {
        let (mut gate, loud, calm) = (Floodgate::new(), Proc::new("f@1", 0), Proc::new("f@1", 1));
        assert_eq!(passed(&mut gate, &loud, 5_000, 10, AT(0)), OF_ONE.events);
        assert_eq!(passed(&mut gate, &calm, 200, 10, AT(0)), 200);
        assert_eq!(passed(&mut gate, &loud, 5_000, 10, AT(100)), 100, "a tenth of a second later");
        assert_eq!(passed(&mut gate, &loud, 5_000, 10, AT(60_000)), OF_ONE.events, "no more than the whole budget");
    }

    #[test]
    fn many_small_steps_of_time_give_as_much_as_a_large_one() {
        let (mut gate, loud) = (Floodgate::new(), Proc::new("f@1", 0));
        passed(&mut gate, &loud, 5_000, 10, AT(0));
        let steps = (1..=4_000).map(|step| Duration::from_micros(250 * step));
        assert_eq!(steps.map(|now| passed(&mut gate, &loud, 1, 10, now)).sum::<u64>(), OF_ONE.events_a_second);
    }

    #[test]
    fn the_sources_of_a_node_have_a_budget_together_and_large_events_have_none() {
        let mut gate = Floodgate::new();
        let sources: Vec<Proc> = (0..100).map(|rank| Proc::new("f@1", rank)).collect();
        let all: u64 = sources.iter().map(|source| passed(&mut gate, source, 1_000, 10, AT(0))).sum();
        assert_eq!(all, OF_ALL.events);
        let mut gate = Floodgate::new();
        assert_eq!(passed(&mut gate, &sources[0], 1, LARGEST + 1, AT(0)), 0);
        assert_eq!(passed(&mut gate, &sources[0], 100, LARGEST, AT(0)), OF_ONE.bytes / LARGEST);
    }

    #[test]
    fn the_table_of_sources_is_bounded_by_those_that_have_spent() {
        let mut gate = Floodgate::new();
        for rank in 0..20_000 {
            gate.admits(&Proc::new("f@1", rank), 1, AT(u64::from(rank)));
        }
        assert!(gate.sources.len() <= SOURCES, "{} sources", gate.sources.len());
    }
}
