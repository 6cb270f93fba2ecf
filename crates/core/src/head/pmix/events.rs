//! Events of processes, tools and the DVM: the head addresses each of them once, to the daemons that belong to the DVM
//! at that moment. So every event reaches all of its addressees or none, and the events of one source keep their order.

use ferrite_types::{DaemonRank, ProcId, RankSet};
use ferrite_wire::{DaemonMessage, Dest, EventRange, EventSource, Members, PmixEvent};

use crate::cx::Cx;
use crate::daemon::participants;
use crate::head::Head;
use crate::head::counters::{Counted, Late};

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
        let mut daemons = self.daemons_in(&range);
        daemons.remove(origin);
        self.send_event(event, range, &daemons, cx);
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
            self.raise(PmixEvent { source: EventSource::Dvm, ..event }, range, cx);
        } else {
            self.counters.count(Counted::Late(Late::Event));
        }
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
        let hosts = |members: &Members| participants(members, |job| self.jobs.get(job).map(|job| job.map().as_ref()));
        match range {
            EventRange::Job(job) => hosts(&Members::of(*job, Vec::new())).unwrap_or_default(),
            EventRange::Named { procs, tools } if tools.is_empty() => {
                let mut all = RankSet::new();
                for (job, ranks) in procs {
                    hosts(&Members::of(*job, ranks.clone())).iter().for_each(|some| all.insert_all(some));
                }
                all
            }
            EventRange::Everyone | EventRange::Named { .. } => self.pool.up().filter_map(|node| node.daemon).collect(),
        }
    }
}
