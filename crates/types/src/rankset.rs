//! A set of ranks as sorted ranges: a thousand neighbours cost one pair of numbers.

mod encoding;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DaemonRank;

/// A set of daemon ranks. Iteration is ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "encoding::Encoded", into = "encoding::Encoded")]
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

    /// The set as inclusive ranges, ascending, none touching another.
    #[must_use]
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Adds the ranks from `first` to `last`, both included; nothing when `first` is larger.
    pub fn insert_range(&mut self, first: u32, last: u32) {
        if first > last {
            return;
        }
        // Ranges that overlap or touch are merged.
        let from = self.ranges.partition_point(|(_, end)| *end < first && first - *end > 1);
        let count = self.ranges[from..].partition_point(|(start, _)| *start <= last || *start - last == 1);
        let Some(joined) = self.ranges.get(from..from + count).and_then(|r| Some((r.first()?.0, r.last()?.1))) else {
            self.ranges.insert(from, (first, last));
            return;
        };
        self.ranges[from] = (joined.0.min(first), joined.1.max(last));
        self.ranges.drain(from + 1..from + count);
    }

    /// Adds all ranks of another set. A single range is inserted; several are merged in one pass, because each
    /// insertion into the middle would move all ranges behind it.
    pub fn insert_all(&mut self, other: &RankSet) {
        if let [(first, last)] = other.ranges[..] {
            return self.insert_range(first, last);
        }
        let old = std::mem::take(&mut self.ranges);
        self.ranges.reserve(old.len() + other.ranges.len());
        let (mut left, mut right) = (old.iter().peekable(), other.ranges.iter().peekable());
        while let Some((first, last)) = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) if l.0 <= r.0 => left.next(),
            (_, Some(_)) => right.next(),
            (_, None) => left.next(),
        } {
            match self.ranges.last_mut() {
                Some((_, end)) if *first <= *end || *first - *end == 1 => *end = (*last).max(*end),
                Some(_) | None => self.ranges.push((*first, *last)),
            }
        }
    }

    /// The lowest rank.
    #[must_use]
    pub fn first(&self) -> Option<DaemonRank> {
        self.ranges.first().map(|(a, _)| DaemonRank(*a))
    }
}

impl FromIterator<DaemonRank> for RankSet {
    fn from_iter<I: IntoIterator<Item = DaemonRank>>(ranks: I) -> Self {
        // Sorted ranks are appended; a hundred thousand in any order would take seconds to move.
        let mut ranks: Vec<DaemonRank> = ranks.into_iter().collect();
        ranks.sort_unstable();
        let mut set = RankSet::new();
        for DaemonRank(rank) in ranks {
            match set.ranges.last_mut() {
                Some((_, end)) if rank <= *end => {}
                Some((_, end)) if rank == *end + 1 => *end = rank,
                _ => set.ranges.push((rank, rank)),
            }
        }
        set
    }
}

impl Extend<DaemonRank> for RankSet {
    fn extend<I: IntoIterator<Item = DaemonRank>>(&mut self, ranks: I) {
        self.insert_all(&ranks.into_iter().collect());
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

    #[test]
    fn a_range_swallows_what_it_overlaps_or_touches() {
        let mut s = set(&[0, 2, 5, 9, 12]);
        s.insert_range(3, 8);
        assert_eq!(s.to_string(), "0,2-9,12");
        s.insert_range(4, 5);
        s.insert_range(14, 13);
        assert_eq!(s.to_string(), "0,2-9,12");
        s.insert_range(u32::MAX, u32::MAX);
        s.insert_range(0, u32::MAX);
        assert_eq!(s.ranges(), [(0, u32::MAX)]);
    }

    /// All subsets of seven ranks, two at a time, each equal to one insertion after another.
    #[test]
    fn the_union_is_that_of_the_members() {
        let subset = |bits: u32| (0..7).filter(move |bit| bits >> bit & 1 == 1).map(DaemonRank);
        for (left, right) in (0..128).flat_map(|left| (0..128).map(move |right| (left, right))) {
            let mut joined: RankSet = subset(left).collect();
            joined.insert_all(&subset(right).collect());
            assert_eq!(joined, subset(left | right).collect());
        }
    }
}
