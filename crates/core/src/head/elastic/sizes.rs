//! Changes of the size of an elastic job (`pdvm resize`): one at a time for each spawn tree. `offers.rs` has those for
//! more processes, `retirements.rs` those for fewer (docs/spec/elastic.md, changes of size of jobs).

use std::collections::{BTreeMap, VecDeque};

use ferrite_types::{
    AllocId, AllocReqId, CampaignId, JobId, NodeId, ProcId, SessionId, SizeChangeStep, SizeRange, Timestamp,
};
use ferrite_wire::control::{PendingChange, Reply, SizeStep, TreeSize};
use ferrite_wire::{JobResize, JobResizeOutcome, JobResized, SizeChange};

use super::Elastic;
use super::offers::Offer;
use super::retirements::Retirement;
use crate::cx::Cx;
use crate::head::Head;
use crate::{Effect, HeadTimer, RequestId, Transition};

/// The changes of a tree that are remembered.
const MOST_PAST: usize = 64;

/// The changes that are under way, by the root of the spawn tree.
#[derive(Debug, Default)]
pub(super) struct SizeChanges {
    pub(super) open: BTreeMap<JobId, Pending>,
    /// The latest ones that are over, of trees that are not.
    past: BTreeMap<JobId, VecDeque<SizeStep>>,
}

/// A change that is under way.
#[derive(Debug)]
pub(super) struct Pending {
    /// Its number, among those of campaigns.
    pub(super) id: CampaignId,
    /// The job that the requester has named.
    pub(super) job: JobId,
    /// The time of the request.
    begun: Timestamp,
    /// The client that waits for the end.
    pub(super) requester: Option<RequestId>,
    /// The time that the job has (seconds).
    pub(super) seconds: u32,
    /// The end of that time; `None` = it has not begun.
    pub(super) until: Option<Timestamp>,
    /// The refusal of the job, in words.
    pub(super) refused: Option<String>,
    pub(super) what: What,
}

/// The two kinds of changes.
#[derive(Debug)]
pub(super) enum What {
    /// Nodes are on their way, on which so many processes will be offered (spec E69).
    Coming(u32),
    Offer(Offer),
    Retirement(Retirement),
}

/// The answer to a request that can be granted.
enum Plan {
    Nothing,
    Offer(u32),
    Retirement(u32),
}

impl Pending {
    /// The change as far as it is known at its beginning.
    fn step(&self) -> SizeStep {
        let is_offer = self.is_offer();
        let (procs, begun_us) = (self.procs(), self.begun.0);
        SizeStep { is_offer, procs, begun_us, ended_us: None, done: 0, size: 0, cause: String::new() }
    }

    /// Shows the step that it enters, unless it ends.
    pub(super) fn trace(&self, root: JobId, cx: &mut Cx) {
        let step = match self.what {
            What::Coming(_) => SizeChangeStep::NodesFirst,
            What::Offer(_) => SizeChangeStep::Offered,
            What::Retirement(_) => SizeChangeStep::Told,
        };
        let (is_offer, procs) = (self.is_offer(), self.procs());
        cx.effect(Effect::Trace(Transition::Size { root, is_offer, procs, step }));
    }

    /// True for more processes.
    fn is_offer(&self) -> bool {
        matches!(self.what, What::Coming(_) | What::Offer(_))
    }

    /// The number of its processes.
    fn procs(&self) -> u32 {
        match &self.what {
            What::Coming(procs) => *procs,
            What::Offer(offer) => offer.procs,
            What::Retirement(retirement) => retirement.procs.len() as u32,
        }
    }
}

impl SizeChanges {
    /// The offer to a tree.
    pub(super) fn offer_mut(&mut self, root: JobId) -> Option<&mut Offer> {
        match &mut self.open.get_mut(&root)?.what {
            What::Offer(offer) => Some(offer),
            What::Coming(_) | What::Retirement(_) => None,
        }
    }
}

impl Elastic {
    /// True for a process that was told that it is to end, and others of its job go on (spec E58).
    pub(in crate::head) fn retires(&self, proc: ProcId) -> bool {
        let retires = |pending: &Pending| matches!(&pending.what, What::Retirement(of) if of.procs.contains(&proc));
        self.sizes.open.values().any(retires)
    }

