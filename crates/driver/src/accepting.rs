//! Accepts connections at a listening socket: returns the next caller and bounds the callers that have not
//! authenticated yet. Every listener of the driver uses it; each listener defines its own authentication.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::task::{AbortHandle, spawn_local};

/// Pause after an accept failed for lack of descriptors. No event announces a free descriptor; callers wait in the
/// kernel's queue meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the next caller. No error ends the listening: a caller may be gone already, and a lack of descriptors
/// passes.
pub(crate) async fn next<T>(what: &str, accept: impl AsyncFn() -> io::Result<T>) -> T {
    loop {
        match accept().await {
            Ok(caller) => return caller,
            Err(error) => {
                tracing::warn!(%error, what, "a caller could not be let in");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Bounds on the unauthenticated callers of one listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Largest number of unauthenticated callers at a time.
    pub(crate) most: usize,
    /// Divisor of this process's limit of open files: unauthenticated callers get at most that share of it.
    pub(crate) share_of_files: usize,
    /// Time within which each caller has to authenticate.
    pub(crate) limit: Duration,
}

/// Callers that have not authenticated yet, each greeted in a task of its own. A caller that exceeds the time limit is
/// disconnected; beyond the bound the oldest one is. So silent connections can neither keep others out nor use up the
/// files that jobs need. Dropping this disconnects all of them.
pub(crate) struct Strangers {
    what: &'static str,
    most: usize,
    limit: Duration,
    greetings: VecDeque<AbortHandle>,
}

impl Strangers {
    /// Starts without callers. `what` names the listener in the log.
    pub(crate) fn new(what: &'static str, bounds: Bounds) -> Strangers {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let share = usize::try_from(files).unwrap_or(usize::MAX) / bounds.share_of_files;
        let most = bounds.most.min(share).max(1);
        Strangers { what, most, limit: bounds.limit, greetings: VecDeque::new() }
    }

    /// Greets a caller, which counts as a stranger until `greeting` ends; work after that belongs in another task. Call
    /// this within a `LocalSet`.
    pub(crate) fn greet(&mut self, from: impl fmt::Display + 'static, greeting: impl Future<Output = ()> + 'static) {
        self.greetings.retain(|task| !task.is_finished());
        if self.greetings.len() >= self.most
            && let Some(oldest) = self.greetings.pop_front()
        {
            tracing::debug!(what = self.what, "there are too many strangers: the oldest was hung up on");
            oldest.abort();
        }
        let (what, limit) = (self.what, self.limit);
        let task = spawn_local(async move {
            if tokio::time::timeout(limit, greeting).await.is_err() {
                tracing::warn!(what, %from, "a connection did not say in time whose it is and was closed");
            }
        });
        self.greetings.push_back(task.abort_handle());
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.greetings.iter().for_each(AbortHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;
    use std::time::Instant;

    use tokio::sync::oneshot;

    use super::*;

    fn run(story: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, story);
    }

    fn bounds(most: usize) -> Bounds {
        Bounds { most, share_of_files: 1, limit: Duration::from_secs(5) }
    }

    /// Reports its number when its connection is closed.
    struct Caller(u32, Rc<RefCell<Vec<u32>>>);

    impl Drop for Caller {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
        }
    }

    fn silent(number: u32, gone: &Rc<RefCell<Vec<u32>>>) -> impl Future<Output = ()> + 'static {
        let caller = Caller(number, gone.clone());
        async move {
            let _caller = caller;
            std::future::pending().await
        }
    }

    #[test]
    fn an_error_is_no_end() {
        run(async {
            let calls = Cell::new(0);
            let caller = next("tests", async || {
                calls.set(calls.get() + 1);
                if calls.get() < 3 { Err(io::Error::from_raw_os_error(libc::EMFILE)) } else { Ok("in") }
            });
            assert_eq!((caller.await, calls.get()), ("in", 3));
        });
    }

    #[test]
    fn beyond_the_bound_the_oldest_stranger_goes_and_a_greeted_one_counts_no_more() {
        run(async {
            let gone = Rc::default();
            let mut strangers = Strangers::new("tests", bounds(2));
            for number in 1..=3 {
                strangers.greet("here", silent(number, &gone));
                tokio::task::yield_now().await;
            }
            tokio::task::yield_now().await;
            assert_eq!(*gone.borrow(), [1]);
            strangers.greet("here", async {});
            tokio::task::yield_now().await;
            strangers.greet("here", silent(4, &gone));
            tokio::task::yield_now().await;
            assert_eq!(*gone.borrow(), [1, 2]);
            drop(strangers);
            tokio::task::yield_now().await;
            assert_eq!(*gone.borrow(), [1, 2, 3, 4]);
        });
    }

    #[test]
    fn a_silent_stranger_is_hung_up_on_at_its_deadline() {
        run(async {
            let (gone, limit) = (Rc::default(), Duration::from_millis(20));
            let (left, leaves) = oneshot::channel::<()>();
            let mut strangers = Strangers::new("tests", Bounds { limit, ..bounds(2) });
            let start = Instant::now();
            let stranger = silent(1, &gone);
            strangers.greet("here", async move {
                let _left = left;
                stranger.await;
            });
            assert!(leaves.await.is_err() && start.elapsed() >= limit);
            assert_eq!(*gone.borrow(), [1]);
        });
    }

    #[test]
    fn strangers_get_no_more_than_their_share_of_files() {
        let files =
            getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
        let strangers = Strangers::new("tests", Bounds { share_of_files: 4, ..bounds(usize::MAX) });
        assert_eq!(strangers.most, files / 4);
        assert_eq!(Strangers::new("tests", Bounds { share_of_files: usize::MAX, ..bounds(9) }).most, 1);
    }
}
