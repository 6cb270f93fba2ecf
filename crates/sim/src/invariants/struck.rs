//! The daemons that faults have struck so far. Their links may be taken for lost, and reports about them may be late or
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

    /// Notes an observation; called before the guarantee judges it.
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

    /// True when a fault has struck any daemon.
    pub(super) fn any(&self) -> bool {
        !self.ranks.is_empty()
    }

    /// True when a fault has struck the daemon, or one on its route to the head.
    pub(super) fn on_the_way(&self, rank: DaemonRank) -> bool {
        self.contains(rank) || self.tree.ancestors(rank).any(|above| self.contains(above))
    }
}
