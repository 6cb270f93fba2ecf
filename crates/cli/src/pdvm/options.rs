//! The command line of `pdvm`, as clap definitions: help, man pages, completions and parsing all come from here.

#![allow(rustdoc::broken_intra_doc_links, reason = "comments here are help texts, whose brackets are no links")]

use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use ferrite_types::{AllocId, AllocReqId, JobId, Signal};
use ferrite_wire::control::BatchId;
use ferrite_wire::{Inheritance, SizeChange};

use super::release::{RankList, parse_ranks};
use super::signal::parse_signal;
use super::size::parse_size;
use crate::args::{ConnectionOptions, UsageError, version};

/// Everything behind `pdvm`.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "pdvm",
    about = "Shows what a DVM is doing and what it waits for, gives orders to its jobs and sessions, and changes its size.",
    after_help = "Without an option for it, the DVM is that of the same batch job, else the only one that is running here.\n\
        Exit code: 0 done; 1 not done (no DVM, no such job, refused, failed), and standard error says why; 128 and the number of \
        the signal that ended a wait.",
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    term_width = 100
)]
pub struct PdvmOptions {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Answer in JSON (schema: docs/pdvm-json.md)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: ConnectionOptions,
}

/// The verb of a line.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Verb {
    /// Show the state of the DVM, and what it and its jobs wait for
    Status,
    /// List its nodes and their used slots
    Nodes,
    /// List its jobs in the order of their submission, or as trees of what has spawned what
    Jobs(JobsOptions),
    /// Show one job: its states, its processes, why it failed
    Job(OneJob),
    /// Wait for the ends of jobs
    Wait(WaitOptions),
    /// End a job, or all that descends from it too
    Kill(KillOptions),
    /// Let processes of a job go on that wait for a debugger (prun --stop-in-init)
    Release(ReleaseOptions),
    /// Give standard input to a job that has none from its submitter (prun --detach --stdin RANK|all)
    #[command(
        after_help = "The input goes on until its end, which is the end of the job's input for ever. Without an end (a signal) \
        another feed can go on. One client feeds a job at a time, and others wait for their turn. Exit code: 0 when the job has \
        taken the end; 1 when it takes no input, its input has ended already, or it was over before."
    )]
    Feed(OneJob),
    /// Send a signal to the processes of a job
    Signal(SignalOptions),
    /// Add nodes to it
    Grow(GrowOptions),
    /// Remove nodes from it; their processes are ended
    Shrink(ShrinkOptions),
    /// Change the number of processes of an elastic job (prun --elastic MIN:MAX)
    Resize(ResizeOptions),
    /// List its sessions (nodes that were requested together, and their jobs), or give one an order
    Session(SessionOptions),
    /// List its batches (prun --batch LIST --detach), follow one, end one, or print its results
    Batch(BatchOptions),
    /// Print the steps of its jobs and of its changes of size, one a line
    Events(EventsOptions),
    /// Show jobs and nodes, refreshed until you press q
    Top(TopOptions),
    /// Show its jobs and nodes as a page for a browser on this machine, until you press Ctrl-C
    Web(WebOptions),
    /// Join standard input and output with its service of JSON lines (docs/service.md), for other programs
    #[command(
        after_help = "The DVM reads requests from standard input, one a line, and answers on standard output. The end of the \
        input ends the tasks that were submitted here, except detached ones. The command returns when the DVM has answered \
        all requests; `closed` is the last line. It returns as well when nobody reads its output any more, and its tasks end \
        then. Exit code: 0 when the DVM has closed the conversation or the reader is gone; 1 when there is no DVM, it goes \
        before, or the input does not begin with a line of JSON."
    )]
    Service,
    /// Show how long a job was in each state
    Trace(TraceOptions),
    /// Show its counters since its start
    Metrics,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct OneJob {
    /// Number of the job, or its namespace as prun --detach prints it
    #[arg(value_name = "JOB", value_parser = JobName::parse)]
    pub(crate) job: JobName,
}

/// Options of `pdvm jobs`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct JobsOptions {
    /// List all jobs that the DVM remembers (at least 100,000, see the parameter ferrite_history_jobs); the default is
    /// those that are not over, and the last 1,000 that are
    #[arg(long)]
    pub(crate) all: bool,
    /// List each job below the job that has spawned it, also when that one is over
    #[arg(long)]
    pub(crate) tree: bool,
}

