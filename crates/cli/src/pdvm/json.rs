//! The JSON of `pdvm`. Its schema does not depend on the control protocol, so that scripts work when the protocol
//! changes. docs/pdvm-json.md describes it. A change that breaks a reader raises [`SCHEMA`]; new fields do not.

use ferrite_types::{AllocId, AllocReqId, CampaignKind, JobState, ProcState, SessionId, Signal, StdinTarget};
use ferrite_wire::control::{
    AppRecord, BatchStatus, CampaignStatus, Ending, JobDetail, JobRecord, JobStatus, NodeStatus, ProcStatus,
    ResourceStatus, SessionChoice, SessionStatus, TreeSize,
};
use serde::Serialize;

use super::event_line::Line;
use super::failure::Failure;
use super::moment::{Moment, iso};

/// Version of the schema.
pub(crate) const SCHEMA: u32 = 1;

/// An answer: the fields that all answers have, and its content.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    kind: &'static str,
    #[serde(flatten)]
    about: About<'a, T>,
}

/// An answer about a moment, with its content.
#[derive(Serialize)]
pub(crate) struct About<'a, T> {
    dvm: &'a str,
    asked_at: String,
    uptime_s: f64,
    #[serde(flatten)]
    body: T,
}

impl<'a, T> About<'a, T> {
    /// Dates an answer.
    pub(crate) fn of(moment: &'a Moment, body: T) -> About<'a, T> {
        About { dvm: &moment.dvm, asked_at: iso(moment.asked), uptime_s: seconds(moment.dvm_us), body }
    }
}

/// Returns an answer as text.
pub(crate) fn document(kind: &'static str, moment: &Moment, body: impl Serialize) -> String {
    let document = Document { schema: SCHEMA, kind, about: About::of(moment, body) };
    written(serde_json::to_string_pretty(&document))
}

/// Returns one line of a stream.
pub(crate) fn line(line: &Line) -> String {
    written(serde_json::to_string(line))
}

/// Returns a value as JSON in another program's schema.
pub(crate) fn foreign(value: &impl Serialize) -> String {
    written(serde_json::to_string(value))
}

fn written(text: Result<String, serde_json::Error>) -> String {
    text.expect("all keys are texts, and nothing here fails to serialize") + "\n"
}

/// Converts microseconds to seconds; exact for the first 285 years of a DVM.
pub(crate) fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// Returns a text, or `None` (`null`) when it is empty.
fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// `kind: "status"`.
#[derive(Serialize)]
pub(crate) struct Status {
    pub(crate) version: String,
    pub(crate) state: Option<&'static str>,
    pub(crate) waiting_for: Option<String>,
    pub(crate) nodes: u32,
    pub(crate) daemons: u32,
    pub(crate) slots: u32,
    pub(crate) slots_in_use: u32,
    pub(crate) jobs_running: u32,
    pub(crate) jobs_queued: u32,
    pub(crate) jobs_held: u32,
    pub(crate) jobs_ended: u64,
    pub(crate) jobs_failed: u64,
    pub(crate) processes_running: u32,
    /// The resources that all nodes share.
    pub(crate) resources: Vec<Resource>,
    /// Changes of its size that are under way.
    pub(crate) campaigns: Vec<Campaign>,
    /// Jobs that are not over.
    pub(crate) waiting: Vec<Waiting>,
}

impl Status {
    pub(crate) fn of(status: &ferrite_wire::control::DvmStatus, waiting: Vec<Waiting>) -> Status {
        Status {
            version: status.version.clone(),
            state: status.state.map(JobState::name),
            waiting_for: text(&status.waiting_for),
            nodes: status.nodes,
            daemons: status.daemons,
            slots: status.slots,
            slots_in_use: status.slots_in_use,
            jobs_running: status.jobs_running,
            jobs_queued: status.jobs_queued,
            jobs_held: status.jobs_held,
            jobs_ended: status.jobs_ended,
            jobs_failed: status.jobs_failed,
            processes_running: status.procs_running,
            resources: status.resources.iter().map(Resource::of).collect(),
            campaigns: status.campaigns.iter().map(Campaign::of).collect(),
            waiting,
        }
    }
}

/// A change of the DVM's size, in `status`.
#[derive(Serialize)]
pub(crate) struct Campaign {
    campaign: u32,
    change: &'static str,
    step: &'static str,
    pushed: bool,
    allocation: AllocId,
    nodes: Vec<String>,
    waiting_for: Option<String>,
    began_s: f64,
}

impl Campaign {
    fn of(campaign: &CampaignStatus) -> Campaign {
        Campaign {
            campaign: campaign.campaign.0,
            change: change(campaign.kind),
            step: campaign.step.name(),
            pushed: campaign.pushed,
            allocation: campaign.alloc_id.clone(),
            nodes: campaign.nodes.clone(),
            waiting_for: text(&campaign.waiting_for),
            began_s: seconds(campaign.began_us),
        }
    }
}

/// Returns the word for the direction of a change of size.
pub(crate) const fn change(kind: CampaignKind) -> &'static str {
    match kind {
        CampaignKind::Grow => "grow",
        CampaignKind::Shrink => "shrink",
    }
}

