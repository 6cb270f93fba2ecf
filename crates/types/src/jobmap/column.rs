//! A packed column of a table: numbers that mostly follow a pattern. [`super::packed`] writes maps in such columns.
//!
//! Numbers become *runs* (a start relative to the number before, a constant step and a length), and repeated runs
//! become copies. Equal data of nodes are thus written once, and the size does not grow with the number of nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Packed numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Column(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    Run(Run),
    /// A copy of earlier runs: how many, and from how many runs ago. The source may overlap the copy.
    Copy {
        back: u32,
        runs: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Run {
    /// The distance from the number before, at first from 0.
    jump: i64,
    step: i64,
    count: u32,
}

/// The error of a column with other contents than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Column {
    pub(super) fn pack(numbers: impl IntoIterator<Item = u32>) -> Column {
        let runs = runs(numbers);
        let mut pieces = Vec::new();
        // The latest position of each pair of runs.
        let mut seen: BTreeMap<[Run; 2], usize> = BTreeMap::new();
        let mut at = 0;
        while at < runs.len() {
            let earlier = pair(&runs, at).and_then(|pair| seen.get(&pair)).copied();
            let length = earlier.map_or(1, |from| common(&runs, from, at));
            match earlier {
                Some(from) => pieces.push(Piece::Copy { back: (at - from) as u32, runs: length as u32 }),
                None => pieces.push(Piece::Run(runs[at])),
            }
            // Within a copy every pair is known; the pair across its end may be new.
            for passed in [at, at + length - 1] {
                if let Some(pair) = pair(&runs, passed) {
                    seen.insert(pair, passed);
                }
            }
            at += length;
        }
        Column(pieces)
    }

    /// The numbers, exactly `count` of them. The memory is bounded by `count`, whatever the column says.
    pub(super) fn unpack(&self, count: usize) -> Result<Vec<u32>, Malformed> {
        let mut unpacked = Unpacked { numbers: Vec::new(), runs: Vec::new(), count };
        for piece in &self.0 {
            match *piece {
                Piece::Run(run) => unpacked.push(run)?,
                Piece::Copy { back, runs } => {
                    let from = unpacked.runs.len().checked_sub(back as usize).filter(|_| back > 0).ok_or(Malformed)?;
                    for at in from..from + runs as usize {
                        unpacked.push(unpacked.runs[at])?;
                    }
                }
            }
        }
        if unpacked.numbers.len() == count { Ok(unpacked.numbers) } else { Err(Malformed) }
    }
}

/// The state of unpacking.
struct Unpacked {
    numbers: Vec<u32>,
    runs: Vec<Run>,
    count: usize,
}

impl Unpacked {
    fn push(&mut self, run: Run) -> Result<(), Malformed> {
        if run.count == 0 || run.count as usize > self.count - self.numbers.len() {
            return Err(Malformed);
        }
        let mut number = i64::from(self.numbers.last().copied().unwrap_or(0)).checked_add(run.jump).ok_or(Malformed)?;
        for more in (0..run.count).rev() {
            self.numbers.push(u32::try_from(number).map_err(|_| Malformed)?);
            if more > 0 {
                number = number.checked_add(run.step).ok_or(Malformed)?;
            }
        }
        self.runs.push(run);
        Ok(())
    }
}

/// The numbers as runs, each as long as possible.
fn runs(numbers: impl IntoIterator<Item = u32>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut last = 0;
    for number in numbers.into_iter().map(i64::from) {
        let jump = number - last;
        last = number;
        match runs.last_mut() {
            Some(run) if run.count == 1 => *run = Run { step: jump, count: 2, ..*run },
            Some(run) if run.step == jump && run.count < u32::MAX => run.count += 1,
            _ => runs.push(Run { jump, step: 0, count: 1 }),
        }
    }
    runs
}

fn pair(runs: &[Run], at: usize) -> Option<[Run; 2]> {
    runs.get(at..at + 2).map(|two| [two[0], two[1]])
}

/// The number of equal runs from two positions on.
fn common(runs: &[Run], from: usize, at: usize) -> usize {
    runs[from..].iter().zip(&runs[at..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(numbers: &[u32]) -> usize {
        let column = Column::pack(numbers.iter().copied());
        assert_eq!(column.unpack(numbers.len()), Ok(numbers.to_vec()));
        column.0.len()
    }

    #[test]
    fn what_repeats_is_written_once() {
        assert_eq!(pieces(&[]), 0);
        assert_eq!(pieces(&[7]), 1);
        let by_node: Vec<u32> = (0..100_000).map(|rank| rank % 1_000).collect();
        assert!(pieces(&by_node) <= 4);
        let by_slot: Vec<u32> = (0..100_000).map(|rank| rank / 100).collect();
        assert!(pieces(&by_slot) <= 4);
        let two_packages: Vec<u32> = (0..100_000).map(|rank| rank % 100 / 2 + rank % 2 * 50).collect();
        assert!(pieces(&two_packages) <= 8, "{}", pieces(&two_packages));
    }

    #[test]
    fn a_column_of_the_wrong_length_is_refused() {
        let column = Column::pack(0..100);
        assert_eq!(column.unpack(99), Err(Malformed));
        assert_eq!(column.unpack(101), Err(Malformed));
    }

    #[test]
    fn what_nobody_packs_is_refused_and_takes_no_memory() {
        let run = |jump, step, count| Piece::Run(Run { jump, step, count });
        for pieces in [
            vec![run(-1, 0, 1)],
            vec![run(0, -1, 4)],
            vec![run(i64::MAX, i64::MAX, 4)],
            vec![run(0, 0, 0)],
            vec![run(0, 0, u32::MAX)],
            vec![Piece::Copy { back: 0, runs: 4 }],
            vec![Piece::Copy { back: 1, runs: 4 }],
            vec![run(0, 0, 1), Piece::Copy { back: 2, runs: 1 }],
            vec![run(0, 0, 1), Piece::Copy { back: 1, runs: u32::MAX }],
        ] {
            assert_eq!(Column(pieces.clone()).unpack(4), Err(Malformed), "{pieces:?}");
        }
    }
}