/// Options of `pdvm kill`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct KillOptions {
    /// Number of the job, or its namespace as prun --detach prints it
    #[arg(value_name = "JOB", value_parser = JobName::parse)]
    pub(crate) job: JobName,
    /// End all jobs that descend from it as well (pdvm jobs --tree shows them), also when it is over itself. Without
    /// this option the jobs that it has spawned end with it, but neither those that were spawned as separate nor the
    /// children of jobs that are over
    #[arg(long)]
    pub(crate) tree: bool,
}

/// Jobs whose ends are waited for.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    after_help = "Exit code: that of the job; of several jobs, that of the first one, in the order of the line, that has not ended with 0. \
        It is 1 as well when there is no such job, which standard error says; 128 and the number of the signal that ended the wait."
)]
pub(crate) struct WaitOptions {
    /// Number of a job, its namespace as prun --detach prints it, or the name that its author has given it (of several
    /// jobs with a name, the latest)
    #[arg(value_name = "JOB", required = true, value_parser = WaitedJob::parse)]
    pub(crate) jobs: Vec<WaitedJob>,
}

/// A job that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaitedJob {
    /// By its number.
    Number(JobName),
    /// By the name that its author has given it.
    Task(String),
}

impl WaitedJob {
    /// Parses `7`, `<dvm>@7`, or a name.
    fn parse(text: &str) -> Result<WaitedJob, String> {
        match JobName::parse(text) {
            Ok(name) => Ok(WaitedJob::Number(name)),
            Err(_) if text.is_empty() => Err("neither a number nor a name; `pdvm jobs` lists them".to_owned()),
            Err(_) => Ok(WaitedJob::Task(text.to_owned())),
        }
    }
}

/// A job, and its processes that go on.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct ReleaseOptions {
    /// Number of the job, or its namespace as prun --detach prints it
    #[arg(value_name = "JOB", value_parser = JobName::parse)]
    pub(crate) job: JobName,
    /// Only these processes: 0,2,5-7
    #[arg(long, value_name = "RANKS", value_parser = parse_ranks)]
    pub(crate) ranks: Option<RankList>,
}

/// A job, and the signal for it.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct SignalOptions {
    /// Number of the job, or its namespace as prun --detach prints it
    #[arg(value_name = "JOB", value_parser = JobName::parse)]
    pub(crate) job: JobName,
    /// Name (USR1, SIGUSR1) or number
    #[arg(value_name = "SIGNAL", value_parser = parse_signal)]
    pub(crate) signal: Signal,
}

