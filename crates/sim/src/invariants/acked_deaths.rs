//! Guarantee: every daemon hears of every death, departure and newcomer, and acknowledges it only when all living
//! daemons below know of it, adopted ones included. The head relies on this when a broadcast completes.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input, LinkInput};
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{DaemonMessage, FrameKind, Message, TreeMessage};

use super::{Invariant, Observation, arithmetic, require};
use crate::scenario::Scenario;

pub(super) struct AckedDeaths {
    /// The tree by arithmetic: positions do not depend on deaths.
    tree: Tree,
    /// Daemons that the DVM begins with.
    first: u32,
    /// Daemons that the head counts as members and that live.
    alive: BTreeSet<DaemonRank>,
    /// Newcomers that live.
    born: RankSet,
    /// The newcomers of each wireup.
    came: BTreeMap<u64, RankSet>,
    /// The daemons that have each broadcast.
    known: BTreeMap<u64, RankSet>,
    /// The last broadcast of the bring-up: earlier ones may be repeated later, to a daemon that was out of reach.
    of_bringup: u64,
    /// True when a quiet phase exists, by which all broadcasts must have arrived.
    quiet: bool,
}

impl AckedDeaths {
    pub(super) fn new(scenario: &Scenario) -> AckedDeaths {
        let tree = arithmetic(scenario);
        let quiet = scenario.must_survive() && scenario.has_quiet_phase();
        AckedDeaths {
            tree,
            first: scenario.daemons,
            alive: BTreeSet::new(),
            born: RankSet::new(),
            came: BTreeMap::new(),
            known: BTreeMap::new(),
            of_bringup: 0,
            quiet,
        }
    }
}

impl AckedDeaths {
    /// Notes a broadcast of the head; only its first transmission counts.
    fn announced(&mut self, seq: u64, message: &Message) {
        if seq <= self.of_bringup || self.known.contains_key(&seq) {
            return;
        }
        // A newcomer learns earlier news from its wireup, even news that the head could send to nobody at the time
        // and sends when a link is up again.
        let mut known = RankSet::new();
        self.came.range(seq..).for_each(|(_, come)| known.insert_all(come));
        match message {
            Message::Tree(TreeMessage::Died { ranks: out }) | Message::Tree(TreeMessage::Shrink { targets: out }) => {
                self.alive.retain(|rank| !out.contains(*rank));
            }
            Message::Daemon(DaemonMessage::Wireup(wireup)) => {
                self.came.insert(seq, wireup.come.clone());
                self.known.range_mut(..seq).for_each(|(_, known)| known.insert_all(&wireup.come));
                self.alive.extend(wireup.come.iter().filter(|rank| self.born.contains(*rank)));
            }
            _ => return,
        }
        self.known.insert(seq, known);
    }
}

impl Invariant for AckedDeaths {
    fn name(&self) -> &'static str {
        "everybody hears of every change and says so last"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            // Newcomers before the DVM is up are judged by another guarantee.
            Observation::Effect { effect: Effect::Ready, .. } => {
                self.of_bringup = self.known.keys().next_back().copied().unwrap_or_default();
                self.known.clear();
            }
            Observation::Born { rank } if rank.0 < self.first => {
                self.alive.insert(*rank);
            }
            Observation::Born { rank } => {
                self.born.insert(*rank);
            }
            Observation::Gone { rank, .. } => {
                self.born.remove(*rank);
                self.alive.remove(rank);
            }
            Observation::Input {
                rank,
                input: Input::Link(LinkInput::Frame { frame, .. }),
                message:
                    Some(
                        Message::Tree(TreeMessage::Died { .. })
                        | Message::Tree(TreeMessage::Shrink { .. })
                        | Message::Daemon(DaemonMessage::Wireup(_)),
                    ),
                ..
            } => {
                if let FrameKind::Xcast { seq, .. } = frame.kind
                    && seq > self.of_bringup
                {
                    self.known.entry(seq).or_default().insert(*rank);
                }
            }
            Observation::Input { rank: DaemonRank::HEAD, input: Input::Terminate { .. }, .. } if self.quiet => {
                let unheard = self.known.iter().find_map(|(seq, known)| {
                    let others = self.alive.iter().filter(|rank| **rank != DaemonRank::HEAD);
                    others.copied().find(|rank| !known.contains(*rank)).map(|rank| (rank, seq))
                });
                return require(unheard.is_none(), || format!("{unheard:?}: this daemon never got this broadcast"));
            }
            Observation::Effect { rank, effect: Effect::Transmit { frame, .. }, message, .. } => {
                match (&frame.kind, message) {
                    (FrameKind::Xcast { seq, .. }, Some(message)) if *rank == DaemonRank::HEAD => {
                        self.announced(*seq, message);
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
