//! Guarantee: a lookup finds published data within its range, and no data that went with their process or job, were
//! unpublished, or were for another reader. Each call is answered in time.

use ferrite_types::pmix_status::PMIX_ERR_NOT_FOUND as NOT_FOUND;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, PmixToken, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, PmixStatus, ProcId, RankSet};
use ferrite_wire::{DataCall, DataRange, DataRequest, Found, Message, Persistence, TreeMessage};

use super::silence::Silence;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The time in which the head hears of a process's end without faults, and in which a waiting lookup gives up.
const SOON: Time = 2_000_000;
/// The time when links have to be repaired first.
const LATE: Time = 90_000_000;
/// The interval of the checks.
const EVERY: Time = 5_000_000;

pub(super) struct Data {
    silence: Silence,
    struck: Struck,
    /// All data that a process tried to publish, by their unique value.
    items: BTreeMap<Bytes, Item>,
    open: BTreeMap<(DaemonRank, PmixToken), Call>,
    alive: BTreeMap<ProcId, DaemonRank>,
    /// The time and daemon of each process's end.
    ended: BTreeMap<ProcId, (Time, DaemonRank)>,
    /// The time of each job's end.
    over: BTreeMap<JobId, Time>,
    /// Failed jobs, whose processes end soon.
    failed: BTreeSet<JobId>,
    leaving: RankSet,
    looked: Time,
}

struct Item {
    owner: ProcId,
    daemon: DaemonRank,
    key: String,
    range: DataRange,
    persistence: Persistence,
    /// The time at which its owner heard of the publication.
    since: Option<Time>,
    /// The time at which its owner unpublished it.
    unwanted: Option<Time>,
    /// The time at which its owner heard of the removal.
    until: Option<Time>,
    /// True once a lookup has found it.
    found: bool,
}

/// An unanswered call.
struct Call {
    proc: ProcId,
    at: Time,
    request: DataRequest,
}

impl Data {
    pub(super) fn new(scenario: &Scenario) -> Data {
        Data {
            silence: Silence::default(),
            struck: Struck::new(scenario),
            items: BTreeMap::new(),
            open: BTreeMap::new(),
            alive: BTreeMap::new(),
            ended: BTreeMap::new(),
            over: BTreeMap::new(),
            failed: BTreeSet::new(),
            leaving: RankSet::new(),
            looked: 0,
        }
    }

    fn called(&mut self, rank: DaemonRank, at: Time, token: PmixToken, call: &DataCall) {
        let owner = call.proc;
        match &call.request {
            DataRequest::Publish { items, range, persistence, .. } => {
                for (key, value) in items {
                    let (key, range, persistence) = (key.clone(), *range, *persistence);
                    let (since, unwanted, until, found) = (None, None, None, false);
                    let item = Item { owner, daemon: rank, key, range, persistence, since, unwanted, until, found };
                    self.items.insert(value.clone(), item);
                }
            }
            DataRequest::Unpublish { keys, .. } => {
                let own = self.items.values_mut().filter(|item| item.owner == owner && keys.contains(&item.key));
                own.for_each(|item| item.unwanted = item.unwanted.or(Some(at)));
            }
            DataRequest::Lookup { .. } => {}
        }
        self.open.insert((rank, token), Call { proc: owner, at, request: call.request.clone() });
    }

    fn answered(
        &mut self,
        rank: DaemonRank,
        at: Time,
        token: PmixToken,
        result: &Result<Vec<Found>, PmixStatus>,
    ) -> Result<(), String> {
        let Some(call) = self.open.remove(&(rank, token)) else { return Ok(()) };
        match (&call.request, result) {
            (DataRequest::Publish { items, .. }, Ok(_)) => {
                for (_, value) in items {
                    self.items.entry(value.clone()).and_modify(|item| item.since = Some(at));
                }
                Ok(())
            }
            (DataRequest::Unpublish { keys, .. }, Ok(_)) => {
                let own = self.items.values_mut().filter(|item| item.owner == call.proc && keys.contains(&item.key));
                own.filter(|item| item.since.is_some()).for_each(|item| item.until = item.until.or(Some(at)));
                Ok(())
            }
            (DataRequest::Lookup { keys, .. }, Ok(found)) => {
                found.iter().try_for_each(|found| self.finds(&call, keys, found))
            }
            (DataRequest::Lookup { keys, .. }, Err(NOT_FOUND)) => self.misses(&call, keys),
            (_, Err(_)) => Ok(()),
        }
    }

