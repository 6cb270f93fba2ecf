//! The set algebra that the tree needs, on plain sorted ranges. Knows nothing of trees.

use ferrite_types::{DaemonRank, RankSet};

/// Inclusive ends, sorted, disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// The ranges of a set; constant time when it is one range, linear in its members otherwise.
    pub(crate) fn of(set: &RankSet) -> Ranges {
        let Some(DaemonRank(first)) = set.first() else {
            return Ranges::default();
        };
        // `RankSet` is canonical, so a set that equals a range *is* that range.
        let end = first as usize + set.len();
        if let Ok(end) = u32::try_from(end)
            && *set == RankSet::range(first, end)
        {
            return Ranges(vec![(first, end - 1)]);
        }
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for DaemonRank(rank) in set.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == rank => *last = rank,
                Some(_) | None => ranges.push((rank, rank)),
            }
        }
        Ranges(ranges)
    }

    /// The part of `window` that is in the set, as ranges, ascending.
    pub(crate) fn within(&self, window: (u32, u32)) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (low, high) = window;
        let at = self.0.partition_point(|(_, last)| *last < low);
        self.0[at..]
            .iter()
            .take_while(move |(first, _)| *first <= high)
            .map(move |(first, last)| ((*first).max(low), (*last).min(high)))
    }

    /// The part of `window` that is *not* in the set, as ranges, ascending.
    pub(crate) fn without(&self, window: (u32, u32)) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (low, high) = (u64::from(window.0), u64::from(window.1));
        // One pseudo-hole after the window closes the last gap.
        let holes =
            self.within(window).map(|(a, b)| (u64::from(a), u64::from(b))).chain(std::iter::once((high + 1, high + 1)));
        holes
            .scan(low, |next, (first, last)| {
                let gap = (*next, first);
                *next = last + 1;
                Some(gap)
            })
            .filter(|(from, end)| from < end)
            .map(|(from, end)| (from as u32, (end - 1) as u32))
    }
}

/// Adds a range to a set that is being built; a first range costs nothing.
pub(crate) fn add(set: &mut RankSet, (first, last): (u32, u32)) {
    if set.is_empty() && last < u32::MAX {
        *set = RankSet::range(first, last + 1);
    } else {
        set.extend((first..=last).map(DaemonRank));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[u32]) -> Ranges {
        Ranges::of(&list.iter().copied().map(DaemonRank).collect())
    }

    #[test]
    fn a_set_and_its_ranges_say_the_same() {
        assert_eq!(ranges(&[]).0, []);
        assert_eq!(ranges(&[3, 4, 5]).0, [(3, 5)]);
        assert_eq!(ranges(&[0, 2, 3, 9]).0, [(0, 0), (2, 3), (9, 9)]);
    }

    #[test]
    fn a_window_is_cut_into_members_and_gaps() {
        let set = ranges(&[0, 2, 3, 9]);
        assert_eq!(set.within((1, 9)).collect::<Vec<_>>(), [(2, 3), (9, 9)]);
        assert_eq!(set.without((0, 10)).collect::<Vec<_>>(), [(1, 1), (4, 8), (10, 10)]);
        assert_eq!(set.without((2, 3)).count(), 0);
        assert_eq!(set.without((4, 5)).collect::<Vec<_>>(), [(4, 5)]);
    }

    #[test]
    fn the_last_number_is_a_member_like_any_other() {
        let set = ranges(&[u32::MAX]);
        assert_eq!(set.without((u32::MAX - 1, u32::MAX)).collect::<Vec<_>>(), [(u32::MAX - 1, u32::MAX - 1)]);
        let mut built = RankSet::new();
        add(&mut built, (u32::MAX, u32::MAX));
        assert!(built.contains(DaemonRank(u32::MAX)));
    }
}
