//! Batches: lists of jobs that a process of the DVM submits, so that their client may leave.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchId(pub u32);

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// The largest list of a batch with its environment (bytes): it comes in one frame.
pub const MOST_OF_BATCH: usize = 48 << 20;

/// A request about batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchOrder {
    /// Starts a batch; answered by [`super::Reply::Batches`] with this one.
    Start(Box<BatchStart>),
    /// Asks for all batches; answered by [`super::Reply::Batches`].
    List,
    /// Ends a batch: its jobs are cancelled, and each task gets its record. Answered by [`super::Reply::Ordered`].
    Cancel(BatchId),
    /// Asks for records; answered by [`super::Reply::Results`].
    Results {
        /// The batch.
        batch: BatchId,
        /// Where they begin in the file of results (bytes).
        offset: u64,
        /// True to wait until there is something beyond the offset, or the batch is over.
        wait: bool,
    },
    /// Tells how far the batch is: for the process that runs it. Answered by [`super::Reply::Ordered`].
    Report {
        /// The batch.
        batch: BatchId,
        /// The states that are counted.
        counts: BatchCounts,
    },
}

/// A list of jobs, and the surroundings in which it was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchStart {
    /// The name of the list, for people.
    pub name: String,
    /// The list.
    pub list: Bytes,
    /// Options of `prun` for the list, a word each.
    pub options: Vec<String>,
    /// The file of results, if the submitter names one.
    pub results: Option<String>,
    /// The environment of the submitter.
    pub env: Vec<(String, String)>,
    /// Its directory.
    pub cwd: String,
}

/// The number of tasks of a batch in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCounts {
    /// All tasks.
    pub tasks: u64,
    /// Tasks that are over.
    pub ended: u64,
    /// Those of them that have not ended well.
    pub failed: u64,
    /// Tasks that were submitted and are not over.
    pub open: u64,
    /// The length of the file of results (bytes).
    pub bytes: u64,
}

/// The status of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchStatus {
    /// Its number.
    pub batch: BatchId,
    /// The name of the list.
    pub name: String,
    /// How far it is.
    pub counts: BatchCounts,
    /// The file of its results, on the head's node.
    pub results: String,
    /// The time of its submission (microseconds since the DVM began).
    pub began_us: u64,
    /// The time of its end.
    pub ended_us: Option<u64>,
    /// The exit code of the process that runs it: 0 = all tasks have ended well. `None` while it runs.
    pub exit_code: Option<u8>,
    /// How often that process was killed and started again.
    pub restarts: u32,
}

/// A piece of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPiece {
    /// Bytes of the file of results; none = there is nothing beyond the offset.
    pub data: Bytes,
    /// The exit code of a batch that is over, when nothing follows.
    pub over: Option<u8>,
}
