//! Runs work on the library's progress thread. Answers have to be given there: from another thread the library loses a
//! few of many thousand, and their clients wait for ever.

use std::os::raw::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use ferrite_pmix_sys as sys;
use ferrite_pmix_sys::Functions;

/// Work for the progress thread.
type Work = Box<dyn FnOnce() + Send>;

/// Time before finalizing: the last answers may still be in the library's send queues, which finalizing discards.
const FLUSH: Duration = Duration::from_millis(200);

/// The queue to the progress thread; closed for good before the library is finalized.
pub(crate) struct Progress {
    functions: &'static Functions,
    open: RwLock<bool>,
    started: Instant,
    /// Time of the last answer, in milliseconds after `started`, plus one; zero for none.
    answered_ms: AtomicU64,
}

impl Progress {
    pub(crate) fn new(functions: &'static Functions) -> Self {
        Self { functions, open: RwLock::new(true), started: Instant::now(), answered_ms: AtomicU64::new(0) }
    }

    /// Runs `work` on the progress thread, soon. After [`Progress::close`] it is dropped: there is no client left to
    /// answer.
    pub(crate) fn run(&self, work: Work) {
        // The lock is held while posting, so that the library cannot be finalized meanwhile.
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        if *open {
            // Deregistering a client of a nonexistent namespace has no effect but a callback on that thread.
            let mut nobody = sys::pmix_proc_t { nspace: [0; 256], rank: 0 };
            for (to, from) in nobody.nspace.iter_mut().zip(b"ferrite.hop") {
                *to = *from as std::os::raw::c_char;
            }
            let work: *mut Work = Box::into_raw(Box::new(work));
            // SAFETY: the library is initialized while the gate is open; it copies the name, and calls back exactly
            // once.
            unsafe { self.functions.PMIx_server_deregister_client(&nobody, Some(run_work), work.cast()) };
        }
    }

    /// Notes that an answer was given; [`Progress::close`] waits for its departure.
    pub(crate) fn answered(&self) {
        let now_ms = self.started.elapsed().as_millis() as u64;
        self.answered_ms.store(now_ms + 1, Ordering::Relaxed);
    }

    /// Refuses further work; with `flush` it gives the last answers time to leave.
    pub(crate) fn close(&self, flush: bool) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = false;
        let answered_ms = self.answered_ms.load(Ordering::Relaxed);
        if flush && answered_ms > 0 {
            let leave_at = self.started + Duration::from_millis(answered_ms) + FLUSH;
            std::thread::sleep(leave_at.saturating_duration_since(Instant::now()));
        }
    }
}

unsafe extern "C" fn run_work(_status: sys::pmix_status_t, work: *mut c_void) {
    // SAFETY: `Progress::run` passed a boxed `Work`, and the library calls back once.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
}
