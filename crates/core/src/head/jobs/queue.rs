//! The queue: jobs that wait for slots, first come first served. It is one list: a job waits for earlier jobs that
//! may use the same nodes, and passes the others.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};

use ferrite_map::Occupancy;
use ferrite_types::{CampaignId, JobId, JobSpec, NodeId, NodeRecord, RankSet, SessionId};

use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::Hold;

/// The place of a job in the queue: those with lower numbers come first.
type Turn = i64;

/// The jobs that wait for slots, in their order. What it costs to add, find or remove a job, and to find the first one
/// of a session, does not grow with the number of jobs that wait (spec L128).
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The turns of each session's jobs; a session without any is not here.
    sessions: BTreeMap<SessionId, BTreeMap<Turn, JobId>>,
    places: BTreeMap<JobId, (SessionId, Turn)>,
    /// The turns that were given at both ends.
    first: Turn,
    last: Turn,
    /// True when the first job of a session has left, so that others may have their turn.
    vacated: bool,
    /// The number of jobs that walks have met, for tests.
    pub(super) looks: Cell<u64>,
    /// The daemons at the last check whether all queued jobs can ever run; empty before the first check.
    hopes: RankSet,
}

impl Queue {
    pub(super) fn push_back(&mut self, id: JobId, session: SessionId) {
        self.last += 1;
        self.put(id, session, self.last);
    }

    pub(super) fn push_front(&mut self, id: JobId, session: SessionId) {
        self.first -= 1;
        self.put(id, session, self.first);
    }

    fn put(&mut self, id: JobId, session: SessionId, turn: Turn) {
        let former = self.places.insert(id, (session, turn));
        debug_assert!(former.is_none(), "job {id} waits once");
        self.sessions.entry(session).or_default().insert(turn, id);
    }

