//! Grants: the jobs of the resource manager by which the DVM has nodes beyond the first job's. The head gives them
//! back: when their nodes leave, when none of a job's nodes is in use any more, and at the end of the DVM.
//!
//! The manager may grant a node of the DVM a second time. It shares the node between jobs, or it has ended the job that
//! the node came with, and the head has yet to hear that its daemon is gone. The head cannot tell which: the node is
//! *doubtful*. What runs there goes on, and when its daemon has gone the node is given up, so that no daemon is started
//! on a node of others.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_rm::{GiveBack, Share, Source};
use ferrite_types::{CampaignId, HostEntry, NodeId};

use super::Elastic;
use super::campaigns::Campaign;
use super::phase::Phase;
use crate::Effect;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::Pool;

/// The jobs that the manager has granted beside the first one.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// Each job of the manager with the nodes that it still grants.
    jobs: BTreeMap<String, BTreeSet<NodeId>>,
    /// Nodes that the manager has granted a second time. While in use they count as granted.
    doubtful: BTreeSet<NodeId>,
}

impl Grants {
    /// True for a job that grants nodes, or has granted nodes that are being given back.
    pub(super) fn has_job(&self, job: &str) -> bool {
        self.jobs.contains_key(job)
    }

    /// The jobs that grant nodes.
    pub(super) fn jobs(&self) -> impl Iterator<Item = String> {
        self.jobs.keys().cloned()
    }

    /// True for a node that some job grants.
    fn has(&self, node: NodeId) -> bool {
        self.jobs.values().any(|nodes| nodes.contains(&node))
    }

    /// Notes that a job grants a node. The new grant replaces any earlier one.
    fn add(&mut self, job: &str, node: NodeId) {
        self.forget(node);
        self.jobs.entry(job.to_owned()).or_default().insert(node);
    }

    /// No job grants this node any more.
    fn forget(&mut self, node: NodeId) {
        self.doubtful.remove(&node);
        self.jobs.values_mut().for_each(|nodes| {
            nodes.remove(&node);
        });
    }

    /// No job of this name grants nodes any more. Returns those that it has granted.
    fn forget_job(&mut self, job: &str) -> BTreeSet<NodeId> {
        let nodes = self.jobs.remove(job).unwrap_or_default();
        nodes.iter().for_each(|node| self.forget(*node));
        nodes
    }

    /// Notes that the manager has taken back a node of a job.
    fn on_taken_back(&mut self, job: &str, node: NodeId) {
        if let Some(nodes) = self.jobs.get_mut(job) {
            nodes.remove(&node);
        }
    }

    /// Notes which of these granted nodes are doubtful.
    fn doubt(&mut self, nodes: impl Iterator<Item = NodeId>) {
        let granted: Vec<NodeId> = nodes.filter(|node| self.has(*node)).collect();
        self.doubtful.extend(granted);
    }

    /// The doubtful ones of these nodes.
    fn doubtful_of(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        nodes.iter().copied().filter(|node| self.doubtful.contains(node)).collect()
    }

    /// Releases all granted jobs after the daemons have gone.
    pub(super) fn end_all(&mut self, cx: &mut Cx) {
        for job in std::mem::take(&mut self.jobs).into_keys() {
            cx.effect(Effect::EndAllocation { job });
        }
    }
}

impl Elastic {
    /// True for a node that a shrink has offered back as a part of this job.
    fn is_offered(&self, node: NodeId, job: &str) -> bool {
        let offers = |campaign: &Campaign| matches!(&campaign.phase, Phase::Releasing { offered } if offered.get(&node).is_some_and(|of| of == job));
        self.campaigns.open.values().any(offers)
    }
}

/// The names of nodes at the manager.
fn host_names(pool: &Pool, nodes: &BTreeSet<NodeId>) -> Vec<String> {
    nodes.iter().map(|node| pool.host(*node).name.clone()).collect()
}

impl Head {
    /// True for a node that the manager has taken back and not granted again, or has granted to another job meanwhile.
    pub(super) fn is_taken_back(&self, node: NodeId) -> bool {
        let managed = matches!(self.config.allocation.source, Source::Managed { .. });
        let is_gone = self.pool.is_outside(node) && !self.elastic.grants.has(node);
        managed && (is_gone || self.elastic.grants.doubtful.contains(&node))
    }

    /// Takes a granted host into the pool.
    pub(super) fn take_in(&mut self, job: &str, host: HostEntry) -> NodeId {
        let host = HostEntry { rm_job: Some(job.to_owned()), ..host };
        let node = self.pool.admit_granted(host, &self.local);
        self.elastic.grants.add(job, node);
        node
    }

    /// A grant that is not taken in has some nodes of the DVM (spec E40).
    pub(super) fn doubt(&mut self, hosts: &[HostEntry], cx: &mut Cx) {
        let ours = hosts.iter().filter_map(|host| self.pool.find(&host.name));
        self.elastic.grants.doubt(ours);
        self.settle_grants(cx);
    }

