//! Offers of more processes to an elastic job: their placement is kept for it until it spawns,
//! refuses, or its time is over (spec E54 to E56).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::pmix_status::FERRITE_GROWTH_OFFERED;
use ferrite_types::resources::{Amounts, amounts_in_words};
use ferrite_types::{CampaignId, Duration, JobId, JobMap, NodeId, PmixStatus, ProcId, SessionId};
use ferrite_wire::{
    EventInfo, EventRange, EventSource, GrowRequest, GrowthOffer, Inheritance, JobResize, JobResizeOutcome, PmixEvent,
    Resize, ResizeOutcome, ResizeRequest, SessionTerms,
};

use super::phase::Change;
use super::requester::Requester;
use super::sizes::{Pending, What, name_of, processes};
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_INVALID_OPERATION, PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED};

/// More processes that a job may have.
#[derive(Debug)]
pub(super) struct Offer {
    /// Their number.
    pub(super) procs: u32,
    /// Their placement, with all that they would take; `None` = nothing is kept (any more).
    kept: Option<JobMap>,
    /// The session in which they are to run.
    session: SessionId,
    /// The spawned job that has got the slots, and is being started.
    taker: Option<JobId>,
    /// The nodes that have come for it (spec E69).
    brought: Vec<NodeId>,
}

impl Offer {
    /// The slots that are kept on these nodes.
    pub(super) fn kept_on(&self, nodes: &BTreeSet<NodeId>) -> u32 {
        let kept = self.kept.as_ref().map(slots_of).unwrap_or_default();
        kept.iter().filter(|(node, _)| nodes.contains(node)).map(|(_, slots)| slots).sum()
    }
}

impl Head {
    /// Keeps slots for a job and tells its processes that they may spawn more (spec E54).
    pub(super) fn offer(&mut self, root: JobId, count: u32, ask: &JobResize, cx: &mut Cx) -> Result<(), String> {
        let seconds = self.offer_time(ask)?;
        let session = self.jobs.session_of_tree(root);
        let kept = Some(self.keep_new_members(root, ask.job, count, &[])?);
        let id = self.elastic.campaigns.number();
        let offer = Offer { procs: count, kept, session, taker: None, brought: Vec::new() };
        self.open_size_change(root, ask, (seconds, id), What::Offer(offer), cx);
        self.present(root, cx);
        Ok(())
    }

    /// The time that a job has to take an offer (seconds).
    fn offer_time(&self, ask: &JobResize) -> Result<u32, String> {
        match ask.time_s.unwrap_or_else(|| self.resize_time()) {
            0 => Err("An offer needs time: give --grace 1 or more.".to_owned()),
            seconds => Ok(seconds),
        }
    }

    /// Gets nodes for an offer that has no room (spec E69), unless what is short is shared by all nodes (spec L151).
    /// `why` is the refusal of the map. Returns the campaign that is to begin, if no manager has to grant them first.
    pub(super) fn get_nodes_for_offer(
        &mut self,
        root: JobId,
        count: u32,
        ask: &JobResize,
        (nodes, why): (&GrowRequest, &str),
        cx: &mut Cx,
    ) -> Result<Option<CampaignId>, String> {
        let seconds = self.offer_time(ask)?;
        // More nodes bring no more of what all nodes share.
        let takes = self.jobs.takes_of_tree(root);
        if let Some(room) = self.jobs.shared_room(&takes).filter(|room| *room < count) {
            return Err(too_few_shared(ask.job, count, room, &takes));
        }
        let (session, alloc_id) = self.session_of_tree(root);
        let id = self.elastic.campaigns.number();
        let own = (session != SessionId::DVM).then_some(alloc_id);
        // A new allocation lasts as long as the job with all that it has spawned.
        let inheritance = own.is_none().then_some(Inheritance::Child);
        let terms = SessionTerms { inheritance, ..SessionTerms::default() };
        let request = GrowRequest { alloc_id: own, req_id: Some(name_of(id)), terms, wait: false, ..nodes.clone() };
        // A grow changes the slots of nodes that are there already; a refused offer changes nothing.
        let planned = self.plan_grow(&request).map_err(|reason| reason.cause)?;
        if planned.nodes.is_empty() && planned.more == 0 && request.rm_job.is_none() {
            return Err(format!("The named nodes are in the DVM already. {}", self.lack(root, ask.job, count, why)));
        }
        let (campaign, resize) = self.resize(&ResizeRequest::Grow(request), Requester::Offer(root), cx);
        match resize.outcome {
            ResizeOutcome::Refused { cause, .. } | ResizeOutcome::Failed { cause, .. } => Err(cause),
            ResizeOutcome::Unchanged | ResizeOutcome::Done => Err(self.lack(root, ask.job, count, why)),
            ResizeOutcome::Begun | ResizeOutcome::Requested { .. } => {
                self.open_size_change(root, ask, (seconds, id), What::Coming(count), cx);
                Ok(campaign)
            }
        }
    }

