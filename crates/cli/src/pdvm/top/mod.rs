//! `pdvm top`: shows a DVM, and ends jobs by key. `state` has what is shown and what keys do (`order`: sorting and
//! filter), `view` draws it (`grid`: columns that fit, `page`: pages of one job or node), and `screen` owns the
//! terminal. `asker` asks the DVM in a thread, so that the user can leave a DVM that hangs.

mod asker;
mod grid;
mod order;
mod page;
mod screen;
mod state;
mod view;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ferrite_client::ConnectionError;
use ferrite_types::JobId;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use asker::{Answer, Asker};
use screen::{Asked, Screen};
use state::{State, Wish};

use super::NAME;
use super::dvm::Dvm;
use super::failure::Failure;
use crate::frame;

/// The longest time before a key, a signal or an answer is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// An answer is late after the interval and this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Refuses what cannot work, before a DVM is looked for.
pub(super) fn check(json: bool) -> Result<(), Failure> {
    match (json, std::io::stdout().is_terminal()) {
        (true, _) => Err(Failure::TopJson),
        (false, false) => Err(Failure::NoTerminal),
        (false, true) => Ok(()),
    }
}

/// Shows the DVM until the user leaves or the DVM ends.
pub(super) fn watch(dvm: Dvm, interval: Duration) -> Result<(), Failure> {
    let asker = Asker::start(dvm, interval);
    let mut screen = Screen::open().map_err(Failure::Terminal)?;
    let ended = Watch {
        asker,
        state: State::default(),
        detail_of: None,
        colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        heard: Instant::now(),
        late_after: interval + PATIENCE,
    }
    .run(&mut screen);
    // The screen is given back before a message is printed; the message would vanish with the screen.
    drop(screen);
    match ended {
        Err(Failure::Connection(ConnectionError::Lost { dvm, .. })) => {
            frame::print(&format!("{NAME}: the DVM {dvm} has ended\n"));
            Ok(())
        }
        ended => ended,
    }
}

struct Watch {
    asker: Asker,
    state: State,
    /// The job whose details are asked for.
    detail_of: Option<JobId>,
    /// False when the user wants no colours (`NO_COLOR`).
    colours: bool,
    /// The time of the last answer.
    heard: Instant,
    late_after: Duration,
}

impl Watch {
    fn run(mut self, screen: &mut Screen) -> Result<(), Failure> {
        let mut changed = true;
        loop {
            changed |= self.listen()?;
            self.ask_for_detail();
            match screen.asked() {
                Asked::Nothing => {}
                Asked::End => return Ok(()),
                Asked::Stop => {
                    screen.stop().map_err(Failure::Terminal)?;
                    changed = true;
                }
            }
            if std::mem::take(&mut changed) {
                let mut first = 0;
                let draw = |frame: &mut Frame<'_>| first = view::draw(frame, &self.state, self.colours);
                screen.draw(draw).map_err(Failure::Terminal)?;
                self.state.scrolled(first);
            }
            if !event::poll(GLANCE).map_err(Failure::Terminal)? {
                continue;
            }
            changed = true;
            match self.on_event(&event::read().map_err(Failure::Terminal)?) {
                Wish::Nothing => {}
                Wish::Leave => return Ok(()),
                Wish::Stop => screen.stop().map_err(Failure::Terminal)?,
                Wish::Kill(job) => self.asker.kill(job),
            }
        }
    }

    /// Asks for the details of another job when a key or the end of a job has changed the choice.
    fn ask_for_detail(&mut self) {
        let wanted = self.state.wants_detail();
        if wanted != self.detail_of {
            self.detail_of = wanted;
            self.asker.want_detail(wanted);
        }
    }

    /// Takes the answers of the DVM; true when there is something new to show.
    fn listen(&mut self) -> Result<bool, Failure> {
        let mut changed = false;
        while let Some(answer) = self.asker.next() {
            changed = true;
            self.heard = Instant::now();
            match answer {
                Answer::Seen(seen) => self.state.on_seen(*seen),
                Answer::Killed(job, outcome) => self.state.on_killed(job, outcome),
                Answer::Failed(failure) => return Err(failure),
            }
        }
        let silent = self.heard.elapsed();
        Ok(self.state.set_silent((silent > self.late_after).then_some(silent.as_secs())) || changed)
    }

    fn on_event(&mut self, event: &Event) -> Wish {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.state.on_key(key),
            _ => Wish::Nothing,
        }
    }
}
