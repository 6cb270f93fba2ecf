//! Timers by purpose. Setting one again moves it; one that fires is gone.

use ferrite_types::{CampaignId, JobId, ProcId};
use ferrite_wire::Stream;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Of the links, at every process of the DVM.
    Link(LinkTimer),
    /// Of the head.
    Head(HeadTimer),
    /// Of a daemon, that of the head's node included.
    Daemon(DaemonTimer),
}

/// Timers of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkTimer {
    /// Children that are to leave have had their time.
    Leavers,
    /// Signs of life are due, and are looked for.
    Heartbeat,
    /// Somebody has been silent about messages for too long.
    Probe,
}

/// Timers of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeadTimer {
    /// The daemons of a campaign must have reported.
    BringUp,
    /// A campaign must have ended.
    Campaign(CampaignId),
    /// A session is to be warned, or has reached its time limit.
    Session(u32),
    /// A mapped job has waited long enough (`ferrite_debug_prep_ms`).
    Prep(JobId),
    /// `--timeout` of a job.
    JobTimeout(JobId),
    /// `--spawn-timeout` of a job.
    SpawnTimeout(JobId),
    /// The limit of a lookup that waits, by its number.
    Lookup(u64),
    /// Daemons that were lost meanwhile are declared dead together.
    Deaths,
}

/// Timers of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DaemonTimer {
    /// Clients have had their time to read the last that is for them, before this daemon leaves.
    LastWords,
    /// Processes have had their time to end by themselves before this daemon leaves.
    Grace,
    /// A bootstrapping daemon must be wired up.
    Wireup,
    /// The library has had its time to find what a process that is over has left, by the number of the request.
    LastData(u64),
    /// The next step of a job's kill sequence.
    KillStep(JobId),
    /// An unfinished line has waited long enough.
    PartialLine(ProcId, Stream),
    /// Departure takes too long; go without the laggards.
    Departure,
    /// The next round of calls for somebody to hang on.
    Rejoin,
}

impl From<LinkTimer> for Timer {
    fn from(timer: LinkTimer) -> Timer {
        Timer::Link(timer)
    }
}

impl From<HeadTimer> for Timer {
    fn from(timer: HeadTimer) -> Timer {
        Timer::Head(timer)
    }
}

impl From<DaemonTimer> for Timer {
    fn from(timer: DaemonTimer) -> Timer {
        Timer::Daemon(timer)
    }
}
