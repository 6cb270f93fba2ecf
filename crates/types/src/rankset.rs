//! A set of ranks as sorted ranges: a thousand neighbours cost one pair of numbers. Many scattered ranks are bits
//! instead, when they take less than half of the memory of ranges.

mod bits;
mod encoding;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use self::bits::Bits;
use crate::DaemonRank;

/// The most ranges that are never replaced by bits.
const FEW_RANGES: usize = 64;

/// A set of daemon ranks. Iteration is ascending.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "encoding::Encoded", into = "encoding::Encoded")]
pub struct RankSet {
    form: Form,
}

#[derive(Clone)]
enum Form {
    /// Sorted, disjoint, not touching; both ends inclusive.
    Ranges(Vec<(u32, u32)>),
    /// Never without members.
    Bits(Bits),
}

impl Default for Form {
    fn default() -> Form {
        Form::Ranges(Vec::new())
    }
}

impl RankSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        RankSet { form: Form::Ranges(Vec::new()) }
    }

    /// The ranks `first..end`.
    #[must_use]
    pub fn range(first: u32, end: u32) -> Self {
        let ranges = if first < end { vec![(first, end - 1)] } else { Vec::new() };
        RankSet { form: Form::Ranges(ranges) }
    }

    /// The set of these ranges, which are sorted, disjoint and do not touch.
    fn of_ranges(ranges: Vec<(u32, u32)>) -> RankSet {
        let (Some((first, _)), Some((_, last))) = (ranges.first(), ranges.last()) else { return RankSet::new() };
        if ranges.len() <= FEW_RANGES || Bits::words_between(*first, *last) > ranges.len() / 2 {
            return RankSet { form: Form::Ranges(ranges) };
        }
        let mut bits = Bits::between(*first, *last);
        ranges.iter().for_each(|(first, last)| bits.insert_range(*first, *last));
        RankSet { form: Form::Bits(bits) }
    }

    /// Number of ranks in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Ranges(ranges) => ranges.iter().map(|(a, b)| (b - a) as usize + 1).sum(),
            Form::Bits(bits) => bits.len(),
        }
    }

    /// True when no rank is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.form, Form::Ranges(ranges) if ranges.is_empty())
    }

    /// True when `rank` is in the set.
    #[must_use]
    pub fn contains(&self, rank: DaemonRank) -> bool {
        match &self.form {
            Form::Ranges(ranges) => {
                let at = ranges.partition_point(|(_, end)| *end < rank.0);
                ranges.get(at).is_some_and(|(start, _)| *start <= rank.0)
            }
            Form::Bits(bits) => bits.contains(rank.0),
        }
    }

    /// Adds a rank; false when it was there.
    pub fn insert(&mut self, rank: DaemonRank) -> bool {
        let r = rank.0;
        if let Form::Bits(bits) = &mut self.form
            && bits.reach(r)
        {
            return bits.insert(r);
        }
        self.change_ranges(|ranges| {
            let at = ranges.partition_point(|(_, end)| *end < r);
            if ranges.get(at).is_some_and(|(start, _)| *start <= r) {
                return false;
            }
            let joins_left = at > 0 && ranges[at - 1].1 + 1 == r;
            let joins_right = ranges.get(at).is_some_and(|(start, _)| r + 1 == *start);
            match (joins_left, joins_right) {
                (true, true) => {
                    ranges[at - 1].1 = ranges[at].1;
                    ranges.remove(at);
                }
                (true, false) => ranges[at - 1].1 = r,
                (false, true) => ranges[at].0 = r,
                (false, false) => ranges.insert(at, (r, r)),
            }
            true
        })
    }

    /// Removes a rank; false when it was not there.
    pub fn remove(&mut self, rank: DaemonRank) -> bool {
        let r = rank.0;
        if let Form::Bits(bits) = &mut self.form {
            let was_there = bits.remove(r);
            if was_there && bits.is_empty() {
                self.form = Form::default();
            }
            return was_there;
        }
        self.change_ranges(|ranges| {
            let at = ranges.partition_point(|(_, end)| *end < r);
            let Some((start, end)) = ranges.get(at).copied().filter(|(start, _)| *start <= r) else {
                return false;
            };
            match (start == r, end == r) {
                (true, true) => {
                    ranges.remove(at);
                }
                (true, false) => ranges[at].0 = r + 1,
                (false, true) => ranges[at].1 = r - 1,
                (false, false) => {
                    ranges[at].1 = r - 1;
                    ranges.insert(at + 1, (r + 1, end));
                }
            }
            true
        })
    }

    /// All ranks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = DaemonRank> + '_ {
        self.ranges().flat_map(|(a, b)| a..=b).map(DaemonRank)
    }

    /// The set as inclusive ranges, ascending, none touching another.
    pub fn ranges(&self) -> Within<'_> {
        self.within((0, u32::MAX))
    }

    /// The part of `window`, both ends included, that is in the set, as inclusive ranges, ascending. The work for the
    /// first is that of a search, however many are before it.
    #[must_use]
    pub fn within(&self, window: (u32, u32)) -> Within<'_> {
        let (low, high) = window;
        let left = match &self.form {
            Form::Ranges(ranges) => Left::Ranges(&ranges[ranges.partition_point(|(_, last)| *last < low)..]),
            Form::Bits(bits) => Left::Bits(bits),
        };
        Within { left, low: Some(low), high }
    }

    /// Adds the ranks from `first` to `last`, both included; nothing when `first` is larger.
    pub fn insert_range(&mut self, first: u32, last: u32) {
        if first > last {
            return;
        }
        if let Form::Bits(bits) = &mut self.form
            && bits.reach(first)
            && bits.reach(last)
        {
            return bits.insert_range(first, last);
        }
        self.change_ranges(|ranges| {
            // Ranges that overlap or touch are merged.
            let from = ranges.partition_point(|(_, end)| *end < first && first - *end > 1);
            let count = ranges[from..].partition_point(|(start, _)| *start <= last || *start - last == 1);
            let Some(joined) = ranges.get(from..from + count).and_then(|r| Some((r.first()?.0, r.last()?.1))) else {
                ranges.insert(from, (first, last));
                return;
            };
            ranges[from] = (joined.0.min(first), joined.1.max(last));
            ranges.drain(from + 1..from + count);
        });
    }

    /// Adds all ranks of another set. A single range is inserted; several are merged in one pass, because each
    /// insertion into the middle would move all ranges behind it.
    pub fn insert_all(&mut self, other: &RankSet) {
        match (&mut self.form, &other.form) {
            (Form::Bits(bits), Form::Bits(more)) => {
                if bits.insert_all(more) {
                    return;
                }
            }
            (_, Form::Ranges(ranges)) => {
                if let [(first, last)] = ranges[..] {
                    return self.insert_range(first, last);
                }
            }
            (Form::Ranges(_), Form::Bits(_)) => {}
        }
        let mut merged: Vec<(u32, u32)> = Vec::new();
        let (mut left, mut right) = (self.ranges().peekable(), other.ranges().peekable());
        while let Some((first, last)) = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) if l.0 <= r.0 => left.next(),
            (_, Some(_)) => right.next(),
            (_, None) => left.next(),
        } {
            match merged.last_mut() {
                Some((_, end)) if first <= *end || first - *end == 1 => *end = last.max(*end),
                Some(_) | None => merged.push((first, last)),
            }
        }
        *self = RankSet::of_ranges(merged);
    }

    /// Removes all ranks of another set.
    pub fn remove_all(&mut self, other: &RankSet) {
        if let (Form::Bits(bits), Form::Bits(gone)) = (&mut self.form, &other.form) {
            bits.remove_all(gone);
            if bits.is_empty() {
                self.form = Form::default();
            }
            return;
        }
        let mut left: Vec<(u32, u32)> = Vec::new();
        for (first, last) in self.ranges() {
            let mut next = Some(first);
            for (from, to) in other.within((first, last)) {
                if let Some(next) = next.filter(|next| *next < from) {
                    left.push((next, from - 1));
                }
                next = to.checked_add(1);
            }
            left.extend(next.filter(|next| *next <= last).map(|next| (next, last)));
        }
        *self = RankSet::of_ranges(left);
    }

    /// The lowest rank.
    #[must_use]
    pub fn first(&self) -> Option<DaemonRank> {
        self.ranges().next().map(|(a, _)| DaemonRank(a))
    }

    /// Changes the set in the form of ranges, and chooses the form anew when they are many.
    fn change_ranges<T>(&mut self, change: impl FnOnce(&mut Vec<(u32, u32)>) -> T) -> T {
        if let Form::Bits(_) = self.form {
            self.form = Form::Ranges(self.ranges().collect());
        }
        let Form::Ranges(ranges) = &mut self.form else { unreachable!("bits have become ranges") };
        let result = change(ranges);
        if ranges.len() > FEW_RANGES {
            *self = RankSet::of_ranges(std::mem::take(ranges));
        }
        result
    }
}

