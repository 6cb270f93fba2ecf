//! A set of ranks as sorted ranges: a thousand neighbours cost one pair of numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DaemonRank;

/// A set of daemon ranks. Iteration is ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RankSet {
    /// Sorted, disjoint, not touching; both ends inclusive.
    ranges: Vec<(u32, u32)>,
}

impl RankSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        RankSet { ranges: Vec::new() }
    }

    /// The ranks `first..end`.
    #[must_use]
    pub fn range(first: u32, end: u32) -> Self {
        if first < end { RankSet { ranges: vec![(first, end - 1)] } } else { RankSet::new() }
    }

    /// Number of ranks in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|(a, b)| (b - a) as usize + 1).sum()
    }

    /// True when no rank is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// True when `rank` is in the set.
    #[must_use]
    pub fn contains(&self, rank: DaemonRank) -> bool {
        let at = self.ranges.partition_point(|(_, end)| *end < rank.0);
        self.ranges.get(at).is_some_and(|(start, _)| *start <= rank.0)
    }

    /// Adds a rank; false when it was there.
    pub fn insert(&mut self, rank: DaemonRank) -> bool {
        let r = rank.0;
        let at = self.ranges.partition_point(|(_, end)| *end < r);
        if self.ranges.get(at).is_some_and(|(start, _)| *start <= r) {
            return false;
        }
        let joins_left = at > 0 && self.ranges[at - 1].1 + 1 == r;
        let joins_right = self.ranges.get(at).is_some_and(|(start, _)| r + 1 == *start);
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = r,
            (false, true) => self.ranges[at].0 = r,
            (false, false) => self.ranges.insert(at, (r, r)),
        }
        true
    }

    /// Removes a rank; false when it was not there.
    pub fn remove(&mut self, rank: DaemonRank) -> bool {
        let r = rank.0;
        let at = self.ranges.partition_point(|(_, end)| *end < r);
        let Some((start, end)) = self.ranges.get(at).copied().filter(|(start, _)| *start <= r) else {
            return false;
        };
        match (start == r, end == r) {
            (true, true) => {
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at].0 = r + 1,
            (false, true) => self.ranges[at].1 = r - 1,
            (false, false) => {
                self.ranges[at].1 = r - 1;
                self.ranges.insert(at + 1, (r + 1, end));
            }
        }
        true
    }

    /// All ranks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = DaemonRank> + '_ {
        self.ranges.iter().flat_map(|(a, b)| *a..=*b).map(DaemonRank)
    }

    /// The lowest rank.
    #[must_use]
    pub fn first(&self) -> Option<DaemonRank> {
        self.ranges.first().map(|(a, _)| DaemonRank(*a))
    }
}

impl FromIterator<DaemonRank> for RankSet {
    fn from_iter<I: IntoIterator<Item = DaemonRank>>(ranks: I) -> Self {
        let mut set = RankSet::new();
        for rank in ranks {
            set.insert(rank);
        }
        set
    }
}

impl Extend<DaemonRank> for RankSet {
    fn extend<I: IntoIterator<Item = DaemonRank>>(&mut self, ranks: I) {
        for rank in ranks {
            self.insert(rank);
        }
    }
}

/// `0-3,7`
impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (a, b)) in self.ranges.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            if a == b { write!(f, "{comma}{a}")? } else { write!(f, "{comma}{a}-{b}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranks: &[u32]) -> RankSet {
        ranks.iter().copied().map(DaemonRank).collect()
    }

    #[test]
    fn neighbours_merge_into_one_range_whatever_the_order() {
        assert_eq!(set(&[5, 3, 4]).to_string(), "3-5");
        assert_eq!(set(&[0, 2, 1, 9]).to_string(), "0-2,9");
    }

    #[test]
    fn removing_from_the_middle_splits_a_range() {
        let mut s = RankSet::range(0, 5);
        assert!(s.remove(DaemonRank(2)));
        assert!(!s.remove(DaemonRank(2)));
        assert_eq!(s.to_string(), "0-1,3-4");
        assert_eq!(s.len(), 4);
        assert!(!s.contains(DaemonRank(2)) && s.contains(DaemonRank(3)));
    }
}
