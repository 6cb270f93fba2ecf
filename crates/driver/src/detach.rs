//! Detaches a daemon from its launcher.
//!
//! The process that the launcher starts reads the ticket, forks the daemon side into a session of its own and waits on
//! a pipe. When the daemon is connected it closes its standard streams and writes one byte; the waiting process ends
//! with status 0, and so does `ssh`. An error before that is text on the pipe, which the waiting process prints for the
//! launcher. The pipe works both ways: when the waiting process is gone too early, the launcher is gone as well, and
//! the daemon gives up.
//!
//! A resource manager counts the waiting process as its task, and kills the processes that a task leaves behind. The
//! waiting process of an attached daemon therefore passes signals on and ends after the daemon, never before.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use ferrite_wire::{Ticket, TicketError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::io::Interest;
use tokio::net::unix::pipe;
use zeroize::Zeroizing;

use crate::{guard, notice};

const DETACHED: u8 = b'K';
/// Time for the ticket to arrive: the launcher writes it at once, and ssh has finished its slow start by then.
const TICKET_LIMIT: Duration = Duration::from_secs(10);
const LARGEST_TICKET: usize = 1 << 30;

/// Reads the ticket from standard input.
///
/// # Errors
/// When nothing, or something else, comes within a few seconds.
pub(crate) fn read_ticket() -> Result<Ticket, TicketError> {
    let input = rustix::stdio::stdin();
    // The user started it by hand in a terminal: do not make him wait.
    if rustix::termios::isatty(input) {
        return Err(TicketError::NotATicket);
    }
    read_ticket_from(input, TICKET_LIMIT)
}

fn read_ticket_from(input: impl AsFd, limit: Duration) -> Result<Ticket, TicketError> {
    let deadline = Instant::now() + limit;
    let mut bytes = Zeroizing::new(Vec::new());
    let mut chunk = Zeroizing::new([0u8; 65536]);
    loop {
        let decoded = Ticket::decode(&bytes);
        let may_be_unfinished = match &decoded {
            Err(TicketError::NotATicket) => bytes.len() < 16,
            Err(TicketError::Damaged) => bytes.len() < LARGEST_TICKET,
            Ok(_) | Err(TicketError::OtherVersion | TicketError::NotForThisNode { .. }) => false,
        };
        if !may_be_unfinished {
            return decoded;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return decoded;
        };
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut polled, Some(&left)) {
            Ok(n) if n > 0 => {}
            Err(rustix::io::Errno::INTR) => continue,
            _ => return decoded,
        }
        match rustix::io::read(&input, &mut chunk[..]) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            Err(rustix::io::Errno::INTR) => {}
            _ => return decoded,
        }
    }
}

/// The daemon's end of the pipe.
pub(crate) struct Detach {
    pipe: File,
    /// The daemon keeps its standard streams, and its launcher waits for its end.
    attached: bool,
}

/// Forks the daemon side and returns only there. The original process waits and exits.
///
/// # Errors
/// When no pipe or process can be made.
pub(crate) fn start(attached: bool) -> io::Result<Detach> {
    let (reader, writer) = io::pipe()?;
    let forked = if attached { guard::fork_and_pass_on()? } else { guard::fork()? };
    if let Some(daemon) = forked {
        drop(writer);
        wait_for(daemon, OwnedFd::from(reader).into(), attached);
    }
    drop(reader);
    rustix::process::setsid()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Detach { pipe: OwnedFd::from(writer).into(), attached })
}

impl Detach {
    /// True when the daemon keeps its standard streams.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached
    }

    /// Detaches from the launcher. The returned value has to live as long as the daemon.
    pub(crate) fn complete(mut self) -> Option<Detach> {
        if self.attached {
            return Some(self);
        }
        if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(&null);
            let _ = rustix::stdio::dup2_stderr(&null);
        }
        // This fails when the launcher was just ended; the code that ended it has told the machine.
        let _ = self.pipe.write_all(&[DETACHED]);
        None
    }

    /// Tells the launcher why no daemon will run.
    pub(crate) fn fail(mut self, cause: &str) {
        let _ = self.pipe.write_all(cause.as_bytes());
    }

    /// A future that ends when the waiting process is gone. Within a runtime.
    pub(crate) fn launcher_gone(&self) -> io::Result<impl Future<Output = ()> + use<>> {
        let watched = pipe::Sender::from_file(self.pipe.try_clone()?)?;
        Ok(async move {
            let _ = watched.ready(Interest::ERROR).await;
        })
    }
}

/// Runs in the process that the launcher started, until it exits.
fn wait_for(daemon: Pid, mut pipe: File, attached: bool) -> ! {
    let mut said = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let stderr = rustix::stdio::stderr();
        let mut polled = [PollFd::new(&pipe, PollFlags::IN), PollFd::new(&stderr, PollFlags::empty())];
        if poll(&mut polled, None).is_err() {
            continue;
        }
        let launcher_is_gone = polled[1].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        if polled[0].revents().is_empty() && launcher_is_gone {
            if attached {
                break;
            }
            guard::exit_now(1);
        }
        match pipe.read(&mut chunk) {
            Ok(n) if n > 0 => said.extend_from_slice(&chunk[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
        if said.last() == Some(&DETACHED) && said.len() == 1 {
            guard::exit_now(0);
        }
    }
    if !said.is_empty() {
        notice::write_stderr(&format!("prted: {}\n", String::from_utf8_lossy(&said)));
        guard::exit_now(1);
    }
    // The daemon has printed the reason itself, or was attached until now, or leaves because this end is closed.
    drop(pipe);
    let code = loop {
        match waitpid(Some(daemon), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(Some((_, status))) => break status.exit_status(),
            _ => break None,
        }
    };
    guard::exit_now(code.unwrap_or(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], limit_ms: u64) -> Result<Ticket, TicketError> {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(bytes).unwrap();
        read_ticket_from(&reader, Duration::from_millis(limit_ms))
    }

    #[test]
    fn silence_garbage_and_half_a_ticket_are_errors_within_the_limit() {
        assert_eq!(read(b"", 50), Err(TicketError::NotATicket));
        assert_eq!(read(b"ferr", 50), Err(TicketError::NotATicket));
        let began = Instant::now();
        assert_eq!(read(b"#!/bin/sh\necho garbage\n", 5000), Err(TicketError::NotATicket));
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}
