//! The jobs that wait for slots, in their order: by priority, and clients take turns (spec L122, L123). It knows jobs
//! by their numbers. The queue (`queue.rs`), its only user, decides which of them may begin.
//!
//! The cost of adding, finding or removing a job, and of finding the first ones of a session, does not grow with the
//! number of jobs that wait (spec L128).

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrite_types::{JobId, SessionId, Timestamp};

/// The time at which a client had its last turn, or began to wait: who has the lowest is next.
type Turn = i64;

/// The jobs of a higher class come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Jobs that had slots before and lost them with nodes.
    MappedAgain,
    /// Jobs of this priority.
    Of(Reverse<i16>),
}

/// The standing of a job among those of all sessions: the lower one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    class: Class,
    /// The number of turns that its client has before it is this job's turn.
    round: usize,
    turn: Turn,
}

/// The waiting jobs of a client in one class, in the order of their coming.
#[derive(Debug)]
struct File {
    turn: Turn,
    jobs: BTreeMap<i64, JobId>,
}

/// The waiting jobs of a session.
#[derive(Debug, Default)]
struct Line {
    files: BTreeMap<(Class, Arc<str>), File>,
    /// The clients by their turns.
    turns: BTreeMap<(Class, Turn), Arc<str>>,
    /// Jobs that were the first one when a later job began before them. Each is the first of its file; there are few.
    passed: BTreeSet<JobId>,
}

#[derive(Debug)]
struct Place {
    session: SessionId,
    class: Class,
    client: Arc<str>,
    /// Its number among the jobs of its client.
    number: i64,
    /// The time at which a later job began first.
    passed_since: Option<Timestamp>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct WaitingList {
    /// A session without waiting jobs is not here.
    lines: BTreeMap<SessionId, Line>,
    places: BTreeMap<JobId, Place>,
    /// The numbers that were given at both ends.
    first: i64,
    last: i64,
    /// True when a job has left for which others have waited: the first one of a session, or one that was it.
    vacated: bool,
    /// The number of jobs that walks have met, for tests.
    pub(super) looks: Cell<u64>,
    /// The departures of daemons before the last check whether all queued jobs can ever run.
    pub(super) checked_after: u64,
}

impl File {
    fn standing(&self, class: Class, round: usize) -> Standing {
        Standing { class, round, turn: self.turn }
    }

    /// The number of its jobs that come before this standing in the same class.
    fn before(&self, standing: Standing) -> usize {
        self.jobs.len().min(standing.round + usize::from(self.turn < standing.turn))
    }
}

impl Line {
    fn file_at(&self, class: Class, client: &Arc<str>) -> &File {
        &self.files[&(class, Arc::clone(client))]
    }

    fn first(&self) -> Option<(Standing, JobId)> {
        let ((class, _), client) = self.turns.first_key_value()?;
        let file = self.file_at(*class, client);
        Some((file.standing(*class, 0), *file.jobs.first_key_value()?.1))
    }

    /// The first jobs in their order, this many at most.
    fn front(&self, most: usize) -> Vec<(Standing, JobId)> {
        let mut front = Vec::new();
        let mut class = self.turns.first_key_value().map(|((class, _), _)| *class);
        while let Some(this) = class.filter(|_| front.len() < most) {
            let clients = self.turns.range((this, Turn::MIN)..=(this, Turn::MAX)).take(most - front.len());
            let mut files: Vec<_> =
                clients.map(|(_, client)| self.file_at(this, client)).map(|file| (file, file.jobs.values())).collect();
            let mut round = 0;
            while !files.is_empty() && front.len() < most {
                files.retain_mut(|(file, jobs)| match jobs.next() {
                    Some(id) => {
                        front.push((file.standing(this, round), *id));
                        true
                    }
                    None => false,
                });
                round += 1;
            }
            class = self.turns.range((this, Turn::MAX)..).map(|((class, _), _)| *class).find(|class| *class != this);
        }
        front.truncate(most);
        front
    }
}

impl WaitingList {
    /// Adds a job behind the others of its client that have its priority (spec L122).
    pub(super) fn push(&mut self, id: JobId, session: SessionId, priority: i16, client: &str) {
        self.last += 1;
        self.put(id, session, Class::Of(Reverse(priority)), client, self.last);
    }

    /// Adds a job before all others: it had slots before.
    pub(super) fn push_front(&mut self, id: JobId, session: SessionId) {
        self.first -= 1;
        self.put(id, session, Class::MappedAgain, "", self.first);
    }

    fn put(&mut self, id: JobId, session: SessionId, class: Class, client: &str, number: i64) {
        let line = self.lines.entry(session).or_default();
        let client: Arc<str> = client.into();
        let key = (class, Arc::clone(&client));
        let file = line.files.entry(key).or_insert_with(|| File { turn: number, jobs: BTreeMap::new() });
        file.jobs.insert(number, id);
        line.turns.entry((class, file.turn)).or_insert_with(|| Arc::clone(&client));
        let former = self.places.insert(id, Place { session, class, client, number, passed_since: None });
        debug_assert!(former.is_none(), "job {id} waits once");
    }

