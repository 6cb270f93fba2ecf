//! Status of jobs: the line and the details of each, and the reason why it waits.

use std::iter;

use ferrite_map::display;
use ferrite_map::picture::{self, Subject};
use ferrite_rm::launcher::shell_quote;
use ferrite_types::{AppContext, JobId, JobState};
use ferrite_wire::control::{Ending, JobDetail, JobStatus, ProcStatus};

use super::failure_policy::NODES_LEFT;
use super::queue::Lineup;
use super::record::Job;
use crate::head::Head;
use crate::head::lists::listed;

/// The largest job whose status names the binding of each process; a larger answer would not fit into one frame.
const MOST_BOUND: usize = 100_000;
/// The number of nodes beyond which the status merges equal nodes into one line.
const MOST_PLACES: usize = 32;
/// The most characters of a command line in a status line: a list has a thousand of them.
const MOST_OF_COMMAND: usize = 240;

impl Head {
    /// The status line of a job (spec L131).
    pub(in crate::head) fn job_status(&self, job: &Job) -> JobStatus {
        self.job_status_in(job, &self.lineup(Some(job.id)))
    }

    /// The status line of each job that is not over.
    pub(in crate::head) fn all_job_statuses(&self) -> impl Iterator<Item = JobStatus> {
        let lineup = self.lineup(None);
        self.jobs.iter().map(move |job| self.job_status_in(job, &lineup))
    }

    fn job_status_in(&self, job: &Job, lineup: &Lineup) -> JobStatus {
        let programs: Vec<&str> = job.spec.apps.iter().map(|app| app.argv[0].as_str()).collect();
        let entered = |state| job.states.iter().find(|(s, _)| *s == state).map(|(_, at)| at.0);
        JobStatus {
            job: job.id,
            parent: job.birth.parent().map(|parent| parent.job),
            name: programs.join(" : "),
            task: job.task.clone(),
            priority: job.priority,
            command: command_line(&job.spec.apps),
            wdir: job.spec.apps.first().filter(|app| !app.session_cwd).map(AppContext::directory),
            procs: job.size() as u32,
            nodes: job.map().nodes.len() as u32,
            first_node: job.map().nodes.first().map(|node| node.name.clone()).unwrap_or_default(),
            state: job.state,
            exit_code: job.exit_code().or_else(|| job.is_over().then_some(0)),
            ending: job.is_over().then(|| ending(job)),
            waiting_for: self.waits_in(job, lineup),
            submitted_us: entered(JobState::Init).unwrap_or(0),
            running_us: entered(JobState::Running),
            ended_us: entered(JobState::Terminated),
            tree: job.spec.options.elastic.map(|range| self.tree_size(job.root, range)),
        }
    }

    /// The details of a job for the history.
    pub(super) fn final_detail(&self, job: &Job) -> JobDetail {
        JobDetail {
            status: self.job_status(job),
            nspace: job.id.nspace(&self.config.dvm),
            states: job.states.iter().map(|(state, at)| (*state, at.0)).collect(),
            procs: Vec::new(),
            places: Vec::new(),
            cause: job.cause().to_owned(),
            lost_ranks: job.lost.clone(),
            record: self.job_record(job),
        }
    }

    /// The details of a job that is not over.
    pub(in crate::head) fn job_detail(&self, id: JobId) -> Option<JobDetail> {
        let job = self.jobs.get(id)?;
        Some(JobDetail { procs: self.proc_statuses(job), places: self.places(job), ..self.final_detail(job) })
    }

    fn proc_statuses(&self, job: &Job) -> Vec<ProcStatus> {
        let says_bound = job.size() <= MOST_BOUND;
        let ranks = job.map().ranks().zip(job.procs());
        let status = ranks.map(|((rank, placement), (_, proc))| {
            let node = job.map().node_of(rank);
            let topology = node.map(|node| &*self.pool.record(node.id).topology);
            let bound = topology.filter(|_| says_bound && placement.cpus.is_some());
            let threads = job.map().policy(placement.app).is_some_and(|policy| policy.hwthreads);
            let devices = topology.map_or(&[][..], |topology| &topology.devices);
            let device = |at: &u16| devices.get(usize::from(*at)).map(|device| device.name.clone());
            ProcStatus {
                rank,
                app: placement.app,
                node: node.map(|node| node.name.clone()).unwrap_or_default(),
                bound_to: bound.map(|t| display::binding(t, placement.cpus.as_ref(), threads)).unwrap_or_default(),
                devices: placement.devices.iter().filter_map(device).collect(),
                pid: proc.pid,
                state: job.state_of(rank),
            }
        });
        status.collect()
    }