/// Options of `pdvm grow`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct GrowOptions {
    /// Hosts to add: n5, n6:4 (slots), n7:+2 (two more slots). Without a number a host keeps its slots; a new one gets
    /// one slot per core
    #[arg(short = 'H', long, value_name = "HOST[:SLOTS],...")]
    pub(crate) host: Vec<String>,
    /// File of hosts to add, one a line: name [slots=N|+N|-N] [max_slots=N] [username=U] [port=P]
    #[arg(long, value_name = "FILE")]
    pub(crate) hostfile: Option<String>,
    /// Start daemons on nodes of the allocation that have none: names, +nK (the K-th node), +all, file=FILE
    #[arg(long, value_name = "NODE|+nK|+all|file=FILE,...")]
    pub(crate) activate: Vec<String>,
    /// Add this number of nodes of the allocation that have no daemon. In a job of Slurm, missing nodes are requested
    /// from Slurm
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: Option<u32>,
    /// Request all nodes from this queue (Slurm: partition) instead of that of the DVM's job
    #[arg(long, value_name = "NAME", requires = "nodes", conflicts_with_all = ["host", "hostfile", "activate"],
          value_parser = NonEmptyStringValueParser::new())]
    pub(crate) queue: Option<String>,
    /// Add the nodes of this job of Slurm, which was made for the DVM (salloc --no-shell); they are given back like
    /// others
    #[arg(long, value_name = "JOB", conflicts_with_all = ["host", "hostfile", "activate", "nodes"])]
    pub(crate) rm_job: Option<String>,
    /// Add the nodes to this allocation; the default is a new one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new().map(AllocId::from))]
    pub(crate) alloc_id: Option<AllocId>,
    /// A name for the request, by which prun --alloc-refid finds the allocation
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new().map(AllocReqId::from))]
    pub(crate) req_id: Option<AllocReqId>,
    /// Reserve the nodes: only jobs of this session run there (prun --alloc-id, --alloc-refid or --session-id)
    #[arg(long)]
    pub(crate) reserve: bool,
    /// End the session this long after its nodes have come: its jobs are ended, and the nodes that it has brought
    /// leave. With --alloc-id the limit of that session becomes this much later. Nodes of Slurm are requested for this
    /// time
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) time_limit: Option<u32>,
    /// Warn its jobs this long before its end
    #[arg(long, value_name = "SECONDS", requires = "time_limit", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) warn: Option<u32>,
    /// For a session that a process requests: what happens when the job of the process ends. default: the nodes stay,
    /// for everybody; none: the session ends and its nodes leave; child, child-default: as none and default, after the
    /// jobs that it has spawned have ended too
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = inheritance_parser())]
    pub(crate) inherit: Option<Inheritance>,
    /// For a session that a process requests: it does not end with the session of that process
    #[arg(long)]
    pub(crate) separate: bool,
    /// Push the nodes as a scheduler: no requester is told, and the nodes are for everybody
    #[arg(long, conflicts_with_all = ["rm_job", "reserve", "time_limit", "warn", "inherit", "separate"])]
    pub(crate) push: bool,
    /// Answer when the DVM has the new size, not when the change has begun. Ctrl-C ends the wait and not the change,
    /// but withdraws a request that Slurm has not granted
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Options of `pdvm shrink`. Given together, they restrict each other: nodes of an allocation, a number of nodes of an
/// allocation.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct ShrinkOptions {
    /// Nodes to remove
    #[arg(short = 'H', long, value_name = "HOST,...")]
    pub(crate) host: Vec<String>,
    /// Remove this number of nodes: idle ones first, and of those the latest; reserved nodes stay
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: Option<u32>,
    /// Remove nodes of this allocation; alone: all of them
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new().map(AllocId::from))]
    pub(crate) alloc_id: Option<AllocId>,
    /// A name for the request, which the answer repeats
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new().map(AllocReqId::from))]
    pub(crate) req_id: Option<AllocReqId>,
    /// Take the nodes out as a scheduler: no requester is told
    #[arg(long)]
    pub(crate) push: bool,
    /// The longest time for processes there, whatever their jobs have asked for (prun --grace); 0: they are not told
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: Option<u32>,
    /// Take the nodes also from elastic jobs (prun --elastic) that would refuse, or have too few processes left
    #[arg(long)]
    pub(crate) force: bool,
    /// Answer when the nodes are gone, not when the change has begun. Ctrl-C ends the wait and not the change
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Options of `pdvm resize`.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    after_help = "More processes are an offer: the DVM keeps slots for the job, which takes them by a spawn or refuses. Fewer \
        processes are told that they are to end, the latest first, and the job may ask for more time or refuse. Exit code: with \
        --wait 0 when the job has taken what was offered, or the processes have ended; 1 when it has refused, or has not answered in \
        time."
)]
pub(crate) struct ResizeOptions {
    /// Number of a job, or its namespace as prun --detach prints it. All that it has spawned is a part of it
    #[arg(value_name = "JOB", value_parser = JobName::parse)]
    pub(crate) job: JobName,
    /// So many more, fewer, or in all
    #[arg(value_name = "+N|-N|=N", allow_hyphen_values = true, value_parser = parse_size)]
    pub(crate) size: SizeChange,
    /// The time that the job has: to take the offer, or for its processes to end, which it then cannot put off; 0: the
    /// processes are ended at once. The default is that of the job (prun --grace) for fewer processes, and the
    /// parameter ferrite_resize_time
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: Option<u32>,
    /// Add these hosts first, as pdvm grow, if too few slots are free for more processes. They leave again when the job
    /// does not take the offer, and when it ends
    #[arg(short = 'H', long, value_name = "HOST[:SLOTS],...", conflicts_with = "force")]
    pub(crate) host: Vec<String>,
    /// Add so many nodes first, of the allocation or of Slurm, if too few slots are free. They leave like those of
    /// --host
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "force")]
    pub(crate) nodes: Option<u32>,
    /// Request these nodes from this queue (Slurm: partition) instead of that of the DVM's job
    #[arg(long, value_name = "NAME", requires = "nodes", conflicts_with = "host",
          value_parser = NonEmptyStringValueParser::new())]
    pub(crate) queue: Option<String>,
    /// End processes also if the job would refuse, or has fewer than its smallest size left
    #[arg(long)]
    pub(crate) force: bool,
    /// Answer when the job has the new size or keeps its own, not when it has been told. Ctrl-C ends the wait and not
    /// the change
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Options of `pdvm session`.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    disable_help_subcommand = true,
    subcommand_required = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs"
)]
pub(crate) struct SessionOptions {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

/// Options of `pdvm batch`.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    disable_help_subcommand = true,
    subcommand_required = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs"
)]
pub(crate) struct BatchOptions {
    #[command(subcommand)]
    pub(crate) verb: BatchVerb,
}

