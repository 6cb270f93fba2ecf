//! The routing tree: a radix tree over ranks that are only ever appended, with holes where daemons left.
//!
//! Rank `r` hangs below `(r - 1) / radix`. A dead rank keeps its place in the arithmetic and loses its place in the
//! tree: the ranks below it belong to its nearest living ancestor. So adoptions need no messages, and a new daemon
//! whose arithmetic parent left long ago joins like any other.
//!
//! A rank without a place is a *hole*: its daemon has departed, or is leaving (then messages still reach it, over the
//! links that it had), or is on its way (then its place is kept for it).

use ferrite_types::{DaemonRank, RankSet};

use crate::ranges::Ranges;

/// Radix tree over append-only ranks `0..size` with holes. Equal values give equal trees on
/// every daemon. The head (rank 0) is always alive: its loss ends the DVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    radix: u32,
    size: u32,
    holes: RankSet,
    /// Holes whose daemons are on their way.
    coming: RankSet,
    /// Holes whose daemons are leaving.
    leaving: RankSet,
}

impl Tree {
    /// A tree without holes. `radix` is raised to 1 when it is zero, `size` likewise.
    #[must_use]
    pub fn new(radix: u32, size: u32) -> Tree {
        Tree::with_holes(radix, size, RankSet::new())
    }

    /// A tree with holes, as a new daemon builds it from its ticket or the wireup.
    #[must_use]
    pub fn with_holes(radix: u32, size: u32, mut holes: RankSet) -> Tree {
        holes.remove(DaemonRank::HEAD);
        Tree { radix: radix.max(1), size: size.max(1), holes, coming: RankSet::new(), leaving: RankSet::new() }
    }

    /// The most arithmetic children of a daemon; adopted ones come on top.
    #[must_use]
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// The number of ranks ever given, dead ones included.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The ranks without a place: departed, leaving, or on their way.
    #[must_use]
    pub fn holes(&self) -> &RankSet {
        &self.holes
    }

    /// The holes whose daemons are on their way.
    #[must_use]
    pub fn coming(&self) -> &RankSet {
        &self.coming
    }

    /// True for a rank whose daemon is gone for good.
    #[must_use]
    pub fn has_departed(&self, rank: DaemonRank) -> bool {
        self.holes.contains(rank) && !self.coming.contains(rank) && !self.leaving.contains(rank)
    }

    /// True for a rank whose daemon was told to leave and may still be there.
    #[must_use]
    pub fn is_leaving(&self, rank: DaemonRank) -> bool {
        self.leaving.contains(rank)
    }

    /// Appends ranks up to `size`. A smaller number changes nothing: ranks never go away.
    pub fn grow(&mut self, size: u32) {
        self.size = self.size.max(size);
    }

    /// Keeps places for `count` daemons: the next ranks, except for those below a place that is kept for another
    /// daemon. A daemon must not be moved when a later one comes, so the ranks passed over stay holes. `None` when
    /// all free places are below such a place: then the other daemon has to come, or to be given up, first (spec
    /// E19).
    pub fn keep_places(&mut self, count: u32) -> Option<RankSet> {
        if !self.has_free_place() {
            return None;
        }
        let mut kept = RankSet::new();
        let mut next = self.size;
        for _ in 0..count {
            self.size = next + 1;
            while self.places_above(DaemonRank(next)).any(|place| self.coming.contains(place)) {
                self.holes.insert(DaemonRank(next));
                next += 1;
                self.size = next + 1;
            }
            kept.insert(DaemonRank(next));
            next += 1;
        }
        self.holes.insert_all(&kept);
        self.coming.insert_all(&kept);
        Some(kept)
    }

    /// True when a place is free that is not below a daemon on its way: below a present rank with arithmetic children
    /// not given yet.
    fn has_free_place(&self) -> bool {
        let last = self.size - 1;
        let is_kept = |place: DaemonRank| self.coming.contains(place);
        let is_free = |place: DaemonRank| !is_kept(place) && !self.places_above(place).any(is_kept);
        self.coming.is_empty() || (last / self.radix..=last).map(DaemonRank).any(is_free)
    }

    /// Gives the daemons that have come the places that were kept for them.
    pub fn fill(&mut self, come: &RankSet) {
        for rank in come.iter().filter(|rank| self.coming.contains(*rank)).collect::<Vec<_>>() {
            self.coming.remove(rank);
            self.holes.remove(rank);
        }
    }

    /// Takes over the head's newer shape of the DVM.
    pub fn reshape(&mut self, size: u32, mut holes: RankSet, coming: RankSet) {
        holes.remove(DaemonRank::HEAD);
        self.grow(size);
        self.leaving = self.leaving.iter().filter(|rank| holes.contains(*rank)).collect();
        (self.holes, self.coming) = (holes, coming);
    }