/// A job that waits, in `status`.
#[derive(Serialize)]
pub(crate) struct Waiting {
    job: u32,
    name: String,
    state: &'static str,
    waiting_for: Option<String>,
}

impl Waiting {
    pub(crate) fn of(job: &JobStatus) -> Waiting {
        Waiting { job: job.job.0, name: job.name.clone(), state: job.state.name(), waiting_for: text(&job.waiting_for) }
    }
}

/// `kind: "batches"`.
#[derive(Serialize)]
pub(crate) struct Batches {
    pub(crate) batches: Vec<Batch>,
}

/// A batch.
#[derive(Serialize)]
pub(crate) struct Batch {
    batch: u32,
    list: String,
    tasks: u64,
    ended: u64,
    failed: u64,
    open: u64,
    results: String,
    restarts: u32,
    exit_code: Option<u8>,
    submitted_s: f64,
    ended_s: Option<f64>,
}

impl Batch {
    pub(crate) fn of(status: &BatchStatus) -> Batch {
        let BatchStatus { batch, name, counts, results, restarts, exit_code, began_us, ended_us } = status;
        Batch {
            batch: batch.0,
            list: name.clone(),
            tasks: counts.tasks,
            ended: counts.ended,
            failed: counts.failed,
            open: counts.open,
            results: results.clone(),
            restarts: *restarts,
            exit_code: *exit_code,
            submitted_s: seconds(*began_us),
            ended_s: ended_us.map(seconds),
        }
    }
}

/// `kind: "batch_ordered"`.
#[derive(Serialize)]
pub(crate) struct BatchOrdered {
    pub(crate) order: &'static str,
    pub(crate) batch: u32,
}

/// `kind: "nodes"`.
#[derive(Serialize)]
pub(crate) struct Nodes {
    pub(crate) nodes: Vec<Node>,
}

/// A node.
#[derive(Serialize)]
pub(crate) struct Node {
    name: String,
    daemon: Option<u32>,
    state: String,
    slots: u32,
    slots_in_use: u32,
    max_slots: Option<u32>,
    cores: u32,
    resources: Vec<Resource>,
    jobs: Vec<NodeJob>,
}

/// A resource of a node.
#[derive(Serialize)]
pub(crate) struct Resource {
    name: String,
    amount: u64,
    in_use: u64,
}

/// A job of a node.
#[derive(Serialize)]
struct NodeJob {
    job: u32,
    processes: u32,
}

impl Resource {
    pub(crate) fn of(resource: &ResourceStatus) -> Resource {
        let ResourceStatus { name, amount, in_use } = resource.clone();
        Resource { name, amount, in_use }
    }
}

