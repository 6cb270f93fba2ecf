//! Signals that clients with jobs catch, and the message at a second Ctrl-C.

use ferrite_client::is_ignored;
use ferrite_types::Signal;

/// The signals that end a client: Ctrl-C, `kill`, and a terminal that is gone.
pub(crate) const ENDS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// The message at the second Ctrl-C; the end of the job answers the first one.
pub(crate) const PATIENCE: &str = "The processes are being ended; this can take a moment.\n\
     Interrupt once more to leave at once and without care.";

/// Returns the signals that a client with jobs catches: those that end it, and those that it passes on.
pub(crate) fn heard(forwarded: &[Signal]) -> Vec<Signal> {
    let ends = ENDS.into_iter().filter(|s| *s != Signal::HUP || !is_ignored(Signal::HUP));
    ends.chain(forwarded.iter().copied()).collect()
}
