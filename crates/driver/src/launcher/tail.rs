//! The output of a launcher: its last bytes, and the messages of a step about its tasks.

use std::collections::VecDeque;

use ferrite_rm::Manners;
use ferrite_rm::launcher::srun;

use crate::notice;

/// Size of the kept end of a launcher's output (bytes).
pub(super) const TAIL: usize = 4096;

/// The end of a stream.
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    cut: bool,
    echo: bool,
    /// Number of bytes at the end that do not form a whole line yet.
    unread: usize,
}

impl Tail {
    pub(super) fn new(echo: bool) -> Tail {
        let (bytes, cut) = (VecDeque::new(), false);
        Tail { bytes, cut, echo, unread: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.echo {
            notice::write_stderr(&String::from_utf8_lossy(bytes));
        }
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(TAIL);
        self.cut |= surplus > 0;
        self.bytes.drain(..surplus);
        self.unread = (self.unread + bytes.len()).min(self.bytes.len());
    }

    /// Returns the ends of tasks that the new whole lines report, for a step.
    pub(super) fn ended_tasks(&mut self, manners: Manners) -> Vec<Vec<String>> {
        if manners != Manners::Step {
            return Vec::new();
        }
        let unread: Vec<u8> = self.bytes.iter().skip(self.bytes.len() - self.unread).copied().collect();
        let whole = unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.unread -= whole;
        String::from_utf8_lossy(&unread[..whole]).lines().filter_map(srun::ended_on).collect()
    }

    pub(super) fn text(&self, manners: Manners) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        // The kept text begins with a whole line.
        let whole = match text.split_once('\n') {
            Some((_, rest)) if self.cut => rest,
            _ => &text,
        };
        let is_noise = |line: &str| manners == Manners::Step && srun::is_noise(line);
        let lines: Vec<&str> = whole.trim_end().lines().filter(|line| !is_noise(line)).collect();
        lines.join("\n")
    }
}
