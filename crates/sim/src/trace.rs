//! The trace of a run, as lines. Two runs of one seed must write the same lines; a running hash compares them without
//! keeping them.

use std::fmt::{Arguments, Write};

/// The trace of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    count: u64,
    line: String,
    keep: Keep,
}

/// The choice of lines of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None; they are only hashed.
    Nothing,
    /// None, and they are not written at all: for counts in a large DVM.
    Unwritten,
    /// The last lines (their number), for the report of a failure.
    Last(usize, std::collections::VecDeque<String>),
    /// All of them.
    All(Vec<String>),
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Trace {
    /// An empty trace.
    #[must_use]
    pub(crate) fn new(keep: Keep) -> Trace {
        Trace { hash: OFFSET, count: 0, line: String::new(), keep }
    }

    /// False when nobody wants its lines, nor their hash.
    pub(crate) fn is_written(&self) -> bool {
        self.keep != Keep::Unwritten
    }

    /// Writes one line about an event.
    pub(crate) fn record(&mut self, event: u64, text: Arguments<'_>) {
        if !self.is_written() {
            return;
        }
        self.line.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.line, "{event} ").and_then(|()| self.line.write_fmt(text));
        self.hash = mixed(self.hash, self.line.as_bytes());
        self.count += 1;
        match &mut self.keep {
            Keep::Nothing | Keep::Unwritten => {}
            Keep::All(lines) => lines.push(self.line.clone()),
            Keep::Last(limit, lines) => {
                // Most lines are dropped; their memory is used for the next.
                let mut kept = if lines.len() == *limit { lines.pop_front() } else { None }.unwrap_or_default();
                kept.clear();
                kept.push_str(&self.line);
                lines.push_back(kept);
            }
        }
    }

    /// Equal for equal traces.
    #[must_use]
    pub(crate) fn fingerprint(&self) -> (u64, u64) {
        (self.hash, self.count)
    }

    /// The lines that were kept.
    #[must_use]
    pub(crate) fn into_lines(self) -> Vec<String> {
        match self.keep {
            Keep::Nothing | Keep::Unwritten => Vec::new(),
            Keep::All(lines) => lines,
            Keep::Last(_, lines) => lines.into(),
        }
    }
}

/// Adds a line to a hash, eight bytes at a time. Collisions need only be unlikely.
fn mixed(hash: u64, line: &[u8]) -> u64 {
    let mut words = line.chunks_exact(8);
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(29);
    let hash = words.by_ref().fold(hash, |hash, word| mix(hash, word.iter().fold(0, |n, b| n << 8 | u64::from(*b))));
    let rest = words.remainder().iter().fold(0, |n, b| n << 8 | u64::from(*b));
    // The length separates lines, and tells a line that ends in zeros from a shorter one.
    mix(mix(hash, rest), line.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_tells_traces_apart_by_content_and_by_line_breaks() {
        let run = |lines: &[&str]| {
            let mut trace = Trace::new(Keep::Nothing);
            lines.iter().for_each(|l| trace.record(1, format_args!("{l}")));
            trace.fingerprint()
        };
        assert_eq!(run(&["a", "b"]), run(&["a", "b"]));
        assert_ne!(run(&["a", "b"]), run(&["ab"]));
        assert_ne!(run(&["a", "b"]), run(&["b", "a"]));
    }

    #[test]
    fn the_last_lines_are_kept_for_the_report() {
        let mut trace = Trace::new(Keep::Last(2, Default::default()));
        (0..5).for_each(|i| trace.record(7, format_args!("{i}")));
        assert_eq!(trace.into_lines(), ["7 3", "7 4"]);
    }
}
