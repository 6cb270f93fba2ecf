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

    /// True for a shrink whose processes have time to end.
    pub(super) fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    /// True for a campaign that holds jobs (spec E7, E43).
    pub(super) fn holds(&self) -> bool {
        !self.is_queued() && !self.is_draining()
    }
}

impl Campaigns {
    /// True when one of these campaigns holds nobody. A campaign behind it would hold jobs in its place.
    fn is_behind_idle(&self, behind: &BTreeSet<CampaignId>) -> bool {
        behind.iter().any(|id| self.open.get(id).is_some_and(|before| !before.holds()))
    }

    /// True when one of these campaigns drains, or waits for one that does.
    fn waits_for_a_drain(&self, behind: &BTreeSet<CampaignId>) -> bool {
        let waits = |before: &Campaign| before.is_draining() || self.waits_for_a_drain(&before.behind);
        behind.iter().any(|id| self.open.get(id).is_some_and(waits))
    }

    /// Campaigns that hold jobs, and the one that this job is for (spec E7).
    pub(super) fn that_hold(&self, own: Option<CampaignId>) -> impl Iterator<Item = CampaignId> {
        let holds = move |(id, campaign): &(&CampaignId, &Campaign)| campaign.holds() || own == Some(**id);
        self.open.iter().filter(holds).map(|(id, _)| *id)
    }
}

impl Head {
    /// True for a new campaign that lets jobs have their turn first (spec E15, E17).
    pub(super) fn is_to_queue(&self, kind: CampaignKind, behind: &BTreeSet<CampaignId>) -> bool {
        let lets_pass = kind == CampaignKind::Grow && self.due_jobs().next().is_some();
        lets_pass || self.elastic.campaigns.is_behind_idle(behind)
    }

    /// Queues the campaigns behind one that has begun to drain: they would hold jobs for as long (spec E43).
    pub(super) fn queue_behind_drains(&mut self, cx: &mut Cx) {
        let waits = |campaigns: &Campaigns| {
            let behind = |campaign: &Campaign| {
                matches!(campaign.phase, Phase::Behind) && campaigns.is_behind_idle(&campaign.behind)
            };
            campaigns.open.iter().find(|(_, campaign)| behind(campaign)).map(|(id, _)| *id)
        };
        while let Some(id) = waits(&self.elastic.campaigns) {
            self.elastic.campaigns.enter(id, Phase::Queued, cx);
        }
    }

    /// Opens the queued campaigns when no job is due any more, but for those that wait for a drain. True when one has
    /// opened (spec E16, E43).
    pub(in crate::head) fn open_queued(&mut self, cx: &mut Cx) -> bool {
        let queued = self.elastic.campaigns.open.iter().filter(|(_, campaign)| campaign.is_queued());
        let queued = queued.filter(|(_, campaign)| !self.elastic.campaigns.waits_for_a_drain(&campaign.behind));
        let queued: Vec<CampaignId> = queued.map(|(id, _)| *id).collect();
        if queued.is_empty() || self.due_jobs().next().is_some() {
            return false;
        }
        queued.iter().for_each(|id| self.elastic.campaigns.enter(*id, Phase::Open, cx));
        queued.iter().for_each(|id| self.proceed(*id, cx));
        true
    }

    /// The reason why a queued campaign waits, in words.
    pub(super) fn turns_before(&self, behind: &BTreeSet<CampaignId>) -> String {
        if self.elastic.campaigns.waits_for_a_drain(behind) {
            return behind_others(behind);
        }
        let jobs: Vec<String> = self.due_jobs().map(|job| format!("job {job}")).collect();
        let jobs = listed(jobs.iter().map(String::as_str));
        format!("{jobs} to be launched, which others have held before")
    }
}

/// The wait for other campaigns, in words.
pub(super) fn behind_others(behind: &BTreeSet<CampaignId>) -> String {
    let before: Vec<String> = behind.iter().map(|id| format!("campaign {id}")).collect();
    format!("{} to end", listed(before.iter().map(String::as_str)))
}
