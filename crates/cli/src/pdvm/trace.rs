//! `pdvm trace`: shows how long a job was in each state, as a table, as JSON, or as a trace for Perfetto and
//! chrome://tracing.

use std::path::Path;

use ferrite_types::JobState;
use ferrite_wire::control::{JobDetail, SizeStep};
use serde::Serialize;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json;
use super::moment::Moment;
use super::options::TraceOptions;
use super::put;
use super::text::{NONE, Side, Table, bar, duration, plain};

/// Width of the bar for the time from the first state to the last (characters).
const BAR_WIDTH: usize = 40;

pub(super) fn answer(dvm: &mut Dvm, how: &TraceOptions, json: bool) -> Result<(), Failure> {
    let id = dvm.number_of(&how.job)?;
    let (_, moment) = dvm.status()?;
    let detail = dvm.job(id)?;
    match &how.chrome {
        Some(path) => write(path, &chrome(&detail, &moment)),
        None if json => put(&to_json(&detail, &moment)),
        None => put(&render(&detail, &moment)),
    }
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

/// The changes of the size of an elastic job, as a table of its own.
fn changes(detail: &JobDetail, began: u64) -> String {
    let steps = &detail.record.changes;
    if steps.is_empty() {
        return String::new();
    }
    let columns = [("CHANGE", Side::Right), ("AFTER", Side::Right), ("FOR", Side::Right), ("END", Side::Left)];
    let mut table = Table::new(&columns);
    for step in steps {
        let length = step.ended_us.map(|end| duration(end.saturating_sub(step.begun_us)));
        let end = match (step.ended_us, step.cause.as_str()) {
            (None, _) => "under way".to_owned(),
            (Some(_), "") => format!("{} of {}, now {}", step.done, step.procs, step.size),
            (Some(_), cause) => plain(cause),
        };
        let sign = if step.is_offer { '+' } else { '-' };
        let after = duration(step.begun_us.saturating_sub(began));
        table.row(vec![format!("{sign}{}", step.procs), after, length.unwrap_or_else(|| NONE.to_owned()), end]);
    }
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
    }

    #[test]
    fn the_last_state_of_a_job_that_is_over_has_no_length() {
        insta::assert_snapshot!(render(&samples::failed(), &samples::moment()));
        insta::assert_snapshot!(to_json(&samples::failed(), &samples::moment()));
        insta::assert_snapshot!(chrome(&samples::failed(), &samples::moment()));
    }

    #[test]
    fn a_job_without_states_has_an_empty_trace() {
        let detail = JobDetail { states: Vec::new(), ..samples::failed() };
        assert!(render(&detail, &samples::moment()).contains("it has no states yet\n"));
    }
}
