//! The state of the wing: the jobs that are not over, and what is known of them together.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrite_map::Occupancy;
use ferrite_types::resources::{Amounts, MEMORY, SiteResources};
use ferrite_types::{JobId, JobState, NodeRecord, SessionId};
use ferrite_wire::control::{ResourceStatus, Submission};

use super::connections::Connections;
use super::dependencies::Dependencies;
use super::output::Mux;
use super::pulls::Pulls;
use super::record::Job;
use super::spawn::Trees;
use super::stacks::Gatherings;
use super::stdin::Feeds;
use super::waiting_list::WaitingList;
use crate::RequestId;

/// The jobs that are not over. The wing alone changes them; others read a job by [`Jobs::get`].
#[derive(Debug, Default)]
pub(in crate::head) struct Jobs {
    pub(super) known: BTreeMap<JobId, Job>,
    /// The jobs of each spawn tree, by the number of its root.
    trees_of: BTreeMap<JobId, BTreeSet<JobId>>,
    /// The jobs that another has spawned.
    spawned: BTreeSet<JobId>,
    /// The jobs that run beside others.
    companions: BTreeSet<JobId>,
    /// The jobs whose tasks have this name.
    named: BTreeMap<String, BTreeSet<JobId>>,
    /// The number of jobs that walks over all of them have met, for tests.
    looks: Cell<u64>,
    /// The number of tries to place a job, each of which may look at every node, for tests.
    placements: Cell<u64>,
    /// The number of nodes that these tries have looked at.
    nodes_tried: Cell<u64>,
    /// The number of the latest job.
    last: u32,
    /// Number of processes of all launched jobs.
    launched_procs: u32,
    /// Submissions that arrived before the DVM was ready.
    early: Vec<(RequestId, Submission)>,
    /// The jobs of submissions whose client is connected.
    pub(super) submitted: BTreeMap<RequestId, JobId>,
    pub(super) queue: WaitingList,
    pub(super) dependencies: Dependencies,
    /// Activated states that are not handled yet.
    pub(super) activated: VecDeque<(JobId, JobState)>,
    /// The use of each node by running jobs.
    pub(super) occupancy: Occupancy,
    pub(super) output: Mux,
    pub(super) pulls: Pulls,
    pub(super) feeds: Feeds,
    pub(super) trees: Trees,
    pub(super) connections: Connections,
    pub(super) gatherings: Gatherings,
}

/// The numbers of jobs by what they do.
#[derive(Clone, Copy, Debug)]
pub(in crate::head) struct Counts {
    pub(in crate::head) running: usize,
    /// Jobs that wait for slots, for the ends of other jobs, or for the DVM to be ready.
    pub(in crate::head) queued: usize,
    pub(in crate::head) held: usize,
    /// Processes that have not ended.
    pub(in crate::head) procs: usize,
}

impl Jobs {
    /// No job, on nodes that have these resources.
    pub(in crate::head) fn on(site: SiteResources) -> Jobs {
        Jobs { occupancy: Occupancy::of(site), ..Jobs::default() }
    }

    /// A number for a new job.
    pub(super) fn number(&mut self) -> JobId {
        self.last += 1;
        JobId(self.last)
    }

    /// The number of processes of which each finds this of what all nodes share; `None` = any number.
    pub(in crate::head) fn shared_room(&self, takes: &Amounts) -> Option<u32> {
        self.occupancy.shared_room(takes)
    }

    /// The shared resources, and how much of each is in use (spec L151).
    pub(in crate::head) fn shared_resources(&self) -> Vec<ResourceStatus> {
        let status = |name: &str| {
            let (amount, in_use) = self.occupancy.shared_amount(name)?;
            Some(ResourceStatus { name: name.to_owned(), amount, in_use })
        };
        self.occupancy.shared().filter_map(status).collect()
    }

    /// What is counted of a node besides slots: devices that jobs may have, memory, and what the site states.
    pub(in crate::head) fn resources_of(&self, node: &NodeRecord) -> Vec<ResourceStatus> {
        let stated = self.occupancy.resources().into_iter().filter(|name| *name != MEMORY);
        let amounts = std::iter::once(MEMORY).chain(stated).filter_map(|name| {
            let (amount, in_use) = self.occupancy.amount(node, name)?;
            Some((name, amount, in_use))
        });
        let all = self.occupancy.devices(node).into_iter().chain(amounts);
        all.map(|(name, amount, in_use)| ResourceStatus { name: name.to_owned(), amount, in_use }).collect()
    }

