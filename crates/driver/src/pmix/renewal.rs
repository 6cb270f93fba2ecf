//! The end of a PMIx server process that has served its time: libpmix keeps memory of most that it has served. Only
//! [`super::PmixBridge`] and its parts use it.

use std::rc::Rc;

use super::Shared;
use super::library::Library;

impl Shared {
    /// Asks a library that nobody here needs whether it may end.
    pub(super) fn ask_idle(&self, library: &Library) {
        if self.is_unused() {
            self.idle.set(library.ask_idle());
        }
    }

    /// True when nobody here needs the library, as far as this process knows.
    fn is_unused(&self) -> bool {
        self.jobs.borrow().is_empty() && self.ended.borrow().is_empty() && Rc::strong_count(&self.guests) == 1
    }

    /// Ends a library that has served its time and serves nobody: the next caller gets a new one (spec L155).
    /// True when it ends.
    pub(super) fn renew(&self, number: u64, idle: bool) -> bool {
        let (Some(question), Some(library)) = (self.idle.take(), self.running()) else { return false };
        if !self.is_unused() || !library.is_idle(&question, number, idle) {
            return false;
        }
        tracing::debug!("the PMIx server has served its time, and the next caller gets a new one");
        *self.library.borrow_mut() = None;
        library.end();
        true
    }
}
