//! Shrink campaigns: daemons that leave. All daemons get one order, and its acknowledgement means that the targets
//! are gone. Then the head closes the books, offers the nodes to the resource managers, and tells the requester.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{CampaignId, CampaignKind, DaemonRank, Duration, JobId, NodeId, NodeRecord, RankSet};
use ferrite_wire::{Message, ShrinkRequest, TreeMessage};

use super::phase::{Change, Phase};
use super::plan::{Plan, Reason};
use super::requester::Requester;
use crate::cx::{Cx, Outgoing, Purpose};
use crate::head::Head;
use crate::head::counters::Counted;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE};
use crate::{Effect, HeadTimer};

impl Head {
    /// Plans a shrink request. A refused request changes nothing (spec E27).
    pub(super) fn plan_shrink(&mut self, request: &ShrinkRequest, requester: Requester) -> Result<Plan, Reason> {
        let allocation = request.alloc_id.as_ref().map(|name| self.allocation(name)).transpose()?;
        let is_lent = |node: &NodeId| allocation.as_ref().is_some_and(|from| from.lent.contains(node));
        let belongs = |node: NodeId| allocation.as_ref().is_none_or(|from| from.nodes.contains(&node));
        let mut nodes = Vec::new();
        for name in &request.nodes {
            let known = self.pool.find(name).filter(|node| !self.is_unknown(*node));
            let Some(node) = known else {
                let cause = format!("Node {name} is not in the DVM; `pdvm nodes` lists what is.");
                return Err(Reason::new(PMIX_ERR_NOT_FOUND, cause));
            };
            if self.pool.record(node).daemon == Some(DaemonRank::HEAD) && !is_lent(&node) {
                let cause = format!("Node {name} is the head's own: it leaves with the DVM (pterm).");
                return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
            }
            if !belongs(node) {
                let id = request.alloc_id.as_deref().unwrap_or_default();
                let cause = format!("Node {name} does not belong to allocation {id}.");
                return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
            }
            nodes.push(node);
        }
        if request.count > 0 {
            // Reserved nodes of another session leave only when the request names them.
            let alloc_id = allocation.as_ref().map(|from| &from.alloc_id);
            let belongs = |node| belongs(node) && !is_lent(&node) && self.may_take(node, alloc_id, requester);
            let limits = (!request.force).then_some(requester);
            nodes.extend(self.expendable(request.count, &nodes, belongs, limits)?);
        } else if request.nodes.is_empty() {
            let Some(from) = &allocation else {
                let cause = "The request names no nodes, no number of nodes and no allocation.";
                return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
            };
            let stays = |node: &NodeId| self.pool.record(*node).daemon == Some(DaemonRank::HEAD) && !is_lent(node);
            nodes.extend(from.nodes.iter().copied().filter(|node| !stays(node)));
        }
        nodes.sort_unstable();
        nodes.dedup();
        let returns: BTreeSet<NodeId> = nodes.extract_if(.., |node| is_lent(node)).collect();
        // A node that is down needs no change; the campaign waits for one that is still coming or already leaving.
        nodes
            .retain(|node| self.elastic.campaigns.of_node(*node).is_some() || self.pool.record(*node).daemon.is_some());
        if !request.force {
            self.check_ranges(&nodes, requester)?;
        }
        let alloc_id = allocation.map_or_else(|| self.alloc_id_of(&nodes), |from| from.alloc_id);
        let req_id = request.req_id.clone();
        let longest = request.grace_s.map(|seconds| Duration::from_secs(seconds.into()));
        Ok(Plan {
            change: Change::shrink(returns, longest, request.force),
            alloc_id,
            req_id,
            is_requested: true,
            nodes,
        })
    }

    /// Begins a shrink that nobody has asked for, if there are nodes for it.
    pub(super) fn send_away_unasked(&mut self, change: Change, nodes: Vec<NodeId>, cx: &mut Cx) {
        if nodes.is_empty() {
            return;
        }
        let alloc_id = self.alloc_id_of(&nodes);
        let plan = Plan { change, alloc_id, req_id: None, is_requested: false, nodes };
        let campaign = self.open_campaign(plan, Requester::Nobody, cx);
        self.proceed(campaign, cx);
    }

    /// True for the kept record of a node that does not belong to the DVM and is not on its way into it.
    pub(super) fn is_unknown(&self, node: NodeId) -> bool {
        self.pool.is_outside(node) && self.elastic.campaigns.of_node(node).is_none()
    }

