//! The field's own words for each refusal of placement. Tools and test suites search messages for them; our numbers and
//! advice follow behind.

use crate::error::MapError;
use crate::placement_policy::kind_word;

impl MapError {
    /// Returns the message of a job that cannot be placed: the field's words for it, and then what does not fit.
    #[must_use]
    pub fn refusal(&self) -> String {
        match self.topic() {
            Some(topic) => format!("{topic}\n{self}"),
            None => self.to_string(),
        }
    }

    /// Returns the words by which the field knows this refusal; `None` where it has none.
    fn topic(&self) -> Option<String> {
        let topic = match self {
            MapError::NotEnoughSlots { .. } => "There are not enough slots available.",
            MapError::MaxSlots { .. } => "Your job failed to map: max_slots.",
            MapError::MissingObject { .. } | MapError::TooFewDevices { .. } => {
                "A node in the allocation has no object of that type."
            }
            MapError::BindAboveMap { bind, map } => {
                return Some(format!(
                    "The specified binding lies above the mapping object type:\n    Mapping level: BY{}\n    Binding level: {}",
                    kind_word(*map).to_uppercase(),
                    kind_word(*bind).to_uppercase(),
                ));
            }
            MapError::RankNeedsObjects { .. } => "must map by object (must-map-by-obj).",
            MapError::PprConflict { .. } => "The job has requested more processes than the ppr can support.",
            MapError::BindNotUnit { .. } => {
                "PE=n or a list cannot be combined with a binding directive other than core."
            }
            MapError::ProcessTooLarge { .. } => "A request for multiple cpus-per-proc: the object has less cpus.",
            MapError::Overload { .. } => "The binding needs more cpus than are available in your allocation.",
            MapError::SequenceTooShort { .. } => {
                "A sequential map was requested, but there are not enough node entries."
            }
            MapError::RankMissing { .. } => "A rank is missing its location specification.",
            _ => return None,
        };
        Some(topic.to_owned())
    }
}
