//! Grow campaigns: daemons on more nodes. The head starts the newcomers; they call it and report, and one wireup
//! gives them their places. They count when every daemon of the DVM has acknowledged the wireup. Any failure before
//! that rolls back this campaign alone.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_rm::Source;
use ferrite_types::{AllocId, CampaignId, DaemonRank, Duration, HostEntry, HostRef, NodeId, RankSet, SessionId};
use ferrite_wire::{
    Activation, AddedHost, DaemonMessage, DaemonReport, GrowRequest, LaunchFailure, Message, NodeLaunch, SlotChange,
    Ticket, TreeMessage,
};

use super::campaigns::{Campaign, Campaigns};
use super::late_wireup::Late;
use super::phase::{Change, Phase};
use super::plan::{GrowPlan, Reason};
use crate::HeadTimer;
use crate::cx::{Cx, Outgoing, Purpose};
use crate::head::Head;
use crate::head::counters::Counted;
use crate::launches::TicketBase;
use crate::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_CANCELED, PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_LOST_CONNECTION,
    PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_TIMEOUT,
};

/// The time after which a rollback gives up newcomers that do not hang up (milliseconds).
const ROLLBACK_MS: u64 = 10_000;

/// A node of a request, as the pool knows it.
pub(super) struct Wanted<'a> {
    pub(super) at: Place<'a>,
    slots: SlotChange,
}

pub(super) enum Place<'a> {
    Known(NodeId),
    /// A known record of a node outside the DVM, whose new entry replaces the old one.
    Again(NodeId, &'a HostEntry),
    New(&'a HostEntry),
}

impl Place<'_> {
    pub(super) fn node(&self) -> Option<NodeId> {
        match self {
            Place::Known(node) | Place::Again(node, _) => Some(*node),
            Place::New(_) => None,
        }
    }
}

impl Campaigns {
    /// Lets the campaign wait for another: every free place in the tree is below a place that is kept for another
    /// campaign's newcomer. The first such campaign has to end first, with success or without.
    fn wait_for_places(&mut self, id: CampaignId, cx: &mut Cx) {
        let keeps = |campaign: &Campaign| campaign.targets.keys().any(|rank| cx.tree.coming().contains(*rank));
        let first = self.open.iter().find(|(_, campaign)| keeps(campaign)).map(|(id, _)| *id);
        self.wait_behind(id, first.expect("a kept place is kept for a campaign that is open"), cx);
    }
}

impl Head {
    /// Plans a grow request. A refused request changes nothing.
    pub(in crate::head) fn plan_grow(&mut self, request: &GrowRequest) -> Result<GrowPlan, Reason> {
        let bad = |cause: &str| Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
        let names_nothing = request.hosts.is_empty() && request.activate.is_empty() && !request.leaves_a_choice();
        if let Some(job) = &request.rm_job {
            if !names_nothing {
                return bad("The nodes of a job of the resource manager come alone: name no others besides.");
            }
            self.check_can_take(job)?;
        } else if names_nothing {
            return bad("The request names no nodes and no number of nodes.");
        }
        let session = self.session_to_grow(request)?;
        let mut wanted = Vec::new();
        for host in &request.hosts {
            wanted.push(self.wanted(host, &wanted)?);
        }
        for activation in &request.activate {
            let nodes = self.activated(activation)?;
            wanted.extend(nodes.into_iter().map(|node| Wanted { at: Place::Known(node), slots: SlotChange::Unstated }));
        }
        let (spare, more) = self.of_our_choice(request, &wanted, session)?;
        wanted.extend(spare.into_iter().map(|node| Wanted { at: Place::Known(node), slots: SlotChange::Unstated }));
        self.check_not_reserved(&wanted, session)?;
        let slots: Vec<(NodeId, SlotChange)> =
            wanted.into_iter().map(|wanted| (self.admit(&wanted.at), wanted.slots)).collect();
        let mut members: Vec<NodeId> = slots.iter().map(|(node, _)| *node).collect();
        members.sort_unstable();
        members.dedup();
        let mut nodes = members.clone();
        // The request waits for a node that another campaign removes or brings. A node that leaves and comes again by
        // an earlier request is not the present one.
        nodes.retain(|node| {
            self.elastic.campaigns.leaves_with(*node).is_some() || self.pool.record(*node).daemon.is_none()
        });
        Ok(GrowPlan { session, req_id: request.req_id.clone(), members, nodes, slots, more })
    }

