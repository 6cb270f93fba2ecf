//! Links of daemons: their creation, use and loss. Sockets do this on real machines.
//!
//! The world calls it for each event of a link. It draws no random numbers: the network decides the times.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use ferrite_core::{Input, Lane, LaneInput, LinkInput};
use ferrite_types::DaemonRank;
use ferrite_wire::{Contact, Frame, SpreadId};

use crate::event::Event;
use crate::network::LinkId;
use crate::queue::Time;
use crate::world::World;

const PORT: u16 = 7000;

/// The caller, the called daemon, and the spread whose lane the call is for; `None` = for a link.
type Call = (DaemonRank, DaemonRank, Option<SpreadId>);

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The callee accepts the call.
    Accepted,
    /// The callee's machine says that nobody listens.
    Refused,
    /// There is no answer.
    Silence,
}

impl World {
    pub(crate) fn close_end(&mut self, by: DaemonRank, peer: DaemonRank, id: LinkId, cause: &'static str) {
        if let Some(at) = self.network.close(self.queue.now(), id, by) {
            self.queue.at(at, Event::LinkDown { at: peer, peer: by, id, cause });
        }
    }

    pub(crate) fn link_up(&mut self, at: DaemonRank, peer: DaemonRank, id: LinkId) {
        if !self.handshakes.comes_up(id, at) {
            return;
        }
        if let Some(spread) = self.lanes.get(&id).copied() {
            return self.lane_up(at, Lane { peer, spread }, id);
        }
        let Some(host) = self.hosts.get(&at) else {
            // The peer died while the link came up.
            return self.close_end(at, peer, id, "connection reset by peer");
        };
        if let Some(old) = host.links.get(&peer).copied() {
            // When two calls cross, both ends must drop the same one: the call of the lower rank. The daemon takes a
            // new link as the end of the old one.
            let (before, now) = (self.network.caller(old), self.network.caller(id));
            let late = if before != now && before > now { id } else { old };
            self.close_end(at, peer, late, "replaced by a new connection");
            if late == id {
                return;
            }
        }
        if let Some(host) = self.hosts.get_mut(&at) {
            host.links.insert(peer, id);
        }
        self.deliver(at, Input::Link(LinkInput::LinkUp { peer }));
    }

    pub(crate) fn link_down(&mut self, at: DaemonRank, peer: DaemonRank, id: LinkId, cause: &str) {
        self.network.forget(id, at);
        if let Some(spread) = self.lanes.get(&id).copied() {
            return self.lane_down(at, Lane { peer, spread }, id, cause);
        }
        let Some(host) = self.hosts.get_mut(&at) else { return };
        if host.links.get(&peer) == Some(&id) {
            host.links.remove(&peer);
            if self.is_replaced(at, peer, id) {
                return;
            }
            self.deliver(at, Input::Link(LinkInput::LinkLost { peer, cause: cause.to_owned() }));
        }
    }

    /// True when a link is the dropped one of two calls that crossed, and this end has yet to see the other one. On
    /// real machines the caller's end of a link comes up first, and here last. There the caller would have had the
    /// better link already, so the drop is no loss for it.
    fn is_replaced(&self, at: DaemonRank, peer: DaemonRank, id: LinkId) -> bool {
        let better = self.hosts.get(&peer).and_then(|host| host.links.get(&at)).copied();
        better.is_some_and(|better| better != id && self.network.caller(better) == Some(at))
    }

    pub(crate) fn arrive(&mut self, from: DaemonRank, to: DaemonRank, id: LinkId, frame: Frame) {
        if let Some(spread) = self.lanes.get(&id).copied() {
            return self.heard(to, Lane { peer: from, spread }, id, &frame);
        }
        let known = self.hosts.get(&to).and_then(|h| h.links.get(&from)) == Some(&id);
        if known && self.network.delivers(id, to) {
            self.deliver(to, Input::Link(LinkInput::Frame { from, frame }));
        }
    }

