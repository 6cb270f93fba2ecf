//! Finished sequence numbers as ranges: numbers in order cost one pair, however many they are.

/// A set of sequence numbers. It grows with its gaps, not with its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeqSet(Vec<(u64, u64)>);

impl SeqSet {
    pub(crate) fn contains(&self, seq: u64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < seq);
        self.0.get(at).is_some_and(|(first, _)| *first <= seq)
    }

    pub(crate) fn insert(&mut self, seq: u64) {
        if self.contains(seq) {
            return;
        }
        let at = self.0.partition_point(|(_, last)| *last < seq);
        self.0.insert(at, (seq, seq));
        self.join(at);
        if at > 0 {
            self.join(at - 1);
        }
    }

    /// Merges the range at `at` with the next one when they touch.
    fn join(&mut self, at: usize) {
        if let [(_, last), (first, end), ..] = self.0[at..]
            && last + 1 == first
        {
            self.0[at].1 = end;
            self.0.remove(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_any_order_end_as_one_range() {
        let mut set = SeqSet::default();
        for seq in [7, 5, 9, 6, 8, 6] {
            set.insert(seq);
        }
        assert_eq!(set.0, [(5, 9)]);
        assert!(set.contains(5) && set.contains(9) && !set.contains(4) && !set.contains(10));
    }
}
