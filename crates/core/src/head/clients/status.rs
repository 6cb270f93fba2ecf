//! Status of the head, its nodes and its jobs, and the reason why each of them waits.

use std::collections::BTreeMap;

use ferrite_map::display;
use ferrite_map::picture::{self, Subject};
use ferrite_types::{CampaignKind, JobId, JobState, NodeId, NodeRecord, Timestamp, Topology};
use ferrite_wire::control::{DvmStatus, Ending, JobDetail, JobStatus, NodeStatus, ProcStatus};

use crate::head::jobs::NODES_LEFT;
use crate::head::{Head, Job};

/// The number of names that a list shows before it is cut.
const SHOWN: usize = 4;
/// The largest job whose status names the binding of each process; a larger answer would not fit into one frame.
const MOST_BOUND: usize = 100_000;
/// The number of nodes beyond which the status merges equal nodes into one line.
const MOST_PLACES: usize = 32;

/// The status line of a job.
pub(in crate::head) fn line(head: &Head, job: &Job) -> JobStatus {
    let programs: Vec<&str> = job.spec.apps.iter().map(|app| app.argv[0].as_str()).collect();
    let entered = |state| job.states.iter().find(|(s, _)| *s == state).map(|(_, at)| at.0);
    JobStatus {
        job: job.id,
        name: programs.join(" : "),
        procs: job.procs.len() as u32,
        nodes: job.map.nodes.len() as u32,
        first_node: job.map.nodes.first().map(|node| node.name.clone()).unwrap_or_default(),
        state: job.state,
        exit_code: job.exit_code.or_else(|| job.is_over().then_some(0)),
        ending: job.is_over().then(|| ending(job)),
        waiting_for: head.waiting_for(job),
        submitted_us: entered(JobState::Init).unwrap_or(0),
        running_us: entered(JobState::Running),
        ended_us: entered(JobState::Terminated),
    }
}

/// How the job has ended, by the first failure.
fn ending(job: &Job) -> Ending {
    match job.states.iter().map(|(state, _)| *state).find(|state| state.is_error()) {
        None => Ending::Done,
        Some(JobState::CommFailed) => Ending::LostRanks,
        Some(JobState::KilledByCmd) if job.exit_code == Some(NODES_LEFT) => Ending::LostRanks,
        Some(JobState::KilledByCmd) => Ending::Killed,
        Some(_) if !job.launched => Ending::Refused,
        Some(_) => Ending::Failed,
    }
}

/// The details of a job for the history.
pub(in crate::head) fn detail(head: &Head, job: &Job) -> JobDetail {
    JobDetail {
        status: line(head, job),
        nspace: job.id.nspace(&head.config.dvm),
        states: job.states.iter().map(|(state, at)| (*state, at.0)).collect(),
        procs: Vec::new(),
        places: Vec::new(),
        cause: job.cause.clone(),
        lost_ranks: job.lost.clone(),
        record: head.job_record(job),
    }
}

impl Head {
    pub(super) fn status(&self, now: Timestamp) -> DvmStatus {
        let up = || self.nodes.iter().filter(|node| node.daemon.is_some());
        let held = self.jobs.values().filter(|job| job.held.is_some() && job.is_healthy()).count();
        let queued = self.queue.len() + self.cached.len();
        DvmStatus {
            dvm: self.config.dvm.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now_us: now.0,
            state: self.dvm_state,
            waiting_for: self.dvm_waits_for(now),
            nodes: (self.nodes.len() - self.given_back.len()) as u32,
            daemons: up().count() as u32,
            slots: up().map(|node| node.slots).sum(),
            slots_in_use: up().map(|node| node.slots_inuse).sum(),
            jobs_running: (self.jobs.len() - self.queue.len() - held) as u32,
            jobs_queued: queued as u32,
            jobs_held: held as u32,
            campaigns: self.campaign_statuses(),
            jobs_ended: self.clients.history.ended,
            jobs_failed: self.clients.history.failed,
            procs_running: self.jobs.values().map(|job| (job.procs.len() - job.ended) as u32).sum(),
        }
    }

    fn dvm_waits_for(&self, now: Timestamp) -> String {
        if self.exit.begun() {
            return "its daemons to leave".to_owned();
        }
        if self.bringup.ready {
            return [self.repair_in_words(), self.resize_in_words(now)]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default();
        }
        match self.missing_nodes() {
            nodes if nodes.is_empty() => "all daemons to be wired up".to_owned(),
            nodes => format!("the daemons of {} to report", listed(&nodes)),
        }
    }

    /// The repair of the tree in words; empty when none is under way.
    fn repair_in_words(&self) -> String {
        let lost: Vec<&str> = self.losses.repairing.values().map(String::as_str).collect();
        match lost.as_slice() {
            [] => String::new(),
            lost => format!("all daemons to go on without those of {}", listed(lost)),
        }
    }

