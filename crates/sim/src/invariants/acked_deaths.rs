//! A death is acknowledged only when all who live below know of it, adopted ones included: what the head does when its
//! broadcast is complete relies on it.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input};
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{FrameKind, Message};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct AckedDeaths {
    /// Who is below whom does not depend on who is dead.
    tree: Tree,
    /// Not declared dead, by the head's word, and there.
    alive: BTreeSet<DaemonRank>,
    /// By broadcast: who has it.
    known: BTreeMap<u64, RankSet>,
}

impl AckedDeaths {
    pub(super) fn new(scenario: &Scenario) -> AckedDeaths {
        let tree = Tree::new(scenario.radix, scenario.daemons);
        AckedDeaths { tree, alive: BTreeSet::new(), known: BTreeMap::new() }
    }
}

impl Invariant for AckedDeaths {
    fn name(&self) -> &'static str {
        "a death is acknowledged when everybody below knows of it"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Born { rank } => {
                self.alive.insert(*rank);
            }
            Observation::Gone { rank, .. } => {
                self.alive.remove(rank);
            }
            Observation::Input {
                rank, input: Input::Frame { frame, .. }, message: Some(Message::Died { .. }), ..
            } => {
                if let FrameKind::Xcast { seq, .. } = frame.kind {
                    self.known.entry(seq).or_default().insert(*rank);
                }
            }
            Observation::Effect { rank, effect: Effect::Transmit { frame, .. }, message, .. } => {
                match (&frame.kind, message) {
                    (FrameKind::Xcast { .. }, Some(Message::Died { ranks, .. })) if *rank == DaemonRank::HEAD => {
                        ranks.iter().for_each(|rank| {
                            self.alive.remove(&rank);
                        });
                    }
                    (FrameKind::XcastAck { seq }, _) => {
                        let Some(known) = self.known.get(seq) else { return Ok(()) };
                        let below = self.alive.range(rank..).filter(|other| self.tree.is_ancestor(*rank, **other));
                        let missed = below.copied().find(|other| !known.contains(*other));
                        return require(missed.is_none(), || {
                            format!(
                                "daemon {rank} acknowledges broadcast {seq}, of which {missed:?} below it does not know"
                            )
                        });
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