    /// Handles the end of the request for nodes for an offer: the offer is made, or the nodes go back without a process
    /// having started there (spec E69).
    pub(super) fn on_nodes_for_offer(&mut self, root: JobId, resize: &Resize, cx: &mut Cx) {
        let has_come = resize.outcome == ResizeOutcome::Done;
        let brought = if has_come { resize.nodes.as_slice() } else { &[] };
        let brought: Vec<NodeId> = brought.iter().filter_map(|name| self.pool.find(name)).collect();
        let Some(Pending { what: What::Coming(count), job, .. }) = self.elastic.sizes.open.get(&root) else {
            return self.return_unused(&brought, cx);
        };
        let (count, job, session) = (*count, *job, self.jobs.session_of_tree(root));
        let kept = match &resize.outcome {
            ResizeOutcome::Failed { cause, .. } | ResizeOutcome::Refused { cause, .. } => Err(cause.clone()),
            ResizeOutcome::Done | ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Requested { .. } => {
                self.room_in_tree(root, job, count).and_then(|()| self.keep_new_members(root, job, count, &brought))
            }
        };
        match kept {
            Ok(kept) => {
                let offer = Offer { procs: count, kept: Some(kept), session, taker: None, brought };
                if let Some(pending) = self.elastic.sizes.open.get_mut(&root) {
                    pending.what = What::Offer(offer);
                    pending.trace(root, cx);
                }
                self.present(root, cx);
            }
            Err(cause) => {
                self.close_size_change(root, 0, JobResizeOutcome::Failed(cause), cx);
                self.return_unused(&brought, cx);
            }
        }
    }

    /// Withdraws a request for nodes whose job is over (spec E69).
    pub(super) fn settle_coming(&mut self, root: JobId, cx: &mut Cx) {
        if self.jobs.worlds_of(root).is_empty() {
            let job = self.elastic.sizes.open[&root].job;
            self.close_size_change(root, 0, JobResizeOutcome::Failed(format!("Job {job} is over.")), cx);
            self.withdraw_for_offer(root, cx);
        }
    }

    /// Gives nodes back that came for an offer and are not in use (spec E69).
    fn return_unused(&mut self, brought: &[NodeId], cx: &mut Cx) {
        if self.dvm.is_ending() {
            return;
        }
        let is_unused = |node: &NodeId| {
            let record = self.pool.record(*node);
            let is_idle = record.daemon.is_some() && record.slots_inuse == 0;
            is_idle && self.elastic.campaigns.of_node(*node).is_none()
        };
        let nodes: Vec<NodeId> = brought.iter().copied().filter(is_unused).collect();
        self.send_away_unasked(Change::shrink(BTreeSet::new(), None, true), nodes, cx);
    }

    /// Tells the processes of a job of the offer that is kept for it, and lets its time run.
    fn present(&mut self, root: JobId, cx: &mut Cx) {
        let (_, own) = self.session_of_tree(root);
        let Some(Pending { id, seconds, until, what: What::Offer(offer), .. }) = self.elastic.sizes.open.get_mut(&root)
        else {
            return;
        };
        let (id, seconds, count) = (*id, *seconds, offer.procs);
        let (kept, brought) = (offer.kept.as_ref().map(slots_of).unwrap_or_default(), offer.brought.clone());
        let end = cx.now + Duration::from_secs(seconds.into());
        *until = Some(end);
        let alloc_id = if brought.is_empty() { own } else { self.alloc_id_of(&brought) };
        cx.set_timer(HeadTimer::Campaign(id), end);
        let slots = kept.iter().map(|(node, slots)| (self.pool.record(*node).name.clone(), *slots)).collect();
        let procs = self.jobs.worlds_of(root).into_iter().map(|job| (job, Vec::new())).collect();
        let offer = GrowthOffer { root, procs: count, slots, seconds, alloc_id, req_id: name_of(id) };
        let info = EventInfo::Growth(Box::new(offer));
        let event = PmixEvent { code: FERRITE_GROWTH_OFFERED, source: EventSource::Dvm, info };
        self.raise(event, EventRange::Named { procs, tools: Vec::new() }, cx);
    }