    /// Forgets a requester that is gone; its change goes on.
    pub(super) fn forget_sizer(&mut self, request: RequestId) {
        let of_it = |pending: &&mut Pending| pending.requester == Some(request);
        self.sizes.open.values_mut().filter(of_it).for_each(|pending| pending.requester = None);
    }
}

impl Head {
    /// Handles a client's request for another size of a job (spec E54, E57).
    pub(in crate::head) fn on_job_resize(&mut self, request: RequestId, ask: &JobResize, cx: &mut Cx) {
        let mut campaign = None;
        let begun = match self.plan_size(ask) {
            Err(cause) => Err((false, JobResizeOutcome::Refused(cause))),
            Ok((_, Plan::Nothing)) => Err((false, JobResizeOutcome::Unchanged)),
            Ok((root, Plan::Offer(count))) => {
                let misfit = ask.nodes.as_ref().zip(self.place_new_members(root, count, &[]).err());
                let offered = match misfit {
                    Some((nodes, why)) => {
                        self.get_nodes_for_offer(root, count, ask, (nodes, &why), cx).map(|of| campaign = of)
                    }
                    None => self.offer(root, count, ask, cx),
                };
                offered.map(|()| root).map_err(|cause| (true, JobResizeOutcome::Refused(cause)))
            }
            Ok((root, Plan::Retirement(count))) => {
                self.retire(root, count, ask, cx);
                Ok(root)
            }
        };
        match begun {
            Err((is_offer, outcome)) => {
                let resized = self.job_resized(ask.job, is_offer, 0, outcome);
                cx.reply(request, Reply::JobResized(resized));
            }
            Ok(root) => {
                let Some(pending) = self.elastic.sizes.open.get_mut(&root) else { return };
                if ask.wait {
                    pending.requester = Some(request);
                } else {
                    let (is_offer, procs) = (pending.is_offer(), pending.procs());
                    let outcome = match pending.what {
                        What::Coming(_) => JobResizeOutcome::NodesFirst,
                        What::Offer(_) | What::Retirement(_) => JobResizeOutcome::Begun(pending.seconds),
                    };
                    let resized = self.job_resized(ask.job, is_offer, procs, outcome);
                    cx.reply(request, Reply::JobResized(resized));
                }
                if campaign.is_some() {
                    self.go_on_after(campaign, cx);
                }
            }
        }
    }

    /// Judges a request. A refused one changes nothing (spec E54).
    fn plan_size(&self, ask: &JobResize) -> Result<(JobId, Plan), String> {
        let id = ask.job;
        if self.dvm.is_ending() {
            return Err("The DVM is ending.".to_owned());
        }
        let root = self.jobs.root_of(id).ok_or_else(|| self.why_not_there(id))?;
        let Some(range) = self.jobs.range_of_tree(root) else {
            return Err(format!("Job {id} is not elastic: it keeps its size. Start jobs with --elastic MIN:MAX."));
        };
        if let Some(pending) = self.elastic.sizes.open.get(&root) {
            let (count, verb) = (processes(pending.procs()), if pending.procs() == 1 { "is" } else { "are" });
            let what = match &pending.what {
                What::Coming(_) => format!("{verb} to be offered to it when nodes have come"),
                What::Offer(_) => format!("{verb} offered to it"),
                What::Retirement(_) => format!("of it {verb} to end"),
            };
            return Err(format!("{count} {what} already. Try again when that is over (`pdvm jobs --tree`)."));
        }
        let (size, all) = (self.staying_of_tree(root), self.size_of_tree(root));
        let change = match ask.size {
            SizeChange::More(count) => i64::from(count),
            SizeChange::Fewer(count) => -i64::from(count),
            SizeChange::To(wanted) => i64::from(wanted) - i64::from(size),
        };
        let count = u32::try_from(change.unsigned_abs()).unwrap_or(u32::MAX);
        match change {
            0 => Ok((root, Plan::Nothing)),
            1.. if ask.force => {
                Err("Nobody is forced to grow: without --force the job is offered more processes.".to_owned())
            }
            1.. => check_most(id, range, all, count).map(|()| (root, Plan::Offer(count))),
            _ if ask.nodes.is_some() => Err(format!(
                "Nodes come for more processes, and job {id} is to have fewer: leave --host and --nodes out."
            )),
            _ => self.check_least(ask, range, size, count).map(|()| (root, Plan::Retirement(count))),
        }
    }

