//! A set of processing units by the operating system's numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

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
        let bits = |w: u64| (0..64).filter(move |bit| w & (1 << bit) != 0);
        self.words.iter().enumerate().flat_map(move |(i, w)| bits(*w).map(move |b| i as u32 * 64 + b))
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

#[cfg(test)]
mod tests {
    use super::*;

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
