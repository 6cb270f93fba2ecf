//! Timers, named by their purpose. Setting one again moves it; one that fires is gone.

use ferrite_types::{CampaignId, JobId, ProcId, SessionId};
use ferrite_wire::Stream;

use crate::PmixToken;

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A timer of the links, at every process of the DVM.
    Link(LinkTimer),
    /// A timer of the head.
    Head(HeadTimer),
    /// A timer of a daemon, also on the head's node.
    Daemon(DaemonTimer),
}

/// Timers of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkTimer {
    /// The deadline of children that leave.
    Leavers,
    /// The next heartbeats are due, and silent links are checked.
    Heartbeat,
    /// The next probe of a daemon that owes an acknowledgement.
    Probe,
    /// At the head: the next question to daemons that have not confirmed a spread.
    Spreads,
}

/// Timers of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeadTimer {
    /// The deadline of the daemons of the first campaign to report.
    BringUp,
    /// The next line about the first campaign.
    Progress,
    /// The deadline of a campaign.
    Campaign(CampaignId),
    /// The warning or the time limit of a session.
    Session(SessionId),
    /// The end of a mapped job's wait before the launch (`ferrite_debug_prep_ms`).
    Prep(JobId),
    /// `--timeout` of a job.
    JobTimeout(JobId),
    /// `--spawn-timeout` of a job.
    SpawnTimeout(JobId),
    /// The limit for the stacks of the processes of a job whose time is over.
    Stacks(JobId),
    /// The limit of a parked lookup, by its number.
    Lookup(u64),
    /// The limit of the attempt of this number to make a group whose members do not know each other.
    Assembly(u64),
    /// The next look at who pulls the output of a job and has not taken what waits.
    Pulls(JobId),
    /// The limit for the daemons of debuggers that a DVM for one job, which is over, still waits for.
    Companions,
    /// The common declaration of recently lost daemons as dead.
    Deaths,
    /// The next look of the policy at the elastic jobs.
    Policy,
    /// The next question about the ends of the manager's jobs, or such an end.
    Deadlines,
}

/// Timers of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DaemonTimer {
    /// The deadline for clients to read their last words before this daemon leaves.
    LastWords,
    /// The end of the grace period of processes before this daemon leaves.
    Grace,
    /// The deadline of a bootstrapping daemon's wireup.
    Wireup,
    /// The deadline for an ended process's last data in the library, by the number of the request.
    LastData(u64),
    /// The limit that the callers of an upcall have given.
    CallLimit(PmixToken),
    /// The deadline for the answer of a log, by the number of the question.
    Log(u64),
    /// The deadline of the head's word whether a SIGTERM of the manager means the end.
    Word,
    /// The next step of a job's kill sequence.
    KillStep(JobId),
    /// The next step against processes of a job that were ordered to end while others go on.
    RetireStep(JobId),
    /// The end of the time that a failed process's descendants have.
    Descendants(ProcId),
    /// The wait of an unfinished line.
    PartialLine(ProcId, Stream),
    /// The deadline of this daemon's departure.
    Departure,
    /// The next round of calls in the search for an uplink.
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
