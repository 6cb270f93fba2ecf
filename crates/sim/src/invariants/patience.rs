//! Guarantee: a daemon gives a link up for silence only when one end was silent for the limit (three intervals of
//! five seconds).

use ferrite_core::{Effect, Input, LinkTimer, Timer};
use ferrite_types::{DaemonRank, RankSet};

use super::silence::Silence;
use super::{Invariant, Observation, require};
use crate::queue::Time;

/// The time over which the check looks back: daemons look for silence every 5 s, and give a link up after 15 s.
const LOOK_BACK: Time = 21_000_000;
/// Silence that must be explained; the last heartbeat may be older by an interval and a slow trip.
const SILENT: Time = 8_000_000;

#[derive(Default)]
pub(super) struct Patience {
    silence: Silence,
    gone: RankSet,
    /// The daemon that is looking for silent links now.
    looking: Option<DaemonRank>,
}

impl Invariant for Patience {
    fn name(&self) -> &'static str {
        "a link is given up only after silence"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Fault { at, fault } => self.silence.begin(*at, fault),
            Observation::Born { rank } => self.silence.born(*rank),
            Observation::Gone { rank, .. } => {
                self.gone.insert(*rank);
            }
            Observation::Input { rank, input, .. } => {
                self.looking = matches!(input, Input::Timer(Timer::Link(LinkTimer::Heartbeat))).then_some(*rank);
            }
            Observation::Effect { rank, at, effect: Effect::CloseLink { peer }, .. }
                if self.looking == Some(*rank) && !self.gone.contains(*peer) =>
            {
                let silent = self.silence.within(&[*rank, *peer], at.saturating_sub(LOOK_BACK), *at);
                return require(silent >= SILENT, || {
                    format!("daemon {rank} gives up the link to {peer}, which was silent for {silent} us at most")
                });
            }
            _ => {}
        }
        Ok(())
    }
}
