//! Collectives that gather up the tree of participants and come back down: PMIx fences, connects and PMI-1 barriers.

use bytes::Bytes;
use ferrite_types::{JobId, PmixStatus, Rank};
use serde::{Deserialize, Serialize};

/// Which interface a collective belongs to. They never mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// `PMIx_Fence`.
    PmixFence,
    /// PMI-1 `barrier_in`.
    Pmi1Barrier,
    /// `PMIx_Connect`.
    PmixConnect,
    /// `PMIx_Disconnect`.
    PmixDisconnect,
}

/// Who takes part in a collective. Nearly always processes of one job: the others then cost nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Members {
    /// The job; the lowest when there are several.
    pub job: JobId,
    /// Its participating ranks, sorted; empty = the whole job.
    pub ranks: Vec<Rank>,
    /// The same of other jobs, ascending.
    pub others: Vec<(JobId, Vec<Rank>)>,
}

impl Members {
    /// Ranks of one job, sorted; none = all of it.
    #[must_use]
    pub fn of(job: JobId, ranks: Vec<Rank>) -> Members {
        Members { job, ranks, others: Vec::new() }
    }

    /// Ranks of several jobs, in any order of the jobs; `None` when there is no job.
    #[must_use]
    pub fn of_jobs(mut jobs: Vec<(JobId, Vec<Rank>)>) -> Option<Members> {
        jobs.sort_unstable();
        let mut jobs = jobs.into_iter();
        let (job, ranks) = jobs.next()?;
        Some(Members { job, ranks, others: jobs.collect() })
    }

    /// Each job with its participating ranks; no ranks = the whole job.
    pub fn jobs(&self) -> impl Iterator<Item = (JobId, &[Rank])> {
        let others = self.others.iter().map(|(job, ranks)| (*job, ranks.as_slice()));
        std::iter::once((self.job, self.ranks.as_slice())).chain(others)
    }

    /// True when processes of this job take part.
    #[must_use]
    pub fn include(&self, job: JobId) -> bool {
        self.jobs().any(|(of, _)| of == job)
    }
}

/// Identity of a collective: who takes part, and the how-many-th of these participants it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CollectiveKey {
    /// Its interface.
    pub kind: CollectiveKind,
    /// Who takes part.
    pub members: Members,
    /// Counts the collectives of the same participants, from 0.
    pub sequence: u64,
}

/// A merged contribution: blobs in the order of arrival, or the PMIx status of what went wrong.
pub type Part = Result<Vec<Bytes>, PmixStatus>;

/// Merged data, or a PMIx status.
pub type CollectiveResult = Result<Bytes, PmixStatus>;
