//! Status of the head and its nodes, and the reason why it waits; `jobs/status.rs` has that of jobs.

use ferrite_types::{CampaignKind, JobId, NodeRecord, Timestamp};
use ferrite_wire::control::{DvmStatus, JobDetail, JobStatus, NodeStatus};

use crate::head::Head;

/// The number of names that a list shows before it is cut.
const SHOWN: usize = 4;

impl Head {
    pub(super) fn status(&self, now: Timestamp) -> DvmStatus {
        let jobs = self.jobs.counts();
        DvmStatus {
            dvm: self.config.dvm.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now_us: now.0,
            state: self.dvm.state(),
            waiting_for: self.dvm_waits_for(now),
            nodes: self.pool.inside().count() as u32,
            daemons: self.pool.up().count() as u32,
            slots: self.pool.total_slots(),
            slots_in_use: self.pool.up().map(|node| node.slots_inuse).sum(),
            jobs_running: jobs.running as u32,
            jobs_queued: jobs.queued as u32,
            jobs_held: jobs.held as u32,
            campaigns: self.campaign_statuses(),
            jobs_ended: self.clients.history.ended,
            jobs_failed: self.clients.history.failed,
            procs_running: jobs.procs as u32,
        }
    }

    fn dvm_waits_for(&self, now: Timestamp) -> String {
        if self.dvm.is_ending() {
            return "its daemons to leave".to_owned();
        }
        if self.dvm.is_ready() {
            return [self.repair_in_words(), self.resize_in_words(now)]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default();
        }
        let missing: Vec<&str> = self.dvm.missing().iter().map(|rank| self.node_name(rank)).collect();
        match missing.as_slice() {
            [] => "all daemons to be wired up".to_owned(),
            nodes => format!("the daemons of {} to report", listed(nodes)),
        }
    }

    /// The repair of the tree in words; empty when none is under way.
    fn repair_in_words(&self) -> String {
        let lost: Vec<&str> = self.dvm.under_repair().collect();
        match lost.as_slice() {
            [] => String::new(),
            lost => format!("all daemons to go on without those of {}", listed(lost)),
        }
    }

    pub(super) fn node_statuses(&self) -> Vec<NodeStatus> {
        let belongs = |node: &&NodeRecord| !self.pool.is_outside(node.id) || self.elastic.change_of(node.id).is_some();
        self.pool.records().iter().filter(belongs).map(|node| self.node_status(node)).collect()
    }

    fn node_status(&self, node: &NodeRecord) -> NodeStatus {
        let state = match node.daemon {
            None if let Some(kind) = self.elastic.change_of(node.id) => match kind {
                CampaignKind::Grow => "starting",
                CampaignKind::Shrink => "leaving",
            },
            None if self.pool.is_lost(node.id) => "lost",
            None => "down",
            Some(rank) if self.dvm.missing().contains(rank) => "starting",
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

    /// The details of a job, over or not.
    pub(super) fn known_detail(&self, id: JobId) -> Option<JobDetail> {
        self.job_detail(id).or_else(|| self.clients.history.find(id).cloned())
    }

    pub(super) fn job_statuses(&self) -> Vec<JobStatus> {
        let over = self.clients.history.jobs().map(|job| job.status.clone());
        self.jobs.iter().map(|job| self.job_status(job)).chain(over).collect()
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
