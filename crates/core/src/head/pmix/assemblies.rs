//! Groups whose members do not know each other (`PMIX_GROUP_BOOTSTRAP`). Each leader says how many leaders there are,
//! and may name further members, who call as well. The group is made when all of them have called.
//!
//! An attempt that fails does so for all. Who comes later hears the same: the head remembers whom it still expects.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{DaemonRank, JobId, PmixStatus, ProcId, Rank, Timestamp};
use ferrite_wire::{CollectiveResult, DaemonMessage, GroupEntry, GroupPart, GroupRole, Members};

use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_EXISTS, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT,
};

/// Number of attempts that there may be at once, with those that have failed.
const LIMIT: usize = 4_096;

/// All attempts, by the name of the group.
#[derive(Debug, Default)]
pub(super) struct Assemblies {
    open: BTreeMap<String, Assembly>,
    failed: BTreeMap<String, Failed>,
    /// The number of the latest attempt.
    latest: u64,
}

/// An attempt to make a group.
#[derive(Debug)]
struct Assembly {
    number: u64,
    /// The number of leaders, once one has come.
    wanted: Option<u64>,
    leaders: BTreeMap<ProcId, Call>,
    /// Processes that leaders name, with their daemons; no leader is among them.
    named: BTreeMap<ProcId, DaemonRank>,
    /// Calls of processes that wait to be named.
    followers: Vec<Call>,
    /// The earliest limit of a caller.
    deadline: Option<Timestamp>,
    /// True when named processes that have ended are left out.
    leaves_out: bool,
}

/// A call that waits for its answer.
#[derive(Debug)]
struct Call {
    daemon: DaemonRank,
    id: u64,
    part: GroupPart,
}

/// An attempt that has failed, and who has not heard of it yet.
#[derive(Debug)]
struct Failed {
    status: PmixStatus,
    told: BTreeSet<ProcId>,
    /// Leaders that have not come.
    leaders: u64,
    /// Named processes that have not come, by daemon.
    followers: BTreeMap<DaemonRank, usize>,
}

impl Assemblies {
    /// True while an attempt of this name waits for somebody.
    pub(super) fn is_open(&self, name: &str) -> bool {
        self.open.contains_key(name)
    }

    /// Forgets the failures of which processes of a job that is over have heard.
    pub(super) fn forget(&mut self, job: JobId) {
        self.failed.retain(|_, failed| !failed.told.iter().any(|proc| proc.job == job));
    }

    /// The failure of which this caller has not heard yet.
    fn late(&mut self, name: &str, role: &GroupRole, daemon: DaemonRank) -> Option<PmixStatus> {
        let failed = self.failed.get_mut(name)?;
        let expects = match role {
            // A leader that has heard of the failure tries again.
            GroupRole::Leader { proc, .. } => {
                let expects = failed.leaders > 0 && failed.told.insert(*proc);
                failed.leaders -= u64::from(expects);
                expects
            }
            GroupRole::Follower => {
                let left = failed.followers.get_mut(&daemon).filter(|left| **left > 0);
                left.map(|left| *left -= 1).is_some()
            }
        };
        let status = expects.then_some(failed.status);
        if !expects || (failed.leaders == 0 && failed.followers.values().all(|left| *left == 0)) {
            self.failed.remove(name);
        }
        status
    }
}

impl Assembly {
    fn is_complete(&self) -> bool {
        self.wanted == Some(self.leaders.len() as u64) && self.missing().values().all(|missing| *missing == 0)
    }

    /// The number of named processes that have not called, by daemon.
    fn missing(&self) -> BTreeMap<DaemonRank, usize> {
        let mut missing: BTreeMap<DaemonRank, usize> = BTreeMap::new();
        self.named.values().for_each(|daemon| *missing.entry(*daemon).or_default() += 1);
        for (daemon, left) in &mut missing {
            *left = left.saturating_sub(self.followers.iter().filter(|call| call.daemon == *daemon).count());
        }
        missing
    }

    /// Enters a leader.
    ///
    /// # Errors
    /// The leaders do not agree, or there are more of them than they say.
    fn enter(&mut self, proc: ProcId, leaders: u64, call: Call) -> Result<(), PmixStatus> {
        self.named.remove(&proc);
        self.leaders.insert(proc, call);
        let wanted = *self.wanted.get_or_insert(leaders);
        let fits = wanted == leaders && self.leaders.len() as u64 <= wanted;
        if fits { Ok(()) } else { Err(PMIX_ERR_BAD_PARAM) }
    }
}

