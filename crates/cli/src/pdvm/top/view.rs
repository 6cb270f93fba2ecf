//! Draws the state of `top` as cells. Pure.

use ferrite_wire::control::{Ending, JobStatus, NodeStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::grid::{Column, Grid, broken, fitted, texts, whole};
use super::page;
use super::state::{Bottom, List, Page, Seen, State, is_over};
use crate::pdvm::job::KEY;
use crate::pdvm::jobs::{ran_for_us, state as state_of};
use crate::pdvm::moment::Moment;
use crate::pdvm::nodes::in_words;
use crate::pdvm::status::{headline, held, waits_for};
use crate::pdvm::text::{NONE, Side, duration, or_none, plain};

/// The least number of lines above the rows of a list: a title and the heads.
const LIST_HEAD: usize = 2;

/// The list without the cursor gets a third of the lines, the places of a job's processes half of them, or what the
/// list with the cursor does not need.
const PART_OF_OTHER_LIST: usize = 3;
const PART_OF_PLACES: usize = 2;

/// Bold, dim and reverse work on all terminals; colours only add to them.
pub(super) const HEADS: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(super) const OVER: Style = Style::new().add_modifier(Modifier::DIM);

const STATE: usize = 1;

/// The columns of the jobs; the state is cell [`STATE`].
const JOBS: [Column; 11] = [
    whole("JOB", Side::Right, 12),
    whole("STATE", Side::Left, 11),
    whole("PROCS", Side::Right, 9),
    whole("NODES", Side::Right, 5),
    texts("FIRST NODE", 10, 6),
    whole("EXIT", Side::Right, 7),
    whole("SUBMITTED", Side::Right, 3),
    whole("RAN FOR", Side::Right, 8),
    texts("COMMAND", 12, 10),
    texts("DIRECTORY", 12, 2),
    texts("WAITS FOR", 12, 4),
];

/// The columns of the nodes; the state is cell [`STATE`].
const NODES: [Column; 7] = [
    texts("NODE", 16, 12),
    whole("STATE", Side::Left, 11),
    whole("IN USE", Side::Right, 10),
    whole("SLOTS", Side::Right, 9),
    whole("MAX", Side::Right, 5),
    whole("CORES", Side::Right, 8),
    texts("JOBS", 6, 7),
];

/// Draws the state, with colours or without; returns the first line of the page that is shown.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, colours: bool) -> usize {
    let Some(seen) = &state.seen else {
        frame.render_widget(Paragraph::new("Asking the DVM ...   (q leaves)"), frame.area());
        return 0;
    };
    let (width, height) = (usize::from(frame.area().width), usize::from(frame.area().height));
    let head = head(seen, state.silent_s, width);
    let foot = foot(state, width);
    let rest = height.saturating_sub(head.len() + foot.len());
    let parts = [Constraint::Length(head.len() as u16), Constraint::Fill(1), Constraint::Length(foot.len() as u16)];
    let [head_area, body_area, foot_area] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(head), head_area);
    frame.render_widget(Paragraph::new(foot), foot_area);
    if state.page == Page::Lists {
        draw_lists(frame, state, seen, body_area, colours);
        return 0;
    }
    let lines = page::lines(state, seen, width);
    let first = state.scroll.min(lines.len().saturating_sub(rest.saturating_sub(1)));
    let title = format!("{} (lines {} of {})", page::title(&state.page), range(first, rest, lines.len()), lines.len());
    let shown = lines.into_iter().skip(first).map(Line::raw);
    let lines: Vec<Line<'_>> = [Line::styled(fitted(&title, width), HEADS)].into_iter().chain(shown).collect();
    frame.render_widget(Paragraph::new(lines), body_area);
    first
}

/// Returns which lines of a page are seen below its title.
fn range(first: usize, height: usize, lines: usize) -> String {
    format!("{}-{}", (first + 1).min(lines), (first + height.saturating_sub(1)).min(lines))
}