impl Node {
    pub(crate) fn of(node: &NodeStatus) -> Node {
        Node {
            name: node.name.clone(),
            daemon: node.daemon.map(|rank| rank.0),
            state: node.state.clone(),
            slots: node.slots,
            slots_in_use: node.slots_in_use,
            max_slots: Some(node.max_slots).filter(|max| *max > 0),
            cores: node.cores,
            resources: node.resources.iter().map(Resource::of).collect(),
            jobs: node.jobs.iter().map(|(job, processes)| NodeJob { job: job.0, processes: *processes }).collect(),
        }
    }
}

/// `kind: "jobs"`.
#[derive(Serialize)]
pub(crate) struct Jobs {
    jobs: Vec<Listed>,
}

impl Jobs {
    /// Makes the list, in this order.
    pub(crate) fn of<'a>(jobs: impl IntoIterator<Item = &'a JobStatus>, moment: &Moment) -> Jobs {
        let jobs: Vec<&JobStatus> = jobs.into_iter().collect();
        let mut children = super::tree::children(jobs.iter().copied());
        let mut listed = |status: &JobStatus| {
            let children = children.remove(&status.job).unwrap_or_default();
            Listed { job: Job::of(status, moment), children: children.into_iter().map(|job| job.0).collect() }
        };
        Jobs { jobs: jobs.into_iter().map(&mut listed).collect() }
    }
}

/// A job of the list, with those that it has spawned and that are in the list.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    job: Job,
    children: Vec<u32>,
}

/// A job, as the list of jobs shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Job {
    job: u32,
    parent: Option<u32>,
    name: String,
    task_name: Option<String>,
    priority: i16,
    command: String,
    directory: Option<String>,
    state: &'static str,
    waiting_for: Option<String>,
    processes: u32,
    nodes: u32,
    first_node: Option<String>,
    exit_code: Option<u8>,
    ending: Option<&'static str>,
    submitted_s: f64,
    running_s: Option<f64>,
    ended_s: Option<f64>,
    submitted_at: String,
    running_at: Option<String>,
    ended_at: Option<String>,
    ran_s: Option<f64>,
    tree: Option<Tree>,
}

/// The size of an elastic job, with all that it has spawned.
#[derive(Debug, Serialize)]
struct Tree {
    root: u32,
    min: u32,
    max: u32,
    processes: u32,
    worlds: u32,
    pending: Option<Pending>,
}

/// A change of an elastic job's size that is under way.
#[derive(Debug, Serialize)]
struct Pending {
    change: &'static str,
    processes: u32,
    until_s: Option<f64>,
}

impl Tree {
    fn of(tree: &TreeSize) -> Tree {
        let pending = tree.change.map(|change| Pending {
            change: if change.is_offer { "more" } else { "fewer" },
            processes: change.procs,
            until_s: change.until_us.map(seconds),
        });
        let TreeSize { root, range, procs, worlds, change: _ } = tree;
        Tree { root: root.0, min: range.min, max: range.max, processes: *procs, worlds: *worlds, pending }
    }
}

impl Job {
    pub(crate) fn of(job: &JobStatus, moment: &Moment) -> Job {
        Job {
            job: job.job.0,
            parent: job.parent.map(|parent| parent.0),
            name: job.name.clone(),
            task_name: text(&job.task),
            priority: job.priority,
            command: job.command.clone(),
            directory: job.wdir.clone(),
            state: job.state.name(),
            waiting_for: text(&job.waiting_for),
            processes: job.procs,
            nodes: job.nodes,
            first_node: text(&job.first_node),
            exit_code: job.exit_code,
            ending: job.ending.map(Ending::name),
            submitted_s: seconds(job.submitted_us),
            running_s: job.running_us.map(seconds),
            ended_s: job.ended_us.map(seconds),
            submitted_at: moment.iso(job.submitted_us),
            running_at: job.running_us.map(|at| moment.iso(at)),
            ended_at: job.ended_us.map(|at| moment.iso(at)),
            ran_s: super::jobs::ran_for_us(job, moment).map(seconds),
            tree: job.tree.as_ref().map(Tree::of),
        }
    }
}

