//! The trace of a batch (`pdvm trace --batch`): how many of its tasks ran and waited over time, and where each ran.
//! Pure: it reads the records of the batch (`pdvm batch results`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use ferrite_wire::control::BatchStatus;
use serde::Deserialize;

use super::super::moment::Moment;
use super::super::text::{count, duration, or_none};
use super::page::{Bar, Class, Row, SPAN, area, chart, page, table};

/// The most rows that are drawn. A page says how many more there are.
const MOST_ROWS: usize = 256;
/// The most tasks that a table lists.
const MOST_LISTED: usize = 50;

/// The fields of a record that a trace needs; times are seconds since 1970.
#[derive(Deserialize)]
struct Record {
    record: String,
    index: Option<u64>,
    id: Option<String>,
    job: Option<u32>,
    exit_code: Option<u8>,
    #[serde(default)]
    ending: String,
    queued: Option<f64>,
    started: Option<f64>,
    ended: Option<f64>,
    at: Option<f64>,
    node: Option<String>,
}

/// A task, as far as its records have told of it. Times are microseconds since 1970.
#[derive(Debug, Default)]
struct Task {
    id: Option<String>,
    job: Option<u32>,
    queued_us: Option<u64>,
    started_us: Option<u64>,
    ended_us: Option<u64>,
    node: String,
    exit_code: Option<u8>,
    ending: String,
}

/// The tasks of a batch, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: BTreeMap<u64, Task>,
    /// Lines that are no records.
    unread: u64,
}

