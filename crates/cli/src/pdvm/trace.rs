//! `pdvm trace`: shows how long a job was in each state, as a table, as JSON, as a page of HTML, or as a trace for
//! Perfetto and chrome://tracing; and the tasks of a batch over time, as a page of HTML.

mod batch;
mod page;

use std::path::Path;

use ferrite_types::JobState;
use ferrite_wire::control::{BatchId, JobDetail, SizeStep};
use serde::Serialize;

use super::batch::records;
use super::dvm::Dvm;
use super::failure::Failure;
use super::json;
use super::moment::Moment;
use super::options::{JobName, TraceOptions};
use super::put;
use super::text::{NONE, Side, Table, bar, duration, or_none, plain};
use batch::Tasks;
use page::{Bar, Class, Row};

/// Width of the bar for the time from the first state to the last (characters).
const BAR_WIDTH: usize = 40;

/// Height of a row in the chart of a job (pixels).
const ROW: usize = 22;

pub(super) fn answer(dvm: Dvm, how: &TraceOptions, json: bool) -> Result<(), Failure> {
    match (&how.job, how.batch, &how.html) {
        (Some(job), ..) => of_job(dvm, job, how, json),
        (None, Some(batch), Some(path)) => of_batch(dvm, batch, path),
        (None, ..) => unreachable!("the parser asks for a job, or for a batch and a file"),
    }
}

fn of_job(mut dvm: Dvm, job: &JobName, how: &TraceOptions, json: bool) -> Result<(), Failure> {
    let id = dvm.number_of(job)?;
    let (_, moment) = dvm.status()?;
    let detail = dvm.job(id)?;
    match (&how.chrome, &how.html) {
        (Some(path), _) => write(path, &chrome(&detail, &moment)),
        (None, Some(path)) => write(path, &html(&detail, &moment)),
        (None, None) if json => put(&to_json(&detail, &moment)),
        (None, None) => put(&render(&detail, &moment)),
    }
}

fn of_batch(mut dvm: Dvm, batch: BatchId, path: &Path) -> Result<(), Failure> {
    let (_, moment) = dvm.status()?;
    let status = dvm.batches()?.into_iter().find(|status| status.batch == batch);
    let none = || Failure::Refused(format!("There is no batch {batch}; `pdvm batch list` lists them."));
    let status = status.ok_or_else(none)?;
    let mut tasks = Tasks::default();
    records(dvm, batch, false, |lines| {
        tasks.take(lines);
        Ok(true)
    })?;
    write(path, &tasks.page(&status, &moment))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return put(text);
    }
    std::fs::write(path, text).map_err(|cause| Failure::File { path: path.to_owned(), cause })
}

/// A time in a state (microseconds).
struct Span {
    state: JobState,
    at_us: u64,
    /// `None` for the last state of a job that is over.
    length_us: Option<u64>,
}

fn spans(detail: &JobDetail, moment: &Moment) -> Vec<Span> {
    let open_end = detail.status.ended_us.is_none().then_some(moment.dvm_us);
    let ends = detail.states.iter().skip(1).map(|(_, at)| Some(*at)).chain([open_end]);
    let span = |((state, at_us), end): (&(JobState, u64), Option<u64>)| Span {
        state: *state,
        at_us: *at_us,
        length_us: end.map(|end| end.saturating_sub(*at_us)),
    };
    detail.states.iter().zip(ends).map(span).collect()
}

fn render(detail: &JobDetail, moment: &Moment) -> String {
    let spans = spans(detail, moment);
    let began = spans.first().map_or(0, |span| span.at_us);
    let whole = spans.last().map_or(0, |span| span.at_us + span.length_us.unwrap_or(0) - began);
    let columns = [("STATE", Side::Left), ("AFTER", Side::Right), ("FOR", Side::Right), ("", Side::Left)];
    let mut table = Table::new(&columns);
    for span in &spans {
        let after = span.at_us - began;
        let length = span.length_us.map_or_else(|| NONE.to_owned(), duration);
        // Most states take no time; they get no bar, so that the others stand out.
        let bar = span.length_us.filter(|us| *us > 0).map(|us| bar(after, us, whole, BAR_WIDTH)).unwrap_or_default();
        table.row(vec![span.state.to_string(), duration(after), length, bar]);
    }
    let (rows, empty) = if spans.is_empty() { (String::new(), ": it has no states yet") } else { (table.render(), "") };
    let goes_on = if detail.status.ended_us.is_none() { ", and it goes on" } else { "" };
    let job = &detail.status;
    let changes = changes(detail, began);
    format!("Job {} ({}): {}{goes_on}{empty}\n{rows}{changes}", job.job, plain(&job.name), duration(whole))
}

