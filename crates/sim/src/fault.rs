//! Faults of daemons and of the network, for random scenarios, for stories, and for [`CHAOS`], the list that both the
//! simulator and real nodes play.
//!
//! The faults are plain data, which scenarios draw and the world plays.

pub(crate) mod strike;

use ferrite_router::Tree;
use ferrite_types::DaemonRank;
use serde::{Deserialize, Serialize};

use crate::queue::Time;
use crate::rng::Rng;

/// A fault. Times are microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// One of the present links is cut: frames on the way are lost, and the ends learn it later.
    CutLink,
    /// The link between a daemon and its uplink is cut; both ends learn it at once.
    CutUplink(DaemonRank),
    /// A daemon process is killed; its processes die with it.
    Crash(DaemonRank),
    /// A daemon is paused for this time (SIGSTOP, swapping).
    Pause(DaemonRank, Time),
    /// A daemon is isolated from all others for this time, without notice. Frames arrive after it, unless an end has
    /// closed the link by then; calls get no answer.
    Isolate(DaemonRank, Time),
    /// A daemon's links take longer by the first time, for the second time.
    SlowUplink(DaemonRank, Time, Time),
}

impl Fault {
    /// Returns the daemon that the fault strikes; `None` = chance decides.
    #[must_use]
    pub fn victim(&self) -> Option<DaemonRank> {
        match self {
            Fault::CutLink => None,
            Fault::CutUplink(rank)
            | Fault::Crash(rank)
            | Fault::Pause(rank, _)
            | Fault::Isolate(rank, _)
            | Fault::SlowUplink(rank, ..) => Some(*rank),
        }
    }

    /// Returns the same fault for another daemon.
    #[must_use]
    pub fn at(self, victim: DaemonRank) -> Fault {
        match self {
            Fault::CutLink => Fault::CutLink,
            Fault::CutUplink(_) => Fault::CutUplink(victim),
            Fault::Crash(_) => Fault::Crash(victim),
            Fault::Pause(_, time) => Fault::Pause(victim, time),
            Fault::Isolate(_, time) => Fault::Isolate(victim, time),
            Fault::SlowUplink(_, delay, time) => Fault::SlowUplink(victim, delay, time),
        }
    }

    /// Returns the duration of the fault.
    #[must_use]
    pub fn lasts(&self) -> Time {
        match self {
            Fault::CutLink | Fault::CutUplink(_) | Fault::Crash(_) => 0,
            Fault::Pause(_, time) | Fault::Isolate(_, time) | Fault::SlowUplink(_, _, time) => *time,
        }
    }

    /// True when the fault only delays frames, by too little to exceed a deadline.
    #[must_use]
    pub fn is_brief(&self) -> bool {
        const BRIEF: Time = 2_000_000;
        match self {
            Fault::CutLink | Fault::CutUplink(_) | Fault::Crash(_) => false,
            Fault::Pause(_, time) | Fault::Isolate(_, time) => *time <= BRIEF,
            // An exchange takes many trips.
            Fault::SlowUplink(_, delay, time) => *time <= BRIEF || *delay <= BRIEF / 20,
        }
    }

    /// Returns the fault in words, for a story.
    #[must_use]
    pub fn sentence(&self) -> String {
        let ms = |time: &Time| *time as f64 / 1000.0;
        match self {
            Fault::CutLink => "some link is cut".to_owned(),
            Fault::CutUplink(rank) => format!("the link between daemon {rank} and whom it hangs on is cut"),
            Fault::Crash(rank) => format!("daemon {rank} is killed"),
            Fault::Pause(rank, time) => format!("daemon {rank} stands still for {} ms", ms(time)),
            Fault::Isolate(rank, time) => format!("daemon {rank} is cut off for {} ms, nobody is told", ms(time)),
            Fault::SlowUplink(rank, delay, time) => {
                format!("links of daemon {rank} take {} ms longer for {} ms", ms(delay), ms(time))
            }
        }
    }