/// The commands of `pdvm batch`.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum BatchVerb {
    /// List all batches, and how far they are
    List,
    /// Print the records of a batch as they come, from the first one, until it is over; the exit code is its own.
    /// Ctrl-C ends the command and not the batch
    Attach(OneBatch),
    /// End a batch: its jobs are cancelled, and each task gets its record
    Cancel(OneBatch),
    /// Print the records so far
    Results(OneBatch),
}

/// A batch.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct OneBatch {
    /// The batch, as prun --batch LIST --detach prints it
    #[arg(value_name = "BATCH", value_parser = parse_batch)]
    pub(crate) batch: BatchId,
}

/// Parses `b3` or `3`.
fn parse_batch(text: &str) -> Result<BatchId, String> {
    let number = text.strip_prefix('b').unwrap_or(text).parse();
    number.map(BatchId).map_err(|_| "not the number of a batch; `pdvm batch list` lists them".to_owned())
}

/// The order for a session, or the wish for a list.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum SessionVerb {
    /// List all sessions but session 0, the DVM's own
    List,
    /// Make a session with a given number, on nodes of an existing allocation or on added ones
    Instantiate(SessionPlan),
    /// Stop its processes, and hold its jobs
    Pause(SessionName),
    /// Continue its processes, and start held jobs
    Resume(SessionName),
    /// Send a signal to its processes
    Signal(SessionSignal),
    /// Lengthen its time limit
    Extend(SessionExtension),
    /// Detach it from its parent and its owner, so that it outlives them
    Separate(SessionName),
    /// End it with its jobs and its child sessions; the nodes that it has brought leave the DVM
    Terminate(SessionName),
}

/// A session; one of the three names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "The session (one of them)")]
pub(crate) struct SessionName {
    /// The session with this number
    #[arg(long, value_name = "N", value_parser = parse_session)]
    pub(crate) session_id: Option<u32>,
    /// The session of the allocation with this id, which pdvm grow prints
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new().map(AllocId::from))]
    pub(crate) alloc_id: Option<AllocId>,
    /// The session whose request has this name (pdvm grow --req-id)
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new().map(AllocReqId::from))]
    pub(crate) alloc_refid: Option<AllocReqId>,
}

/// A session to make.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct SessionPlan {
    /// Number of the new session
    #[arg(value_name = "N", value_parser = parse_session)]
    pub(crate) session: u32,
    /// An existing allocation whose nodes it shares; with --host: the id of the new allocation
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new().map(AllocId::from))]
    pub(crate) alloc_id: Option<AllocId>,
    /// Nodes of the allocation, or nodes to add for this session
    #[arg(short = 'H', long, value_name = "HOST[:SLOTS],...")]
    pub(crate) host: Vec<String>,
    /// A name for it, by which prun --alloc-refid finds it; without --alloc-id and --host: the name of an existing
    /// allocation
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new().map(AllocReqId::from))]
    pub(crate) req_id: Option<AllocReqId>,
    /// Reserve the added nodes: only jobs of this session run there
    #[arg(long)]
    pub(crate) reserve: bool,
    /// End it after this time
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) time_limit: Option<u32>,
    /// Warn its jobs this long before its end
    #[arg(long, value_name = "SECONDS", requires = "time_limit", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) warn: Option<u32>,
}

/// A session, and the signal for its processes.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct SessionSignal {
    /// Name (USR1, SIGUSR1) or number
    #[arg(value_name = "SIGNAL", value_parser = parse_signal)]
    pub(crate) signal: Signal,
    #[command(flatten)]
    pub(crate) name: SessionName,
}

/// A session, and how much longer it lasts.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct SessionExtension {
    /// The additional time
    #[arg(value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: u32,
    #[command(flatten)]
    pub(crate) name: SessionName,
}

