//! The queue: jobs that wait for slots, first come first served. It is one list: a job waits for earlier jobs that
//! may use the same nodes, and passes the others.

use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};

use ferrite_map::Occupancy;
use ferrite_types::{CampaignId, JobId, JobSpec, NodeId, NodeRecord, RankSet, SessionId};

use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::Hold;

/// The jobs that wait for slots, in their order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<JobId>,
    /// The daemons at the last check whether all queued jobs can ever run; empty before the first check.
    hopes: RankSet,
}

impl Queue {
    pub(super) fn push_back(&mut self, id: JobId) {
        self.waiting.push_back(id);
    }

    pub(super) fn push_front(&mut self, id: JobId) {
        self.waiting.push_front(id);
    }

    pub(super) fn remove(&mut self, id: JobId) {
        self.waiting.retain(|waiting| *waiting != id);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn contains(&self, id: JobId) -> bool {
        self.waiting.contains(&id)
    }

    /// A copy, for walks that change the queue.
    fn ids(&self) -> Vec<JobId> {
        self.waiting.iter().copied().collect()
    }
}

impl Head {
    /// True when the job could run in the otherwise empty DVM, so that waiting makes sense.
    pub(super) fn may_fit_later(&self, spec: &JobSpec, session: SessionId) -> bool {
        let nodes = self.pool_of(session).unwrap_or_else(|| self.pool.records().to_vec());
        self.place_among(spec, &idle(nodes), &Occupancy::default()).is_ok()
    }

    /// The nodes that jobs of a session may get later: all nodes of the session, even when used or reserved now.
    fn hopes_of(&self, session: SessionId) -> Vec<NodeRecord> {
        let mut nodes = idle(self.pool.records().to_vec());
        if let Some(own) = self.sessions.nodes(session) {
            nodes.iter_mut().filter(|node| !own.contains(&node.id)).for_each(|node| node.daemon = None);
        }
        nodes
    }

    /// An error for a job that can never run on the present nodes.
    fn check_hope(&self, job: &Job) -> Result<(), String> {
        self.place_among(&self.spec_of(job), &self.hopes_of(job.session), &Occupancy::default()).map(drop)
    }

    /// Refuses queued jobs that can never run after a loss of nodes, at any position. It runs once per loss, because
    /// it places every queued job.
    fn refuse_hopeless(&mut self, cx: &mut Cx) {
        if self.jobs.queue.waiting.is_empty() {
            // Daemons that come before the next job waits can be lost too.
            self.jobs.queue.hopes = RankSet::new();
            return;
        }
        let there: RankSet = self.pool.up().filter_map(|node| node.daemon).collect();
        let before = std::mem::replace(&mut self.jobs.queue.hopes, there);
        let none_is_lost = !before.is_empty() && before.iter().all(|rank| self.jobs.queue.hopes.contains(rank));
        if none_is_lost {
            return;
        }
        for id in self.jobs.queue.ids() {
            let Some(job) = self.jobs.get(id).filter(|_| self.jobs.queue.contains(id)) else { continue };
            if let Err(text) = self.check_hope(job) {
                self.refuse_queued(id, text, cx);
            }
        }
    }

    fn refuse_queued(&mut self, id: JobId, text: String, cx: &mut Cx) {
        self.jobs.queue.remove(id);
        self.fail_placement(id, text, cx);
    }

    /// Nodes with a daemon that jobs of a session may use.
    fn may_run_on(&self, session: SessionId) -> BTreeSet<NodeId> {
        let pool = self.pool_of(session);
        let nodes = pool.as_deref().unwrap_or(self.pool.records());
        nodes.iter().filter(|node| node.daemon.is_some()).map(|node| node.id).collect()
    }

    /// The queued jobs that a job of this session waits for: those before `before`, or all.
    fn competitors(&self, session: SessionId, before: Option<JobId>) -> impl Iterator<Item = JobId> + '_ {
        // Most jobs are of one session, and need not compare their nodes.
        let pool = OnceCell::new();
        let competes = move |id: &JobId| {
            let job = self.jobs.get(*id).filter(|job| job.is_healthy() && !self.sessions.is_paused(job.session));
            job.is_some_and(|job| {
                job.session == session || {
                    let pool = pool.get_or_init(|| self.may_run_on(session));
                    !self.may_run_on(job.session).is_disjoint(pool)
                }
            })
        };
        self.jobs.queue.waiting.iter().copied().take_while(move |id| Some(*id) != before).filter(competes)
    }

    /// True when a job of this session waits for queued jobs: for some before `before`, or for any.
    pub(super) fn has_jobs_before(&self, session: SessionId, before: Option<JobId>) -> bool {
        self.competitors(session, before).next().is_some()
    }

