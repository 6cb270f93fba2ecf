//! Collectives, which gather up the participant tree and come back down: PMIx fences, connects, disconnects,
//! groups and PMI-1 barriers.

use bytes::Bytes;
use ferrite_types::{JobId, PmixStatus, Rank};
use serde::{Deserialize, Serialize};

/// The interface of a collective. Collectives of different interfaces never mix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// `PMIx_Fence`.
    PmixFence,
    /// PMI-1 `barrier_in`.
    Pmi1Barrier,
    /// `PMIx_Connect`.
    PmixConnect,
    /// `PMIx_Disconnect`.
    PmixDisconnect,
    /// `PMIx_Group_construct`, with the name of the group.
    GroupConstruct(String),
    /// `PMIx_Group_destruct`, with the name of the group.
    GroupDestruct(String),
}

/// The members of a collective: nearly always processes of one job, for which `others` is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Members {
    /// The job; the lowest when there are several.
    pub job: JobId,
    /// Its participating ranks, sorted; empty = the whole job.
    pub ranks: Vec<Rank>,
    /// Further jobs with their participating ranks, ascending.
    pub others: Vec<(JobId, Vec<Rank>)>,
}

impl Members {
    /// Members of one job, sorted; no ranks mean the whole job.
    #[must_use]
    pub fn of(job: JobId, ranks: Vec<Rank>) -> Members {
        Members { job, ranks, others: Vec::new() }
    }

    /// Members of several jobs, in any order of the jobs; `None` when there is no job.
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

/// Identity of a collective: its interface, its members, and its number in their series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CollectiveKey {
    /// The interface of the collective.
    pub kind: CollectiveKind,
    /// The participating processes.
    pub members: Members,
    /// The number of the collective in the series of these members, from 0.
    pub sequence: u64,
}

/// A merged contribution: blobs in the order of arrival, or the PMIx status of a failure.
pub type Part = Result<Vec<Bytes>, PmixStatus>;

/// The result of a collective: merged data, or a PMIx status.
pub type CollectiveResult = Result<Bytes, PmixStatus>;
