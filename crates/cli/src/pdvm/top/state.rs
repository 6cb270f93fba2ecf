//! The state of `top`, and the effects of keys on it. Pure.

use ferrite_types::JobId;
use ferrite_wire::control::{DvmStatus, JobStatus, NodeStatus};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::pdvm::moment::Moment;

/// The DVM at the time of an answer.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) status: DvmStatus,
    /// Running and waiting jobs first; then ended ones, the latest first.
    pub(super) jobs: Vec<JobStatus>,
    pub(super) nodes: Vec<NodeStatus>,
    /// Places of a job's processes, if they were requested: a line for each node.
    pub(super) places: Option<(JobId, Vec<String>)>,
    pub(super) moment: Moment,
}

impl Seen {
    pub(super) fn new(status: DvmStatus, mut jobs: Vec<JobStatus>, nodes: Vec<NodeStatus>, moment: Moment) -> Seen {
        jobs.sort_by_key(|job| match is_over(job) {
            false => (0, i64::from(job.job.0)),
            true => (1, -i64::from(job.job.0)),
        });
        Seen { status, jobs, nodes, places: None, moment }
    }
}

/// True when the job has ended.
pub(super) fn is_over(job: &JobStatus) -> bool {
    job.ended_us.is_some()
}

/// A key's request besides a redraw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    Leave,
    /// Stop until the user comes back.
    Stop,
    /// End this job; the user has confirmed it.
    Kill(JobId),
}

/// The last line of the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Bottom {
    /// The list of keys.
    #[default]
    Keys,
    /// A question: is this job to end?
    Confirm(JobId),
    /// The result of the last order, shown until the next key.
    Said(String),
}

/// The state of `top`.
#[derive(Debug, Default)]
pub(super) struct State {
    /// `None` before the first answer.
    pub(super) seen: Option<Seen>,
    pub(super) bottom: Bottom,
    /// The time without an answer (seconds), when it is too long.
    pub(super) silent_s: Option<u64>,
    /// The chosen row. It follows its job when other jobs come and go.
    pub(super) row: usize,
    /// True when the places of the chosen job's processes are shown instead of the nodes.
    pub(super) shows_places: bool,
}

impl State {
    /// Takes a new status of the DVM.
    pub(super) fn on_seen(&mut self, seen: Seen) {
        let chosen = self.chosen().map(|job| job.job);
        let again = chosen.and_then(|chosen| seen.jobs.iter().position(|job| job.job == chosen));
        self.row = again.unwrap_or(self.row).min(seen.jobs.len().saturating_sub(1));
        self.seen = Some(seen);
    }

    /// Takes the result of an order to end a job.
    pub(super) fn on_killed(&mut self, job: JobId, outcome: Result<(), String>) {
        self.bottom = Bottom::Said(outcome.map_or_else(|why| why, |()| format!("Job {job} is being ended.")));
    }

    /// Sets the time without an answer; true when it has changed.
    pub(super) fn set_silent(&mut self, silent_s: Option<u64>) -> bool {
        let news = self.silent_s != silent_s;
        self.silent_s = silent_s;
        news
    }

    pub(super) fn on_key(&mut self, key: &KeyEvent) -> Wish {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let asked = std::mem::take(&mut self.bottom);
        match (key.code, asked) {
            (KeyCode::Char('c'), _) if control => Wish::Leave,
            (KeyCode::Char('z'), _) if control => Wish::Stop,
            (KeyCode::Char('y' | 'Y'), Bottom::Confirm(job)) => Wish::Kill(job),
            // Any key but a yes is a no, and does nothing else.
            (_, Bottom::Confirm(_)) => Wish::Nothing,
            (KeyCode::Char('q') | KeyCode::Esc, _) => Wish::Leave,
            (code, _) => {
                self.browse(code);
                Wish::Nothing
            }
        }
    }

    fn browse(&mut self, code: KeyCode) {
        const PAGE: usize = 10;
        let last = self.seen.as_ref().map_or(0, |seen| seen.jobs.len().saturating_sub(1));
        match code {
            KeyCode::Char('j') | KeyCode::Down => self.row = (self.row + 1).min(last),
            KeyCode::Char('k') | KeyCode::Up => self.row = self.row.saturating_sub(1),
            KeyCode::PageDown => self.row = (self.row + PAGE).min(last),
            KeyCode::PageUp => self.row = self.row.saturating_sub(PAGE),
            KeyCode::Char('g') | KeyCode::Home => self.row = 0,
            KeyCode::Char('G') | KeyCode::End => self.row = last,
            KeyCode::Char('K') => self.ask_to_kill(),
            KeyCode::Char('m') | KeyCode::Enter => self.shows_places = !self.shows_places,
            _ => {}
        }
    }

