//! Signals, by the numbers of Linux.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A signal for processes of a job. Only the operating system knows which numbers it takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signal(pub i32);

impl Signal {
    /// The terminal is gone.
    pub const HUP: Signal = Signal(1);
    /// Ctrl-C.
    pub const INT: Signal = Signal(2);
    /// Ends a process; nothing can catch it.
    pub const KILL: Signal = Signal(9);
    /// Asks a process to end.
    pub const TERM: Signal = Signal(15);
    /// Lets a stopped process go on.
    pub const CONT: Signal = Signal(18);
    /// Stops a process; nothing can catch it.
    pub const STOP: Signal = Signal(19);

    /// The signal of a number that Linux knows.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Signal> {
        i32::try_from(number).ok().filter(|number| (1..=64).contains(number)).map(Signal)
    }

    /// The name of a signal that often ends processes, as in "was ended by signal 11 (SIGSEGV)".
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "SIGHUP",
            2 => "SIGINT",
            3 => "SIGQUIT",
            4 => "SIGILL",
            6 => "SIGABRT",
            7 => "SIGBUS",
            8 => "SIGFPE",
            9 => "SIGKILL",
            11 => "SIGSEGV",
            13 => "SIGPIPE",
            15 => "SIGTERM",
            _ => return None,
        })
    }
}

impl fmt::Display for Signal {
    /// The number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Signal {
    /// The number, as in the traces of the simulator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A signal as one byte, as it stands in the exit status of a process.
pub(crate) mod byte {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Signal;

    pub(crate) fn serialize<S: Serializer>(signal: &Signal, to: S) -> Result<S::Ok, S::Error> {
        ((signal.0 & 0xff) as u8).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Signal, D::Error> {
        u8::deserialize(from).map(|number| Signal(i32::from(number)))
    }
}