    /// Nodes that are least in use: idle ones first, and of those the latest (spec S15). For a requester who has to
    /// leave elastic jobs their smallest size, nodes whose loss would take it stay (spec E51).
    fn expendable(
        &self,
        count: u32,
        named: &[NodeId],
        belongs: impl Fn(NodeId) -> bool,
        limits: Option<Requester>,
    ) -> Result<Vec<NodeId>, Reason> {
        let may_go = |node: &&NodeRecord| {
            let stays = node.daemon.is_none_or(|rank| rank == DaemonRank::HEAD);
            !stays && belongs(node.id) && !named.contains(&node.id) && self.elastic.campaigns.of_node(node.id).is_none()
        };
        let mut nodes: Vec<&NodeRecord> = self.pool.records().iter().filter(may_go).collect();
        if nodes.len() < count as usize {
            let asked = if count == 1 { "1 node is".to_owned() } else { format!("{count} nodes are") };
            let cause = format!("{asked} to leave, and {} can.", nodes.len());
            return Err(Reason::new(PMIX_ERR_OUT_OF_RESOURCE, cause));
        }
        nodes.sort_by_key(|node| (node.slots_inuse > 0, std::cmp::Reverse(node.daemon)));
        let mut chosen = named.to_vec();
        let limits = limits.filter(|_| self.jobs.has_elastic());
        let mut refusal = None;
        for node in nodes {
            if chosen.len() == named.len() + count as usize {
                break;
            }
            chosen.push(node.id);
            if let Some(Err(reason)) = limits.map(|requester| self.check_ranges(&chosen, requester)) {
                chosen.pop();
                refusal = Some(reason);
            }
        }
        let chosen = chosen.split_off(named.len());
        if chosen.len() < count as usize { Err(refusal.expect("a job keeps the others")) } else { Ok(chosen) }
    }

    /// Fixes the targets: they get no more processes, and all daemons hear which ones leave (spec G2, E28).
    pub(super) fn order_departure(&mut self, id: CampaignId, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        let nodes = campaign.nodes.clone();
        let targets: BTreeMap<DaemonRank, NodeId> =
            nodes.iter().filter_map(|node| Some((self.pool.record(*node).daemon?, *node))).collect();
        let ranks: RankSet = targets.keys().copied().collect();
        if ranks.is_empty() {
            // The nodes have left with an earlier campaign, or never came.
            return self.end_campaign(id, cx);
        }
        cx.cancel_timer(HeadTimer::Campaign(id));
        targets.values().for_each(|node| self.pool.leave(*node));
        self.elastic.campaigns.expect_mut(id).targets = targets;
        self.elastic.campaigns.enter(id, Phase::Leaving, cx);
        self.counters.count(Counted::Xcast);
        let purpose = Purpose::Shrink { campaign: id, targets: ranks.clone() };
        cx.out.push_back(Outgoing::Xcast(Message::Tree(TreeMessage::Shrink { targets: ranks.clone() }), purpose));
        // Orphans of leaving daemons look for their new parents themselves; these parents have to notice an orphan
        // that never comes.
        self.dvm.place_orphans(&ranks, cx);
        self.clients.part_with(&ranks, cx);
        self.lose_participants(&ranks, cx);
        self.jobs.stop_input_to(&ranks);
        self.move_no_files_to(&ranks, cx);
    }

    /// True for a process whose node leaves: its end is planned.
    pub(in crate::head) fn is_doomed(&self, id: JobId, daemon: DaemonRank) -> bool {
        let campaign = self.elastic.campaigns.of_daemon(daemon).and_then(|id| self.elastic.campaigns.open.get(&id));
        self.jobs.get(id).is_some() && campaign.is_some_and(|campaign| campaign.kind() == CampaignKind::Shrink)
    }

    /// Handles the departure: every daemon has repaired its tree, and the targets are gone (spec G6).
    pub(in crate::head) fn on_departed(&mut self, id: CampaignId, ranks: &RankSet, cx: &mut Cx) {
        self.counters.count(Counted::Repair);
        self.clients.lose(ranks, cx);
        self.dvm.part_with(ranks);
        // The end of the DVM may have ended the campaign before.
        let Some(campaign) = self.elastic.campaigns.open.get(&id) else { return };
        if campaign.kind() == CampaignKind::Grow {
            // The departure was a rollback's.
            return self.end_campaign(id, cx);
        }
        self.end_procs_on(ranks, cx);
        self.offer_release(id, cx);
    }

    /// Offers the nodes of departed daemons to their managers (spec E35).
    pub(super) fn offer_release(&mut self, id: CampaignId, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        let leaving = campaign.nodes.clone();
        cx.cancel_timer(HeadTimer::Campaign(id));
        self.elastic.campaigns.enter(id, Phase::Releasing { offered: BTreeMap::new() }, cx);
        let back = self.plan_give_back(id, &leaving);
        cx.effect(Effect::OfferRelease { campaign: id, nodes: self.pool.names(&leaving), back });
    }

    /// Ends the shrink after the offer: closes the books and tells the requester (spec E35).
    pub(in crate::head) fn on_release_offered(
        &mut self,
        id: CampaignId,
        kept: &[String],
        error: Option<String>,
        cx: &mut Cx,
    ) {
        // The end of the DVM may have ended the campaign before.
        let Some(campaign) = self.elastic.campaigns.open.get_mut(&id) else { return };
        let Phase::Releasing { offered } = &mut campaign.phase else {
            debug_assert!(false, "campaign {id} has not offered its nodes");
            return;
        };
        let (nodes, offered) = (campaign.nodes.clone(), std::mem::take(offered));
        if let Some(error) = error {
            cx.notice(format!("The nodes {} have left the DVM, but: {error}", self.pool.names(&nodes).join(", ")));
        }
        self.sessions.remove(&nodes);
        // Nodes beyond the initial allocation belong to their manager again.
        let others = nodes.into_iter().filter(|node| !self.pool.is_initial(*node) && !offered.contains_key(node));
        let others: Vec<NodeId> = others.collect();
        self.pool.put_outside(others);
        self.on_taken_back(offered, kept);
        self.end_campaign(id, cx);
    }
}
