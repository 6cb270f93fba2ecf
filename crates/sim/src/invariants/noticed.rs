//! Guarantee: a daemon that is silent far beyond all deadlines is declared dead.

use ferrite_core::{Effect, Input};
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{Message, TreeMessage};

use super::changes::Changes;
use super::silence::Silence;
use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The limit: 15 s without a sign of life, up to 5 s until the next check, 3 s for a call; twice that, because the
/// checking daemons may be struck themselves.
const LONG: Time = 45_000_000;

pub(super) struct Noticed {
    changes: Changes,
    silence: Silence,
    /// Silence of newcomers that were not there yet or on their way: the grow has its own deadline.
    early: Silence,
    applies: bool,
    ready: bool,
    declared: RankSet,
    born: RankSet,
    gone: RankSet,
}

impl Noticed {
    pub(super) fn new(scenario: &Scenario) -> Noticed {
        let applies = scenario.must_survive() && scenario.has_quiet_phase();
        let (declared, born, gone) = (RankSet::new(), RankSet::new(), RankSet::new());
        let (silence, early) = (Silence::default(), Silence::default());
        Noticed { changes: Changes::default(), silence, early, applies, ready: false, declared, born, gone }
    }
}

impl Invariant for Noticed {
    fn name(&self) -> &'static str {
        "whoever is silent for too long is declared dead"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        match what {
            Observation::Fault { at, fault } => {
                let has_come = |rank| self.born.contains(rank) && !self.changes.is_newcomer(rank);
                let is_there = self.ready && fault.victim().is_none_or(has_come);
                // A daemon that was cut off before it was there is not cut off once more. It comes back when the first
                // time is over.
                let book = if is_there && !self.early.covers(*at, fault) { &mut self.silence } else { &mut self.early };
                book.begin(*at, fault);
            }
            Observation::Born { rank } => {
                self.early.born(*rank);
                self.born.insert(*rank);
            }
            Observation::Gone { rank, .. } => {
                self.gone.insert(*rank);
            }
            Observation::Effect { effect: Effect::Ready, .. } => self.ready = true,
            Observation::Effect {
                rank: DaemonRank::HEAD,
                message: Some(Message::Tree(TreeMessage::Died { ranks, .. })),
                ..
            } => {
                self.declared.insert_all(ranks);
            }
            Observation::Input { rank: DaemonRank::HEAD, input: Input::Terminate { .. }, .. } if self.applies => {
                let is_known = |rank: &DaemonRank| self.declared.contains(*rank) || self.gone.contains(*rank);
                let missed = self.silence.longer_than(LONG).find(|rank| !is_known(rank));
                return require(missed.is_none(), || format!("the silence of daemon {missed:?} was not noticed"));
            }
            _ => {}
        }
        Ok(())
    }
}
