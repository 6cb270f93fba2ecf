//! The texts of failure messages: each says what happened, where, and what to do next.

use std::collections::BTreeSet;
use std::fmt::Write;

use ferrite_types::resources::{MEMORY, amount_in_words};
use ferrite_types::{ExitStatus, JobId, ProcId, ProcState, Rank, RuntimeOptions, Signal, SizeRange, printable};
use ferrite_wire::{ProcEnd, StartError, StartErrorKind, Withdrawal};

use super::record::Job;
use crate::head::lists::listed;

/// The line with the program of a process that has failed.
fn program_line(job: &Job, rank: Rank) -> String {
    let program = job.program_of(rank);
    if program.is_empty() { String::new() } else { format!("\n  program: {program}") }
}

/// Message for the end of a process of a job.
pub(super) fn proc_end(job: &Job, end: &ProcEnd, pid: Option<u32>) -> String {
    // A program has spawned the job by PMI-1.
    let of_mpi = job.spec.pmi1.is_some();
    let node = job.map().node_of(end.rank).map_or("", |n| n.name.as_str());
    let who = format!("Process rank {} of job {} on node {node}{}", end.rank, job.id, pid_text(pid));
    let what = match (end.state, end.status) {
        (ProcState::TermWoSync, _) if of_mpi => {
            "ended without calling both MPI_Init and MPI_Finalize, as what MPI spawns has to".to_owned()
        }
        (ProcState::TermWoSync, _) => {
            "ended without calling finalize (PMIx_Finalize or MPI_Finalize) after it had called init".to_owned()
        }
        (ProcState::CalledAbort, ExitStatus::Exited(code)) => format!("called abort for itself with code {code}"),
        (_, ExitStatus::Exited(code)) => format!("exited with code {code}"),
        (_, ExitStatus::Signaled(signal)) => format!("was ended by signal {signal}{}", signal_name(signal)),
    };
    let memory = if end.over_memory { over_memory(job, end.rank) } else { String::new() };
    format!("{who} {what}.{memory}{}", program_line(job, end.rank))
}

/// The sentence for a process that has used more memory than it may (spec L163).
fn over_memory(job: &Job, rank: Rank) -> String {
    let app = job.map().procs.get(rank.0 as usize).and_then(|proc| job.spec.apps.get(proc.app as usize));
    let limit = app.and_then(|app| app.takes.get(MEMORY)).map(|bytes| amount_in_words(MEMORY, *bytes));
    format!(
        " It, or a process that it had started, used more than its {} of memory (--mem).",
        limit.unwrap_or_default()
    )
}

/// Message for a job that a tool has started in a DVM for one job, when that job is over.
pub(super) fn job_of_tool_ended(id: JobId) -> String {
    format!(
        "Job {id}, which a tool has started, was ended: the DVM was for one job, which is over.\n\
         Start jobs that are to stay in a DVM of prte."
    )
}

/// The sentence that tells the submitter that its job ends after a failure.
pub(super) fn ended() -> &'static str {
    "\nThe job was ended because of it."
}

/// The sentence that tells the submitter that its job goes on after a failure.
pub(super) fn survived(options: &RuntimeOptions) -> String {
    let policy = if options.continuous { "continuous" } else { "recoverable" };
    format!(
        "\nThe other processes of the job are left alone ({policy}). Its exit code will be that of this first failure."
    )
}

/// The sentence that tells the submitter that a failed process is started again.
pub(super) fn restarted(count: u32, limit: u32) -> String {
    format!("\nIt is started again on its node ({count} of at most {limit} times, --max-restarts).")
}

/// The sentence that tells the submitter why a failed process is not started again.
pub(super) const NO_RESTART: &str =
    "\nIt is not started again (--max-restarts): it had called init (MPI or PMIx), and its library cannot come back.";

