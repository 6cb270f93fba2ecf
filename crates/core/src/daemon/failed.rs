//! Failed processes of a job that goes on. Local survivors get an event if they want one, and collectives that can
//! never be complete end.

use ferrite_types::{JobId, ProcId, Rank};
use ferrite_wire::{CollectiveKey, HeadMessage, ProcFailure};

use super::Daemon;
use crate::cx::Cx;
use crate::pmix_status::PMIX_ERR_LOST_CONNECTION;
use crate::{Effect, PmixEffect};

impl Daemon {
    /// Handles the head's message that processes have failed, here or elsewhere (spec L83).
    pub(super) fn on_procs_failed(&mut self, id: JobId, failed: Vec<ProcFailure>, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.failed_ranks.extend(failed.iter().map(|failure| failure.rank));
        // The library counts on processes that it has never heard of, and its fences here would wait for them.
        let is_absent = |rank: &Rank| job.procs.get(rank).is_some_and(|local| !local.connected);
        for rank in failed.iter().map(|failure| failure.rank).filter(is_absent) {
            cx.effect(Effect::Pmix(PmixEffect::Absent(ProcId { job: id, rank })));
        }
        // Local processes of other jobs may wait for the failed ones too.
        let here = job.living().next().is_some();
        if here && job.order.spec.options.announces_failures() {
            cx.effect(Effect::Pmix(PmixEffect::Notify { job: id, failed }));
        }
        self.fail_collectives(id, cx);
        if here {
            self.fail_unentered_barrier(id, cx);
        }
    }

    /// True when a participant of the collective has failed, so that it can never be complete.
    pub(super) fn misses_someone(&self, key: &CollectiveKey) -> bool {
        key.members.jobs().any(|(job, ranks)| match (self.jobs.get(&job), ranks) {
            (None, _) => false,
            (Some(job), []) => !job.failed_ranks.is_empty(),
            (Some(job), ranks) => ranks.iter().any(|rank| job.failed_ranks.contains(rank)),
        })
    }

    /// Reports collectives that miss a failed process. The head decides, because a collective may have been complete
    /// before the failure.
    fn fail_collectives(&mut self, id: JobId, cx: &mut Cx) {
        let vain = |key: &CollectiveKey| key.members.include(id) && self.misses_someone(key);
        let keys: Vec<CollectiveKey> = self.collectives_here().filter(vain).collect();
        self.report_failed(keys, cx);
    }

    pub(super) fn report_failed(&self, keys: Vec<CollectiveKey>, cx: &mut Cx) {
        for key in keys {
            cx.send_head(HeadMessage::CollectiveFailed { key, status: PMIX_ERR_LOST_CONNECTION });
        }
    }
}