    /// Returns the job whose places are shown.
    pub(super) fn wants_places(&self) -> Option<JobId> {
        self.chosen().filter(|job| self.shows_places && !is_over(job)).map(|job| job.job)
    }

    fn ask_to_kill(&mut self) {
        self.bottom = match self.chosen() {
            None => Bottom::Said("There is no job to end.".to_owned()),
            Some(job) if is_over(job) => Bottom::Said(format!("Job {} is over.", job.job)),
            Some(job) => Bottom::Confirm(job.job),
        };
    }

    pub(super) fn chosen(&self) -> Option<&JobStatus> {
        self.seen.as_ref()?.jobs.get(self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    fn state() -> State {
        let mut state = State::default();
        state.on_seen(Seen::new(samples::status(), samples::jobs(), samples::nodes(), samples::moment()));
        state
    }

    fn press(state: &mut State, keys: &str) -> Vec<Wish> {
        keys.chars().map(|c| state.on_key(&KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))).collect()
    }

    #[test]
    fn jobs_that_are_not_over_come_first() {
        let seen = state().seen.unwrap();
        assert_eq!(seen.jobs.iter().map(|job| job.job.0).collect::<Vec<_>>(), [41, 42, 40]);
    }

    #[test]
    fn a_job_is_ended_only_after_a_yes() {
        let mut state = state();
        assert_eq!(press(&mut state, "jK"), [Wish::Nothing; 2]);
        assert_eq!(state.bottom, Bottom::Confirm(JobId(42)));
        assert_eq!(press(&mut state, "n"), [Wish::Nothing]);
        assert_eq!(press(&mut state, "y"), [Wish::Nothing]);
        assert_eq!(press(&mut state, "Kq"), [Wish::Nothing; 2]);
        assert_eq!(press(&mut state, "Ky"), [Wish::Nothing, Wish::Kill(JobId(42))]);
        state.on_killed(JobId(42), Err("Job 42 is over.".to_owned()));
        assert_eq!(state.bottom, Bottom::Said("Job 42 is over.".to_owned()));
        assert_eq!(press(&mut state, "q"), [Wish::Leave]);
    }

    #[test]
    fn what_is_over_cannot_be_ended_and_nothing_neither() {
        let mut state = state();
        press(&mut state, "GK");
        assert_eq!(state.bottom, Bottom::Said("Job 40 is over.".to_owned()));
        let mut empty = State::default();
        press(&mut empty, "jK");
        assert_eq!((empty.row, empty.bottom), (0, Bottom::Said("There is no job to end.".to_owned())));
    }

    #[test]
    fn the_choice_follows_its_job_and_stays_within_the_table() {
        let mut state = state();
        press(&mut state, "j");
        let without = |id: u32| samples::jobs().into_iter().filter(|job| job.job.0 != id).collect::<Vec<_>>();
        let seen = |jobs| Seen::new(samples::status(), jobs, samples::nodes(), samples::moment());
        state.on_seen(seen(without(41)));
        assert_eq!((state.row, state.chosen().unwrap().job), (0, JobId(42)));
        press(&mut state, "jjjj");
        assert_eq!(state.row, 1);
        state.on_seen(seen(without(40)));
        assert_eq!((state.row, state.chosen().unwrap().job), (1, JobId(42)));
        state.on_seen(seen(Vec::new()));
        assert_eq!((state.row, state.chosen()), (0, None));
    }

    #[test]
    fn the_places_of_the_chosen_job_are_wanted_while_they_are_shown() {
        let mut state = state();
        assert_eq!(state.wants_places(), None);
        press(&mut state, "m");
        assert_eq!(state.wants_places(), Some(JobId(41)));
        press(&mut state, "j");
        assert_eq!(state.wants_places(), Some(JobId(42)));
        press(&mut state, "G");
        assert_eq!(state.wants_places(), None);
        press(&mut state, "gm");
        assert_eq!(state.wants_places(), None);
    }

    #[test]
    fn control_keys_leave_and_stop_even_at_a_question() {
        let mut state = state();
        for (letter, wish) in [('c', Wish::Leave), ('z', Wish::Stop)] {
            press(&mut state, "K");
            assert_eq!(state.on_key(&KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)), wish);
        }
    }

    #[test]
    fn silence_is_news_once_a_second() {
        let mut state = state();
        assert_eq!([Some(3), Some(3), None, None].map(|s| state.set_silent(s)), [true, false, true, false]);
    }
}