    /// Returns the number of processes launched before, and counts those of one more job. The count begins anew before
    /// a global rank would meet PMIx's special ranks.
    pub(super) fn take_rank_offset(&mut self, size: usize) -> u32 {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let fits = self.launched_procs.checked_add(size).filter(|end| *end <= i32::MAX as u32);
        let offset = fits.map_or(0, |_| self.launched_procs);
        self.launched_procs = fits.unwrap_or(size);
        offset
    }

    /// Adds a job.
    pub(super) fn add(&mut self, job: Job) {
        let id = job.id;
        self.trees_of.entry(job.root).or_default().insert(id);
        if job.birth.parent().is_some() {
            self.spawned.insert(id);
        }
        if job.spec.beside.is_some() {
            self.companions.insert(id);
        }
        if !job.task.is_empty() {
            self.named.entry(job.task.clone()).or_default().insert(id);
        }
        self.known.insert(id, job);
    }

    /// Takes a job out.
    pub(super) fn take(&mut self, id: JobId) -> Option<Job> {
        let job = self.known.remove(&id)?;
        self.spawned.remove(&id);
        self.companions.remove(&id);
        if let Some(named) = self.named.get_mut(&job.task) {
            named.remove(&id);
            if named.is_empty() {
                self.named.remove(&job.task);
            }
        }
        if let Some(tree) = self.trees_of.get_mut(&job.root) {
            tree.remove(&id);
            if tree.is_empty() {
                self.trees_of.remove(&job.root);
            }
        }
        Some(job)
    }

    pub(in crate::head) fn get(&self, id: JobId) -> Option<&Job> {
        self.known.get(&id)
    }

    /// The latest job that is not over whose task has this name.
    pub(super) fn named(&self, task: &str) -> Option<JobId> {
        self.named.get(task)?.last().copied()
    }

    /// True for the number of a job that is there, or was.
    pub(super) fn has_been(&self, id: JobId) -> bool {
        id != JobId::DAEMONS && id.0 <= self.last
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.known.get_mut(&id)
    }

    /// A job that the caller has just found, or whose state it handles.
    ///
    /// # Panics
    /// There is no such job: its caller has a number that it has not looked up.
    #[track_caller]
    pub(super) fn at(&self, id: JobId) -> &Job {
        self.get(id).unwrap_or_else(|| panic!("job {id} is not known"))
    }

    /// Like [`Jobs::at`], for a change.
    #[track_caller]
    pub(super) fn at_mut(&mut self, id: JobId) -> &mut Job {
        self.get_mut(id).unwrap_or_else(|| panic!("job {id} is not known"))
    }

    /// The jobs in the order of their submission.
    pub(in crate::head) fn iter(&self) -> impl Iterator<Item = &Job> {
        self.known.values().inspect(|_| self.looks.set(self.looks.get() + 1))
    }

