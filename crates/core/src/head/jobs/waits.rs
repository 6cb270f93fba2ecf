//! A job's reasons to wait before its launch, as the launch fence notes them (`elastic/launch_fence.rs`, `turns.rs`).

use ferrite_types::{CampaignId, JobId};

use super::phase::Wait;
use super::record::Job;
use super::registry::Jobs;
use crate::head::Head;
use crate::head::elastic::Hold;

impl Job {
    /// Its hold, while it is parked.
    pub(in crate::head) fn hold(&self) -> Option<&Hold> {
        self.phase.wait()?.held.as_ref()
    }

    /// The campaign that brings the nodes of its own request.
    pub(in crate::head) fn grows(&self) -> Option<CampaignId> {
        self.grows
    }

    /// True after it was parked for the first time.
    fn was_parked(&self) -> bool {
        self.phase.wait().is_some_and(|wait| wait.was_parked)
    }

    /// True when it is to be launched before the DVM begins to grow again.
    fn is_due(&self) -> bool {
        self.phase.wait().is_some_and(|wait| wait.is_due)
    }

    /// True when nodes of an earlier map have gone before the launch.
    pub(in crate::head) fn was_mapped(&self) -> bool {
        !self.missed.is_empty()
    }
}

impl Jobs {
    /// The waits of a job that is not launched.
    pub(super) fn wait_mut(&mut self, id: JobId) -> Option<&mut Wait> {
        self.get_mut(id)?.phase.wait_mut()
    }

    /// Notes the hold of a job that is parked, or that goes on waiting for something else.
    pub(in crate::head) fn hold(&mut self, id: JobId, hold: Hold) {
        if let Some(wait) = self.wait_mut(id) {
            wait.held = Some(hold);
            wait.was_parked = true;
        }
    }

    /// Ends the hold of a job.
    pub(in crate::head) fn admit(&mut self, id: JobId) {
        if let Some(wait) = self.wait_mut(id) {
            wait.held = None;
        }
    }

    /// Makes a job due that is parked for the second time: it is to be launched before the DVM begins to grow again
    /// (spec E15). A job whose own grow is open waits for that.
    pub(in crate::head) fn on_parked_again(&mut self, id: JobId, is_open: impl Fn(CampaignId) -> bool) {
        let job = self.get(id).filter(|job| job.was_parked() && !job.grows().is_some_and(is_open));
        if job.is_some()
            && let Some(wait) = self.wait_mut(id)
        {
            wait.is_due = true;
        }
    }

    /// Notes the end of a campaign. Jobs that were held for nothing else are due (spec E15).
    pub(in crate::head) fn on_campaign_over(&mut self, id: CampaignId) {
        for wait in self.known.values_mut().filter_map(|job| job.phase.wait_mut()) {
            if let Some(Hold::Map(campaigns)) = &mut wait.held
                && campaigns.remove(&id)
                && campaigns.is_empty()
            {
                wait.is_due = true;
            }
            wait.is_due |= wait.kept_by.remove(&id) && wait.kept_by.is_empty();
        }
    }
}

impl Head {
    /// Jobs that are to be launched before the DVM begins to grow again (spec E18).
    pub(in crate::head) fn due_jobs(&self) -> impl Iterator<Item = JobId> {
        let waits = |job: &&Job| {
            let is_ready = || match self.jobs.queue.contains(job.id) {
                true => self.is_next(job),
                false => job.hold() != Some(&Hold::Paused),
            };
            job.is_due() && job.is_healthy() && !job.is_launched() && is_ready()
        };
        self.jobs.iter().filter(waits).map(|job| job.id)
    }
}
