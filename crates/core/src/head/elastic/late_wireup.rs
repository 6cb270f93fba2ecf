//! A wireup that takes longer than a grow may take: who holds it up. Everybody passes it on and acknowledges it, so
//! that any daemon that hangs can delay the grow; only a daemon of its own may fail it. The head asks everybody for a
//! sign, and looks now and then who has given none.
//!
//! A daemon of the grow that is silent, although everybody above it answers, has failed it. Anybody else who is silent
//! is a suspect: the head names it, and the grow goes on when it answers or is lost. Until then the launch fence stays
//! up, because not everybody knows of the new daemons. A daemon below one that is silent cannot be judged, and waits
//! for that one.

use ferrite_types::{CampaignId, DaemonRank, Duration, RankSet};
use ferrite_wire::{DaemonMessage, Dest};

use super::campaigns::Trouble;
use super::phase::Phase;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::PMIX_ERR_TIMEOUT;

/// From one look to the next (milliseconds).
const LOOK_MS: u64 = 5_000;
/// Who has said nothing for so long is silent (milliseconds): several probes have gone unanswered.
const SILENT_MS: u64 = 4_000;

/// What the looks at a late wireup have shown.
#[derive(Debug, Default)]
pub(in crate::head) struct Late {
    /// Who was silent at the last look, and is not below another who was. A daemon of the grow that is so at two looks
    /// has failed it: at the first the way to it may just have come back.
    silent: RankSet,
    /// Whoever runs the head has been told.
    told: bool,
}

impl Head {
    /// The time of a grow is up, or that of a look, and not everybody has acknowledged its wireup (spec E42).
    pub(super) fn on_late_wireup(&mut self, id: CampaignId, cx: &mut Cx) {
        let silent = cx.silent(Duration::from_millis(SILENT_MS));
        let answers = |rank: DaemonRank| cx.tree.ancestors(rank).all(|above| !silent.contains(above));
        let Some(campaign) = self.campaigns.open.get_mut(&id) else { return };
        let silent: RankSet = silent.iter().filter(|rank| answers(*rank)).collect();
        let Phase::WiringUp { late } = &mut campaign.phase else { return };
        let before = std::mem::replace(&mut late.silent, silent);
        let again = |rank: &DaemonRank| before.contains(*rank) && late.silent.contains(*rank);
        let guilty = campaign.targets.keys().copied().find(again);
        if let Some(rank) = guilty {
            let cause =
                format!("The daemon on node {} has reported and does not answer any more.", self.node_name(rank));
            return self.fail_grow(id, Trouble::new(PMIX_ERR_TIMEOUT, cause), cx);
        }
        self.tell_of_suspects(id, cx);
        // It adopts nobody: all that is wanted is that its receipt is acknowledged.
        cx.multicast(Dest::All, DaemonMessage::Adopt(Vec::new()));
        cx.set_timer(HeadTimer::Campaign(id), cx.now + Duration::from_millis(LOOK_MS));
    }

    fn tell_of_suspects(&mut self, id: CampaignId, cx: &mut Cx) {
        let phase = self.campaigns.open.get_mut(&id).map(|campaign| &mut campaign.phase);
        let Some(Phase::WiringUp { late }) = phase else { return };
        if late.silent.is_empty() || std::mem::replace(&mut late.told, true) {
            return;
        }
        let silent = late.silent.clone();
        let names = self.names_of(&silent);
        cx.notice(format!(
            "Grow {id} is late: the daemons of {names} do not answer.\n\
             It goes on when they answer or are lost. Kill a daemon that hangs."
        ));
    }

    /// What a campaign that wires its daemons up waits for, in words.
    pub(super) fn wireup_waits_for(&self, late: &Late) -> String {
        let silent = &late.silent;
        if silent.is_empty() {
            return "all daemons to be wired up".to_owned();
        }
        format!("all daemons to be wired up (those of {} have not answered)", self.names_of(silent))
    }

    fn names_of(&self, ranks: &RankSet) -> String {
        let names: Vec<&str> = ranks.iter().map(|rank| self.node_name(rank)).collect();
        crate::head::clients::listed_names(names.into_iter())
    }
}