fn head(seen: &Seen, silent_s: Option<u64>, width: usize) -> Vec<Line<'static>> {
    let status = &seen.status;
    let waits = match silent_s {
        Some(seconds) => format!("Has not answered for {seconds} s: what follows is old"),
        None => format!("Waits for {}", waits_for(status)),
    };
    let counts = format!(
        "Nodes {}/{}   Slots {}/{}   Processes {}   Jobs: {} running, {} queued{}, {} ended, {} failed",
        status.daemons,
        status.nodes,
        status.slots_in_use,
        status.slots,
        status.procs_running,
        status.jobs_running,
        status.jobs_queued,
        held(status),
        status.jobs_ended,
        status.jobs_failed
    );
    let shared = status.resources.iter().any(|resource| resource.amount > 0);
    let counts = if shared { format!("{counts}   Shared: {}", in_words(&status.resources)) } else { counts };
    let style = if silent_s.is_some() { CHOSEN } else { Style::new() };
    let mut lines = Vec::new();
    for (text, style) in [(headline(status), HEADS), (waits, style), (counts, Style::new())] {
        lines.extend(broken(&text, width).into_iter().map(|line| Line::styled(line, style)));
    }
    lines.push(Line::raw(""));
    lines
}

fn draw_lists(frame: &mut Frame<'_>, state: &State, seen: &Seen, area: Rect, colours: bool) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let (jobs, nodes) = (state.jobs(), state.nodes());
    let places = state.shows_places.then(|| places(state, seen, width));
    // A title may need a second line, and the last line of the jobs is blank.
    let (of_jobs, of_nodes) = (jobs.len() + LIST_HEAD + 2, nodes.len() + LIST_HEAD + 1);
    let other =
        |lines: usize, part: usize, others: usize| lines.min((height / part).max(height.saturating_sub(others)));
    let lower = match (&places, state.list) {
        (Some(lines), _) => other(lines.len(), PART_OF_PLACES, of_jobs),
        (None, List::Jobs) => other(of_nodes, PART_OF_OTHER_LIST, of_jobs),
        (None, List::Nodes) => height - other(of_jobs, PART_OF_OTHER_LIST, of_nodes).min(height),
    };
    let parts = [Constraint::Fill(1), Constraint::Length(lower as u16)];
    let [jobs_area, lower_area] = Layout::vertical(parts).areas(area);
    let chosen = |list: List, row: usize| (state.list == list).then_some(row);
    let table = Table {
        name: "JOBS",
        all: seen.jobs.len(),
        order: state.job_order.name(),
        chosen: chosen(List::Jobs, state.job_row),
        columns: &JOBS,
        rows: jobs.iter().map(|job| job_row(job, &seen.moment)).collect(),
        styles: jobs.iter().map(|job| (if is_over(job) { OVER } else { Style::new() }, job_colour(job))).collect(),
    };
    let room = usize::from(jobs_area.height).saturating_sub(usize::from(lower > 0));
    frame.render_widget(Paragraph::new(table.lines(state, width, room, colours)), jobs_area);
    let lines = places.unwrap_or_else(|| {
        let table = Table {
            name: "NODES",
            all: seen.nodes.len(),
            order: state.node_order.name(),
            chosen: chosen(List::Nodes, state.node_row),
            columns: &NODES,
            rows: nodes.iter().map(|node| node_row(node)).collect(),
            styles: nodes.iter().map(|node| (Style::new(), node_colour(node))).collect(),
        };
        table.lines(state, width, usize::from(lower_area.height), colours)
    });
    frame.render_widget(Paragraph::new(lines), lower_area);
}

/// A list of jobs or nodes.
struct Table {
    name: &'static str,
    /// Their number, with those that the filter hides.
    all: usize,
    /// The order in words.
    order: &'static str,
    /// The chosen row, if this list has the cursor.
    chosen: Option<usize>,
    columns: &'static [Column],
    rows: Vec<Vec<String>>,
    /// The style of each row, and the colour of its state.
    styles: Vec<(Style, Color)>,
}

