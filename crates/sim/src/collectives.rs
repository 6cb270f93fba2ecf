//! The time of a fence with data by other ways than the tree, in a model of a network: each daemon has a link of one
//! byte a nanosecond in each direction, and each message takes ten microseconds more. `sim scale collectives` shows it;
//! `docs/design/collectives.md` draws the conclusion.
//!
//! Every way gives each daemon the data of all. What a processor does with a byte is not in the model.

/// A moment or a span of time, in nanoseconds. A link moves one byte in each.
type Nanos = u64;

/// The time from the first byte sent to the first byte received.
const LATENCY: Nanos = 10_000;
/// The size of a piece, where a daemon forwards one before it has the rest (bytes).
const PIECE: u64 = 32 * 1024;
/// The radix of the tree by default.
const WIDE: usize = 64;

/// A way to give each daemon the data of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Up the tree of this radix and down again: each daemon forwards what it has in full.
    Tree(usize),
    /// Up the tree of radix 64, and down another one of this radix, in pieces.
    Pieces(usize),
    /// Each daemon gives all that it has to another one, at twice the distance in each round.
    Doubling,
    /// Each daemon gives its neighbour what it has got from the other one.
    Ring,
    /// Daemons of one parent in the tree gather at it; the parents double; each gives all to its own in pieces.
    Hierarchy,
}

impl Way {
    /// All, with the names of the table.
    pub const ALL: [(&str, Way); 7] = [
        ("tree of radix 64", Way::Tree(WIDE)),
        ("tree of radix 2", Way::Tree(2)),
        ("up radix 64, down radix 2 in pieces", Way::Pieces(2)),
        ("up radix 64, down a chain in pieces", Way::Pieces(1)),
        ("recursive doubling", Way::Doubling),
        ("ring", Way::Ring),
        ("hierarchy of 64", Way::Hierarchy),
    ];
}

/// The cost of one fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The time until the last daemon has all data.
    pub time: Nanos,
    /// The most bytes that one daemon sends.
    pub most_sent: u64,
    /// The most other daemons that one daemon sends to.
    pub most_partners: usize,
}

/// Plays a fence of so many daemons, each with as many bytes.
#[must_use]
pub fn collective(way: Way, daemons: usize, bytes: u64) -> Collective {
    let mut network = Network::new(daemons);
    let all = bytes * daemons as u64;
    match way {
        Way::Tree(radix) => {
            let ready = gather(&mut network, daemons, radix, bytes);
            spread(&mut network, daemons, radix, &[all], ready);
        }
        Way::Pieces(radix) => {
            let ready = gather(&mut network, daemons, WIDE, bytes);
            spread(&mut network, daemons, radix, &pieces(all), ready);
        }
        Way::Doubling => double(&mut network, &(0..daemons).collect::<Vec<_>>(), &vec![bytes; daemons]),
        Way::Ring => {
            for _ in 1..daemons {
                let ready = network.has.clone();
                (0..daemons).for_each(|from| network.send(from, (from + 1) % daemons, bytes, ready[from]));
            }
        }
        Way::Hierarchy => {
            let groups: Vec<Vec<usize>> =
                (0..daemons).collect::<Vec<_>>().chunks(WIDE).map(<[usize]>::to_vec).collect();
            for group in &groups {
                group[1..].iter().for_each(|member| network.send(*member, group[0], bytes, 0));
            }
            let leaders: Vec<usize> = groups.iter().map(|group| group[0]).collect();
            let sizes: Vec<u64> = groups.iter().map(|group| bytes * group.len() as u64).collect();
            double(&mut network, &leaders, &sizes);
            for group in &groups {
                let ready = network.has[group[0]];
                spread_among(&mut network, group, 2, &pieces(all), ready);
            }
        }
    }
    network.cost()
}

/// The daemons' links.
struct Network {
    /// When a daemon's link is free to send.
    out: Vec<Nanos>,
    /// When it is free to receive.
    into: Vec<Nanos>,
    /// When a daemon has all that was sent to it so far.
    has: Vec<Nanos>,
    sent: Vec<u64>,
    partners: Vec<Vec<usize>>,
}

impl Network {
    fn new(daemons: usize) -> Network {
        let none = vec![0; daemons];
        Network {
            out: none.clone(),
            into: none.clone(),
            has: none.clone(),
            sent: none,
            partners: vec![vec![]; daemons],
        }
    }

    /// Sends a message that the sender has at `ready`.
    fn send(&mut self, from: usize, to: usize, bytes: u64, ready: Nanos) {
        let begin = ready.max(self.out[from]);
        self.out[from] = begin + bytes;
        let begin = (begin + LATENCY).max(self.into[to]);
        self.into[to] = begin + bytes;
        self.has[to] = self.has[to].max(self.into[to]);
        self.sent[from] += bytes;
        if !self.partners[from].contains(&to) {
            self.partners[from].push(to);
        }
    }

    fn cost(&self) -> Collective {
        Collective {
            time: self.has.iter().copied().max().unwrap_or(0),
            most_sent: self.sent.iter().copied().max().unwrap_or(0),
            most_partners: self.partners.iter().map(Vec::len).max().unwrap_or(0),
        }
    }
}

fn parent(daemon: usize, radix: usize) -> usize {
    (daemon - 1) / radix
}