    /// Makes a call, and repeats it until its deadline while there is no answer. A refusal ends it, unless the caller
    /// insists.
    pub(crate) fn call(&mut self, (from, peer, lane): Call, contact: Contact, until: Time, insist: bool) {
        const AGAIN: Time = 50_000;
        if !self.hosts.contains_key(&from) {
            return;
        }
        let now = self.queue.now();
        let answer = self.answer(from, peer, &contact);
        let refused = answer == Answer::Refused;
        if answer == Answer::Accepted {
            self.connect((from, peer, lane), until);
        } else if now + AGAIN < until && (insist || !refused) {
            self.queue.after(AGAIN, Event::Call { from, peer, contact, until, insist, lane });
        } else {
            let cause = if refused { "connection refused" } else { "connection timed out" }.to_owned();
            let at = if insist || !refused { until.max(now) } else { now + self.small_delay() };
            let input = match lane {
                Some(spread) => Input::Lane(LaneInput::Lost { lane: Lane { peer, spread }, cause }),
                None => Input::Link(LinkInput::ConnectFailed { peer, cause, refused }),
            };
            self.queue.at(at, Event::Input(from, input));
        }
    }

    fn answer(&self, from: DaemonRank, peer: DaemonRank, contact: &Contact) -> Answer {
        if self.is_parted([from, peer]) {
            return Answer::Silence;
        }
        let there = contact.0.iter().find_map(|a| rank_at(*a));
        match self.hosts.get(&peer) {
            Some(host) if there == Some(peer) && host.stopped.is_none() => Answer::Accepted,
            // The kernel accepts the call for a paused process, which sends no preamble.
            Some(host) if host.stopped.is_some() => Answer::Silence,
            Some(_) | None => Answer::Refused,
        }
    }

    fn connect(&mut self, (from, peer, lane): Call, until: Time) {
        let (id, accepted, connected) = self.network.open(self.queue.now(), from, peer);
        self.lanes.extend(lane.map(|spread| (id, spread)));
        self.handshakes.begin(id, from, until);
        if connected > until {
            self.queue.at(until, Event::CallLapses { from, peer, id });
        }
        self.queue.at(accepted, Event::LinkUp { at: peer, peer: from, id });
        self.queue.at(connected, Event::LinkUp { at: from, peer, id });
    }
}

/// Returns the contact of a daemon: its rank as an address.
pub(crate) fn address(rank: DaemonRank) -> SocketAddr {
    let [_, a, b, c] = rank.0.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, a, b, c)), PORT)
}

fn rank_at(address: SocketAddr) -> Option<DaemonRank> {
    match address.ip() {
        IpAddr::V4(ip) => {
            let [_, a, b, c] = ip.octets();
            Some(DaemonRank(u32::from_be_bytes([0, a, b, c])))
        }
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::invariants::Referee;
    use crate::scenario::Scenario;
    use crate::trace::Keep;

    #[test]
    fn the_dead_refuse_a_call_and_the_isolated_and_the_stopped_say_nothing() {
        const CALLER: DaemonRank = DaemonRank(1);
        let call = |faults: &[Fault], to: DaemonRank| {
            let mut world = World::new(Scenario::calm(1, 3, 2), Keep::Nothing, Referee::blind());
            world.begin();
            faults.iter().for_each(|fault| world.on_fault(*fault));
            world.answer(CALLER, to, &Contact(vec![address(to)]))
        };
        let (head, absent) = (DaemonRank::HEAD, DaemonRank(2));
        assert_eq!(call(&[], head), Answer::Accepted);
        assert_eq!(call(&[], absent), Answer::Refused);
        assert_eq!(call(&[Fault::Crash(head)], head), Answer::Refused);
        assert_eq!(call(&[Fault::Pause(head, 9)], head), Answer::Silence);
        assert_eq!(call(&[Fault::Isolate(head, 9)], head), Answer::Silence);
        assert_eq!(call(&[Fault::Isolate(CALLER, 9)], head), Answer::Silence);
        assert_eq!(call(&[Fault::Isolate(absent, 9)], absent), Answer::Silence, "nor does its machine");
    }
}
