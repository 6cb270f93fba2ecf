//! The encoded form of a set of ranks: the shortest of three. A message to every daemon of a large DVM may carry the
//! ranks that leave, so a byte less here is a byte less for each of them.

use serde::{Deserialize, Serialize};

use super::RankSet;
use crate::DaemonRank;

/// The largest number of ranges in a set of runs: a few bytes could name any number of them, and fill the memory.
const MOST_RANGES: usize = 1 << 17;

/// A range as its distance from the one before, less the necessary gap, and its length less one. The numbers are small,
/// whatever the size of the DVM.
type Step = (u32, u32);

/// The encoded form of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Encoded {
    /// Each range.
    Ranges(Vec<Step>),
    /// Equal steps, and how often each occurs: every second rank, or every node of a rack.
    Runs(Vec<(Step, u32)>),
    /// The first rank, and a bit for it and each after it, the lowest bit of a byte first.
    Bits(u32, Vec<u8>),
}

impl From<RankSet> for Encoded {
    fn from(set: RankSet) -> Encoded {
        let steps = steps(&set);
        // Two ranges are the shortest in any case, and most sets have fewer.
        if steps.len() <= 2 {
            return Encoded::Ranges(steps);
        }
        let runs = runs(&steps);
        let ranges_size = steps.iter().map(size).sum::<usize>();
        let runs_size = runs.iter().map(|(step, times)| size(step) + varint(*times)).sum::<usize>();
        let bits_size = match (set.first(), set.ranges().last()) {
            (Some(DaemonRank(first)), Some((_, last))) => varint(first) + (last - first) as usize / 8 + 1,
            _ => usize::MAX,
        };
        match ranges_size.min(runs_size).min(bits_size) {
            least if least == ranges_size => Encoded::Ranges(steps),
            least if least == bits_size => bits(&set),
            _ if steps.len() <= MOST_RANGES => Encoded::Runs(runs),
            _ => bits(&set),
        }
    }
}

/// Any such numbers form a set, unless they exceed the last rank or are too many.
impl TryFrom<Encoded> for RankSet {
    type Error = &'static str;

    fn try_from(encoded: Encoded) -> Result<RankSet, Self::Error> {
        match encoded {
            Encoded::Ranges(steps) => from_steps(steps.into_iter()),
            Encoded::Runs(runs) => {
                let count = runs.iter().map(|(_, times)| *times as usize).sum::<usize>();
                if count > MOST_RANGES {
                    return Err("these are too many ranges");
                }
                from_steps(runs.into_iter().flat_map(|(step, times)| std::iter::repeat_n(step, times as usize)))
            }
            Encoded::Bits(first, bytes) => from_bits(first, &bytes),
        }
    }
}

fn steps(set: &RankSet) -> Vec<Step> {
    let mut next = 0u32;
    let step = |(first, last): (u32, u32)| {
        let step = (first - next, last - first);
        next = last.saturating_add(2);
        step
    };
    set.ranges().map(step).collect()
}

fn runs(steps: &[Step]) -> Vec<(Step, u32)> {
    let mut runs: Vec<(Step, u32)> = Vec::new();
    for step in steps {
        match runs.last_mut() {
            Some((last, times)) if last == step => *times += 1,
            _ => runs.push((*step, 1)),
        }
    }
    runs
}

fn bits(set: &RankSet) -> Encoded {
    let first = set.first().map_or(0, |rank| rank.0);
    let last = set.ranges().last().map_or(0, |(_, last)| last);
    let mut bytes = vec![0u8; (last - first) as usize / 8 + 1];
    for rank in set.iter() {
        let at = rank.0 - first;
        bytes[at as usize / 8] |= 1 << (at % 8);
    }
    Encoded::Bits(first, bytes)
}

fn from_steps(steps: impl Iterator<Item = Step>) -> Result<RankSet, &'static str> {
    let mut next = Some(0u32);
    let range = |(skipped, more): Step| {
        let first = next?.checked_add(skipped)?;
        let last = first.checked_add(more)?;
        next = last.checked_add(2);
        Some((first, last))
    };
    let ranges = steps.map(range).collect::<Option<_>>();
    ranges.map(RankSet::of_ranges).ok_or("these ranges go beyond the last rank")
}