impl Head {
    /// Handles the call of a process for a group whose members do not know each other (spec L160).
    pub(in crate::head) fn on_group_entry(&mut self, daemon: DaemonRank, id: u64, entry: GroupEntry, cx: &mut Cx) {
        let GroupEntry { group, role, leaves_out, limit, part } = entry;
        let number = match self.attempt(&group, &role, daemon) {
            Ok(number) => number,
            Err(status) => return cx.send(daemon, DaemonMessage::GroupReply { id, result: Err(status) }),
        };
        let Some(attempt) = self.pmix.assemblies.open.get_mut(&group) else { return };
        attempt.leaves_out |= leaves_out;
        if let Some(until) = limit.map(|limit| cx.now + limit)
            && attempt.deadline.is_none_or(|deadline| until < deadline)
        {
            attempt.deadline = Some(until);
            cx.set_timer(HeadTimer::Assembly(number), until);
        }
        let call = Call { daemon, id, part };
        let entered = match role {
            GroupRole::Leader { proc, leaders, more } => {
                let entered = attempt.enter(proc, leaders, call);
                entered.and_then(|()| self.name_members(&group, more))
            }
            GroupRole::Follower => {
                attempt.followers.push(call);
                Ok(())
            }
        };
        match entered {
            Ok(()) => self.complete_assembly(&group, cx),
            Err(status) => self.fail_assembly(&group, status, cx),
        }
    }

    /// The number of the attempt that this caller enters.
    fn attempt(&mut self, group: &str, role: &GroupRole, daemon: DaemonRank) -> Result<u64, PmixStatus> {
        if let GroupRole::Leader { proc, leaders, .. } = role {
            let is_there = self.jobs.has_living(*proc) && self.daemon_of(*proc) == Some(daemon);
            if !is_there || *leaders == 0 {
                return Err(PMIX_ERR_BAD_PARAM);
            }
        }
        if let Some(status) = self.pmix.assemblies.late(group, role, daemon) {
            return Err(status);
        }
        self.pmix.groups.may_make(group)?;
        let assemblies = &mut self.pmix.assemblies;
        if let Some(attempt) = assemblies.open.get(group) {
            let again = matches!(role, GroupRole::Leader { proc, .. } if attempt.leaders.contains_key(proc));
            return if again { Err(PMIX_ERR_EXISTS) } else { Ok(attempt.number) };
        }
        if assemblies.open.len() + assemblies.failed.len() >= LIMIT {
            return Err(PMIX_ERR_OUT_OF_RESOURCE);
        }
        assemblies.latest += 1;
        let number = assemblies.latest;
        let (leaders, named, followers) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let attempt = Assembly { number, wanted: None, leaders, named, followers, deadline: None, leaves_out: false };
        assemblies.open.insert(group.to_owned(), attempt);
        Ok(number)
    }

    fn daemon_of(&self, proc: ProcId) -> Option<DaemonRank> {
        self.jobs.get(proc.job)?.map().daemon_of(proc.rank)
    }

    /// Notes the members that a leader names.
    ///
    /// # Errors
    /// One of them is not there, or has ended and is not to be left out.
    fn name_members(&mut self, group: &str, more: Vec<(JobId, Vec<Rank>)>) -> Result<(), PmixStatus> {
        let mut named = Vec::new();
        for (id, ranks) in more {
            let job = self.jobs.get(id).ok_or(PMIX_ERR_LOST_CONNECTION)?;
            let all = || (0..job.map().procs.len() as u32).map(Rank).collect();
            for rank in if ranks.is_empty() { all() } else { ranks } {
                let daemon = job.map().daemon_of(rank).ok_or(PMIX_ERR_BAD_PARAM)?;
                named.push((ProcId { job: id, rank }, daemon, job.has_living(rank)));
            }
        }
        let Some(attempt) = self.pmix.assemblies.open.get_mut(group) else { return Ok(()) };
        for (proc, daemon, lives) in named {
            match lives {
                true if !attempt.leaders.contains_key(&proc) => drop(attempt.named.insert(proc, daemon)),
                false if !attempt.leaves_out => return Err(PMIX_ERR_LOST_CONNECTION),
                true | false => {}
            }
        }
        Ok(())
    }

