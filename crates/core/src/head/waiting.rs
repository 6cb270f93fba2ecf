//! Jobs that wait for slots, first come first served.

use ferrite_map::Occupancy;
use ferrite_types::{JobSpec, JobState};

use super::Head;
use crate::cx::Cx;

impl Head {
    /// True when the job could run if it had the DVM for itself: then it is worth waiting.
    pub(super) fn may_fit_later(&self, spec: &JobSpec, session: u32) -> bool {
        let mut idle = self.pool_of(session).unwrap_or_else(|| self.nodes.clone());
        idle.iter_mut().for_each(|node| node.slots_inuse = 0);
        self.place_among(spec, &idle, &Occupancy::default()).is_ok()
    }

    /// Slots have become free, or a job has left the queue: those at its front may go on. One that can never run,
    /// because the DVM has lost nodes since, is refused and holds nobody up.
    pub(super) fn serve_queue(&mut self, cx: &mut Cx) {
        if self.exit.begun() || (self.is_elastic() && self.campaigns.any()) {
            return;
        }
        while let Some(id) = self.queue.front().copied() {
            let Some(job) = self.jobs.get(&id).filter(|job| job.is_healthy()) else {
                self.queue.pop_front();
                continue;
            };
            let (spec, session) = (self.spec_of(job), job.session);
            match self.placed(&spec, session) {
                Ok(map) => {
                    self.queue.pop_front();
                    self.take_map(id, map, cx);
                }
                Err(_) if self.nodes.iter().any(|node| node.slots_inuse > 0) => return,
                Err(text) => {
                    self.queue.pop_front();
                    self.fail_job(id, JobState::MapFailed, 1, text, cx);
                }
            }
        }
    }
}
