//! Process sets that follow the size of an elastic job: `job:N` are its processes, and `job:N/delta/K` those by which
//! its latest change makes it larger or smaller (spec E65).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{JobId, NodeId, ProcId, Rank};
use ferrite_wire::ProcessSet;

use crate::cx::Cx;
use crate::head::Head;

/// The sets of elastic spawn trees.
#[derive(Debug, Default)]
pub(super) struct Memberships {
    /// The sets that are defined, by the root of the tree.
    known: BTreeMap<JobId, Membership>,
    /// Trees whose processes may have changed since.
    changed: BTreeSet<JobId>,
}

/// The sets of a tree as they are defined.
#[derive(Debug, Default)]
struct Membership {
    members: BTreeSet<ProcId>,
    /// Those of them that are to end.
    leaving: BTreeSet<ProcId>,
    /// The number of the latest change.
    change: u32,
}

impl Membership {
    fn delta(&self, root: JobId) -> String {
        format!("job:{root}/delta/{}", self.change)
    }
}

impl Head {
    /// Notes a change of a job's size: processes have come, are to end, or have ended because they were told to. An end
    /// of its own is no change: the processes of a large job end one by one. Most jobs are not elastic.
    pub(in crate::head) fn membership_changes(&mut self, id: JobId) {
        if let Some(root) = self.jobs.elastic_root_of(id) {
            self.tree_changes(root);
        }
    }

    /// Notes that a world of an elastic job is over, and its sets with it.
    pub(in crate::head) fn tree_changes(&mut self, root: JobId) {
        self.elastic.memberships.changed.insert(root);
    }

    /// Defines the sets anew of the trees that have changed. This comes after the input that has changed them.
    pub(in crate::head) fn settle_memberships(&mut self, cx: &mut Cx) {
        if self.elastic.memberships.changed.is_empty() {
            return;
        }
        for root in std::mem::take(&mut self.elastic.memberships.changed) {
            self.settle_membership(root, cx);
        }
    }

    /// Defines what has changed (spec E65).
    fn settle_membership(&mut self, root: JobId, cx: &mut Cx) {
        let places = self.jobs.living_of_tree(root);
        let members: BTreeSet<ProcId> = places.iter().map(|(proc, _)| *proc).collect();
        let mut known = self.elastic.memberships.known.remove(&root).unwrap_or_default();
        let name = format!("job:{root}");
        if members.is_empty() || self.dvm.is_ending() {
            self.delete_set(&name, cx);
            if !self.jobs.has_tree(root) {
                self.forget_size_steps(root);
            }
            return self.delete_set(&known.delta(root), cx);
        }
        let leaves = |(proc, node): &&(ProcId, NodeId)| self.elastic.retires(*proc) || self.elastic.is_to_leave(*node);
        let leaving: BTreeSet<ProcId> = places.iter().filter(leaves).map(|(proc, _)| *proc).collect();
        let newcomers: BTreeSet<ProcId> = match known.members.is_empty() {
            true => BTreeSet::new(),
            false => members.difference(&known.members).copied().collect(),
        };
        let told: BTreeSet<ProcId> = known.leaving.intersection(&members).copied().collect();
        let is_told = leaving == told;
        // The set of those that are to end stays until they have ended; any other gives way to the next change.
        if !(is_told && (!leaving.is_empty() || members == known.members)) {
            self.delete_set(&known.delta(root), cx);
            let delta = if is_told { &newcomers } else { &leaving };
            if !delta.is_empty() {
                known.change += 1;
                self.define_own_set(known.delta(root), delta, cx);
            }
        }
        if members != known.members || !self.has_set(&name) {
            self.delete_set(&name, cx);
            self.define_own_set(name, &members, cx);
        }
        self.elastic.memberships.known.insert(root, Membership { members, leaving, ..known });
    }

    fn define_own_set(&mut self, name: String, procs: &BTreeSet<ProcId>, cx: &mut Cx) {
        let mut members: BTreeMap<JobId, Vec<Rank>> = BTreeMap::new();
        procs.iter().for_each(|proc| members.entry(proc.job).or_default().push(proc.rank));
        let set = ProcessSet { name, members: members.into_iter().collect() };
        if let Err(refusal) = self.define_checked(set, cx) {
            // The DVM has too many sets. The job goes on without this one, and its submitter hears of it.
            if let Some(request) = procs.first().and_then(|proc| self.jobs.listener_of(proc.job)) {
                cx.notice_to(request, refusal.cause);
            }
        }
    }
}
