//! Process sets: names for processes of one job or of several, and who may bear them.

use ferrite_types::{JobId, Rank};
use serde::{Deserialize, Serialize};

/// The longest name of a process set (bytes): that of a PMIx key.
pub const MAX_SET_NAME: usize = 511;

/// A process set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSet {
    /// Its name, unique in the DVM.
    pub name: String,
    /// Its members by job, each list ascending and not empty.
    pub members: Vec<(JobId, Vec<Rank>)>,
}

impl ProcessSet {
    /// The number of its members.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.iter().map(|(_, ranks)| ranks.len()).sum()
    }

    /// True when processes of the job are members.
    #[must_use]
    pub fn includes(&self, job: JobId) -> bool {
        self.members.iter().any(|(of, _)| *of == job)
    }
}

/// The names of the sets that the DVM defines for elastic jobs begin so.
const OF_JOBS: &str = "job:";

/// Returns the reason why a process set cannot have this name (spec E65). Queries list names with commas between.
#[must_use]
pub fn bad_set_name(name: &str) -> Option<&'static str> {
    match () {
        () if name.is_empty() => Some("it is empty"),
        () if name.len() > MAX_SET_NAME => Some("it is longer than 511 bytes"),
        () if name.starts_with(OF_JOBS) => Some("names that begin with job: are those of elastic jobs"),
        () if name.contains(',') => Some("it has a comma, which separates names"),
        () if name.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            Some("it has a space or a control character")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (spec E65)
    #[test]
    fn a_name_can_stand_in_a_list() {
        assert_eq!(bad_set_name("mpi://atmosphere"), None);
        for bad in ["", "a,b", "a b", "a\n", "job:1", &"x".repeat(512)] {
            assert!(bad_set_name(bad).is_some(), "{bad:?}");
        }
    }
}
