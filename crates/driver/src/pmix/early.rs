//! Events for processes that have not called init yet. The library would deliver an event twice that is older than the
//! connection, so it gets these events when the process has connected. Pure; only [`super::PmixBridge`] uses it.

use std::collections::{BTreeSet, VecDeque};

use ferrite_pmix::Notice;
use ferrite_types::Rank;

/// Number of events of a job beyond which the oldest are forgotten.
const EVENTS: usize = 1_024;
/// Their size together (bytes) beyond which the oldest are forgotten.
const BYTES: usize = 4 << 20;

/// The events that wait for processes of a job.
#[derive(Default)]
pub(super) struct Early {
    events: VecDeque<Waiting>,
    bytes: usize,
}

struct Waiting {
    notice: Notice,
    bytes: usize,
    ranks: BTreeSet<Rank>,
}

impl Early {
    /// Keeps an event for processes. Returns the number of older events that are forgotten for it.
    pub(super) fn keep(&mut self, notice: &Notice, bytes: usize, ranks: BTreeSet<Rank>) -> usize {
        if ranks.is_empty() {
            return 0;
        }
        self.bytes += bytes;
        self.events.push_back(Waiting { notice: notice.clone(), bytes, ranks });
        let mut forgotten = 0;
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let oldest = self.events.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.bytes);
            forgotten += 1;
        }
        forgotten
    }

    /// Takes the events that wait for this process, in their order.
    pub(super) fn take(&mut self, rank: Rank) -> Vec<Notice> {
        let mut taken = Vec::new();
        for waiting in &mut self.events {
            if waiting.ranks.remove(&rank) {
                taken.push(waiting.notice.clone());
            }
        }
        let gone = self.events.iter().filter(|waiting| waiting.ranks.is_empty()).map(|waiting| waiting.bytes);
        self.bytes -= gone.sum::<usize>();
        self.events.retain(|waiting| !waiting.ranks.is_empty());
        taken
    }
}

#[cfg(test)]
mod tests {
    use ferrite_pmix::{Audience, Proc, Status};

    use super::*;

    fn notice(code: i32) -> Notice {
        let (source, to) = (Proc::new("d@1", 0), Audience::Procs(Vec::new()));
        Notice { code: Status(code), source, to, info: Vec::new() }
    }
    fn codes(early: &mut Early, rank: u32) -> Vec<i32> {
        early.take(Rank(rank)).iter().map(|notice| notice.code.0).collect()
    }

    #[test]
    fn each_process_takes_its_events_once_and_in_their_order() {
        let mut early = Early::default();
        early.keep(&notice(1), 10, [Rank(0), Rank(1)].into());
        early.keep(&notice(2), 10, [Rank(1)].into());
        early.keep(&notice(3), 10, BTreeSet::new());
        assert_eq!((codes(&mut early, 1), codes(&mut early, 1)), (vec![1, 2], vec![]));
        assert_eq!((codes(&mut early, 0), early.events.len(), early.bytes), (vec![1], 0, 0));
    }

    #[test]
    fn the_oldest_events_make_room_for_new_ones() {
        let mut early = Early::default();
        let forgotten: usize = (0..2_000).map(|code| early.keep(&notice(code), 10, [Rank(0)].into())).sum();
        assert_eq!((forgotten, early.events.len(), codes(&mut early, 0).len()), (2_000 - EVENTS, EVENTS, EVENTS));
        let mut early = Early::default();
        let kept = |code| early.keep(&notice(code), 1 << 20, [Rank(0)].into());
        assert_eq!((0..100).map(kept).sum::<usize>(), 96);
        assert_eq!(codes(&mut early, 0), [96, 97, 98, 99]);
    }
}
