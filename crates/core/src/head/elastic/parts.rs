//! Parts of a drain: nodes of a draining shrink that have no process any more leave before the others, as a shrink of
//! their own that nobody has requested. One part leaves at a time, and the remaining nodes after the last part: then
//! the requester hears of all nodes at once (docs/spec/elastic.md).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{CampaignId, NodeId};

use super::campaigns::{Campaign, Campaigns};
use super::phase::{Change, Phase};
use super::requester::Requester;
use crate::cx::Cx;
use crate::head::Head;

impl Campaign {
    /// The shrink of which this one is a part.
    pub(super) fn whole(&self) -> Option<CampaignId> {
        match self.change {
            Change::Shrink { part_of, .. } => part_of,
            Change::Grow { .. } => None,
        }
    }

    /// Its nodes, with those that have left as parts (spec E49).
    pub(super) fn all_nodes(&self) -> Vec<NodeId> {
        let mut nodes = self.nodes.clone();
        if let Change::Shrink { parted, .. } = &self.change {
            nodes.extend(parted);
            nodes.sort_unstable();
        }
        nodes
    }
}

impl Campaigns {
    /// The part of a shrink that leaves now.
    pub(super) fn part_of(&self, whole: CampaignId) -> Option<CampaignId> {
        self.open.iter().find(|(_, campaign)| campaign.whole() == Some(whole)).map(|(id, _)| *id)
    }

    /// Moves nodes of a draining shrink into a part of it. Campaigns about these nodes wait for the part, and no longer
    /// for the whole if that has none of their other nodes (spec E48).
    fn split(&mut self, whole: CampaignId, nodes: Vec<NodeId>, cx: &mut Cx) -> CampaignId {
        let rest = self.expect_mut(whole);
        rest.nodes.retain(|node| !nodes.contains(node));
        let left = rest.nodes.clone();
        if let Change::Shrink { parted, .. } = &mut rest.change {
            parted.extend(&nodes);
        }
        let is_pushed = rest.requester.is_scheduler();
        let part = Campaign {
            change: Change::Shrink {
                returns: BTreeSet::new(),
                longest: None,
                until: None,
                is_final: true,
                parted: Vec::new(),
                part_of: Some(whole),
            },
            phase: Phase::Open,
            alloc_id: rest.alloc_id.clone(),
            req_id: rest.req_id.clone(),
            requester: if is_pushed { Requester::Pushed(None) } else { Requester::Nobody },
            is_requested: rest.is_requested,
            nodes: nodes.clone(),
            targets: BTreeMap::new(),
            behind: BTreeSet::new(),
            began: cx.now,
        };
        let id = self.add(part);
        for waiting in self.open.values_mut().filter(|campaign| campaign.behind.contains(&whole)) {
            let is_about = |nodes: &[NodeId]| nodes.iter().any(|node| waiting.nodes.contains(node));
            let (of_part, of_rest) = (is_about(&nodes), is_about(&left));
            if of_part {
                waiting.behind.insert(id);
            }
            if !of_rest {
                waiting.behind.remove(&whole);
            }
        }
        self.enter(id, Phase::Open, cx);
        id
    }
}

impl Head {
    /// Lets the nodes of a draining shrink leave that have no process any more, while others have (spec E48). A node
    /// whose daemon was lost has nothing to leave, and is offered back with the last ones.
    pub(super) fn let_the_idle_leave(&mut self, id: CampaignId, cx: &mut Cx) {
        let nodes = &self.elastic.campaigns.expect(id).nodes;
        if nodes.len() == 1 {
            return;
        }
        let busy = self.jobs.busy_of(&self.daemons_of(nodes));
        let is_idle = |node: &NodeId| self.pool.record(*node).daemon.is_some_and(|daemon| !busy.contains(daemon));
        let idle: Vec<NodeId> = nodes.iter().copied().filter(is_idle).collect();
        if !idle.is_empty() {
            let part = self.elastic.campaigns.split(id, idle, cx);
            self.order_departure(part, cx);
            self.part_with_the_lost(id, cx);
        }
    }
}
