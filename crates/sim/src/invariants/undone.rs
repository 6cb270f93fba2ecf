//! Guarantee: a failed grow leaves nothing behind. When its requester hears of the failure, its daemons that had called
//! are gone (spec G5). A daemon that calls later is told to leave then; a daemon that a fault has struck may hear of it
//! late. Another guarantee checks that none is left at the end.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input, LinkInput, Transition};
use ferrite_types::{CampaignId, CampaignKind, CampaignStep, DaemonRank};

use super::changes::Changes;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct Undone {
    changes: Changes,
    struck: Struck,
    linked: BTreeSet<DaemonRank>,
    /// For each grow that is rolled back: its daemons that had called.
    owed: BTreeMap<CampaignId, Vec<DaemonRank>>,
}

impl Undone {
    pub(super) fn new(scenario: &Scenario) -> Undone {
        let (changes, struck) = (Changes::default(), Struck::new(scenario));
        Undone { changes, struck, linked: BTreeSet::new(), owed: BTreeMap::new() }
    }

    fn told(&mut self, id: CampaignId) -> Result<(), String> {
        let owed = self.owed.remove(&id).unwrap_or_default();
        let there = |rank: &DaemonRank| self.changes.alive.contains(rank) && !self.struck.on_the_way(*rank);
        let left = owed.into_iter().find(there);
        require(left.is_none(), || format!("grow {id} has failed, and daemon {left:?} of it is still there"))
    }
}

impl Invariant for Undone {
    fn name(&self) -> &'static str {
        "a grow that fails is undone"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        self.struck.see(what);
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, .. } => match input {
                Input::Link(LinkInput::LinkUp { peer }) => {
                    self.linked.insert(*peer);
                }
                Input::Link(LinkInput::LinkLost { peer, .. }) => {
                    self.linked.remove(peer);
                }
                _ => {}
            },
            Observation::Effect { effect: Effect::Trace(Transition::Campaign { campaign, kind, step }), .. }
                if *kind == CampaignKind::Grow =>
            {
                match step {
                    CampaignStep::RollingBack => {
                        let targets = self.changes.get(*campaign).map(|change| change.targets.clone());
                        let called = targets.iter().flat_map(|t| t.iter()).filter(|rank| self.linked.contains(rank));
                        self.owed.insert(*campaign, called.collect());
                    }
                    CampaignStep::Failed => return self.told(*campaign),
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
