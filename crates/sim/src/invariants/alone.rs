//! Guarantee: a daemon without an uplink leaves in time. Another guarantee checks that it leaves no process.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input, LinkInput};
use ferrite_router::Tree;
use ferrite_types::DaemonRank;

use super::silence::Silence;
use super::{Invariant, Observation, arithmetic, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The time for which a daemon searches for an uplink.
const LOOKS: Time = 30_000_000;
/// The longest last call: no round of calls begins after the search's end.
const CALL: Time = 3_300_000;
/// The time for its processes to end afterwards.
const DEPARTS: Time = 5_500_000;

pub(super) struct Alone {
    tree: Tree,
    silence: Silence,
    /// Links to daemons above.
    above: BTreeSet<(DaemonRank, DaemonRank)>,
    /// Daemons without an uplink, and since when.
    alone: BTreeMap<DaemonRank, Time>,
}

impl Alone {
    pub(super) fn new(scenario: &Scenario) -> Alone {
        let tree = arithmetic(scenario);
        Alone { tree, silence: Silence::default(), above: BTreeSet::new(), alone: BTreeMap::new() }
    }

    fn unlinked(&mut self, at: Time, rank: DaemonRank, peer: DaemonRank) {
        let was = self.above.remove(&(rank, peer));
        if was && self.above.range((rank, DaemonRank::HEAD)..(rank, rank)).next().is_none() {
            self.alone.insert(rank, at);
        }
    }

    /// Judges a daemon that is gone, or has an uplink.
    fn is_over(&mut self, at: Time, rank: DaemonRank) -> Result<(), String> {
        let Some(since) = self.alone.remove(&rank) else {
            return Ok(());
        };
        let limit = LOOKS + CALL * u64::from(self.tree.depth(rank)) + DEPARTS;
        // A paused daemon does nothing; its pause does not count.
        let time = at - since - self.silence.within(&[rank], since, at);
        require(time <= limit, || format!("daemon {rank} hung on nobody for {time} us and did not leave"))
    }
}

impl Invariant for Alone {
    fn name(&self) -> &'static str {
        "a daemon that hangs on nobody leaves in time"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Fault { at, fault } => self.silence.begin(*at, fault),
            Observation::Born { rank } => self.silence.born(*rank),
            Observation::Gone { rank, at, .. } => {
                self.above.retain(|(end, _)| end != rank);
                return self.is_over(*at, *rank);
            }
            Observation::Input { rank, at, input: Input::Link(LinkInput::LinkUp { peer }), .. } if peer < rank => {
                self.above.insert((*rank, *peer));
                return self.is_over(*at, *rank);
            }
            Observation::Input { rank, at, input: Input::Link(LinkInput::LinkLost { peer, .. }), .. }
            | Observation::Effect { rank, at, effect: Effect::CloseLink { peer }, .. } => {
                self.unlinked(*at, *rank, *peer);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::world::Gone;

    const ME: DaemonRank = DaemonRank(3);
    const PARENT: DaemonRank = DaemonRank(1);

    /// Loses the parent at time zero and leaves at `leaves`, after a pause of `still`.
    fn lose_parent(still: Time, leaves: Time) -> Result<(), String> {
        let mut check = Alone::new(&Scenario::calm(1, 8, 2));
        let (up, lost) = (
            Input::Link(LinkInput::LinkUp { peer: PARENT }),
            Input::Link(LinkInput::LinkLost { peer: PARENT, cause: String::new() }),
        );
        for input in [up, lost] {
            check.observe(&Observation::Input { rank: ME, at: 0, input: &input, message: None }).unwrap();
        }
        check.observe(&Observation::Fault { at: 0, fault: &Fault::Pause(ME, still) }).unwrap();
        check.observe(&Observation::Gone { rank: ME, at: leaves, how: Gone::Exit(0), running: 0 })
    }

    #[test]
    fn a_daemon_without_a_parent_has_to_leave_in_time_unless_it_stood_still() {
        let (soon, late) = (LOOKS + DEPARTS, LOOKS + 2 * CALL + DEPARTS + 1);
        assert!(lose_parent(0, soon).is_ok());
        assert!(lose_parent(0, late).is_err());
        assert!(lose_parent(1, late).is_ok());
    }
}
