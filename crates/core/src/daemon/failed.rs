//! Processes that failed while their job goes on without them. Those that are left here get an event if they are to, and are not
//! left waiting in a collective that can never be complete.

use ferrite_types::JobId;
use ferrite_wire::{CollectiveKey, ProcFailure};

use super::Daemon;
use super::collective::PMIX_ERR_LOST_CONNECTION;
use crate::cx::Cx;
use crate::{Effect, PmixEffect};

impl Daemon {
    /// The head says who failed, here or elsewhere.
    pub(super) fn on_procs_failed(&mut self, id: JobId, failed: Vec<ProcFailure>, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.failed_ranks.extend(failed.iter().map(|failure| failure.rank));
        if job.living().next().is_none() {
            return;
        }
        if job.order.spec.options.announces_failures() {
            cx.effect(Effect::Pmix(PmixEffect::Notify { job: id, failed }));
        }
        self.fail_collectives(id, cx);
    }

    /// True when a participant of the collective has failed: it will never be complete.
    pub(super) fn misses_someone(&self, key: &CollectiveKey) -> bool {
        let Some(job) = self.jobs.get(&key.job) else {
            return false;
        };
        match key.ranks.as_slice() {
            [] => !job.failed_ranks.is_empty(),
            ranks => ranks.iter().any(|rank| job.failed_ranks.contains(rank)),
        }
    }

    /// Ends the waiting of those who wait for a process that has failed. Every daemon does so by itself.
    fn fail_collectives(&mut self, id: JobId, cx: &mut Cx) {
        let open = self.collectives.tokens.keys().filter(|key| key.job == id && self.misses_someone(key));
        for key in open.cloned().collect::<Vec<_>>() {
            self.collectives.rollups.cancel(&key);
            if let Some(token) = self.collectives.tokens.remove(&key) {
                cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
            }
        }
        self.fail_barrier(id, cx);
    }
}
