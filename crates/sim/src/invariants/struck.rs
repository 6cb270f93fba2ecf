//! The daemons that faults have struck so far: their links may be taken for lost, and news of them may be late or
//! wrong.
//!
//! Guarantees that hold for all other daemons use it.

use std::collections::BTreeSet;

use ferrite_router::Tree;
use ferrite_types::DaemonRank;

use super::{Observation, arithmetic};
use crate::scenario::Scenario;
use crate::world::Gone;

/// The struck daemons.
pub(super) struct Struck {
    tree: Tree,
    ranks: BTreeSet<DaemonRank>,
}

impl Struck {
    pub(super) fn new(scenario: &Scenario) -> Struck {
        Struck { tree: arithmetic(scenario), ranks: BTreeSet::new() }
    }

    /// To be shown everything, before it is judged.
    pub(super) fn see(&mut self, what: &Observation<'_>) {
        match what {
            Observation::Fault { fault, .. } => self.ranks.extend(fault.victim()),
            Observation::Cut { ends } => self.ranks.extend(ends.iter().filter(|end| **end != DaemonRank::HEAD)),
            Observation::Gone { rank, how: Gone::Crash, .. } => {
                self.ranks.insert(*rank);
            }
            _ => {}
        }
    }

    pub(super) fn contains(&self, rank: DaemonRank) -> bool {
        self.ranks.contains(&rank)
    }

    /// True when a fault has struck anybody.
    pub(super) fn any(&self) -> bool {
        !self.ranks.is_empty()
    }

    /// True when a fault has struck it, or somebody between it and the head.
    pub(super) fn on_the_way(&self, rank: DaemonRank) -> bool {
        self.contains(rank) || self.tree.ancestors(rank).any(|above| self.contains(above))
    }
}
