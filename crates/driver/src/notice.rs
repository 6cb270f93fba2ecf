//! Messages of the driver itself to the user: messages between rules, and the lines of `state_base_verbose`. Control
//! characters never reach a terminal from here; output of processes takes another way.

use ferrite_core::Transition;
use ferrite_types::{printable, wrapped};

/// The rule above and below each message, as in the field.
const RULE: &str = "--------------------------------------------------------------------------";

/// Writes a message to standard error, between rules, in one piece.
pub(crate) fn print(text: &str) {
    write_stderr(&framed(text));
}

/// Writes one line to standard error.
pub(crate) fn print_line(text: &str) {
    write_stderr(&format!("{}\n", printable(text).trim_end()));
}

/// Frames a message between rules.
pub(crate) fn framed(text: &str) -> String {
    let text = printable(text);
    let text = text.trim_end();
    match width() {
        Some(width) => format!("{RULE}\n{}\n{RULE}\n", wrapped(text, width)),
        None => format!("{RULE}\n{text}\n{RULE}\n"),
    }
}

/// The narrowest and the widest text of a message (columns).
const WIDTHS: std::ops::RangeInclusive<usize> = 30..=100;

/// Returns the width to which messages are wrapped: that of the terminal on standard error; `None` = it is none.
#[must_use]
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0).map(|c| c.clamp(*WIDTHS.start(), *WIDTHS.end()))
}

/// Prints the table of states, as `state_base_verbose 5` shows it at start.
pub(crate) fn print_table() {
    write_stderr(&ferrite_core::state_tables());
}

/// Prints one step as one line.
pub(crate) fn print_transition(at_us: u64, step: &Transition) {
    let line = match step {
        Transition::Job { job, from, to } => {
            let from = from.map_or("-", |s| s.name());
            format!("job {job}: {from} -> {to} ({})", to.number())
        }
        Transition::Campaign { campaign, kind, step } => format!("{kind} {campaign}: {step}"),
        Transition::Size { root, is_offer, procs, step } => {
            let sign = if *is_offer { '+' } else { '-' };
            format!("size of job {root}: {sign}{procs} {}", step.name())
        }
        Transition::Proc { proc, from, to } => {
            format!("proc {proc}: {from} -> {to} ({})", to.number())
        }
    };
    write_stderr(&format!("[{}.{:06}] {line}\n", at_us / 1_000_000, at_us % 1_000_000));
}

/// Writes to standard error, unbuffered. Errors are ignored, because there is no other place to report them.
pub(crate) fn write_stderr(text: &str) {
    write_all(rustix::stdio::stderr(), printable(text).as_bytes());
}

/// Writes to standard output, unbuffered.
pub(crate) fn write_stdout(text: &str) {
    write_all(rustix::stdio::stdout(), printable(text).as_bytes());
}

fn write_all(to: rustix::fd::BorrowedFd<'_>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            // Another process has made the terminal nonblocking; the message waits.
            Err(rustix::io::Errno::AGAIN) => {
                let mut poll = [rustix::event::PollFd::from_borrowed_fd(to, rustix::event::PollFlags::OUT)];
                if rustix::event::poll(&mut poll, None).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
