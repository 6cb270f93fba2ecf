//! Signals that clients with jobs catch, and the message at a second Ctrl-C.

use ferrite_client::is_ignored;

pub(crate) const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGTERM: i32 = 15;

/// The message at the second Ctrl-C; the end of the job answers the first one.
pub(crate) const PATIENCE: &str = "The processes are being ended; this can take a moment.\n\
     Interrupt once more to leave at once and without care.";

/// Returns the signals that a client with jobs catches: those that end it, and those that it passes on.
pub(crate) fn heard(forwarded: &[i32]) -> Vec<i32> {
    let ends = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|s| *s != SIGHUP || !is_ignored(SIGHUP));
    ends.chain(forwarded.iter().copied()).collect()
}
