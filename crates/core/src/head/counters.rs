//! Counters of the head for monitoring: totals that only grow, and a histogram of launch times. Every wing counts
//! its events here; no wing reads them.

use std::collections::BTreeMap;

use ferrite_types::CampaignKind;
use ferrite_wire::control::{DvmStatus, Histogram, Metrics};

/// Upper limits of the histogram's buckets of launch times (microseconds).
const LIMITS_US: [u64; 16] = [
    500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000,
];

/// An event that the metrics count.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
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
    /// A message of a daemon has come about something that is over.
    Late(Late),
    /// All daemons have repaired the tree.
    Repair,
    /// A daemon has found a place in the tree again.
    Rejoin,
    /// A campaign has ended.
    Campaign { kind: CampaignKind, failed: bool },
}

/// The kinds of messages that may come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Late {
    /// A daemon has attempted to start its processes.
    Launch,
    /// All processes of a daemon have called init, or wait for a debugger.
    Init,
    /// Processes have ended.
    End,
    /// A process has called abort.
    Abort,
    /// Output of a process.
    Output,
    /// Room for more input.
    Credit,
    /// A part of a collective, or its failure.
    Collective,
    /// A call of the data server.
    Data,
    /// An event of a process that is gone.
    Event,
    /// A piece of files that a job brings along, or word that it is written.
    Preload,
    /// Stacks of processes.
    Stack,
}

impl Late {
    fn name(self) -> &'static str {
        match self {
            Late::Launch => "launch",
            Late::Init => "init",
            Late::End => "end",
            Late::Abort => "abort",
            Late::Output => "output",
            Late::Credit => "credit",
            Late::Collective => "collective",
            Late::Data => "data",
            Late::Event => "event",
            Late::Preload => "preload",
            Late::Stack => "stack",
        }
    }
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
    late: BTreeMap<Late, u64>,
    grows: u64,
    grows_failed: u64,
    shrinks: u64,
}

impl Counters {
    /// Counts an event.
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
            Counted::Late(kind) => *self.late.entry(kind).or_default() += 1,
            Counted::Repair => self.repairs += 1,
            Counted::Rejoin => self.rejoins += 1,
            Counted::Campaign { kind: CampaignKind::Grow, failed: false } => self.grows += 1,
            Counted::Campaign { kind: CampaignKind::Grow, failed: true } => self.grows_failed += 1,
            Counted::Campaign { kind: CampaignKind::Shrink, failed: _ } => self.shrinks += 1,
        }
    }

    fn late_messages(&self) -> Vec<(String, u64)> {
        self.late.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect()
    }

    /// The metrics beside the status of the DVM.
    pub(super) fn beside(&self, status: DvmStatus) -> Metrics {
        Metrics {
            status,
            jobs_submitted: self.jobs_submitted,
            jobs_started: self.jobs_started,
            procs_started: self.procs_started,
            launch: Histogram {
                buckets: LIMITS_US.into_iter().zip(self.launch).collect(),
                above: self.slower,
                sum_us: self.launch_sum_us,
            },
            output_bytes: self.output_bytes,
            stdin_bytes: self.stdin_bytes,
            xcasts: self.xcasts,
            daemons_lost: self.daemons_lost,
            repairs: self.repairs,
            rejoins: self.rejoins,
            late_messages: self.late_messages(),
            grows: self.grows,
            grows_failed: self.grows_failed,
            shrinks: self.shrinks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_messages_are_counted_by_their_kind() {
        let mut counters = Counters::default();
        [Late::Output, Late::Abort, Late::Output].into_iter().for_each(|kind| counters.count(Counted::Late(kind)));
        assert_eq!(counters.late_messages(), [("abort".to_owned(), 1), ("output".to_owned(), 2)]);
    }
}
