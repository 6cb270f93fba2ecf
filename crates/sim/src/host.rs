//! One virtual machine with a daemon: the real state machine and its environment.

use std::collections::{BTreeMap, VecDeque};

use ferrite_core::{Lane, Node, Timer};
use ferrite_types::{DaemonRank, ProcId, Timestamp};

use crate::event::Event;
use crate::network::LinkId;
use crate::pmix::PmixSide;
use crate::process::Process;
use crate::queue::Time;

/// A living daemon.
pub(crate) struct Host {
    pub(crate) node: Node,
    /// The daemon's clock at the world's time zero, different for each daemon.
    pub(crate) skew: Time,
    /// Links as the daemon knows them.
    pub(crate) links: BTreeMap<DaemonRank, LinkId>,
    pub(crate) lanes: BTreeMap<Lane, LinkId>,
    /// Timers that are set, each with the number of its setting.
    pub(crate) timers: BTreeMap<Timer, u64>,
    pub(crate) procs: BTreeMap<ProcId, Process>,
    pub(crate) pmix: PmixSide,
    /// The earliest time of the next PMIx upcall: upcalls come in order.
    pub(crate) pmix_last: Time,
    /// The earliest time of the next output: output leaves in order.
    pub(crate) sink_last: Time,
    /// The time of the last event of the disk.
    pub(crate) disk_last: Time,
    /// Events that have arrived while it is paused.
    pub(crate) stopped: Option<VecDeque<Event>>,
    /// True once it is detached from its launcher.
    pub(crate) detached: bool,
    /// The exit code, once it has asked to end; no event reaches it any more.
    pub(crate) exiting: Option<u8>,
}

impl Host {
    pub(crate) fn new(node: Node, skew: Time) -> Host {
        Host {
            node,
            skew,
            links: BTreeMap::new(),
            lanes: BTreeMap::new(),
            timers: BTreeMap::new(),
            procs: BTreeMap::new(),
            pmix: PmixSide::default(),
            pmix_last: 0,
            sink_last: 0,
            disk_last: 0,
            stopped: None,
            detached: false,
            exiting: None,
        }
    }

    /// Returns the daemon's time at a time of the world.
    pub(crate) fn clock(&self, now: Time) -> Timestamp {
        Timestamp(now + self.skew)
    }

    /// Returns the world's time at a time of the daemon.
    pub(crate) fn world_time(&self, at: Timestamp) -> Time {
        at.0.saturating_sub(self.skew)
    }

    /// Running processes that the daemon knows to run.
    pub(crate) fn running_procs(&self, rank: DaemonRank) -> impl Iterator<Item = (DaemonRank, ProcId)> + '_ {
        let runs = |process: &Process| process.ended.is_none() && !process.unborn;
        self.procs.iter().filter(move |(_, process)| runs(process)).map(move |(proc, _)| (rank, *proc))
    }

    /// Processes that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.procs.values().filter(|p| p.ended.is_none()).count()
    }
}
