//! A program that draws on a terminal: its last screen as a picture. Called by `cargo xtask pictures`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::{Color, Parser};

use crate::runner::wait;
use crate::svg::{self, BAR, LETTER, MARGIN, escaped};

/// Height of a line (pixels).
const LINE: usize = 17;
/// Longest time until a program has ended that was told to.
const END_LIMIT: Duration = Duration::from_secs(20);

const STYLE: &str = "text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre;fill:#1b1f24}\n\
    .bg{fill:#f6f8fa;stroke:#d0d7de}\n.dot{fill:#d0d7de}\n.b{font-weight:700}\n.d{opacity:.65}\n.c1{fill:#b3261e}\n\
    .c2{fill:#0a7f5a}\n.c3{fill:#8a6100}\n.c4,.c5,.c6{fill:#0b61a4}\n.r{fill:#1b1f24}\n.i{fill:#f6f8fa}\n\
    @media (prefers-color-scheme:dark){\ntext{fill:#e8ecf1}\n.bg{fill:#0d1117;stroke:#3d444d}\n.dot{fill:#3d444d}\n\
    .c1{fill:#ff7b72}\n.c2{fill:#3fd29b}\n.c3{fill:#e3b341}\n.c4,.c5,.c6{fill:#79c0ff}\n.r{fill:#e8ecf1}\n.i{fill:#0d1117}\n}\n";

/// A program on a terminal of its own.
pub(crate) struct OnScreen {
    child: Child,
    user: File,
    parser: Parser,
}

impl OnScreen {
    /// Starts a program on a terminal of this size (letters).
    pub(crate) fn start(command: &mut Command, rows: NonZero<u16>, columns: NonZero<u16>) -> Result<Self> {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&user)?;
        unlockpt(&user)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(ptsname(&user, Vec::new())?, flags, Mode::empty())?;
        tcsetwinsize(&terminal, Winsize { ws_row: rows.get(), ws_col: columns.get(), ws_xpixel: 0, ws_ypixel: 0 })?;
        let side = || terminal.try_clone().map(Stdio::from);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR").stdin(side()?).stdout(side()?).stderr(side()?);
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        rustix::io::ioctl_fionbio(&user, true)?;
        Ok(Self { child, user: File::from(user), parser: Parser::new(rows, columns, 0) })
    }

    /// Reads what it draws until the screen shows this.
    pub(crate) fn until(&mut self, is_shown: impl Fn(&str) -> bool, limit: Duration) -> Result<()> {
        let began = Instant::now();
        while !is_shown(&self.parser.screen().contents()) {
            ensure!(began.elapsed() < limit, "the screen shows after {limit:?}:\n{}", self.parser.screen().contents());
            let mut buffer = [0; 4096];
            match self.user.read(&mut buffer) {
                Ok(count) => self.parser.process(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(10)),
                Err(error) => return Err(error).context("the program has left its terminal"),
            }
        }
        Ok(())
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) -> Result<()> {
        Ok(self.user.write_all(keys.as_bytes())?)
    }

    /// Takes the screen as a picture and ends the program by this key.
    pub(crate) fn taken(mut self, title: &str, end: &str) -> Result<String> {
        let picture = drawn(self.parser.screen(), title);
        self.press(end)?;
        let status = wait(&mut self.child, END_LIMIT)?.context("the program does not end by its key")?;
        ensure!(status.success(), "the program on the screen: {status}");
        Ok(picture)
    }
}

/// How letters look.
#[derive(Clone, Copy, Default, PartialEq)]
struct Look {
    colour: Option<u8>,
    bold: bool,
    dim: bool,
    inverse: bool,
}

impl Look {
    fn of(cell: &vt100::Cell) -> Self {
        let colour = match cell.fgcolor() {
            Color::Idx(index @ 1..=6) => Some(index),
            Color::Idx(index @ 9..=14) => Some(index - 8),
            _ => None,
        };
        Self { colour, bold: cell.bold(), dim: cell.dim(), inverse: cell.inverse() }
    }

    fn classes(self) -> String {
        let mut classes = Vec::new();
        if self.inverse {
            classes.push("i".to_owned());
        } else {
            classes.extend(self.colour.map(|colour| format!("c{colour}")));
        }
        classes.extend(
            [(self.bold, "b"), (self.dim, "d")].into_iter().filter(|(is, _)| *is).map(|(_, class)| class.into()),
        );
        classes.join(" ")
    }
}

/// The screen as a picture: a text for each run of letters that look alike.
fn drawn(screen: &vt100::Screen, title: &str) -> String {
    let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
    let height = BAR + usize::from(rows) * LINE + MARGIN;
    let mut out = svg::window(title, svg::width(columns.into()), height, STYLE);
    for row in 0..rows {
        let top = BAR + usize::from(row) * LINE;
        for (column, look, text) in runs(screen, row) {
            let x = MARGIN as f64 + f64::from(column) * LETTER;
            if look.inverse {
                let width = text.chars().count() as f64 * LETTER;
                let _ = writeln!(
                    out,
                    "<rect class=\"r\" x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{LINE}\"/>"
                );
            }
            if !text.trim().is_empty() {
                let (classes, text) = (look.classes(), escaped(text.trim_end()));
                let _ = writeln!(out, "<text class=\"{classes}\" x=\"{x:.1}\" y=\"{}\">{text}</text>", top + LINE - 4);
            }
        }
    }
    out + "</svg>\n"
}

/// The runs of letters of a row that look alike, with the columns where they begin.
fn runs(screen: &vt100::Screen, row: u16) -> Vec<(u16, Look, String)> {
    let mut runs: Vec<(u16, Look, String)> = Vec::new();
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else { continue };
        let (look, letter) = (Look::of(cell), if cell.has_contents() { cell.contents() } else { " " });
        match runs.last_mut() {
            Some((_, last, text)) if *last == look => *text += letter,
            _ => runs.push((column, look, letter.to_owned())),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_look_alike_are_one_text() {
        let mut parser = Parser::new(NonZero::new(2).unwrap(), NonZero::new(20).unwrap(), 0);
        parser.process(b"a<b\x1b[1;32m up \x1b[0m\r\n\x1b[7mchosen\x1b[0m");
        let svg = drawn(parser.screen(), "t");
        let body = svg.split_once("r=\"5\"/>\n<text").map(|(_, body)| body).unwrap();
        assert_eq!(
            body,
            " class=\"\" x=\"18.0\" y=\"47\">a&lt;b</text>\n\
             <text class=\"c2 b\" x=\"41.5\" y=\"47\"> up</text>\n\
             <rect class=\"r\" x=\"18.0\" y=\"51\" width=\"47.0\" height=\"17\"/>\n\
             <text class=\"i\" x=\"18.0\" y=\"64\">chosen</text>\n</svg>\n"
        );
    }
}
