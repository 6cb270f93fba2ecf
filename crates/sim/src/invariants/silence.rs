//! The periods of silence that faults explain: a paused or isolated daemon sends nothing.
//!
//! Guarantees about deadlines use it. It follows faults only, never a daemon's state.

use std::collections::BTreeMap;

use ferrite_types::DaemonRank;

use crate::fault::Fault;
use crate::queue::Time;

/// Spans in which daemons stand still or are cut off.
#[derive(Default)]
pub(super) struct Silence {
    spans: BTreeMap<DaemonRank, Vec<Span>>,
    slow: BTreeMap<DaemonRank, Vec<Slow>>,
}

/// A span in which each trip over the links of a daemon takes longer.
#[derive(Clone, Copy)]
struct Slow {
    from: Time,
    until: Time,
    extra: Time,
}

#[derive(Clone, Copy)]
struct Span {
    from: Time,
    until: Time,
    stopped: bool,
}

impl Silence {
    /// Notes a fault that strikes.
    pub(super) fn begin(&mut self, at: Time, fault: &Fault) {
        if let Fault::SlowUplink(rank, extra, time) = *fault {
            self.slow.entry(rank).or_default().push(Slow { from: at, until: at + time, extra });
        }
        if let Some((rank, time, stopped)) = struck(fault)
            && !self.covers(at, fault)
        {
            self.spans.entry(rank).or_default().push(Span { from: at, until: at + time, stopped });
        }
    }

    /// True when a fault changes nothing: the daemon is already paused, or already isolated.
    pub(super) fn covers(&self, at: Time, fault: &Fault) -> bool {
        struck(fault).is_some_and(|(rank, _, stopped)| {
            let mut spans = self.spans.get(&rank).into_iter().flatten();
            spans.any(|span| span.stopped == stopped && at < span.until)
        })
    }

    /// Notes the start of a daemon: earlier faults did not strike it.
    pub(super) fn born(&mut self, rank: DaemonRank) {
        if let Some(spans) = self.spans.get_mut(&rank) {
            spans.retain(|span| !span.stopped);
        }
    }

    /// Returns the time between `from` and `to` in which one of these daemons could not be heard.
    pub(super) fn within(&self, ranks: &[DaemonRank], from: Time, to: Time) -> Time {
        let spans = ranks.iter().filter_map(|rank| self.spans.get(rank)).flatten();
        let mut cut: Vec<_> = spans.map(|s| (s.from.max(from), s.until.min(to))).filter(|(a, b)| a < b).collect();
        cut.sort_unstable();
        let mut counted = from;
        let mut sum = 0;
        for (a, b) in cut {
            sum += b.saturating_sub(a.max(counted));
            counted = counted.max(b);
        }
        sum
    }

    /// Returns the time between `from` and `to` in which a call between two daemons could not be confirmed: their
    /// silence, and the two trips of a handshake over the slowest link.
    pub(super) fn within_call(&self, ends: [DaemonRank; 2], from: Time, to: Time) -> Time {
        let slow = ends.iter().filter_map(|rank| self.slow.get(rank)).flatten();
        let extra = slow.filter(|slow| slow.from < to && from < slow.until).map(|slow| slow.extra).max();
        self.within(&ends, from, to) + 2 * extra.unwrap_or(0)
    }

    /// Returns the daemons that one fault strikes for at least this time.
    pub(super) fn longer_than(&self, time: Time) -> impl Iterator<Item = DaemonRank> + '_ {
        let long = move |span: &Span| span.until - span.from >= time;
        self.spans.iter().filter(move |(_, spans)| spans.iter().any(long)).map(|(rank, _)| *rank)
    }
}

/// Returns the daemon that a fault silences, for how long, and whether it is paused.
fn struck(fault: &Fault) -> Option<(DaemonRank, Time, bool)> {
    match *fault {
        Fault::Pause(rank, time) => Some((rank, time, true)),
        Fault::Isolate(rank, time) => Some((rank, time, false)),
        Fault::CutLink | Fault::CutUplink(_) | Fault::Crash(_) | Fault::SlowUplink(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_count_once_and_a_stopped_daemon_is_not_stopped_again() {
        let (a, b) = (DaemonRank(1), DaemonRank(2));
        let mut silence = Silence::default();
        silence.begin(10, &Fault::Pause(a, 10));
        silence.begin(15, &Fault::Pause(a, 100));
        silence.begin(15, &Fault::Isolate(b, 10));
        silence.begin(16, &Fault::CutUplink(b));
        assert_eq!(silence.within(&[a], 0, 100), 10);
        assert_eq!(silence.within(&[a, b], 0, 100), 15);
        assert_eq!(silence.within(&[a, b], 18, 22), 4);
        assert_eq!(silence.within(&[DaemonRank(3)], 0, 100), 0);
        assert_eq!(silence.longer_than(10).count(), 2);
        assert_eq!(silence.longer_than(11).count(), 0);
    }

    #[test]
    fn a_call_also_waits_for_its_two_trips_over_a_slow_link() {
        let (a, b) = (DaemonRank(1), DaemonRank(2));
        let mut silence = Silence::default();
        silence.begin(10, &Fault::Pause(a, 10));
        silence.begin(10, &Fault::SlowUplink(b, 7, 40));
        assert_eq!(silence.within(&[a, b], 0, 100), 10);
        assert_eq!(silence.within_call([a, b], 0, 100), 24);
        assert_eq!(silence.within_call([a, b], 50, 100), 0);
        assert_eq!(silence.within_call([a, DaemonRank(3)], 0, 100), 10);
    }

    #[test]
    fn who_is_not_there_is_not_stopped_and_may_be_when_it_is() {
        let rank = DaemonRank(1);
        let mut silence = Silence::default();
        silence.begin(0, &Fault::Pause(rank, 50));
        silence.begin(0, &Fault::Isolate(rank, 10));
        silence.born(rank);
        silence.begin(20, &Fault::Pause(rank, 100));
        assert_eq!(silence.within(&[rank], 0, 200), 110);
    }
}
