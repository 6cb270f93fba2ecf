//! Links between daemons: each direction delivers in order, links are independent of each other, and a link can be
//! closed (sent frames arrive) or cut (frames on the way are lost).
//!
//! The network decides when and whether a frame arrives; the world delivers it.

use std::collections::BTreeMap;

use ferrite_types::DaemonRank;
use serde::{Deserialize, Serialize};

use crate::queue::Time;
use crate::rng::Rng;

/// The id of a link; a new connection between the same daemons is another link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkId(pub u64);

/// The network's latencies (microseconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weather {
    /// Shortest delay of a frame.
    pub fastest: Time,
    /// Longest delay, when nothing special happens.
    pub slowest: Time,
    /// Frames with a delay of ten times the longest, per mille.
    pub hiccups: u64,
}

impl Weather {
    /// Every frame takes the same short time; for counting.
    pub const CALM: Weather = Weather { fastest: 50, slowest: 50, hiccups: 0 };
}

#[derive(Debug)]
struct Link {
    ends: [DaemonRank; 2],
    /// For each end: when the last frame to it arrives. No frame overtakes another.
    last: [Time; 2],
    /// For each end: true while frames to it arrive.
    open: [bool; 2],
}

/// All links of a world.
#[derive(Debug)]
pub(crate) struct Network {
    rng: Rng,
    weather: Weather,
    next: u64,
    links: BTreeMap<LinkId, Link>,
    /// Slowed-down daemons: the additional time of a trip, and the end of the slowdown.
    slow: BTreeMap<DaemonRank, (Time, Time)>,
}

impl Network {
    /// A network without links.
    #[must_use]
    pub(crate) fn new(rng: Rng, weather: Weather) -> Network {
        Network { rng, weather, next: 0, links: BTreeMap::new(), slow: BTreeMap::new() }
    }

    /// A delay of one trip.
    pub(crate) fn delay(&mut self) -> Time {
        let usual = self.rng.between(self.weather.fastest, self.weather.slowest);
        if self.weather.hiccups > 0 && self.rng.permille(self.weather.hiccups) {
            usual + 10 * self.weather.slowest
        } else {
            usual
        }
    }

    /// Makes every trip to or from a daemon longer by `extra`, until the given time.
    pub(crate) fn slow_down(&mut self, rank: DaemonRank, extra: Time, until: Time) {
        self.slow.insert(rank, (extra, until));
    }

    /// Returns the end of a trip between these two that begins now.
    fn trip(&mut self, now: Time, ends: [DaemonRank; 2]) -> Time {
        let delay = self.delay();
        if self.slow.is_empty() {
            return now + delay;
        }
        let slow = ends.iter().filter_map(|end| self.slow.get(end)).filter(|(_, until)| now < *until);
        now + delay + slow.map(|(extra, _)| extra).max().copied().unwrap_or(0)
    }

    /// Makes the link of a call that is accepted at `now`; returns when the acceptor and when the caller see it.
    pub(crate) fn open(&mut self, now: Time, caller: DaemonRank, acceptor: DaemonRank) -> (LinkId, Time, Time) {
        let id = LinkId(self.next);
        self.next += 1;
        let accepted = self.trip(now, [caller, acceptor]);
        let connected = self.trip(accepted, [caller, acceptor]);
        let link = Link { ends: [caller, acceptor], last: [connected, accepted], open: [true; 2] };
        self.links.insert(id, link);
        (id, accepted, connected)
    }

    /// The caller of a link; `None` when the link is gone.
    pub(crate) fn caller(&self, id: LinkId) -> Option<DaemonRank> {
        self.links.get(&id).map(|link| link.ends[0])
    }

    /// The arrival of a frame that `from` sends now; `None` when it is lost.
    pub(crate) fn send(&mut self, now: Time, id: LinkId, from: DaemonRank) -> Option<Time> {
        let ends = self.links.get(&id)?.ends;
        let due = self.trip(now, ends);
        let link = self.links.get_mut(&id)?;
        let to = 1 - link.side(from);
        link.last[to] = link.last[to].max(due);
        link.open[to].then_some(link.last[to])
    }

    /// True when what was sent to `to` over this link is to be delivered.
    #[must_use]
    pub(crate) fn delivers(&self, id: LinkId, to: DaemonRank) -> bool {
        self.links.get(&id).is_some_and(|link| link.open[link.side(to)])
    }

    /// `by` closes its end: nothing arrives there any more; the other end learns it after all that was
    /// sent to it, at the returned time. `None` when the link is gone or the other end has closed too.
    pub(crate) fn close(&mut self, now: Time, id: LinkId, by: DaemonRank) -> Option<Time> {
        let ends = self.links.get(&id)?.ends;
        let due = self.trip(now, ends);
        let link = self.links.get_mut(&id)?;
        let mine = link.side(by);
        link.open[mine] = false;
        if !link.open[1 - mine] {
            self.links.remove(&id);
            return None;
        }
        link.last[1 - mine] = link.last[1 - mine].max(due);
        Some(link.last[1 - mine])
    }

