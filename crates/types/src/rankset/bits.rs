//! Ranks as bits: half a million scattered ranks take 64 KB, where each as a range of its own would take 4 MB.

/// Bits in a word.
const WIDTH: u32 = u64::BITS;

/// A bit for each rank of a stretch.
#[derive(Clone)]
pub(super) struct Bits {
    /// The number of the first word; rank `r` is in word `r / 64`.
    base: u32,
    /// Never empty. Words at both ends may be zero.
    words: Vec<u64>,
}

impl Bits {
    /// The words for the ranks between these two, both included.
    pub(super) fn words_between(first: u32, last: u32) -> usize {
        (last / WIDTH - first / WIDTH) as usize + 1
    }

    /// No rank yet, and room for those between these two, both included.
    pub(super) fn between(first: u32, last: u32) -> Bits {
        Bits { base: first / WIDTH, words: vec![0; Bits::words_between(first, last)] }
    }

    /// Makes room for a rank, by up to twice the memory. False when that does not suffice: such a set is too thin for
    /// bits.
    pub(super) fn reach(&mut self, rank: u32) -> bool {
        let (word, end) = (rank / WIDTH, self.base as usize + self.words.len());
        let most = self.words.len();
        if word < self.base {
            let more = (self.base - word) as usize;
            if more > most {
                return false;
            }
            self.words.splice(0..0, std::iter::repeat_n(0, more));
            self.base = word;
        } else if word as usize >= end {
            if word as usize + 1 - end > most {
                return false;
            }
            self.words.resize((word - self.base) as usize + 1, 0);
        }
        true
    }

    pub(super) fn contains(&self, rank: u32) -> bool {
        self.place(rank).is_some_and(|(at, bit)| self.words[at] & bit != 0)
    }

    /// Adds a rank for which there is room; false when it was there.
    pub(super) fn insert(&mut self, rank: u32) -> bool {
        let Some((at, bit)) = self.place(rank) else { return false };
        let is_new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        is_new
    }

    /// Removes a rank; false when it was not there.
    pub(super) fn remove(&mut self, rank: u32) -> bool {
        let Some((at, bit)) = self.place(rank) else { return false };
        let was_there = self.words[at] & bit != 0;
        self.words[at] &= !bit;
        was_there
    }

    /// Adds the ranks between two for which there is room, both included.
    pub(super) fn insert_range(&mut self, first: u32, last: u32) {
        for word in first / WIDTH..=last / WIDTH {
            let low = first.max(word * WIDTH) % WIDTH;
            let high = if word == last / WIDTH { last % WIDTH } else { WIDTH - 1 };
            self.words[(word - self.base) as usize] |= u64::MAX >> (WIDTH - 1 - (high - low)) << low;
        }
    }

    /// Adds all of another set. False when there is no room for them; then nothing is added.
    pub(super) fn insert_all(&mut self, other: &Bits) -> bool {
        let last = (other.base + (other.words.len() as u32 - 1)) * WIDTH;
        if !self.reach(other.base * WIDTH) || !self.reach(last) {
            return false;
        }
        let from = (other.base - self.base) as usize;
        for (word, more) in self.words[from..].iter_mut().zip(&other.words) {
            *word |= more;
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes all of another set.
    pub(super) fn remove_all(&mut self, other: &Bits) {
        let from = other.base.saturating_sub(self.base) as usize;
        let skipped = self.base.saturating_sub(other.base) as usize;
        for (word, gone) in self.words.iter_mut().skip(from).zip(other.words.iter().skip(skipped)) {
            *word &= !gone;
        }
    }

    /// The first stretch of neighbours at or after a rank, both ends included.
    pub(super) fn next_range(&self, from: u32) -> Option<(u32, u32)> {
        let from = from.max(self.base * WIDTH);
        let mut at = (from / WIDTH - self.base) as usize;
        let mut word = self.words.get(at)? & u64::MAX << (from % WIDTH);
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        let low = word.trailing_zeros();
        let first = (self.base + at as u32) * WIDTH + low;
        let mut neighbours = (word >> low).trailing_ones();
        let mut last = first + (neighbours - 1);
        // A stretch that fills its word may go on in the next one.
        let mut is_full = low + neighbours == WIDTH;
        while let Some(word) = self.words.get(at + 1).filter(|_| is_full) {
            at += 1;
            neighbours = word.trailing_ones();
            last += neighbours;
            is_full = neighbours == WIDTH;
        }
        Some((first, last))
    }

    /// The word of a rank, and its bit in it; `None` = there is no room for it.
    fn place(&self, rank: u32) -> Option<(usize, u64)> {
        let at = (rank / WIDTH).checked_sub(self.base)? as usize;
        (at < self.words.len()).then_some((at, 1 << (rank % WIDTH)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_on_both_sides_but_not_without_bounds() {
        let mut bits = Bits::between(640, 700);
        assert!(bits.insert(640) && bits.insert(700) && !bits.insert(700));
        assert!(!bits.insert(639) && !bits.insert(720), "there is no room");
        assert!(bits.reach(639) && bits.reach(800) && !bits.reach(64_000) && !bits.reach(0));
        assert!(bits.insert(639) && bits.insert(800));
        assert_eq!(bits.len(), 4);
        assert_eq!(bits.next_range(0), Some((639, 640)));
        assert_eq!(bits.next_range(641), Some((700, 700)));
        assert_eq!(bits.next_range(801), None);
    }

    #[test]
    fn a_stretch_over_words_is_one_range_and_the_last_rank_is_like_any_other() {
        let last = u32::MAX;
        let mut bits = Bits::between(last - 200, last);
        bits.insert_range(last - 150, last - 3);
        assert_eq!((bits.next_range(0), bits.len()), (Some((last - 150, last - 3)), 148));
        bits.insert_range(last - 2, last);
        assert_eq!(bits.next_range(last - 1), Some((last - 1, last)));
        assert!(bits.remove(last) && !bits.contains(last) && !bits.is_empty());
    }
}
