//! The head's part of collectives: the top of the tree of participants, and the way back down.

use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{CollectiveKey, Dest, Message, Part};

use super::Head;
use crate::cx::Cx;
use crate::daemon::{concatenate, merge, participants};

impl Head {
    pub(super) fn on_collective_root(&mut self, child: DaemonRank, key: CollectiveKey, part: Part, cx: &mut Cx) {
        let Some(job) = self.jobs.get(&key.job) else {
            return;
        };
        let everyone = participants(&job.map, &key.ranks);
        if !self.collectives.is_open(&key) {
            let nobody_yet = self.collectives.begin(key.clone(), 0, topmost(cx, &everyone));
            debug_assert!(nobody_yet.is_none(), "a part has come, so someone takes part");
        }
        if let Some(gathered) = self.collectives.contribute(key.clone(), child, part) {
            let result = concatenate(merge(gathered));
            cx.multicast(Dest::Many(everyone), Message::CollectiveDone { key, result });
        }
    }
}

/// Participants without a participating ancestor.
fn topmost(cx: &Cx, everyone: &RankSet) -> RankSet {
    let is_top =
        |rank: &DaemonRank| cx.tree.participant_parent(*rank, everyone).is_none_or(|parent| !everyone.contains(parent));
    everyone.iter().filter(is_top).collect()
}
