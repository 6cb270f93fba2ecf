//! Collectives of processes: PMIx fences, connects and PMI-1 barriers. Local parts gather here, go up the tree of
//! participating daemons as one, and the result comes back from the head.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use ferrite_router::{Gathered, Rollups};
use ferrite_types::{DaemonRank, JobId, JobMap, PmixStatus, Rank, RankSet};
use ferrite_wire::{CollectiveKey, CollectiveKind, CollectiveResult, DaemonMessage, HeadMessage, Members, Part};

use super::Daemon;
use crate::cx::Cx;
use crate::pmix_status::{PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND};
use crate::{Effect, PmixEffect, PmixToken};

/// Participants and interface: what successive collectives are counted by.
type Series = (CollectiveKind, Members);

/// All collectives that this daemon takes part in.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    sequence: BTreeMap<Series, u64>,
    rollups: Rollups<CollectiveKey, Part>,
    /// PMIx upcalls that wait for a result.
    tokens: BTreeMap<CollectiveKey, PmixToken>,
    /// Failures that were decided before anybody here had entered.
    failed: BTreeMap<CollectiveKey, PmixStatus>,
}

impl Daemon {
    /// All local participants have called for a collective of PMIx.
    pub(super) fn on_collective(
        &mut self,
        kind: CollectiveKind,
        members: Members,
        data: Bytes,
        token: PmixToken,
        cx: &mut Cx,
    ) {
        if members.jobs().any(|(job, _)| !self.jobs.contains_key(&job)) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_NOT_FOUND) }));
            return;
        }
        let key = self.next_key(kind, members);
        if self.misses_someone(&key) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
            return;
        }
        self.collectives.tokens.insert(key.clone(), token);
        self.enter(key, data, cx);
    }

    /// All local processes are at the PMI-1 barrier.
    pub(super) fn on_barrier(&mut self, job: JobId, data: Bytes, cx: &mut Cx) {
        let key = self.next_key(CollectiveKind::Pmi1Barrier, Members::of(job, Vec::new()));
        self.enter(key, data, cx);
    }

    fn next_key(&mut self, kind: CollectiveKind, members: Members) -> CollectiveKey {
        let counter = self.collectives.sequence.entry((kind, members.clone())).or_default();
        let sequence = *counter;
        *counter += 1;
        CollectiveKey { kind, members, sequence }
    }

    fn enter(&mut self, key: CollectiveKey, data: Bytes, cx: &mut Cx) {
        let Some(participants) = self.participants(&key) else {
            return;
        };
        if let Some(status) = self.collectives.failed.remove(&key) {
            return self.on_collective_done(&key, &Err(status), cx);
        }
        if participants.iter().any(|rank| cx.tree.holes().contains(rank)) {
            return cx.send_head(HeadMessage::CollectiveFailed { key, status: PMIX_ERR_LOST_CONNECTION });
        }
        let children = cx.tree.participant_children(self.me, &participants);
        let mut done = self.collectives.rollups.begin(key.clone(), 1, children);
        if done.is_none() {
            done = self.collectives.rollups.contribute_local(&key, Ok(vec![data]));
        }
        self.pass_up(key, done, cx);
    }

    pub(super) fn on_collective_part(&mut self, child: DaemonRank, key: CollectiveKey, part: Part, cx: &mut Cx) {
        let done = self.collectives.rollups.contribute(key.clone(), child, part);
        self.pass_up(key, done, cx);
    }

    fn pass_up(&mut self, key: CollectiveKey, done: Option<Gathered<Part>>, cx: &mut Cx) {
        let Some(gathered) = done else { return };
        let Some(participants) = self.participants(&key) else {
            return;
        };
        let part = merge(gathered);
        match cx.tree.participant_parent(self.me, &participants) {
            Some(parent) if participants.contains(parent) => {
                cx.send(parent, DaemonMessage::CollectivePart { key, part })
            }
            // The head stands above the topmost participants, whether its own node takes part or not.
            _ => cx.send_head(HeadMessage::CollectiveRoot { key, part }),
        }
    }

    fn participants(&self, key: &CollectiveKey) -> Option<RankSet> {
        participants(&key.members, |job| self.jobs.get(&job).map(|job| &job.order.map))
    }

    /// Keys of the collectives that are under way here: begun, heard of from below, or passed up and not decided.
    pub(super) fn collectives_here(&self) -> impl Iterator<Item = CollectiveKey> + '_ {
        let Collectives { rollups, tokens, .. } = &self.collectives;
        let barriers = self.jobs.keys().filter_map(|job| self.barrier_entered(*job));
        rollups.known().chain(tokens.keys()).cloned().chain(barriers).collect::<BTreeSet<_>>().into_iter()
    }

    /// The PMI-1 barrier that all local processes have entered and that is not decided.
    pub(super) fn barrier_entered(&self, job: JobId) -> Option<CollectiveKey> {
        if !self.jobs.get(&job)?.is_at_barrier() {
            return None;
        }
        let series = (CollectiveKind::Pmi1Barrier, Members::of(job, Vec::new()));
        let next = *self.collectives.sequence.get(&series)?;
        let (kind, members) = series;
        Some(CollectiveKey { kind, members, sequence: next.checked_sub(1)? })
    }

    /// Collectives with a participant on one of these daemons can never be complete. The head is told, and decides: it
    /// may have been complete before, and everybody is to hear the same.
    fn lose_participants(&mut self, dead: &RankSet, cx: &mut Cx) {
        let hit = |key: &CollectiveKey| {
            self.participants(key).is_some_and(|everyone| dead.iter().any(|rank| everyone.contains(rank)))
        };
        let keys = self.collectives_here().filter(hit).collect();
        self.report_failed(keys, cx);
    }

    /// These daemons are dead: nothing comes from them any more.
    pub(super) fn lose_peers(&mut self, dead: &RankSet, cx: &mut Cx) {
        self.lose_participants(dead, cx);
        self.lose_modex_peers(dead, cx);
    }

    pub(super) fn on_collective_done(&mut self, key: &CollectiveKey, result: &CollectiveResult, cx: &mut Cx) {
        self.collectives.rollups.cancel(key);
        let series = (key.kind, key.members.clone());
        let entered = self.collectives.sequence.get(&series).copied().unwrap_or(0);
        if let Err(status) = result
            && key.sequence >= entered
            && key.members.jobs().all(|(job, _)| self.jobs.contains_key(&job))
        {
            self.collectives.failed.insert(key.clone(), *status);
            return;
        }
        match key.kind {
            CollectiveKind::PmixFence | CollectiveKind::PmixConnect | CollectiveKind::PmixDisconnect => {
                if let Some(token) = self.collectives.tokens.remove(key) {
                    cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: result.clone() }));
                }
            }
            CollectiveKind::Pmi1Barrier => self.on_barrier_done(key.members.job, result, cx),
        }
    }

    /// A job is gone: whoever still waits in one of its collectives is told so.
    pub(super) fn drop_collectives(&mut self, job: JobId, cx: &mut Cx) {
        self.collectives.rollups.retain(|key| !key.members.include(job));
        self.collectives.sequence.retain(|(_, members), _| !members.include(job));
        self.collectives.failed.retain(|key, _| !key.members.include(job));
        let over: Vec<_> = self.collectives.tokens.keys().filter(|key| key.members.include(job)).cloned().collect();
        for token in over.iter().filter_map(|key| self.collectives.tokens.remove(key)) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
        }
    }
}

