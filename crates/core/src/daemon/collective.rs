//! Collectives of processes: PMIx fences, connects, disconnects, groups and PMI-1 barriers. The daemon merges local
//! parts and those from below, and sends one part up the participant tree; the result comes back from the head.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use ferrite_router::{Gathered, Rollups};
use ferrite_types::{DaemonRank, JobId, JobMap, PmixStatus, Rank, RankSet};
use ferrite_wire::{CollectiveKey, CollectiveKind, CollectiveResult, DaemonMessage, HeadMessage, Members, Part};

use super::Daemon;
use crate::cx::Cx;
use crate::pmix_status::{PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND};
use crate::{Effect, PmixEffect, PmixToken};

/// The kind and members of a collective; successive collectives of a series are numbered.
type Series = (CollectiveKind, Members);

/// All collectives in which this daemon takes part.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    sequence: BTreeMap<Series, u64>,
    rollups: Rollups<CollectiveKey, Part>,
    /// PMIx upcalls that wait for a result.
    tokens: BTreeMap<CollectiveKey, PmixToken>,
    /// Failures that the head has decided before any local process has entered.
    failed: BTreeMap<CollectiveKey, PmixStatus>,
}

impl Daemon {
    /// Handles a PMIx collective that all local participants have entered.
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

    /// Handles a PMIx collective in which this node takes no part: the head ends the attempt for all, and those who
    /// come later hear the same (spec L141).
    pub(super) fn on_given_up(
        &mut self,
        kind: CollectiveKind,
        members: Members,
        status: PmixStatus,
        token: PmixToken,
        cx: &mut Cx,
    ) {
        if members.jobs().any(|(job, _)| !self.jobs.contains_key(&job)) {
            return cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(status) }));
        }
        let key = self.next_key(kind, members);
        if let Some(status) = self.collectives.failed.remove(&key) {
            return cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(status) }));
        }
        self.collectives.tokens.insert(key.clone(), token);
        cx.send_head(HeadMessage::CollectiveFailed { key, status });
    }

    /// Handles the PMI-1 barrier that all local processes have entered.
    pub(super) fn on_barrier(&mut self, job: JobId, data: Bytes, cx: &mut Cx) {
        let key = self.next_key(CollectiveKind::Pmi1Barrier, Members::of(job, Vec::new()));
        self.enter(key, data, cx);
    }

    fn next_key(&mut self, kind: CollectiveKind, members: Members) -> CollectiveKey {
        let counter = self.collectives.sequence.entry((kind.clone(), members.clone())).or_default();
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
            // The head is above the topmost participants, even if its node has none.
            _ => cx.send_head(HeadMessage::CollectiveRoot { key, part }),
        }
    }

    /// The collective of an open upcall.
    pub(super) fn collective_of(&self, token: PmixToken) -> Option<CollectiveKey> {
        self.collectives.tokens.iter().find(|(_, of)| **of == token).map(|(key, _)| key.clone())
    }

    fn participants(&self, key: &CollectiveKey) -> Option<RankSet> {
        participants(&key.members, |job| self.jobs.get(&job).map(|job| &job.order.map))
    }

    /// Keys of the open collectives here: entered, known from below, or passed up and undecided.
    pub(super) fn collectives_here(&self) -> impl Iterator<Item = CollectiveKey> + '_ {
        let Collectives { rollups, tokens, .. } = &self.collectives;
        let barriers = self.jobs.keys().filter_map(|job| self.barrier_entered(*job));
        rollups.known().chain(tokens.keys()).cloned().chain(barriers).collect::<BTreeSet<_>>().into_iter()
    }

    /// The undecided PMI-1 barrier that all local processes have entered.
    pub(super) fn barrier_entered(&self, job: JobId) -> Option<CollectiveKey> {
        if !self.jobs.get(&job)?.is_at_barrier() {
            return None;
        }
        let series = (CollectiveKind::Pmi1Barrier, Members::of(job, Vec::new()));
        let next = *self.collectives.sequence.get(&series)?;
        let (kind, members) = series;
        Some(CollectiveKey { kind, members, sequence: next.checked_sub(1)? })
    }

    /// Reports collectives with a participant on a dead daemon. The head decides, because such a collective may have
    /// been complete before; all participants get the same result.
    fn lose_participants(&mut self, dead: &RankSet, cx: &mut Cx) {
        let hit = |key: &CollectiveKey| {
            self.participants(key).is_some_and(|everyone| dead.iter().any(|rank| everyone.contains(rank)))
        };
        let keys = self.collectives_here().filter(hit).collect();
        self.report_failed(keys, cx);
    }

    /// Drops the contributions of dead daemons.
    pub(super) fn lose_peers(&mut self, dead: &RankSet, cx: &mut Cx) {
        self.lose_participants(dead, cx);
        self.lose_modex_peers(dead, cx);
    }

    pub(super) fn on_collective_done(&mut self, key: &CollectiveKey, result: &CollectiveResult, cx: &mut Cx) {
        self.collectives.rollups.cancel(key);
        let series = (key.kind.clone(), key.members.clone());
        let entered = self.collectives.sequence.get(&series).copied().unwrap_or(0);
        if let Err(status) = result
            && key.sequence >= entered
            && key.members.jobs().all(|(job, _)| self.jobs.contains_key(&job))
        {
            self.collectives.failed.insert(key.clone(), *status);
            return;
        }
        match &key.kind {
            CollectiveKind::PmixFence
            | CollectiveKind::PmixConnect
            | CollectiveKind::PmixDisconnect
            | CollectiveKind::GroupConstruct(_)
            | CollectiveKind::GroupDestruct(_) => {
                if let Some(token) = self.collectives.tokens.remove(key) {
                    self.answer_call(token, result.clone(), cx);
                }
            }
            CollectiveKind::Pmi1Barrier => self.on_barrier_done(key.members.job, result, cx),
        }
    }

    /// Ends the waits in the collectives of a job that is gone.
    pub(super) fn drop_collectives(&mut self, job: JobId, cx: &mut Cx) {
        self.collectives.rollups.retain(|key| !key.members.include(job));
        self.collectives.sequence.retain(|(_, members), _| !members.include(job));
        self.collectives.failed.retain(|key, _| !key.members.include(job));
        let over: Vec<_> = self.collectives.tokens.keys().filter(|key| key.members.include(job)).cloned().collect();
        let over: Vec<_> = over.iter().filter_map(|key| self.collectives.tokens.remove(key)).collect();
        for token in over {
            self.answer_call(token, Err(PMIX_ERR_LOST_CONNECTION), cx);
        }
    }
}