impl Table {
    fn lines(&self, state: &State, width: usize, height: usize, colours: bool) -> Vec<Line<'static>> {
        let grid = Grid::fit(self.columns, &self.rows, width);
        let from = |room: usize| self.chosen.map_or(0, |row| (row + 1).saturating_sub(room));
        let title = |room: usize| broken(&self.title(state, from(room), room, &grid), width);
        let least = height.saturating_sub(LIST_HEAD).max(1);
        let room = height.saturating_sub(title(least).len() + 1).max(1);
        let (first, heads) = (from(room), fitted(&grid.heads(self.columns).join("  "), width));
        let mut lines: Vec<Line<'_>> =
            title(room).into_iter().chain([heads]).map(|line| Line::styled(line, HEADS)).collect();
        for (at, (row, (style, colour))) in self.rows.iter().zip(&self.styles).enumerate().skip(first).take(room) {
            let style = if self.chosen == Some(at) { CHOSEN } else { *style };
            let mut spans = Vec::new();
            for (column, cell) in grid.cells(self.columns, row) {
                let own = if colours && column == STATE { style.fg(*colour) } else { style };
                let gap = if spans.is_empty() { "" } else { "  " };
                spans.extend([Span::styled(gap, style), Span::styled(cell, own)]);
            }
            lines.push(Line::from(spans));
        }
        lines
    }

    /// Returns the line above the list, which says what it leaves out.
    fn title(&self, state: &State, first: usize, room: usize, grid: &Grid) -> String {
        let last = (first + room).min(self.rows.len());
        let listed = match (first, last == self.rows.len()) {
            (0, true) => self.rows.len().to_string(),
            _ => format!("{}-{last} of {}", first + 1, self.rows.len()),
        };
        let mut parts = vec![format!("{} {listed}", self.name)];
        if !state.filter.is_empty() {
            parts.push(format!("with {:?} (of {})", plain(&state.filter), self.all));
        }
        let reversed = state.reversed && self.chosen.is_some();
        match (self.order, reversed) {
            ("", false) => {}
            ("", true) => parts.push("reversed".to_owned()),
            (order, reversed) => parts.push(format!("{order}{}", if reversed { ", reversed" } else { "" })),
        }
        if !grid.left_out.is_empty() {
            parts.push(format!("no room for {}", grid.left_out.join(", ")));
        }
        parts.join("   ")
    }
}

/// Returns the cells of a job.
pub(super) fn job_row(job: &JobStatus, moment: &Moment) -> Vec<String> {
    let first = if job.first_node.is_empty() { NONE.to_owned() } else { plain(&job.first_node) };
    vec![
        job.job.to_string(),
        state_of(job),
        job.procs.to_string(),
        job.nodes.to_string(),
        first,
        or_none(job.exit_code),
        moment.short(job.submitted_us),
        or_none(ran_for_us(job, moment).map(duration)),
        plain(&job.command),
        job.wdir.as_deref().map_or_else(|| NONE.to_owned(), plain),
        plain(&job.waiting_for),
    ]
}

fn job_colour(job: &JobStatus) -> Color {
    match job.ending {
        Some(Ending::Done) => Color::Reset,
        Some(Ending::Failed | Ending::Refused | Ending::NotRun | Ending::LostRanks) => Color::Red,
        None if job.running_us.is_some() => Color::Green,
        Some(Ending::Killed) | None => Color::Yellow,
    }
}

fn node_row(node: &NodeStatus) -> Vec<String> {
    let most = Some(node.max_slots).filter(|most| *most > 0);
    let jobs: Vec<String> = node.jobs.iter().map(|(job, _)| job.to_string()).collect();
    vec![
        plain(&node.name),
        plain(&node.state),
        node.slots_in_use.to_string(),
        node.slots.to_string(),
        or_none(most),
        node.cores.to_string(),
        jobs.join(" "),
    ]
}

fn node_colour(node: &NodeStatus) -> Color {
    match node.state.as_str() {
        "up" => Color::Green,
        "lost" => Color::Red,
        "down" => Color::Reset,
        _ => Color::Yellow,
    }
}

/// Returns the places of the chosen job's processes.
fn places(state: &State, seen: &Seen, width: usize) -> Vec<Line<'static>> {
    let Some(job) = state.chosen_job() else { return Vec::new() };
    let text = |rest: &str| format!("PLACES OF JOB {}   {rest}", job.job);
    let (head, lines) = match &seen.detail {
        _ if is_over(job) => (text("it is over"), &[][..]),
        Some((of, None)) if *of == job.job => (text("the DVM has forgotten it"), &[][..]),
        Some((of, Some(detail))) if *of == job.job && detail.places.is_empty() => (text("it has none yet"), &[][..]),
        Some((of, Some(detail))) if *of == job.job => (text(KEY), &detail.places[..]),
        _ => (text("asking ..."), &[][..]),
    };
    let head = broken(&head, width).into_iter().map(|line| Line::styled(line, HEADS));
    let lines = lines.iter().flat_map(|line| broken(&plain(line), width)).map(Line::raw);
    head.chain(lines).collect()
}