    /// The standing that a job of this priority and client would have behind the others.
    pub(super) fn standing_of_newcomer(&self, session: SessionId, priority: i16, client: &str) -> Standing {
        let class = Class::Of(Reverse(priority));
        let file = self.lines.get(&session).and_then(|line| line.files.get(&(class, client.into())));
        match file {
            Some(file) => file.standing(class, file.jobs.len()),
            None => Standing { class, round: 0, turn: self.last + 1 },
        }
    }

    /// Takes a job out that does not begin: its client keeps its turn.
    pub(super) fn remove(&mut self, id: JobId) {
        self.take(id);
    }

    /// Takes a job out that begins. When it was the first of its client, the other clients have their turns next
    /// (spec L123).
    pub(super) fn begin(&mut self, id: JobId) {
        let Some((place, was_first)) = self.take(id) else { return };
        let Some(line) = self.lines.get_mut(&place.session).filter(|_| was_first) else { return };
        let key = (place.class, Arc::clone(&place.client));
        let Some(file) = line.files.get_mut(&key) else { return };
        self.last += 1;
        line.turns.remove(&(place.class, file.turn));
        file.turn = self.last;
        line.turns.insert((place.class, file.turn), place.client);
    }

    /// Takes a job out. Also says whether it was the first of its client.
    fn take(&mut self, id: JobId) -> Option<(Place, bool)> {
        let place = self.places.remove(&id)?;
        let line = self.lines.get_mut(&place.session)?;
        self.vacated |= line.passed.remove(&id) || line.first().is_some_and(|(_, first)| first == id);
        let key = (place.class, Arc::clone(&place.client));
        let file = line.files.get_mut(&key)?;
        let was_first = file.jobs.first_key_value().is_some_and(|(number, _)| *number == place.number);
        file.jobs.remove(&place.number);
        if file.jobs.is_empty() {
            line.turns.remove(&(place.class, file.turn));
            line.files.remove(&key);
        }
        if line.files.is_empty() {
            self.lines.remove(&place.session);
        }
        Some((place, was_first))
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn contains(&self, id: JobId) -> bool {
        self.places.contains_key(&id)
    }

    pub(super) fn session_of(&self, id: JobId) -> Option<SessionId> {
        self.places.get(&id).map(|place| place.session)
    }

    /// True when a job has left since the last call for which others have waited.
    pub(super) fn take_vacated(&mut self) -> bool {
        std::mem::take(&mut self.vacated)
    }

    /// The sessions with waiting jobs.
    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.lines.keys().copied()
    }

    /// The first job of a session.
    pub(super) fn first(&self, session: SessionId) -> Option<(Standing, JobId)> {
        self.lines.get(&session)?.first()
    }

    /// The first job of a session, and those that were it when others began before them.
    pub(super) fn firsts(&self, session: SessionId) -> impl Iterator<Item = (Standing, JobId)> + '_ {
        let line = self.lines.get(&session);
        let first = line.and_then(Line::first);
        let passed = line.map(|line| line.passed.iter()).into_iter().flatten();
        let passed = passed.filter(move |id| first.is_none_or(|(_, first)| first != **id));
        first.into_iter().chain(passed.filter_map(|id| Some((self.standing(*id)?, *id))))
    }

    /// The first jobs of a session in their order, this many at most.
    pub(super) fn front(&self, session: SessionId, most: usize) -> Vec<(Standing, JobId)> {
        let front = self.lines.get(&session).map(|line| line.front(most)).unwrap_or_default();
        self.note_looks(front.len());
        front
    }

    /// The standing of a job. It costs the more the farther behind it is.
    pub(super) fn standing(&self, id: JobId) -> Option<Standing> {
        let place = self.places.get(&id)?;
        let file = self.lines.get(&place.session)?.file_at(place.class, &place.client);
        let round = file.jobs.range(..place.number).count();
        self.note_looks(round);
        Some(file.standing(place.class, round))
    }

    /// The number of jobs of a session that come before this standing.
    pub(super) fn count_before(&self, session: SessionId, standing: Standing) -> usize {
        let files = self.lines.get(&session).map(|line| &line.files).into_iter().flatten();
        let before = files
            .filter(|((class, _), _)| *class <= standing.class)
            .map(|((class, _), file)| if *class < standing.class { file.jobs.len() } else { file.before(standing) });
        before.inspect(|_| self.note_looks(1)).sum()
    }

