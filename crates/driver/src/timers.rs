//! Timers of the machine: the due ones, and the time of the next one.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::Timer;
use ferrite_types::Timestamp;

/// All timers that are set.
#[derive(Default)]
pub(crate) struct Timers {
    by_timer: BTreeMap<Timer, Timestamp>,
    by_time: BTreeSet<(Timestamp, Timer)>,
}

impl Timers {
    /// Sets or moves a timer.
    pub(crate) fn set(&mut self, timer: Timer, at: Timestamp) {
        self.cancel(timer);
        self.by_timer.insert(timer, at);
        self.by_time.insert((at, timer));
    }

    /// Forgets a timer.
    pub(crate) fn cancel(&mut self, timer: Timer) {
        if let Some(at) = self.by_timer.remove(&timer) {
            self.by_time.remove(&(at, timer));
        }
    }

    /// Takes the earliest timer that is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Timer> {
        let &(at, timer) = self.by_time.first()?;
        if at > now {
            return None;
        }
        self.cancel(timer);
        Some(timer)
    }

    /// Returns the time of the earliest timer.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use ferrite_core::{DaemonTimer, HeadTimer};

    use super::*;

    #[test]
    fn a_timer_that_is_set_again_moves_and_fires_once() {
        let mut timers = Timers::default();
        timers.set(Timer::Head(HeadTimer::BringUp), Timestamp(10));
        timers.set(Timer::Daemon(DaemonTimer::Departure), Timestamp(20));
        timers.set(Timer::Head(HeadTimer::BringUp), Timestamp(30));
        assert_eq!(timers.next(), Some(Timestamp(20)));
        assert_eq!(timers.take_due(Timestamp(15)), None);
        assert_eq!(timers.take_due(Timestamp(40)), Some(Timer::Daemon(DaemonTimer::Departure)));
        assert_eq!(timers.take_due(Timestamp(40)), Some(Timer::Head(HeadTimer::BringUp)));
        assert_eq!(timers.take_due(Timestamp(40)), None);
    }
}