    fn draw(rng: &mut Rng, daemons: u32) -> Fault {
        // The head is struck rarely: either the fault is over soon, or the DVM ends.
        let head = daemons == 1 || rng.permille(50);
        let victim = if head { 0 } else { rng.between(1, u64::from(daemons) - 1) };
        let victim = DaemonRank(victim as u32);
        match rng.between(0, 9) {
            0 => Fault::CutLink,
            // The loss of the head ends everything, which other scenarios test; here the head is only slow.
            1..=6 if victim == DaemonRank::HEAD => Fault::Pause(victim, rng.between(1, 2_000_000)),
            1 | 2 => Fault::CutUplink(victim),
            3 | 4 => Fault::Crash(victim),
            5 | 6 => Fault::Isolate(victim, draw_length(rng)),
            7 | 8 => Fault::Pause(victim, draw_length(rng)),
            _ => Fault::SlowUplink(victim, rng.between(1_000, 1_000_000), draw_length(rng)),
        }
    }
}

/// Draws a duration: mostly short, sometimes longer than every deadline.
fn draw_length(rng: &mut Rng) -> Time {
    let most = if rng.permille(150) { 60_000_000 } else { 3_000_000 };
    rng.between(1, most)
}

/// Draws the faults of a random scenario, in the order of their times. Most come late, some during bring-up; some
/// strike two daemons at once, or a daemon and one below it.
pub(crate) fn draw(rng: &mut Rng, daemons: u32, radix: u32) -> Vec<(Time, Fault)> {
    let mut faults = Vec::new();
    for _ in 0..rng.between(1, 3) {
        let at = if rng.permille(150) { rng.between(0, 300_000) } else { rng.between(0, 5_000_000) };
        let fault = Fault::draw(rng, daemons);
        faults.push((at, fault));
        if daemons > 2 && rng.permille(300) {
            let other = companion(rng, daemons, radix, fault.victim());
            // The second fault comes at the same moment, or before the reaction to the first is complete.
            let soon = at + if rng.permille(500) { 0 } else { rng.between(1, 5_000) };
            let second = if rng.permille(500) { fault.at(other) } else { Fault::draw(rng, daemons).at(other) };
            faults.push((soon, second));
        }
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}

/// Draws a second victim: a child of the first as often as any other daemon, never the head.
fn companion(rng: &mut Rng, daemons: u32, radix: u32, first: Option<DaemonRank>) -> DaemonRank {
    let children = first.map(|rank| Tree::new(radix, daemons).children(rank)).unwrap_or_default();
    if children.is_empty() || rng.permille(400) {
        DaemonRank(rng.between(1, u64::from(daemons) - 1) as u32)
    } else {
        *rng.pick(&children)
    }
}

/// The treatment of a victim of [`CHAOS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// SIGKILL.
    Kill,
    /// SIGSTOP for ten seconds, then SIGCONT.
    Stop,
    /// The link to its uplink is cut; both ends learn it.
    CutLink,
    /// All frames between it and others take 200 ms longer, for ten seconds.
    SlowLink,
}

/// The positions of the victims of [`CHAOS`] in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// A daemon without children.
    Leaf,
    /// A daemon with children whose parent is not the head.
    Interior,
    /// A child of the head with children.
    ChildOfHead,
    /// Two neighbours: a child of the head and a child of it.
    ParentAndChild,
}

/// A fault for a DVM of ten nodes whose tree has radix 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chaos {
    /// A short name, for a filter on a command line.
    pub name: &'static str,
    /// The fault in words, for a report.
    pub sentence: &'static str,
    /// The treatment of each victim.
    pub deed: Deed,
    /// The position of the victims.
    pub depth: Depth,
}

impl Chaos {
    /// Nodes of the DVM.
    pub const DAEMONS: u32 = 10;
    /// Radix of its tree.
    pub const RADIX: u32 = 2;

    /// The daemons that are struck together.
    #[must_use]
    pub fn victims(&self) -> &'static [DaemonRank] {
        match self.depth {
            Depth::Leaf => &[DaemonRank(7)],
            Depth::Interior => &[DaemonRank(3)],
            Depth::ChildOfHead => &[DaemonRank(1)],
            Depth::ParentAndChild => &[DaemonRank(1), DaemonRank(3)],
        }
    }

    /// The faults of a scenario that correspond to it.
    #[must_use]
    pub fn faults(&self, at: Time) -> Vec<(Time, Fault)> {
        const LONG: Time = 10_000_000;
        let fault = |rank: &DaemonRank| match self.deed {
            Deed::Kill => Fault::Crash(*rank),
            Deed::Stop => Fault::Pause(*rank, LONG),
            Deed::CutLink => Fault::CutUplink(*rank),
            Deed::SlowLink => Fault::SlowUplink(*rank, 200_000, LONG),
        };
        self.victims().iter().map(|rank| (at, fault(rank))).collect()
    }
}

