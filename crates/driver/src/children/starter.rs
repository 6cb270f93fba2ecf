//! Starts processes on threads beside the event loop. A start suspends its thread until the program is executed, so one
//! thread for each processor keeps all of them busy while the loop goes on. Only [`super::Processes`] uses it.
//!
//! The threads begin when they are needed, and live as long as the [`Starter`], because the system kills a process when
//! the thread that started it ends.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ferrite_core::SpawnRequest;
use ferrite_types::ProcId;
use ferrite_wire::StartError;
use tokio::sync::mpsc::UnboundedSender;

use crate::spawn::{Spawner, Started, block_signals};

/// The most threads: the kernel's work for more starts at once does not get faster.
const MOST_THREADS: usize = 8;
/// Stack of a thread (bytes): it prepares one start, whose lists are on the heap.
const THREAD_STACK: usize = 256 * 1024;

/// A process to be started.
pub(super) struct Order {
    pub(super) proc: ProcId,
    pub(super) request: SpawnRequest,
    pub(super) env: Vec<(String, String)>,
    pub(super) fds: Vec<(RawFd, OwnedFd)>,
    /// The entrance of its control group.
    pub(super) group: Option<OwnedFd>,
}

/// A start that is over.
pub(super) struct Outcome {
    pub(super) proc: ProcId,
    pub(super) request: SpawnRequest,
    pub(super) started: Result<Started, StartError>,
}

impl Order {
    /// Starts the process on this thread. Our copies of its descriptors are closed.
    fn carry_out(self, spawner: &mut Spawner) -> Outcome {
        let Order { proc, request, env, fds, group } = self;
        let started = spawner.start(&request, &env, &fds, group.as_ref());
        Outcome { proc, request, started }
    }
}

/// Starts processes here or on its threads.
pub(super) struct Starter {
    spawner: Spawner,
    queue: Arc<Queue>,
    pub(super) threads: usize,
    /// The most threads; read when the first one is needed.
    most: OnceCell<usize>,
    outcomes: UnboundedSender<Outcome>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    orders: VecDeque<Order>,
    /// Number of threads that wait for an order.
    idle: usize,
    closed: bool,
}

impl Starter {
    /// The outcomes of starts on threads are sent to `outcomes`.
    pub(super) fn new(spawner: Spawner, outcomes: UnboundedSender<Outcome>) -> Starter {
        Starter { spawner, queue: Arc::default(), threads: 0, most: OnceCell::new(), outcomes }
    }

    /// Starts a process on this thread.
    pub(super) fn start_here(&mut self, order: Order) -> Outcome {
        order.carry_out(&mut self.spawner)
    }

    /// Lets a thread start a process. Gives the order back when there is no thread and none can be had.
    pub(super) fn start_beside(&mut self, order: Order) -> Option<Order> {
        let waiting = {
            let state = self.queue.lock();
            state.orders.len() >= state.idle
        };
        if waiting && self.threads < *self.most.get_or_init(most_threads) && self.begin_thread() {
            self.threads += 1;
        }
        if self.threads == 0 {
            return Some(order);
        }
        let mut state = self.queue.lock();
        state.orders.push_back(order);
        // A thread that works looks for the next order before it waits.
        let is_wanted = state.idle > 0;
        // The thread that wakes takes the lock.
        drop(state);
        if is_wanted {
            self.queue.ready.notify_one();
        }
        None
    }

    fn begin_thread(&self) -> bool {
        let (queue, outcomes) = (Arc::clone(&self.queue), self.outcomes.clone());
        let mut spawner = self.spawner.sibling();
        let work = move || {
            // The end of a child would wake the thread that has started it, and not the loop that waits for it.
            block_signals();
            while let Some(order) = queue.next() {
                // Nobody listens only while this process is ending.
                let _ = outcomes.send(order.carry_out(&mut spawner));
            }
        };
        let begun = thread::Builder::new().name("starter".to_owned()).stack_size(THREAD_STACK).spawn(work);
        begun.inspect_err(|error| tracing::debug!(%error, "processes are started by fewer threads")).is_ok()
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.ready.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next order; `None` = no more will come.
    fn next(&self) -> Option<Order> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(order) = state.orders.pop_front() {
                return Some(order);
            }
            state.idle += 1;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

fn most_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}