/// A page with the states of a job over time, and the changes of its size.
fn html(detail: &JobDetail, moment: &Moment) -> String {
    let spans = spans(detail, moment);
    let began = spans.first().map_or(0, |span| span.at_us);
    let job = &detail.status;
    let changes = &detail.record.changes;
    // A job whose first world is over lives in the worlds that it has spawned.
    let ends = changes.iter().map(|step| step.ended_us.unwrap_or(moment.dvm_us));
    let last = spans.iter().map(|span| span.at_us + span.length_us.unwrap_or(0)).chain(ends).max().unwrap_or(began);
    let bar = |from: u64, length: u64, class: Class, title: String| {
        let from_us = from.saturating_sub(began);
        Bar { from_us, to_us: from_us + length, class, title }
    };
    let state = |span: &Span| {
        let length = span.length_us.unwrap_or(0);
        let class = match span.state {
            JobState::Running | JobState::Registered => Class::Runs,
            state if state.is_error() => Class::Failed,
            _ => Class::Waits,
        };
        let title = format!("{} after {}, for {}", span.state, duration(span.at_us - began), duration(length));
        Row { name: span.state.to_string(), bars: vec![bar(span.at_us, length, class, title)] }
    };
    let whole = last.saturating_sub(began);
    let states: Vec<Row> = spans.iter().map(state).collect();
    let mut parts = vec![("States", page::chart("states of the job", &states, whole, ROW))];
    if !changes.is_empty() {
        let sizes = page::area("processes of the job", Class::Runs, &sizes(detail, began, whole), whole, 90);
        parts.push(("Processes", sizes));
        let rows: Vec<Vec<String>> = changes.iter().map(|step| change(step, began)).collect();
        parts.push(("Changes of its size", page::table(&["Change", "After", "For", "End"], &rows)));
    }
    let goes_on = if job.ended_us.is_none() { ", and it goes on" } else { "" };
    let mut facts = vec![
        ("Command", job.command.clone()),
        ("Submitted", moment.local(job.submitted_us)),
        ("Time", format!("{}{goes_on}", duration(whole))),
        ("Processes", format!("{} on {} nodes", job.procs, job.nodes)),
        ("Exit code", or_none(job.exit_code)),
    ];
    if !detail.cause.is_empty() {
        facts.push(("Cause", detail.cause.clone()));
    }
    page::page(&format!("Job {} of {}: {}", job.job, moment.dvm, job.name), &facts, &parts)
}

/// The processes of an elastic job over time, for each pixel of a chart.
fn sizes(detail: &JobDetail, began: u64, whole: u64) -> Vec<u64> {
    let mut steps = detail.record.changes.iter().filter_map(|step| Some((step.ended_us?, step))).peekable();
    // Before the first change that is known, it had what is left without it.
    let mut size = steps.peek().map_or(detail.status.procs, |(_, step)| match step.is_offer {
        true => step.size.saturating_sub(step.done),
        false => step.size + step.done,
    });
    let end = detail.status.ended_us.unwrap_or(u64::MAX);
    let at = |pixel: usize| began + (pixel as u64 + 1).saturating_mul(whole) / page::SPAN as u64;
    let size_at = |pixel| {
        while let Some((_, step)) = steps.next_if(|(ended, _)| *ended <= at(pixel)) {
            size = step.size;
        }
        if at(pixel) > end { 0 } else { size.into() }
    };
    (0..page::SPAN).map(size_at).collect()
}

/// The cells of a change of size.
fn change(step: &SizeStep, began: u64) -> Vec<String> {
    let length = step.ended_us.map(|end| duration(end.saturating_sub(step.begun_us)));
    let after = duration(step.begun_us.saturating_sub(began));
    vec![signed(step), after, length.unwrap_or_else(|| NONE.to_owned()), end_of(step)]
}

/// A change with its sign: `+4`.
fn signed(step: &SizeStep) -> String {
    format!("{}{}", if step.is_offer { '+' } else { '-' }, step.procs)
}

fn end_of(step: &SizeStep) -> String {
    match (step.ended_us, step.cause.as_str()) {
        (None, _) => "under way".to_owned(),
        (Some(_), "") => format!("{} of {}, now {}", step.done, step.procs, step.size),
        (Some(_), cause) => plain(cause),
    }
}

/// The changes of the size of an elastic job, as a table of its own.
fn changes(detail: &JobDetail, began: u64) -> String {
    let steps = &detail.record.changes;
    if steps.is_empty() {
        return String::new();
    }
    let columns = [("CHANGE", Side::Right), ("AFTER", Side::Right), ("FOR", Side::Right), ("END", Side::Left)];
    let mut table = Table::new(&columns);
    steps.iter().for_each(|step| table.row(change(step, began)));
    format!("\n{}", table.render())
}