    /// Removes a whole set of ranks in one pass. Repeated ranks and the head have no effect. The cost, with that of
    /// the neighbours afterwards, grows with the ranges of both sets, not with the tree (docs/benchmarks.md).
    pub fn repair(&mut self, dead: &RankSet) {
        self.holes.insert_all(dead);
        self.holes.remove(DaemonRank::HEAD);
        for marks in [&mut self.coming, &mut self.leaving] {
            marks.remove_all(dead);
        }
    }

    /// Removes ranks as [`Tree::repair`] does; their daemons are still there for a while.
    pub(crate) fn let_leave(&mut self, ranks: &RankSet) {
        let mut unknown = RankSet::new();
        unknown.insert_range(self.size, u32::MAX);
        let mut living = ranks.clone();
        living.remove_all(&self.holes);
        living.remove_all(&unknown);
        self.repair(&living);
        self.leaving.insert_all(&living);
        self.leaving.remove(DaemonRank::HEAD);
    }

    /// Removes a leaving daemon that is gone.
    pub fn departed(&mut self, rank: DaemonRank) {
        self.leaving.remove(rank);
    }

    /// True for a living rank that was given.
    #[must_use]
    pub fn contains(&self, rank: DaemonRank) -> bool {
        rank.0 < self.size && !self.holes.contains(rank)
    }

    /// All living ranks.
    #[must_use]
    pub fn living(&self) -> RankSet {
        self.subtree(DaemonRank::HEAD)
    }

    /// The nearest living ancestor; `None` for the head. A dead rank has one too, which adopts its orphans.
    #[must_use]
    pub fn parent(&self, rank: DaemonRank) -> Option<DaemonRank> {
        self.ancestors(rank).next()
    }

