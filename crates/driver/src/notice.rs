//! What the driver itself says to the user: messages between rules, and the lines of `state_base_verbose`. Whatever is
//! in them, a terminal sees no control characters; output of processes takes another way.

use ferrite_core::Transition;
use ferrite_types::printable;

/// Above and below each message, as in the field.
const RULE: &str = "--------------------------------------------------------------------------";

/// Writes a message to standard error, between rules, in one piece.
pub(crate) fn print(text: &str) {
    write_stderr(&framed(text));
}

/// A message between rules.
pub(crate) fn framed(text: &str) -> String {
    format!("{RULE}\n{}\n{RULE}\n", printable(text).trim_end())
}

/// The table of states, as `state_base_verbose 5` shows it at start.
pub(crate) fn print_table() {
    write_stderr(&ferrite_core::state_tables());
}

/// One step, one line.
pub(crate) fn print_transition(at_us: u64, step: &Transition) {
    let line = match step {
        Transition::Job { job, from, to } => {
            let from = from.map_or("-", |s| s.name());
            format!("job {job}: {from} -> {to} ({})", to.number())
        }
        Transition::Campaign { campaign, kind, step } => format!("{kind} {campaign}: {step}"),
        Transition::Proc { proc, from, to } => {
            format!("proc {proc}: {from} -> {to} ({})", to.number())
        }
    };
    write_stderr(&format!("[{}.{:06}] {line}\n", at_us / 1_000_000, at_us % 1_000_000));
}

/// Unbuffered, and never an error: nobody can be told that there is no standard error.
pub(crate) fn write_stderr(text: &str) {
    write_all(rustix::stdio::stderr(), printable(text).as_bytes());
}

/// To standard output, unbuffered.
pub(crate) fn write_stdout(text: &str) {
    write_all(rustix::stdio::stdout(), printable(text).as_bytes());
}

fn write_all(to: rustix::fd::BorrowedFd<'_>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            // Somebody made the terminal non-blocking; a message is worth the wait.
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
