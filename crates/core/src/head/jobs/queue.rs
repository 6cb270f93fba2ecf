//! The queue: jobs that wait for slots, in the order of the waiting list. A job waits for those before it that may use
//! the same nodes, and passes the others. It passes the first one as well when that one does not fit, for a limited
//! time (spec L124).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrite_map::{needs_free_slots, place};
use ferrite_types::resources::{Amounts, amounts_in_words};
use ferrite_types::{
    AppContext, CampaignId, DaemonRank, Duration, HostRef, JobId, JobSpec, MapBy, NodeId, NodeRecord, SessionId,
    Timestamp,
};
use ferrite_wire::control::ResourceStatus;

use super::record::Job;
use super::waiting_list::Standing;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::{Hold, Need};

/// The most jobs of a session that are considered for slots that the first one cannot use, before one of them begins
/// (spec L124, L128).
const MOST_CANDIDATES: usize = 16;

/// The most kinds of jobs that are remembered while all that wait are looked at.
const MOST_KINDS: usize = 16;

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
    /// An error for a job that could not even run in the otherwise empty DVM, so that waiting makes no sense.
    fn may_fit_later(&self, spec: &JobSpec, session: SessionId) -> Result<(), String> {
        let pool = self.pool_of(session);
        let is_part = pool.is_some();
        if !is_part && (self.fits_on_few(spec) || self.fits_on_named(spec)) {
            return Ok(());
        }
        let nodes = idle(pool.unwrap_or_else(|| self.pool.records().to_vec()));
        self.jobs.note_nodes(nodes.len());
        let map = self.place_among(spec, &nodes, &self.jobs.occupancy.idle());
        map.map(drop).map_err(|text| if is_part { self.among_some(&text) } else { text })
    }

    /// True for a job that the first nodes would take if they were idle, so that the others need no look (spec L145).
    /// False says nothing.
    fn fits_on_few(&self, spec: &JobSpec) -> bool {
        let is_plain = |app: &AppContext| app.np.is_some() && app.hosts.is_empty();
        let is_simple = needs_free_slots(spec) && spec.apps.iter().all(is_plain) && self.pool.alike().is_some();
        if !is_simple || asked_by(spec) > self.pool.slots() {
            return false;
        }
        let (mut few, mut slots) = (Vec::new(), 0);
        for node in self.pool.up() {
            few.push(node.clone());
            // The head's node may be left out.
            slots += if node.daemon == Some(DaemonRank::HEAD) { 0 } else { node.slots };
            if slots >= asked_by(spec) {
                break;
            }
        }
        self.place_among(spec, &idle(few), &self.jobs.occupancy.idle()).is_ok()
    }

    /// True for a job that the nodes that it names would take if they were idle (spec L158). False says nothing.
    fn fits_on_named(&self, spec: &JobSpec) -> bool {
        let is_empty_one = |item: &HostRef| matches!(item, HostRef::Empty(_));
        let names_some = |app: &AppContext| {
            let mut lists = [&app.hosts.hostfile, &app.hosts.hosts].into_iter();
            !app.hosts.is_empty() && !lists.any(|list| list.iter().any(is_empty_one))
        };
        if !spec.apps.iter().all(names_some) {
            return false;
        }
        let Ok(shares) = self.shares_among(spec, self.pool.records()) else { return false };
        let named: BTreeSet<NodeId> = shares.iter().flatten().map(|share| share.node).collect();
        let records = named.into_iter().map(|node| self.pool.record(node).clone());
        place(spec, &idle(records.collect()), &shares, &self.jobs.occupancy.idle()).is_ok()
    }

    /// The nodes that jobs of a session may get later: all nodes of the session, even when used or reserved now.
    fn hopes_of(&self, session: SessionId) -> Vec<NodeRecord> {
        let mut nodes = idle(self.pool.records().to_vec());
        if let Some(own) = self.sessions.nodes(session) {
            nodes.iter_mut().filter(|node| !own.contains(&node.id)).for_each(|node| node.daemon = None);
        }
        nodes
    }

    /// Refuses queued jobs that can never run after a loss of nodes, at any position. It runs once per loss, because
    /// it looks at every queued job (spec L145). Of jobs that want the same, one is placed for all (spec L128).
    fn refuse_hopeless(&mut self, cx: &mut Cx) {
        let departures = self.pool.departures();
        if std::mem::replace(&mut self.jobs.queue.checked_after, departures) == departures {
            return;
        }
        let idle = self.jobs.occupancy.idle();
        let (mut nodes, mut hopeful) = (BTreeMap::new(), Vec::<(SessionId, Arc<JobSpec>)>::new());
        for (id, _) in self.jobs.queue.all() {
            let Some(job) = self.jobs.get(id).filter(|_| self.jobs.queue.contains(id)) else { continue };
            let (session, spec) = (job.session, self.spec_of(job));
            if hopeful.iter().any(|(of, other)| *of == session && want_the_same(other, &spec)) {
                continue;
            }
            let nodes_of_session = nodes.entry(session).or_insert_with(|| self.hopes_of(session));
            match self.place_among(&spec, nodes_of_session, &idle) {
                Ok(_) if hopeful.len() < MOST_KINDS => hopeful.push((session, spec)),
                Ok(_) => {}
                Err(text) => {
                    self.refuse_queued(id, text, cx);
                    // A session may have ended with it, and its nodes may be others' now.
                    nodes.clear();
                    hopeful.clear();
                }
            }
        }
    }

    fn refuse_queued(&mut self, id: JobId, text: String, cx: &mut Cx) {
        self.jobs.queue.remove(id);
        self.fail_placement(id, text, cx);
    }

    /// Nodes with a daemon that jobs of a session may use.
    fn may_run_on(&self, session: SessionId) -> BTreeSet<NodeId> {
        self.usable_by(session).map(|node| node.id).collect()
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
        self.jobs.queue.sessions().filter(competes)
    }

    /// The queued jobs that come first in their sessions, or came first when others passed them, and for which a job
    /// with this standing waits.
    fn firsts_before(&self, session: SessionId, standing: Standing) -> Vec<JobId> {
        self.firsts_among(self.competitors(session), standing)
    }

    fn firsts_among(&self, sessions: impl Iterator<Item = SessionId>, standing: Standing) -> Vec<JobId> {
        let firsts = sessions.flat_map(|session| self.jobs.queue.firsts(session));
        firsts.filter(|(first, _)| *first < standing).map(|(_, id)| id).collect()
    }

    /// True for the first job of its session, when no first one of another session comes before it.
    fn comes_first(&self, id: JobId, session: SessionId) -> bool {
        let first = self.jobs.queue.first(session).filter(|(_, first)| *first == id);
        first.is_some_and(|(standing, _)| self.firsts_before(session, standing).is_empty())
    }

    /// The time for which later jobs may pass the first one.
    fn backfill_limit(&self) -> Duration {
        Duration::from_secs(self.params.number("ferrite_backfill").unwrap_or(0).into())
    }

    /// True while a later job may begin before all of these: none has been passed for the whole time (spec L124).
    fn may_pass(&self, firsts: &[JobId], now: Timestamp) -> bool {
        let limit = self.backfill_limit();
        let is_open = |id: &JobId| self.jobs.queue.passed_since(*id).is_none_or(|since| now - since < limit);
        limit > Duration::default() && firsts.iter().all(is_open)
    }

    /// The slots of all nodes that nobody uses.
    fn free_slots(&self) -> u32 {
        self.pool.free_slots()
    }

    /// Places a patient job that comes, or puts it into the queue. A job that waits for others begins before them where
    /// it may pass them (spec L122 to L124).
    pub(super) fn place_or_queue(&mut self, id: JobId, spec: &JobSpec, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let (session, priority, client) = (job.session, job.priority, job.launcher.clone());
        // More nodes bring no more of what all nodes share.
        if self.shared_wants(spec).iter().any(|(resource, wanted)| *wanted > resource.amount)
            && let Err(text) = self.may_fit_later(spec, session)
        {
            return self.fail_placement(id, text, cx);
        }
        // A job that was mapped before the change of size goes before queued jobs.
        let is_again = job.was_mapped();
        let firsts = match is_again {
            true => Vec::new(),
            false => {
                let standing = self.jobs.queue.standing_of_newcomer(session, priority, &client);
                self.firsts_before(session, standing)
            }
        };
        let waits = !firsts.is_empty();
        if waits && (asked_by(spec) > self.free_slots() || !self.may_pass(&firsts, cx.now)) {
            // The others would wait behind it until all nodes are idle (spec L15). Open campaigns may still bring the
            // nodes that it needs.
            if asked_by(spec) > self.pool.slots()
                && !self.is_changing()
                && let Err(text) = self.may_fit_later(spec, session)
            {
                return self.fail_placement(id, text, cx);
            }
            return self.jobs.queue.push(id, session, priority, &client);
        }
        // A try would look at each node, and describe what it lacks.
        let placed = if self.finds_no_slot(id, spec) { None } else { self.placed(id, spec).ok() };
        match placed {
            Some(map) => {
                firsts.into_iter().for_each(|first| self.jobs.queue.note_passed(first, cx.now));
                self.take_map(id, map, cx);
            }
            None if !waits && let Err(text) = self.may_fit_later(spec, session) => self.fail_placement(id, text, cx),
            None if is_again => self.jobs.queue.push_front(id, session),
            None => self.jobs.queue.push(id, session, priority, &client),
        }
    }

    /// True for a job that needs free slots when there are none, nor any that an offer keeps for it.
    fn finds_no_slot(&self, id: JobId, spec: &JobSpec) -> bool {
        self.pool.is_full() && needs_free_slots(spec) && !self.may_take_offered(id)
    }

    /// True for a queued job with free slots and no earlier job to wait for: only a change of size may hold it.
    pub(super) fn is_next(&self, job: &Job) -> bool {
        let waits = self.jobs.queue.contains(job.id) && job.is_healthy() && !self.sessions.is_paused(job.session);
        waits && self.comes_first(job.id, job.session) && {
            let pool = self.pool_of(job.session);
            let nodes = pool.as_deref().unwrap_or(self.pool.records());
            self.place_among(&self.spec_of(job), nodes, &self.jobs.occupancy).is_ok()
        }
    }

    /// The slots that the first jobs of the queue lack (spec E63). A job of a paused session, or one that waits for
    /// jobs of other sessions, needs nothing now.
    pub(in crate::head) fn needs(&self) -> Vec<Need> {
        let firsts =
            self.jobs.queue.sessions().filter_map(|session| Some((session, self.jobs.queue.first(session)?.1)));
        let waits =
            |(session, id): &(SessionId, JobId)| !self.sessions.is_paused(*session) && self.comes_first(*id, *session);
        let need = |(session, id): (SessionId, JobId)| {
            let job = self.jobs.get(id).filter(|job| job.is_healthy())?;
            let room = self.room_of(session);
            // There is room enough, but not where the job is to be placed: more room may help.
            let missing = asked_by(&job.spec).saturating_sub(room.slots.saturating_sub(room.used)).max(1);
            let short = self.shared_lacks(&job.spec).into_iter().map(|(resource, _)| resource.name).collect();
            Some(Need { nodes: self.may_run_on(session), missing, short })
        };
        firsts.filter(waits).filter_map(need).collect()
    }

    /// Serves the queue after slots have become free or a job has left it. A job that can never run after a loss of
    /// nodes is refused and holds up no other (spec L15). Of the others only those that begin are looked at, and a few
    /// of each session that stay (spec L128).
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
        let queue = &self.jobs.queue;
        let first = |session| queue.first(session).map(|(standing, _)| (standing, session));
        let mut next: BTreeSet<(Standing, SessionId)> = queue.sessions().filter_map(first).collect();
        let mut staying = Vec::new();
        while let Some((standing, session)) = next.pop_first() {
            let Some((found, id)) = self.jobs.queue.first(session) else { continue };
            if found == standing && self.comes_first(id, session) {
                self.serve_queued(id, &[], cx);
            }
            match self.jobs.queue.first(session) {
                Some((_, first)) if found == standing && first == id => staying.push(session),
                // Another job is the first one now. Jobs of other sessions may come before it.
                Some((standing, _)) => drop(next.insert((standing, session))),
                None => {}
            }
        }
        self.backfill(&staying, cx);
    }

    /// Gives slots that the first jobs of these sessions cannot use to later ones, for a limited time (spec L124).
    fn backfill(&mut self, sessions: &[SessionId], cx: &mut Cx) {
        if sessions.is_empty() || self.free_slots() == 0 || self.backfill_limit() == Duration::default() {
            return;
        }
        let competitors: BTreeMap<SessionId, Vec<SessionId>> =
            sessions.iter().map(|session| (*session, self.competitors(*session).collect())).collect();
        // Jobs that begin make room for others among the candidates.
        while self.try_candidates(&competitors, cx) {}
    }

    /// Tries the first jobs of each of these sessions, which has these competitors. True when one of them has begun.
    fn try_candidates(&mut self, competitors: &BTreeMap<SessionId, Vec<SessionId>>, cx: &mut Cx) -> bool {
        let front = |session: &SessionId| self.jobs.queue.front(*session, MOST_CANDIDATES + 1);
        let candidates: BTreeMap<Standing, JobId> = competitors.keys().flat_map(front).collect();
        let waiting = self.jobs.queue.len();
        let mut free = self.free_slots();
        for id in candidates.into_values() {
            let Some(job) = self.jobs.get(id).filter(|job| asked_by(&job.spec) <= free) else { continue };
            // Jobs that have begun meanwhile have changed the order.
            let Some(standing) = self.jobs.queue.standing(id) else { continue };
            let competitors = competitors.get(&job.session).into_iter().flatten().copied();
            let firsts = self.firsts_among(competitors, standing);
            if !firsts.is_empty() && self.may_pass(&firsts, cx.now) {
                self.serve_queued(id, &firsts, cx);
                free = self.free_slots();
            }
        }
        self.jobs.queue.len() < waiting
    }

    /// Places a job of the queue whose turn it is, or that may begin before these others.
    fn serve_queued(&mut self, id: JobId, firsts: &[JobId], cx: &mut Cx) {
        let Some(job) = self.jobs.get(id).filter(|job| job.is_healthy()) else { return self.jobs.queue.remove(id) };
        if self.sessions.is_paused(job.session) {
            return;
        }
        // A try would look at each node, and describe what it lacks.
        if self.finds_no_slot(id, &job.spec) && self.is_busy(job.session) {
            return;
        }
        let spec = self.spec_of(job);
        match self.placed(id, &spec) {
            Ok(map) => {
                firsts.iter().for_each(|first| self.jobs.queue.note_passed(*first, cx.now));
                self.jobs.queue.begin(id);
                self.take_map(id, map, cx);
            }
            Err(text) if firsts.is_empty() => self.refuse_if_idle(id, text, cx),
            Err(_) => {}
        }
    }

    /// True while a campaign holds every job.
    fn is_changing(&self) -> bool {
        self.elastic.that_hold_all().next().is_some()
    }

    /// Refuses a job that does not fit although all nodes that it may use are idle.
    fn refuse_if_idle(&mut self, id: JobId, text: String, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let is_busy = self.is_busy(job.session);
        // Jobs on other nodes may have what all nodes share.
        let is_shared = || self.shared_wants(&job.spec).iter().any(|(resource, ..)| resource.in_use > 0);
        if !is_busy && !is_shared() && !self.is_changing() {
            self.refuse_queued(id, text, cx);
        }
    }

    /// True when a node that jobs of the session may get is in use.
    fn is_busy(&self, session: SessionId) -> bool {
        let own = self.sessions.nodes(session);
        let may_hope = |node: &&NodeRecord| own.is_none_or(|own| own.contains(&node.id));
        self.pool.records().iter().filter(may_hope).any(|node| node.slots_inuse > 0)
    }

    /// Notes the queued jobs whose slots are free while the DVM changes its size: they have their turn when the open
    /// campaigns are over (spec E18).
    fn wait_for_turns(&mut self) {
        let open: BTreeSet<CampaignId> = self.elastic.that_hold_all().collect();
        // A job whose slots are free is the first of its session.
        let queue = &self.jobs.queue;
        let firsts: Vec<JobId> = queue.sessions().filter_map(|session| Some(queue.first(session)?.1)).collect();
        for id in firsts {
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
        let Some((session, standing)) = queue.session_of(id).zip(queue.standing(id)) else { return Lineup::default() };
        let before = self.competitors(session).map(|other| queue.count_before(other, standing)).sum();
        Lineup { before: [(id, before)].into(), rooms: [(session, self.room_of(session))].into() }
    }

    fn whole_lineup(&self) -> Lineup {
        let queue = &self.jobs.queue;
        let rooms = queue.sessions().map(|session| (session, self.room_of(session))).collect();
        let competitors: BTreeMap<SessionId, Vec<SessionId>> =
            queue.sessions().map(|session| (session, self.competitors(session).collect())).collect();
        let mut so_far: BTreeMap<SessionId, usize> = BTreeMap::new();
        let mut before = BTreeMap::new();
        for (id, session) in queue.all() {
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

    /// The shared resources that a job wants: the status of each, and the amount (spec L151).
    fn shared_wants(&self, spec: &JobSpec) -> Vec<(ResourceStatus, u64)> {
        let wants = |resource: &ResourceStatus| {
            let amount = |amounts: &Amounts| amounts.get(&resource.name).copied().unwrap_or_default();
            let of_app = |app: &AppContext| {
                amount(&app.takes).saturating_mul(app.np.unwrap_or(1).into()).saturating_add(amount(&app.takes_once))
            };
            spec.apps.iter().map(of_app).fold(0, u64::saturating_add)
        };
        let all = self.jobs.shared_resources().into_iter().map(|resource| {
            let wanted = wants(&resource);
            (resource, wanted)
        });
        all.filter(|(_, wanted)| *wanted > 0).collect()
    }

    /// The shared resources of which a job wants more than is free.
    fn shared_lacks(&self, spec: &JobSpec) -> Vec<(ResourceStatus, u64)> {
        let mut wants = self.shared_wants(spec);
        wants.retain(|(resource, wanted)| resource.amount.saturating_sub(resource.in_use) < *wanted);
        wants
    }

    /// Names the shared resources that a job lacks; empty when there is enough.
    fn shared_lacks_in_words(&self, spec: &JobSpec) -> String {
        let words = |(ResourceStatus { name, amount, in_use }, wanted): (ResourceStatus, u64)| {
            format!("{name}={wanted} of the DVM, which has {} of {amount} free", amount.saturating_sub(in_use))
        };
        self.shared_lacks(spec).into_iter().map(words).collect::<Vec<_>>().join(", and for ")
    }

    /// The reason why a queued job waits, in words (spec L148, L151).
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
        let shared = self.shared_lacks_in_words(&job.spec);
        let lacks = !shared.is_empty();
        let what = match asked {
            _ if lacks => shared,
            Some(asked) if asked <= free && before == 0 => {
                format!("room for {asked} processes{} as they are to be placed", with_resources(&job.spec))
            }
            Some(asked) => format!("{asked} slots"),
            None => "the slots".to_owned(),
        };
        let of = if lacks { " slots" } else { "" };
        format!("{what} ({free} of {slots}{of} are free, {before} jobs are before it)")
    }
}

/// What the processes of a job take besides a slot, in words: ` with fpga=1 each`.
fn with_resources(spec: &JobSpec) -> String {
    let device = |app| matches!(spec.map_of(app).by, Some(MapBy::Device(_) | MapBy::PerDevice(..)));
    let takes = spec.apps.iter().map(|app| &app.takes).find(|takes| !takes.is_empty()).map(amounts_in_words);
    let all: Vec<String> =
        takes.into_iter().chain(spec.apps.iter().any(device).then(|| "their devices".to_owned())).collect();
    if all.is_empty() { String::new() } else { format!(" with {} each", all.join(" and ")) }
}

/// The slots that a job needs at least.
fn asked_by(spec: &JobSpec) -> u32 {
    spec.apps.iter().map(|app| app.np.unwrap_or(1)).sum()
}

/// True when both jobs are placed alike on the same nodes.
fn want_the_same(one: &JobSpec, other: &JobSpec) -> bool {
    let is_alike = |(a, b): (&AppContext, &AppContext)| {
        (a.np, &a.hosts, &a.map, &a.takes, &a.takes_once) == (b.np, &b.hosts, &b.map, &b.takes, &b.takes_once)
    };
    one.map == other.map && one.apps.len() == other.apps.len() && one.apps.iter().zip(&other.apps).all(is_alike)
}

fn idle(mut nodes: Vec<NodeRecord>) -> Vec<NodeRecord> {
    nodes.iter_mut().for_each(|node| node.slots_inuse = 0);
    nodes
}
