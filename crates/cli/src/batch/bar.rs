//! The progress bar of a list on standard error. The bar is erased before output is written, and drawn again later.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ferrite_client::{ClientEvent, ClientLoop};
use ferrite_wire::Stream;

use crate::pdvm::cut;

/// Interval between two pictures of the bar.
const FRAME: Duration = Duration::from_millis(200);

/// The progress bar, where standard error is a terminal.
pub(super) struct Bar {
    /// True when a terminal shows the bar.
    wanted: bool,
    drawn: bool,
    /// False in the middle of a line of output.
    at_line_start: bool,
    last: Instant,
}

impl Bar {
    pub(super) fn new() -> Bar {
        Bar { wanted: std::io::stderr().is_terminal(), drawn: false, at_line_start: true, last: Instant::now() }
    }

    /// Returns the next event, or a timeout when the bar must be drawn or the limit is over.
    pub(super) fn next(&self, client: &mut ClientLoop, limit: Option<Duration>) -> ClientEvent {
        let left = FRAME.saturating_sub(self.last.elapsed());
        client.next(self.wanted.then_some(left).into_iter().chain(limit).min())
    }

    /// True when the bar must be drawn, even if events wait.
    pub(super) fn is_due(&self) -> bool {
        self.wanted && self.last.elapsed() >= FRAME
    }

    /// Writes output of a job, after erasing the bar.
    pub(super) fn write(&mut self, client: &mut ClientLoop, to: Stream, bytes: &[u8]) {
        if std::mem::take(&mut self.drawn) {
            client.write(Stream::Stderr, b"\r\x1b[K");
        }
        self.at_line_start = bytes.last().is_none_or(|byte| *byte == b'\n');
        client.write(to, bytes);
    }

    /// Draws the bar, unless the last line of output is unfinished.
    pub(super) fn draw(&mut self, client: &mut ClientLoop, line: &str) {
        self.last = Instant::now();
        if self.wanted && self.at_line_start {
            self.drawn = true;
            // A line that wraps could not be erased. One column stays free, where the cursor is.
            let columns = rustix::termios::tcgetwinsize(rustix::stdio::stderr()).map_or(80, |size| size.ws_col);
            let line = cut(line, usize::from(columns).saturating_sub(1).max(1));
            client.write(Stream::Stderr, format!("\r{line}\x1b[K").as_bytes());
        }
    }

    /// Draws the bar for the last time and leaves it on the terminal.
    pub(super) fn leave(&mut self, client: &mut ClientLoop, line: &str) {
        self.draw(client, line);
        if std::mem::take(&mut self.drawn) {
            client.write(Stream::Stderr, b"\n");
        }
    }

    /// Draws no bar from now on, because its terminal is gone.
    pub(super) fn hide(&mut self) {
        self.wanted = false;
        self.drawn = false;
    }
}