/// The ranges of a set in a window, ascending; see [`RankSet::within`].
#[derive(Clone)]
pub struct Within<'a> {
    left: Left<'a>,
    /// The first rank that is not passed; `None` = all are.
    low: Option<u32>,
    /// The last rank of the window.
    high: u32,
}

#[derive(Clone)]
enum Left<'a> {
    Ranges(&'a [(u32, u32)]),
    Bits(&'a Bits),
}

impl Iterator for Within<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let (low, high) = (self.low?, self.high);
        let (first, last) = match &mut self.left {
            Left::Ranges(left) => left.split_off_first().copied()?,
            Left::Bits(bits) => bits.next_range(low)?,
        };
        if first > high {
            self.low = None;
            return None;
        }
        self.low = last.checked_add(1);
        Some((first.max(low), last.min(high)))
    }
}

impl PartialEq for RankSet {
    fn eq(&self, other: &RankSet) -> bool {
        self.ranges().eq(other.ranges())
    }
}

impl Eq for RankSet {}

impl PartialOrd for RankSet {
    fn partial_cmp(&self, other: &RankSet) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RankSet {
    fn cmp(&self, other: &RankSet) -> Ordering {
        self.ranges().cmp(other.ranges())
    }
}

impl Hash for RankSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ranges().for_each(|range| range.hash(state));
    }
}

