//! A set of processing units, and its text in the form of users and kernels.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A bit mask of hardware threads (OS indices).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CpuSet {
    /// 64 units a word, without trailing zero words, so that equal sets compare equal.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        CpuSet { words: Vec::new() }
    }
    /// Adds a unit.
    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }
    /// True when the unit is in the set.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|w| w & (1 << (cpu % 64)) != 0)
    }
    /// Number of units.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
    /// True when no unit is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// All units, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let some = |rest: u64| Some(rest).filter(|rest| *rest != 0);
        // Each step clears the lowest bit, so that a set costs as many steps as it has units.
        let rests = move |word: u64| std::iter::successors(some(word), move |rest| some(rest & (rest - 1)));
        let units = move |(i, word): (usize, &u64)| rests(*word).map(move |rest| i as u32 * 64 + rest.trailing_zeros());
        self.words.iter().enumerate().flat_map(units)
    }
    /// True when both sets share a unit.
    #[must_use]
    pub fn intersects(&self, other: &CpuSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }
    /// Units that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        let mut words: Vec<u64> = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        CpuSet { words }
    }
    /// Units that are in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        let theirs = other.words.iter().chain(std::iter::repeat(&0));
        let mut words: Vec<u64> = self.words.iter().zip(theirs).map(|(a, b)| a & !b).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        CpuSet { words }
    }
    /// Adds all units of the other set.
    pub fn union_with(&mut self, other: &CpuSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

/// `0-3,8`, the form of Linux's cpu lists.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{comma}{first}")?
            } else {
                write!(f, "{comma}{first}-{last}")?
            }
            comma = ",";
        }
        Ok(())
    }
}

/// A text that is no list of processors.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpuListError {
    /// Neither a number nor a range of two.
    #[error("{0:?} is neither the number of a processor nor a range of them, as 3 or 5-8")]
    Item(String),
    /// A range with its ends reversed: `8-5`.
    #[error("the range {0:?} ends before it begins")]
    Backwards(String),
    /// A number larger than any machine has.
    #[error("{0} is more than the number of any processor ({LARGEST_CPU})", LARGEST_CPU = LARGEST_CPU)]
    TooLarge(String),
}

/// The largest number of a processor; a larger one would make the set fill the memory.
const LARGEST_CPU: u32 = 65_535;

/// Parses the form `0-3,8`.
impl FromStr for CpuSet {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let mut set = CpuSet::new();
        for item in text.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let number = |digits: &str| {
                let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let cpu = plain.then(|| digits.parse::<u32>()).ok_or_else(|| CpuListError::Item(item.to_owned()))?;
                cpu.ok().filter(|n| *n <= LARGEST_CPU).ok_or_else(|| CpuListError::TooLarge(digits.to_owned()))
            };
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(CpuListError::Backwards(item.to_owned()));
            }
            (first..=last).for_each(|cpu| set.insert(cpu));
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_back_and_what_is_none_is_refused() {
        assert_eq!("5-7,0,6".parse::<CpuSet>().unwrap().to_string(), "0,5-7");
        let refused = |text: &str| text.parse::<CpuSet>().unwrap_err();
        for text in ["", "a", "0,", "1-", "-1", "1-2-3", "+1", " 1"] {
            assert!(matches!(refused(text), CpuListError::Item(_)), "{text:?}");
        }
        assert_eq!(refused("0,8-5"), CpuListError::Backwards("8-5".to_owned()));
        assert_eq!(refused("0-4294967295"), CpuListError::TooLarge("4294967295".to_owned()));
        assert_eq!(refused("99999999999"), CpuListError::TooLarge("99999999999".to_owned()));
    }

    #[test]
    fn a_set_prints_as_a_linux_cpu_list() {
        let set: CpuSet = [0, 1, 2, 8, 70].into_iter().collect();
        assert_eq!(set.to_string(), "0-2,8,70");
        assert_eq!(set.len(), 5);
    }

    #[test]
    fn equal_sets_compare_equal_whatever_their_history() {
        let a: CpuSet = [1, 100].into_iter().collect();
        let b: CpuSet = [1].into_iter().collect();
        assert_eq!(a.intersection(&b), b);
    }
}
