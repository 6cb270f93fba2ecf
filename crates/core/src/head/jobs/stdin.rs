//! Standard input of the submitter for the ranks that read it, with a window per daemon: the slowest reader limits
//! the rate.

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_types::{DaemonRank, JobId, RankSet, StdinTarget};
use ferrite_wire::{DaemonMessage, Dest, StdinDest};

use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::{Effect, RequestId};

/// The size of one read (bytes).
const READ_LIMIT: usize = 128 * 1024;
/// The window of input to one daemon (bytes).
const WINDOW: u64 = 2 << 20;

/// The flow of input to one job.
#[derive(Debug, Default)]
pub(super) struct Pump {
    /// Bytes on their way to each daemon with readers.
    on_the_way: BTreeMap<DaemonRank, u64>,
    /// True while a read is outstanding.
    reading: bool,
    active: bool,
}

impl Pump {
    pub(super) fn stop(&mut self) {
        self.active = false;
    }

    /// Drops a daemon that is gone, so that it holds up no other.
    pub(super) fn forget(&mut self, daemon: DaemonRank) {
        self.on_the_way.remove(&daemon);
        self.active &= !self.on_the_way.is_empty();
    }

    fn may_read(&self) -> bool {
        self.active && !self.reading && self.on_the_way.values().all(|bytes| *bytes < WINDOW)
    }

    fn daemons(&self) -> RankSet {
        self.on_the_way.keys().copied().collect()
    }
}

impl Head {
    /// Starts the input of a job that runs. A job without a submitter has none: its readers get the end of input at
    /// once, because they would wait for ever.
    pub(super) fn start_stdin(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let readers = match job.spec.stdin {
            StdinTarget::None => RankSet::new(),
            StdinTarget::All => job.map().daemons(),
            StdinTarget::Rank(rank) => job.map().daemon_of(rank).into_iter().collect(),
        };
        let has_submitter = job.request.is_some();
        let launch = job.launch_mut().expect("only a job that runs gets input");
        launch.stdin.on_the_way = readers.iter().map(|daemon| (daemon, 0)).collect();
        launch.stdin.active = !readers.is_empty();
        if !has_submitter && launch.stdin.active {
            return self.give(id, Bytes::new(), cx);
        }
        self.pump(id, cx);
    }

    fn pump(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let request = job.request;
        let pump = job.launch_mut().map(|launch| &mut launch.stdin).filter(|pump| pump.may_read());
        if let (Some(request), Some(pump)) = (request, pump) {
            pump.reading = true;
            cx.effect(Effect::ReadStdin { request, limit: READ_LIMIT });
        }
    }

    pub(in crate::head) fn on_stdin(&mut self, request: RequestId, data: Bytes, cx: &mut Cx) {
        let id = self.jobs.of_submission(request);
        let reads = |id: &JobId| self.jobs.get(*id).and_then(Job::launch).is_some_and(|launch| launch.stdin.reading);
        if let Some(id) = id.filter(reads) {
            self.give(id, data, cx);
        }
    }

    /// Hands input to a job's readers; empty data mean the end of input.
    fn give(&mut self, id: JobId, data: Bytes, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let target = job.spec.stdin;
        let pump = &mut job.launch_mut().expect("only a job that runs gets input").stdin;
        self.counters.count(Counted::Stdin(data.len()));
        pump.reading = false;
        let dest = match target {
            StdinTarget::Rank(rank) => StdinDest::Rank(rank),
            StdinTarget::All => StdinDest::All,
            StdinTarget::None => return,
        };
        for bytes in pump.on_the_way.values_mut() {
            *bytes += data.len() as u64;
        }
        pump.active &= !data.is_empty();
        let daemons = Dest::Many(pump.daemons());
        cx.multicast(daemons, DaemonMessage::Stdin { job: id, dest, data });
        self.pump(id, cx);
    }

    pub(in crate::head) fn on_stdin_credit(&mut self, daemon: DaemonRank, id: JobId, bytes: u64, cx: &mut Cx) {
        let Some(launch) = self.jobs.get_mut(id).and_then(Job::launch_mut) else {
            return self.counters.count(Counted::Late(Late::Credit));
        };
        if let Some(on_the_way) = launch.stdin.on_the_way.get_mut(&daemon) {
            *on_the_way = on_the_way.saturating_sub(bytes);
        }
        self.pump(id, cx);
    }
}
