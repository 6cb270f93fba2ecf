//! The terminal while `top` uses it. The terminal is given back as it was when `top` ends by a key, a signal, an error
//! or a panic; after SIGKILL it is not.

use std::io::{self, Stdout, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};

/// The actions that signals request.
pub(super) enum Asked {
    /// None came.
    Nothing,
    /// `top` shall end.
    End,
    /// `top` shall stop until SIGCONT.
    Stop,
}

/// The terminal in the mode of `top`.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    end: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard output is no terminal, or the terminal cannot be set up.
    pub(super) fn open() -> io::Result<Screen> {
        let (end, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            // A terminal that takes no output (Ctrl-S) keeps the first signal from being noticed; the second one ends.
            signal_hook::flag::register_conditional_shutdown(signal.as_raw(), 128 + signal.as_raw(), end.clone())?;
            signal_hook::flag::register(signal.as_raw(), end.clone())?;
        }
        signal_hook::flag::register(Signal::TSTP.as_raw(), stop.clone())?;
        leave_before_panic();
        let terminal = stdout().as_fd().try_clone_to_owned()?;
        std::thread::Builder::new().spawn(move || end_with(&terminal))?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        let screen = Screen { terminal, end, stop };
        // From here on dropping `screen` restores the terminal, even when the next line fails half-way.
        enter()?;
        Ok(screen)
    }

    /// Draws one picture.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(picture).map(|_| ())
    }

    /// Returns the actions that signals have requested since the last call.
    pub(super) fn asked(&self) -> Asked {
        match (self.end.load(Ordering::Relaxed), self.stop.swap(false, Ordering::Relaxed)) {
            (true, _) => Asked::End,
            (false, true) => Asked::Stop,
            (false, false) => Asked::Nothing,
        }
    }

    /// Stops this process as Ctrl-Z does; returns when the user brings it to the foreground.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        leave();
        // This is not SIGTSTP, because `top` catches SIGTSTP.
        kill_process(getpid(), Signal::STOP)?;
        enter()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Exit code when the terminal is gone, as for a process that SIGHUP has ended.
const HUNG_UP: i32 = 128 + Signal::HUP.as_raw();

/// Ends the process when its terminal is gone: crossterm reads the end of a terminal again and again, and then no key
/// and no signal is noticed.
fn end_with(terminal: &OwnedFd) {
    loop {
        let mut watched = [PollFd::new(terminal, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) if watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => std::process::exit(HUNG_UP),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Without a watch `top` still ends by keys and signals.
            Err(_) => return,
        }
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen)
}

/// Restores the terminal. Each step is tried even if the one before has failed.
fn leave() {
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Restores the terminal before the message of a panic. A release build aborts at a panic and drops nothing.
fn leave_before_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        leave();
        before(info);
    }));
}
