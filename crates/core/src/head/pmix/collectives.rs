//! Collectives at the head: the top of the participant tree, the decision how each collective ends, and the way back
//! down. The head alone decides, so that a collective that loses a participant at its end has the same result
//! everywhere.

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_router::Rollups;
use ferrite_types::{DaemonRank, JobId, RankSet};
use ferrite_wire::{CollectiveKey, CollectiveKind, CollectiveResult, DaemonMessage, Dest, Members, Part};

use crate::cx::{Cx, Outgoing};
use crate::daemon::{concatenate, merge, participants};
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::pmix_status::{PMIX_ERR_EXISTS, PMIX_ERR_LOST_CONNECTION};

/// The most daemons for which a tree of its own gains nothing.
const FEW: usize = 3;

/// The head's record of the collectives of all jobs.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    rollups: Rollups<CollectiveKey, Part>,
    /// The latest decided number of each series; the numbers follow one another.
    decided: BTreeMap<(CollectiveKind, Members), u64>,
}

impl Collectives {
    fn is_decided(&self, key: &CollectiveKey) -> bool {
        let series = (key.kind.clone(), key.members.clone());
        self.decided.get(&series).is_some_and(|last| key.sequence <= *last)
    }

    /// Forgets a job that is over.
    pub(super) fn forget(&mut self, job: JobId) {
        self.rollups.retain(|key| !key.members.include(job));
        self.decided.retain(|(_, members), _| !members.include(job));
    }
}

impl Head {
    pub(in crate::head) fn on_collective_root(
        &mut self,
        child: DaemonRank,
        key: CollectiveKey,
        part: Part,
        cx: &mut Cx,
    ) {
        let Some(everyone) = self.participants(&key.members).filter(|_| !self.pmix.collectives.is_decided(&key)) else {
            return self.counters.count(Counted::Late(Late::Collective));
        };
        if everyone.iter().any(|rank| cx.tree.holes().contains(rank)) {
            return self.decide_collective(&key, Err(PMIX_ERR_LOST_CONNECTION), cx);
        }
        let rollups = &mut self.pmix.collectives.rollups;
        if !rollups.is_open(&key) {
            let nobody_yet = rollups.begin(key.clone(), 0, topmost(cx, &everyone));
            debug_assert!(nobody_yet.is_none(), "a part has come, so someone takes part");
        }
        if let Some(gathered) = rollups.contribute(key.clone(), child, part) {
            let result = self.conclude(&key, merge(gathered));
            self.decide_collective(&key, result, cx);
        }
    }

    /// The result of a collective to which all have contributed.
    fn conclude(&mut self, key: &CollectiveKey, part: Part) -> CollectiveResult {
        match &key.kind {
            CollectiveKind::GroupConstruct(name) if self.pmix.assemblies.is_open(name) => Err(PMIX_ERR_EXISTS),
            CollectiveKind::GroupConstruct(name) => self.pmix.groups.build(name, &key.members, part?),
            CollectiveKind::PmixFence
            | CollectiveKind::Pmi1Barrier
            | CollectiveKind::PmixConnect
            | CollectiveKind::PmixDisconnect
            | CollectiveKind::GroupDestruct(_) => concatenate(part),
        }
    }

    /// Decides the result of a collective for all participants; the first decision counts.
    pub(in crate::head) fn decide_collective(&mut self, key: &CollectiveKey, result: CollectiveResult, cx: &mut Cx) {
        let Some(everyone) = self.participants(&key.members).filter(|_| !self.pmix.collectives.is_decided(key)) else {
            return self.counters.count(Counted::Late(Late::Collective));
        };
        self.pmix.collectives.rollups.cancel(key);
        self.pmix.collectives.decided.insert((key.kind.clone(), key.members.clone()), key.sequence);
        if let CollectiveKind::GroupDestruct(name) = &key.kind {
            self.pmix.groups.end(name, &key.members);
        }
        if result.is_ok() {
            self.jobs.connect(key);
        }
        let size = result.as_ref().map_or(0, Bytes::len);
        let message = DaemonMessage::CollectiveDone { key: key.clone(), result };
        let mut to = self.pool.reachable(&everyone);
        let narrow = self.pays_a_spread(to.len(), size);
        match narrow.then(|| self.dvm.contacts_of(&to)).flatten() {
            Some(mut elsewhere) => {
                if to.remove(DaemonRank::HEAD) {
                    cx.send(DaemonRank::HEAD, message.clone());
                }
                elsewhere.retain(|(rank, _)| *rank != DaemonRank::HEAD);
                cx.out.push_back(Outgoing::Spread(elsewhere, message.into()));
            }
            None => cx.multicast(Dest::Many(to), message),
        }
    }

    /// True when so many bytes for so many daemons had better go by a second, narrow tree: in the routing tree one
    /// daemon would have to send too much (`ferrite_second_tree_bytes`, spec L157).
    fn pays_a_spread(&self, daemons: usize, bytes: usize) -> bool {
        let least = self.params.number("ferrite_second_tree_bytes").unwrap_or(0) as usize;
        let children = daemons.min(self.radix() as usize);
        least > 0 && daemons > FEW && bytes > 0 && children * bytes >= least
    }

    /// The daemons that host participants; `None` when one of the jobs is over.
    fn participants(&self, members: &Members) -> Option<RankSet> {
        participants(members, |job| self.jobs.get(job).map(|job| job.map().as_ref()))
    }

    /// Fails the collectives that wait for a dead daemon's contribution.
    pub(in crate::head) fn lose_participants(&mut self, dead: &RankSet, cx: &mut Cx) {
        let takes_part = |key: &&CollectiveKey| {
            self.participants(&key.members).is_some_and(|all| dead.iter().any(|rank| all.contains(rank)))
        };
        let keys: Vec<CollectiveKey> = self.pmix.collectives.rollups.known().filter(takes_part).cloned().collect();
        for key in keys {
            self.decide_collective(&key, Err(PMIX_ERR_LOST_CONNECTION), cx);
        }
    }
}

/// Participants without a participating ancestor.
fn topmost(cx: &Cx, everyone: &RankSet) -> RankSet {
    let is_top =
        |rank: &DaemonRank| cx.tree.participant_parent(*rank, everyone).is_none_or(|parent| !everyone.contains(parent));
    everyone.iter().filter(is_top).collect()
}
