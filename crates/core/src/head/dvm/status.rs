//! The status of the DVM and of its nodes, and the reason why the DVM waits.

use std::collections::BTreeMap;

use ferrite_types::{CampaignKind, JobId, NodeId, NodeRecord, Timestamp};
use ferrite_wire::control::NodeStatus;

use crate::head::Head;
use crate::head::lists::listed;

impl Head {
    /// The reason why the DVM waits, in words; empty when it does not.
    pub(in crate::head) fn dvm_waits_for(&self, now: Timestamp) -> String {
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
            nodes => format!("the daemons of {} to report", listed(nodes.iter().copied())),
        }
    }

    /// The repair of the tree in words; empty when none is under way.
    fn repair_in_words(&self) -> String {
        let lost: Vec<&str> = self.dvm.under_repair().collect();
        match lost.as_slice() {
            [] => String::new(),
            lost => format!("all daemons to go on without those of {}", listed(lost.iter().copied())),
        }
    }

    /// The status of each node that belongs to the DVM, comes or leaves.
    pub(in crate::head) fn node_statuses(&self) -> Vec<NodeStatus> {
        let belongs = |node: &&NodeRecord| !self.pool.is_outside(node.id) || self.elastic.change_of(node.id).is_some();
        let mut living = self.living_on_nodes();
        let status = |node: &NodeRecord| self.node_status(node, living.remove(&node.id).unwrap_or_default());
        self.pool.records().iter().filter(belongs).map(status).collect()
    }

    /// The jobs with processes that have not ended, and their numbers, on each node.
    fn living_on_nodes(&self) -> BTreeMap<NodeId, Vec<(JobId, u32)>> {
        let mut found: BTreeMap<NodeId, Vec<(JobId, u32)>> = BTreeMap::new();
        for job in self.jobs.iter() {
            for (rank, _) in job.map().ranks().filter(|(rank, _)| job.has_living(*rank)) {
                let Some(node) = job.map().node_of(rank) else { continue };
                let jobs = found.entry(node.id).or_default();
                match jobs.last_mut() {
                    Some((last, procs)) if *last == job.id() => *procs += 1,
                    _ => jobs.push((job.id(), 1)),
                }
            }
        }
        found
    }

    fn node_status(&self, node: &NodeRecord, jobs: Vec<(JobId, u32)>) -> NodeStatus {
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
            resources: self.jobs.resources_of(node),
            jobs,
        }
    }
}
