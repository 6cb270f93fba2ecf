//! Offers of more processes to an elastic job: slots are kept for it until it spawns, refuses, or its time is over
//! (spec E54 to E56).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::pmix_status::FERRITE_GROWTH_OFFERED;
use ferrite_types::resources::{Amounts, amounts_in_words};
use ferrite_types::{CampaignId, Duration, JobId, NodeId, PmixStatus, ProcId, SessionId};
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
    /// The slots that are kept for them.
    reserved: BTreeMap<NodeId, u32>,
    /// What each of them takes besides a slot; it is kept too.
    takes: Amounts,
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
        self.reserved.iter().filter(|(node, _)| nodes.contains(node)).map(|(_, slots)| slots).sum()
    }
}

impl Head {
    /// Keeps slots for a job and tells its processes that they may spawn more (spec E54).
    pub(super) fn offer(&mut self, root: JobId, count: u32, ask: &JobResize, cx: &mut Cx) -> Result<(), String> {
        let seconds = self.offer_time(ask)?;
        let session = self.jobs.session_of_tree(root);
        let takes = self.jobs.takes_of_tree(root);
        let reserved =
            self.keep_slots(session, count, &takes, &[]).map_err(|free| too_few(ask.job, count, free, &takes))?;
        let id = self.elastic.campaigns.number();
        let offer = Offer { procs: count, reserved, takes, session, taker: None, brought: Vec::new() };
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

    /// Gets nodes for an offer for which too few slots are free (spec E69). Returns the campaign that is to begin, if
    /// no manager has to grant them first.
    pub(super) fn get_nodes_for_offer(
        &mut self,
        root: JobId,
        count: u32,
        ask: &JobResize,
        nodes: &GrowRequest,
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
            let lack = self.lack(root, ask.job, count);
            return Err(format!("The named nodes are in the DVM already. {lack}"));
        }
        let (campaign, resize) = self.resize(&ResizeRequest::Grow(request), Requester::Offer(root), cx);
        match resize.outcome {
            ResizeOutcome::Refused { cause, .. } | ResizeOutcome::Failed { cause, .. } => Err(cause),
            ResizeOutcome::Unchanged | ResizeOutcome::Done => Err(self.lack(root, ask.job, count)),
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
        let takes = self.jobs.takes_of_tree(root);
        let kept = match &resize.outcome {
            ResizeOutcome::Failed { cause, .. } | ResizeOutcome::Refused { cause, .. } => Err(cause.clone()),
            ResizeOutcome::Done | ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Requested { .. } => {
                self.room_in_tree(root, job, count).and_then(|()| {
                    self.keep_slots(session, count, &takes, &brought).map_err(|free| too_few(job, count, free, &takes))
                })
            }
        };
        match kept {
            Ok(reserved) => {
                if let Some(pending) = self.elastic.sizes.open.get_mut(&root) {
                    pending.what = What::Offer(Offer { procs: count, reserved, takes, session, taker: None, brought });
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
        let (reserved, brought) = (offer.reserved.clone(), offer.brought.clone());
        let end = cx.now + Duration::from_secs(seconds.into());
        *until = Some(end);
        let alloc_id = if brought.is_empty() { own } else { self.alloc_id_of(&brought) };
        cx.set_timer(HeadTimer::Campaign(id), end);
        let slots = reserved.iter().map(|(node, slots)| (self.pool.record(*node).name.clone(), *slots)).collect();
        let procs = self.jobs.worlds_of(root).into_iter().map(|job| (job, Vec::new())).collect();
        let offer = GrowthOffer { root, procs: count, slots, seconds, alloc_id, req_id: name_of(id) };
        let info = EventInfo::Growth(Box::new(offer));
        let event = PmixEvent { code: FERRITE_GROWTH_OFFERED, source: EventSource::Dvm, info };
        self.raise(event, EventRange::Named { procs, tools: Vec::new() }, cx);
    }

    /// Keeps so many free slots of a session with what processes take there (spec E54, L149), on these nodes first, or
    /// says how many are free.
    fn keep_slots(
        &mut self,
        session: SessionId,
        count: u32,
        takes: &Amounts,
        first: &[NodeId],
    ) -> Result<BTreeMap<NodeId, u32>, u32> {
        let mut free = self.free_on_nodes(session, takes);
        free.sort_by_key(|(node, _)| !first.contains(node));
        let all = self.as_shared(free.iter().map(|(_, free)| *free).sum(), takes);
        if all < count {
            return Err(all);
        }
        let mut rest = count;
        let mut kept = BTreeMap::new();
        for (node, free) in free {
            let taken = free.min(rest);
            rest -= taken;
            if taken > 0 {
                kept.insert(node, taken);
            }
        }
        self.keep(&kept, takes);
        Ok(kept)
    }

    fn keep(&mut self, slots: &BTreeMap<NodeId, u32>, takes: &Amounts) {
        for (node, slots) in slots {
            self.pool.keep_slots(*node, *slots);
            self.jobs.keep(*node, *slots, takes);
        }
    }

    fn give_back(&mut self, slots: &BTreeMap<NodeId, u32>, takes: &Amounts) {
        for (node, slots) in slots {
            self.pool.free_slots_of(*node, *slots);
            self.jobs.give_back(*node, *slots, takes);
        }
    }

    /// The nodes of a session with free slots, and what processes take, that may be offered.
    fn free_on_nodes(&self, session: SessionId, takes: &Amounts) -> Vec<(NodeId, u32)> {
        let pool = self.pool_of(session);
        let nodes = pool.as_deref().unwrap_or(self.pool.records());
        let is_there = |node: &&ferrite_types::NodeRecord| node.daemon.is_some() && !self.elastic.is_to_leave(node.id);
        let free = nodes.iter().filter(is_there).map(|node| {
            let room = self.jobs.room_on(node, takes).unwrap_or(u32::MAX);
            (node.id, node.slots.saturating_sub(node.slots_inuse).min(room))
        });
        free.filter(|(_, free)| *free > 0).collect()
    }

    /// Says that too few slots are free for an offer.
    fn lack(&self, root: JobId, job: JobId, count: u32) -> String {
        let takes = self.jobs.takes_of_tree(root);
        too_few(job, count, self.free_of(self.jobs.session_of_tree(root), &takes), &takes)
    }

    /// The number of these slots.
    pub(super) fn free_of(&self, session: SessionId, takes: &Amounts) -> u32 {
        self.as_shared(self.free_on_nodes(session, takes).iter().map(|(_, free)| free).sum(), takes)
    }

    /// So many slots, or as many as there is enough for of what all nodes share (spec L151).
    fn as_shared(&self, slots: u32, takes: &Amounts) -> u32 {
        slots.min(self.jobs.shared_room(takes).unwrap_or(u32::MAX))
    }

    /// Gives the slots of an offer back. Returns what they were.
    pub(super) fn give_offered_back(&mut self, root: JobId) -> BTreeMap<NodeId, u32> {
        let (reserved, takes) = match self.elastic.sizes.open.get_mut(&root).map(|pending| &mut pending.what) {
            Some(What::Offer(offer)) => (std::mem::take(&mut offer.reserved), offer.takes.clone()),
            _ => return BTreeMap::new(),
        };
        self.give_back(&reserved, &takes);
        reserved
    }

    /// Lends the slots of an offer for a try to place a job that may take it. Returns them, with the root of the tree
    /// (spec E55).
    pub(in crate::head) fn lend_offered(&mut self, id: JobId) -> Option<(JobId, BTreeMap<NodeId, u32>)> {
        if self.elastic.sizes.open.is_empty() {
            return None;
        }
        let (root, session) = self.jobs.takes_offers(id)?;
        let pending = self.elastic.sizes.open.get(&root)?;
        let What::Offer(offer) = &pending.what else { return None };
        let is_open = offer.taker.is_none() && pending.refused.is_none() && offer.session == session;
        is_open.then(|| (root, self.give_offered_back(root)))
    }

    /// Ends the try: the job has its slots, or the offer has them again.
    pub(in crate::head) fn after_lending(&mut self, root: JobId, slots: BTreeMap<NodeId, u32>, by: Option<JobId>) {
        let Some(What::Offer(offer)) = self.elastic.sizes.open.get_mut(&root).map(|pending| &mut pending.what) else {
            return;
        };
        match by {
            Some(job) => offer.taker = Some(job),
            None => {
                offer.reserved.clone_from(&slots);
                let takes = offer.takes.clone();
                self.keep(&slots, &takes);
            }
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
        self.leave_lost_slots(root);
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
            None if offer.reserved.values().sum::<u32>() < offer.procs => {
                "Nodes whose slots were offered have left the DVM.".to_owned()
            }
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

    /// Leaves slots of nodes that are gone or are to leave.
    fn leave_lost_slots(&mut self, root: JobId) {
        let Some(What::Offer(offer)) = self.elastic.sizes.open.get(&root).map(|pending| &pending.what) else { return };
        let is_gone = |node: &NodeId| self.pool.record(*node).daemon.is_none() || self.elastic.is_to_leave(*node);
        let gone: BTreeMap<NodeId, u32> =
            offer.reserved.iter().filter(|(node, _)| is_gone(node)).map(|(node, slots)| (*node, *slots)).collect();
        let takes = offer.takes.clone();
        self.give_back(&gone, &takes);
        if let Some(What::Offer(offer)) = self.elastic.sizes.open.get_mut(&root).map(|pending| &mut pending.what) {
            offer.reserved.retain(|node, _| !gone.contains_key(node));
        }
    }

    /// Keeps slots again after a job that was to have them has failed. False when others have them.
    fn keep_again(&mut self, root: JobId) -> bool {
        let Some(What::Offer(offer)) = self.elastic.sizes.open.get(&root).map(|pending| &pending.what) else {
            return false;
        };
        let (session, procs, takes) = (offer.session, offer.procs, offer.takes.clone());
        let Ok(kept) = self.keep_slots(session, procs, &takes, &[]) else { return false };
        if let Some(What::Offer(offer)) = self.elastic.sizes.open.get_mut(&root).map(|pending| &mut pending.what) {
            (offer.reserved, offer.taker) = (kept, None);
        }
        true
    }

    /// Ends an offer: what is left of its slots goes back.
    fn end_offer(&mut self, root: JobId, procs: u32, outcome: JobResizeOutcome, cx: &mut Cx) {
        self.give_offered_back(root);
        let brought = match self.elastic.sizes.open.get_mut(&root).map(|pending| &mut pending.what) {
            Some(What::Offer(offer)) => std::mem::take(&mut offer.brought),
            _ => Vec::new(),
        };
        self.close_size_change(root, procs, outcome, cx);
        self.return_unused(&brought, cx);
        self.serve_queue(cx);
    }
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
fn too_few(job: JobId, count: u32, free: u32, takes: &Amounts) -> String {
    let (slots, are) = if free == 1 { ("slot", "is") } else { ("slots", "are") };
    let wanted = if count == 1 { "1 is wanted".to_owned() } else { format!("{count} are wanted") };
    let with = if takes.is_empty() { String::new() } else { format!(" with {} each", amounts_in_words(takes)) };
    format!(
        "{free} {slots}{with} {are} free in the session of job {job}, and {wanted}. Add nodes with `pdvm grow`, or have them come \
         for the offer: `pdvm resize --nodes` or `--host`."
    )
}
