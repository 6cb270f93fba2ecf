//! Collectives that gather up the tree of participants and come back down: PMIx fences and PMI-1 barriers.

use bytes::Bytes;
use ferrite_types::{JobId, Rank};
use serde::{Deserialize, Serialize};

/// Which interface a collective belongs to. They never mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// `PMIx_Fence`.
    PmixFence,
    /// PMI-1 `barrier_in`.
    Pmi1Barrier,
}

/// Identity of a collective: who takes part, and the how-many-th of these participants it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CollectiveKey {
    /// Its interface.
    pub kind: CollectiveKind,
    /// The job.
    pub job: JobId,
    /// The participating ranks, sorted; empty = the whole job.
    pub ranks: Vec<Rank>,
    /// Counts the collectives of the same participants, from 0.
    pub sequence: u64,
}

/// A merged contribution: blobs in the order of arrival, or the PMIx status of what went wrong.
pub type Part = Result<Vec<Bytes>, i32>;

/// Merged data, or a PMIx status.
pub type CollectiveResult = Result<Bytes, i32>;