    /// Gives up the doubtful ones among nodes whose daemons have gone.
    pub(super) fn give_up_doubtful(&mut self, gone: &[NodeId]) {
        let nodes = self.elastic.grants.doubtful_of(gone);
        nodes.iter().for_each(|node| self.elastic.grants.forget(*node));
        self.sessions.remove(&nodes);
        self.pool.put_outside(nodes);
    }

    /// The releases at the manager for nodes that leave. A job that is given back whole leaves the record here (spec
    /// E40).
    pub(super) fn plan_give_back(&mut self, id: CampaignId, leaving: &[NodeId]) -> Vec<GiveBack> {
        let Some((manager, parent)) = self.elastic_manager() else { return Vec::new() };
        self.give_up_doubtful(leaving);
        let mut jobs: BTreeMap<String, BTreeSet<NodeId>> = BTreeMap::new();
        for node in leaving.iter().filter(|node| !self.is_taken_back(**node)) {
            if let Some(job) = &self.pool.host(*node).rm_job {
                jobs.entry(job.clone()).or_default().insert(*node);
            }
        }
        let mut back = Vec::new();
        for (job, leave) in jobs {
            let all: BTreeSet<NodeId> = match self.elastic.grants.jobs.get(&job) {
                Some(nodes) => nodes.clone(),
                None if job == parent => self
                    .pool
                    .inside()
                    .map(|node| node.id)
                    .filter(|node| self.pool.host(*node).rm_job.as_deref() == Some(&job))
                    .collect(),
                None => continue,
            };
            // Nodes that another shrink has just offered count as gone.
            let stays = |node: &&NodeId| !leave.contains(*node) && !self.elastic.is_offered(**node, &job);
            let stay: BTreeSet<NodeId> = all.iter().filter(stays).copied().collect();
            let share = if job == parent || stay.iter().any(|node| self.is_in_use(*node)) {
                if let Some(Phase::Releasing { offered }) =
                    self.elastic.campaigns.open.get_mut(&id).map(|campaign| &mut campaign.phase)
                {
                    offered.extend(leave.iter().map(|node| (*node, job.clone())));
                }
                Share::Part { leave: host_names(&self.pool, &leave), stay: host_names(&self.pool, &stay) }
            } else {
                self.forget_grant(&job);
                Share::Whole
            };
            back.push(GiveBack { manager, job, share });
        }
        back
    }

    /// True for a node that has a daemon, or may get one by what is under way.
    fn is_in_use(&self, node: NodeId) -> bool {
        self.is_in_change(node) || self.elastic.extensions.awaits(node)
    }

    fn is_in_change(&self, node: NodeId) -> bool {
        self.pool.record(node).daemon.is_some() || self.elastic.campaigns.of_node(node).is_some()
    }

    fn forget_grant(&mut self, job: &str) {
        let nodes = self.elastic.grants.forget_job(job);
        self.sessions.remove(&nodes.iter().copied().collect::<Vec<_>>());
        self.pool.put_outside(nodes);
    }

    /// Removes offered nodes from the grants, except for those that the manager lets the DVM keep.
    pub(super) fn on_taken_back(&mut self, offered: BTreeMap<NodeId, String>, kept: &[String]) {
        for (node, job) in offered {
            if kept.contains(&self.pool.host(node).name) {
                continue;
            }
            self.pool.put_outside([node]);
            self.elastic.grants.on_taken_back(&job, node);
        }
    }

    /// A doubtful node that is not in use is not granted any more. A job without a node in use is given back:
    /// its grow has failed, or all of its daemons were lost (spec E40).
    pub(in crate::head) fn settle_grants(&mut self, cx: &mut Cx) {
        let gone = self.elastic.grants.doubtful.iter().copied().filter(|node| !self.is_in_change(*node));
        let gone: Vec<NodeId> = gone.collect();
        self.give_up_doubtful(&gone);
        let idle = |(_, nodes): &(&String, &BTreeSet<NodeId>)| !nodes.iter().any(|node| self.is_in_use(*node));
        let jobs: Vec<String> = self.elastic.grants.jobs.iter().filter(idle).map(|(job, _)| job.clone()).collect();
        for job in jobs {
            self.forget_grant(&job);
            cx.effect(Effect::EndAllocation { job });
        }
    }

    pub(in crate::head) fn on_allocation_ended(&mut self, job: &str, error: Option<String>, cx: &mut Cx) {
        if let Some(error) = error {
            let manager = self.elastic_manager().map_or_else(String::new, |(manager, _)| manager.to_string());
            cx.notice(format!(
                "{manager} job {job} could not be given back: {error}.\nUnless somebody ends it, it lasts until its time limit."
            ));
        }
    }
}