impl Tasks {
    /// Takes lines of records.
    pub(super) fn take(&mut self, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Record>(line) {
                Ok(record) => self.take_record(record),
                Err(_) => self.unread += 1,
            }
        }
    }

    fn take_record(&mut self, record: Record) {
        let Some(index) = record.index else { return };
        let micros = |seconds: f64| (seconds * 1e6).max(0.0) as u64;
        let task = self.tasks.entry(index).or_default();
        task.id = record.id.or(task.id.take());
        task.job = record.job.or(task.job);
        match record.record.as_str() {
            // A task that is tried again waits again.
            "submitted" => {
                *task = Task { queued_us: record.at.map(micros), id: task.id.take(), job: task.job, ..Task::default() }
            }
            "started" => task.started_us = record.at.map(micros),
            "ended" => {
                task.queued_us = record.queued.map(micros).or(task.queued_us);
                task.started_us = record.started.map(micros);
                task.ended_us = record.ended.map(micros);
                task.node = record.node.unwrap_or_default();
                (task.exit_code, task.ending) = (record.exit_code, record.ending);
            }
            _ => {}
        }
    }

    /// The page of a batch, at this moment.
    pub(super) fn page(&self, status: &BatchStatus, moment: &Moment) -> String {
        let now_us = u64::try_from(moment.asked.as_micros()).unwrap_or(u64::MAX);
        let drawn = Drawn::of(self, status.exit_code.is_none().then_some(now_us));
        let mut parts = vec![
            ("Tasks that run", area("tasks that run", Class::Runs, &drawn.running, drawn.whole_us, 90)),
            ("Tasks that wait", area("tasks that wait", Class::Waits, &drawn.waiting, drawn.whole_us, 60)),
        ];
        let row = if drawn.rows.len() > 64 { 6 } else { 14 };
        let mut lanes = chart("tasks by node", &drawn.rows, drawn.whole_us, row);
        if drawn.rows_left > 0 {
            lanes += &format!("<p>{} not drawn.</p>\n", count(drawn.rows_left as u64, "more row is", "more rows are"));
        }
        parts.push(("Where they ran: a row for each that ran at the same time on a node", lanes));
        let failed = self.failed();
        if !failed.is_empty() {
            parts.push(("Tasks that did not end well", failed));
        }
        page(&format!("Batch {} of {}", status.batch, moment.dvm), &self.facts(status, &drawn), &parts)
    }

    fn facts(&self, status: &BatchStatus, drawn: &Drawn) -> Vec<(&'static str, String)> {
        let counts = status.counts;
        let rate = counts.ended as f64 / (drawn.whole_us.max(1) as f64 / 1e6);
        let state = status.exit_code.map_or_else(|| "runs".to_owned(), |code| format!("over, exit code {code}"));
        let times = |from: fn(&Task) -> Option<u64>, to: fn(&Task) -> Option<u64>| {
            let mut all: Vec<u64> =
                self.tasks.values().filter_map(|task| Some(to(task)?.saturating_sub(from(task)?))).collect();
            all.sort_unstable();
            // The records have milliseconds.
            let shown = |us: u64| if us == 0 { "under 1 ms".to_owned() } else { duration(us) };
            let part = |percent: usize| shown(all[(all.len() - 1) * percent / 100]);
            if all.is_empty() { "-".to_owned() } else { format!("{}, {}, {}", part(50), part(99), part(100)) }
        };
        let mut facts = vec![
            ("List", status.name.clone()),
            ("State", state),
            ("Tasks", format!("{}; {} ended, {} of them not well", counts.tasks, counts.ended, counts.failed)),
            ("Time", format!("{}; {rate:.1} tasks a second", duration(drawn.whole_us))),
            ("Waited (median, 99 %, most)", times(|task| task.queued_us, |task| task.started_us)),
            ("Ran (median, 99 %, most)", times(|task| task.started_us, |task| task.ended_us)),
            ("Records", status.results.clone()),
        ];
        if self.unread > 0 {
            facts.push(("Not read", count(self.unread, "line that is no record", "lines that are no records")));
        }
        facts
    }

    /// The first tasks that have not ended well, as a table; empty without one.
    fn failed(&self) -> String {
        let bad: Vec<(&u64, &Task)> =
            self.tasks.iter().filter(|(_, task)| !task.ending.is_empty() && class(task) == Class::Failed).collect();
        if bad.is_empty() {
            return String::new();
        }
        let cells = |(index, task): &(&u64, &Task)| {
            let id = task.id.clone();
            vec![
                index.to_string(),
                or_none(id),
                or_none(task.job),
                task.ending.clone(),
                or_none(task.exit_code),
                task.node.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = bad.iter().take(MOST_LISTED).map(cells).collect();
        let more = (bad.len() - rows.len()) as u64;
        let more =
            if more > 0 { format!("<p>{}.</p>\n", count(more, "more task", "more tasks")) } else { String::new() };
        table(&["Task", "Id", "Job", "Ending", "Exit code", "Node"], &rows) + &more
    }
}

fn class(task: &Task) -> Class {
    match (task.ended_us, task.ending.as_str()) {
        (None, "") => Class::Runs,
        (_, "done") => Class::Done,
        _ => Class::Failed,
    }
}

/// The drawing of a batch. Its times begin with the first task's submission.
struct Drawn {
    whole_us: u64,
    /// A number for each pixel.
    running: Vec<u64>,
    waiting: Vec<u64>,
    rows: Vec<Row>,
    rows_left: usize,
}

impl Drawn {
    /// Lays out the tasks; open ones run until now.
    fn of(tasks: &Tasks, now_us: Option<u64>) -> Drawn {
        let all = || tasks.tasks.values();
        let times = |task: &Task| [task.queued_us, task.started_us, task.ended_us];
        let first_us = all().flat_map(times).flatten().min().unwrap_or(0);
        let last_us = all().flat_map(times).flatten().chain(now_us).max().unwrap_or(0).max(first_us);
        let whole_us = (last_us - first_us).max(1);
        let until = |end: Option<u64>| end.unwrap_or(last_us);
        let running = all().filter_map(|task| Some((task.started_us?, until(task.ended_us))));
        // A task that was taken back before it began has no time at which it stopped waiting.
        let waiting = all().filter(|task| task.started_us.is_some() || task.ending.is_empty());
        let waiting = waiting.filter_map(|task| Some((task.queued_us?, until(task.started_us))));
        let spans = |spans: &mut dyn Iterator<Item = (u64, u64)>| {
            numbers(spans.map(|(from, to)| (from - first_us, to - first_us)), whole_us)
        };
        let mut rows = rows(tasks, first_us, last_us);
        let rows_left = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        Drawn { whole_us, running: spans(&mut { running }), waiting: spans(&mut { waiting }), rows, rows_left }
    }
}

/// The most that were open at a time, for each pixel.
fn numbers(spans: impl Iterator<Item = (u64, u64)>, whole_us: u64) -> Vec<u64> {
    let mut changes: Vec<(u64, i64)> = spans.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    // An end comes before a beginning of the same time: its slot may be the same one.
    changes.sort_unstable();
    let mut most = vec![0; SPAN];
    let (mut open, mut changes) = (0_i64, changes.into_iter().peekable());
    for (pixel, most) in most.iter_mut().enumerate() {
        let end = (pixel as u64 + 1).saturating_mul(whole_us) / SPAN as u64;
        let is_last = pixel + 1 == SPAN;
        *most = open;
        while let Some((_, by)) = changes.next_if(|(at, _)| *at < end || is_last) {
            open += by;
            *most = (*most).max(open);
        }
    }
    most.into_iter().map(|most| u64::try_from(most).unwrap_or(0)).collect()
}

/// The rows of each node: a task is in the first row that is free at its start.
fn rows(tasks: &Tasks, first_us: u64, last_us: u64) -> Vec<Row> {
    let mut of_node: BTreeMap<&str, Vec<Span<'_>>> = BTreeMap::new();
    for (index, task) in &tasks.tasks {
        if let Some(start) = task.started_us {
            let end = task.ended_us.unwrap_or(last_us).max(start);
            let span = Span { from_us: start - first_us, to_us: end - first_us, index: *index, task, count: 1 };
            of_node.entry(&task.node).or_default().push(span);
        }
    }
    let whole_us = (last_us - first_us).max(1);
    let mut rows = Vec::new();
    for (node, mut spans) in of_node {
        spans.sort_unstable_by_key(|span| (span.from_us, span.to_us, span.index));
        let mut lanes: Vec<Vec<Span<'_>>> = Vec::new();
        let (mut free, mut busy) = (BTreeSet::new(), BinaryHeap::new());
        for span in spans {
            while busy.peek().is_some_and(|Reverse((end, _))| *end <= span.from_us) {
                free.extend(busy.pop().map(|Reverse((_, lane))| lane));
            }
            let lane = free.pop_first().unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            busy.push(Reverse((span.to_us, lane)));
            add(&mut lanes[lane], span, whole_us);
        }
        let name = if node.is_empty() { "not known yet" } else { node };
        rows.extend(lanes.iter().enumerate().map(|(lane, spans)| Row {
            name: if lane == 0 { name.to_owned() } else { String::new() },
            bars: spans.iter().map(Span::bar).collect(),
        }));
    }
    rows
}

/// A task, or several short ones, in a row. Times are microseconds since the first submission.
struct Span<'a> {
    from_us: u64,
    to_us: u64,
    /// The first task.
    index: u64,
    task: &'a Task,
    count: u64,
}

