//! The state of `top`, and the effects of keys on it. Pure.

use ferrite_types::JobId;
use ferrite_wire::control::{DvmStatus, JobDetail, JobStatus, NodeStatus};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::order::{JobOrder, NodeOrder, jobs_in_order, nodes_in_order};
use crate::pdvm::moment::Moment;

/// The DVM at the time of an answer.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) status: DvmStatus,
    pub(super) jobs: Vec<JobStatus>,
    pub(super) nodes: Vec<NodeStatus>,
    /// The details of a job, if they were requested; `None` in it = the DVM has forgotten the job.
    pub(super) detail: Option<(JobId, Option<Box<JobDetail>>)>,
    pub(super) moment: Moment,
}

impl Seen {
    pub(super) fn new(status: DvmStatus, jobs: Vec<JobStatus>, nodes: Vec<NodeStatus>, moment: Moment) -> Seen {
        Seen { status, jobs, nodes, detail: None, moment }
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
    /// The filter is being typed.
    Filter,
}

/// The list that has the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    #[default]
    Jobs,
    Nodes,
}

/// The page that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Page {
    /// Both lists.
    #[default]
    Lists,
    /// All of one job.
    Job(JobId),
    /// All of one node.
    Node(String),
    /// The keys.
    Help,
}

/// The state of `top`.
#[derive(Debug, Default)]
pub(super) struct State {
    /// `None` before the first answer.
    pub(super) seen: Option<Seen>,
    pub(super) bottom: Bottom,
    /// The time without an answer (seconds), when it is too long.
    pub(super) silent_s: Option<u64>,
    pub(super) list: List,
    pub(super) page: Page,
    /// The first line of a page that is longer than the terminal.
    pub(super) scroll: usize,
    /// The chosen rows. Each follows its job or node when others come and go.
    pub(super) job_row: usize,
    pub(super) node_row: usize,
    pub(super) job_order: JobOrder,
    pub(super) node_order: NodeOrder,
    pub(super) reversed: bool,
    /// Only jobs and nodes with this text are shown.
    pub(super) filter: String,
    /// True when the places of the chosen job's processes are shown instead of the nodes.
    pub(super) shows_places: bool,
}

impl State {
    /// Takes a new status of the DVM.
    pub(super) fn on_seen(&mut self, seen: Seen) {
        self.keep_choice(|state| state.seen = Some(seen));
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
        match (key.code, std::mem::take(&mut self.bottom)) {
            (KeyCode::Char('c'), _) if control => Wish::Leave,
            (KeyCode::Char('z'), _) if control => Wish::Stop,
            (KeyCode::Char('y' | 'Y'), Bottom::Confirm(job)) => Wish::Kill(job),
            // Any key but a yes is a no, and does nothing else.
            (_, Bottom::Confirm(_)) => Wish::Nothing,
            (code, Bottom::Filter) => {
                self.on_filter_key(code);
                Wish::Nothing
            }
            (KeyCode::Char('q'), _) => Wish::Leave,
            (KeyCode::Esc, _) => self.step_back(),
            (code, _) => {
                self.browse(code);
                Wish::Nothing
            }
        }
    }

    fn on_filter_key(&mut self, code: KeyCode) {
        self.bottom = Bottom::Filter;
        match code {
            KeyCode::Enter => self.bottom = Bottom::Keys,
            KeyCode::Esc => {
                self.bottom = Bottom::Keys;
                self.keep_choice(|state| state.filter.clear());
            }
            KeyCode::Backspace => self.keep_choice(|state| {
                state.filter.pop();
            }),
            KeyCode::Char(c) => self.keep_choice(|state| state.filter.push(c)),
            _ => {}
        }
    }

    /// Leaves the page, else the filter, else `top`.
    fn step_back(&mut self) -> Wish {
        if self.page != Page::Lists {
            self.turn_to(Page::Lists);
        } else if !self.filter.is_empty() {
            self.keep_choice(|state| state.filter.clear());
        } else {
            return Wish::Leave;
        }
        Wish::Nothing
    }

    fn turn_to(&mut self, page: Page) {
        self.page = page;
        self.scroll = 0;
    }

    fn browse(&mut self, code: KeyCode) {
        const SCREENFUL: usize = 10;
        let row = self.row();
        match code {
            KeyCode::Char('j') | KeyCode::Down => self.go_to(row + 1),
            KeyCode::Char('k') | KeyCode::Up => self.go_to(row.saturating_sub(1)),
            KeyCode::PageDown => self.go_to(row + SCREENFUL),
            KeyCode::PageUp => self.go_to(row.saturating_sub(SCREENFUL)),
            KeyCode::Char('g') | KeyCode::Home => self.go_to(0),
            KeyCode::Char('G') | KeyCode::End => self.go_to(usize::MAX),
            KeyCode::Char('K') => self.ask_to_kill(),
            KeyCode::Char('?' | 'h') => {
                let page = if self.page == Page::Help { Page::Lists } else { Page::Help };
                self.turn_to(page);
            }
            KeyCode::Enter => self.open(),
            // The other keys belong to the lists.
            _ if self.page != Page::Lists => {}
            KeyCode::Char('m') => self.shows_places = !self.shows_places,
            KeyCode::Char('/') => self.bottom = Bottom::Filter,
            KeyCode::Char('r') => self.keep_choice(|state| state.reversed = !state.reversed),
            KeyCode::Char('s') => self.keep_choice(|state| match state.list {
                List::Jobs => state.job_order = state.job_order.next(),
                List::Nodes => state.node_order = state.node_order.next(),
            }),
            KeyCode::Tab => {
                self.list = match self.list {
                    List::Jobs => List::Nodes,
                    List::Nodes => List::Jobs,
                };
                // The nodes can only be chosen where they are seen.
                self.shows_places &= self.list == List::Jobs;
            }
            _ => {}
        }
    }

