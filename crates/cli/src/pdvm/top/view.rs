//! Draws the state of `top` as cells. Pure.

use ferrite_wire::control::{JobStatus, NodeStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::state::{Bottom, Seen, State, is_over};
use crate::pdvm::job::KEY;
use crate::pdvm::jobs::ran_for_us;
use crate::pdvm::moment::Moment;
use crate::pdvm::status::{headline, held, waits_for};
use crate::pdvm::text::{NONE, duration, or_none, plain};

const HEAD_LINES: u16 = 4;
const FOOT_LINES: u16 = 2;

/// Nodes get at most a third of the remaining lines.
const PART_OF_NODES: u16 = 3;
/// The places of a job's processes get at most half of them.
const PART_OF_PLACES: u16 = 2;

/// Bold, dim and reverse work on all terminals; colours differ.
const HEADS: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const OVER: Style = Style::new().add_modifier(Modifier::DIM);

pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let State { seen, bottom, silent_s, row, shows_places } = state;
    let Some(seen) = seen else {
        return frame.render_widget(Paragraph::new("Asking the DVM ...   (q leaves)"), frame.area());
    };
    let rest = frame.area().height.saturating_sub(HEAD_LINES + FOOT_LINES);
    let places = shows_places.then(|| places(state, seen));
    let lines = places.as_ref().map_or(seen.nodes.len() + 1, Vec::len);
    let part = if *shows_places { PART_OF_PLACES } else { PART_OF_NODES };
    let nodes = u16::try_from(lines).unwrap_or(u16::MAX).min(rest / part);
    let parts = [
        Constraint::Length(HEAD_LINES),
        Constraint::Fill(1),
        Constraint::Length(nodes),
        Constraint::Length(FOOT_LINES),
    ];
    let [head_area, jobs_area, nodes_area, bottom_area] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(head(seen, *silent_s)), head_area);
    draw_jobs(frame, seen, *row, jobs_area);
    match places {
        Some(lines) => frame.render_widget(Paragraph::new(lines), nodes_area),
        None => frame.render_widget(nodes_table(&seen.nodes), nodes_area),
    }
    let chosen = seen.jobs.get(*row).map_or_else(Line::default, chosen_line);
    frame.render_widget(Paragraph::new(vec![chosen, bottom_line(bottom)]), bottom_area);
}

fn head(seen: &Seen, silent_s: Option<u64>) -> Vec<Line<'static>> {
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
    let style = if silent_s.is_some() { CHOSEN } else { Style::new() };
    vec![Line::styled(headline(status), HEADS), Line::styled(waits, style), Line::raw(counts), Line::raw("")]
}

fn draw_jobs(frame: &mut Frame<'_>, seen: &Seen, row: usize, area: Rect) {
    let heads = ["JOB", "STATE", "PROCS", "NODES", "FIRST NODE", "EXIT", "RAN FOR", "NAME", "WAITS FOR"];
    // The longest state is WAITING_FOR_DAEMONS.
    let widths = [6, 19, 6, 5, 12, 4, 11, 20].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let rows = seen.jobs.iter().map(|job| job_row(job, &seen.moment));
    let table = Table::new(rows, widths).header(Row::new(heads).style(HEADS)).row_highlight_style(CHOSEN);
    // The table scrolls to the chosen row, because this state is new for each picture.
    let mut chosen = TableState::new().with_selected((!seen.jobs.is_empty()).then_some(row));
    frame.render_stateful_widget(table, area, &mut chosen);
}

fn job_row(job: &JobStatus, moment: &Moment) -> Row<'static> {
    let first = if job.first_node.is_empty() { NONE.to_owned() } else { plain(&job.first_node) };
    let cells = [
        job.job.to_string(),
        job.state.to_string(),
        job.procs.to_string(),
        job.nodes.to_string(),
        first,
        or_none(job.exit_code),
        or_none(ran_for_us(job, moment).map(duration)),
        plain(&job.name),
        plain(&job.waiting_for),
    ];
    Row::new(cells.map(Cell::from)).style(if is_over(job) { OVER } else { Style::new() })
}

