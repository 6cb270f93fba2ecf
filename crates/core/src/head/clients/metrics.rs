//! Counters of the head for monitoring: totals that only grow, and a histogram of launch times.

use ferrite_types::{CampaignKind, Timestamp};
use ferrite_wire::control::{Histogram, Metrics};

use crate::head::Head;

/// Upper limits of the histogram's buckets of launch times (microseconds).
const LIMITS_US: [u64; 16] = [
    500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000,
];

/// An event that the metrics count.
#[derive(Clone, Copy, Debug)]
pub(in crate::head) enum Counted {
    /// A submission has become a job.
    Submitted,
    /// So many processes of a job run, this long after its submission (microseconds).
    Running { procs: usize, took_us: u64 },
    /// Bytes of output have come from a process.
    Output(usize),
    /// Bytes of input go to a job.
    Stdin(usize),
    /// A message goes to all daemons, who acknowledge it.
    Xcast,
    /// So many daemons were declared dead.
    DaemonsLost(usize),
    /// All daemons have repaired the tree.
    Repair,
    /// A daemon has found a place in the tree again.
    Rejoin,
    /// A campaign has ended.
    Campaign { kind: CampaignKind, failed: bool },
}

/// The totals and the histogram of launch times.
#[derive(Debug, Default)]
pub(super) struct Counters {
    jobs_submitted: u64,
    jobs_started: u64,
    procs_started: u64,
    launch: [u64; LIMITS_US.len()],
    slower: u64,
    launch_sum_us: u64,
    output_bytes: u64,
    stdin_bytes: u64,
    xcasts: u64,
    daemons_lost: u64,
    repairs: u64,
    rejoins: u64,
    grows: u64,
    grows_failed: u64,
    shrinks: u64,
}

impl Counters {
    pub(super) fn count(&mut self, event: Counted) {
        match event {
            Counted::Submitted => self.jobs_submitted += 1,
            Counted::Running { procs, took_us } => {
                self.jobs_started += 1;
                self.procs_started += procs as u64;
                self.launch_sum_us += took_us;
                match LIMITS_US.iter().position(|limit| took_us <= *limit) {
                    Some(bucket) => self.launch[bucket] += 1,
                    None => self.slower += 1,
                }
            }
            Counted::Output(bytes) => self.output_bytes += bytes as u64,
            Counted::Stdin(bytes) => self.stdin_bytes += bytes as u64,
            Counted::Xcast => self.xcasts += 1,
            Counted::DaemonsLost(daemons) => self.daemons_lost += daemons as u64,
            Counted::Repair => self.repairs += 1,
            Counted::Rejoin => self.rejoins += 1,
            Counted::Campaign { kind: CampaignKind::Grow, failed: false } => self.grows += 1,
            Counted::Campaign { kind: CampaignKind::Grow, failed: true } => self.grows_failed += 1,
            Counted::Campaign { kind: CampaignKind::Shrink, failed: _ } => self.shrinks += 1,
        }
    }
}

impl Head {
    pub(super) fn metrics(&self, now: Timestamp) -> Metrics {
        let counters = &self.clients.counters;
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
