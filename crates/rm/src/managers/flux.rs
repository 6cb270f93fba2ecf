//! Flux: an instance says to its jobs where it is (`FLUX_URI`), which job they are (`FLUX_JOB_ID`) and on how many nodes, but not on
//! which: that is told by the commands of Flux, which are not run here. Never run against the real thing.

use super::Manager;
use super::error::DiscoveryError;

pub(super) const SIGNS: [&str; 2] = ["FLUX_URI", "FLUX_JOB_ID"];

pub(super) fn refusal() -> DiscoveryError {
    DiscoveryError::Unsaid { manager: Manager::Flux }
}