impl fmt::Debug for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RankSet({self})")
    }
}

impl FromIterator<DaemonRank> for RankSet {
    fn from_iter<I: IntoIterator<Item = DaemonRank>>(ranks: I) -> Self {
        // Sorted ranks are appended; a hundred thousand in any order would take seconds to move.
        let mut ranks: Vec<DaemonRank> = ranks.into_iter().collect();
        ranks.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for DaemonRank(rank) in ranks {
            match ranges.last_mut() {
                Some((_, end)) if rank <= *end => {}
                Some((_, end)) if rank == *end + 1 => *end = rank,
                _ => ranges.push((rank, rank)),
            }
        }
        RankSet::of_ranges(ranges)
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
        for (i, (a, b)) in self.ranges().enumerate() {
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
        assert_eq!(s.ranges().collect::<Vec<_>>(), [(0, u32::MAX)]);
    }

    /// Random changes of a set that goes from ranges to bits and back, beside a set of the standard library.
    #[test]
    fn bits_and_ranges_are_the_same_set() {
        let mut seed = 7u32;
        let mut random = |end: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % end
        };
        let (mut set, mut known) = (RankSet::new(), std::collections::BTreeSet::new());
        let mut forms = [0, 0];
        for step in 0..6_000 {
            // The second half empties the set again.
            let (rank, removes) = (1_000 + random(2_000), random(8) < if step < 3_000 { 2 } else { 7 });
            match random(400) {
                0 => {
                    let more: RankSet = (0..100).map(|i| DaemonRank(900 + 3 * i + rank / 50)).collect();
                    set.insert_all(&more);
                    known.extend(more.iter());
                }
                3 => {
                    let less: RankSet = (0..100).map(|i| DaemonRank(900 + 3 * i + rank / 50)).collect();
                    set.remove_all(&less);
                    known.retain(|rank| !less.contains(*rank));
                }
                1 => {
                    set.insert_range(rank, rank + 70);
                    known.extend((rank..=rank + 70).map(DaemonRank));
                }
                2 if step < 3_000 => {
                    let far = DaemonRank(1_000_000 * (1 + random(4_000)));
                    assert_eq!(set.insert(far), known.insert(far));
                    assert_eq!(set.remove(far), known.remove(&far));
                }
                _ if removes => assert_eq!(set.remove(DaemonRank(rank)), known.remove(&DaemonRank(rank))),
                _ => assert_eq!(set.insert(DaemonRank(rank)), known.insert(DaemonRank(rank))),
            }
            forms[usize::from(matches!(set.form, Form::Bits(_)))] += 1;
            assert_eq!(set.contains(DaemonRank(rank)), known.contains(&DaemonRank(rank)));
            if step % 50 == 0 {
                assert_eq!(set, known.iter().copied().collect());
                assert!(set.iter().eq(known.iter().copied()) && set.len() == known.len());
                assert_eq!((set.first().as_ref(), set.is_empty()), (known.first(), known.is_empty()));
                let ranges = RankSet { form: Form::Ranges(set.ranges().collect()) };
                assert!(set.within((1_200, 1_777)).eq(ranges.within((1_200, 1_777))));
                assert_eq!((set == ranges, set.cmp(&ranges)), (true, Ordering::Equal));
            }
        }
        assert!(forms.iter().all(|count| *count > 50), "{forms:?}");
        for rank in known {
            assert!(set.remove(rank));
        }
        assert!(set.is_empty() && set == RankSet::new());
    }

    /// All subsets of seven ranks, two at a time, each equal to one insertion after another.
    #[test]
    fn union_and_difference_are_those_of_the_members() {
        let subset = |bits: u32| (0..7).filter(move |bit| bits >> bit & 1 == 1).map(DaemonRank);
        for (left, right) in (0..128).flat_map(|left| (0..128).map(move |right| (left, right))) {
            let mut joined: RankSet = subset(left).collect();
            joined.insert_all(&subset(right).collect());
            assert_eq!(joined, subset(left | right).collect());
            joined.remove_all(&subset(right).collect());
            assert_eq!(joined, subset(left & !right).collect());
        }
    }
}
