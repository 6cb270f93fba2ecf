//! Guarantee: a connect or disconnect has the same result for all participants, at about the same time. Its key is
//! its participants and its number at each daemon. Only answers to living processes count.

use std::collections::BTreeMap;

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::{DaemonRank, ProcId, RankSet};
use ferrite_wire::Members;

use super::silence::Silence;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The longest way of an answer, with the repair of a loss.
const LATE: Time = 90_000_000;
/// The longest way of an answer without faults.
const SOON: Time = 2_000_000;
/// The interval of the checks.
const EVERY: Time = 500_000;

/// The participants, true for a connect, and the number.
type Meeting = (Members, bool, u32);

pub(super) struct Meetings {
    silence: Silence,
    struck: Struck,
    entered: BTreeMap<(DaemonRank, Members, bool), u32>,
    open: BTreeMap<(DaemonRank, PmixToken), Meeting>,
    /// The result and time of each meeting, and the first daemon that had it.
    ended: BTreeMap<Meeting, (bool, Time, DaemonRank)>,
    alive: BTreeMap<ProcId, DaemonRank>,
    gone: RankSet,
    looked: Time,
}

impl Meetings {
    pub(super) fn new(scenario: &Scenario) -> Meetings {
        Meetings {
            silence: Silence::default(),
            struck: Struck::new(scenario),
            entered: BTreeMap::new(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
            alive: BTreeMap::new(),
            gone: RankSet::new(),
            looked: 0,
        }
    }

    fn called(&mut self, rank: DaemonRank, token: PmixToken, members: &Members, connects: bool) {
        let number = self.entered.entry((rank, members.clone(), connects)).or_default();
        self.open.insert((rank, token), (members.clone(), connects, *number));
        *number += 1;
    }

    /// True when a living process waits there.
    fn waits(&self, rank: DaemonRank, members: &Members) -> bool {
        self.alive.iter().any(|(proc, daemon)| *daemon == rank && members.include(proc.job))
    }

    fn answered(&mut self, rank: DaemonRank, at: Time, token: PmixToken, well: bool) -> Result<(), String> {
        let Some(meeting) = self.open.remove(&(rank, token)) else { return Ok(()) };
        if !self.waits(rank, &meeting.0) {
            return Ok(());
        }
        let (before, _, whose) = *self.ended.entry(meeting.clone()).or_insert((well, at, rank));
        let taken_for_lost = [rank, whose].into_iter().any(|rank| self.struck.on_the_way(rank));
        require(before == well || taken_for_lost, || {
            let words = |well| if well { "well" } else { "badly" };
            format!("{meeting:?} ends {} at {whose} and {} at {rank}", words(before), words(well))
        })
    }

    /// Judges participants that have waited for too long.
    fn look(&mut self, at: Time) -> Result<(), String> {
        if at < self.looked + EVERY {
            return Ok(());
        }
        self.looked = at;
        for ((rank, _), meeting) in self.open.iter().filter(|((rank, _), _)| !self.gone.contains(*rank)) {
            let Some((_, since, whose)) = self.ended.get(meeting) else { continue };
            let limit = if self.struck.on_the_way(*rank) { LATE } else { SOON };
            let late = at - since > limit + self.silence.within(&[*rank, DaemonRank::HEAD], *since, at);
            require(!late || !self.waits(*rank, &meeting.0), || {
                format!("{meeting:?} has ended at {whose} at {since} us, and daemon {rank} does not hear of it")
            })?;
        }
        Ok(())
    }
}

impl Invariant for Meetings {
    fn name(&self) -> &'static str {
        "jobs connect and part for everybody at once"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.struck.see(what);
        match what {
            Observation::Fault { at, fault } => self.silence.begin(*at, fault),
            Observation::Born { rank } => self.silence.born(*rank),
            Observation::Gone { rank, .. } => {
                self.gone.insert(*rank);
                self.alive.retain(|_, daemon| daemon != rank);
            }
            Observation::ProcBorn { rank, proc } => {
                self.alive.insert(*proc, *rank);
            }
            Observation::ProcEnded { proc, .. } => {
                self.alive.remove(proc);
            }
            Observation::Input { rank, at, input, .. } => {
                match input {
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Connect { members, token })) => {
                        self.called(*rank, *token, members, true)
                    }
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Disconnect { members, token })) => {
                        self.called(*rank, *token, members, false)
                    }
                    _ => {}
                }
                return self.look(*at);
            }
            Observation::Effect { rank, at, effect: Effect::Pmix(PmixEffect::Reply { token, result }), .. } => {
                return self.answered(*rank, *at, *token, result.is_ok());
            }
            _ => {}
        }
        Ok(())
    }
}