    fn finds(&mut self, call: &Call, keys: &[String], found: &Found) -> Result<(), String> {
        let (reader, key) = (call.proc, &found.key);
        let item = self.items.get_mut(&found.value).ok_or_else(|| format!("{reader} finds what nobody published"))?;
        let owner = item.owner;
        let as_it_was = owner == found.proc && item.key == found.key && keys.contains(&found.key);
        require(as_it_was, || format!("{reader} finds {found:?} of {owner}"))?;
        let second = std::mem::replace(&mut item.found, true) && item.persistence == Persistence::FirstRead;
        require(!second, || format!("{reader} finds {key} of {owner}, which somebody has read"))?;
        let reaches = match item.range {
            DataRange::Dvm => true,
            DataRange::Namespace => owner.job == reader.job,
            DataRange::Rm | DataRange::Local | DataRange::ProcLocal => false,
        };
        require(reaches, || format!("{reader} finds {key} of {owner}, which is for its own job"))?;
        require(item.until.is_none_or(|until| call.at < until), || {
            format!("{reader} finds {key} of {owner}, which was unpublished at {:?} us", item.until)
        })?;
        let over = self.over.get(&owner.job).is_some_and(|over| *over < call.at);
        require(!over || item.persistence == Persistence::Session, || {
            format!("{reader} finds {key} of {owner}, whose job is over")
        })?;
        let ended = self.ended.get(&owner).is_some_and(|(ended, daemon)| {
            let news = if self.struck.contains(*daemon) { LATE } else { SOON };
            ended + news + self.silence.within(&[*daemon, DaemonRank::HEAD], *ended, call.at) < call.at
        });
        require(!ended || item.persistence != Persistence::Proc, || {
            format!("{reader} finds {key} of {owner}, which has ended at {:?}", self.ended.get(&owner))
        })
    }

    fn misses(&self, call: &Call, keys: &[String]) -> Result<(), String> {
        let is_there = |item: &&Item| {
            let reaches = item.range == DataRange::Dvm || item.owner.job == call.proc.job;
            let stays = item.persistence != Persistence::FirstRead && item.unwanted.is_none();
            let lives = self.alive.contains_key(&item.owner) && !self.failed.contains(&item.owner.job);
            let safe = !self.struck.contains(item.daemon) && !self.leaving.contains(item.daemon);
            keys.contains(&item.key)
                && item.since.is_some_and(|since| since < call.at)
                && reaches
                && stays
                && lives
                && safe
        };
        let missed = self.items.values().find(is_there);
        require(missed.is_none(), || {
            let (key, owner) = missed.map_or(("", call.proc), |item| (item.key.as_str(), item.owner));
            format!("{} does not find {key} of {owner}, which is there", call.proc)
        })
    }

    /// Judges calls that have waited for too long.
    fn look(&mut self, at: Time) -> Result<(), String> {
        if at < self.looked + EVERY {
            return Ok(());
        }
        self.looked = at;
        let late = |call: &Call, daemon| {
            let silent = self.silence.within(&[daemon, DaemonRank::HEAD], call.at, at);
            self.alive.get(&call.proc) == Some(&daemon) && at - call.at > SOON + LATE + silent
        };
        let waits = self.open.iter().find(|((daemon, _), call)| late(call, *daemon));
        require(waits.is_none(), || {
            let words = |(_, call): (_, &Call)| format!("{} waits for the answer to {:?}", call.proc, call.request);
            waits.map_or(String::new(), words)
        })
    }
}

impl Invariant for Data {
    fn name(&self) -> &'static str {
        "what is published is found as long as it is there"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.struck.see(what);
        match what {
            Observation::Fault { at, fault } => self.silence.begin(*at, fault),
            Observation::Born { rank } => self.silence.born(*rank),
            Observation::Gone { rank, .. } => {
                self.alive.retain(|_, daemon| daemon != rank);
                self.leaving.insert(*rank);
            }
            Observation::ProcBorn { rank, proc } => {
                self.alive.insert(*proc, *rank);
            }
            Observation::ProcEnded { proc, .. } => {
                self.alive.remove(proc);
            }
            Observation::Input { rank, at, input, .. } => {
                if let Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token })) = input {
                    self.called(*rank, *at, *token, call);
                }
                return self.look(*at);
            }
            Observation::Effect { rank, at, effect, message } => {
                if let Some(Message::Tree(TreeMessage::Shrink { targets })) = message {
                    self.leaving.insert_all(targets);
                }
                match effect {
                    Effect::Trace(Transition::Proc { proc, to, .. }) if to.has_ended() => {
                        self.ended.entry(*proc).or_insert((*at, *rank));
                    }
                    Effect::Trace(Transition::Job { job, to, .. }) if to.is_error() => {
                        self.failed.insert(*job);
                    }
                    Effect::Trace(Transition::Job { job, to: JobState::Notified, .. }) => {
                        self.over.insert(*job, *at);
                    }
                    Effect::Pmix(PmixEffect::DataReply { token, result }) => {
                        return self.answered(*rank, *at, *token, result);
                    }
                    Effect::Pmix(PmixEffect::Reply { token, .. }) => {
                        if let Some(call) = self.open.remove(&(*rank, *token)) {
                            let lives = self.alive.contains_key(&call.proc);
                            return require(!lives, || format!("{} lives, and its call is given up", call.proc));
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