    /// The open campaigns and extensions in words; empty when there are none.
    fn resize_in_words(&self, now: Timestamp) -> String {
        let campaigns = self.campaigns.open.iter();
        let campaigns =
            campaigns.map(|(id, campaign)| format!("{} {id}: {}", campaign.kind(), self.campaign_waits_for(*id)));
        campaigns.chain(self.extensions_in_words(now)).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn node_statuses(&self) -> Vec<NodeStatus> {
        let belongs =
            |node: &&NodeRecord| !self.given_back.contains(&node.id) || self.campaigns.of_node(node.id).is_some();
        self.nodes.iter().filter(belongs).map(|node| self.node_status(node)).collect()
    }

    fn node_status(&self, node: &NodeRecord) -> NodeStatus {
        let state = match node.daemon {
            None if let Some((_, kind)) = self.campaigns.of_node(node.id) => match kind {
                CampaignKind::Grow => "starting",
                CampaignKind::Shrink => "leaving",
            },
            None if self.losses.nodes.contains(&node.name) => "lost",
            None => "down",
            Some(rank) if self.is_missing(rank) => "starting",
            Some(_) => "up",
        };
        NodeStatus {
            name: node.name.clone(),
            daemon: node.daemon,
            state: state.to_owned(),
            slots: node.slots,
            slots_in_use: node.slots_inuse,
            max_slots: node.max_slots,
            cores: node.topology.usable_cores() as u32,
        }
    }

    pub(super) fn job_statuses(&self) -> Vec<JobStatus> {
        let over = self.clients.history.jobs().map(|job| job.status.clone());
        self.jobs.values().map(|job| line(self, job)).chain(over).collect()
    }

    pub(super) fn job_detail(&self, id: JobId) -> Option<JobDetail> {
        let Some(job) = self.jobs.get(&id) else {
            return self.clients.history.find(id).cloned();
        };
        Some(JobDetail { procs: self.proc_statuses(job), places: self.places(job), ..detail(self, job) })
    }

    fn proc_statuses(&self, job: &Job) -> Vec<ProcStatus> {
        let topologies: BTreeMap<NodeId, &Topology> =
            self.nodes.iter().map(|node| (node.id, &*node.topology)).collect();
        let says_bound = job.procs.len() <= MOST_BOUND;
        let ranks = job.map.ranks().zip(&job.procs);
        let status = ranks.map(|((rank, placement), proc)| {
            let node = job.map.node_of(rank);
            let topology = node.and_then(|node| topologies.get(&node.id));
            let bound = topology.filter(|_| says_bound && placement.cpus.is_some());
            let threads = job.map.policy(placement.app).is_some_and(|policy| policy.hwthreads);
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
        let (map, nodes) = (&job.map, self.nodes.as_slice());
        picture::lines(&Subject { job: &nspace, programs: &[], map, nodes, not_launched: false }, MOST_PLACES)
    }

    /// What a job waits for, in words; empty when it is over.
    pub(super) fn waiting_for(&self, job: &Job) -> String {
        if job.is_over() {
            return String::new();
        }
        if self.queue.contains(&job.id) {
            return self.queued_for(job);
        }
        if let Some(hold) = &job.held {
            return self.held_for(hold);
        }
        if !job.launched {
            let what = if job.procs.is_empty() { "its placement" } else { "its launch to be prepared" };
            return what.to_owned();
        }
        let (hosts, others): (Vec<_>, Vec<_>) =
            job.launching.iter().partition(|rank| job.map.on_daemon(*rank).next().is_some());
        for (ranks, what) in [(hosts, "to start its processes"), (others, "to know of it")] {
            if !ranks.is_empty() {
                let nodes: Vec<&str> = ranks.into_iter().map(|rank| self.node_name(rank)).collect();
                return format!("{} {what}", listed(&nodes));
            }
        }
        let living: Vec<String> = job.living().map(|rank| rank.to_string()).collect();
        let living: Vec<&str> = living.iter().map(String::as_str).collect();
        let kill = if job.is_healthy() { "to end" } else { "to be killed" };
        format!("{} of {} processes {kill} (ranks {})", living.len(), job.procs.len(), listed(&living))
    }
}

/// Lists the names of an iterator like `listed`.
pub(in crate::head) fn listed_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    listed(&names.collect::<Vec<_>>())
}

/// Joins names into `n1, n2, n3, n4 and 12 more`.
fn listed(names: &[&str]) -> String {
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_lists_are_cut() {
        assert_eq!(super::listed(&["a", "b"]), "a, b");
        assert_eq!(super::listed(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
    }
}
