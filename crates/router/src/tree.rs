//! The routing tree: a radix tree over ranks that are only ever appended, with holes where daemons left.
//!
//! Rank `r` hangs below `(r - 1) / radix`. A dead rank keeps its place in the arithmetic and loses its
//! place in the tree: those below it belong to its nearest living ancestor. So nobody has to be told
//! who adopted whom, and a new daemon whose arithmetic parent left long ago joins like any other.

use ferrite_types::{DaemonRank, RankSet};

use crate::ranges::Ranges;

/// Radix tree over append-only ranks `0..size` with a dead set. Equal values give equal trees on
/// every daemon. The head (rank 0) is always alive: its loss ends the DVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    radix: u32,
    size: u32,
    dead: RankSet,
}

impl Tree {
    /// A tree without holes. `radix` is raised to 1 when it is zero, `size` likewise.
    #[must_use]
    pub fn new(radix: u32, size: u32) -> Tree {
        Tree::with_dead(radix, size, RankSet::new())
    }

    /// A tree with holes: what a new daemon builds from the nidmap.
    #[must_use]
    pub fn with_dead(radix: u32, size: u32, mut dead: RankSet) -> Tree {
        dead.remove(DaemonRank::HEAD);
        Tree { radix: radix.max(1), size: size.max(1), dead }
    }

    /// Most children that a daemon has by arithmetic (adopted ones come on top).
    #[must_use]
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// Ranks ever given, dead ones included.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The ranks that departed.
    #[must_use]
    pub fn dead(&self) -> &RankSet {
        &self.dead
    }

    /// Appends ranks up to `size`. A smaller number changes nothing: ranks never go away.
    pub fn grow(&mut self, size: u32) {
        self.size = self.size.max(size);
    }

    /// Takes a whole set of ranks out in one pass. Repeated ranks and the head have no effect.
    /// What it costs, with the neighbours after it: the ranges of both sets, not the size of the tree
    /// (docs/benchmarks.md).
    pub fn repair(&mut self, dead: &RankSet) {
        self.dead.insert_all(dead);
        self.dead.remove(DaemonRank::HEAD);
    }

    /// True for a living rank that was given.
    #[must_use]
    pub fn contains(&self, rank: DaemonRank) -> bool {
        rank.0 < self.size && !self.dead.contains(rank)
    }

    /// All living ranks.
    #[must_use]
    pub fn living(&self) -> RankSet {
        self.subtree(DaemonRank::HEAD)
    }

    /// The nearest living ancestor; `None` for the head. A dead rank has one too: where its orphans go.
    #[must_use]
    pub fn parent(&self, rank: DaemonRank) -> Option<DaemonRank> {
        self.ancestors(rank).next()
    }

