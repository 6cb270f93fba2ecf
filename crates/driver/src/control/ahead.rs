//! Read-ahead of a job's standard input from a client: the machine asks for one piece at a time, and this asks the
//! client for several in advance, so that no piece costs a round trip. Pure.

use std::collections::VecDeque;

use bytes::Bytes;

/// Largest number of pieces that are requested or present, reached once many have come: most jobs read nothing.
const AHEAD: usize = 8;

/// The input of one submission.
#[derive(Default)]
pub(super) struct Ahead {
    /// Pieces that came before the machine wanted them.
    pieces: VecDeque<Bytes>,
    /// Number of pieces that are requested and have not come.
    asked: usize,
    /// Number of pieces that have come.
    came: usize,
    /// True while the machine waits for a piece.
    wanted: bool,
    ended: bool,
}

impl Ahead {
    /// Notes that the machine wants a piece; returns the piece, if present, and how many pieces to request from the
    /// client.
    pub(super) fn want(&mut self) -> (Option<Bytes>, usize) {
        let piece = self.pieces.pop_front();
        self.wanted = piece.is_none();
        let goal = if self.ended { 0 } else { (1 + self.came).min(AHEAD) };
        let more = goal.saturating_sub(self.asked + self.pieces.len());
        self.asked += more;
        (piece, more)
    }

    /// Takes a piece from the client; returns it when the machine waits for one.
    pub(super) fn come(&mut self, piece: Bytes) -> Option<Bytes> {
        // Unrequested input is refused: a client that sends unasked must not fill the memory.
        if self.asked == 0 || self.ended {
            return None;
        }
        self.asked -= 1;
        self.came += 1;
        self.ended = piece.is_empty();
        if std::mem::take(&mut self.wanted) {
            return Some(piece);
        }
        self.pieces.push_back(piece);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_and_no_more_than_were_asked_for() {
        let mut ahead = Ahead::default();
        assert_eq!(ahead.want(), (None, 1));
        assert_eq!(ahead.come("a".into()), Some("a".into()));
        assert_eq!(ahead.come("nobody asked".into()), None);
        assert_eq!(ahead.want(), (None, 2));
        assert_eq!(ahead.come("b".into()), Some("b".into()));
        assert_eq!(ahead.come("c".into()), None);
        assert_eq!(ahead.want(), (Some("c".into()), 4));
    }

    #[test]
    fn a_long_input_is_asked_for_well_ahead_and_no_further() {
        let mut ahead = Ahead::default();
        let mut asked = 0;
        for _ in 0..100 {
            asked += ahead.want().1;
            assert!(asked <= AHEAD, "{asked} are asked for at a time");
            ahead.come("a".into());
            asked -= 1;
        }
        assert_eq!(asked, AHEAD - 1);
    }

    #[test]
    fn nothing_is_asked_for_after_the_end() {
        let mut ahead = Ahead::default();
        ahead.want();
        assert_eq!(ahead.come("a".into()), Some("a".into()));
        assert_eq!(ahead.want(), (None, 2));
        assert_eq!(ahead.come(Bytes::new()), Some(Bytes::new()));
        assert_eq!(ahead.come("late".into()), None);
        assert_eq!(ahead.want().1, 0);
    }
}