/// Returns the lines below the lists: what the chosen job waits for, and the keys or a message.
fn foot(state: &State, width: usize) -> Vec<Line<'static>> {
    const MOST_LINES: usize = 3;
    let mut lines: Vec<Line<'_>> = match (&state.page, state.list) {
        (Page::Lists, List::Jobs) => state.chosen_job().map_or_else(Vec::new, |job| {
            let mut lines = broken(&chosen_line(job), width);
            if lines.len() > MOST_LINES {
                let rest = lines.split_off(MOST_LINES - 1).join(" ");
                lines.push(fitted(&rest, width));
            }
            lines.into_iter().map(Line::raw).collect()
        }),
        _ => Vec::new(),
    };
    lines.extend(bottom_lines(state, width));
    lines
}

/// Returns the sentence about the chosen job, which no list has room for.
fn chosen_line(job: &JobStatus) -> String {
    match (job.waiting_for.as_str(), job.ending) {
        ("", None) => format!("Job {} is over", job.job),
        ("", Some(ending)) => {
            let code = job.exit_code.filter(|code| *code != 0);
            let code = code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            format!("Job {} is over: {}{code}", job.job, ending.name())
        }
        (text, _) => format!("Job {} waits for {}", job.job, plain(text)),
    }
}

fn bottom_lines(state: &State, width: usize) -> Vec<Line<'static>> {
    let keys = match (&state.page, state.list) {
        (Page::Lists, List::Jobs) => "? help  q leave  Enter open  Tab nodes  / filter  s sort",
        (Page::Lists, List::Nodes) => "? help  q leave  Enter open  Tab jobs  / filter  s sort",
        (Page::Job(_), _) => "? help  q leave  Esc back  j k scroll  K end this job",
        _ => "q leave  Esc back  j k scroll",
    };
    let (text, style) = match &state.bottom {
        Bottom::Keys => (keys.to_owned(), OVER),
        Bottom::Confirm(job) => (format!("End job {job}? y = yes, any other key = no"), CHOSEN),
        Bottom::Said(text) => (plain(text), HEADS),
        Bottom::Filter => (format!("Show only: {}_   (Enter keeps it, Esc removes it)", plain(&state.filter)), CHOSEN),
    };
    broken(&text, width).into_iter().map(|line| Line::styled(line, style)).collect()
}

#[cfg(test)]
mod tests {
    use ferrite_types::JobId;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::pdvm::samples;