impl Span<'_> {
    fn bar(&self) -> Bar {
        let Span { from_us, to_us, index, task, count } = *self;
        let length = duration(to_us - from_us);
        let title = match (count, &task.id) {
            (1, Some(id)) => format!("task {index} ({id}), {length}"),
            (1, None) => format!("task {index}, {length}"),
            _ => format!("{count} tasks, the first is {index}"),
        };
        Bar { from_us, to_us, class: class(task), title }
    }
}

/// Adds a task to its row. Tasks of one class within a pixel are one bar, so that a page of 100,000 tasks stays small.
fn add<'a>(row: &mut Vec<Span<'a>>, span: Span<'a>, whole_us: u64) {
    let pixel = |at_us: u64| u128::from(at_us) * SPAN as u128 / u128::from(whole_us);
    match row.last_mut() {
        Some(last) if class(last.task) == class(span.task) && pixel(last.from_us) == pixel(span.to_us) => {
            last.to_us = span.to_us;
            last.count += 1;
        }
        _ => row.push(span),
    }
}

#[cfg(test)]
mod tests {
    use ferrite_wire::control::{BatchCounts, BatchId};

    use super::*;
    use crate::pdvm::samples;

    fn ended(index: u64, queued: f64, started: f64, ended: f64, ending: &str) -> String {
        format!(
            "{{\"record\":\"ended\",\"index\":{index},\"id\":null,\"job\":{index},\"exit_code\":0,\"ending\":\"{ending}\",\
             \"queued\":{queued},\"started\":{started},\"ended\":{ended},\"node\":\"n{}\"}}\n",
            index % 2
        )
    }

    fn batch() -> BatchStatus {
        BatchStatus {
            batch: BatchId(2),
            name: "fit.jsonl".to_owned(),
            counts: BatchCounts { tasks: 5, ended: 4, failed: 1, open: 1, bytes: 900 },
            results: "/tmp/results".to_owned(),
            began_us: 100_000_000,
            ended_us: None,
            exit_code: None,
            restarts: 0,
        }
    }

    #[test]
    fn a_batch_that_runs() {
        let at = samples::moment().asked.as_secs_f64().floor() - 10.0;
        let mut tasks = Tasks::default();
        for (index, ending) in [(0, "done"), (1, "failed"), (2, "done"), (3, "done")] {
            let start = at + index as f64;
            tasks.take(ended(index, at, start, start + 2.5, ending).as_bytes());
        }
        tasks.take(
            format!("{{\"record\":\"submitted\",\"index\":4,\"id\":\"x<y\",\"job\":9,\"at\":{at}}}\n").as_bytes(),
        );
        tasks.take(
            format!("{{\"record\":\"started\",\"index\":4,\"job\":9,\"at\":{}}}\nno record\n", at + 6.0).as_bytes(),
        );
        insta::assert_snapshot!(tasks.page(&batch(), &samples::moment()));
    }

    #[test]
    fn short_tasks_of_one_row_are_few_bars() {
        let mut tasks = Tasks::default();
        for index in 0..20_000 {
            let start = 1e9 + index as f64 / 1e3;
            tasks.take(ended(index * 2, 1e9, start, start + 0.001, "done").as_bytes());
        }
        let drawn = Drawn::of(&tasks, None);
        assert_eq!((drawn.rows.len(), drawn.whole_us), (1, 20_000_000));
        assert!(drawn.rows[0].bars.len() <= 2 * SPAN, "{}", drawn.rows[0].bars.len());
        assert_eq!((drawn.running[SPAN / 2], drawn.running.iter().max()), (1, Some(&1)));
        assert!(drawn.waiting[0] > 19_900 && drawn.waiting[SPAN - 1] < 100, "{:?}", drawn.waiting);
    }

    #[test]
    fn a_batch_without_records_has_a_page() {
        let page = Tasks::default().page(&batch(), &samples::moment());
        assert!(page.contains("<svg") && page.ends_with("</html>\n"), "{page}");
    }
}
