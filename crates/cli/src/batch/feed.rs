//! Cuts the bytes of a list into lines, whatever the sizes of the reads. Pure. It never holds much more than one line.

/// The longest line (bytes); a longer one means that this is not a list of jobs.
const LONGEST: usize = 1 << 20;

pub(crate) const TOO_LONG: &str = "the line is longer than a line may be";

/// The bytes that were read and not taken as lines yet.
#[derive(Debug)]
pub(crate) struct Feed {
    longest: usize,
    buffer: Vec<u8>,
    taken: usize,
    /// Bytes behind the taken ones in which no line ends.
    searched: usize,
    ended: bool,
    /// True inside of a line that is too long; its rest is dropped.
    skipping: bool,
    /// Number of the line that was taken last.
    number: u64,
}

/// A line, or the reason why it cannot be read.
pub(crate) type Line = Result<String, &'static str>;

impl Default for Feed {
    fn default() -> Feed {
        Feed::with_longest(LONGEST)
    }
}

impl Feed {
    /// Starts empty; no line is longer than this (bytes).
    pub(crate) fn with_longest(longest: usize) -> Feed {
        Feed { longest, buffer: Vec::new(), taken: 0, searched: 0, ended: false, skipping: false, number: 0 }
    }

    /// Adds bytes that were read; none = the end of the input.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// True when the last line was taken and the input has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.taken == self.buffer.len()
    }

    /// Returns the next line and its number, counted from 1; `None` = no whole line is here yet, or the input is over.
    pub(crate) fn next_line(&mut self) -> Option<(u64, Line)> {
        loop {
            let rest = &self.buffer[self.taken..];
            let end = rest[self.searched..].iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
            self.searched = if end.is_some() { 0 } else { rest.len() };
            let (line, used) = match end {
                Some(at) => (&rest[..at], at + 1),
                None if self.ended && !rest.is_empty() => {
                    self.searched = 0;
                    (rest, rest.len())
                }
                None if rest.len() > self.longest => {
                    self.taken = self.buffer.len();
                    self.searched = 0;
                    if !std::mem::replace(&mut self.skipping, true) {
                        self.number += 1;
                        return Some((self.number, Err(TOO_LONG)));
                    }
                    return None;
                }
                None => return None,
            };
            let text = std::str::from_utf8(line).map(str::to_owned).map_err(|_| "the line is not valid UTF-8");
            self.taken += used;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            self.number += 1;
            return Some((self.number, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(feed: &mut Feed) -> Vec<(u64, Line)> {
        std::iter::from_fn(|| feed.next_line()).collect()
    }

    #[test]
    fn lines_come_out_however_they_were_cut() {
        let text = b"one\n\nthr\xc3\xa9e\nlast";
        for size in 1..=text.len() {
            let mut feed = Feed::default();
            let mut lines = Vec::new();
            for part in text.chunks(size) {
                feed.push(part);
                lines.extend(all(&mut feed));
            }
            feed.push(b"");
            lines.extend(all(&mut feed));
            let texts = ["one", "", "thrée", "last"].map(|l| Ok(l.to_owned()));
            assert_eq!(lines, (1..).zip(texts).collect::<Vec<_>>());
            assert!(feed.is_over());
        }
    }

    #[test]
    fn a_line_that_is_no_text_or_too_long_is_one_bad_line() {
        let mut feed = Feed::default();
        feed.push(b"a\xff\nb\n");
        assert_eq!(all(&mut feed), [(1, Err("the line is not valid UTF-8")), (2, Ok("b".to_owned()))]);
        let mut lines = Vec::new();
        for _ in 0..40 {
            feed.push(&[b'x'; 100_000]);
            lines.extend(all(&mut feed));
        }
        assert!(feed.buffer.len() < 2 * LONGEST);
        feed.push(b"x\nc\n");
        lines.extend(all(&mut feed));
        assert_eq!(lines, [(3, Err(TOO_LONG)), (4, Ok("c".to_owned()))]);
    }
}
