//! Timers by purpose. Setting one again moves it; one that fires is gone.

use ferrite_types::{CampaignId, JobId, ProcId};
use ferrite_wire::Stream;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Head: the daemons of a campaign must have reported.
    BringUp,
    /// Head: a campaign must have ended.
    Campaign(CampaignId),
    /// Head: a session is to be warned, or has reached its time limit.
    Session(u32),
    /// Head: a mapped job has waited long enough (`ferrite_debug_prep_ms`).
    Prep(JobId),
    /// Daemon: processes have had their time to end by themselves before this daemon leaves.
    Grace,
    /// Both: children that are to leave have had their time.
    Leavers,
    /// Daemon: a bootstrapping daemon must be wired up.
    Wireup,
    /// Head: `--timeout` of a job.
    JobTimeout(JobId),
    /// Head: `--spawn-timeout` of a job.
    SpawnTimeout(JobId),
    /// Head: the limit of a lookup that waits, by its number.
    Lookup(u64),
    /// Daemon: the library has had its time to find what a process that is over has left, by the number of the request.
    LastData(u64),
    /// Daemon: the next step of a job's kill sequence.
    KillStep(JobId),
    /// Daemon: an unfinished line has waited long enough.
    PartialLine(ProcId, Stream),
    /// Both: departure takes too long; go without the laggards.
    Departure,
    /// Head: daemons that were lost meanwhile are declared dead together.
    Deaths,
    /// Daemon: the next round of calls for somebody to hang on.
    Rejoin,
    /// Both: signs of life are due, and are looked for.
    Heartbeat,
    /// Both: somebody has been silent about messages for too long.
    Probe,
}
