//! The tool that has started this launcher (`PMIX_LAUNCHER_RNDZ_URI`). libpmix calls it while its server starts, and
//! waits for its release without a limit. So the connection is watched here until then: a tool that goes away ends the
//! wait.

use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrite_pmix::{Status, Upcall};
use rustix::event::{PollFd, PollFlags, poll};

use crate::{entrance, pace};

/// Called when the tool goes away before it has let the launcher go on.
type Lost = Box<dyn Fn() + Send + Sync>;

static LOST: OnceLock<Lost> = OnceLock::new();
static MAY_GO_ON: AtomicBool = AtomicBool::new(false);

/// Expects that the library calls a tool when it starts; `lost` is called when the tool goes away too early.
pub(crate) fn expect(lost: impl Fn() + Send + Sync + 'static) {
    let _ = LOST.set(Box::new(lost));
}

/// Notes that the tool lets the launcher go on.
pub(crate) fn hear(upcall: &Upcall) {
    if let Upcall::Event { code: Status::DEBUGGER_RELEASE, .. } = upcall {
        MAY_GO_ON.store(true, Ordering::Relaxed);
    }
}

/// Watches the library's connection to the tool, if there is one to be called (spec L147).
pub(crate) fn watch(connection: RawFd) {
    let Some(open) = entrance::descriptor(connection).filter(|_| LOST.get().is_some()) else { return };
    pace::watch(open);
    let watcher = move || {
        // The library closes the connection at its end at the latest.
        let _ = poll(&mut [PollFd::from_borrowed_fd(open, PollFlags::RDHUP)], None);
        if let Some(lost) = LOST.get().filter(|_| !MAY_GO_ON.load(Ordering::Relaxed)) {
            lost();
        }
    };
    // Without a thread the tool is not watched; the user can still end the launcher.
    let _ = std::thread::Builder::new().name("caller".to_owned()).spawn(watcher);
}
