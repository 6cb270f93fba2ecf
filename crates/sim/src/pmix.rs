//! The PMIx library of one virtual node. It has the registered jobs, the local participants of open fences, and the
//! open upcalls.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{PmixToken, Registration};
use ferrite_types::{JobId, ProcId, Rank};
use ferrite_wire::Members;

/// The state of the library of one node.
#[derive(Debug, Default)]
pub(crate) struct PmixSide {
    jobs: BTreeMap<JobId, LocalJob>,
    waiting: BTreeMap<PmixToken, Waiting>,
    /// The local participants of each meeting that is not complete.
    meetings: BTreeMap<(Meeting, Members), BTreeSet<ProcId>>,
    /// Local processes that are gone.
    gone: BTreeSet<ProcId>,
}

/// A collective of processes of one job or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meeting {
    /// `PMIx_Fence`.
    Fence,
    /// `PMIx_Connect`.
    Connect,
    /// `PMIx_Disconnect`.
    Disconnect,
    /// `PMIx_Group_construct` of the group of this number.
    Group(u64),
    /// `PMIx_Group_destruct`.
    Ungroup(u64),
}

#[derive(Debug)]
struct LocalJob {
    ranks: BTreeSet<Rank>,
    daemons: usize,
    /// Number of its processes on all nodes.
    size: usize,
    parent: Option<JobId>,
}

/// The upcalls that wait for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// These processes, in a fence of so many daemons.
    Fence(Vec<ProcId>, usize),
    /// One process that asked to abort.
    Abort(ProcId),
    /// No process: a process that requests another size goes on.
    Resize,
    /// One process, which goes on whatever the answer is.
    Call(ProcId),
    /// Local participants of a meeting.
    Meeting(Vec<ProcId>),
}

/// Bytes that each daemon puts into a fence, unless a count wants others.
pub(crate) const FENCE_BYTES: usize = 8;

impl PmixSide {
    /// Registers a job; false when it was registered before.
    pub(crate) fn register(&mut self, registration: &Registration) -> bool {
        let map = &registration.order.map;
        let job = LocalJob {
            ranks: map.on_daemon(registration.daemon).map(|(rank, _)| rank).collect(),
            daemons: map.nodes.len(),
            size: map.procs.len(),
            parent: registration.order.parent.map(|parent| parent.job),
        };
        self.jobs.insert(registration.order.job, job).is_none()
    }

    /// Forgets a job; returns processes that have waited here for a meeting with it.
    pub(crate) fn deregister(&mut self, job: JobId) -> Vec<ProcId> {
        self.jobs.remove(&job);
        let over = self.meetings.extract_if(.., |(_, members), _| members.include(job));
        over.flat_map(|(_, come)| come).collect()
    }

    /// Returns the number of a job's processes on all nodes.
    pub(crate) fn size(&self, job: JobId) -> Option<usize> {
        self.jobs.get(&job).map(|job| job.size)
    }

    /// Returns the job that has spawned this one.
    pub(crate) fn parent(&self, job: JobId) -> Option<JobId> {
        self.jobs.get(&job)?.parent
    }

    /// Adds a process to a meeting; returns the local participants when it was the last of them.
    pub(crate) fn enter(&mut self, kind: Meeting, members: Members, proc: ProcId) -> Option<Vec<ProcId>> {
        let key = (kind, members);
        self.meetings.entry(key.clone()).or_default().insert(proc);
        self.complete(&key)
    }

    /// Removes a process; returns the meetings that are complete without it.
    pub(crate) fn proc_ended(&mut self, proc: ProcId) -> Vec<(Meeting, Members, Vec<ProcId>)> {
        self.gone.insert(proc);
        self.meetings.retain(|_, come| {
            come.remove(&proc);
            !come.is_empty()
        });
        let keys: Vec<(Meeting, Members)> = self.meetings.keys().cloned().collect();
        keys.into_iter().filter_map(|key| self.complete(&key).map(|all| (key.0, key.1, all))).collect()
    }

    fn complete(&mut self, key: &(Meeting, Members)) -> Option<Vec<ProcId>> {
        let come = self.meetings.get(key)?;
        let ranks = |job: JobId| {
            self.jobs
                .get(&job)
                .into_iter()
                .flat_map(move |local| local.ranks.iter().map(move |rank| ProcId { job, rank: *rank }))
        };
        let mut living = key.1.jobs().flat_map(|(job, _)| ranks(job)).filter(|proc| !self.gone.contains(proc));
        if living.any(|proc| !come.contains(&proc)) {
            return None;
        }
        self.meetings.remove(key).map(|come| come.into_iter().collect())
    }

    /// True when the job is known.
    #[must_use]
    pub(crate) fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// Returns the number of daemons that have processes of a job.
    pub(crate) fn daemons(&self, job: JobId) -> Option<usize> {
        self.jobs.get(&job).map(|job| job.daemons)
    }

    /// Notes an upcall.
    pub(crate) fn ask(&mut self, token: PmixToken, waiting: Waiting) {
        self.waiting.insert(token, waiting);
    }

    /// Takes an upcall that is answered; `None` when it was not made, or was answered before.
    pub(crate) fn answer(&mut self, token: PmixToken) -> Option<Waiting> {
        self.waiting.remove(&token)
    }
}