    fn open(&mut self) {
        let page = match (&self.page, self.list) {
            (Page::Lists, List::Jobs) => self.chosen_job().map(|job| Page::Job(job.job)),
            (Page::Lists, List::Nodes) => self.chosen_node().map(|node| Page::Node(node.name.clone())),
            _ => Some(Page::Lists),
        };
        if let Some(page) = page {
            self.turn_to(page);
        }
    }

    fn row(&self) -> usize {
        match (&self.page, self.list) {
            (Page::Lists, List::Jobs) => self.job_row,
            (Page::Lists, List::Nodes) => self.node_row,
            _ => self.scroll,
        }
    }

    fn go_to(&mut self, row: usize) {
        match (&self.page, self.list) {
            (Page::Lists, List::Jobs) => self.job_row = row.min(self.jobs().len().saturating_sub(1)),
            (Page::Lists, List::Nodes) => self.node_row = row.min(self.nodes().len().saturating_sub(1)),
            // The view knows how many lines a page has, and tells it by `scrolled`.
            _ => self.scroll = row,
        }
    }

    /// Takes the first line of the page that was drawn: a page ends with its last line.
    pub(super) fn scrolled(&mut self, first: usize) {
        self.scroll = first;
    }

    /// Changes what is listed; the same job and the same node stay chosen, if they are still listed.
    fn keep_choice(&mut self, change: impl FnOnce(&mut State)) {
        let job = self.chosen_job().map(|job| job.job);
        let node = self.chosen_node().map(|node| node.name.clone());
        change(self);
        let jobs = self.jobs();
        let again = job.and_then(|job| jobs.iter().position(|other| other.job == job));
        let job_row = again.unwrap_or(self.job_row).min(jobs.len().saturating_sub(1));
        let nodes = self.nodes();
        let again = node.and_then(|node| nodes.iter().position(|other| other.name == node));
        let node_row = again.unwrap_or(self.node_row).min(nodes.len().saturating_sub(1));
        (self.job_row, self.node_row) = (job_row, node_row);
    }

    fn ask_to_kill(&mut self) {
        let job = match (&self.page, self.list) {
            (Page::Lists, List::Jobs) => self.chosen_job(),
            (Page::Job(id), _) => self.job(*id),
            _ => {
                self.bottom = Bottom::Said("Choose a job first: Tab goes to the jobs.".to_owned());
                return;
            }
        };
        self.bottom = match job {
            None => Bottom::Said("There is no job to end.".to_owned()),
            Some(job) if is_over(job) => Bottom::Said(format!("Job {} is over.", job.job)),
            Some(job) => Bottom::Confirm(job.job),
        };
    }

    /// Returns the jobs that are listed, in the order of the list.
    pub(super) fn jobs(&self) -> Vec<&JobStatus> {
        let Some(seen) = &self.seen else { return Vec::new() };
        jobs_in_order(&seen.jobs, &self.filter, self.job_order, self.reversed && self.list == List::Jobs)
    }

    /// Returns the nodes that are listed, in the order of the list.
    pub(super) fn nodes(&self) -> Vec<&NodeStatus> {
        let Some(seen) = &self.seen else { return Vec::new() };
        nodes_in_order(&seen.nodes, &self.filter, self.node_order, self.reversed && self.list == List::Nodes)
    }

    /// Returns a job, listed or not.
    pub(super) fn job(&self, id: JobId) -> Option<&JobStatus> {
        self.seen.as_ref()?.jobs.iter().find(|job| job.job == id)
    }

    pub(super) fn chosen_job(&self) -> Option<&JobStatus> {
        self.jobs().get(self.job_row).copied()
    }

    pub(super) fn chosen_node(&self) -> Option<&NodeStatus> {
        self.nodes().get(self.node_row).copied()
    }

