//! Guarantee (spec L63): the members of a group hear the same of each attempt to make it or to end it: success with one
//! number, or an error. No two groups get the same number, and there are no two groups of one name at a time.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::{DaemonRank, JobId, PmixStatus};
use ferrite_wire::{GroupBuilt, Members};

use super::{Invariant, Observation, require};

/// An attempt of a job: to make (true) or end the group of this name, and its number in the series of these.
type Attempt = (bool, String, Members, u64);

#[derive(Default)]
pub(super) struct Groups {
    /// Numbers of attempts so far, by daemon.
    begun: BTreeMap<(DaemonRank, bool, String, Members), u64>,
    open: BTreeMap<(DaemonRank, PmixToken), Attempt>,
    /// The first result of each attempt: the number of the group.
    results: BTreeMap<Attempt, Result<Option<u64>, PmixStatus>>,
    numbers: BTreeMap<u64, Attempt>,
    /// Jobs that some daemon has forgotten: their calls fail there.
    over: BTreeSet<JobId>,
}

impl Groups {
    fn begin(&mut self, rank: DaemonRank, makes: bool, name: &str, members: &Members, token: PmixToken) {
        let count = self.begun.entry((rank, makes, name.to_owned(), members.clone())).or_default();
        self.open.insert((rank, token), (makes, name.to_owned(), members.clone(), *count));
        *count += 1;
    }

    fn end(&mut self, attempt: Attempt, result: Result<Option<u64>, PmixStatus>) -> Result<(), String> {
        if attempt.2.jobs().any(|(job, _)| self.over.contains(&job)) {
            return Ok(());
        }
        if let Ok(Some(number)) = &result {
            let first = self.numbers.entry(*number).or_insert_with(|| attempt.clone());
            require(*first == attempt, || format!("{first:?} and {attempt:?} have the number {number}"))?;
        }
        let first = self.results.entry(attempt.clone()).or_insert(result);
        let same = match (&*first, &result) {
            (Ok(first), Ok(other)) => first == other,
            // A daemon that knows of a lost member answers by itself, so the errors may differ.
            (Err(_), Err(_)) => true,
            _ => false,
        };
        require(same, || format!("{attempt:?} ends with {first:?} for some members and with {result:?} for others"))
    }
}

impl Invariant for Groups {
    fn name(&self) -> &'static str {
        "all members of a group hear the same, and each group has its own number"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, input: Input::Daemon(DaemonInput::Pmix(call)), .. } => {
                match call {
                    PmixCall::GroupConstruct { name, members, token, .. } => {
                        self.begin(*rank, true, name, members, *token);
                    }
                    PmixCall::GroupDestruct { name, members, token } => {
                        self.begin(*rank, false, name, members, *token);
                    }
                    _ => {}
                }
                Ok(())
            }
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Deregister(job)), .. } => {
                self.over.insert(*job);
                Ok(())
            }
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Reply { token, result }), rank, .. } => {
                let Some(attempt) = self.open.remove(&(*rank, *token)) else { return Ok(()) };
                let number = |bytes: &bytes::Bytes| GroupBuilt::decode(bytes).map(|built| built.context);
                let makes = attempt.0;
                let result =
                    result.as_ref().map(|bytes| if makes { number(bytes) } else { None }).map_err(|status| *status);
                require(!makes || result != Ok(None), || format!("{attempt:?} succeeds without a number"))?;
                self.end(attempt, result)
            }
            _ => Ok(()),
        }
    }
}
