//! The number of jobs of a list that are open at a time: those that run, and enough others that the DVM is busy while
//! replies travel. It follows the size of the DVM. Pure.

use std::time::{Duration, Instant};

/// Open jobs beyond the slots of the DVM.
const AHEAD: usize = 256;

/// Jobs are submitted when there is room for so many, with one message to the DVM for all of them.
const GROUP: usize = 32;

/// The size of the DVM is asked for again after this time, when it limits the list.
const LOOK: Duration = Duration::from_secs(5);

/// The room for jobs.
pub(super) struct Window {
    /// The number that the user has given.
    given: Option<usize>,
    /// The slots of the DVM.
    slots: usize,
    /// True while jobs are submitted up to the limit.
    is_filling: bool,
    /// The time of the last question for the size of the DVM.
    looked: Instant,
}

impl Window {
    /// `given` is the user's number; without it the slots of the DVM count, as it has told them now.
    pub(super) fn new(given: Option<usize>, slots: u32, now: Instant) -> Window {
        Window { given, slots: slots as usize, is_filling: true, looked: now }
    }

    fn limit(&self) -> usize {
        self.given.unwrap_or(self.slots + AHEAD)
    }

    /// True when another job may be submitted beside this number of open ones.
    pub(super) fn has_room(&mut self, open: usize) -> bool {
        let room = self.limit().saturating_sub(open);
        let enough = if self.given.is_some() { 1 } else { GROUP };
        self.is_filling = room >= enough || (self.is_filling && room > 0);
        self.is_filling
    }

    /// True when the DVM is to be asked for its size: it limits the list, and may have changed.
    pub(super) fn wants_size(&mut self, open: usize, now: Instant) -> bool {
        let wants = self.next_look(open, now) == Some(Duration::ZERO);
        if wants {
            self.looked = now;
        }
        wants
    }

    /// The time until the DVM is asked for its size; `None` = the size does not matter now.
    pub(super) fn next_look(&self, open: usize, now: Instant) -> Option<Duration> {
        let is_limited = self.given.is_none() && open + GROUP > self.limit();
        is_limited.then(|| (self.looked + LOOK).saturating_duration_since(now))
    }

    /// The DVM has told its slots.
    pub(super) fn has_size(&mut self, slots: u32) {
        self.slots = slots as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Submits all that there is room for.
    fn fill(window: &mut Window, mut open: usize) -> usize {
        while window.has_room(open) {
            open += 1;
        }
        open
    }

    #[test]
    fn a_number_that_the_user_has_given_is_kept_always() {
        let mut window = Window::new(Some(3), 1_000, Instant::now());
        assert_eq!(fill(&mut window, 0), 3);
        assert_eq!(fill(&mut window, 2), 3);
        assert_eq!(window.next_look(3, Instant::now()), None);
    }

    #[test]
    fn all_slots_are_used_and_jobs_are_submitted_in_groups() {
        let mut window = Window::new(None, 1_000, Instant::now());
        assert_eq!(fill(&mut window, 0), 1_000 + AHEAD);
        assert_eq!(fill(&mut window, 1_000 + AHEAD - GROUP + 1), 1_000 + AHEAD - GROUP + 1);
        assert_eq!(fill(&mut window, 1_000 + AHEAD - GROUP), 1_000 + AHEAD);
    }

    #[test]
    fn a_list_that_is_limited_by_the_size_follows_it() {
        let now = Instant::now();
        let mut window = Window::new(None, 4, now);
        assert_eq!(window.next_look(100, now), None, "there is room");
        let open = fill(&mut window, 0);
        assert!(!window.wants_size(open, now) && !window.wants_size(open, now + LOOK / 2));
        assert!(window.wants_size(open, now + LOOK) && !window.wants_size(open, now + LOOK));
        window.has_size(8);
        assert_eq!(fill(&mut window, open), open, "less than a group");
        window.has_size(400);
        assert_eq!(fill(&mut window, open), 400 + AHEAD);
    }
}