    /// The jobs that this one has spawned and that are not over (spec L128).
    pub(super) fn children(&self, id: JobId) -> impl Iterator<Item = JobId> + '_ {
        let is_child = move |child: &JobId| self.at(*child).birth.parent().is_some_and(|parent| parent.job == id);
        self.spawned.iter().copied().filter(is_child)
    }

    /// The jobs that run beside others.
    pub(super) fn companions(&self) -> impl Iterator<Item = &Job> {
        self.companions.iter().map(|id| self.at(*id))
    }

    /// The number of jobs that walks have met.
    pub(in crate::head) fn looks(&self) -> u64 {
        self.looks.get() + self.queue.looks.get()
    }

    /// The number of tries to place a job.
    pub(in crate::head) fn placements(&self) -> u64 {
        self.placements.get()
    }

    /// The number of nodes that these tries have looked at.
    pub(in crate::head) fn nodes_tried(&self) -> u64 {
        self.nodes_tried.get()
    }

    /// Notes a try to place a job on so many nodes.
    pub(super) fn note_placement(&self, nodes: usize) {
        self.placements.set(self.placements.get() + 1);
        self.note_nodes(nodes);
    }

    /// Notes a look at so many nodes for a job that is to be placed.
    pub(in crate::head) fn note_nodes(&self, nodes: usize) {
        self.nodes_tried.set(self.nodes_tried.get() + nodes as u64);
    }

    pub(super) fn ids(&self) -> Vec<JobId> {
        self.looks.set(self.looks.get() + self.known.len() as u64);
        self.known.keys().copied().collect()
    }

    pub(in crate::head) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The job of a submission whose client is connected.
    pub(in crate::head) fn of_submission(&self, request: RequestId) -> Option<JobId> {
        self.submitted.get(&request).copied()
    }

    /// Keeps a submission until the DVM is ready.
    pub(super) fn keep_early(&mut self, request: RequestId, submission: Submission) {
        self.early.push((request, submission));
    }

    /// Takes out the submissions that came before the DVM was ready.
    pub(super) fn take_early(&mut self) -> Vec<(RequestId, Submission)> {
        std::mem::take(&mut self.early)
    }

    /// Drops an early submission. True if there was one.
    pub(super) fn drop_early(&mut self, request: RequestId) -> bool {
        let before = self.early.len();
        self.early.retain(|(id, _)| *id != request);
        self.early.len() != before
    }

    /// True when users only want maps, for which no daemon is started (spec L13).
    pub(super) fn only_map(&self) -> bool {
        !self.early.is_empty() && self.early.iter().all(|(_, submission)| submission.spec.options.do_not_launch)
    }

    /// The jobs of a session.
    pub(in crate::head) fn in_session(&self, session: SessionId) -> Vec<JobId> {
        self.iter().filter(|job| job.session == session).map(|job| job.id).collect()
    }

    /// The submitters of the jobs of a session, one for each job that has one.
    pub(in crate::head) fn submitters_in(&self, session: SessionId) -> Vec<RequestId> {
        self.iter().filter(|job| job.session == session).filter_map(|job| job.request).collect()
    }

    /// True while a job, or one that descends from it, is not over.
    pub(in crate::head) fn has_family(&self, id: JobId) -> bool {
        self.iter().any(|job| job.id == id || job.ancestors.contains(&id))
    }

    /// A job and all that descend from it, separate ones too, as far as they are not over, the oldest first
    /// (spec L130).
    pub(in crate::head) fn with_descendants(&self, id: JobId) -> Vec<JobId> {
        let descends = |job: &&Job| job.ancestors.contains(&id) || job.apart_from.contains(&id);
        let family = self.iter().filter(|job| job.id == id || descends(job)).filter(|job| !job.is_over());
        family.map(|job| job.id).collect()
    }

    /// The jobs of a tree that are not over, the oldest first (spec L128).
    pub(super) fn tree_of(&self, root: JobId) -> Vec<JobId> {
        self.trees_of.get(&root).into_iter().flatten().copied().collect()
    }

    /// True while a job of this spawn tree is not over.
    pub(in crate::head) fn has_tree(&self, root: JobId) -> bool {
        self.trees_of.contains_key(&root)
    }

    /// The jobs of a submission whose client is connected: the submitted one and all that it has spawned.
    pub(super) fn submitted_tree(&self, request: RequestId) -> Vec<JobId> {
        self.of_submission(request).map(|root| self.tree_of(root)).unwrap_or_default()
    }

    /// Forgets a client that is gone. Returns the jobs of its submission.
    pub(super) fn lose_submitter(&mut self, request: RequestId) -> Vec<JobId> {
        let ids = self.submitted_tree(request);
        self.submitted.remove(&request);
        for id in &ids {
            self.at_mut(*id).request = None;
        }
        ids
    }

    /// The jobs whose submitter waits for their end. Those without an exit code get this one.
    pub(super) fn give_up(&mut self, code: u8) -> Vec<JobId> {
        let awaited = self.known.values_mut().filter(|job| job.request.is_some());
        awaited
            .map(|job| {
                if job.is_healthy() {
                    job.set_outcome(code, String::new());
                }
                job.id
            })
            .collect()
    }

    /// The numbers of jobs by what they do, for the status.
    pub(in crate::head) fn counts(&self) -> Counts {
        let held = self.iter().filter(|job| job.hold().is_some() && job.is_healthy()).count();
        Counts {
            running: self.known.len() - self.queue.len() - self.dependencies.len() - held,
            queued: self.queue.len() + self.dependencies.len() + self.early.len(),
            held,
            procs: self.iter().map(|job| job.size() - job.ended()).sum(),
        }
    }
}
