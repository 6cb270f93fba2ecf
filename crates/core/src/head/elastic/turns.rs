//! Turns of jobs and of campaigns. A held job waits for the campaigns that were open when it was parked, and later
//! ones may delay it too. An unbroken series of campaigns must not hold it for ever: a job is *due* when those first
//! campaigns are over, or when it is parked for the second time. No grow opens before a due job has been launched:
//! the grow is *queued*, and holds no job yet.
//!
//! A job of the queue whose slots are free waits for the campaigns that are open then, and is due as long as its
//! slots are free. Shrinks are queued only when they concern nodes that a queued grow brings: each shrink takes nodes
//! away, so their series ends, and no job is placed on nodes that leave.

use std::collections::BTreeSet;

use ferrite_types::{CampaignId, CampaignKind};

use super::campaigns::{Campaign, Campaigns};
use super::phase::Phase;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::lists::listed;

impl Campaign {
    /// True for a campaign that lets jobs have their turn.
    pub(super) fn is_queued(&self) -> bool {
        matches!(self.phase, Phase::Queued)
    }
}

impl Campaigns {
    /// Campaigns that hold jobs; a queued one holds only the job that it is for (spec E7).
    pub(super) fn that_hold(&self, own: Option<CampaignId>) -> impl Iterator<Item = CampaignId> {
        let holds = move |(id, campaign): &(&CampaignId, &Campaign)| !campaign.is_queued() || own == Some(**id);
        self.open.iter().filter(holds).map(|(id, _)| *id)
    }
}

impl Head {
    /// True for a new campaign that lets jobs have their turn first (spec E15, E17).
    pub(super) fn is_to_queue(&self, kind: CampaignKind, behind: &BTreeSet<CampaignId>) -> bool {
        let is_queued = |id: &CampaignId| self.elastic.campaigns.open.get(id).is_some_and(Campaign::is_queued);
        let lets_pass = kind == CampaignKind::Grow && self.due_jobs().next().is_some();
        // A campaign behind a queued one would hold the jobs for which the queued one waits.
        lets_pass || behind.iter().any(is_queued)
    }

    /// Opens the queued campaigns when no job is due any more. True when one has opened (spec E16).
    pub(in crate::head) fn open_queued(&mut self, cx: &mut Cx) -> bool {
        let queued = self.elastic.campaigns.open.iter().filter(|(_, campaign)| campaign.is_queued());
        let queued: Vec<CampaignId> = queued.map(|(id, _)| *id).collect();
        if queued.is_empty() || self.due_jobs().next().is_some() {
            return false;
        }
        queued.iter().for_each(|id| self.elastic.campaigns.enter(*id, Phase::Open, cx));
        queued.iter().for_each(|id| self.proceed(*id, cx));
        true
    }

    /// The reason why a queued campaign waits, in words.
    pub(super) fn turns_before(&self) -> String {
        let jobs: Vec<String> = self.due_jobs().map(|job| format!("job {job}")).collect();
        let jobs = listed(jobs.iter().map(String::as_str));
        format!("{jobs} to be launched, which others have held before")
    }
}