    /// Places so many more processes of a job, on these nodes first. What they take there is kept for them (spec E54,
    /// E74, L149).
    fn keep_new_members(&mut self, root: JobId, job: JobId, count: u32, first: &[NodeId]) -> Result<JobMap, String> {
        let map = self.place_new_members(root, count, first).map_err(|why| self.lack(root, job, count, &why))?;
        self.keep_placement(&map)?;
        Ok(map)
    }

    /// Says for how many processes there is room; `why` is the refusal of the map.
    fn lack(&self, root: JobId, job: JobId, count: u32, why: &str) -> String {
        let each = self.jobs.wants_of_new_members(root, &self.params);
        let text = too_few(job, count, self.most_new_members(root, count), &each);
        // Slots alone would do: the reason is another one.
        match each.is_empty() && self.free_slots_for(root) >= count {
            true => format!("{text}\n{why}"),
            false => text,
        }
    }

    /// Gives back what an offer keeps. Returns what that was.
    pub(super) fn give_offered_back(&mut self, root: JobId) -> Option<JobMap> {
        let kept = self.elastic.sizes.offer_mut(root)?.kept.take()?;
        self.release_placement(&kept);
        Some(kept)
    }

    /// True for a job that may take what an open offer keeps.
    pub(in crate::head) fn may_take_offered(&self, id: JobId) -> bool {
        !self.elastic.sizes.open.is_empty() && self.jobs.takes_offers(id).is_some()
    }

    /// Lends what an offer keeps for a try to place a job that may take it. Returns it, with the root of the tree
    /// (spec E55).
    pub(in crate::head) fn lend_offered(&mut self, id: JobId) -> Option<(JobId, JobMap)> {
        if self.elastic.sizes.open.is_empty() {
            return None;
        }
        let (root, session) = self.jobs.takes_offers(id)?;
        let pending = self.elastic.sizes.open.get(&root)?;
        let What::Offer(offer) = &pending.what else { return None };
        let is_open = offer.taker.is_none() && pending.refused.is_none() && offer.session == session;
        let kept = is_open.then(|| self.give_offered_back(root)).flatten()?;
        Some((root, kept))
    }

    /// Ends the try: the job has its placement, or the offer has its own again.
    pub(in crate::head) fn after_lending(&mut self, root: JobId, kept: JobMap, by: Option<JobId>) {
        // The offer ends when its placement cannot be kept again.
        let kept = Some(kept).filter(|kept| by.is_none() && self.keep_placement(kept).is_ok());
        if let Some(offer) = self.elastic.sizes.offer_mut(root) {
            (offer.taker, offer.kept) = (by, kept);
        }
    }

    /// Handles the refusal of a process (spec E56).
    pub(in crate::head) fn on_growth_refused(&mut self, by: Option<ProcId>) -> Result<(), PmixStatus> {
        let by = by.ok_or(PMIX_ERR_NOT_SUPPORTED)?;
        let root = self.jobs.root_of(by.job).ok_or(PMIX_ERR_NOT_FOUND)?;
        let pending = self.elastic.sizes.open.get_mut(&root).ok_or(PMIX_ERR_NOT_FOUND)?;
        let What::Offer(offer) = &pending.what else { return Err(PMIX_ERR_NOT_FOUND) };
        if offer.taker.is_some() {
            return Err(PMIX_ERR_INVALID_OPERATION);
        }
        let cause = format!("Rank {} of job {} refuses more processes.", by.rank, by.job);
        pending.refused.get_or_insert(cause);
        Ok(())
    }