    fn terminal(state: &State, (width, height): (u16, u16), colours: bool) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| {
                draw(frame, state, colours);
            })
            .unwrap();
        terminal
    }

    fn picture(state: &State, width: u16, height: u16) -> String {
        terminal(state, (width, height), true).backend().to_string()
    }

    fn state() -> State {
        let mut state = State::default();
        state.on_seen(Seen::new(samples::status(), samples::jobs(), samples::nodes(), samples::moment()));
        state
    }

    #[test]
    fn jobs_nodes_and_a_question() {
        let state = State { bottom: Bottom::Confirm(JobId(41)), ..state() };
        insta::assert_snapshot!(picture(&state, 200, 18));
    }

    #[test]
    fn a_dvm_that_changes_its_size_says_so_and_who_waits_for_it() {
        let mut state = State::default();
        let seen = Seen::new(samples::changing(), vec![samples::held()], samples::nodes(), samples::moment());
        state.on_seen(seen);
        insta::assert_snapshot!(picture(&state, 130, 16));
    }

    #[test]
    fn a_narrow_terminal_marks_what_is_cut_and_names_what_is_left_out() {
        insta::assert_snapshot!(picture(&state(), 60, 22));
        insta::assert_snapshot!(picture(&State { list: List::Nodes, ..state() }, 80, 22));
    }

    /// A title may have a second line.
    fn titles_have(shown: &str, word: &str) -> bool {
        let heads = JOBS.iter().chain(&NODES).map(|column| column.head);
        shown.contains("no room for")
            && heads.flat_map(str::split_whitespace).any(|head| word.trim_end_matches(',') == head)
    }

    #[test]
    fn no_width_cuts_a_text_without_a_mark() {
        let whole = picture(&state(), 250, 24);
        for width in 60..=200 {
            let shown = picture(&state(), width, 24);
            let titles = ["\"JOBS ", "\"NODES "];
            for line in shown.lines().filter(|line| !titles.iter().any(|title| line.starts_with(title))) {
                for word in line.trim_matches('"').split_whitespace().filter(|word| !word.ends_with('…')) {
                    assert!(whole.contains(word) || titles_have(&shown, word), "{width}: {word:?} in {line:?}");
                }
            }
            let heads = JOBS.iter().chain(&NODES).map(|column| column.head);
            heads.for_each(|head| assert!(shown.contains(head), "{width}: {head} in\n{shown}"));
        }
    }

    #[test]
    fn the_pages_of_a_job_and_of_a_node_and_the_help() {
        let mut state = State { page: Page::Job(JobId(41)), ..state() };
        assert!(picture(&state, 80, 24).contains("Asking the DVM ..."));
        let detail = Some((JobId(41), Some(Box::new(samples::detail()))));
        state.seen = state.seen.map(|seen| Seen { detail, ..seen });
        insta::assert_snapshot!(picture(&state, 80, 60));
        state.scroll = usize::MAX;
        let end = picture(&state, 80, 20);
        let last = samples::detail().procs.len() - 1;
        assert!(end.contains(&format!("{last}  n1")), "the end of the page is reached, and not passed: {end}");
        insta::assert_snapshot!(picture(&State { page: Page::Node("n0".to_owned()), scroll: 0, ..state }, 80, 20));
        let help = State { page: Page::Help, ..self::state() };
        insta::assert_snapshot!(picture(&help, 80, 30));
    }

    #[test]
    fn without_colours_nothing_has_one_and_with_them_a_failure_is_red() {
        let colours = |wanted| {
            let terminal = terminal(&state(), (120, 20), wanted);
            let cells = terminal.backend().buffer().content().iter();
            cells.map(|cell| cell.fg).filter(|colour| *colour != Color::Reset).collect::<Vec<_>>()
        };
        assert_eq!(colours(false), []);
        assert!(colours(true).contains(&Color::Red) && colours(true).contains(&Color::Green));
    }

    #[test]
    fn order_and_filter_are_named_above_the_list() {
        let mut state = State { filter: "solver".to_owned(), reversed: true, ..state() };
        state.job_order = state.job_order.next();
        let shown = picture(&state, 130, 16);
        assert!(shown.contains("JOBS 2   with \"solver\" (of 3)   by number, reversed"), "{shown}");
    }

    #[test]
    fn the_places_of_a_job_are_shown_instead_of_the_nodes() {
        let mut state = State { shows_places: true, ..state() };
        assert!(picture(&state, 130, 16).contains("PLACES OF JOB 41   asking ..."));
        let detail = Some((JobId(41), Some(Box::new(samples::detail()))));
        state.seen = state.seen.map(|seen| Seen { detail, ..seen });
        insta::assert_snapshot!(picture(&state, 130, 16));
        for (row, text) in [(1, "PLACES OF JOB 42   asking ..."), (2, "PLACES OF JOB 40   it is over")] {
            state.job_row = row;
            assert!(picture(&state, 130, 16).contains(text));
        }
    }

    #[test]
    fn a_dvm_that_does_not_answer_is_called_so() {
        let state = State { silent_s: Some(7), ..state() };
        assert!(picture(&state, 80, 16).contains("Has not answered for 7 s"));
    }

    #[test]
    fn any_terminal_is_large_enough() {
        for (width, height) in [(1, 1), (10, 3), (20, 5), (500, 200)] {
            picture(&State::default(), width, height);
            for page in [Page::Lists, Page::Help, Page::Job(JobId(41)), Page::Node("n9".to_owned())] {
                for list in [List::Jobs, List::Nodes] {
                    picture(&State { page: page.clone(), list, ..state() }, width, height);
                }
            }
        }
    }

    #[test]
    fn the_chosen_job_is_in_sight_in_a_long_table() {
        let mut jobs: Vec<JobStatus> = vec![samples::queued().status; 100];
        jobs.iter_mut().zip(1..).for_each(|(job, id)| job.job = JobId(id));
        let mut state = State::default();
        state.on_seen(Seen::new(samples::status(), jobs, samples::nodes(), samples::moment()));
        state.job_row = 76;
        let shown = picture(&state, 80, 20);
        assert!(shown.lines().any(|line| line.starts_with("\" 77 ")), "{shown}");
        assert!(shown.contains("-77 of 100"), "{shown}");
    }
}
