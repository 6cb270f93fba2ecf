//! The clock and the future events. Time moves from one event to the next; events of equal times keep the order in
//! which they were scheduled.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Microseconds since the world began.
pub(crate) type Time = u64;

/// Events by time.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    now: Time,
    next: u64,
    order: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, E>,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Queue { now: 0, next: 0, order: BinaryHeap::new(), events: BTreeMap::new() }
    }
}

impl<E> Queue<E> {
    /// The present.
    #[must_use]
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Schedules an event; one for the past happens now.
    pub(crate) fn at(&mut self, time: Time, event: E) {
        let id = self.next;
        self.next += 1;
        self.events.insert(id, event);
        self.order.push(Reverse((time.max(self.now), id)));
    }

    /// Schedules an event after a delay.
    pub(crate) fn after(&mut self, delay: Time, event: E) {
        self.at(self.now.saturating_add(delay), event);
    }

    /// The time of the next event.
    #[must_use]
    pub(crate) fn due(&self) -> Option<Time> {
        self.order.peek().map(|Reverse((time, _))| *time)
    }

    /// The next event; the clock moves to its time.
    pub(crate) fn pop(&mut self) -> Option<E> {
        let Reverse((time, id)) = self.order.pop()?;
        self.now = time;
        self.events.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_equal_times_in_the_order_of_scheduling() {
        let mut queue = Queue::default();
        for (time, name) in [(5, "c"), (1, "a"), (5, "d"), (3, "b")] {
            queue.at(time, name);
        }
        assert_eq!(queue.pop(), Some("a"));
        queue.at(0, "late");
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, ["late", "b", "c", "d"]);
        assert_eq!(queue.now(), 5);
    }
}
