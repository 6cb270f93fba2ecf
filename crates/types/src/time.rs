//! Time in the pure crates: a number that the driver (or the simulator) passes in.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Microseconds since an arbitrary start of this process (monotonic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub u64);

/// A span in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Duration(pub u64);

impl Duration {
    /// `n` seconds.
    #[must_use]
    pub const fn from_secs(n: u64) -> Self {
        Duration(n * 1_000_000)
    }
    /// `n` milliseconds.
    #[must_use]
    pub const fn from_millis(n: u64) -> Self {
        Duration(n * 1_000)
    }
    /// In whole microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    fn add(self, d: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(d.0))
    }
}
impl Sub for Timestamp {
    type Output = Duration;
    /// Saturates at zero: an earlier time minus a later one is "no time".
    fn sub(self, earlier: Timestamp) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000_000 {
            write!(f, "{}.{:03} ms", self.0 / 1000, self.0 % 1000)
        } else {
            write!(f, "{}.{:03} s", self.0 / 1_000_000, self.0 / 1000 % 1000)
        }
    }
}
