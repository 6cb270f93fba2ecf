//! The participant tree: the tree reduced to the daemons that take part in a collective, with the head on top.
//!
//! A collective of three daemons in a DVM of a thousand talks along this tree; daemons in between only pass its
//! frames on. The head always takes part, because it answers.

use ferrite_types::{DaemonRank, RankSet};

use crate::Tree;
use crate::ranges::Ranges;

impl Tree {
    /// The nearest living strict ancestor that takes part; `None` for the head.
    #[must_use]
    pub fn participant_parent(&self, me: DaemonRank, set: &RankSet) -> Option<DaemonRank> {
        self.ancestors(me).find(|rank| takes_part(*rank, set))
    }

    /// The living members of `set` whose participant parent is `me`; none when `me` takes no part.
    #[must_use]
    pub fn participant_children(&self, me: DaemonRank, set: &RankSet) -> RankSet {
        let mut children = RankSet::new();
        if !self.contains(me) || !takes_part(me, set) {
            return children;
        }
        let members = Ranges::of(set);
        let mut open = vec![me];
        while let Some(place) = open.pop() {
            for below in self.places_below(place) {
                if set.contains(below) && self.contains(below) {
                    children.insert(below);
                } else if self.levels(below).any(|level| members.within(level).next().is_some()) {
                    open.push(below);
                }
            }
        }
        children
    }
}

fn takes_part(rank: DaemonRank, set: &RankSet) -> bool {
    rank == DaemonRank::HEAD || set.contains(rank)
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

    #[test]
    fn bystanders_are_skipped() {
        // 9 hangs below 4 below 1 below 0; only 1, 7 and 9 take part.
        let (tree, part) = (Tree::new(2, 10), set(&[1, 7, 9]));
        assert_eq!(tree.participant_parent(r(9), &part), Some(r(1)));
        assert_eq!(tree.participant_parent(r(1), &part), Some(r(0)));
        assert_eq!(tree.participant_parent(r(0), &part), None);
        assert_eq!(tree.participant_children(r(1), &part), set(&[7, 9]));
        assert_eq!(tree.participant_children(r(0), &part), set(&[1]));
        assert_eq!(tree.participant_children(r(4), &part), RankSet::new());
    }

    #[test]
    fn a_dead_participant_is_replaced_by_those_below_it() {
        let mut tree = Tree::new(2, 10);
        tree.repair(&set(&[1]));
        let part = set(&[1, 7, 9]);
        assert_eq!(tree.participant_children(r(0), &part), set(&[7, 9]));
        assert_eq!(tree.participant_parent(r(9), &part), Some(r(0)));
        assert_eq!(tree.participant_children(r(1), &part), RankSet::new());
    }
}
