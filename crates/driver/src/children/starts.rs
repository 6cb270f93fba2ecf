//! The starts that are under way: a process may run already while the event loop has not heard of it. What is done to
//! it until then is kept and done afterwards. Only [`super::Processes`] and its helpers use it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;

use bytes::Bytes;
use ferrite_types::{JobId, ProcId, Signal};
use ferrite_wire::Stream;
use tokio::sync::Notify;

/// An act for a process whose start is under way.
pub(super) enum Act {
    Signal(Signal),
    Write(Bytes),
    Close,
    Read(Stream, usize),
}

/// The acts that came during a start, in their order.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) acts: Vec<Act>,
    /// True when its job was cleaned meanwhile: the process does not stay.
    pub(super) unwanted: bool,
    number: u64,
}

/// The starts that are under way.
#[derive(Default)]
pub(super) struct Starts {
    waiting: RefCell<BTreeMap<ProcId, Waiting>>,
    begun: Cell<u64>,
    settled: Notify,
}

impl Starts {
    pub(super) fn begin(&self, proc: ProcId) {
        let number = self.begun.get() + 1;
        self.begun.set(number);
        let former = self.waiting.borrow_mut().insert(proc, Waiting { number, ..Waiting::default() });
        debug_assert!(former.is_none(), "a process is started again only after its end");
    }

    /// True when nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Keeps an act if the start of its process is under way, and returns it otherwise.
    pub(super) fn keep(&self, proc: ProcId, act: Act) -> Option<Act> {
        match self.waiting.borrow_mut().get_mut(&proc) {
            Some(waiting) => {
                waiting.acts.push(act);
                None
            }
            None => Some(act),
        }
    }

    /// Marks the processes of a job as unwanted.
    pub(super) fn give_up(&self, job: JobId) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.iter_mut().filter(|(proc, _)| proc.job == job).for_each(|(_, waiting)| waiting.unwanted = true);
    }

    /// Ends a start, and returns what came during it.
    pub(super) fn settle(&self, proc: ProcId) -> Waiting {
        let waiting = self.waiting.borrow_mut().remove(&proc).unwrap_or_default();
        self.settled.notify_waiters();
        waiting
    }

    /// Waits until the starts of these processes that are under way now have come to an end. The system ends a start:
    /// it executes the program or refuses (spec L110).
    pub(super) fn settled(&self, of: impl Fn(ProcId) -> bool) -> impl Future<Output = ()> {
        let last = self.begun.get();
        async move {
            loop {
                // This comes first: a start that settles after the look wakes it.
                let next = self.settled.notified();
                if !self.waiting.borrow().iter().any(|(proc, waiting)| waiting.number <= last && of(*proc)) {
                    return;
                }
                next.await;
            }
        }
    }
}
