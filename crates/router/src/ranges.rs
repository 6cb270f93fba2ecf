//! Set algebra for the tree, on the sorted ranges of a set.

use ferrite_types::RankSet;

/// Inclusive ends, sorted, disjoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges<'a>(&'a RankSet);

impl<'a> Ranges<'a> {
    /// The ranges of a set; nothing is copied.
    pub(crate) fn of(set: &'a RankSet) -> Ranges<'a> {
        Ranges(set)
    }

    /// The part of `window` that is in the set, as ranges, ascending.
    pub(crate) fn within(self, window: (u32, u32)) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        self.0.within(window)
    }

    /// The part of `window` that is *not* in the set, as ranges, ascending.
    pub(crate) fn without(self, window: (u32, u32)) -> impl Iterator<Item = (u32, u32)> + use<'a> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use ferrite_types::DaemonRank;

    fn set(list: &[u32]) -> RankSet {
        list.iter().copied().map(DaemonRank).collect()
    }

    #[test]
    fn a_window_is_cut_into_members_and_gaps() {
        let set = set(&[0, 2, 3, 9]);
        let set = Ranges::of(&set);
        assert_eq!(set.within((1, 9)).collect::<Vec<_>>(), [(2, 3), (9, 9)]);
        assert_eq!(set.without((0, 10)).collect::<Vec<_>>(), [(1, 1), (4, 8), (10, 10)]);
        assert_eq!(set.without((2, 3)).count(), 0);
        assert_eq!(set.without((4, 5)).collect::<Vec<_>>(), [(4, 5)]);
    }

    #[test]
    fn the_last_number_is_a_member_like_any_other() {
        let set = set(&[u32::MAX]);
        let gaps = Ranges::of(&set).without((u32::MAX - 1, u32::MAX));
        assert_eq!(gaps.collect::<Vec<_>>(), [(u32::MAX - 1, u32::MAX - 1)]);
    }
}
