//! Counters of the head for monitoring: totals that only grow, and a histogram of launch times.

use ferrite_types::{CampaignKind, JobState, Timestamp};
use ferrite_wire::control::{Histogram, Metrics};

use crate::head::{Head, Job};

/// Upper limits of the histogram's buckets of launch times (microseconds).
const LIMITS_US: [u64; 16] = [
    500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000,
];

/// The totals and the histogram of launch times.
#[derive(Debug, Default)]
pub(in crate::head) struct Counters {
    pub(in crate::head) jobs_submitted: u64,
    jobs_started: u64,
    procs_started: u64,
    launch: [u64; LIMITS_US.len()],
    slower: u64,
    launch_sum_us: u64,
    pub(in crate::head) output_bytes: u64,
    pub(in crate::head) stdin_bytes: u64,
    pub(in crate::head) xcasts: u64,
    pub(in crate::head) daemons_lost: u64,
    pub(in crate::head) repairs: u64,
    pub(in crate::head) rejoins: u64,
    grows: u64,
    grows_failed: u64,
    shrinks: u64,
}

impl Counters {
    /// Counts a campaign that has ended.
    pub(in crate::head) fn on_campaign(&mut self, kind: CampaignKind, failed: bool) {
        *match (kind, failed) {
            (CampaignKind::Grow, false) => &mut self.grows,
            (CampaignKind::Grow, true) => &mut self.grows_failed,
            (CampaignKind::Shrink, _) => &mut self.shrinks,
        } += 1;
    }

    /// Counts the launch of a job whose processes all run.
    pub(in crate::head) fn on_running(&mut self, job: &Job, now: Timestamp) {
        let submitted = job.states.iter().find(|(state, _)| *state == JobState::Init);
        let took = submitted.map_or(0, |(_, at)| now.0.saturating_sub(at.0));
        self.jobs_started += 1;
        self.procs_started += job.procs.len() as u64;
        self.launch_sum_us += took;
        match LIMITS_US.iter().position(|limit| took <= *limit) {
            Some(bucket) => self.launch[bucket] += 1,
            None => self.slower += 1,
        }
    }
}

impl Head {
    pub(super) fn metrics(&self, now: Timestamp) -> Metrics {
        let counters = &self.counters;
        Metrics {
            status: self.status(now),
            jobs_submitted: counters.jobs_submitted,
            jobs_started: counters.jobs_started,
            procs_started: counters.procs_started,
            launch: Histogram {
                buckets: LIMITS_US.into_iter().zip(counters.launch).collect(),
                above: counters.slower,
                sum_us: counters.launch_sum_us,
            },
            output_bytes: counters.output_bytes,
            stdin_bytes: counters.stdin_bytes,
            xcasts: counters.xcasts,
            daemons_lost: counters.daemons_lost,
            repairs: counters.repairs,
            rejoins: counters.rejoins,
            grows: counters.grows,
            grows_failed: counters.grows_failed,
            shrinks: counters.shrinks,
        }
    }
}
