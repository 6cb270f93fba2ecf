//! Forwarded input and output.

use ferrite_types::Rank;
use serde::{Deserialize, Serialize};

/// A process's output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
}

impl Stream {
    /// `stdout` or `stderr`, as in output tags.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// The ranks of a job that read standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdinDest {
    /// One rank.
    Rank(Rank),
    /// Every rank.
    All,
}
