//! A daemon that hangs on nobody any more leaves in time. That it leaves no process is another guarantee.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Input, LinkInput};
use ferrite_router::Tree;
use ferrite_types::DaemonRank;

use super::silence::Silence;
use super::{Invariant, Observation, arithmetic, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// So long it looks for somebody ...
const LOOKS: Time = 30_000_000;
/// ... and begins no round of calls after that; each call of the last round takes so long.
const CALL: Time = 3_300_000;
/// Then its processes get this time to end.
const DEPARTS: Time = 5_500_000;

pub(super) struct Alone {
    tree: Tree,
    silence: Silence,
    /// Links to somebody above.
    above: BTreeSet<(DaemonRank, DaemonRank)>,
    /// Since when daemons hang on nobody.
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

    /// It is gone, or hangs on somebody.
    fn is_over(&mut self, at: Time, rank: DaemonRank) -> Result<(), String> {
        let Some(since) = self.alone.remove(&rank) else {
            return Ok(());
        };
        let limit = LOOKS + CALL * u64::from(self.tree.depth(rank)) + DEPARTS;
        // Who stands still does nothing, in time or not.
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

    /// Loses its parent at time zero and leaves at `leaves`, having stood still for so long.
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