    /// Refuses an offer for which a job has grown too large meanwhile (spec E69).
    pub(super) fn room_in_tree(&self, root: JobId, job: JobId, count: u32) -> Result<(), String> {
        match self.jobs.range_of_tree(root) {
            Some(range) => check_most(job, range, self.size_of_tree(root), count),
            None => Err(format!("Job {job} is over.")),
        }
    }

    /// Refuses fewer processes than the smallest size (spec E57).
    fn check_least(&self, ask: &JobResize, range: SizeRange, size: u32, count: u32) -> Result<(), String> {
        let id = ask.job;
        let Some(left) = size.checked_sub(count).filter(|left| *left > 0 || ask.force) else {
            let has = processes(size);
            return Err(format!("Job {id} has {has}: `pdvm kill {id} --tree` ends all of them."));
        };
        if left < range.min && !ask.force {
            let least = processes(range.min);
            return Err(format!(
                "Job {id} keeps at least {least} (--elastic {range}), and {left} would be left. Force it with `pdvm \
                 resize --force`."
            ));
        }
        Ok(())
    }

    /// The processes of a spawn tree that live or are about to be started (spec E60).
    pub(in crate::head) fn size_of_tree(&self, root: JobId) -> u32 {
        self.jobs.members_of_tree(root).len() as u32
    }

    /// The processes that stay: neither they nor their nodes are to leave (spec E51, E57).
    pub(super) fn staying_of_tree(&self, root: JobId) -> u32 {
        let places = self.jobs.members_of_tree(root);
        let stays = |(proc, node): &(ProcId, NodeId)| !self.elastic.is_to_leave(*node) && !self.elastic.retires(*proc);
        places.iter().filter(|place| stays(place)).count() as u32
    }

    /// Adds a change.
    pub(super) fn open_size_change(
        &mut self,
        root: JobId,
        ask: &JobResize,
        (seconds, id): (u32, CampaignId),
        what: What,
        cx: &mut Cx,
    ) {
        let (job, begun) = (ask.job, cx.now);
        let pending = Pending { id, job, begun, requester: None, seconds, until: None, refused: None, what };
        pending.trace(root, cx);
        self.elastic.sizes.open.insert(root, pending);
    }

    /// The session of a spawn tree, and its allocation.
    pub(super) fn session_of_tree(&self, root: JobId) -> (SessionId, AllocId) {
        let session = self.jobs.session_of_tree(root);
        let alloc_id = self.sessions.alloc_id(session).unwrap_or_else(|| self.sessions.dvm_alloc_id());
        (session, alloc_id.clone())
    }

    /// The usual time for a change (seconds).
    pub(super) fn resize_time(&self) -> u32 {
        self.params.number("ferrite_resize_time").unwrap_or(30)
    }

    /// Goes on with changes after an input: a process has ended, a job has begun, or time is over.
    pub(in crate::head) fn settle_sizes(&mut self, cx: &mut Cx) {
        if self.elastic.sizes.open.is_empty() {
            return;
        }
        let roots: Vec<JobId> = self.elastic.sizes.open.keys().copied().collect();
        for root in roots {
            match self.elastic.sizes.open[&root].what {
                What::Coming(_) => self.settle_coming(root, cx),
                What::Offer(_) => self.settle_offer(root, cx),
                What::Retirement(_) => self.settle_retirement(root, cx),
            }
        }
        self.run_activated(cx);
    }

    /// Handles the timer of a change.
    pub(super) fn on_size_timer(&mut self, id: CampaignId, cx: &mut Cx) {
        let root = self.elastic.sizes.open.iter().find(|(_, pending)| pending.id == id).map(|(root, _)| *root);
        if let Some(root) = root {
            self.stop_telling(root, cx);
        }
    }