/// The daemons that host participants; `None` when one of the jobs is unknown.
pub(crate) fn participants<'a>(members: &Members, map: impl Fn(JobId) -> Option<&'a JobMap>) -> Option<RankSet> {
    let mut daemons = hosts(map(members.job)?, &members.ranks);
    for (job, ranks) in &members.others {
        daemons.insert_all(&hosts(map(*job)?, ranks));
    }
    Some(daemons)
}

/// The daemons that host the ranks; an empty list means the whole job.
fn hosts(map: &JobMap, ranks: &[Rank]) -> RankSet {
    if ranks.is_empty() { map.daemons() } else { ranks.iter().filter_map(|rank| map.daemon_of(*rank)).collect() }
}

/// Merges all parts into one; one failed part fails the whole.
pub(crate) fn merge(gathered: Gathered<Part>) -> Part {
    let parts = gathered.local.into_iter().chain(gathered.remote.into_iter().map(|(_, part)| part));
    parts.collect::<Result<Vec<_>, PmixStatus>>().map(|blobs| blobs.into_iter().flatten().collect())
}

/// The result as it goes down: concatenated blobs, as libpmix and the PMI-1 store expect them.
pub(crate) fn concatenate(part: Part) -> CollectiveResult {
    part.map(|blobs| {
        let mut all = BytesMut::with_capacity(blobs.iter().map(Bytes::len).sum());
        blobs.iter().for_each(|blob| all.extend_from_slice(blob));
        all.freeze()
    })
}
