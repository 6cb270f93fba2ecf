//! Jobs that wait for slots, first come first served.

use ferrite_map::Occupancy;
use ferrite_types::{JobId, JobSpec, JobState, NodeRecord, RankSet};

use super::Head;
use crate::cx::Cx;

impl Head {
    /// True when the job could run if it had the DVM for itself: then it is worth waiting.
    pub(super) fn may_fit_later(&self, spec: &JobSpec, session: u32) -> bool {
        let nodes = self.pool_of(session).unwrap_or_else(|| self.nodes.clone());
        self.place_among(spec, &idle(nodes), &Occupancy::default()).is_ok()
    }

    /// The DVM has lost nodes: whoever waits and can never run now is refused, wherever it stands. Looked at once for each loss, for
    /// it means to place every job that waits.
    fn refuse_hopeless(&mut self, cx: &mut Cx) {
        if self.queue.is_empty() {
            // What comes until somebody waits again can be lost as well.
            self.queue_hopes = RankSet::new();
            return;
        }
        let there: RankSet = self.nodes.iter().filter_map(|node| node.daemon).collect();
        let before = std::mem::replace(&mut self.queue_hopes, there);
        let none_is_lost = !before.is_empty() && before.iter().all(|rank| self.queue_hopes.contains(rank));
        if none_is_lost {
            return;
        }
        // What is reserved for a session now is free when that one has ended.
        let all = idle(self.nodes.clone());
        for id in self.queue.iter().copied().collect::<Vec<JobId>>() {
            let Some(job) = self.jobs.get(&id).filter(|_| self.queue.contains(&id)) else { continue };
            let own = self.pool_of(job.session).filter(|_| job.session != 0).map(idle);
            let spec = self.spec_of(job);
            if let Err(text) = self.place_among(&spec, own.as_ref().unwrap_or(&all), &Occupancy::default()) {
                self.queue.retain(|waiting| *waiting != id);
                self.fail_job(id, JobState::MapFailed, 1, text, cx);
            }
        }
    }

    /// Slots have become free, or a job has left the queue: those at its front may go on. One that can never run,
    /// because the DVM has lost nodes since, is refused and holds nobody up.
    pub(super) fn serve_queue(&mut self, cx: &mut Cx) {
        if self.exit.begun() || (self.is_elastic() && self.campaigns.any()) {
            return;
        }
        // What is still to come may be what they wait for.
        if !self.campaigns.any() {
            self.refuse_hopeless(cx);
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
                Err(_) if self.campaigns.any() || self.nodes.iter().any(|node| node.slots_inuse > 0) => return,
                Err(text) => {
                    self.queue.pop_front();
                    self.fail_job(id, JobState::MapFailed, 1, text, cx);
                }
            }
        }
    }
}

fn idle(mut nodes: Vec<NodeRecord>) -> Vec<NodeRecord> {
    nodes.iter_mut().for_each(|node| node.slots_inuse = 0);
    nodes
}
