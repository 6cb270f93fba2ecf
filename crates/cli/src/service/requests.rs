//! The lines that the service reads: an object with `schema`, `kind`, perhaps `id`, and the fields of its kind. Pure.
//! A field that a kind does not have is an error: what would be ignored may have been meant.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ferrite_types::{AllocId, AllocReqId, JobId, Signal};
use ferrite_wire::JobResize;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::batch::line::Id;
use crate::pdvm::grow::for_offer;
use crate::pdvm::json::SCHEMA;
use crate::pdvm::options::{GrowOptions, ShrinkOptions};
use crate::pdvm::signal::parse_signal;
use crate::pdvm::size::parse_size;

/// A request.
#[derive(Debug)]
pub(crate) enum Ask {
    Submit(Submit),
    Follow(Follow),
    Wait(Wait),
    Cancel {
        which: Which,
        /// All jobs that descend from it end too.
        tree: bool,
    },
    Signal(Which, Signal),
    /// Standard input for a task, and whether it is the last.
    Feed(Which, Bytes, bool),
    Job(Which),
    Status,
    Nodes,
    Jobs,
    Metrics,
    Sessions,
    Grow(Grow),
    Shrink(Shrink),
    Resize(Which, JobResize),
    Terminate,
    /// The client says no more.
    Close,
}

/// The names of all kinds.
const KINDS: &str = "submit, follow, wait, cancel, signal, feed, job, status, nodes, jobs, metrics, sessions, grow, shrink, resize, terminate, close";

/// `submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Submit {
    pub(crate) tasks: Vec<Task>,
}

/// A task of `submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) task: Option<String>,
    pub(crate) argv: Option<Vec<String>>,
    pub(crate) cmd: Option<String>,
    pub(crate) np: Option<u32>,
    pub(crate) host: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<String>,
    pub(crate) timeout: Option<u32>,
    pub(crate) priority: Option<i64>,
    /// The jobs that have to end well before it begins: their numbers, or names of tasks.
    #[serde(default)]
    pub(crate) after: Vec<Id>,
    /// The jobs that have to end, with any code.
    #[serde(default)]
    pub(crate) after_any: Vec<Id>,
    #[serde(default)]
    pub(crate) options: Vec<String>,
    pub(crate) stdin: Option<String>,
    /// `feed` gives more standard input, and its end.
    #[serde(default)]
    pub(crate) feed: bool,
    #[serde(default)]
    pub(crate) detach: bool,
}

/// `follow`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Follow {
    #[serde(default)]
    pub(crate) of: Followed,
}

/// The events that a client follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Followed {
    /// Nothing but the output and the ends of its own tasks, which it always hears of.
    None,
    /// Its own tasks.
    #[default]
    Own,
    /// Its own tasks, and each step of the DVM.
    All,
}

/// `wait`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wait {
    pub(crate) jobs: Vec<u32>,
    pub(crate) tasks: Vec<String>,
}

/// `cancel`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancelled {
    job: Option<u32>,
    task: Option<String>,
    #[serde(default)]
    tree: bool,
}

/// `job`, and the job of `signal`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    job: Option<u32>,
    task: Option<String>,
}

/// `signal`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signalled {
    job: Option<u32>,
    task: Option<String>,
    signal: Id,
}

/// `feed`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fed {
    job: Option<u32>,
    task: Option<String>,
    #[serde(default)]
    data: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default)]
    end: bool,
}

/// The encoding of bytes as a text.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    Base64,
}

/// A job, by its number or by the name of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Job(JobId),
    Task(String),
}

/// `grow`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Grow {
    hosts: Vec<String>,
    activate: Vec<String>,
    nodes: Option<u32>,
    queue: Option<String>,
    rm_job: Option<String>,
    allocation: Option<String>,
    request: Option<String>,
    reserve: bool,
    time_limit_s: Option<u32>,
    warn_s: Option<u32>,
    wait: bool,
}

/// `shrink`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Shrink {
    hosts: Vec<String>,
    nodes: Option<u32>,
    allocation: Option<String>,
    request: Option<String>,
    grace: Option<u32>,
    force: bool,
    wait: bool,
}

/// `resize`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resized {
    job: Option<u32>,
    task: Option<String>,
    size: String,
    grace: Option<u32>,
    #[serde(default)]
    hosts: Vec<String>,
    nodes: Option<u32>,
    queue: Option<String>,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    wait: bool,
}

/// Kinds without fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Parses a line; returns the client's number for the request, as far as it can be read, and the request or what is
/// wrong with it.
pub(crate) fn parse(line: &str) -> (Option<Id>, Result<Ask, String>) {
    let mut object: Map<String, Value> = match serde_json::from_str(line) {
        Ok(object) => object,
        Err(error) => return (None, Err(format!("the line is no JSON object: {error}"))),
    };
    match object.remove("id").filter(|id| !id.is_null()).map(serde_json::from_value).transpose() {
        Ok(id) => (id, of_object(object)),
        Err(error) => (None, Err(format!("id: {error}"))),
    }
}

