//! Guarantee: a PMIx fence has the same result for all participants. Its key is its job and its number at each
//! daemon. Only answers to living processes count.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::{DaemonRank, ProcId, Rank};
use ferrite_wire::Members;

use super::{Invariant, Observation, require};

/// The participants and the number of a fence.
type Fence = (Members, u64);

#[derive(Default)]
pub(super) struct PmixFence {
    entered: BTreeMap<(DaemonRank, Members), u64>,
    open: BTreeMap<(DaemonRank, PmixToken), Fence>,
    /// The result of each fence, and the first daemon that had it.
    ended: BTreeMap<Fence, (bool, DaemonRank)>,
    procs: BTreeSet<(DaemonRank, ProcId)>,
}

impl PmixFence {
    fn answered(&mut self, rank: DaemonRank, token: PmixToken, well: bool) -> Result<(), String> {
        let Some(fence) = self.open.remove(&(rank, token)) else {
            return Ok(());
        };
        let job = fence.0.job;
        let first = (rank, ProcId { job, rank: Rank(0) });
        let last = (rank, ProcId { job, rank: Rank(u32::MAX) });
        if self.procs.range(first..=last).next().is_none() {
            return Ok(());
        }
        let (before, whose) = *self.ended.entry(fence.clone()).or_insert((well, rank));
        let number = fence.1;
        require(before == well, || {
            let words = |well| if well { "well" } else { "badly" };
            format!("fence {number} of job {job} ends {} at {whose} and {} at {rank}", words(before), words(well))
        })
    }
}

impl Invariant for PmixFence {
    fn name(&self) -> &'static str {
        "a fence ends for everybody with the same result"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input {
                rank,
                input: Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, token, .. })),
                ..
            } => {
                let count = self.entered.entry((*rank, members.clone())).or_default();
                self.open.insert((*rank, *token), (members.clone(), *count));
                *count += 1;
            }
            Observation::Effect { rank, effect: Effect::Pmix(PmixEffect::Reply { token, result }), .. } => {
                return self.answered(*rank, *token, result.is_ok());
            }
            Observation::ProcBorn { rank, proc } => {
                self.procs.insert((*rank, *proc));
            }
            Observation::ProcEnded { rank, proc, .. } => {
                self.procs.remove(&(*rank, *proc));
            }
            Observation::Gone { rank, .. } => {
                self.procs.retain(|(r, _)| r != rank);
                self.open.retain(|(r, _), _| r != rank);
            }
            _ => {}
        }
        Ok(())
    }
}