fn pid_text(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

fn signal_name(signal: Signal) -> String {
    signal.name().map(|name| format!(" ({name})")).unwrap_or_default()
}

pub(super) fn start_failure(
    job: JobId,
    rank: Rank,
    node: &str,
    program: &str,
    error: &StartError,
    count: usize,
) -> String {
    let more = if count > 1 { format!(" ({} processes there met the same fate)", count) } else { String::new() };
    let hint = match error.kind {
        StartErrorKind::Executable => "Check the name, the PATH and that the file is executable on that node.",
        StartErrorKind::Directory => "Check the working directory (--wdir): it must exist on every node of the job.",
        StartErrorKind::System => "Check the limits of that node (ulimit -a, memory).",
    };
    format!(
        "Process rank {rank} of job {job} could not be started on node {node}{more}.\n  program: {program}\n  cause:   {}\n{hint}",
        error.detail
    )
}

pub(super) fn abort(job: &Job, rank: Rank, code: i32, message: &str) -> String {
    let node = job.map().node_of(rank).map_or("", |n| n.name.as_str());
    let message = match message.trim() {
        "" => String::new(),
        text => format!("\n  message: {text}"),
    };
    format!(
        "Process rank {rank} of job {} on node {node} called abort with code {code}.{}{message}\nThe job was ended because of it.",
        job.id,
        program_line(job, rank),
    )
}

pub(super) fn abort_by(job: JobId, caller: ProcId, code: i32, message: &str) -> String {
    let message = match message.trim() {
        "" => String::new(),
        text => format!("\n  message: {text}"),
    };
    let ProcId { job: of, rank } = caller;
    format!(
        "Process rank {rank} of job {of} called abort with code {code} for job {job}.{message}\nThat job was ended."
    )
}

pub(super) fn daemon_lost(job: JobId, node: &str, cause: &str, procs: usize) -> String {
    format!("The daemon on node {node} was lost ({cause}).\nJob {job} had {procs} process(es) that are gone with it.")
}

/// Message about a spawn that was refused before the head has seen it.
pub(super) fn bad_spawn(parent: ProcId, reason: &str) -> String {
    format!("A spawn by process rank {} of job {} is refused: {reason}.", parent.rank, parent.job)
}

/// Message for a job whose processes `ranks` have gone with their nodes, or are about to.
pub(super) fn nodes_left(job: &Job, ranks: &BTreeSet<Rank>, goes_on: bool) -> String {
    let nodes: BTreeSet<&str> = ranks.iter().filter_map(|rank| Some(job.map().node_of(*rank)?.name.as_str())).collect();
    let names: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    let (node, leave) = if nodes.len() == 1 { ("Node", "leaves") } else { ("Nodes", "leave") };
    let (rank, was) = if ranks.len() == 1 { ("rank", "was") } else { ("ranks", "were") };
    let what = if goes_on { ", and the job goes on with what is left of it" } else { "" };
    format!(
        "{node} {} {leave} the DVM: {rank} {} of job {}, which still ran there, {was} ended{what}.",
        listed(nodes.into_iter()),
        listed(names.iter().map(String::as_str)),
        job.id
    )
}

/// Message for a spawn that would make an elastic job too large.
pub(super) fn too_many(root: JobId, all: u32, size: u32, range: SizeRange) -> String {
    let has = all.saturating_sub(size);
    format!(
        "Job {root} may have at most {} processes with all that it spawns (--elastic {range}): it has {has}, and a spawn \
         of {size} is refused.",
        range.max
    )
}

/// Message for the submitter of a job whose processes have time to end before their nodes leave.
pub(super) fn withdrawal(notice: &Withdrawal) -> String {
    let names: Vec<String> = notice.ranks.iter().map(ToString::to_string).collect();
    let (node, leave) = if notice.nodes.len() == 1 { ("Node", "leaves") } else { ("Nodes", "leave") };
    let (rank, have) = if names.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
    let (seconds, unit) = (notice.seconds, if notice.seconds == 1 { "second" } else { "seconds" });
    if notice.of_procs {
        return format!(
            "The job is to have fewer processes: {rank} {} of job {} {have} {seconds} {unit} to end.",
            listed(names.iter().map(String::as_str)),
            notice.job
        );
    }
    format!(
        "{node} {} {leave} the DVM: {rank} {} of job {} {have} {seconds} {unit} to end.",
        listed(notice.nodes.iter().map(String::as_str)),
        listed(names.iter().map(String::as_str)),
        notice.job
    )
}

/// Message for the submitter of a job that was told of a withdrawal which does not come.
pub(super) fn stays(notice: &Withdrawal) -> String {
    if notice.of_procs {
        return "The job keeps its processes.".to_owned();
    }
    let (node, stay) = if notice.nodes.len() == 1 { ("Node", "stays") } else { ("Nodes", "stay") };
    format!("{node} {} {stay} in the DVM.", listed(notice.nodes.iter().map(String::as_str)))
}

/// Message for a job whose number of processes is not one of those that it may have.
pub(super) fn out_of_range(size: usize, range: SizeRange) -> String {
    let processes = if size == 1 { "process" } else { "processes" };
    format!(
        "The job has {size} {processes}, and may have {} to {} (--elastic {range}).\n\
         Give it another number (-n) or another range.",
        range.min, range.max
    )
}

pub(super) fn nothing_is_left(job: JobId) -> String {
    format!("All nodes of job {job} have left the DVM, and its processes were ended with that.")
}

pub(super) fn timeout(seconds: u64, states: &str) -> String {
    format!(
        "The user-provided time limit for job execution has been reached:\n\n  Timeout: {seconds} seconds\n\n\
         The job was ended. Allow more time with --timeout.{states}"
    )
}

/// The stack of a process, with the debugger's words as a terminal may show them.
pub(super) fn stack(job: &Job, rank: Rank, text: &str) -> String {
    let node = job.map().node_of(rank).map_or("", |node| node.name.as_str());
    let pid = pid_text(job.proc(rank).and_then(|proc| proc.pid));
    format!("Stack of rank {rank} of job {} on node {node}{pid}:\n{}", job.id, printable(text.trim_end()))
}

pub(super) fn spawn_timeout(seconds: u64) -> String {
    format!("The job was not launched within its limit of {seconds} seconds (--spawn-timeout), and was ended.")
}

pub(super) fn states(job: &Job) -> String {
    let mut text = format!("\n\nState of job {} at that time: {}", job.id, job.state);
    for (rank, proc) in job.procs() {
        let node = job.map().node_of(rank).map_or("", |n| n.name.as_str());
        let _ = write!(text, "\n  rank {rank} on {node}{}: {}", pid_text(proc.pid), job.state_of(rank));
    }
    text
}