/// `kind: "job"`: a job with all details.
#[derive(Serialize)]
pub(crate) struct Detail {
    #[serde(flatten)]
    job: Job,
    namespace: String,
    cause: Option<String>,
    lost_ranks: Vec<u32>,
    session: SessionId,
    personality: String,
    launcher: Option<String>,
    originator: Option<Originator>,
    children: Vec<u32>,
    apps: Vec<App>,
    session_dir: Option<String>,
    process_sets: Vec<Set>,
    stdin_target: Option<String>,
    elastic: Option<Elastic>,
    total_slots: u32,
    bookmark: Option<String>,
    counts: Counts,
    states: Vec<StateTime>,
    #[serde(flatten)]
    processes: ProcessList,
}

/// The processes of a job that is not over.
#[derive(Serialize)]
pub(crate) struct ProcessList {
    process_list: Vec<Process>,
}

impl ProcessList {
    pub(crate) fn of(processes: &[ProcStatus]) -> ProcessList {
        ProcessList { process_list: processes.iter().map(Process::of).collect() }
    }
}

impl Detail {
    pub(crate) fn of(detail: &JobDetail, moment: &Moment) -> Detail {
        let record = &detail.record;
        let at = |(state, at_us): &(JobState, u64)| StateTime { state: state.name(), at_s: seconds(*at_us) };
        Detail {
            job: Job::of(&detail.status, moment),
            namespace: detail.nspace.clone(),
            cause: text(&detail.cause),
            lost_ranks: detail.lost_ranks.iter().map(|rank| rank.0).collect(),
            session: record.session,
            personality: record.personality.clone(),
            launcher: text(&record.launcher),
            originator: record.parent.map(|proc| Originator { job: proc.job.0, rank: proc.rank.0 }),
            children: record.children.iter().map(|job| job.0).collect(),
            apps: record.apps.iter().map(App::of).collect(),
            session_dir: text(&record.session_dir),
            process_sets: record.sets.iter().map(|(name, size)| Set { name: name.clone(), members: *size }).collect(),
            stdin_target: record.stdin.map(stdin_target),
            elastic: record.elastic.map(|(range, size)| Elastic { min: range.min, max: range.max, size }),
            total_slots: record.slots,
            bookmark: text(&record.bookmark),
            counts: Counts::of(record),
            states: detail.states.iter().map(at).collect(),
            processes: ProcessList::of(&detail.procs),
        }
    }
}

/// The process that has spawned a job.
#[derive(Serialize)]
struct Originator {
    job: u32,
    rank: u32,
}

/// The sizes that an elastic job may have, and the processes that live.
#[derive(Serialize)]
struct Elastic {
    min: u32,
    max: u32,
    size: u32,
}

/// A program of a job.
#[derive(Serialize)]
struct App {
    program: String,
    processes: u32,
    arguments: Vec<String>,
    arguments_left_out: u32,
    directory: Option<String>,
}

/// A process set with processes of a job.
#[derive(Serialize)]
struct Set {
    name: String,
    members: u32,
}

impl App {
    fn of(app: &AppRecord) -> App {
        App {
            program: app.argv.first().cloned().unwrap_or_default(),
            processes: app.procs,
            arguments: app.argv.iter().skip(1).cloned().collect(),
            arguments_left_out: app.left_out,
            directory: app.wdir.clone(),
        }
    }
}

/// Returns the ranks that read a job's standard input, as text.
fn stdin_target(target: StdinTarget) -> String {
    match target {
        StdinTarget::Rank(rank) => rank.to_string(),
        StdinTarget::All => "all".to_owned(),
        StdinTarget::None => "none".to_owned(),
    }
}

