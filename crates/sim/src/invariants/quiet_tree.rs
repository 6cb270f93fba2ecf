//! Guarantee: in the quiet phase every daemon is linked to its tree parent. When the DVM is told to end, the links
//! between living daemons are exactly those of the tree without dead and departed ones; each missing daemon was
//! declared dead or told to leave, and each such daemon is gone; each present daemon has a place.

use std::collections::BTreeSet;

use ferrite_core::{Effect, Input, LinkInput};
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{DaemonMessage, Message, TreeMessage};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct QuietTree {
    tree: Tree,
    /// Number of the last wireup. Earlier ones are repeated to daemons that were out of reach, and have no news.
    wireup: u64,
    applies: bool,
    /// True when something went wrong during bring-up: such a DVM may end with a message.
    early: bool,
    ready: bool,
    up: BTreeSet<(DaemonRank, DaemonRank)>,
    alive: RankSet,
    /// Daemons that were declared dead or told to leave.
    declared: RankSet,
}

impl QuietTree {
    pub(super) fn new(scenario: &Scenario) -> QuietTree {
        QuietTree {
            tree: Tree::new(scenario.radix, scenario.daemons),
            wireup: 0,
            applies: scenario.must_survive() && scenario.has_quiet_phase(),
            early: false,
            ready: false,
            up: BTreeSet::new(),
            alive: RankSet::new(),
            declared: RankSet::new(),
        }
    }

    fn look(&mut self) -> Result<(), String> {
        // A head without other daemons sends no word of those it has given up; then only the head must be left.
        if self.alive.len() > 1 {
            let lost = self.tree.living().iter().find(|r| !self.alive.contains(*r) && !self.declared.contains(*r));
            require(lost.is_none(), || format!("daemon {lost:?} is gone and was not declared dead"))?;
        }
        let undead = self.declared.iter().find(|rank| self.alive.contains(*rank));
        require(undead.is_none(), || {
            format!("daemon {undead:?} was declared dead or told to leave and is still there")
        })?;
        self.tree.repair(&self.declared);
        let stray = self.alive.iter().find(|rank| !self.tree.contains(*rank));
        require(stray.is_none(), || format!("daemon {stray:?} is there and has no place"))?;
        let mut wanted = BTreeSet::new();
        for rank in self.alive.iter() {
            if let Some(parent) = self.tree.parent(rank) {
                wanted.extend([(rank, parent), (parent, rank)]);
            }
        }
        let missing = wanted.difference(&self.up).next();
        require(missing.is_none(), || format!("the tree's link {missing:?} is not there"))?;
        let more = self.up.difference(&wanted).next();
        require(more.is_none(), || format!("link {more:?} is none of the tree"))
    }
}

impl Invariant for QuietTree {
    fn name(&self) -> &'static str {
        "in the quiet phase every daemon hangs where the tree says"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Born { rank } => {
                self.alive.insert(*rank);
            }
            Observation::Gone { rank, .. } => {
                self.alive.remove(*rank);
                self.up.retain(|(end, _)| end != rank);
            }
            Observation::Effect { effect: Effect::Ready, .. } => self.ready = true,
            Observation::Fault { .. } if !self.ready => self.early = true,
            Observation::Effect { rank: DaemonRank::HEAD, message: Some(message), .. } => match message {
                Message::Tree(TreeMessage::Died { ranks }) | Message::Tree(TreeMessage::Shrink { targets: ranks }) => {
                    self.declared.insert_all(ranks)
                }
                Message::Daemon(DaemonMessage::Wireup(wireup)) if wireup.number >= self.wireup => {
                    self.wireup = wireup.number;
                    self.tree.reshape(wireup.size, wireup.dead.clone(), wireup.coming.clone());
                }
                _ => {}
            },
            Observation::Input { rank, input: Input::Link(LinkInput::LinkUp { peer }), .. } => {
                self.up.insert((*rank, *peer));
            }
            Observation::Input { rank, input: Input::Link(LinkInput::LinkLost { peer, .. }), .. }
            | Observation::Effect { rank, effect: Effect::CloseLink { peer }, .. } => {
                self.up.remove(&(*rank, *peer));
            }
            Observation::Input { rank: DaemonRank::HEAD, input: Input::Terminate { .. }, .. }
                if self.applies && (self.ready || !self.early) =>
            {
                return self.look();
            }
            _ => {}
        }
        Ok(())
    }
}