    /// Refuses nodes that are reserved for another session (spec S8).
    fn check_not_reserved(&self, wanted: &[Wanted<'_>], session: Option<SessionId>) -> Result<(), Reason> {
        for wanted in wanted {
            let Some(node) = wanted.at.node() else { continue };
            if let Some(other) = self.withheld_for(node).find(|id| Some(*id) != session) {
                let name = &self.pool.record(node).name;
                let alloc_id = self.sessions.alloc_id(other).expect("who withholds a node is not over");
                let cause = format!("Node {name} is reserved for allocation {alloc_id}.");
                return Err(Reason::new(PMIX_ERR_NO_PERMISSIONS, cause));
            }
        }
        Ok(())
    }

    fn wanted<'a>(&self, added: &'a AddedHost, before: &[Wanted<'a>]) -> Result<Wanted<'a>, Reason> {
        let host = &added.host;
        let twice = before.iter().any(|wanted| match wanted.at {
            Place::New(other) => self.pool.same_host(&other.name, &host.name),
            Place::Known(_) | Place::Again(..) => false,
        });
        if twice {
            let cause = format!("Host {} is named twice. Name it once.", host.name);
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
        }
        let known = self.pool.find(&host.name);
        self.check_not_managed(added, known)?;
        let has = known.map_or(0, |node| self.pool.record(node).slots);
        let known_size = known.is_some_and(|node| self.pool.record(node).daemon.is_some());
        if let SlotChange::Adjust(by) = added.slots
            && known_size
            && i64::from(has) + i64::from(by) < 1
        {
            let cause = format!("Host {} has {has} slots; {by:+} would leave it without any.", host.name);
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
        }
        let at = match known {
            None => Place::New(host),
            Some(node) if self.is_unknown(node) => Place::Again(node, host),
            Some(node) => Place::Known(node),
        };
        Ok(Wanted { at, slots: added.slots })
    }

    /// Refuses hosts beyond a resource manager's grant; granted nodes without a daemon may be named.
    fn check_not_managed(&self, added: &AddedHost, known: Option<NodeId>) -> Result<(), Reason> {
        let Source::Managed { manager, job } = &self.config.allocation.source else { return Ok(()) };
        if known.is_some_and(|node| self.is_taken_back(node) && self.elastic.campaigns.of_node(node).is_none()) {
            let cause = format!(
                "Host {} has been given back to {manager}. Ask for a number of nodes instead (pdvm grow --nodes).",
                added.host.name
            );
            return Err(Reason::new(PMIX_ERR_NOT_SUPPORTED, cause));
        }
        if known.is_some() && added.slots == SlotChange::Unstated {
            return Ok(());
        }
        let what = if known.is_some() { "have other slots" } else { "be added" };
        let cause = format!(
            "Host {} cannot {what}: the nodes of this DVM are those of {manager} job {job}, and only {manager} can change them. \
             A DVM that is started with --prtemca ras hosts can have others.",
            added.host.name
        );
        Err(Reason::new(PMIX_ERR_NOT_SUPPORTED, cause))
    }

    /// Nodes of the pool that `--activate` selects.
    fn activated(&self, activation: &Activation) -> Result<Vec<NodeId>, Reason> {
        let refs = match activation {
            Activation::All => {
                return Ok(self.pool.inside().map(|node| node.id).collect());
            }
            Activation::Nodes(refs) => refs,
        };
        let mut nodes = Vec::new();
        for item in refs {
            let node = match item {
                HostRef::Host(_) | HostRef::Relative(..) => self.pool.named(item),
                HostRef::Empty(_) | HostRef::Exclude(_) => {
                    let cause = "Only names, +nK and +all say which nodes are to be activated.";
                    return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
                }
            };
            let Some(node) = node.filter(|node| !self.pool.is_outside(*node)) else {
                let what = match item {
                    HostRef::Host(entry) => format!("Host {}", entry.name),
                    HostRef::Relative(at, _) => format!("Node +n{at}"),
                    HostRef::Empty(_) | HostRef::Exclude(_) => "It".to_owned(),
                };
                let cause = format!(
                    "{what} is not in the DVM's allocation; `pdvm nodes` lists what is. Name hosts that are to be added with \
                     --add-host (prun) or --host (pdvm grow)."
                );
                return Err(Reason::new(PMIX_ERR_NOT_FOUND, cause));
            };
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// Adds a node to the pool; it does not count before it has a daemon (spec E26).
    fn admit(&mut self, at: &Place<'_>) -> NodeId {
        match at {
            Place::Known(id) => *id,
            Place::Again(id, host) => self.pool.admit(host, Some(*id), &self.local),
            Place::New(host) => self.pool.admit(host, None, &self.local),
        }
    }

    /// Starts the daemons of the newcomers (spec E19).
    pub(super) fn launch_newcomers(&mut self, id: CampaignId, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        // An earlier campaign may have brought some of the nodes.
        let nodes: Vec<NodeId> =
            campaign.nodes.iter().copied().filter(|node| self.pool.record(*node).daemon.is_none()).collect();
        if nodes.is_empty() {
            return self.commit_grow(id, cx);
        }
        if let Some(node) = nodes.iter().find(|node| self.is_taken_back(**node)) {
            let cause =
                format!("Node {} has been given back to the resource manager meanwhile.", self.pool.record(*node).name);
            return self.fail_grow(id, Reason::new(PMIX_ERR_NOT_FOUND, cause), cx);
        }
        let Some(kept) = cx.tree.keep_places(nodes.len() as u32) else {
            return self.elastic.campaigns.wait_for_places(id, cx);
        };
        let base = match self.joining_base(cx.tree.size()) {
            Ok(base) => base,
            Err(reason) => {
                cx.tree.repair(&kept);
                return self.fail_grow(id, reason, cx);
            }
        };
        let targets: BTreeMap<DaemonRank, NodeId> = kept.iter().zip(nodes).collect();
        let launch =
            |(rank, node): (&DaemonRank, &NodeId)| NodeLaunch { rank: *rank, host: self.pool.host(*node).clone() };
        let launches: Vec<NodeLaunch> = targets.iter().map(launch).collect();
        self.elastic.campaigns.expect_mut(id).targets = targets;
        self.elastic.campaigns.enter(id, Phase::Launching { missing: kept }, cx);
        let limit = Duration::from_secs(u64::from(self.launch_timeout_s()));
        cx.set_timer(HeadTimer::Campaign(id), cx.now + limit);
        self.dvm.launch_newcomers(&base, &launches, &self.local, cx);
    }

    fn joining_base(&self, size: u32) -> Result<TicketBase, Reason> {
        let base = self.ticket_base(0).map_err(|error| Reason::new(PMIX_ERR_BAD_PARAM, error.to_string()))?;
        Ok(TicketBase { ticket: Ticket { size, ..base.ticket }, ..base })
    }

    /// Handles the report of a newcomer (spec E20). The report of a daemon without a campaign comes back.
    pub(in crate::head) fn on_newcomer_report(&mut self, report: DaemonReport, cx: &mut Cx) -> Option<DaemonReport> {
        let Some(id) = self.elastic.campaigns.of_daemon(report.rank) else { return Some(report) };
        let campaign = self.elastic.campaigns.expect_mut(id);
        if let Phase::Launching { missing } = &mut campaign.phase
            && missing.remove(report.rank)
        {
            let (node, complete) = (campaign.targets[&report.rank], missing.is_empty());
            self.meet(report, Some(node));
            if complete {
                self.wire_newcomers(id, cx);
            }
        }
        None
    }

    /// Gives the newcomers their places and sends the wireup, once all have reported (spec E21).
    fn wire_newcomers(&mut self, id: CampaignId, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        let come: RankSet = campaign.targets.keys().copied().collect();
        self.elastic.campaigns.enter(id, Phase::WiringUp { late: Late::default() }, cx);
        cx.tree.fill(&come);
        self.send_wireup(come, Purpose::Grow(id), cx);
    }

    /// Ends the grow: every daemon has acknowledged the wireup (spec E21).
    pub(in crate::head) fn on_grown(&mut self, id: CampaignId, cx: &mut Cx) {
        if self.elastic.campaigns.open.get(&id).is_some_and(|campaign| matches!(campaign.phase, Phase::WiringUp { .. }))
        {
            self.commit_grow(id, cx);
        }
    }

    /// Enters the nodes into the books, and gives the session the nodes of the request (spec G2).
    fn commit_grow(&mut self, id: CampaignId, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        let targets = campaign.targets.clone();
        let Change::Grow { joins, slots } = &campaign.change else { panic!("campaign {id} is no grow") };
        let (joins, slots) = (joins.clone(), slots.clone());
        let (alloc_id, requester) = (campaign.alloc_id.clone(), campaign.requester);
        self.pool.change_slots(&slots);
        targets.iter().for_each(|(rank, node)| self.pool.come(*node, *rank));
        let came: BTreeSet<NodeId> = targets.into_values().collect();
        self.join_session(&alloc_id, &joins, &came, requester, cx);
        self.end_campaign(id, cx);
    }

    /// Handles a launcher's report that a newcomer did not start (spec E22). False for a daemon that is no newcomer.
    pub(in crate::head) fn on_newcomer_not_launched(&mut self, failure: &LaunchFailure, cx: &mut Cx) -> bool {
        let Some(id) = self.elastic.campaigns.of_newcomer(failure.rank) else { return false };
        let (who, LaunchFailure { command, cause, .. }) = (failure.subject(), failure);
        let command = if command.is_empty() { String::new() } else { format!(" (by: {command})") };
        let cause = format!("{who} could not be started{command}: {cause}.");
        self.fail_grow(id, Reason::new(PMIX_ERR_JOB_FAILED_TO_LAUNCH, cause), cx);
        true
    }

    /// Handles the lost link of a daemon without a place: a newcomer on its way in, or one that was dismissed.
    pub(crate) fn on_newcomer_lost(&mut self, rank: DaemonRank, cause: &str, cx: &mut Cx) {
        let Some(id) = self.elastic.campaigns.of_newcomer(rank) else { return };
        let campaign = self.elastic.campaigns.expect_mut(id);
        if let Phase::RollingBack { alive, .. } = &mut campaign.phase {
            if alive.remove(rank) && alive.is_empty() {
                self.end_campaign(id, cx);
            }
        } else {
            self.on_target_lost(rank, cause, cx);
        }
        self.run_activated(cx);
    }

    /// Fails the grow that has lost a daemon before its end (spec E22). False for a daemon that is no newcomer.
    pub(in crate::head) fn on_target_lost(&mut self, rank: DaemonRank, cause: &str, cx: &mut Cx) -> bool {
        let Some(id) = self.elastic.campaigns.of_newcomer(rank) else { return false };
        let node = self.elastic.campaigns.open.get(&id).and_then(|campaign| campaign.targets.get(&rank));
        let node = node.map_or("", |node| self.pool.record(*node).name.as_str());
        let cause = format!("The daemon on node {node} was lost before it was part of the DVM ({cause}).");
        self.fail_grow(id, Reason::new(PMIX_ERR_LOST_CONNECTION, cause), cx);
        true
    }

    /// Fails a grow that has taken too long; the message names the missing daemons (spec E22).
    pub(super) fn on_grow_deadline(&mut self, id: CampaignId, cx: &mut Cx) {
        let waits_for = self.campaign_waits_for(id);
        let cause = format!("After {} seconds it still waited for {waits_for}.", self.launch_timeout_s());
        self.fail_grow(id, Reason::new(PMIX_ERR_TIMEOUT, cause), cx);
    }

    /// Withdraws the grows of an allocation (spec S22).
    pub(in crate::head) fn recall(&mut self, alloc_id: &AllocId, why: &str, cx: &mut Cx) {
        let of_allocation = |(_, campaign): &(&CampaignId, &Campaign)| campaign.alloc_id == *alloc_id;
        let coming: Vec<CampaignId> =
            self.elastic.campaigns.coming().filter(of_allocation).map(|(id, _)| *id).collect();
        for campaign in coming {
            let reason = Reason::new(PMIX_ERR_JOB_CANCELED, why);
            if !self.withdraw(campaign, reason.clone(), cx) {
                self.fail_grow(campaign, reason, cx);
            }
        }
    }

    /// Rolls a campaign back (spec G5).
    pub(super) fn fail_grow(&mut self, id: CampaignId, reason: Reason, cx: &mut Cx) {
        // It may have failed or ended already: several causes may come together.
        let campaign = self.elastic.campaigns.open.get(&id).filter(|campaign| campaign.is_coming());
        let Some(campaign) = campaign else { return };
        let have_places = matches!(campaign.phase, Phase::WiringUp { .. });
        let ranks: RankSet = campaign.targets.keys().copied().collect();
        self.elastic.campaigns.enter(id, Phase::RollingBack { alive: RankSet::new(), cause: reason }, cx);
        ranks.iter().for_each(|rank| self.dvm.abandon_launch(rank, cx));
        match have_places {
            true => self.send_away(id, ranks, cx),
            false => self.dismiss_newcomers(id, &ranks, cx),
        }
    }

    /// Orders newcomers with places out as in a shrink, so that every tree drops them (spec E24).
    fn send_away(&mut self, id: CampaignId, ranks: RankSet, cx: &mut Cx) {
        cx.cancel_timer(HeadTimer::Campaign(id));
        self.counters.count(Counted::Xcast);
        let purpose = Purpose::Shrink { campaign: id, targets: ranks.clone() };
        cx.out.push_back(Outgoing::Xcast(Message::Tree(TreeMessage::Shrink { targets: ranks.clone() }), purpose));
        self.dvm.place_orphans(&ranks, cx);
    }

    /// Dismisses newcomers that only the head knows: at once those that have called, the others when they call (spec
    /// E23).
    fn dismiss_newcomers(&mut self, id: CampaignId, ranks: &RankSet, cx: &mut Cx) {
        cx.tree.repair(ranks);
        let linked: RankSet = ranks.iter().filter(|rank| cx.is_linked(*rank)).collect();
        for rank in linked.iter() {
            cx.direct(rank, DaemonMessage::Exit);
        }
        if linked.is_empty() {
            return self.end_campaign(id, cx);
        }
        cx.set_timer(HeadTimer::Campaign(id), cx.now + Duration::from_millis(ROLLBACK_MS));
        let Phase::RollingBack { alive, .. } = &mut self.elastic.campaigns.expect_mut(id).phase else {
            panic!("campaign {id} is not rolled back")
        };
        *alive = linked;
    }

    pub(super) fn give_up_on_newcomers(&mut self, id: CampaignId, cx: &mut Cx) {
        let Phase::RollingBack { alive, .. } = &self.elastic.campaigns.expect(id).phase else {
            panic!("campaign {id} is not rolled back")
        };
        alive.iter().for_each(|rank| cx.close(rank));
        self.end_campaign(id, cx);
    }
}
