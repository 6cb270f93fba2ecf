//! What a job waits for before its launch, as the launch fence notes it (`elastic/launch_fence.rs`, `turns.rs`).

use ferrite_types::{CampaignId, JobId};

use super::record::Job;
use super::registry::Jobs;
use crate::head::elastic::Hold;

impl Job {
    /// Its hold, while it is parked.
    pub(in crate::head) fn hold(&self) -> Option<&Hold> {
        self.held.as_ref()
    }

    /// The campaign that brings the nodes of its own request.
    pub(in crate::head) fn grows(&self) -> Option<CampaignId> {
        self.grows
    }

    /// True after it was parked for the first time.
    pub(in crate::head) fn was_parked(&self) -> bool {
        self.was_parked
    }

    /// True when it is to be launched before the DVM begins to grow again.
    pub(in crate::head) fn is_due(&self) -> bool {
        self.is_due
    }

    /// True when nodes of an earlier map have gone before the launch.
    pub(in crate::head) fn was_mapped(&self) -> bool {
        !self.missed.is_empty()
    }
}

impl Jobs {
    /// Notes the hold of a job that is parked, or that goes on waiting for something else.
    pub(in crate::head) fn hold(&mut self, id: JobId, hold: Hold) {
        if let Some(job) = self.get_mut(id) {
            job.held = Some(hold);
            job.was_parked = true;
        }
    }

    /// Ends the hold of a job.
    pub(in crate::head) fn admit(&mut self, id: JobId) {
        if let Some(job) = self.get_mut(id) {
            job.held = None;
        }
    }

    /// Makes a job due: it is to be launched before the DVM begins to grow again (spec E15).
    pub(in crate::head) fn make_due(&mut self, id: JobId) {
        if let Some(job) = self.get_mut(id) {
            job.is_due = true;
        }
    }

    /// True while a job waits for slots.
    pub(in crate::head) fn is_queued(&self, id: JobId) -> bool {
        self.queue.contains(id)
    }

    /// Notes the end of a campaign. Jobs that were held for nothing else are due (spec E15).
    pub(in crate::head) fn on_campaign_over(&mut self, id: CampaignId) {
        for job in self.known.values_mut() {
            if let Some(Hold::Map(campaigns)) = &mut job.held
                && campaigns.remove(&id)
                && campaigns.is_empty()
            {
                job.is_due = true;
            }
            job.is_due |= job.kept_by.remove(&id) && job.kept_by.is_empty();
        }
    }
}
