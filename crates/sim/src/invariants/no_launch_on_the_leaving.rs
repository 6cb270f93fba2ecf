//! Guarantee: launch data never go to a daemon that was told to leave, and such a daemon starts nothing: its jobs are
//! mapped again before (spec G3). Launch data sent before the order may still be on their way.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, RankSet};
use ferrite_wire::{DaemonMessage, Dest, FrameKind, Message, TreeMessage};

use super::changes::Changes;
use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct NoLaunchOnTheLeaving {
    changes: Changes,
    /// The leaving daemons at the time of each job's launch order, which may wait for a link.
    ordered: BTreeMap<JobId, RankSet>,
    /// Jobs whose launch data was sent.
    sent: BTreeSet<JobId>,
    /// Daemons that know that they leave.
    told: BTreeSet<DaemonRank>,
}

impl Invariant for NoLaunchOnTheLeaving {
    fn name(&self) -> &'static str {
        "nothing is launched on a leaving daemon"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        match what {
            Observation::Input { rank, message: Some(Message::Tree(TreeMessage::Shrink { targets })), .. }
                if targets.contains(*rank) =>
            {
                self.told.insert(*rank);
                Ok(())
            }
            Observation::Effect { rank, effect: Effect::Spawn { proc, .. }, .. } => {
                require(!self.told.contains(rank), || format!("daemon {rank}, which leaves, starts {proc}"))
            }
            Observation::Effect {
                effect: Effect::Trace(Transition::Job { job, to: JobState::SendLaunchMsg, .. }),
                ..
            } => {
                self.ordered.insert(*job, self.changes.leaving.clone());
                Ok(())
            }
            Observation::Effect {
                rank: DaemonRank::HEAD,
                effect: Effect::Transmit { frame, .. },
                message: Some(Message::Daemon(DaemonMessage::Launch(order))),
                ..
            } if frame.origin == DaemonRank::HEAD && matches!(frame.kind, FrameKind::Message { .. }) => {
                let leaving = self.ordered.get(&order.job).unwrap_or(&self.changes.leaving);
                let to = match &frame.dest {
                    Dest::One(rank) => Some(*rank).filter(|rank| leaving.contains(*rank)),
                    Dest::Many(ranks) => ranks.iter().find(|rank| leaving.contains(*rank)),
                    Dest::All => None,
                };
                let again = !self.sent.insert(order.job);
                require(again || to.is_none(), || {
                    format!("job {} is launched on daemon {to:?}, which leaves", order.job)
                })
            }
            _ => Ok(()),
        }
    }
}