fn nodes_table(nodes: &[NodeStatus]) -> Table<'static> {
    let heads = ["NODE", "STATE", "IN USE", "SLOTS", "CORES"];
    let widths = [24, 10, 6, 6].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let row = |node: &NodeStatus| {
        let numbers = [node.slots_in_use, node.slots, node.cores].map(|n| n.to_string());
        Row::new([plain(&node.name), plain(&node.state)].into_iter().chain(numbers).map(Cell::from))
    };
    Table::new(nodes.iter().map(row), widths).header(Row::new(heads).style(HEADS))
}

/// Returns the places of the chosen job's processes.
fn places(state: &State, seen: &Seen) -> Vec<Line<'static>> {
    let Some(job) = state.chosen() else { return Vec::new() };
    let head = |text: &str| Line::styled(format!("PLACES OF JOB {}   {text}", job.job), HEADS);
    match &seen.places {
        _ if is_over(job) => vec![head("it is over")],
        Some((of, lines)) if *of == job.job && lines.is_empty() => vec![head("it has none yet")],
        Some((of, lines)) if *of == job.job => {
            [head(KEY)].into_iter().chain(lines.iter().map(|line| Line::raw(plain(line)))).collect()
        }
        _ => vec![head("asking ...")],
    }
}

/// Returns the fields of the chosen job that do not fit into the table of a narrow terminal.
fn chosen_line(job: &JobStatus) -> Line<'static> {
    let waits = match job.waiting_for.as_str() {
        "" => "is over".to_owned(),
        text => format!("waits for {}", plain(text)),
    };
    Line::raw(format!("Job {} {waits}", job.job))
}

fn bottom_line(bottom: &Bottom) -> Line<'static> {
    match bottom {
        Bottom::Keys => Line::styled("q leave   j k up and down   m where a job is   K end a job", OVER),
        Bottom::Confirm(job) => Line::styled(format!("End job {job}? y = yes, any other key = no"), CHOSEN),
        Bottom::Said(text) => Line::styled(plain(text), HEADS),
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::JobId;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::pdvm::samples;

    fn picture(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state)).unwrap();
        terminal.backend().to_string()
    }

    fn state() -> State {
        let mut state = State::default();
        state.on_seen(Seen::new(samples::status(), samples::jobs(), samples::nodes(), samples::moment()));
        state
    }

    #[test]
    fn jobs_nodes_and_a_question() {
        let state = State { bottom: Bottom::Confirm(JobId(41)), ..state() };
        insta::assert_snapshot!(picture(&state, 130, 16));
    }

    #[test]
    fn a_dvm_that_changes_its_size_says_so_and_who_waits_for_it() {
        let mut state = State::default();
        let seen = Seen::new(samples::changing(), vec![samples::held()], samples::nodes(), samples::moment());
        state.on_seen(seen);
        insta::assert_snapshot!(picture(&state, 130, 16));
    }

    #[test]
    fn the_places_of_a_job_are_shown_instead_of_the_nodes() {
        let mut state = State { shows_places: true, ..state() };
        assert!(picture(&state, 130, 16).contains("PLACES OF JOB 41   asking ..."));
        let places = Some((JobId(41), samples::detail().places));
        state.seen = state.seen.map(|seen| Seen { places, ..seen });
        insta::assert_snapshot!(picture(&state, 130, 16));
        for (row, text) in [(1, "PLACES OF JOB 42   asking ..."), (2, "PLACES OF JOB 40   it is over")] {
            state.row = row;
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
            picture(&state(), width, height);
        }
    }

    #[test]
    fn the_chosen_job_is_in_sight_in_a_long_table() {
        let mut jobs: Vec<JobStatus> = vec![samples::queued().status; 100];
        jobs.iter_mut().zip(1..).for_each(|(job, id)| job.job = JobId(id));
        let mut state = State::default();
        state.on_seen(Seen::new(samples::status(), jobs, samples::nodes(), samples::moment()));
        state.row = 76;
        assert!(picture(&state, 80, 16).lines().any(|line| line.starts_with("\"77 ")));
    }
}