fn to_json(detail: &JobDetail, moment: &Moment) -> String {
    let span = |span: Span| json::Span {
        state: span.state.name(),
        at_s: json::seconds(span.at_us),
        duration_s: span.length_us.map(json::seconds),
    };
    let body = json::Trace {
        job: detail.status.job.0,
        name: detail.status.name.clone(),
        over: detail.status.ended_us.is_some(),
        spans: spans(detail, moment).into_iter().map(span).collect(),
        changes: detail.record.changes.iter().map(size_span).collect(),
    };
    json::document("trace", moment, body)
}

fn size_span(step: &SizeStep) -> json::SizeSpan {
    json::SizeSpan {
        change: if step.is_offer { "more" } else { "fewer" },
        processes: step.procs,
        at_s: json::seconds(step.begun_us),
        duration_s: step.ended_us.map(|end| json::seconds(end.saturating_sub(step.begun_us))),
        done: step.done,
        size: step.size,
        cause: Some(step.cause.clone()).filter(|cause| !cause.is_empty()),
    }
}

/// The trace event format: the DVM is the process, the job its thread.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Chrome<'a> {
    display_time_unit: &'static str,
    trace_events: Vec<ChromeEvent<'a>>,
}

/// An event of the format; its times are microseconds.
#[derive(Serialize)]
struct ChromeEvent<'a> {
    name: &'static str,
    ph: &'static str,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    /// The scope of an instant event: `t` draws it on its thread only.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<ChromeName<'a>>,
}

#[derive(Serialize)]
struct ChromeName<'a> {
    name: &'a str,
}

fn chrome(detail: &JobDetail, moment: &Moment) -> String {
    let job = &detail.status;
    let event = |name, ph| ChromeEvent { name, ph, pid: 1, tid: job.job.0, ts: None, dur: None, s: None, args: None };
    let title = format!("job {}: {}", job.job, job.name);
    let names = [("process_name", moment.dvm.as_str()), ("thread_name", title.as_str())];
    let names = names.map(|(kind, name)| ChromeEvent { args: Some(ChromeName { name }), ..event(kind, "M") });
    let step = |span: Span| match span.length_us {
        Some(length) => ChromeEvent { ts: Some(span.at_us), dur: Some(length), ..event(span.state.name(), "X") },
        None => ChromeEvent { ts: Some(span.at_us), s: Some("t"), ..event(span.state.name(), "i") },
    };
    // The changes of its size are shown as a second process, because they may last longer than the job's first world.
    let change = |step: &SizeStep| {
        let name = if step.is_offer { "more processes" } else { "fewer processes" };
        let end = step.ended_us.unwrap_or(moment.dvm_us);
        let (ts, dur) = (Some(step.begun_us), Some(end.saturating_sub(step.begun_us)));
        ChromeEvent { ts, dur, pid: 2, ..event(name, "X") }
    };
    let states = spans(detail, moment).into_iter().map(step);
    let changes = detail.record.changes.iter().map(change);
    let title = Some(ChromeName { name: "changes of size" }).filter(|_| !detail.record.changes.is_empty());
    let title = title.map(|name| ChromeEvent { args: Some(name), pid: 2, ..event("process_name", "M") });
    let trace_events = names.into_iter().chain(states).chain(title).chain(changes).collect();
    json::foreign(&Chrome { display_time_unit: "ms", trace_events })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn a_job_that_runs_is_in_its_last_state_until_now() {
        insta::assert_snapshot!(render(&samples::detail(), &samples::moment()));
        insta::assert_snapshot!(to_json(&samples::detail(), &samples::moment()));
        insta::assert_snapshot!(chrome(&samples::detail(), &samples::moment()));
        insta::assert_snapshot!(html(&samples::detail(), &samples::moment()));
    }

    #[test]
    fn the_last_state_of_a_job_that_is_over_has_no_length() {
        insta::assert_snapshot!(render(&samples::failed(), &samples::moment()));
        insta::assert_snapshot!(to_json(&samples::failed(), &samples::moment()));
        insta::assert_snapshot!(chrome(&samples::failed(), &samples::moment()));
        insta::assert_snapshot!(html(&samples::failed(), &samples::moment()));
    }

    #[test]
    fn a_job_without_states_has_an_empty_trace() {
        let detail = JobDetail { states: Vec::new(), ..samples::failed() };
        assert!(render(&detail, &samples::moment()).contains("it has no states yet\n"));
        assert!(html(&detail, &samples::moment()).ends_with("</html>\n"));
    }
}