    /// Cuts a link: what is on the way is lost. Returns when each end learns it.
    pub(crate) fn cut(&mut self, now: Time, id: LinkId) -> Vec<(DaemonRank, Time)> {
        let delays = [self.delay(), self.delay()];
        self.cut_after(now, id, delays)
    }

    /// Cuts a link, and both ends learn it at once.
    pub(crate) fn cut_at_once(&mut self, now: Time, id: LinkId) -> Vec<(DaemonRank, Time)> {
        self.cut_after(now, id, [0, 0])
    }

    fn cut_after(&mut self, now: Time, id: LinkId, delays: [Time; 2]) -> Vec<(DaemonRank, Time)> {
        let Some(link) = self.links.get_mut(&id) else {
            return Vec::new();
        };
        let ends = (0..2).filter(|i| link.open[*i]);
        // An end hears of the loss after it has seen the link come up.
        let told = ends.map(|i| (link.ends[i], link.last[i].max(now + delays[i]))).collect();
        link.open = [false; 2];
        told
    }

    /// Notes that an end was told of the loss of its link.
    pub(crate) fn forget(&mut self, id: LinkId, end: DaemonRank) {
        if let Some(link) = self.links.get_mut(&id) {
            let side = link.side(end);
            link.open[side] = false;
            if link.open == [false; 2] {
                self.links.remove(&id);
            }
        }
    }

    /// All links that carry something in at least one direction.
    pub(crate) fn live(&self) -> impl Iterator<Item = (LinkId, [DaemonRank; 2])> + '_ {
        let lives = |link: &Link| link.open == [true; 2];
        self.links.iter().filter(move |(_, l)| lives(l)).map(|(id, l)| (*id, l.ends))
    }
}

impl Link {
    fn side(&self, end: DaemonRank) -> usize {
        debug_assert!(self.ends.contains(&end), "{end} is no end of this link");
        usize::from(self.ends[1] == end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DaemonRank = DaemonRank(1);
    const B: DaemonRank = DaemonRank(2);

    fn network() -> Network {
        Network::new(Rng::new(3), Weather { fastest: 10, slowest: 1000, hiccups: 200 })
    }

    #[test]
    fn nothing_overtakes_on_a_link_and_the_link_is_up_before_anything_arrives() {
        let mut net = network();
        let (id, accepted, connected) = net.open(0, A, B);
        assert!(accepted < connected);
        let times: Vec<Time> = (0..50).filter_map(|_| net.send(accepted, id, B)).collect();
        assert!(times.is_sorted() && times.len() == 50 && times[0] >= connected);
    }

    #[test]
    fn a_closed_link_still_delivers_what_was_sent_before() {
        let mut net = network();
        let (id, _, up) = net.open(0, A, B);
        let sent = net.send(up, id, A).unwrap();
        let told = net.close(up, id, A).unwrap();
        assert!(told >= sent && net.delivers(id, B) && !net.delivers(id, A));
        assert_eq!(net.send(up, id, B), None, "nothing goes back");
        net.forget(id, B);
        assert_eq!(net.close(up, id, B), None);
    }

    #[test]
    fn a_cut_link_delivers_nothing_and_both_ends_learn_it() {
        let mut net = network();
        let (id, _, up) = net.open(0, A, B);
        net.send(up, id, A);
        let told = net.cut(up, id);
        assert_eq!(told.iter().map(|(end, _)| *end).collect::<Vec<_>>(), [A, B]);
        assert!(!net.delivers(id, A) && !net.delivers(id, B));
        assert_eq!(net.live().count(), 0);
    }

    #[test]
    fn a_link_that_is_cut_at_once_is_known_to_be_gone_at_both_ends_now() {
        let mut net = network();
        let (id, _, up) = net.open(0, A, B);
        assert_eq!(net.cut_at_once(up, id), [(A, up), (B, up)]);
    }

    #[test]
    fn trips_of_a_slow_daemon_take_longer_until_it_is_over_and_nothing_overtakes() {
        let mut net = Network::new(Rng::new(3), Weather::CALM);
        let (id, _, up) = net.open(0, A, B);
        net.slow_down(B, 5_000, up + 100);
        assert_eq!(net.send(up, id, A), Some(up + 5_050));
        assert_eq!(net.send(up + 200, id, A), Some(up + 5_050), "the fast one waits for the slow one");
        assert_eq!(net.send(up + 200, id, B), Some(up + 250));
    }
}
