//! Carries faults out: their effects on daemons and on the network.
//!
//! The world calls it when a fault of the scenario is due, and when one is over.

use std::collections::VecDeque;

use ferrite_types::DaemonRank;

use crate::event::Event;
use crate::fault::Fault;
use crate::invariants::Observation;
use crate::network::LinkId;
use crate::queue::Time;
use crate::world::{Gone, World};

/// Isolated daemons, and the events that wait for the end of their isolation.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    isolated: Vec<DaemonRank>,
    /// The events in the order of arrival, so that none overtakes another on its link.
    held: VecDeque<Event>,
}

impl World {
    pub(crate) fn on_fault(&mut self, fault: Fault) {
        let now = self.queue.now();
        self.record(format_args!("{now} fault: {fault:?}"));
        self.observe(&Observation::Fault { at: now, fault: &fault });
        match fault {
            Fault::CutLink => {
                let live: Vec<_> = self.network.live().collect();
                if !live.is_empty() {
                    let (id, ends) = *self.rng.pick(&live);
                    let told = self.network.cut(now, id);
                    self.cut(id, ends, told);
                }
            }
            Fault::CutUplink(rank) => {
                if let Some((id, ends)) = self.uplink(rank) {
                    let told = self.network.cut_at_once(now, id);
                    self.cut(id, ends, told);
                }
            }
            Fault::Crash(rank) => self.bury(rank, Gone::Crash),
            Fault::Pause(rank, time) => self.pause(rank, time),
            Fault::Isolate(rank, time) => self.isolate(rank, time),
            Fault::SlowUplink(rank, delay, time) => self.network.slow_down(rank, delay, now + time),
        }
    }

    /// Returns the link to a daemon's uplink: a neighbour of lower rank. Of two such links the daemon is about to close
    /// the older one.
    fn uplink(&self, rank: DaemonRank) -> Option<(LinkId, [DaemonRank; 2])> {
        let links = &self.hosts.get(&rank)?.links;
        let above = links.iter().filter(|(peer, _)| **peer < rank);
        above.max_by_key(|(_, id)| **id).map(|(peer, id)| (*id, [rank, *peer]))
    }

    fn cut(&mut self, id: LinkId, [a, b]: [DaemonRank; 2], told: Vec<(DaemonRank, Time)>) {
        let now = self.queue.now();
        self.record(format_args!("{now} cut: {a} - {b}"));
        if !self.lanes.contains_key(&id) {
            self.observe(&Observation::Cut { ends: [a, b] });
        }
        for (end, at) in told {
            let peer = if end == a { b } else { a };
            self.queue.at(at, Event::LinkDown { at: end, peer, id, cause: "connection timed out" });
        }
    }

    fn pause(&mut self, rank: DaemonRank, time: Time) {
        if let Some(host) = self.hosts.get_mut(&rank)
            && host.stopped.is_none()
        {
            host.stopped = Some(VecDeque::new());
            self.queue.after(time, Event::Resume(rank));
        }
    }

    pub(crate) fn resume(&mut self, rank: DaemonRank) {
        let waiting = self.hosts.get_mut(&rank).and_then(|h| h.stopped.take());
        // These events had arrived before the pause, so the network cannot hold them up.
        for event in waiting.unwrap_or_default() {
            self.act(event);
        }
    }

    fn isolate(&mut self, rank: DaemonRank, time: Time) {
        if !self.partition.isolated.contains(&rank) {
            self.partition.isolated.push(rank);
            self.queue.after(time, Event::Heal(rank));
        }
    }

    /// Ends an isolation: held events go on in their order, except those that another isolation holds up.
    pub(crate) fn heal(&mut self, rank: DaemonRank) {
        self.partition.isolated.retain(|r| *r != rank);
        for event in std::mem::take(&mut self.partition.held) {
            self.happen(event);
        }
    }

    /// True when no frame passes between these two now.
    pub(crate) fn is_parted(&self, ends: [DaemonRank; 2]) -> bool {
        self.partition.isolated.iter().any(|rank| ends.contains(rank))
    }

    /// Keeps an event that a partition holds up; returns any other.
    pub(crate) fn hold_up(&mut self, event: Event) -> Option<Event> {
        if event.passes().is_some_and(|ends| self.is_parted(ends)) {
            self.watch_deadline(&event);
            self.partition.held.push_back(event);
            return None;
        }
        Some(event)
    }
}
