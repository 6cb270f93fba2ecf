//! A late wireup: the search for the daemons that delay a grow beyond its deadline. Every daemon passes the wireup on
//! and acknowledges it, so any daemon that hangs can delay the grow; only a daemon of the grow itself may fail it.
//! The head asks every daemon for a sign, and checks regularly who is silent.
//!
//! A silent daemon of the grow fails it, provided that all daemons above it answer. Any other silent daemon is a
//! suspect: the head names it, and the grow continues when it answers or is lost. Until then the launch fence stays
//! up, because some daemons do not know the newcomers yet. A daemon below a silent one cannot be judged before that
//! one.

use ferrite_types::{CampaignId, DaemonRank, Duration, RankSet};
use ferrite_wire::{DaemonMessage, Dest};

use super::phase::Phase;
use super::plan::Reason;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::lists::listed;
use crate::pmix_status::PMIX_ERR_TIMEOUT;

/// The time between two checks (milliseconds).
const LOOK_MS: u64 = 5_000;
/// The time without a sign after which a daemon is silent (milliseconds); it covers several unanswered probes.
const SILENT_MS: u64 = 4_000;

/// Results of the checks of a late wireup.
#[derive(Debug, Default)]
pub(in crate::head) struct Late {
    /// Daemons that were silent at the last check and are not below another silent one. A daemon of the grow fails it
    /// when it is silent at two checks; after one, its link may just have come back.
    silent: RankSet,
    /// True once the operator of the DVM was told.
    told: bool,
}

impl Head {
    /// Handles the deadline of a grow, or the next check, while acknowledgements of the wireup are missing (spec
    /// E42).
    pub(super) fn on_late_wireup(&mut self, id: CampaignId, cx: &mut Cx) {
        let silent = cx.silent(Duration::from_millis(SILENT_MS));
        let answers = |rank: DaemonRank| cx.tree.ancestors(rank).all(|above| !silent.contains(above));
        let campaign = self.elastic.campaigns.expect_mut(id);
        let silent: RankSet = silent.iter().filter(|rank| answers(*rank)).collect();
        let Phase::WiringUp { late } = &mut campaign.phase else { panic!("campaign {id} is not being wired up") };
        let before = std::mem::replace(&mut late.silent, silent);
        let again = |rank: &DaemonRank| before.contains(*rank) && late.silent.contains(*rank);
        let guilty = campaign.targets.keys().copied().find(again);
        if let Some(rank) = guilty {
            let cause =
                format!("The daemon on node {} has reported and does not answer any more.", self.node_name(rank));
            return self.fail_grow(id, Reason::new(PMIX_ERR_TIMEOUT, cause), cx);
        }
        self.tell_of_suspects(id, cx);
        // The message adopts nobody; its only purpose is the acknowledgement of its receipt.
        cx.multicast(Dest::All, DaemonMessage::Adopt(Vec::new()));
        cx.set_timer(HeadTimer::Campaign(id), cx.now + Duration::from_millis(LOOK_MS));
    }

    fn tell_of_suspects(&mut self, id: CampaignId, cx: &mut Cx) {
        let Phase::WiringUp { late } = &mut self.elastic.campaigns.expect_mut(id).phase else {
            panic!("campaign {id} is not being wired up")
        };
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

    /// The reason why a campaign in its wireup waits, in words.
    pub(super) fn wireup_waits_for(&self, late: &Late) -> String {
        let silent = &late.silent;
        if silent.is_empty() {
            return "all daemons to be wired up".to_owned();
        }
        format!("all daemons to be wired up (those of {} have not answered)", self.names_of(silent))
    }

    fn names_of(&self, ranks: &RankSet) -> String {
        let names: Vec<&str> = ranks.iter().map(|rank| self.node_name(rank)).collect();
        listed(names.into_iter())
    }
}