/// The progress of a job in numbers.
#[derive(Serialize)]
struct Counts {
    mapped: u32,
    launched: u32,
    registered: u32,
    ready_for_debug: u32,
    terminated: u32,
    local: u32,
    daemons: u32,
    daemons_reported: u32,
    traces: u32,
    restarts: u32,
}

impl Counts {
    fn of(record: &JobRecord) -> Counts {
        Counts {
            mapped: record.mapped,
            launched: record.launched,
            registered: record.registered,
            ready_for_debug: record.ready_for_debug,
            terminated: record.terminated,
            local: record.local,
            daemons: record.daemons,
            daemons_reported: record.daemons_reported,
            traces: record.traces,
            restarts: record.restarts,
        }
    }
}

/// The time at which a job entered a state.
#[derive(Serialize)]
struct StateTime {
    state: &'static str,
    at_s: f64,
}

/// A process.
#[derive(Serialize)]
struct Process {
    rank: u32,
    app: u16,
    node: String,
    bound_to: Option<String>,
    devices: Vec<String>,
    pid: Option<u32>,
    state: &'static str,
}

impl Process {
    fn of(process: &ProcStatus) -> Process {
        Process {
            rank: process.rank.0,
            app: process.app,
            node: process.node.clone(),
            bound_to: text(&process.bound_to),
            devices: process.devices.clone(),
            pid: process.pid,
            state: ProcState::name(process.state),
        }
    }
}

/// `kind: "ordered"`.
#[derive(Serialize)]
pub(crate) struct Ordered {
    pub(crate) order: &'static str,
    pub(crate) job: u32,
    pub(crate) signal: Option<Signal>,
    /// True when the job was over before.
    pub(crate) over: bool,
    /// With `--tree`: the jobs that are being ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jobs: Option<Vec<u32>>,
}

/// `kind: "sessions"`.
#[derive(Serialize)]
pub(crate) struct Sessions {
    pub(crate) sessions: Vec<Session>,
}

/// A session.
#[derive(Serialize)]
pub(crate) struct Session {
    session: SessionId,
    allocation: AllocId,
    request: Option<AllocReqId>,
    nodes: Vec<String>,
    slots: u32,
    slots_in_use: u32,
    children: Vec<SessionId>,
    jobs: Vec<u32>,
    reserved: bool,
    paused: bool,
    parent: Option<SessionId>,
    owner_job: Option<u32>,
    time_left_s: Option<u64>,
    warns_s: Option<u64>,
    warned: bool,
}

impl Session {
    pub(crate) fn of(session: &SessionStatus) -> Session {
        Session {
            session: session.session,
            allocation: session.alloc_id.clone(),
            request: session.req_id.clone(),
            nodes: session.nodes.clone(),
            slots: session.slots,
            slots_in_use: session.slots_in_use,
            children: session.children.clone(),
            jobs: session.jobs.iter().map(|job| job.0).collect(),
            reserved: session.reserved,
            paused: session.paused,
            parent: session.parent,
            owner_job: session.owner.map(|job| job.0),
            time_left_s: session.seconds_left,
            warns_s: session.warns_s,
            warned: session.warned,
        }
    }
}

/// `kind: "session_ordered"`.
#[derive(Serialize)]
pub(crate) struct SessionOrdered {
    pub(crate) order: &'static str,
    session: Option<SessionId>,
    allocation: Option<AllocId>,
    request: Option<AllocReqId>,
    pub(crate) signal: Option<Signal>,
    pub(crate) seconds: Option<u32>,
}

impl SessionOrdered {
    /// Makes the answer to an order without values.
    pub(crate) fn of(choice: &SessionChoice, order: &'static str) -> SessionOrdered {
        let (mut session, mut allocation, mut request) = (None, None, None);
        match choice {
            SessionChoice::Default => {}
            SessionChoice::Id(id) => session = Some(*id),
            SessionChoice::Alloc(id) => allocation = Some(id.clone()),
            SessionChoice::Ref(name) => request = Some(name.clone()),
        }
        SessionOrdered { order, session, allocation, request, signal: None, seconds: None }
    }
}

