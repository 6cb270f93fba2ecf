//! Standard input for the ranks that read it, from the submitter or from a client that feeds the job, with a window per
//! daemon: the slowest reader limits the rate.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use ferrite_types::{DaemonRank, JobId, Rank, RankSet, StdinTarget};
use ferrite_wire::control::Reply;
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
/// The largest number of clients that feed a job or wait for their turn.
const MOST_FEEDERS: usize = 256;

/// The flow of input to one job.
#[derive(Debug, Default)]
pub(super) struct Pump {
    /// Bytes on their way to each daemon with readers.
    on_the_way: BTreeMap<DaemonRank, u64>,
    /// True while a read is outstanding.
    reading: bool,
    /// True when the readers run.
    started: bool,
    /// True when the end of input was given, or no reader is left.
    ended: bool,
}

impl Pump {
    pub(super) fn stop(&mut self) {
        self.ended = true;
    }

    /// Drops a daemon that is gone, so that it holds up no other.
    pub(super) fn forget(&mut self, daemon: DaemonRank) {
        self.on_the_way.remove(&daemon);
        self.ended |= self.started && self.on_the_way.is_empty();
    }

    fn may_read(&self) -> bool {
        self.started && !self.ended && !self.reading && self.on_the_way.values().all(|bytes| *bytes < WINDOW)
    }

    fn daemons(&self) -> RankSet {
        self.on_the_way.keys().copied().collect()
    }
}

/// The clients that feed jobs whose standard input is nobody's (spec L146): the first of each job feeds it, and the
/// others wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Feeds {
    of: BTreeMap<JobId, VecDeque<RequestId>>,
    /// The job of each.
    jobs: BTreeMap<RequestId, JobId>,
}

impl Feeds {
    /// Adds a client; false when too many wait.
    fn add(&mut self, request: RequestId, job: JobId) -> bool {
        let clients = self.of.entry(job).or_default();
        let has_room = clients.len() < MOST_FEEDERS;
        if has_room {
            clients.push_back(request);
            self.jobs.insert(request, job);
        }
        has_room
    }

    /// The client that feeds a job.
    fn current(&self, job: JobId) -> Option<RequestId> {
        self.of.get(&job).and_then(VecDeque::front).copied()
    }

    /// The job that a client feeds now.
    fn fed_by(&self, request: RequestId) -> Option<JobId> {
        self.jobs.get(&request).copied().filter(|job| self.current(*job) == Some(request))
    }

    /// Forgets a client; returns its job if it fed it.
    fn remove(&mut self, request: RequestId) -> Option<JobId> {
        let fed = self.fed_by(request);
        let clients = self.jobs.remove(&request).and_then(|job| self.of.get_mut(&job));
        clients.into_iter().for_each(|clients| clients.retain(|client| *client != request));
        fed
    }

    /// Ends the feeding of a job; returns the clients, the one that fed it first.
    fn end(&mut self, job: JobId) -> VecDeque<RequestId> {
        let clients = self.of.remove(&job).unwrap_or_default();
        for request in &clients {
            self.jobs.remove(request);
        }
        clients
    }
}

impl Head {
    /// Lets a client feed a job whose standard input is nobody's (spec L146). Its pieces go to all readers, so that it
    /// names those or none.
    pub(in crate::head) fn on_feed(&mut self, request: RequestId, id: JobId, ranks: &[Rank], cx: &mut Cx) {
        let Some(job) = self.jobs.get(id) else {
            let refusal = self.no_such_job(id);
            return cx.reply(request, refusal);
        };
        let refusal = if job.spec.stdin == Some(StdinTarget::None) {
            Some(format!(
                "Job {id} has no standard input: it was neither submitted with --detach and --stdin, nor spawned with \
                 PMIX_STDIN_TGT."
            ))
        } else if !job.is_fed() {
            Some(format!("The standard input of job {id} is that of its submitter."))
        } else if job.launch().is_some_and(|launch| launch.stdin.ended) {
            Some(format!("The standard input of job {id} has ended already."))
        } else if let Some(readers) = job.spec.stdin.filter(|readers| !readers.is_for(ranks)) {
            let who = match readers {
                StdinTarget::Rank(rank) => format!("rank {rank} alone"),
                StdinTarget::All | StdinTarget::None => "all of its ranks alike".to_owned(),
            };
            Some(format!("The standard input of job {id} is read by {who}."))
        } else if !self.jobs.feeds.add(request, id) {
            Some(format!("{MOST_FEEDERS} clients feed job {id} or wait for that already."))
        } else {
            None
        };
        if let Some(text) = refusal {
            return cx.reply(request, Reply::Refused(text));
        }
        cx.effect(Effect::Launched { request, result: Ok(()) });
        self.pump(id, cx);
    }

    /// Forgets a client that feeds a job. The input stays open for the next one.
    pub(in crate::head) fn forget_feed(&mut self, request: RequestId, cx: &mut Cx) {
        let Some(id) = self.jobs.feeds.remove(request) else { return };
        if let Some(launch) = self.jobs.get_mut(id).and_then(Job::launch_mut) {
            launch.stdin.reading = false;
            self.pump(id, cx);
        }
    }

    /// Tells the clients that feed a job that it is over (spec L146).
    pub(super) fn end_feed(&mut self, id: JobId, cx: &mut Cx) {
        for request in self.jobs.feeds.end(id) {
            let text = format!("Job {id} is over, and has not taken all of the input.");
            cx.reply(request, Reply::Refused(text));
        }
    }

    /// Starts the input of a job that runs.
    pub(super) fn start_stdin(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let readers = match job.spec.stdin {
            Some(StdinTarget::All) => job.map().daemons(),
            Some(StdinTarget::Rank(rank)) => job.map().daemon_of(rank).into_iter().collect(),
            Some(StdinTarget::None) | None => RankSet::new(),
        };
        let pump = &mut job.launch_mut().expect("only a job that runs gets input").stdin;
        pump.on_the_way = readers.iter().map(|daemon| (daemon, 0)).collect();
        pump.started = true;
        pump.ended |= readers.is_empty();
        self.pump(id, cx);
    }

    fn pump(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let source = if job.is_fed() { self.jobs.feeds.current(id) } else { job.request };
        let pump = self.jobs.at_mut(id).launch_mut().map(|launch| &mut launch.stdin).filter(|pump| pump.may_read());
        if let (Some(request), Some(pump)) = (source, pump) {
            pump.reading = true;
            cx.effect(Effect::ReadStdin { request, limit: READ_LIMIT });
        }
    }

    pub(in crate::head) fn on_stdin(&mut self, request: RequestId, data: Bytes, cx: &mut Cx) {
        let id = self.jobs.feeds.fed_by(request).or_else(|| self.jobs.of_submission(request));
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
            Some(StdinTarget::Rank(rank)) => StdinDest::Rank(rank),
            Some(StdinTarget::All) => StdinDest::All,
            Some(StdinTarget::None) | None => return,
        };
        for bytes in pump.on_the_way.values_mut() {
            *bytes += data.len() as u64;
        }
        let is_end = data.is_empty();
        pump.ended |= is_end;
        let daemons = Dest::Many(pump.daemons());
        cx.multicast(daemons, DaemonMessage::Stdin { job: id, dest, data });
        if is_end {
            let mut clients = self.jobs.feeds.end(id).into_iter();
            clients.next().into_iter().for_each(|request| cx.reply(request, Reply::Ordered));
            for request in clients {
                cx.reply(request, Reply::Refused(format!("The standard input of job {id} has ended already.")));
            }
        }
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
