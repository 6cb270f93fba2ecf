//! The transfer of preloaded files, as the head sees it ([`Transfer`]) and as each node sees it ([`Receiving`]). Both
//! are machines of their own, without the jobs and the tree around them.
//!
//! The head asks the reader for pieces in order and gives each to all nodes of the round; the tree carries it to each
//! node once, and replays it after a loss. The slowest node sets the pace: no more than [`WINDOW`] bytes are on their
//! way to it, and so no daemon between holds more.

mod receiving;
mod transfer;

pub(crate) use receiving::Receiving;
pub(crate) use transfer::{Step, Transfer};

/// The most bytes of one piece.
pub(crate) const PIECE: u64 = 256 * 1024;
/// The most bytes that the head has sent, or asked the reader for, and that a node has not written.
pub(crate) const WINDOW: u64 = 4 << 20;

/// The next place to read or write: an entry with content, and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    entry: usize,
    offset: u64,
}

impl Place {
    /// The first place.
    fn first(sizes: &[u64]) -> Place {
        Place { entry: 0, offset: 0 }.settled(sizes)
    }

    /// The place after a number of bytes of the same entry.
    fn after(self, bytes: u64, sizes: &[u64]) -> Place {
        Place { offset: self.offset + bytes, ..self }.settled(sizes)
    }

    fn settled(mut self, sizes: &[u64]) -> Place {
        while sizes.get(self.entry).is_some_and(|size| self.offset >= *size) {
            self = Place { entry: self.entry + 1, offset: 0 };
        }
        self
    }

    /// The size of the piece that begins here; 0 = there is none.
    fn piece(self, sizes: &[u64]) -> u64 {
        sizes.get(self.entry).map_or(0, |size| (size - self.offset).min(PIECE))
    }
}
