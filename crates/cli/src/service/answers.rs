//! The lines that the service writes, as far as they are not answers of `pdvm` as well. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ferrite_types::JobState;
use ferrite_wire::Stream;
use ferrite_wire::control::JobDetail;
use serde::Serialize;

use crate::batch::line::Id;
use crate::pdvm::json::{Job, ProcessList, SCHEMA};
use crate::pdvm::moment::Moment;

/// A line: the fields that all have, and its content.
#[derive(Serialize)]
struct Line<'a, T> {
    schema: u32,
    kind: &'static str,
    id: Option<&'a Id>,
    #[serde(flatten)]
    body: T,
}

/// Appends a line about a request with this id.
pub(super) fn line(to: &mut Vec<u8>, kind: &'static str, id: Option<&Id>, body: impl Serialize) {
    let line = Line { schema: SCHEMA, kind, id, body };
    serde_json::to_writer(&mut *to, &line).expect("all keys are texts, and nothing here fails to serialize");
    to.push(b'\n');
}

/// `error`: why a request cannot be carried out.
#[derive(Serialize)]
pub(super) struct Error<'a> {
    /// `usage`: the line is wrong; `refused`: the DVM does not do it; `failed`: it has tried and failed.
    pub(super) reason: &'static str,
    pub(super) error: &'a str,
}

/// `following`: the answer to `follow`.
#[derive(Serialize)]
pub(super) struct Following {
    pub(super) of: &'static str,
}

/// `closed`: the answer to `close`, and the last line of the connection.
#[derive(Serialize)]
pub(super) struct Closed {}

/// `submitted`: the answer to `submit`, with an entry for each task in their order.
#[derive(Serialize)]
pub(super) struct Submitted<'a> {
    pub(super) jobs: &'a [Place],
}

/// The result of a task's submission.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Place {
    pub(super) task: Option<String>,
    pub(super) job: Option<u32>,
    pub(super) namespace: Option<String>,
    pub(super) error: Option<String>,
}

/// The task that a line is about.
#[derive(Serialize)]
pub(super) struct Of<'a, T> {
    pub(super) task: Option<&'a str>,
    #[serde(flatten)]
    pub(super) body: T,
}

/// `output`: what processes of a task have written.
#[derive(Serialize)]
pub(super) struct Output<'a> {
    job: Option<u32>,
    stream: &'static str,
    encoding: &'static str,
    data: std::borrow::Cow<'a, str>,
}

impl<'a> Output<'a> {
    /// A piece of output: as text if it is one, else in base64.
    pub(super) fn of(job: Option<u32>, stream: Stream, data: &'a [u8]) -> Output<'a> {
        match std::str::from_utf8(data) {
            Ok(text) => Output { job, stream: stream.name(), encoding: "utf-8", data: text.into() },
            Err(_) => Output { job, stream: stream.name(), encoding: "base64", data: STANDARD.encode(data).into() },
        }
    }
}

/// `notice`: what the DVM says about a task.
#[derive(Serialize)]
pub(super) struct Notice<'a> {
    pub(super) job: Option<u32>,
    pub(super) text: &'a str,
}

/// `waiting` and `started`: a task before and after the start of its last process.
#[derive(Serialize)]
pub(super) struct Step {
    #[serde(flatten)]
    job: Job,
    #[serde(flatten)]
    processes: ProcessList,
}

impl Step {
    pub(super) fn of(detail: &JobDetail, moment: &Moment) -> Step {
        Step { job: Job::of(&detail.status, moment), processes: ProcessList::of(&detail.procs) }
    }
}

/// `ended`, and an entry of `waited`: a job that is over.
#[derive(Debug, Serialize)]
pub(crate) struct Ended {
    #[serde(flatten)]
    job: Job,
    signal: Option<i32>,
    cause: Option<String>,
    lost_ranks: Vec<u32>,
}

impl Ended {
    /// A job that has ended well, of which a status line says everything.
    pub(super) fn well(job: Job) -> Ended {
        Ended { job, signal: None, cause: None, lost_ranks: Vec::new() }
    }

    /// A job of which all is known.
    pub(crate) fn of(detail: &JobDetail, moment: &Moment) -> Ended {
        Ended {
            job: Job::of(&detail.status, moment),
            signal: signal(detail),
            cause: Some(detail.cause.clone()).filter(|cause| !cause.is_empty()),
            lost_ranks: detail.lost_ranks.iter().map(|rank| rank.0).collect(),
        }
    }

    /// A job that the DVM has forgotten, or a DVM that is ending.
    pub(super) fn unexplained(job: Job, cause: String) -> Ended {
        let cause = Some(cause).filter(|cause| !cause.is_empty());
        Ended { job, signal: None, cause, lost_ranks: Vec::new() }
    }
}

/// Returns the signal that has ended the process which failed first.
fn signal(detail: &JobDetail) -> Option<i32> {
    let by_signal =
        detail.states.iter().map(|(state, _)| *state).find(|state| state.is_error()) == Some(JobState::AbortedBySig);
    detail.status.exit_code.filter(|code| by_signal && *code > 128).map(|code| i32::from(code) - 128)
}

/// `ended` of a task that never became a job.
#[derive(Serialize)]
pub(super) struct NeverBegan<'a> {
    pub(super) job: Option<u32>,
    pub(super) exit_code: u8,
    pub(super) cause: &'a str,
}

/// `waited`: the answer to `wait`.
#[derive(Serialize)]
pub(crate) struct Waited<'a> {
    pub(crate) jobs: &'a [Ended],
    pub(crate) unknown: &'a [u32],
}

/// `ordered`: the answer to `cancel`, `signal`, `feed` and `terminate`.
#[derive(Serialize)]
pub(super) struct Ordered {
    pub(super) order: &'static str,
    pub(super) job: Option<u32>,
    pub(super) signal: Option<i32>,
    /// True when the job was over before.
    pub(super) over: bool,
    /// Of `cancel` with `tree`: the jobs that are being ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) jobs: Option<Vec<u32>>,
}
