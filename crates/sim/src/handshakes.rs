//! Accepted calls whose callers wait for the link. The deadline of a call ends the wait, as in the driver: a network
//! that holds the handshake up does not keep the caller waiting.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Input, Lane, LinkInput};
use ferrite_types::DaemonRank;

use crate::event::Event;
use crate::network::LinkId;
use crate::queue::Time;
use crate::world::World;

/// The handshakes of a world.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    /// The callers of open handshakes and their deadlines.
    open: BTreeMap<LinkId, (DaemonRank, Time)>,
    /// Links that their callers have given up; they come up at neither end.
    given_up: BTreeSet<LinkId>,
}

impl Handshakes {
    pub(crate) fn begin(&mut self, id: LinkId, caller: DaemonRank, until: Time) {
        self.open.insert(id, (caller, until));
    }

    /// Notes that an end sees the link come up; false when the caller has given it up.
    pub(crate) fn comes_up(&mut self, id: LinkId, at: DaemonRank) -> bool {
        if self.open.get(&id).is_some_and(|(caller, _)| *caller == at) {
            self.open.remove(&id);
        }
        !self.given_up.contains(&id)
    }

    /// Returns the deadline of an open handshake, if this end waits for it.
    pub(crate) fn deadline(&self, id: LinkId, at: DaemonRank) -> Option<Time> {
        self.open.get(&id).filter(|(caller, _)| *caller == at).map(|(_, until)| *until)
    }

    /// Ends an open handshake. False when there is none.
    fn give_up(&mut self, id: LinkId) -> bool {
        self.open.remove(&id).is_some() && self.given_up.insert(id)
    }
}

impl World {
    /// Handles the deadline of a call.
    pub(crate) fn call_lapses(&mut self, from: DaemonRank, peer: DaemonRank, id: LinkId) {
        if !self.handshakes.give_up(id) {
            return;
        }
        self.close_end(from, peer, id, "connection reset by peer");
        if let Some(spread) = self.lanes.get(&id).copied() {
            return self.lose_lane(from, Lane { peer, spread }, "connection timed out");
        }
        let linked = self.hosts.get(&from).is_some_and(|host| host.links.contains_key(&peer));
        if !linked {
            let cause = "connection timed out".to_owned();
            self.deliver(from, Input::Link(LinkInput::ConnectFailed { peer, cause, refused: false }));
        }
    }

    /// Schedules the deadline of a call when the network holds up its link.
    pub(crate) fn watch_deadline(&mut self, held: &Event) {
        if let Event::LinkUp { at, peer, id } = *held
            && let Some(until) = self.handshakes.deadline(id, at)
        {
            self.queue.at(until, Event::CallLapses { from: at, peer, id });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::invariants::Referee;
    use crate::links::address;
    use crate::scenario::Scenario;
    use crate::trace::Keep;
    use ferrite_wire::Contact;

    const CALLER: DaemonRank = DaemonRank(1);
    const PEER: DaemonRank = DaemonRank(2);
    const SECOND: Time = 1_000_000;

    /// The news of a link that daemon 1 and daemon 2 get, each with its time in milliseconds, when daemon 1 calls at
    /// one second with a limit of three. Each trip takes `delay`; after a quarter of a second daemon 1 is isolated.
    fn news(delay: Time, isolated: Time) -> Vec<String> {
        let mut world = World::new(Scenario::calm(1, 3, 2), Keep::All(Vec::new()), Referee::blind());
        world.begin();
        let call = Event::Call {
            from: CALLER,
            peer: PEER,
            contact: Contact(vec![address(PEER)]),
            until: 4 * SECOND,
            insist: false,
            lane: None,
        };
        world.queue.at(SECOND, Event::Fault(Fault::SlowUplink(CALLER, delay, 3 * SECOND)));
        world.queue.at(SECOND, call);
        world.queue.at(SECOND + SECOND / 4, Event::Fault(Fault::Isolate(CALLER, isolated)));
        world.play_until(12 * SECOND);
        let mut news = Vec::new();
        for line in world.stop().lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, time, rank, "<", ..] = words[..] else { continue };
            let is_theirs = rank != "0" && !line.contains("peer: DaemonRank(0)");
            let name = ["LinkUp", "LinkLost", "ConnectFailed"].into_iter().find(|name| line.contains(name));
            if let Some(name) = name.filter(|_| is_theirs) {
                let at = time.parse::<Time>().map_or(0, |time| time / 1_000);
                news.push(format!("{at} {rank} {name}"));
            }
        }
        news
    }

    #[test]
    fn a_call_whose_handshake_is_held_up_fails_at_its_deadline() {
        assert_eq!(news(SECOND / 2, 0), ["1500 2 LinkUp", "2000 1 LinkUp"]);
        assert_eq!(news(SECOND / 2, 2 * SECOND), ["3250 2 LinkUp", "3250 1 LinkUp"]);
        assert_eq!(news(SECOND / 2, 8 * SECOND), ["4000 1 ConnectFailed"], "and no link comes up afterwards");
    }

    #[test]
    fn a_call_whose_handshake_takes_too_long_fails_at_its_deadline() {
        assert_eq!(news(2 * SECOND, 0), ["3000 2 LinkUp", "4000 1 ConnectFailed", "4000 2 LinkLost"]);
    }
}