/// Options of `pdvm events`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct EventsOptions {
    /// Print events as they happen, until the DVM ends or you press Ctrl-C; the default is the steps of all jobs so far
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
}

/// Options of `pdvm top`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct TopOptions {
    /// Time between two refreshes
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    pub(crate) interval: Duration,
}

/// Options of `pdvm web`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct WebOptions {
    /// Port of 127.0.0.1; 0 = a free one
    #[arg(long, value_name = "PORT", default_value = "0")]
    pub(crate) port: u16,
}

/// Options of `pdvm trace`.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct TraceOptions {
    /// Number of the job, or its namespace as prun --detach prints it
    #[arg(value_name = "JOB", value_parser = JobName::parse, required_unless_present = "batch")]
    pub(crate) job: Option<JobName>,
    /// Show the tasks of this batch over time instead of a job; needs --html
    #[arg(long, value_name = "BATCH", value_parser = parse_batch, conflicts_with_all = ["job", "chrome"], requires = "html")]
    pub(crate) batch: Option<BatchId>,
    /// Write a page for a browser to this file, which is all that it needs; `-` = standard output
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["json", "chrome"])]
    pub(crate) html: Option<std::path::PathBuf>,
    /// Write a trace for Perfetto or chrome://tracing to this file; `-` = standard output
    #[arg(long, value_name = "FILE|-", conflicts_with = "json")]
    pub(crate) chrome: Option<std::path::PathBuf>,
}

/// A job as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobName {
    /// Its number.
    pub(crate) id: JobId,
    /// The DVM of its namespace, if the user gave one.
    pub(crate) dvm: Option<String>,
}

impl JobName {
    /// Parses `7` or `<dvm>@7`.
    fn parse(text: &str) -> Result<JobName, String> {
        let (dvm, number) = text.rsplit_once('@').map_or((None, text), |(dvm, number)| (Some(dvm.to_owned()), number));
        let id = number.parse().ok().filter(|_| dvm.as_deref() != Some(""));
        id.map(|id| JobName { id: JobId(id), dvm })
            .ok_or_else(|| "not the number of a job; `pdvm jobs` lists them".to_owned())
    }
}

fn parse_session(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "not the number of a session; `pdvm session list` lists them".to_owned())
}

fn inheritance_parser() -> impl TypedValueParser<Value = Inheritance> {
    let words = PossibleValuesParser::new(["default", "none", "child", "child-default"]);
    words.map(|word| match word.as_str() {
        "none" => Inheritance::None,
        "child" => Inheritance::Child,
        "child-default" => Inheritance::ChildDefault,
        _ => Inheritance::Default,
    })
}

/// Parses seconds, which may have a fraction.
fn parse_interval(text: &str) -> Result<Duration, String> {
    // The shortest interval keeps the DVM from spending its time on answers.
    const SHORTEST_S: f64 = 0.1;
    const LONGEST_S: f64 = 3_600.0;
    let seconds: Option<f64> = text.parse().ok().filter(|s| (SHORTEST_S..=LONGEST_S).contains(s));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("not a number of seconds from {SHORTEST_S} to {LONGEST_S}"))
}

/// The order that a `pdvm` line gives.
#[derive(Clone, Debug)]
pub(crate) enum PdvmParsed {
    /// Print this and end well.
    Print(String),
    /// Ask the DVM.
    Run(PdvmOptions),
}

/// Returns the definitions for parsing, man pages and completions. Common options may stand before or behind the verb.
#[must_use]
pub fn definitions() -> Command {
    PdvmOptions::command().mut_args(|arg| arg.global(true))
}

/// Parses the arguments of `pdvm`.
///
/// # Errors
/// The first fault of the line.
pub(crate) fn parse(args: &[String]) -> Result<PdvmParsed, UsageError> {
    let line = std::iter::once("pdvm").chain(args.iter().map(String::as_str));
    match definitions().try_get_matches_from(line).and_then(|matches| PdvmOptions::from_arg_matches(&matches)) {
        Ok(options) => Ok(PdvmParsed::Run(options)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp => Ok(PdvmParsed::Print(error.render().to_string())),
            ErrorKind::DisplayVersion => Ok(PdvmParsed::Print(version("pdvm"))),
            _ => Err(refused(&error)),
        },
    }
}