    /// All of them in their order.
    pub(super) fn all(&self) -> Vec<(JobId, SessionId)> {
        let mut all = Vec::with_capacity(self.places.len());
        for (session, line) in &self.lines {
            for ((class, _), file) in &line.files {
                let jobs = file.jobs.values().enumerate();
                all.extend(jobs.map(|(round, id)| (file.standing(*class, round), *id, *session)));
            }
        }
        self.note_looks(all.len());
        all.sort_unstable();
        all.into_iter().map(|(_, id, session)| (id, session)).collect()
    }

    /// The time since which later jobs have begun before this one.
    pub(super) fn passed_since(&self, id: JobId) -> Option<Timestamp> {
        self.places.get(&id)?.passed_since
    }

    /// Notes that a later job begins before this one.
    pub(super) fn note_passed(&mut self, id: JobId, now: Timestamp) {
        let Some(place) = self.places.get_mut(&id) else { return };
        place.passed_since.get_or_insert(now);
        if let Some(line) = self.lines.get_mut(&place.session) {
            line.passed.insert(id);
        }
    }

    fn note_looks(&self, jobs: usize) {
        self.looks.set(self.looks.get() + jobs as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: SessionId = SessionId::DVM;

    /// Jobs of one session, each with its number, priority and client.
    fn list(jobs: &[(u32, i16, &str)]) -> WaitingList {
        let mut list = WaitingList::default();
        jobs.iter().for_each(|(id, priority, client)| list.push(JobId(*id), ALL, *priority, client));
        list
    }

    /// The order in which the jobs begin when each first one does.
    fn begun(mut list: WaitingList) -> Vec<u32> {
        let first = |list: &WaitingList| list.first(ALL).map(|(_, id)| id);
        std::iter::from_fn(|| first(&list).inspect(|id| list.begin(*id))).map(|id| id.0).collect()
    }

    /// Of equal priority, clients take turns; the jobs of one keep their order (spec L122, L123).
    #[test]
    fn higher_priorities_come_first_and_clients_of_one_take_turns() {
        let jobs = [(1, 0, "a"), (2, 0, "a"), (3, 0, "a"), (4, 0, "b"), (5, 9, "a"), (6, -1, "c"), (7, 0, "b")];
        assert_eq!(begun(list(&jobs)), [5, 1, 4, 2, 7, 3, 6]);
        let predicted: Vec<u32> = list(&jobs).all().iter().map(|(id, _)| id.0).collect();
        assert_eq!(predicted, begun(list(&jobs)));
        for most in 0..9 {
            let front: Vec<u32> = list(&jobs).front(ALL, most).iter().map(|(_, id)| id.0).collect();
            assert_eq!(front, predicted[..most.min(7)]);
        }
    }

    /// A client that comes again waits for the others, however many jobs they have (spec L123).
    #[test]
    fn a_client_with_one_job_at_a_time_has_every_second_turn() {
        let mut many = list(&[(1, 0, "many"), (2, 0, "many"), (3, 0, "many")]);
        let mut order = Vec::new();
        for id in 10..13 {
            many.push(JobId(id), ALL, 0, "one");
            for _ in 0..2 {
                let (_, first) = many.first(ALL).expect("jobs wait");
                many.begin(first);
                order.push(first.0);
            }
        }
        assert_eq!(order, [1, 10, 2, 11, 3, 12]);
    }

    /// A job that leaves otherwise has not had its client's turn (spec L123).
    #[test]
    fn a_client_keeps_its_turn_when_its_job_is_cancelled_or_another_of_its_jobs_begins() {
        let jobs = [(1, 0, "a"), (2, 0, "b"), (3, 0, "a"), (4, 0, "a")];
        let mut cancelled = list(&jobs);
        cancelled.remove(JobId(1));
        assert_eq!(begun(cancelled), [3, 2, 4]);
        let mut passed = list(&jobs);
        passed.begin(JobId(3));
        assert_eq!(begun(passed), [1, 2, 4]);
    }

    #[test]
    fn the_count_of_jobs_before_one_is_its_place_in_the_order() {
        let list = list(&[(1, 0, "a"), (2, 0, "a"), (3, 0, "b"), (4, 5, "c"), (5, 0, "b"), (6, 0, "a")]);
        for (at, (id, session)) in list.all().into_iter().enumerate() {
            assert_eq!(list.count_before(session, list.standing(id).expect("it waits")), at, "job {id}");
        }
        let newcomer = list.standing_of_newcomer(ALL, 0, "d");
        assert_eq!(list.count_before(ALL, newcomer), 3, "those of c, and the first of a and of b");
    }

    #[test]
    fn a_job_that_had_slots_before_comes_first() {
        let mut list = list(&[(1, 1_000, "a")]);
        list.push_front(JobId(2), ALL);
        list.push_front(JobId(3), ALL);
        assert_eq!(begun(list), [3, 2, 1]);
    }
}
