//! Signals to this process, and the subset that is passed on to the job.
//!
//! The head sometimes gets a signal twice: a command like `timeout` signals the guard (which passes the signal on) and
//! then the whole process group. Repetitions within a moment count as one signal.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use ferrite_core::{HeadInput, Input};
use ferrite_rm::launcher::srun;
use ferrite_types::Signal;
use thiserror::Error;
use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use crate::head::Keepalive;
use crate::{Inbox, guard};

/// Signals that can be passed on to a job.
pub(crate) const FORWARDABLE: &[(&str, Signal)] = &[
    ("TRAP", Signal(libc::SIGTRAP)),
    ("TSTP", Signal(libc::SIGTSTP)),
    ("ABRT", Signal(libc::SIGABRT)),
    ("CONT", Signal(libc::SIGCONT)),
    ("SYS", Signal(libc::SIGSYS)),
    ("XCPU", Signal(libc::SIGXCPU)),
    ("XFSZ", Signal(libc::SIGXFSZ)),
    ("ALRM", Signal(libc::SIGALRM)),
    ("VTALRM", Signal(libc::SIGVTALRM)),
    ("PROF", Signal(libc::SIGPROF)),
    ("PWR", Signal(libc::SIGPWR)),
    ("URG", Signal(libc::SIGURG)),
    ("USR1", Signal(libc::SIGUSR1)),
    ("USR2", Signal(libc::SIGUSR2)),
];

const SAME_SIGNAL_WITHIN: Duration = Duration::from_millis(20);

/// The reason why a list of signals is invalid.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ForwardSignalsError {
    /// There is no such signal.
    #[error("{0:?} is not the name or number of a signal")]
    Unknown(String),
    /// The launcher needs this signal itself.
    #[error("signal {0} cannot be forwarded (possible are: {list})", list = names())]
    NotForwardable(String),
}

fn names() -> String {
    let names: Vec<&str> = FORWARDABLE.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// Parses `--forward-signals`: `all`, `none`, or names and numbers with commas between.
///
/// # Errors
/// When a word is no signal, or a signal that is never forwarded.
pub fn parse_forward_signals(list: &str) -> Result<Vec<Signal>, ForwardSignalsError> {
    match list.trim() {
        "all" => return Ok(FORWARDABLE.iter().map(|(_, signal)| *signal).collect()),
        "none" | "" => return Ok(Vec::new()),
        _ => {}
    }
    list.split(',').map(|word| parse_one(word.trim())).collect()
}

fn parse_one(word: &str) -> Result<Signal, ForwardSignalsError> {
    let upper = word.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let number = name.parse().ok().and_then(Signal::from_number);
    let found = FORWARDABLE.iter().find(|(n, signal)| *n == name || Some(*signal) == number);
    if let Some((_, signal)) = found {
        return Ok(*signal);
    }
    let refused = ["TERM", "HUP", "INT", "KILL", "PIPE", "QUIT"].contains(&name);
    if refused || number.is_some() {
        return Err(ForwardSignalsError::NotForwardable(word.to_owned()));
    }
    Err(ForwardSignalsError::Unknown(word.to_owned()))
}

/// Watches the head's signals. Call this within a `LocalSet`.
pub(crate) fn watch_head(inbox: &Inbox, forward: &[Signal]) -> io::Result<()> {
    watch(Signal::INT, inbox, |_| Input::Head(HeadInput::Interrupt))?;
    watch_end(inbox)?;
    for signal in forward {
        watch(*signal, inbox, |signal| Input::Head(HeadInput::ForwardSignal(signal)))?;
    }
    // Access to the terminal from the background has to fail, and not stop the whole DVM.
    guard::ignore(Signal(libc::SIGTTIN));
    guard::ignore(Signal(libc::SIGTTOU));
    Ok(())
}

/// Watches a daemon's signals; a daemon forwards none. In a step of Slurm some announce the end of its job (spec E66).
pub(crate) fn watch_daemon(inbox: &Inbox) -> io::Result<()> {
    guard::ignore(Signal(libc::SIGTTOU));
    guard::ignore(Signal::HUP);
    if is_in_step() {
        for signal in [libc::SIGUSR1, libc::SIGUSR2, libc::SIGURG] {
            watch(Signal(signal), inbox, |_| Input::ManagerSignal { is_order: false })?;
        }
    }
    watch_end(inbox)
}

/// True for a process that runs in a step of a job of Slurm, which sends its signals to all processes there.
fn is_in_step() -> bool {
    std::env::var_os(srun::NODE_NAME).is_some()
}

fn watch_end(inbox: &Inbox) -> io::Result<()> {
    let (is_in_step, parent) = (is_in_step(), rustix::process::getppid());
    for (signal, name) in [(Signal::TERM, "SIGTERM"), (Signal::HUP, "SIGHUP")] {
        watch(signal, inbox, move |signal| match signal {
            // The kernel sends it as well, when the guard has died.
            Signal::TERM if is_in_step && rustix::process::getppid() == parent => {
                Input::ManagerSignal { is_order: true }
            }
            _ => Input::Terminate { cause: format!("{name} was received") },
        })?;
    }
    Ok(())
}

/// Ends the head when nobody has the other end of this descriptor's pipe any more: `--keepalive` has the reading end,
/// and libpmix gives the launchers that it starts a writing end (spec L147). Call this within a `LocalSet`.
///
/// # Errors
/// When the descriptor is no end of a pipe.
pub(crate) fn watch_lifeline(inbox: &Inbox, keepalive: Keepalive) -> io::Result<()> {
    let Keepalive { descriptor: fd, named_by } = keepalive;
    let explain = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!(
                "{named_by} {fd} is no pipe: {error}.\nGive the number of an open descriptor that is an end of a pipe."
            ),
        )
    };
    // This opens the pipe anew: the mode of the inherited open file must not change.
    let (options, path) = (pipe::OpenOptions::new(), format!("/proc/self/fd/{fd}"));
    // The owner's rights of this link are the mode of the open file.
    let is_read = std::fs::symlink_metadata(&path).map_err(explain)?.permissions().mode() & 0o400 != 0;
    let gone: Pin<Box<dyn Future<Output = ()>>> = if !is_read {
        let writer = options.open_sender(path).map_err(explain)?;
        Box::pin(async move { drop(writer.ready(Interest::ERROR).await) })
    } else {
        Box::pin(until_closed(options.open_receiver(path).map_err(explain)?))
    };
    let inbox = inbox.clone();
    tokio::task::spawn_local(async move {
        gone.await;
        let _ = inbox.send(Input::Terminate { cause: format!("whoever kept it alive ({named_by}) is gone") });
    });
    Ok(())
}

