//! Collectives of processes: PMIx fences and PMI-1 barriers. Local parts gather here, go up the tree of participating
//! daemons as one, and the result comes back from the head.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use ferrite_router::{Gathered, Rollups};
use ferrite_types::{DaemonRank, JobId, Rank, RankSet};
use ferrite_wire::{CollectiveKey, CollectiveKind, CollectiveResult, Message, Part};

use super::Daemon;
use crate::cx::Cx;
use crate::{Effect, PmixEffect, PmixToken};

/// PMIx status: no such thing (PMIx standard, `PMIX_ERR_NOT_FOUND`).
pub(crate) const PMIX_ERR_NOT_FOUND: i32 = -46;
/// PMIx status: a participant is gone (PMIx standard, `PMIX_ERR_LOST_CONNECTION`).
pub(crate) const PMIX_ERR_LOST_CONNECTION: i32 = -61;

/// Participants and interface: what successive collectives are counted by.
type Series = (CollectiveKind, JobId, Vec<Rank>);

/// All collectives that this daemon takes part in.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    sequence: BTreeMap<Series, u64>,
    pub(super) rollups: Rollups<CollectiveKey, Part>,
    /// PMIx upcalls that wait for a result.
    pub(super) tokens: BTreeMap<CollectiveKey, PmixToken>,
}

impl Daemon {
    pub(super) fn on_fence(&mut self, job: JobId, ranks: Vec<Rank>, data: Bytes, token: PmixToken, cx: &mut Cx) {
        if !self.jobs.contains_key(&job) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_NOT_FOUND) }));
            return;
        }
        let key = self.next_key(CollectiveKind::PmixFence, job, ranks);
        if self.misses_someone(&key) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
            return;
        }
        self.collectives.tokens.insert(key.clone(), token);
        self.enter(key, data, cx);
    }

    /// All local processes are at the PMI-1 barrier.
    pub(super) fn on_barrier(&mut self, job: JobId, data: Bytes, cx: &mut Cx) {
        let key = self.next_key(CollectiveKind::Pmi1Barrier, job, Vec::new());
        self.enter(key, data, cx);
    }

    fn next_key(&mut self, kind: CollectiveKind, job: JobId, ranks: Vec<Rank>) -> CollectiveKey {
        let counter = self.collectives.sequence.entry((kind, job, ranks.clone())).or_default();
        let sequence = *counter;
        *counter += 1;
        CollectiveKey { kind, job, ranks, sequence }
    }

    fn enter(&mut self, key: CollectiveKey, data: Bytes, cx: &mut Cx) {
        let Some(participants) = self.participants(&key) else {
            return;
        };
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
            Some(parent) if participants.contains(parent) => cx.send(parent, Message::CollectivePart { key, part }),
            // The head stands above the topmost participants, whether its own node takes part or not.
            _ => cx.send_head(Message::CollectiveRoot { key, part }),
        }
    }

    fn participants(&self, key: &CollectiveKey) -> Option<RankSet> {
        let job = self.jobs.get(&key.job)?;
        Some(participants(&job.order.map, &key.ranks))
    }

    pub(super) fn on_collective_done(&mut self, key: &CollectiveKey, result: &CollectiveResult, cx: &mut Cx) {
        self.collectives.rollups.cancel(key);
        match key.kind {
            CollectiveKind::PmixFence => {
                if let Some(token) = self.collectives.tokens.remove(key) {
                    cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: result.clone() }));
                }
            }
            CollectiveKind::Pmi1Barrier => self.on_barrier_done(key.job, result, cx),
        }
    }

    /// A job is gone: whoever still waits in one of its collectives is told so.
    pub(super) fn drop_collectives(&mut self, job: JobId, cx: &mut Cx) {
        self.collectives.rollups.retain(|key| key.job != job);
        self.collectives.sequence.retain(|(_, of, _), _| *of != job);
        let over: Vec<_> = self.collectives.tokens.keys().filter(|key| key.job == job).cloned().collect();
        for token in over.iter().filter_map(|key| self.collectives.tokens.remove(key)) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
        }
    }
}

/// The daemons that host the ranks; no ranks means the whole job.
pub(crate) fn participants(map: &ferrite_types::JobMap, ranks: &[Rank]) -> RankSet {
    if ranks.is_empty() { map.daemons() } else { ranks.iter().filter_map(|rank| map.daemon_of(*rank)).collect() }
}

/// All parts as one; one failure makes all of it fail.
pub(crate) fn merge(gathered: Gathered<Part>) -> Part {
    let parts = gathered.local.into_iter().chain(gathered.remote.into_iter().map(|(_, part)| part));
    parts.collect::<Result<Vec<_>, i32>>().map(|blobs| blobs.into_iter().flatten().collect())
}

/// The result as it goes down: blobs one after another, as libpmix and our PMI-1 store expect them.
pub(crate) fn concatenate(part: Part) -> CollectiveResult {
    part.map(|blobs| {
        let mut all = BytesMut::with_capacity(blobs.iter().map(Bytes::len).sum());
        blobs.iter().for_each(|blob| all.extend_from_slice(blob));
        all.freeze()
    })
}