    /// Living ancestors, nearest first, the head last: the daemons to call when a parent is lost.
    pub fn ancestors(&self, rank: DaemonRank) -> impl Iterator<Item = DaemonRank> + '_ {
        self.places_above(rank).filter(|r| self.contains(*r))
    }

    /// Living children with those adopted from dead ranks, ascending.
    #[must_use]
    pub fn children(&self, rank: DaemonRank) -> Vec<DaemonRank> {
        self.living_below([(rank.0, rank.0)])
    }

    /// True when the path from the head to `rank` passes through `ancestor`, which lives and is not `rank` itself.
    /// `rank` may be dead.
    #[must_use]
    pub fn is_ancestor(&self, ancestor: DaemonRank, rank: DaemonRank) -> bool {
        self.contains(ancestor) && self.stands_below(rank, ancestor)
    }

    /// The neighbour of `me` on the path to `dest`; `None` when `dest` is `me`, dead or unknown. `me` may be dead (a
    /// leaving daemon still sends its goodbye).
    #[must_use]
    pub fn next_hop(&self, me: DaemonRank, dest: DaemonRank) -> Option<DaemonRank> {
        if self.is_leaving(dest) {
            return self.next_hop_out(me, dest);
        }
        if dest == me || !self.contains(dest) {
            return None;
        }
        let mut hop = dest;
        // Ranks above are lower: a leaf sees at the first place that the path goes up.
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

    /// The next hop to a leaving daemon: to the survivor that it hung on, and from there along the leaving branch.
    fn next_hop_out(&self, me: DaemonRank, dest: DaemonRank) -> Option<DaemonRank> {
        let mut hop = dest;
        for place in self.places_above(dest) {
            if place == me {
                return (dest != me).then_some(hop);
            }
            if self.contains(place) {
                return self.next_hop(me, place);
            }
            if self.is_leaving(place) {
                hop = place;
            }
        }
        None
    }

    /// The number of levels of places below a rank, living or not.
    #[must_use]
    pub fn height(&self, rank: DaemonRank) -> u32 {
        (self.levels(rank).count() as u32).saturating_sub(1)
    }

    /// Hops to the head.
    #[must_use]
    pub fn depth(&self, rank: DaemonRank) -> u32 {
        self.ancestors(rank).count() as u32
    }

    /// The living members of the sub-tree at `rank`, itself included when it lives.
    #[must_use]
    pub fn subtree(&self, rank: DaemonRank) -> RankSet {
        let dead = Ranges::of(&self.holes);
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
        let dead = Ranges::of(&self.holes);
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

    /// The nearest living ranks below these ranges of places, whether the places themselves live or not; ascending.
    /// Neighbours that died together are passed together.
    pub(crate) fn living_below(&self, tops: impl IntoIterator<Item = (u32, u32)>) -> Vec<DaemonRank> {
        let dead = Ranges::of(&self.holes);
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

    /// The places above a rank, nearest first, living or not. Empty for a rank never given.
    pub(crate) fn places_above(&self, rank: DaemonRank) -> impl Iterator<Item = DaemonRank> + use<> {
        let radix = self.radix;
        let above = move |r: &u32| r.checked_sub(1).map(|r| r / radix);
        let known = Some(rank.0).filter(|r| *r < self.size);
        std::iter::successors(known.as_ref().and_then(above), above).map(DaemonRank)
    }

    /// True when `rank` is strictly below `above`, whether the ranks in between live or not.
    #[must_use]
    pub fn stands_below(&self, rank: DaemonRank, above: DaemonRank) -> bool {
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
        let mut tree = Tree::with_holes(2, 3, set(&[0, 2]));
        tree.repair(&set(&[0]));
        tree.grow(1);
        assert!(tree.contains(r(0)));
        assert_eq!(tree.size(), 3);
        assert_eq!(tree.holes().to_string(), "2");
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

    #[test]
    fn places_are_kept_and_filled_in_any_order_without_moving_anybody() {
        let mut tree = Tree::new(2, 3);
        let (slow, fast) = (tree.keep_places(1).unwrap(), tree.keep_places(5).unwrap());
        // 7 and 8 stand below 3, which has not come yet.
        assert_eq!((slow.to_string(), fast.to_string()), ("3".to_owned(), "4-6,9-10".to_owned()));
        tree.fill(&fast);
        assert_eq!(tree.living().to_string(), "0-2,4-6,9-10");
        assert!(!tree.has_departed(r(3)) && tree.has_departed(r(7)));
        let parents = |tree: &Tree| tree.living().iter().map(|rank| (rank, tree.parent(rank))).collect::<Vec<_>>();
        let before = parents(&tree);
        tree.fill(&slow);
        let after: Vec<_> = parents(&tree).into_iter().filter(|(rank, _)| *rank != r(3)).collect();
        assert_eq!(before, after, "who was there keeps its parent");
        assert!(tree.coming().is_empty());
    }

    #[test]
    fn the_height_counts_the_levels_below() {
        let mut tree = ten();
        assert_eq!([0, 1, 3, 7].map(|rank| tree.height(r(rank))), [3, 2, 1, 0]);
        tree.repair(&set(&[3, 7, 8]));
        assert_eq!(tree.height(r(1)), 2, "places, not daemons");
        assert_eq!(tree.height(r(99)), 0);
    }

    #[test]
    fn a_place_that_was_given_up_is_a_hole_for_good() {
        let mut tree = Tree::new(2, 3);
        let kept = tree.keep_places(2).unwrap();
        tree.repair(&kept);
        tree.fill(&kept);
        assert!(tree.has_departed(r(3)) && tree.has_departed(r(4)));
        assert_eq!(tree.keep_places(1).unwrap().to_string(), "5", "and those below it may be given");
    }

    #[test]
    fn nobody_gets_a_place_while_all_are_below_those_that_are_kept() {
        let mut tree = Tree::new(2, 1);
        let kept = tree.keep_places(2).unwrap();
        assert_eq!((kept.to_string(), tree.keep_places(1)), ("1-2".to_owned(), None));
        tree.repair(&set(&[1]));
        assert_eq!(tree.keep_places(2).unwrap().to_string(), "3-4", "below a place that nobody will have");
        tree.fill(&set(&[2]));
        assert!(tree.keep_places(1).is_some());
    }

    #[test]
    fn a_shape_that_was_told_is_the_heads() {
        let mut head = Tree::new(2, 3);
        let mut member = head.clone();
        let (first, second) = (head.keep_places(1).unwrap(), head.keep_places(1).unwrap());
        head.fill(&second);
        member.reshape(head.size(), head.holes().clone(), head.coming().clone());
        assert_eq!(member, head);
        head.fill(&first);
        member.reshape(head.size(), head.holes().clone(), head.coming().clone());
        assert_eq!(member, head);
    }

    #[test]
    fn the_leaving_are_nobodys_children_and_still_to_be_reached() {
        let mut tree = ten();
        // 4 survives between 1 and 9, which leave.
        tree.let_leave(&set(&[1, 3, 9]));
        assert_eq!(tree.children(r(0)), ranks(&[2, 4, 7, 8]));
        assert!(tree.is_leaving(r(3)) && !tree.has_departed(r(3)));
        assert_eq!(tree.next_hop(r(0), r(3)), Some(r(1)), "along the branch that leaves");
        assert_eq!(tree.next_hop(r(1), r(3)), Some(r(3)));
        assert_eq!(tree.next_hop(r(0), r(9)), Some(r(4)), "by the survivor that it hangs on");
        assert_eq!(tree.next_hop(r(4), r(9)), Some(r(9)));
        assert_eq!(tree.next_hop(r(2), r(3)), Some(r(0)));
        tree.departed(r(3));
        assert!(tree.has_departed(r(3)));
        assert_eq!(tree.next_hop(r(0), r(3)), None);
    }
}
