//! The changes that a repair makes for one daemon: adopted children, lost children, the new parent.
//!
//! A daemon that learns of deaths needs them to send again, to stop waiting or to report anew. The work grows with
//! the deaths below `me` and the children that they bring, not with the tree.

use ferrite_types::{DaemonRank, RankSet};

use crate::Tree;
use crate::ranges::Ranges;

/// The difference that one repair makes to the neighbours of one daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adoption {
    /// Living children that were further down before, ascending.
    pub new_children: Vec<DaemonRank>,
    /// Children that died, ascending.
    pub lost_children: Vec<DaemonRank>,
    /// The parent, when it has changed; always a living daemon.
    pub new_parent: Option<DaemonRank>,
}

impl Tree {
    /// Repairs like [`Tree::repair`], and returns the changes for `me`: the difference of [`Tree::children`] and
    /// [`Tree::parent`]. Dead ranks, the head and ranks not yet given change nothing. A `me` in the set itself (a
    /// leaving daemon) gets the answer for its former place.
    pub fn repair_adopting(&mut self, dead: &RankSet, me: DaemonRank) -> Adoption {
        self.adopting(dead, me, |tree| tree.repair(dead))
    }

    /// Lets daemons leave like `Tree::let_leave`, and returns the changes for `me`: the daemons lose their places,
    /// and can be reached until they are gone.
    pub fn let_leave_adopting(&mut self, leaving: &RankSet, me: DaemonRank) -> Adoption {
        self.adopting(leaving, me, |tree| tree.let_leave(leaving))
    }

    fn adopting(&mut self, out: &RankSet, me: DaemonRank, take_out: impl FnOnce(&mut Tree)) -> Adoption {
        let parent = self.parent(me);
        let lost_children = self.children_among(out, me);
        take_out(self);
        Adoption {
            new_children: self.living_below(lost_children.iter().map(|rank| (rank.0, rank.0))),
            lost_children,
            new_parent: self.parent(me).filter(|now| Some(*now) != parent),
        }
    }

    /// The members of `set` that are children of `me`, ascending. The search passes only dead ranks with members of
    /// `set` below them, because a daemon may have adopted thousands of children.
    fn children_among(&self, set: &RankSet, me: DaemonRank) -> Vec<DaemonRank> {
        let (set, dead) = (Ranges::of(set), Ranges::of(self.holes()));
        let is_above_members = |places: &(u32, u32)| {
            let mut levels = std::iter::successors(self.window_below(*places), |level| self.window_below(*level));
            levels.any(|level| set.within(level).next().is_some())
        };
        let (mut children, mut open) = (Vec::new(), vec![(me.0, me.0)]);
        while let Some(places) = open.pop() {
            let Some(window) = self.window_below(places) else { continue };
            let living = set.within(window).flat_map(|members| dead.without(members));
            children.extend(living.flat_map(|(first, last)| first..=last).map(DaemonRank));
            open.extend(dead.within(window).filter(is_above_members));
        }
        children.sort_unstable();
        children
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(rank: u32) -> DaemonRank {
        DaemonRank(rank)
    }
    fn ranks(list: &[u32]) -> Vec<DaemonRank> {
        list.iter().copied().map(DaemonRank).collect()
    }
    fn set(list: &[u32]) -> RankSet {
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
    fn the_nearest_living_ancestor_adopts_the_orphans_of_a_branch() {
        let mut tree = ten();
        let adoption = tree.repair_adopting(&set(&[1, 3]), r(0));
        let expected = Adoption { new_children: ranks(&[4, 7, 8]), lost_children: ranks(&[1]), new_parent: None };
        assert_eq!(adoption, expected);
        assert_eq!(tree.holes(), &set(&[1, 3]), "it repairs, too");
    }

    #[test]
    fn an_orphan_gets_its_nearest_living_ancestor() {
        let adoption = ten().repair_adopting(&set(&[1, 3]), r(7));
        assert_eq!(adoption, Adoption { new_parent: Some(r(0)), ..Adoption::default() });
    }

    #[test]
    fn a_daemon_far_from_the_deaths_notices_nothing() {
        assert_eq!(ten().repair_adopting(&set(&[1, 3]), r(2)), Adoption::default());
        assert_eq!(ten().repair_adopting(&set(&[3]), r(9)), Adoption::default());
    }

    #[test]
    fn deaths_known_already_change_nothing() {
        let mut tree = ten();
        tree.repair(&set(&[1]));
        assert_eq!(tree.repair_adopting(&set(&[0, 1, 99]), r(0)), Adoption::default());
    }

    #[test]
    fn a_later_death_hands_on_what_an_earlier_one_left() {
        let mut tree = ten();
        tree.repair(&set(&[3]));
        let adoption = tree.repair_adopting(&set(&[1]), r(0));
        assert_eq!(adoption.new_children, ranks(&[4, 7, 8]));
        assert_eq!(tree.clone().repair_adopting(&set(&[7]), r(0)).lost_children, ranks(&[7]));
    }

    #[test]
    fn a_leaving_daemon_is_answered_as_if_it_still_stood_there() {
        let adoption = ten().repair_adopting(&set(&[1, 3]), r(1));
        assert_eq!(adoption, Adoption { new_children: ranks(&[7, 8]), lost_children: ranks(&[3]), new_parent: None });
    }
}
