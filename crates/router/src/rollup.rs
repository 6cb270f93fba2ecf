//! Collectives gathered up the participant tree: the parts of this daemon and one merged part of each
//! participant child become one part for the parent.
//!
//! The caller names a collective by its key and merges its parts. A child may be faster than this daemon's own
//! processes, so its part is held until the collective begins here.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ferrite_types::{DaemonRank, RankSet};

/// All collectives that are open at this daemon.
#[derive(Clone, Debug)]
pub struct Rollups<K: Ord + Clone, V> {
    open: BTreeMap<K, Open<V>>,
    /// Parts of collectives that are not begun here yet.
    early: BTreeMap<K, BTreeMap<DaemonRank, V>>,
    refused: u64,
}

#[derive(Clone, Debug)]
struct Open<V> {
    local_owing: usize,
    owing: RankSet,
    parts: Gathered<V>,
}

/// Everything that one daemon collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered<V> {
    /// This daemon's own parts, in the order given.
    pub local: Vec<V>,
    /// The children's parts, by rank.
    pub remote: Vec<(DaemonRank, V)>,
}

impl<K: Ord + Clone, V> Default for Rollups<K, V> {
    fn default() -> Self {
        Rollups { open: BTreeMap::new(), early: BTreeMap::new(), refused: 0 }
    }
}

impl<K: Ord + Clone, V> Rollups<K, V> {
    /// Without open collectives.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a collective that needs `local` parts from here and one from each of `children`.
    /// Complete at once when nothing is needed that has not come already.
    ///
    /// # Panics
    /// In debug builds, when the key is open: a caller that begins twice has lost count.
    pub fn begin(&mut self, key: K, local: usize, children: RankSet) -> Option<Gathered<V>> {
        debug_assert!(!self.open.contains_key(&key), "this collective was begun already");
        let parts = Gathered { local: Vec::with_capacity(local), remote: Vec::with_capacity(children.len()) };
        self.open.insert(key.clone(), Open { local_owing: local, owing: children, parts });
        for (child, part) in self.early.remove(&key).unwrap_or_default() {
            self.accept(&key, child, part);
        }
        self.settle(&key)
    }

    /// A part from this daemon's own processes; refused when none is owed.
    pub fn contribute_local(&mut self, key: &K, part: V) -> Option<Gathered<V>> {
        match self.open.get_mut(key) {
            Some(open) if open.local_owing > 0 => {
                open.local_owing -= 1;
                open.parts.local.push(part);
            }
            Some(_) | None => self.refused += 1,
        }
        self.settle(key)
    }

    /// A child's merged part. Held when the collective is not begun here yet; refused when the
    /// sender owes none.
    pub fn contribute(&mut self, key: K, child: DaemonRank, part: V) -> Option<Gathered<V>> {
        if self.open.contains_key(&key) {
            self.accept(&key, child, part);
            return self.settle(&key);
        }
        match self.early.entry(key).or_default().entry(child) {
            Entry::Vacant(place) => {
                place.insert(part);
            }
            Entry::Occupied(_) => self.refused += 1,
        }
        None
    }

    /// Forgets a collective with all its parts; false when it was not known.
    pub fn cancel(&mut self, key: &K) -> bool {
        let open = self.open.remove(key).is_some();
        self.early.remove(key).is_some() || open
    }

