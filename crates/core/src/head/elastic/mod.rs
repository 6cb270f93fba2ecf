//! Changes of the size of the DVM: campaigns, the launch fence, and nodes of a resource manager.

mod campaigns;
mod cancel;
mod choice;
mod deadlines;
mod drain;
mod extensions;
mod grants;
mod grow;
mod late_wireup;
mod launch_fence;
mod membership;
mod offers;
mod parts;
mod phase;
mod plan;
mod policy;
mod push;
mod ranges;
mod requester;
mod requests;
mod retirements;
mod room;
mod shrink;
mod sizes;
mod turns;

use ferrite_types::{AllocId, CampaignId, CampaignKind, DaemonRank, ExtensionId, NodeId};

use self::campaigns::{Campaign, Campaigns};
use self::deadlines::Deadlines;
use self::extensions::Extensions;
use self::grants::Grants;
use self::membership::Memberships;
use self::policy::Policy;
use self::sizes::SizeChanges;

pub(in crate::head) use self::launch_fence::{Hold, JobAllocation};
pub(in crate::head) use self::phase::Change;
pub(in crate::head) use self::plan::{GrowPlan, Joins, Plan, Reason};
pub(in crate::head) use self::policy::Need;
pub(in crate::head) use self::requester::Requester;

/// The state of this wing: the changes of size that are under way, and what the manager has granted. The other wings
/// ask it here.
#[derive(Debug, Default)]
pub(in crate::head) struct Elastic {
    campaigns: Campaigns,
    extensions: Extensions,
    grants: Grants,
    deadlines: Deadlines,
    sizes: SizeChanges,
    policy: Policy,
    memberships: Memberships,
}

impl Elastic {
    /// Campaigns that hold every job: those that are open, and neither queued nor draining. While there is one, no
    /// job may be mapped.
    pub(in crate::head) fn that_hold_all(&self) -> impl Iterator<Item = CampaignId> {
        self.campaigns.that_hold(None)
    }

    /// The node of a daemon that comes or goes.
    pub(in crate::head) fn node_of(&self, daemon: DaemonRank) -> Option<NodeId> {
        self.campaigns.open.values().find_map(|campaign| campaign.targets.get(&daemon)).copied()
    }

    /// The kind of the latest open campaign of a node, which decides whether the node stays.
    pub(in crate::head) fn change_of(&self, node: NodeId) -> Option<CampaignKind> {
        self.campaigns.of_node(node).map(|(_, kind)| kind)
    }

    /// True for a node whose processes have time to end before it leaves: it gets no more of them (spec E43).
    pub(in crate::head) fn is_draining(&self, node: NodeId) -> bool {
        self.campaigns.draining().any(|(_, campaign)| campaign.nodes.contains(&node))
    }

    /// True while processes have time to end before their nodes leave.
    pub(in crate::head) fn is_any_draining(&self) -> bool {
        self.campaigns.draining().next().is_some()
    }

    /// True for a node of an open shrink, begun or waiting, even if it is to come again after that.
    pub(in crate::head) fn is_to_leave(&self, node: NodeId) -> bool {
        self.campaigns.leaves_with(node).is_some()
    }

    /// True while a campaign or an extension of this allocation is under way.
    pub(in crate::head) fn concerns(&self, alloc_id: &AllocId) -> bool {
        self.campaigns.open.values().any(|campaign| campaign.alloc_id == *alloc_id) || self.extensions.is_for(alloc_id)
    }

    /// True when a request that is under way gives an allocation a time limit.
    pub(in crate::head) fn brings_limit(&self, alloc_id: &AllocId) -> bool {
        let limits = |(joins, _): (&Joins, &[NodeId])| joins.terms.time_limit_s.is_some();
        self.coming_to(alloc_id).any(limits) || self.extensions.limits(alloc_id)
    }

    /// The allocation for which an open grow brings a node.
    pub(in crate::head) fn allocation_of(&self, node: NodeId) -> Option<&AllocId> {
        let brings = |campaign: &&Campaign| campaign.nodes.contains(&node);
        self.campaigns.coming().map(|(_, campaign)| campaign).find(brings).map(|campaign| &campaign.alloc_id)
    }

    /// The gains of an allocation's session from open grows, each with the nodes that the grow brings.
    pub(in crate::head) fn coming_to(&self, alloc_id: &AllocId) -> impl Iterator<Item = (&Joins, &[NodeId])> {
        self.campaigns.coming_for(alloc_id).filter_map(|campaign| Some((campaign.joins()?, campaign.nodes.as_slice())))
    }

    /// The gains of an allocation's session with this node from open grows. A grow counts when no shrink takes the
    /// node away after it.
    pub(in crate::head) fn coming_with(&self, alloc_id: &AllocId, node: NodeId) -> impl Iterator<Item = &Joins> {
        let leaves = self.campaigns.leaves_with(node);
        let later = self.campaigns.coming().filter(move |(id, _)| Some(**id) > leaves).map(|(_, campaign)| campaign);
        let gains = later.filter(move |campaign| campaign.alloc_id == *alloc_id).filter_map(Campaign::joins);
        gains.filter(move |joins| joins.nodes.contains(&node))
    }

    /// Notes the manager's latest word on an extension.
    pub(in crate::head) fn on_nodes_awaited(&mut self, id: ExtensionId, says: String) {
        self.extensions.on_word(id, says);
    }

    /// Lifts the reservation that campaigns of an allocation are to bring.
    pub(in crate::head) fn unreserve(&mut self, alloc_id: &AllocId) {
        let campaigns = self.campaigns.open.values_mut().filter(|campaign| campaign.alloc_id == *alloc_id);
        campaigns.filter_map(Campaign::joins_mut).for_each(|joins| joins.terms.reserve = false);
    }
}
