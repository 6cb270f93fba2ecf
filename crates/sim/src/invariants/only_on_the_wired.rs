//! Guarantee: no job is mapped onto a node whose daemon is not wired up; its grow ends when every daemon has heard of
//! the newcomers (spec G2). No newcomer has a rank that was used before.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input, LinkInput, Transition};
use ferrite_types::{CampaignId, CampaignKind, CampaignStep, DaemonRank, RankSet};
use ferrite_wire::{DaemonMessage, Message, TreeMessage};

use super::changes::Changes;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct OnlyOnTheWired {
    changes: Changes,
    struck: Struck,
    dead: RankSet,
    /// The newcomers that each daemon has heard of.
    heard: BTreeMap<DaemonRank, RankSet>,
    launched: BTreeSet<DaemonRank>,
}

impl OnlyOnTheWired {
    pub(super) fn new(scenario: &Scenario) -> OnlyOnTheWired {
        OnlyOnTheWired {
            changes: Changes::default(),
            struck: Struck::new(scenario),
            dead: RankSet::new(),
            heard: BTreeMap::new(),
            launched: BTreeSet::new(),
        }
    }

    /// Judges the end of a grow: every daemon of the DVM knows of it.
    fn grown(&self, id: CampaignId) -> Result<(), String> {
        let Some(change) = self.changes.get(id) else { return Ok(()) };
        let outside = |rank: DaemonRank| {
            rank == DaemonRank::HEAD
                || self.dead.contains(rank)
                || self.changes.leaving.contains(rank)
                || self.changes.is_newcomer(rank)
                // A daemon that is not to be reached is declared dead, to nobody when nobody else is there.
                || self.struck.contains(rank)
        };
        let knows = |rank: DaemonRank| {
            let heard = self.heard.get(&rank);
            change.targets.iter().all(|target| heard.is_some_and(|heard| heard.contains(target)))
        };
        let missed = self.changes.alive.iter().copied().find(|rank| !outside(*rank) && !knows(*rank));
        require(missed.is_none(), || format!("grow {id} is done, and daemon {missed:?} has not heard of it"))
    }
}

impl Invariant for OnlyOnTheWired {
    fn name(&self) -> &'static str {
        "jobs are mapped onto wired nodes only"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        self.struck.see(what);
        match what {
            Observation::Input {
                rank,
                input: Input::Link(LinkInput::Frame { .. }),
                message: Some(Message::Daemon(DaemonMessage::Wireup(wireup))),
                ..
            } => {
                // Later newcomers hear of all present daemons.
                let all = RankSet::range(0, wireup.size);
                let there = all.iter().filter(|rank| !wireup.dead.contains(*rank));
                self.heard.entry(*rank).or_default().insert_all(&there.collect());
                Ok(())
            }
            Observation::Effect { rank: DaemonRank::HEAD, effect, message, .. } => match (effect, message) {
                (Effect::LaunchDaemon { ticket, .. }, _) => {
                    let again = ticket.ranks().find(|rank| !self.launched.insert(*rank));
                    require(again.is_none(), || format!("rank {again:?} is given a second time"))
                }
                (Effect::Trace(Transition::Campaign { campaign, kind, step }), _) => {
                    let grown = (*kind, *step) == (CampaignKind::Grow, CampaignStep::Done);
                    if grown { self.grown(*campaign) } else { Ok(()) }
                }
                (Effect::Transmit { .. }, Some(Message::Tree(TreeMessage::Died { ranks }))) => {
                    self.dead.insert_all(ranks);
                    Ok(())
                }
                (Effect::Transmit { .. }, Some(Message::Daemon(DaemonMessage::Launch(order)))) => {
                    let early = order.map.daemons().iter().find(|rank| self.changes.is_newcomer(*rank));
                    require(early.is_none(), || {
                        format!("job {} is mapped onto daemon {early:?}, whose grow has not ended well", order.job)
                    })
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
