//! The PMIx library of one virtual node: knows the registered jobs, collects local participants of a
//! fence, and remembers which upcall waits for which answer.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{PmixToken, Registration};
use ferrite_types::{JobId, ProcId, Rank};

/// What the library of one node holds.
#[derive(Debug, Default)]
pub(crate) struct PmixSide {
    jobs: BTreeMap<JobId, LocalJob>,
    waiting: BTreeMap<PmixToken, Waiting>,
}

#[derive(Debug)]
struct LocalJob {
    ranks: BTreeSet<Rank>,
    daemons: usize,
    in_fence: BTreeSet<Rank>,
}

/// Who waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// These processes, in a fence of so many daemons.
    Fence(Vec<ProcId>, usize),
    /// One process that asked to abort.
    Abort(ProcId),
    /// Nobody: who asks for another size goes on meanwhile.
    Resize,
}

/// Bytes that each daemon puts into a fence.
pub(crate) const FENCE_BYTES: usize = 8;

impl PmixSide {
    /// Makes a job known; false when it was.
    pub(crate) fn register(&mut self, registration: &Registration) -> bool {
        let map = &registration.order.map;
        let job = LocalJob {
            ranks: map.on_daemon(registration.daemon).map(|(rank, _)| rank).collect(),
            daemons: map.nodes.len(),
            in_fence: BTreeSet::new(),
        };
        self.jobs.insert(registration.order.job, job).is_none()
    }

    /// Forgets a job; false when it was not known.
    pub(crate) fn deregister(&mut self, job: JobId) -> bool {
        self.jobs.remove(&job).is_some()
    }

    /// True when the job is known.
    #[must_use]
    pub(crate) fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// A process enters a fence of its whole job. The participants, when it was the last of them here.
    pub(crate) fn enter_fence(&mut self, proc: ProcId) -> Option<Waiting> {
        let job = self.jobs.get_mut(&proc.job)?;
        job.in_fence.insert(proc.rank);
        if job.in_fence != job.ranks {
            return None;
        }
        job.in_fence.clear();
        let procs = job.ranks.iter().map(|rank| ProcId { job: proc.job, rank: *rank });
        Some(Waiting::Fence(procs.collect(), job.daemons))
    }

    /// An upcall was made.
    pub(crate) fn ask(&mut self, token: PmixToken, waiting: Waiting) {
        self.waiting.insert(token, waiting);
    }

    /// An upcall was answered; `None` when it was not made or was answered before.
    pub(crate) fn answer(&mut self, token: PmixToken) -> Option<Waiting> {
        self.waiting.remove(&token)
    }
}