    /// Goes on with an offer: it is taken, refused, or its time is over (spec E55, E56).
    pub(super) fn settle_offer(&mut self, root: JobId, cx: &mut Cx) {
        let has_left = self.has_lost_nodes(root);
        if has_left {
            self.give_offered_back(root);
        }
        let Some(pending) = self.elastic.sizes.open.get(&root) else { return };
        let What::Offer(offer) = &pending.what else { return };
        let worlds = self.jobs.worlds_of(root);
        if let Some(taker) = offer.taker {
            match self.jobs.spawn_of(taker) {
                // It is being started, or is not gone after its failure.
                Some(None) => return,
                Some(Some(size)) => return self.end_offer(root, size, JobResizeOutcome::Done, cx),
                None => {
                    if !worlds.is_empty() && !self.keep_again(root) {
                        let cause = format!("Job {taker} was to take the offer and could not be started.");
                        return self.end_offer(root, 0, JobResizeOutcome::Failed(cause), cx);
                    }
                }
            }
        }
        let Some(pending) = self.elastic.sizes.open.get(&root) else { return };
        let What::Offer(offer) = &pending.what else { return };
        let is_over = pending.until.is_some_and(|until| until <= cx.now) && !self.jobs.is_spawning(root);
        let seconds = pending.seconds;
        let cause = match &pending.refused {
            _ if worlds.is_empty() => format!("Job {} is over.", pending.job),
            Some(cause) => cause.clone(),
            None if has_left => "Nodes whose slots were offered have left the DVM.".to_owned(),
            None if offer.kept.is_none() => "The slots that were offered are not there any more.".to_owned(),
            None if is_over => {
                let (seconds, job) =
                    (if seconds == 1 { "1 second".to_owned() } else { format!("{seconds} seconds") }, pending.job);
                let count = processes(offer.procs);
                format!("Job {job} has not answered the offer of {count} within {seconds}.")
            }
            None => return,
        };
        self.end_offer(root, 0, JobResizeOutcome::Failed(cause), cx);
    }

    /// True when nodes of an offer are gone or are to leave.
    fn has_lost_nodes(&self, root: JobId) -> bool {
        let Some(What::Offer(offer)) = self.elastic.sizes.open.get(&root).map(|pending| &pending.what) else {
            return false;
        };
        let is_gone = |node: NodeId| self.pool.record(node).daemon.is_none() || self.elastic.is_to_leave(node);
        offer.kept.iter().flat_map(|map| &map.nodes).any(|node| is_gone(node.id))
    }

    /// Keeps a placement again after the job that has taken the offer has failed. False when others have the slots.
    fn keep_again(&mut self, root: JobId) -> bool {
        let Some(offer) = self.elastic.sizes.offer_mut(root) else { return false };
        let procs = offer.procs;
        let Ok(kept) = self.keep_new_members(root, root, procs, &[]) else { return false };
        if let Some(offer) = self.elastic.sizes.offer_mut(root) {
            (offer.kept, offer.taker) = (Some(kept), None);
        }
        true
    }

    /// Ends an offer: what is left of its slots goes back.
    fn end_offer(&mut self, root: JobId, procs: u32, outcome: JobResizeOutcome, cx: &mut Cx) {
        self.give_offered_back(root);
        let brought = self.elastic.sizes.offer_mut(root).map(|offer| std::mem::take(&mut offer.brought));
        self.close_size_change(root, procs, outcome, cx);
        self.return_unused(&brought.unwrap_or_default(), cx);
        self.serve_queue(cx);
    }
}

/// The number of processes on each node of a map.
fn slots_of(map: &JobMap) -> BTreeMap<NodeId, u32> {
    let mut slots = BTreeMap::new();
    map.procs.iter().for_each(|place| *slots.entry(map.nodes[place.node as usize].id).or_default() += 1);
    slots
}

/// Says that too little is free of what all nodes share.
fn too_few_shared(job: JobId, count: u32, room: u32, takes: &Amounts) -> String {
    format!(
        "Each of {} of job {job} would take {}, and the DVM has enough for {room}. More nodes bring no more of it. Wait \
         for what other jobs have, or ask for fewer.",
        processes(count),
        amounts_in_words(takes)
    )
}

/// Says that too few slots are free for an offer.
fn too_few(job: JobId, count: u32, free: u32, each: &str) -> String {
    let (slots, are) = if free == 1 { ("slot", "is") } else { ("slots", "are") };
    let wanted = if count == 1 { "1 is wanted".to_owned() } else { format!("{count} are wanted") };
    let with = match (each.is_empty(), free) {
        (true, _) => String::new(),
        (false, 1) => format!(" with {each}"),
        (false, _) => format!(" with {each} each"),
    };
    format!(
        "{free} {slots}{with} {are} free in the session of job {job}, and {wanted}. Add nodes with `pdvm grow`, or have them come \
         for the offer: `pdvm resize --nodes` or `--host`."
    )
}