    /// Ends a change, and answers its requester.
    pub(super) fn close_size_change(&mut self, root: JobId, procs: u32, outcome: JobResizeOutcome, cx: &mut Cx) {
        let Some(pending) = self.elastic.sizes.open.remove(&root) else { return };
        cx.cancel_timer(HeadTimer::Campaign(pending.id));
        self.jobs.worlds_of(root).into_iter().for_each(|world| self.membership_changes(world));
        let is_offer = pending.is_offer();
        self.pause_policy(root, is_offer, &outcome, cx);
        let cause = match &outcome {
            JobResizeOutcome::Failed(cause) | JobResizeOutcome::Refused(cause) => cause.clone(),
            JobResizeOutcome::Unchanged
            | JobResizeOutcome::Begun(_)
            | JobResizeOutcome::NodesFirst
            | JobResizeOutcome::Done => String::new(),
        };
        let step = if outcome == JobResizeOutcome::Done { SizeChangeStep::Done } else { SizeChangeStep::Failed };
        cx.effect(Effect::Trace(Transition::Size { root, is_offer, procs, step }));
        let size = self.staying_of_tree(root);
        let step = SizeStep { ended_us: Some(cx.now.0), done: procs, size, cause, ..pending.step() };
        let past = self.elastic.sizes.past.entry(root).or_default();
        past.push_back(step);
        if past.len() > MOST_PAST {
            past.pop_front();
        }
        if let Some(request) = pending.requester {
            let resized = self.job_resized(pending.job, is_offer, procs, outcome);
            cx.reply(request, Reply::JobResized(resized));
        }
    }

    /// Answers those who wait, when the DVM ends.
    pub(super) fn drain_sizes(&mut self, cx: &mut Cx) {
        let roots: Vec<JobId> = self.elastic.sizes.open.keys().copied().collect();
        for root in roots {
            self.give_offered_back(root);
            self.close_size_change(root, 0, JobResizeOutcome::Failed("The DVM is ending.".to_owned()), cx);
        }
    }

    /// The latest changes of a tree, and the one that is under way (spec E61).
    pub(in crate::head) fn size_steps(&self, root: JobId) -> Vec<SizeStep> {
        let sizes = &self.elastic.sizes;
        let open = sizes.open.get(&root).map(|pending| SizeStep { size: self.staying_of_tree(root), ..pending.step() });
        sizes.past.get(&root).into_iter().flatten().cloned().chain(open).collect()
    }

    /// Forgets the changes of a tree that is over.
    pub(super) fn forget_size_steps(&mut self, root: JobId) {
        self.elastic.sizes.past.remove(&root);
    }

    fn job_resized(&self, job: JobId, is_offer: bool, procs: u32, outcome: JobResizeOutcome) -> JobResized {
        let size = self.jobs.root_of(job).map_or(0, |root| self.staying_of_tree(root));
        JobResized { job, size, is_offer, procs, outcome }
    }

    /// The size of an elastic job's tree, and the change that is under way (spec E61).
    pub(in crate::head) fn tree_size(&self, root: JobId, range: SizeRange) -> TreeSize {
        let pending = self.elastic.sizes.open.get(&root);
        let change = pending.map(|pending| PendingChange {
            is_offer: pending.is_offer(),
            procs: pending.procs(),
            until_us: pending.until.map(|until| until.0),
        });
        let (procs, worlds) = self.jobs.members_and_worlds(root);
        TreeSize { root, range, procs, worlds, change }
    }
}

/// Refuses more processes than the largest size (spec E54).
fn check_most(id: JobId, range: SizeRange, size: u32, count: u32) -> Result<(), String> {
    if size.saturating_add(count) <= range.max {
        return Ok(());
    }
    let (most, has) = (processes(range.max), size);
    Err(format!("Job {id} may have at most {most} (--elastic {range}), and has {has}: {count} more are too many."))
}

/// The name of a change in events.
pub(super) fn name_of(id: CampaignId) -> AllocReqId {
    AllocReqId::from(format!("resize-{}", id.0))
}

pub(super) fn processes(count: u32) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}
