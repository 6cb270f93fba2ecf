//! Pieces of preloaded files.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A piece of a preloaded file, with the checksum that its reader has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePiece {
    /// The file: its index among the entries of the job.
    pub entry: u32,
    /// Its place in the file (bytes from the beginning).
    pub offset: u64,
    /// CRC-32 of the data.
    pub sum: u32,
    /// The data.
    pub data: Bytes,
}

impl FilePiece {
    /// A piece as it was read.
    #[must_use]
    pub fn new(entry: u32, offset: u64, data: Bytes) -> FilePiece {
        FilePiece { entry, offset, sum: crc32fast::hash(&data), data }
    }

    /// True when the data are those that were read.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        crc32fast::hash(&self.data) == self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_piece_is_noticed() {
        let piece = FilePiece::new(0, 0, Bytes::from_static(b"content"));
        assert!(piece.is_intact());
        assert!(!FilePiece { data: Bytes::from_static(b"contend"), ..piece }.is_intact());
    }
}