    /// Returns the job whose details are shown.
    pub(super) fn wants_detail(&self) -> Option<JobId> {
        match &self.page {
            Page::Job(id) => Some(*id),
            Page::Lists => self.chosen_job().filter(|job| self.shows_places && !is_over(job)).map(|job| job.job),
            Page::Node(_) | Page::Help => None,
        }
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

    fn key(state: &mut State, code: KeyCode) -> Wish {
        state.on_key(&KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn press(state: &mut State, keys: &str) -> Vec<Wish> {
        keys.chars().map(|c| key(state, KeyCode::Char(c))).collect()
    }

    fn listed(state: &State) -> Vec<u32> {
        state.jobs().iter().map(|job| job.job.0).collect()
    }

    #[test]
    fn jobs_that_are_not_over_come_first_until_another_order_is_chosen() {
        let mut state = state();
        assert_eq!(listed(&state), [41, 42, 40]);
        press(&mut state, "s");
        assert_eq!((listed(&state), state.chosen_job().unwrap().job), (vec![40, 41, 42], JobId(41)));
        press(&mut state, "r");
        assert_eq!((listed(&state), state.job_row), (vec![42, 41, 40], 1));
    }

    #[test]
    fn a_filter_leaves_what_has_its_text_and_escape_removes_it() {
        let mut state = state();
        press(&mut state, "/N1");
        assert_eq!(state.bottom, Bottom::Filter);
        assert_eq!((listed(&state), state.nodes().len()), (vec![40], 1), "the first node of job 40");
        key(&mut state, KeyCode::Enter);
        assert_eq!((state.bottom.clone(), state.filter.as_str()), (Bottom::Keys, "N1"));
        assert_eq!(key(&mut state, KeyCode::Esc), Wish::Nothing);
        assert_eq!((listed(&state).len(), state.nodes().len()), (3, 4));
        press(&mut state, "/qqK");
        assert_eq!((state.filter.as_str(), listed(&state).len()), ("qqK", 0), "letters are text, and no orders");
        key(&mut state, KeyCode::Backspace);
        assert_eq!(state.filter, "qq");
        key(&mut state, KeyCode::Esc);
        assert_eq!(state.filter, "");
        assert_eq!(key(&mut state, KeyCode::Esc), Wish::Leave);
    }

    #[test]
    fn enter_opens_the_page_of_the_chosen_job_or_node_and_escape_leaves_it() {
        let mut state = state();
        press(&mut state, "j");
        key(&mut state, KeyCode::Enter);
        assert_eq!((&state.page, state.wants_detail()), (&Page::Job(JobId(42)), Some(JobId(42))));
        press(&mut state, "jj");
        assert_eq!((state.scroll, state.job_row), (2, 1));
        press(&mut state, "K");
        assert_eq!(state.bottom, Bottom::Confirm(JobId(42)));
        press(&mut state, "n");
        assert_eq!(key(&mut state, KeyCode::Esc), Wish::Nothing);
        assert_eq!((&state.page, state.scroll), (&Page::Lists, 0));
        key(&mut state, KeyCode::Tab);
        press(&mut state, "jK");
        assert!(matches!(state.bottom, Bottom::Said(_)));
        key(&mut state, KeyCode::Enter);
        assert_eq!((&state.page, state.wants_detail()), (&Page::Node("n1".to_owned()), None));
        press(&mut state, "?");
        assert_eq!(state.page, Page::Help);
        press(&mut state, "?");
        assert_eq!(state.page, Page::Lists);
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
        assert_eq!((empty.job_row, empty.bottom), (0, Bottom::Said("There is no job to end.".to_owned())));
    }

    #[test]
    fn the_choice_follows_its_job_and_stays_within_the_table() {
        let mut state = state();
        press(&mut state, "j");
        let without = |id: u32| samples::jobs().into_iter().filter(|job| job.job.0 != id).collect::<Vec<_>>();
        let seen = |jobs| Seen::new(samples::status(), jobs, samples::nodes(), samples::moment());
        state.on_seen(seen(without(41)));
        assert_eq!((state.job_row, state.chosen_job().unwrap().job), (0, JobId(42)));
        press(&mut state, "jjjj");
        assert_eq!(state.job_row, 1);
        state.on_seen(seen(without(40)));
        assert_eq!((state.job_row, state.chosen_job().unwrap().job), (1, JobId(42)));
        state.on_seen(seen(Vec::new()));
        assert_eq!((state.job_row, state.chosen_job()), (0, None));
    }

    #[test]
    fn the_places_of_the_chosen_job_are_wanted_while_they_are_shown() {
        let mut state = state();
        assert_eq!(state.wants_detail(), None);
        press(&mut state, "m");
        assert_eq!(state.wants_detail(), Some(JobId(41)));
        press(&mut state, "j");
        assert_eq!(state.wants_detail(), Some(JobId(42)));
        press(&mut state, "G");
        assert_eq!(state.wants_detail(), None);
        press(&mut state, "gm");
        assert_eq!(state.wants_detail(), None);
    }

    #[test]
    fn control_keys_leave_and_stop_even_at_a_question_and_in_a_filter() {
        let mut state = state();
        for (letter, wish) in [('c', Wish::Leave), ('z', Wish::Stop)] {
            for begin in ["K", "/"] {
                press(&mut state, begin);
                assert_eq!(state.on_key(&KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)), wish);
            }
        }
    }

    #[test]
    fn silence_is_news_once_a_second() {
        let mut state = state();
        assert_eq!([Some(3), Some(3), None, None].map(|s| state.set_silent(s)), [true, false, true, false]);
    }
}