fn from_bits(first: u32, bytes: &[u8]) -> Result<RankSet, &'static str> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for (place, byte) in bytes.iter().enumerate() {
        for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
            let at = u32::try_from(place * 8 + bit).ok().and_then(|at| first.checked_add(at));
            let rank = at.ok_or("these bits go beyond the last rank")?;
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == rank => *last = rank,
                _ => ranges.push((rank, rank)),
            }
        }
    }
    Ok(RankSet::of_ranges(ranges))
}

/// The bytes of a step in a message.
fn size((skipped, more): &Step) -> usize {
    varint(*skipped) + varint(*more)
}

/// The bytes of a number in a message: seven bits in each.
fn varint(number: u32) -> usize {
    number.max(1).ilog2() as usize / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(set: &RankSet) -> Vec<u8> {
        postcard::to_stdvec(set).expect("a set can be encoded")
    }

    fn of(ranks: impl IntoIterator<Item = u32>) -> RankSet {
        ranks.into_iter().map(DaemonRank).collect()
    }

    /// Every third rank at random, the same in each run.
    fn ragged(end: u32) -> RankSet {
        let mut seed = 7u32;
        of((0..end).filter(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 16 & 3 == 0
        }))
    }

    #[test]
    fn each_set_comes_back_and_is_as_short_as_its_kind() {
        let most = u32::MAX;
        for (set, most_bytes) in [
            (RankSet::new(), 2),
            (of([3]), 4),
            (RankSet::range(3, 9_000), 5),
            (of([1, 5, 9_000]), 9),
            (of((0..5_000).map(|i| 2 * i)), 9),
            (of((0..5_000).map(|i| 10_000 + 2 * i)), 10),
            (of((0..1_000).flat_map(|rack| (0..16).map(move |node| 40 * rack + node))), 11),
            (ragged(10_000), 10_000 / 8 + 6),
            (of([0, most - 2, most]), 20),
            (of([7, most - 1, most]), 20),
            (of([most]), 8),
        ] {
            let told = bytes(&set);
            assert!(told.len() <= most_bytes, "{} bytes for {:.60}", told.len(), set.to_string());
            assert_eq!(postcard::from_bytes::<RankSet>(&told).as_ref(), Ok(&set));
        }
    }

    #[test]
    fn more_ranges_than_runs_may_have_are_bits() {
        for count in [MOST_RANGES as u32, MOST_RANGES as u32 + 1] {
            let set = of((0..count).map(|i| 2 * i));
            let told = bytes(&set);
            assert_eq!(told.len() < 20, count as usize <= MOST_RANGES, "{} bytes", told.len());
            assert_eq!(postcard::from_bytes::<RankSet>(&told).as_ref(), Ok(&set));
        }
    }

    #[test]
    fn all_subsets_of_nine_ranks_come_back_wherever_they_begin() {
        for base in [0, 5, 1_000, u32::MAX - 8] {
            for pattern in 0..512u32 {
                let set = of((0..9).filter(|bit| pattern >> bit & 1 == 1).map(|bit| base + bit));
                assert_eq!(postcard::from_bytes::<RankSet>(&bytes(&set)).as_ref(), Ok(&set));
                if !set.is_empty() {
                    assert_eq!(RankSet::try_from(bits(&set)).as_ref(), Ok(&set));
                }
                assert_eq!(RankSet::try_from(Encoded::Runs(runs(&steps(&set)))), Ok(set));
            }
        }
    }

    #[test]
    fn ranks_beyond_the_last_are_refused_and_so_are_too_many() {
        let most = u32::MAX;
        for steps in [&[(most, 1)][..], &[(1, most)], &[(0, most), (0, 0)], &[(most - 1, 0), (0, 0)]] {
            assert!(RankSet::try_from(Encoded::Ranges(steps.to_vec())).is_err(), "{steps:?}");
        }
        assert!(RankSet::try_from(Encoded::Bits(most - 7, vec![0, 1])).is_err());
        assert!(RankSet::try_from(Encoded::Bits(most, vec![1])).is_ok());
        for times in [MOST_RANGES as u32 + 1, most] {
            assert!(RankSet::try_from(Encoded::Runs(vec![((0, 0), times)])).is_err());
        }
        assert!(RankSet::try_from(Encoded::Runs(vec![((0, 0), most); 3])).is_err());
    }
}
