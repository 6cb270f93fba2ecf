//! The end of a process, and the exit code that a user sees for it.

use serde::{Deserialize, Serialize};

use crate::Signal;

/// The result of `waitpid` for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExitStatus {
    /// It called `exit` with this code (0-255).
    Exited(u8),
    /// This signal ended it.
    Signaled(#[serde(with = "crate::signal::byte")] Signal),
}

impl ExitStatus {
    /// The shell's convention: the code itself, or 128 + signal (spec L28).
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Exited(code) => code,
            ExitStatus::Signaled(signal) => 128 | (signal.0 & 0xff) as u8,
        }
    }
    /// Exit code zero.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == ExitStatus::Exited(0)
    }
}