const fn chaos(name: &'static str, sentence: &'static str, deed: Deed, depth: Depth) -> Chaos {
    Chaos { name, sentence, deed, depth }
}

/// All deliberate faults for a running DVM, in the simulator and on real nodes.
pub const CHAOS: &[Chaos] = &[
    chaos("kill-leaf", "a daemon on which nobody hangs is killed", Deed::Kill, Depth::Leaf),
    chaos("kill-interior", "a daemon in the middle of the tree is killed", Deed::Kill, Depth::Interior),
    chaos("kill-child-of-head", "a daemon right below the head is killed", Deed::Kill, Depth::ChildOfHead),
    chaos("kill-neighbours", "a daemon and its child are killed at once", Deed::Kill, Depth::ParentAndChild),
    chaos("stop-leaf", "a daemon on which nobody hangs stands still", Deed::Stop, Depth::Leaf),
    chaos("stop-interior", "a daemon in the middle of the tree stands still", Deed::Stop, Depth::Interior),
    chaos("stop-child-of-head", "a daemon right below the head stands still", Deed::Stop, Depth::ChildOfHead),
    chaos("stop-neighbours", "a daemon and its child stand still at once", Deed::Stop, Depth::ParentAndChild),
    chaos("cut-leaf", "the link of a daemon on which nobody hangs is cut", Deed::CutLink, Depth::Leaf),
    chaos("cut-interior", "the link above a daemon in the middle is cut", Deed::CutLink, Depth::Interior),
    chaos("cut-child-of-head", "the link between the head and a child is cut", Deed::CutLink, Depth::ChildOfHead),
    chaos("cut-neighbours", "two links in a row are cut at once", Deed::CutLink, Depth::ParentAndChild),
    chaos("slow-leaf", "the link of a daemon on which nobody hangs is slow", Deed::SlowLink, Depth::Leaf),
    chaos("slow-interior", "the links of a daemon in the middle are slow", Deed::SlowLink, Depth::Interior),
    chaos("slow-child-of-head", "the links of a daemon below the head are slow", Deed::SlowLink, Depth::ChildOfHead),
    chaos("slow-neighbours", "the links of a daemon and its child are slow", Deed::SlowLink, Depth::ParentAndChild),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_victims_of_chaos_stand_where_it_says() {
        let tree = Tree::new(Chaos::RADIX, Chaos::DAEMONS);
        for chaos in CHAOS {
            let first = chaos.victims()[0];
            let (parent, has_children) = (tree.parent(first), !tree.children(first).is_empty());
            let below_head = parent == Some(DaemonRank::HEAD);
            let expected = match chaos.depth {
                Depth::Leaf => (false, false),
                Depth::Interior => (false, true),
                Depth::ChildOfHead | Depth::ParentAndChild => (true, true),
            };
            assert_eq!((below_head, has_children), expected, "{}", chaos.name);
            if chaos.depth == Depth::ParentAndChild {
                assert!(tree.children(first).contains(&chaos.victims()[1]));
            }
        }
    }

    #[test]
    fn every_kind_of_fault_is_drawn_and_some_strike_a_daemon_and_its_child() {
        let mut rng = Rng::new(1);
        let drawn: Vec<_> = (0..300).map(|_| draw(&mut rng, 12, 2)).collect();
        let any = |what: &dyn Fn(&Fault) -> bool| drawn.iter().flatten().any(|(_, f)| what(f));
        assert!(any(&|f| matches!(f, Fault::CutLink)) && any(&|f| matches!(f, Fault::CutUplink(_))));
        assert!(any(&|f| matches!(f, Fault::Crash(_))) && any(&|f| matches!(f, Fault::Pause(..))));
        assert!(any(&|f| matches!(f, Fault::Isolate(..))) && any(&|f| matches!(f, Fault::SlowUplink(..))));
        assert!(!any(&|f| matches!(f, Fault::Crash(DaemonRank::HEAD))));
        let tree = Tree::new(2, 12);
        let family = |pair: &[(Time, Fault)]| match [pair[0].1.victim(), pair[1].1.victim()] {
            [Some(a), Some(b)] => pair[0].0 == pair[1].0 && tree.parent(b) == Some(a),
            _ => false,
        };
        assert!(drawn.iter().any(|faults| faults.windows(2).any(family)));
    }
}