/// The daemons that host participants; `None` when one of the jobs is not known.
pub(crate) fn participants<'a>(members: &Members, map: impl Fn(JobId) -> Option<&'a JobMap>) -> Option<RankSet> {
    let mut daemons = hosts(map(members.job)?, &members.ranks);
    for (job, ranks) in &members.others {
        daemons.insert_all(&hosts(map(*job)?, ranks));
    }
    Some(daemons)
}

/// The daemons that host the ranks; no ranks means the whole job.
fn hosts(map: &JobMap, ranks: &[Rank]) -> RankSet {
    if ranks.is_empty() { map.daemons() } else { ranks.iter().filter_map(|rank| map.daemon_of(*rank)).collect() }
}

/// All parts as one; one failure makes all of it fail.
pub(crate) fn merge(gathered: Gathered<Part>) -> Part {
    let parts = gathered.local.into_iter().chain(gathered.remote.into_iter().map(|(_, part)| part));
    parts.collect::<Result<Vec<_>, PmixStatus>>().map(|blobs| blobs.into_iter().flatten().collect())
}

/// The result as it goes down: blobs one after another, as libpmix and our PMI-1 store expect them.
pub(crate) fn concatenate(part: Part) -> CollectiveResult {
    part.map(|blobs| {
        let mut all = BytesMut::with_capacity(blobs.iter().map(Bytes::len).sum());
        blobs.iter().for_each(|blob| all.extend_from_slice(blob));
        all.freeze()
    })
}