    /// Living ancestors, nearest first, the head last: whom to try when a parent is lost.
    pub fn ancestors(&self, rank: DaemonRank) -> impl Iterator<Item = DaemonRank> + '_ {
        self.places_above(rank).filter(|r| self.contains(*r))
    }

    /// Living children with those adopted from dead ranks, ascending.
    #[must_use]
    pub fn children(&self, rank: DaemonRank) -> Vec<DaemonRank> {
        self.living_below([(rank.0, rank.0)])
    }

    /// True when the way from the head to `rank` passes through `ancestor`, which lives and is not
    /// `rank` itself. `rank` may be dead: then this says who was above it.
    #[must_use]
    pub fn is_ancestor(&self, ancestor: DaemonRank, rank: DaemonRank) -> bool {
        self.contains(ancestor) && self.stands_below(rank, ancestor)
    }

    /// The neighbour that brings a message from `me` nearer to `dest`; `None` when `dest` is `me`,
    /// dead or unknown. `me` may be dead (a leaving daemon still sends its goodbye).
    #[must_use]
    pub fn next_hop(&self, me: DaemonRank, dest: DaemonRank) -> Option<DaemonRank> {
        if dest == me || !self.contains(dest) {
            return None;
        }
        let mut hop = dest;
        // What is above has the lower rank: a leaf sees at the first place that the way goes up.
        for place in self.places_above(dest).take_while(|place| *place >= me) {
            if place == me {
                return Some(hop);
            }
            if self.contains(place) {
                hop = place;
            }
        }
        self.parent(me)
    }

    /// Hops to the head.
    #[must_use]
    pub fn depth(&self, rank: DaemonRank) -> u32 {
        self.ancestors(rank).count() as u32
    }

    /// The living members of the sub-tree at `rank`, itself included when it lives.
    #[must_use]
    pub fn subtree(&self, rank: DaemonRank) -> RankSet {
        let dead = Ranges::of(&self.dead);
        let mut members = RankSet::new();
        for level in self.levels(rank) {
            for (first, last) in dead.without(level) {
                members.insert_range(first, last);
            }
        }
        members
    }

    /// Number of living members of the sub-tree at `rank`.
    #[must_use]
    pub fn subtree_size(&self, rank: DaemonRank) -> usize {
        let dead = Ranges::of(&self.dead);
        self.levels(rank)
            .flat_map(|level| dead.without(level).collect::<Vec<_>>())
            .map(|(first, last)| (last - first) as usize + 1)
            .sum()
    }

    /// The places of the sub-tree at `rank`, one contiguous range for each level, dead ones included.
    pub(crate) fn levels(&self, rank: DaemonRank) -> impl Iterator<Item = (u32, u32)> + '_ {
        let top = (rank.0 < self.size).then_some((rank.0, rank.0));
        std::iter::successors(top, |places| self.window_below(*places))
    }

    /// The arithmetic children of neighbouring places are neighbours; `None` when there are none.
    pub(crate) fn window_below(&self, (low, high): (u32, u32)) -> Option<(u32, u32)> {
        let (radix, last) = (u64::from(self.radix), u64::from(self.size) - 1);
        let first = u64::from(low) * radix + 1;
        (first <= last).then(|| (first as u32, (u64::from(high) * radix + radix).min(last) as u32))
    }

    /// The nearest living ranks below these ranges of places, whoever lives in the places themselves; ascending.
    /// Neighbours that died together are passed through together.
    pub(crate) fn living_below(&self, tops: impl IntoIterator<Item = (u32, u32)>) -> Vec<DaemonRank> {
        let dead = Ranges::of(&self.dead);
        let (mut living, mut open) = (Vec::new(), Vec::from_iter(tops));
        let mut at = 0;
        while let Some(places) = open.get(at) {
            at += 1;
            let Some(window) = self.window_below(*places) else { continue };
            living.extend(dead.without(window).flat_map(|(first, last)| first..=last).map(DaemonRank));
            open.extend(dead.within(window));
        }
        living.sort_unstable();
        living
    }

    /// The arithmetic children of a place, living or not.
    pub(crate) fn places_below(&self, place: DaemonRank) -> impl Iterator<Item = DaemonRank> + use<> {
        let (first, last) = self.window_below((place.0, place.0)).unwrap_or((1, 0));
        (first..=last).map(DaemonRank)
    }

    /// The places above a rank, nearest first, living or not. Empty for a rank never given: it
    /// stands nowhere yet.
    pub(crate) fn places_above(&self, rank: DaemonRank) -> impl Iterator<Item = DaemonRank> + use<> {
        let radix = self.radix;
        let above = move |r: &u32| r.checked_sub(1).map(|r| r / radix);
        let known = Some(rank.0).filter(|r| *r < self.size);
        std::iter::successors(known.as_ref().and_then(above), above).map(DaemonRank)
    }

    /// True when `rank` stands strictly below `above`, whoever lives in between.
    pub(crate) fn stands_below(&self, rank: DaemonRank, above: DaemonRank) -> bool {
        self.places_above(rank).take_while(|place| *place >= above).any(|place| place == above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(rank: u32) -> DaemonRank {
        DaemonRank(rank)
    }
    fn set(list: &[u32]) -> RankSet {
        list.iter().copied().map(DaemonRank).collect()
    }
    fn ranks(list: &[u32]) -> Vec<DaemonRank> {
        list.iter().copied().map(DaemonRank).collect()
    }

    //            0
    //        1       2
    //      3   4   5   6
    //     7 8  9
    fn ten() -> Tree {
        Tree::new(2, 10)
    }

    #[test]
    fn a_binary_tree_of_ten_is_the_one_drawn_above() {
        let tree = ten();
        assert_eq!(tree.parent(r(0)), None);
        assert_eq!(tree.parent(r(9)), Some(r(4)));
        assert_eq!(tree.children(r(0)), ranks(&[1, 2]));
        assert_eq!(tree.children(r(3)), ranks(&[7, 8]));
        assert_eq!(tree.children(r(4)), ranks(&[9]));
        assert_eq!(tree.children(r(5)), []);
        assert_eq!(tree.subtree(r(1)).to_string(), "1,3-4,7-9");
        assert_eq!(tree.subtree_size(r(1)), 6);
        assert_eq!(tree.depth(r(0)), 0);
        assert_eq!(tree.depth(r(9)), 3);
    }

    #[test]
    fn a_tree_of_radix_64_has_64_children_at_the_head_and_the_rest_below_them() {
        let tree = Tree::new(64, 1000);
        let first: Vec<_> = (1..=64).map(DaemonRank).collect();
        assert_eq!(tree.children(r(0)), first);
        assert_eq!(tree.children(r(1)), (65..=128).map(DaemonRank).collect::<Vec<_>>());
        assert_eq!(tree.children(r(15)), (961..1000).map(DaemonRank).collect::<Vec<_>>());
        assert_eq!(tree.children(r(16)), []);
        assert_eq!(tree.parent(r(999)), Some(r(15)));
        assert_eq!(tree.next_hop(r(0), r(999)), Some(r(15)));
        assert_eq!(tree.depth(r(999)), 2);
        assert_eq!(tree.subtree_size(r(0)), 1000);
    }

    #[test]
    fn orphans_belong_to_the_nearest_living_ancestor() {
        let mut tree = ten();
        tree.repair(&set(&[1, 3]));
        assert_eq!(tree.children(r(0)), ranks(&[2, 4, 7, 8]));
        assert_eq!(tree.parent(r(7)), Some(r(0)));
        assert_eq!(tree.parent(r(4)), Some(r(0)));
        assert_eq!(tree.parent(r(3)), Some(r(0)), "a dead rank's orphans go to the head");
        assert_eq!(tree.next_hop(r(0), r(9)), Some(r(4)));
        assert_eq!(tree.next_hop(r(0), r(8)), Some(r(8)));
        assert_eq!(tree.next_hop(r(0), r(3)), None);
        assert_eq!(tree.depth(r(8)), 1);
        assert_eq!(tree.living().to_string(), "0,2,4-9");
    }

    #[test]
    fn a_message_goes_up_when_its_destination_is_not_below() {
        let tree = ten();
        assert_eq!(tree.next_hop(r(8), r(9)), Some(r(3)));
        assert_eq!(tree.next_hop(r(3), r(9)), Some(r(1)));
        assert_eq!(tree.next_hop(r(1), r(9)), Some(r(4)));
        assert_eq!(tree.next_hop(r(5), r(0)), Some(r(2)));
        assert_eq!(tree.next_hop(r(5), r(5)), None);
        assert_eq!(tree.next_hop(r(5), r(10)), None);
    }

    #[test]
    fn a_leaving_daemon_still_knows_its_way_up_and_down() {
        let mut tree = ten();
        tree.repair(&set(&[1]));
        assert_eq!(tree.next_hop(r(1), r(0)), Some(r(0)));
        assert_eq!(tree.next_hop(r(1), r(9)), Some(r(4)));
        assert!(!tree.is_ancestor(r(1), r(9)), "it is no ancestor any more");
    }

    #[test]
    fn a_new_daemon_joins_although_its_arithmetic_parent_left() {
        let mut tree = ten();
        tree.repair(&set(&[4]));
        tree.grow(11);
        assert_eq!(tree.parent(r(10)), Some(r(1)));
        assert_eq!(tree.children(r(1)), ranks(&[3, 9, 10]));
    }

    #[test]
    fn the_head_never_dies_and_ranks_never_go_away() {
        let mut tree = Tree::with_dead(2, 3, set(&[0, 2]));
        tree.repair(&set(&[0]));
        tree.grow(1);
        assert!(tree.contains(r(0)));
        assert_eq!(tree.size(), 3);
        assert_eq!(tree.dead().to_string(), "2");
    }

    #[test]
    fn an_ancestor_is_strict_and_may_be_asked_about_the_dead() {
        let mut tree = ten();
        assert!(tree.is_ancestor(r(1), r(9)) && tree.is_ancestor(r(0), r(9)));
        assert!(!tree.is_ancestor(r(9), r(9)) && !tree.is_ancestor(r(9), r(1)));
        assert!(!tree.is_ancestor(r(2), r(9)) && !tree.is_ancestor(r(0), r(10)));
        tree.repair(&set(&[9]));
        assert!(tree.is_ancestor(r(4), r(9)));
    }

    #[test]
    fn a_tree_with_the_largest_ranks_does_not_overflow() {
        let tree = Tree::new(64, u32::MAX);
        let last = r(u32::MAX - 1);
        assert_eq!(tree.children(last), []);
        assert_eq!(tree.next_hop(last, r(0)), tree.parent(last));
        assert_eq!(tree.depth(last), 6);
        assert_eq!(tree.subtree_size(r(0)), u32::MAX as usize);
    }
}
