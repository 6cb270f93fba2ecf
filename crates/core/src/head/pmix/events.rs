//! Events of processes, tools and the DVM: the head addresses each of them once, to the daemons that belong to the DVM
//! at that moment. So every event reaches all of its addressees or none, and the events of one source keep their order.

use ferrite_types::{DaemonRank, ProcId, RankSet, SessionId};
use ferrite_wire::control::Reply;
use ferrite_wire::{DaemonMessage, Dest, EventRange, EventSource, Members, PmixEvent};

use crate::cx::Cx;
use crate::daemon::participants;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::head::jobs::Job;

impl Head {
    /// Addresses an event that a process or a tool of that daemon has raised (spec L60). The library there has told its
    /// own node. Another source is not believed (spec L61).
    pub(in crate::head) fn on_event(&mut self, origin: DaemonRank, event: PmixEvent, range: EventRange, cx: &mut Cx) {
        let is_of_origin = match &event.source {
            EventSource::Dvm => false,
            // The last event of a process may come after the end of its job.
            EventSource::Proc(proc) => {
                self.jobs.get(proc.job).is_none_or(|job| job.map().daemon_of(proc.rank) == Some(origin))
            }
            EventSource::Tool(_) => true,
        };
        if !is_of_origin {
            return self.counters.count(Counted::Late(Late::Event));
        }
        let range = self.resolved(range, &event.source);
        let mut daemons = self.daemons_in(&range);
        daemons.remove(origin);
        self.send_event(event, range, &daemons, cx);
    }

    /// Addresses an event of a tool that no daemon knows: it directs a client (spec L143).
    pub(in crate::head) fn raise_of_tool(&mut self, event: PmixEvent, range: EventRange, cx: &mut Cx) -> Reply {
        if !matches!(event.source, EventSource::Tool(_)) {
            return Reply::Refused("A client raises events of PMIx tools only.".to_owned());
        }
        let range = self.resolved(range, &event.source);
        self.raise(event, range, cx);
        Reply::Ordered
    }

    /// Raises an alert that a process of that daemon has asked for, as an event of the DVM: the process hears it too
    /// (spec L137).
    pub(in crate::head) fn on_alert(
        &mut self,
        origin: DaemonRank,
        proc: ProcId,
        event: PmixEvent,
        range: EventRange,
        cx: &mut Cx,
    ) {
        if self.jobs.get(proc.job).is_some_and(|job| job.map().daemon_of(proc.rank) == Some(origin)) {
            let range = self.resolved(range, &EventSource::Proc(proc));
            self.raise(PmixEvent { source: EventSource::Dvm, ..event }, range, cx);
        } else {
            self.counters.count(Counted::Late(Late::Event));
        }
    }

    /// Names the addressees of an event for the session of its source. Tools, and jobs of no other session, are in that
    /// of the DVM (spec L142).
    fn resolved(&self, range: EventRange, source: &EventSource) -> EventRange {
        if range != EventRange::Session {
            return range;
        }
        let session = match source {
            EventSource::Proc(proc) => self.jobs.get(proc.job).map(Job::session),
            EventSource::Tool(_) | EventSource::Dvm => Some(SessionId::DVM),
        };
        let jobs = session.map(|session| self.jobs.in_session(session)).unwrap_or_default();
        EventRange::Jobs { jobs, tools: session == Some(SessionId::DVM) }
    }

    /// Raises an event of the DVM itself.
    pub(in crate::head) fn raise(&mut self, event: PmixEvent, range: EventRange, cx: &mut Cx) {
        let daemons = self.daemons_in(&range);
        self.send_event(event, range, &daemons, cx);
    }

    fn send_event(&mut self, event: PmixEvent, range: EventRange, daemons: &RankSet, cx: &mut Cx) {
        let there = self.pool.reachable(daemons);
        if !there.is_empty() {
            cx.multicast(Dest::Many(there), DaemonMessage::Event { event: Box::new(event), range });
        }
    }

    /// The daemons of the addressees. A tool may be anywhere, and only its daemon knows it.
    fn daemons_in(&self, range: &EventRange) -> RankSet {
        match range {
            EventRange::Session => RankSet::new(),
            EventRange::Job(job) => self.hosts_of([Members::of(*job, Vec::new())]),
            EventRange::Jobs { jobs, tools: false } => {
                self.hosts_of(jobs.iter().map(|job| Members::of(*job, Vec::new())))
            }
            EventRange::Named { procs, tools } if tools.is_empty() => {
                self.hosts_of(procs.iter().map(|(job, ranks)| Members::of(*job, ranks.clone())))
            }
            EventRange::Everyone | EventRange::Jobs { .. } | EventRange::Named { .. } => {
                self.pool.up().filter_map(|node| node.daemon).collect()
            }
        }
    }

    fn hosts_of(&self, all: impl IntoIterator<Item = Members>) -> RankSet {
        let mut daemons = RankSet::new();
        for members in all {
            let hosts = participants(&members, |job| self.jobs.get(job).map(|job| job.map().as_ref()));
            hosts.iter().for_each(|some| daemons.insert_all(some));
        }
        daemons
    }
}