/// Returns the error for a refusal of clap: its first line, without the usage that follows.
fn refused(error: &clap::Error) -> UsageError {
    let next = "`pdvm --help` lists the verbs, `pdvm VERB --help` shows how one is written.".to_owned();
    let text = error.render().to_string();
    let what = match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let example = if text.contains("Usage: pdvm session") { "pdvm session list" } else { "pdvm status" };
            format!("nothing to do: give a verb, for example `{example}`")
        }
        // The lines below the first name the missing arguments.
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<&str> = text.lines().skip(1).map_while(|l| l.strip_prefix("  ")).map(str::trim).collect();
            format!("missing: {}", missing.join(" "))
        }
        _ => {
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            // The line below the first lists the valid words.
            let words = text.lines().nth(1).map(str::trim).filter(|line| line.starts_with("[possible values: "));
            words.map_or_else(|| first.to_owned(), |words| format!("{first} {words}"))
        }
    };
    UsageError::Conflict { what, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&args) {
            Ok(PdvmParsed::Run(options)) => format!("{options:?}"),
            Ok(PdvmParsed::Print(text)) => text,
            Err(error) => crate::frame::refusal("pdvm", &error),
        }
    }

    #[test]
    fn a_job_is_named_by_its_number_or_its_namespace() {
        let name = |dvm: Option<&str>| Ok(JobName { id: JobId(7), dvm: dvm.map(str::to_owned) });
        assert_eq!(JobName::parse("7"), name(None));
        assert_eq!(JobName::parse("prte-n0-1@7"), name(Some("prte-n0-1")));
        for bad in ["", "x", "-1", "@7", "d@", "7@d", "99999999999"] {
            assert!(JobName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_interval_is_neither_nothing_nor_for_ever() {
        assert_eq!(parse_interval("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "nan", "inf", "1e9", "x", ""] {
            assert!(parse_interval(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_of_all_verbs_stand_before_the_verb_or_behind_it() {
        for line in ["--pid 12 --json jobs", "jobs --json --pid 12"] {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let Ok(PdvmParsed::Run(options)) = parse(&args) else { panic!("{line}") };
            assert_eq!(
                (options.verb, options.which.pid.as_deref(), options.json),
                (Verb::Jobs(JobsOptions { all: false, tree: false }), Some("12"), true)
            );
        }
    }

    #[test]
    fn a_wrong_line_is_refused_in_one_message() {
        let lines =
            ["", "stat", "job", "job x", "kill 1 2", "signal 1", "signal 1 NOPE", "--bad status", "top --interval 0"];
        let more = [
            "trace 1 --chrome t --json",
            "trace",
            "trace --batch 1",
            "trace 1 --batch 1 --html t",
            "trace 1 --html t --chrome t",
            "--pid 1 status --namespace x",
            "grow --nodes 0",
            "grow --alloc-id= --nodes 1",
            "shrink --nodes x",
            "shrink --hostfile f",
            "grow --nodes 1 --time-limit 0",
            "grow --queue fast",
            "grow --nodes 1 --queue fast --host n5",
            "grow --nodes 1 --warn 5",
            "grow --nodes 1 --inherit all",
            "session",
            "session pause --session-id x",
            "session signal --session-id 1",
            "session extend 0 --session-id 1",
            "session kill --session-id 1",
        ];
        let all: Vec<_> = lines.iter().chain(&more).map(|l| format!("$ pdvm {l}\n{}", told(l))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn help() {
        let verbs = [
            "status",
            "nodes",
            "jobs",
            "job",
            "kill",
            "signal",
            "grow",
            "shrink",
            "session",
            "session list",
            "session pause",
            "session signal",
            "session extend",
            "events",
            "top",
            "service",
            "trace",
            "metrics",
        ];
        let own = |verb: &str| {
            let text = told(&format!("{verb} --help"));
            let (own, common) = text.split_once("\nThe DVM to run in:\n").unwrap_or_default();
            assert!(common.contains("--dvm-uri"), "{verb}");
            format!("$ pdvm {verb} --help\n{own}")
        };
        let all: Vec<_> = [told("--help")].into_iter().chain(verbs.map(own)).collect();
        insta::assert_snapshot!(all.join("\n"));
        assert_eq!(told("-V"), format!("pdvm (Ferrite) {}\n", env!("CARGO_PKG_VERSION")));
    }
}
