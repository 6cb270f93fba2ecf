//! The end of a process, and the exit code that a user sees for it.

use serde::{Deserialize, Serialize};

/// The result of `waitpid` for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExitStatus {
    /// It called `exit` with this code (0-255).
    Exited(u8),
    /// A signal of this number ended it.
    Signaled(u8),
}

impl ExitStatus {
    /// The shell's convention: the code itself, or 128 + signal (spec L28).
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Exited(code) => code,
            ExitStatus::Signaled(signal) => 128 | signal,
        }
    }
    /// Exit code zero.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == ExitStatus::Exited(0)
    }
}