fn of_object(mut object: Map<String, Value>) -> Result<Ask, String> {
    match object.remove("schema") {
        Some(Value::Number(schema)) if schema.as_u64() == Some(SCHEMA.into()) => {}
        Some(other) => return Err(format!("schema: this DVM speaks version {SCHEMA}, and not {other}")),
        None => return Err(format!("schema is missing: this DVM speaks version {SCHEMA}")),
    }
    let kind = match object.remove("kind") {
        Some(Value::String(kind)) => kind,
        _ => return Err(format!("kind is missing; it is one of {KINDS}")),
    };
    let nothing = |ask: Ask, object| fields::<Nothing>(object).map(|_| ask);
    match kind.as_str() {
        "submit" => fields(object).map(Ask::Submit),
        "follow" => fields(object).map(Ask::Follow),
        "wait" => fields(object).map(Ask::Wait),
        "cancel" => fields(object).and_then(cancelled),
        "job" => fields(object).and_then(one).map(Ask::Job),
        "signal" => fields(object).and_then(signalled),
        "feed" => fields(object).and_then(fed),
        "status" => nothing(Ask::Status, object),
        "nodes" => nothing(Ask::Nodes, object),
        "jobs" => nothing(Ask::Jobs, object),
        "metrics" => nothing(Ask::Metrics, object),
        "sessions" => nothing(Ask::Sessions, object),
        "grow" => fields(object).map(Ask::Grow),
        "shrink" => fields(object).map(Ask::Shrink),
        "resize" => fields(object).and_then(resized),
        "terminate" => nothing(Ask::Terminate, object),
        "close" => nothing(Ask::Close, object),
        other => Err(format!("{other:?} is no kind of request; it is one of {KINDS}")),
    }
}

fn fields<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(object)).map_err(|error| error.to_string())
}

fn one(one: One) -> Result<Which, String> {
    match one {
        One { job: Some(job), task: None } => Ok(Which::Job(JobId(job))),
        One { job: None, task: Some(task) } => Ok(Which::Task(task)),
        One { .. } => Err("give one of job and task".to_owned()),
    }
}

fn cancelled(asked: Cancelled) -> Result<Ask, String> {
    let Cancelled { job, task, tree } = asked;
    one(One { job, task }).map(|which| Ask::Cancel { which, tree })
}

/// The job is found later.
fn resized(asked: Resized) -> Result<Ask, String> {
    let Resized { job, task, size, grace, hosts, nodes, queue, force, wait } = asked;
    let size = parse_size(&size).map_err(|why| format!("size: {why}"))?;
    if queue.is_some() && nodes.is_none() {
        return Err("queue: give nodes as well, the number of nodes from there".to_owned());
    }
    let nodes = for_offer(&hosts, nodes, queue).map_err(|failure| format!("hosts: {failure}"))?;
    let resize = JobResize { job: JobId(0), size, time_s: grace, force, wait, nodes };
    one(One { job, task }).map(|which| Ask::Resize(which, resize))
}

fn signalled(asked: Signalled) -> Result<Ask, String> {
    let Signalled { job, task, signal } = asked;
    let text = match signal {
        Id::Text(text) => text,
        Id::Number(number) => number.to_string(),
    };
    let signal = parse_signal(&text).map_err(|why| format!("signal: {text:?} is {why}"))?;
    one(One { job, task }).map(|which| Ask::Signal(which, signal))
}

fn fed(asked: Fed) -> Result<Ask, String> {
    let Fed { job, task, data, encoding, end } = asked;
    let data = match encoding {
        Encoding::Utf8 => Bytes::from(data),
        Encoding::Base64 => STANDARD.decode(data).map_err(|error| format!("data: {error}"))?.into(),
    };
    if data.is_empty() && !end {
        return Err("give data, or end".to_owned());
    }
    one(One { job, task }).map(|which| Ask::Feed(which, data, end))
}

impl Grow {
    /// The request as options of `pdvm grow`.
    ///
    /// # Errors
    /// A file, which the service does not read.
    pub(crate) fn into_options(self) -> Result<GrowOptions, String> {
        let Grow {
            hosts,
            activate,
            nodes,
            queue,
            rm_job,
            allocation,
            request,
            reserve,
            time_limit_s: time_limit,
            warn_s: warn,
            wait,
        } = self;
        if activate.iter().flat_map(|list| list.split(',')).any(|part| part.trim_start().starts_with("file=")) {
            return Err("activate: the service reads no files; give the names of the nodes".to_owned());
        }
        if [nodes, time_limit, warn].contains(&Some(0)) {
            return Err("nodes, time_limit_s and warn_s are 1 or more, or left out".to_owned());
        }
        Ok(GrowOptions {
            host: hosts,
            hostfile: None,
            activate,
            nodes,
            queue,
            rm_job,
            alloc_id: named(allocation)?.map(AllocId::from),
            req_id: named(request)?.map(AllocReqId::from),
            reserve,
            time_limit,
            warn,
            inherit: None,
            separate: false,
            push: false,
            wait,
        })
    }
}

impl Shrink {
    /// The same as options of `pdvm shrink`.
    ///
    /// # Errors
    /// A value that means nothing.
    pub(crate) fn into_options(self) -> Result<ShrinkOptions, String> {
        let Shrink { hosts, nodes, allocation, request, grace, force, wait } = self;
        if nodes == Some(0) {
            return Err("nodes is 1 or more, or left out".to_owned());
        }
        Ok(ShrinkOptions {
            host: hosts,
            nodes,
            alloc_id: named(allocation)?.map(AllocId::from),
            req_id: named(request)?.map(AllocReqId::from),
            push: false,
            grace,
            force,
            wait,
        })
    }
}

fn named(name: Option<String>) -> Result<Option<String>, String> {
    match name {
        Some(name) if name.is_empty() => Err("allocation and request are names, or left out".to_owned()),
        name => Ok(name),
    }
}