    /// Forgets each collective whose key is not kept, open or only heard of. At the end of a job this drops parts
    /// that came too late and would be held for ever.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.open.retain(|key, _| keep(key));
        self.early.retain(|key, _| keep(key));
    }

    /// True when the collective is begun here and not complete.
    #[must_use]
    pub fn is_open(&self, key: &K) -> bool {
        self.open.contains_key(key)
    }

    /// Keys of the open collectives, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.open.keys()
    }

    /// Keys of all collectives, open or only heard of.
    pub fn known(&self) -> impl Iterator<Item = &K> {
        self.open.keys().chain(self.early.keys())
    }

    /// The children that still owe a part; `None` when the collective is not open.
    #[must_use]
    pub fn waiting_for(&self, key: &K) -> Option<&RankSet> {
        self.open.get(key).map(|open| &open.owing)
    }

    /// Number of parts held for collectives that are not begun here.
    #[must_use]
    pub fn held(&self) -> usize {
        self.early.values().map(BTreeMap::len).sum()
    }

    /// Parts refused so far: from senders that owed none.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn accept(&mut self, key: &K, child: DaemonRank, part: V) {
        let owes = |open: &&mut Open<V>| open.owing.contains(child);
        match self.open.get_mut(key).filter(owes) {
            Some(open) => {
                open.owing.remove(child);
                open.parts.remote.push((child, part));
            }
            None => self.refused += 1,
        }
    }

    /// Closes a collective that is complete.
    fn settle(&mut self, key: &K) -> Option<Gathered<V>> {
        let complete = |open: &Open<V>| open.local_owing == 0 && open.owing.is_empty();
        if !self.open.get(key).is_some_and(complete) {
            return None;
        }
        let mut parts = self.open.remove(key)?.parts;
        // Sorted by rank and not by arrival, so that the result does not depend on timing.
        parts.remote.sort_by_key(|(child, _)| *child);
        Some(parts)
    }
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
    fn a_collective_is_complete_with_its_local_parts_and_one_part_a_child() {
        let mut rollups = Rollups::new();
        assert_eq!(rollups.begin("f", 2, set(&[3, 4])), None);
        assert_eq!(rollups.contribute("f", r(4), 40), None);
        assert_eq!(rollups.contribute_local(&"f", 1), None);
        assert_eq!(rollups.contribute("f", r(3), 30), None);
        let all = rollups.contribute_local(&"f", 2).expect("nothing is owed");
        assert_eq!(all, Gathered { local: vec![1, 2], remote: vec![(r(3), 30), (r(4), 40)] });
        assert!(!rollups.is_open(&"f"));
        assert_eq!(rollups.refused(), 0);
    }

    #[test]
    fn early_parts_wait_for_the_beginning() {
        let mut rollups = Rollups::new();
        assert_eq!(rollups.contribute(7, r(3), "c"), None);
        assert_eq!(rollups.held(), 1);
        let all = rollups.begin(7, 0, set(&[3])).expect("the only part is here");
        assert_eq!(all.remote, [(r(3), "c")]);
        assert_eq!(rollups.held(), 0);
    }

    #[test]
    fn a_collective_without_contributors_is_complete_at_once() {
        let mut rollups: Rollups<u8, u8> = Rollups::new();
        assert_eq!(rollups.begin(1, 0, RankSet::new()), Some(Gathered { local: vec![], remote: vec![] }));
    }

    #[test]
    fn parts_from_those_who_owe_none_are_refused_and_counted() {
        let mut rollups = Rollups::new();
        rollups.contribute(1, r(9), 'x');
        rollups.begin(1, 1, set(&[3]));
        assert_eq!(rollups.refused(), 1, "an early part from a stranger");
        rollups.contribute(1, r(3), 'a');
        rollups.contribute(1, r(3), 'b');
        assert_eq!(rollups.refused(), 2, "a second part of the same child");
        let all = rollups.contribute_local(&1, 'l').expect("complete");
        assert_eq!(all.remote, [(r(3), 'a')]);
        rollups.contribute_local(&1, 'm');
        assert_eq!(rollups.refused(), 3, "a local part of something that is over");
    }

    #[test]
    fn nothing_of_a_job_stays_after_it_is_dropped() {
        let mut rollups = Rollups::new();
        rollups.begin((1, 0), 1, RankSet::new());
        rollups.contribute((1, 1), r(3), ());
        rollups.begin((2, 0), 1, RankSet::new());
        rollups.retain(|(job, _)| *job != 1);
        assert_eq!(rollups.held(), 0);
        assert_eq!(rollups.keys().collect::<Vec<_>>(), [&(2, 0)]);
    }
}