    /// Makes the group if all have called.
    fn complete_assembly(&mut self, group: &str, cx: &mut Cx) {
        if !self.pmix.assemblies.open.get(group).is_some_and(Assembly::is_complete) {
            return;
        }
        let Some(Assembly { number, leaders, named, followers, .. }) = self.pmix.assemblies.open.remove(group) else {
            return;
        };
        cx.cancel_timer(HeadTimer::Assembly(number));
        let mut places = named.values().copied().fold(BTreeMap::new(), |mut places: BTreeMap<_, usize>, daemon| {
            *places.entry(daemon).or_default() += 1;
            places
        });
        let procs: BTreeSet<ProcId> = leaders.keys().chain(named.keys()).copied().collect();
        let (callers, others): (Vec<Call>, Vec<Call>) = followers.into_iter().partition(|call| {
            let place = places.get_mut(&call.daemon).filter(|left| **left > 0);
            place.map(|left| *left -= 1).is_some()
        });
        let callers: Vec<Call> = leaders.into_values().chain(callers).collect();
        let jobs: BTreeSet<JobId> = procs.iter().map(|proc| proc.job).collect();
        // Sent before the answer: members may meet in a collective next.
        for (one, other) in jobs.iter().flat_map(|one| jobs.range(..one).map(move |other| (*one, *other))) {
            self.acquaint(one, other, cx);
        }
        let parts = callers.iter().map(|call| call.part.clone()).collect();
        let result = match self.members_of(&procs) {
            Some(members) => self.pmix.groups.make(group, &members, procs.into_iter().collect(), parts),
            None => Err(PMIX_ERR_LOST_CONNECTION),
        };
        answer(callers, &result, cx);
        answer(others, &Err(PMIX_ERR_EXISTS), cx);
    }

    /// These processes as members of collectives are written: a whole job has no ranks.
    fn members_of(&self, procs: &BTreeSet<ProcId>) -> Option<Members> {
        let mut jobs: BTreeMap<JobId, Vec<Rank>> = BTreeMap::new();
        procs.iter().for_each(|proc| jobs.entry(proc.job).or_default().push(proc.rank));
        for (id, ranks) in &mut jobs {
            if self.jobs.get(*id)?.map().procs.len() == ranks.len() {
                ranks.clear();
            }
        }
        Members::of_jobs(jobs.into_iter().collect())
    }

    /// Ends an attempt for all who have called, and for those who call later.
    fn fail_assembly(&mut self, group: &str, status: PmixStatus, cx: &mut Cx) {
        let assemblies = &mut self.pmix.assemblies;
        let Some(attempt) = assemblies.open.remove(group) else { return };
        cx.cancel_timer(HeadTimer::Assembly(attempt.number));
        let told: BTreeSet<ProcId> = attempt.leaders.keys().copied().collect();
        let leaders = attempt.wanted.unwrap_or(0).saturating_sub(told.len() as u64);
        let followers = attempt.missing();
        if leaders > 0 || followers.values().any(|left| *left > 0) {
            assemblies.failed.insert(group.to_owned(), Failed { status, told, leaders, followers });
        }
        answer(attempt.leaders.into_values().chain(attempt.followers).collect(), &Err(status), cx);
    }

    /// Handles the end of the limit of a caller: it ends the attempt for all.
    pub(in crate::head) fn on_assembly_timeout(&mut self, number: u64, cx: &mut Cx) {
        let open = &self.pmix.assemblies.open;
        let group = open.iter().find(|(_, attempt)| attempt.number == number).map(|(group, _)| group.clone());
        if let Some(group) = group {
            self.fail_assembly(&group, PMIX_ERR_TIMEOUT, cx);
        }
    }

    /// Handles the end of a process: attempts that need it fail, or go on without it if they may.
    pub(super) fn lose_entrant(&mut self, proc: ProcId, cx: &mut Cx) {
        if self.pmix.assemblies.open.is_empty() {
            return;
        }
        let daemon = self.daemon_of(proc);
        let is_empty = daemon.is_some_and(|daemon| !self.hosts_living(daemon));
        let groups: Vec<String> = self.pmix.assemblies.open.keys().cloned().collect();
        for group in groups {
            let Some(attempt) = self.pmix.assemblies.open.get_mut(&group) else { continue };
            // Calls of a node without processes have nobody who waits for them.
            attempt.followers.retain(|call| !(is_empty && Some(call.daemon) == daemon));
            let is_named = attempt.named.remove(&proc).is_some();
            if attempt.leaders.contains_key(&proc) || (is_named && !attempt.leaves_out) {
                self.fail_assembly(&group, PMIX_ERR_LOST_CONNECTION, cx);
            } else if is_named {
                self.complete_assembly(&group, cx);
            } else if attempt.leaders.is_empty() && attempt.followers.is_empty() {
                self.fail_assembly(&group, PMIX_ERR_LOST_CONNECTION, cx);
            }
        }
    }

    fn hosts_living(&self, daemon: DaemonRank) -> bool {
        self.jobs.iter().any(|job| job.map().on_daemon(daemon).any(|(rank, _)| job.has_living(rank)))
    }
}

fn answer(calls: Vec<Call>, result: &CollectiveResult, cx: &mut Cx) {
    for call in calls {
        cx.send(call.daemon, DaemonMessage::GroupReply { id: call.id, result: result.clone() });
    }
}
