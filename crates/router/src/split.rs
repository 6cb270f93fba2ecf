//! Distribution of one message to many: the destinations behind each neighbour.

use ferrite_types::{DaemonRank, RankSet};

use crate::Tree;
use crate::ranges::Ranges;

/// The destinations of a message from one daemon's view. Dead and unknown ranks are in no part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// True when this daemon is a destination.
    pub here: bool,
    /// Children to send to, ascending, each with the destinations in its sub-tree (never empty).
    pub down: Vec<(DaemonRank, RankSet)>,
    /// Destinations that are not below this daemon: they go to the parent. Always empty at the head.
    pub up: RankSet,
}

impl Tree {
    /// Sorts destinations by neighbour. The work grows with the number of children, ranges and holes, so that a
    /// message to all is as cheap as one to a single daemon.
    #[must_use]
    pub fn split(&self, me: DaemonRank, dests: &RankSet) -> Split {
        let cut = Cut { dests: Ranges::of(dests), dead: Ranges::of(self.holes()) };
        let below = |child| {
            let mut part = RankSet::new();
            self.levels(child).for_each(|level| cut.collect(level, &mut part));
            (child, part)
        };
        Split {
            here: self.contains(me) && dests.contains(me),
            down: self.children(me).into_iter().map(below).filter(|(_, part)| !part.is_empty()).collect(),
            up: self.outside(me, &cut),
        }
    }

    /// Living destinations outside of the sub-tree at `me`, in the gaps between its levels.
    fn outside(&self, me: DaemonRank, cut: &Cut<'_>) -> RankSet {
        let mut part = RankSet::new();
        let mut next = 0;
        for (low, high) in self.levels(me) {
            if next < low {
                cut.collect((next, low - 1), &mut part);
            }
            next = high + 1;
        }
        if next < self.size() {
            cut.collect((next, self.size() - 1), &mut part);
        }
        part
    }
}

struct Cut<'a> {
    dests: Ranges<'a>,
    dead: Ranges<'a>,
}

impl Cut<'_> {
    /// Adds the living destinations of a window to a set.
    fn collect(&self, window: (u32, u32), into: &mut RankSet) {
        for wanted in self.dests.within(window) {
            for (first, last) in self.dead.without(wanted) {
                into.insert_range(first, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &[u32]) -> RankSet {
        list.iter().copied().map(DaemonRank).collect()
    }

    #[test]
    fn everybody_splits_into_the_sub_trees_of_the_children() {
        let split = Tree::new(2, 10).split(DaemonRank(0), &RankSet::range(0, 10));
        assert!(split.here && split.up.is_empty());
        let down: Vec<_> = split.down.iter().map(|(c, s)| (c.0, s.to_string())).collect();
        assert_eq!(down, [(1, "1,3-4,7-9".into()), (2, "2,5-6".into())]);
    }

    #[test]
    fn what_is_not_below_goes_up_and_what_is_dead_goes_nowhere() {
        let mut tree = Tree::new(2, 10);
        tree.repair(&set(&[3]));
        let split = tree.split(DaemonRank(1), &set(&[0, 3, 5, 7, 9, 12]));
        assert!(!split.here);
        assert_eq!(split.up, set(&[0, 5]));
        assert_eq!(split.down, [(DaemonRank(4), set(&[9])), (DaemonRank(7), set(&[7]))]);
    }

    #[test]
    fn no_destination_means_nothing_to_do() {
        assert_eq!(Tree::new(64, 100).split(DaemonRank(3), &RankSet::new()), Split::default());
    }
}