    /// The nodes of a job's processes; empty before the job is mapped.
    fn places(&self, job: &Job) -> Vec<String> {
        let nspace = job.id.nspace(&self.config.dvm);
        let (map, nodes) = (job.map(), self.pool.records());
        picture::lines(&Subject { job: &nspace, programs: &[], map, nodes, not_launched: false }, MOST_PLACES)
    }

    /// The reason why a job waits, in words; empty when it is over.
    pub(in crate::head) fn waiting_for(&self, job: &Job) -> String {
        self.waits_in(job, &self.lineup(Some(job.id)))
    }

    fn waits_in(&self, job: &Job, lineup: &Lineup) -> String {
        if job.is_over() {
            return String::new();
        }
        if self.jobs.queue.contains(job.id) {
            return self.queued_for(job, lineup);
        }
        if let Some(jobs) = self.awaited_jobs(job) {
            return jobs;
        }
        if let Some(hold) = job.hold() {
            return self.held_for(hold);
        }
        if let Some(files) = self.awaited_files(job) {
            return files;
        }
        let Some(launch) = job.launch() else {
            let what = if job.is_mapped() { "its launch to be prepared" } else { "its placement" };
            return what.to_owned();
        };
        let (hosts, others): (Vec<_>, Vec<_>) =
            launch.launching.iter().partition(|rank| job.map().on_daemon(*rank).next().is_some());
        for (ranks, what) in [(hosts, "to start its processes"), (others, "to know of it")] {
            if !ranks.is_empty() {
                let nodes = ranks.into_iter().map(|rank| self.node_name(rank));
                return format!("{} {what}", listed(nodes));
            }
        }
        if let Some(stacks) = self.awaited_stacks(job) {
            return stacks;
        }
        if let Some(debugger) = job.awaited_debugger() {
            return debugger;
        }
        let living: Vec<String> = job.living().map(|rank| rank.to_string()).collect();
        let kill = if job.is_healthy() { "to end" } else { "to be killed" };
        format!(
            "{} of {} processes {kill} (ranks {})",
            living.len(),
            job.size(),
            listed(living.iter().map(String::as_str))
        )
    }
}

/// The command lines of programs as one text, cut to its room.
fn command_line(apps: &[AppContext]) -> String {
    let mut line = String::new();
    for (app, joint) in apps.iter().zip(iter::once("").chain(iter::repeat(" : "))) {
        for (argument, joint) in app.argv.iter().zip(iter::once(joint).chain(iter::repeat(" "))) {
            line = line + joint + &shell_quote(argument);
            if let Some((cut, _)) = line.char_indices().nth(MOST_OF_COMMAND) {
                line.truncate(cut);
                return line + "…";
            }
        }
    }
    line
}

/// The end of the job, by the first failure.
fn ending(job: &Job) -> Ending {
    match job.states.iter().map(|(state, _)| *state).find(|state| state.is_error()) {
        // Its output is lost.
        None if job.exit_code().is_some_and(|code| code != 0) => Ending::Failed,
        None => Ending::Done,
        Some(JobState::CommFailed) => Ending::LostRanks,
        Some(JobState::KilledByCmd) if job.exit_code() == Some(NODES_LEFT) => Ending::LostRanks,
        Some(JobState::KilledByCmd) => Ending::Killed,
        Some(JobState::NeverLaunched) if !job.after.is_empty() => Ending::NotRun,
        Some(_) if !job.is_launched() => Ending::Refused,
        Some(_) => Ending::Failed,
    }
}