async fn until_closed(reader: pipe::Receiver) {
    let mut ignored = [0; 256];
    loop {
        let _ = reader.readable().await;
        match reader.try_read(&mut ignored) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

fn watch(awaited: Signal, inbox: &Inbox, make: impl Fn(Signal) -> Input + 'static) -> io::Result<()> {
    // This is `nohup`. Scripts start background jobs with SIGINT ignored as well, but Ctrl-C has to end those with the
    // script.
    if awaited == Signal::HUP && guard::is_ignored(awaited) {
        return Ok(());
    }
    let mut arrivals = signal(SignalKind::from_raw(awaited.0))?;
    let inbox = inbox.clone();
    tokio::task::spawn_local(async move {
        let mut last: Option<Instant> = None;
        while arrivals.recv().await.is_some() {
            let now = Instant::now();
            if last.is_none_or(|at| now - at >= SAME_SIGNAL_WITHIN) {
                let _ = inbox.send(make(awaited));
            }
            last = Some(now);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_signals_are_names_numbers_or_all_or_none() {
        assert_eq!(parse_forward_signals("none"), Ok(vec![]));
        assert_eq!(
            parse_forward_signals("SIGUSR1,usr2, 23"),
            Ok([libc::SIGUSR1, libc::SIGUSR2, libc::SIGURG].map(Signal).to_vec())
        );
        assert_eq!(parse_forward_signals("all").map(|l| l.len()), Ok(FORWARDABLE.len()));
    }

    #[test]
    fn signals_with_a_meaning_for_us_are_refused() {
        for word in ["TERM", "sigint", "9", "KILL"] {
            assert!(matches!(parse_forward_signals(word), Err(ForwardSignalsError::NotForwardable(_))));
        }
        assert!(matches!(parse_forward_signals("USR3"), Err(ForwardSignalsError::Unknown(_))));
    }
}