    /// True for a queued job with free slots and no earlier job to wait for: only a change of size may hold it.
    pub(super) fn is_next(&self, job: &Job) -> bool {
        let waits = self.jobs.queue.contains(job.id) && job.is_healthy() && !self.sessions.is_paused(job.session);
        waits && !self.has_jobs_before(job.session, Some(job.id)) && {
            let pool = self.pool_of(job.session);
            let nodes = pool.as_deref().unwrap_or(self.pool.records());
            self.place_among(&self.spec_of(job), nodes, &self.jobs.occupancy).is_ok()
        }
    }

    /// Serves the queue after slots have become free or a job has left it. A job that can never run after a loss of
    /// nodes is refused and holds up no other (spec L15).
    pub(in crate::head) fn serve_queue(&mut self, cx: &mut Cx) {
        if self.dvm.is_ending() {
            return;
        }
        if self.is_elastic() && self.is_changing() {
            return self.wait_for_turns();
        }
        // Open campaigns may still bring the nodes that the jobs need.
        if !self.is_changing() {
            self.refuse_hopeless(cx);
        }
        // Sessions with a job that stays in the queue: their further jobs wait for it, however many there are.
        let mut stuck = BTreeSet::new();
        for id in self.jobs.queue.ids() {
            let Some(job) = self.jobs.get(id).filter(|job| job.is_healthy()) else {
                self.jobs.queue.remove(id);
                continue;
            };
            let session = job.session;
            if stuck.contains(&session) || self.sessions.is_paused(session) {
                continue;
            }
            if self.has_jobs_before(session, Some(id)) {
                stuck.insert(session);
                continue;
            }
            let spec = self.spec_of(job);
            match self.placed(id, &spec) {
                Ok(map) => {
                    self.jobs.queue.remove(id);
                    self.take_map(id, map, cx);
                }
                Err(text) => {
                    self.refuse_if_idle(id, text, cx);
                    if self.jobs.queue.contains(id) {
                        stuck.insert(session);
                    }
                }
            }
        }
    }

    /// True while a campaign holds every job.
    fn is_changing(&self) -> bool {
        self.elastic.that_hold_all().next().is_some()
    }

    /// Refuses a job that does not fit although all nodes that it may use are idle.
    fn refuse_if_idle(&mut self, id: JobId, text: String, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let own = self.sessions.nodes(job.session);
        let may_hope = |node: &&NodeRecord| own.is_none_or(|own| own.contains(&node.id));
        let is_busy = self.pool.records().iter().filter(may_hope).any(|node| node.slots_inuse > 0);
        if !is_busy && !self.is_changing() {
            self.refuse_queued(id, text, cx);
        }
    }

    /// Notes the queued jobs whose slots are free while the DVM changes its size: they have their turn when the open
    /// campaigns are over (spec E18).
    fn wait_for_turns(&mut self) {
        let open: BTreeSet<CampaignId> = self.elastic.that_hold_all().collect();
        for id in self.jobs.queue.ids() {
            let is_kept = |job: &Job| job.phase.wait().is_none_or(|wait| wait.is_due || !wait.kept_by.is_empty());
            let is_next = |job: &&Job| !is_kept(job) && self.is_next(job);
            if self.jobs.get(id).filter(is_next).is_some()
                && let Some(wait) = self.jobs.wait_mut(id)
            {
                wait.kept_by.clone_from(&open);
            }
        }
    }

    /// The reason why a queued job waits, in words.
    pub(super) fn queued_for(&self, job: &Job) -> String {
        if self.sessions.is_paused(job.session) {
            return self.held_for(&Hold::Paused);
        }
        if self.is_changing() && self.is_next(job) {
            return self.held_for(&Hold::Map(BTreeSet::new()));
        }
        let before = self.competitors(job.session, Some(job.id)).count();
        let asked: Option<u32> = job.spec.apps.iter().map(|app| app.np).sum();
        let pool = self.may_run_on(job.session);
        let nodes = || pool.iter().map(|node| self.pool.record(*node));
        let (slots, used): (u32, u32) = (nodes().map(|n| n.slots).sum(), nodes().map(|n| n.slots_inuse).sum());
        let free = slots.saturating_sub(used);
        let what = match asked {
            Some(asked) if asked <= free && before == 0 => {
                format!("room for {asked} processes as they are to be placed")
            }
            Some(asked) => format!("{asked} slots"),
            None => "the slots".to_owned(),
        };
        format!("{what} ({free} of {slots} are free, {before} jobs are before it)")
    }
}

fn idle(mut nodes: Vec<NodeRecord>) -> Vec<NodeRecord> {
    nodes.iter_mut().for_each(|node| node.slots_inuse = 0);
    nodes
}