    pub(super) fn remove(&mut self, id: JobId) {
        let Some((session, turn)) = self.places.remove(&id) else { return };
        if let Some(turns) = self.sessions.get_mut(&session) {
            self.vacated |= turns.first_key_value().is_some_and(|(first, _)| *first == turn);
            turns.remove(&turn);
            if turns.is_empty() {
                self.sessions.remove(&session);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn contains(&self, id: JobId) -> bool {
        self.places.contains_key(&id)
    }

    /// True when the first job of a session has left since the last call.
    pub(super) fn take_vacated(&mut self) -> bool {
        std::mem::take(&mut self.vacated)
    }

    /// All of them in their order: a copy, for walks that change the queue.
    fn ids(&self) -> Vec<JobId> {
        let mut all: Vec<_> = self.places.iter().map(|(id, (_, turn))| (*turn, *id)).collect();
        self.note_looks(all.len());
        all.sort_unstable();
        all.into_iter().map(|(_, id)| id).collect()
    }

    /// The turn of the first job of each session.
    fn heads(&self) -> BTreeSet<(Turn, SessionId)> {
        self.sessions.iter().filter_map(|(session, turns)| Some((*turns.first_key_value()?.0, *session))).collect()
    }

    /// The first job of a session with this turn or a later one.
    fn from(&self, session: SessionId, turn: Turn) -> Option<(Turn, JobId)> {
        self.sessions.get(&session)?.range(turn..).next().map(|(turn, id)| (*turn, *id))
    }

    /// The jobs of a session before this turn; all of them without one.
    fn before(&self, session: SessionId, turn: Option<Turn>) -> impl Iterator<Item = JobId> + '_ {
        let turns = self.sessions.get(&session).into_iter();
        let before = turns.flat_map(move |turns| turns.range(..turn.unwrap_or(Turn::MAX)));
        before.map(|(_, id)| *id).inspect(|_| self.note_looks(1))
    }

    fn note_looks(&self, jobs: usize) {
        self.looks.set(self.looks.get() + jobs as u64);
    }

    fn turn(&self, id: JobId) -> Option<Turn> {
        self.places.get(&id).map(|(_, turn)| *turn)
    }
}

/// The slots that the jobs of a session may use, and how many of them are in use.
#[derive(Debug, Default)]
struct Room {
    slots: u32,
    used: u32,
}

/// The queue as a status shows it, made once for all jobs of a list (spec L128).
#[derive(Debug, Default)]
pub(in crate::head) struct Lineup {
    /// The number of queued jobs that each queued job waits for.
    before: BTreeMap<JobId, usize>,
    rooms: BTreeMap<SessionId, Room>,
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
        if self.jobs.queue.is_empty() {
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

    /// The sessions for whose queued jobs a job of this session waits: it may use some of their nodes.
    fn competitors(&self, session: SessionId) -> impl Iterator<Item = SessionId> + '_ {
        // Most jobs are of one session, and need not compare their nodes.
        let pool = OnceCell::new();
        let competes = move |other: &SessionId| {
            !self.sessions.is_paused(*other)
                && (*other == session || {
                    let pool = pool.get_or_init(|| self.may_run_on(session));
                    !self.may_run_on(*other).is_disjoint(pool)
                })
        };
        self.jobs.queue.sessions.keys().copied().filter(competes)
    }

    /// True when a job of this session waits for queued jobs: for some before `before`, or for any.
    pub(super) fn has_jobs_before(&self, session: SessionId, before: Option<JobId>) -> bool {
        let turn = before.and_then(|id| self.jobs.queue.turn(id));
        let waits_for = |other: SessionId| self.jobs.queue.before(other, turn).any(|id| self.is_healthy(id));
        self.competitors(session).any(waits_for)
    }

    fn is_healthy(&self, id: JobId) -> bool {
        self.jobs.get(id).is_some_and(Job::is_healthy)
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
    /// nodes is refused and holds up no other (spec L15). The others are not looked at: only jobs that begin are, and
    /// the first one of each session that stays (spec L128).
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
        // The next job of each session. A session with a job that stays in the queue is taken out: its further jobs
        // wait for that one, however many there are.
        let mut next = self.jobs.queue.heads();
        while let Some((turn, session)) = next.pop_first() {
            let Some((found, id)) = self.jobs.queue.from(session, turn) else { continue };
            if found != turn {
                // The job was removed meanwhile. Jobs of other sessions may come before the next one.
                next.insert((found, session));
                continue;
            }
            if self.serve_queued(id, session, cx) {
                next.insert((turn + 1, session));
            }
        }
    }

    /// Places a job of the queue if it is its turn. False when it stays, and further jobs of its session wait for it.
    fn serve_queued(&mut self, id: JobId, session: SessionId, cx: &mut Cx) -> bool {
        let Some(job) = self.jobs.get(id).filter(|job| job.is_healthy()) else {
            self.jobs.queue.remove(id);
            return true;
        };
        if self.sessions.is_paused(session) || self.has_jobs_before(session, Some(id)) {
            return false;
        }
        let spec = self.spec_of(job);
        match self.placed(id, &spec) {
            Ok(map) => {
                self.jobs.queue.remove(id);
                self.take_map(id, map, cx);
            }
            Err(text) => self.refuse_if_idle(id, text, cx),
        }
        !self.jobs.queue.contains(id)
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
        // A job whose slots are free is the first of its session.
        let first = |session: &SessionId| self.jobs.queue.before(*session, None).find(|id| self.is_healthy(*id));
        let heads: Vec<JobId> = self.jobs.queue.sessions.keys().filter_map(first).collect();
        for id in heads {
            let is_kept = |job: &Job| job.phase.wait().is_none_or(|wait| wait.is_due || !wait.kept_by.is_empty());
            let is_next = |job: &&Job| !is_kept(job) && self.is_next(job);
            if self.jobs.get(id).filter(is_next).is_some()
                && let Some(wait) = self.jobs.wait_mut(id)
            {
                wait.kept_by.clone_from(&open);
            }
        }
    }

    /// The queue as the status of one job shows it, or of all jobs of a list.
    pub(in crate::head) fn lineup(&self, only: Option<JobId>) -> Lineup {
        let queue = &self.jobs.queue;
        let Some(id) = only else { return self.whole_lineup() };
        let Some((session, turn)) = queue.places.get(&id) else { return Lineup::default() };
        let before = self.competitors(*session).map(|other| queue.before(other, Some(*turn)).count()).sum();
        Lineup { before: [(id, before)].into(), rooms: [(*session, self.room_of(*session))].into() }
    }

    fn whole_lineup(&self) -> Lineup {
        let sessions = &self.jobs.queue.sessions;
        let rooms = sessions.keys().map(|session| (*session, self.room_of(*session))).collect();
        let competitors: BTreeMap<SessionId, Vec<SessionId>> =
            sessions.keys().map(|session| (*session, self.competitors(*session).collect())).collect();
        let mut so_far: BTreeMap<SessionId, usize> = BTreeMap::new();
        let mut before = BTreeMap::new();
        for id in self.jobs.queue.ids() {
            let (session, _) = self.jobs.queue.places[&id];
            let count = competitors[&session].iter().filter_map(|other| so_far.get(other)).sum();
            before.insert(id, count);
            *so_far.entry(session).or_default() += 1;
        }
        Lineup { before, rooms }
    }

    fn room_of(&self, session: SessionId) -> Room {
        let nodes = self.may_run_on(session);
        let records = || nodes.iter().map(|node| self.pool.record(*node));
        let (slots, used) = (records().map(|n| n.slots).sum(), records().map(|n| n.slots_inuse).sum());
        Room { slots, used }
    }

    /// The reason why a queued job waits, in words.
    pub(super) fn queued_for(&self, job: &Job, lineup: &Lineup) -> String {
        if self.sessions.is_paused(job.session) {
            return self.held_for(&Hold::Paused);
        }
        if self.is_changing() && self.is_next(job) {
            return self.held_for(&Hold::Map(BTreeSet::new()));
        }
        let before = lineup.before.get(&job.id).copied().unwrap_or_default();
        let asked: Option<u32> = job.spec.apps.iter().map(|app| app.np).sum();
        let (slots, used) = lineup.rooms.get(&job.session).map_or((0, 0), |room| (room.slots, room.used));
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