/// `kind: "resized"`.
#[derive(Serialize)]
pub(crate) struct Resized {
    pub(crate) change: &'static str,
    pub(crate) outcome: &'static str,
    pub(crate) allocation: Option<AllocId>,
    pub(crate) request: Option<AllocReqId>,
    pub(crate) nodes: Vec<String>,
}

/// `kind: "job_resized"`.
#[derive(Serialize)]
pub(crate) struct JobSize {
    pub(crate) job: u32,
    pub(crate) change: &'static str,
    pub(crate) outcome: &'static str,
    pub(crate) processes: u32,
    pub(crate) size: u32,
}

/// `kind: "trace"`.
#[derive(Serialize)]
pub(crate) struct Trace {
    pub(crate) job: u32,
    pub(crate) name: String,
    pub(crate) over: bool,
    pub(crate) spans: Vec<Span>,
    pub(crate) changes: Vec<SizeSpan>,
}

/// A change of the size of an elastic job.
#[derive(Serialize)]
pub(crate) struct SizeSpan {
    pub(crate) change: &'static str,
    pub(crate) processes: u32,
    pub(crate) at_s: f64,
    pub(crate) duration_s: Option<f64>,
    pub(crate) done: u32,
    pub(crate) size: u32,
    pub(crate) cause: Option<String>,
}

/// The time that a job was in a state.
#[derive(Serialize)]
pub(crate) struct Span {
    pub(crate) state: &'static str,
    pub(crate) at_s: f64,
    pub(crate) duration_s: Option<f64>,
}

/// `kind: "metrics"`.
#[derive(Serialize)]
pub(crate) struct Metrics {
    pub(crate) jobs_submitted: u64,
    pub(crate) jobs_started: u64,
    pub(crate) jobs_ended: u64,
    pub(crate) jobs_failed: u64,
    pub(crate) processes_started: u64,
    pub(crate) processes_running: u32,
    pub(crate) output_bytes: u64,
    pub(crate) stdin_bytes: u64,
    pub(crate) broadcasts: u64,
    pub(crate) daemons_lost: u64,
    pub(crate) repairs: u64,
    pub(crate) rejoins: u64,
    pub(crate) late_messages: std::collections::BTreeMap<String, u64>,
    pub(crate) grows: u64,
    pub(crate) grows_failed: u64,
    pub(crate) shrinks: u64,
    pub(crate) campaigns_open: u64,
    pub(crate) jobs_held: u32,
    /// The resources that all nodes share.
    pub(crate) resources: Vec<Resource>,
    pub(crate) launch: Launch,
}

/// The durations of launches.
#[derive(Serialize)]
pub(crate) struct Launch {
    pub(crate) count: u64,
    pub(crate) sum_s: f64,
    pub(crate) buckets: Vec<Bucket>,
}

/// The number of launches that took at most this time, and longer than the bucket before.
#[derive(Serialize)]
pub(crate) struct Bucket {
    pub(crate) up_to_s: Option<f64>,
    pub(crate) count: u64,
}

/// `kind: "error"`: the reason why a verb has failed, on standard error.
#[derive(Serialize)]
struct Error {
    schema: u32,
    kind: &'static str,
    reason: &'static str,
    error: String,
    next: Option<String>,
    exit_code: i32,
}

/// Returns a failure as one line.
pub(crate) fn error(failure: &Failure) -> String {
    let error = Error {
        schema: SCHEMA,
        kind: "error",
        reason: failure.reason(),
        error: failure.to_string(),
        next: text(&failure.next_step()),
        exit_code: failure.exit_code(),
    };
    written(serde_json::to_string(&error))
}