fn pieces(bytes: u64) -> Vec<u64> {
    let whole = (0..bytes / PIECE).map(|_| PIECE);
    whole.chain(Some(bytes % PIECE).filter(|rest| *rest > 0)).collect()
}

/// Sends the data of all up the tree. Returns when the root has them.
fn gather(network: &mut Network, daemons: usize, radix: usize, bytes: u64) -> Nanos {
    let mut below = vec![bytes; daemons];
    for daemon in (1..daemons).rev() {
        let ready = network.has[daemon];
        network.send(daemon, parent(daemon, radix), below[daemon], ready);
        below[parent(daemon, radix)] += below[daemon];
    }
    network.has[0]
}

/// Sends these pieces down a tree of all daemons; the root has them at `ready`.
fn spread(network: &mut Network, daemons: usize, radix: usize, pieces: &[u64], ready: Nanos) {
    spread_among(network, &(0..daemons).collect::<Vec<_>>(), radix, pieces, ready);
}

/// Sends pieces down a tree of these daemons, the first of which has them at `ready`. Each forwards a piece as soon as
/// it has it.
fn spread_among(network: &mut Network, daemons: &[usize], radix: usize, pieces: &[u64], ready: Nanos) {
    let mut has = vec![ready; daemons.len()];
    for piece in pieces {
        for at in 1..daemons.len() {
            let above = parent(at, radix);
            network.send(daemons[above], daemons[at], *piece, has[above]);
            has[at] = network.into[daemons[at]];
        }
    }
}

/// Has each of these daemons give all that it has to the one that is 1, 2, 4, ... places before it, so that each has
/// the data of all after the logarithm of their number (for any number of them, by Bruck's order).
fn double(network: &mut Network, members: &[usize], sizes: &[u64]) {
    let count = members.len();
    let mut distance = 1;
    while distance < count {
        let blocks = distance.min(count - distance);
        let ready: Vec<Nanos> = members.iter().map(|member| network.has[*member]).collect();
        for (at, from) in members.iter().enumerate() {
            let bytes = (0..blocks).map(|nth| sizes[(at + nth) % count]).sum();
            network.send(*from, members[(at + count - distance) % count], bytes, ready[at]);
        }
        distance *= 2;
    }
}

/// Each way with so much data in all, as a markdown table.
#[must_use]
pub fn collectives_table(daemons: &[usize], bytes: &[u64]) -> String {
    let mut out =
        String::from("| daemons | bytes in all | way | time | one daemon sends at most | to others at most |\n");
    out += "|--:|--:|---|--:|--:|--:|\n";
    for (daemons, all) in daemons.iter().flat_map(|daemons| bytes.iter().map(move |all| (*daemons, *all))) {
        for (name, way) in Way::ALL {
            let Collective { time, most_sent, most_partners } = collective(way, daemons, (all / daemons as u64).max(1));
            let millis = time as f64 / 1e6;
            out += &format!("| {daemons} | {all} | {name} | {millis:.2} ms | {most_sent} | {most_partners} |\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time when nothing but latency counts.
    fn hops(way: Way, daemons: usize) -> Nanos {
        collective(way, daemons, 0).time / LATENCY
    }

    #[test]
    fn each_way_takes_as_many_messages_after_one_another_as_on_paper() {
        assert_eq!(hops(Way::Tree(64), 65), 2, "up and down");
        assert_eq!(hops(Way::Tree(2), 7), 4);
        assert_eq!(hops(Way::Doubling, 1_000), 10);
        assert_eq!(hops(Way::Doubling, 1_024), 10);
        assert_eq!(hops(Way::Ring, 100), 99);
    }

    #[test]
    fn the_links_limit_each_way_as_on_paper() {
        let all = 1_000_000;
        let cost = |way| collective(way, 1_000, all / 1_000);
        assert!((64 * all..65 * all).contains(&cost(Way::Tree(64)).most_sent), "all to each child");
        assert!(cost(Way::Tree(64)).time > 64 * all + 15 * all, "and the first child again");
        let least = |way| cost(way).time - all;
        assert!(least(Way::Doubling) <= 10 * LATENCY, "each byte comes once, in ten messages");
        assert!(least(Way::Ring) > 900 * LATENCY);
        assert_eq!(cost(Way::Ring).most_sent, all - all / 1_000);
        assert!(cost(Way::Pieces(2)).time < cost(Way::Tree(2)).time / 3);
    }

    /// Whatever the number: each daemon gets the data of all others, and nobody else's twice.
    #[test]
    fn doubling_gives_each_daemon_all_data_once() {
        for daemons in [2, 3, 5, 64, 100] {
            let cost = collective(Way::Doubling, daemons, 7);
            assert_eq!(cost.most_sent, 7 * (daemons as u64 - 1), "{daemons}");
        }
    }

    #[test]
    fn a_message_waits_for_both_links() {
        let mut network = Network::new(3);
        network.send(0, 2, 100, 0);
        network.send(1, 2, 100, 0);
        assert_eq!(network.has[2], LATENCY + 200, "the second waits for the receiver");
        network.send(0, 1, 50, 0);
        assert_eq!(network.has[1], 100 + LATENCY + 50, "and this one for the sender");
    }

    #[test]
    fn pieces_are_the_whole() {
        assert_eq!(pieces(2 * PIECE + 1), [PIECE, PIECE, 1]);
        assert_eq!(pieces(0), [0; 0]);
    }
}
