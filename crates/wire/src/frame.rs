//! The frame: a small header that relays read, and a payload that they do not.
//!
//! On a link each frame is preceded by its length (u32, little endian); that and encryption are the
//! driver's affair. Inside: u16 header length, header (postcard), payload.

use bytes::{BufMut, Bytes, BytesMut};
use ferrite_types::{DaemonRank, RankSet};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Upper limit of one encoded frame: a length prefix above it is garbage, not a frame (bytes).
pub const MAX_FRAME: usize = 1 << 30;

/// To whom a frame goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dest {
    /// One daemon.
    One(DaemonRank),
    /// These daemons; relays split the set by subtree.
    Many(RankSet),
    /// Every daemon of the DVM, the head included.
    All,
}

/// How a frame is treated on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameKind {
    /// Deliver.
    Message,
    /// Deliver everywhere and acknowledge up the tree.
    Xcast {
        /// Its number at the head.
        seq: u64,
    },
    /// To the parent: my whole subtree has processed this broadcast.
    XcastAck {
        /// The broadcast's number.
        seq: u64,
    },
}

/// What links carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// To whom.
    pub dest: Dest,
    /// Who wrote it.
    pub origin: DaemonRank,
    /// Its treatment.
    pub kind: FrameKind,
    /// An encoded [`crate::Message`]; empty for an acknowledgement.
    pub payload: Bytes,
}

/// Why bytes are no frame or no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// Shorter than its own header says.
    #[error("frame cut short")]
    Short,
    /// The header does not decode.
    #[error("frame header is garbage")]
    Header,
    /// The payload does not decode.
    #[error("message is garbage")]
    Payload,
    /// Bytes follow the message.
    #[error("{0} bytes follow the message")]
    Trailing(usize),
}

#[derive(Serialize, Deserialize)]
struct Header {
    dest: Dest,
    origin: DaemonRank,
    kind: FrameKind,
}

impl Frame {
    /// The encoded header; the payload follows it on the wire.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let header = Header { dest: self.dest.clone(), origin: self.origin, kind: self.kind };
        let header = postcard::to_stdvec(&header).expect("headers hold no type that postcard refuses");
        let mut out = BytesMut::with_capacity(4 + header.len() + self.payload.len());
        out.put_u32_le(u32::try_from(header.len()).expect("a rank set of the whole DVM fits in 4 GB"));
        out.put_slice(&header);
        out.put_slice(&self.payload);
        out.freeze()
    }

    /// Decodes what [`Frame::encode`] made; the payload is a slice of the input, not a copy.
    ///
    /// # Errors
    /// When the bytes are no frame of this build.
    pub fn decode(mut bytes: Bytes) -> Result<Frame, CodecError> {
        let length = bytes.get(..4).ok_or(CodecError::Short)?;
        let length = u32::from_le_bytes(length.try_into().map_err(|_| CodecError::Short)?) as usize;
        if bytes.len() - 4 < length {
            return Err(CodecError::Short);
        }
        let payload = bytes.split_off(4 + length);
        match postcard::take_from_bytes::<Header>(&bytes[4..]) {
            Ok((Header { dest, origin, kind }, [])) => Ok(Frame { dest, origin, kind, payload }),
            _ => Err(CodecError::Header),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_went() {
        let frame = Frame {
            dest: Dest::Many(RankSet::range(3, 900)),
            origin: DaemonRank(0),
            kind: FrameKind::Xcast { seq: 7 },
            payload: Bytes::from_static(b"payload"),
        };
        assert_eq!(Frame::decode(frame.encode()).unwrap(), frame);
    }

    #[test]
    fn garbage_is_an_error_and_no_panic() {
        for bytes in [&b""[..], b"\x01", b"\xff\xff\xff\xff", b"\x04\0\0\0\xff\xff\xff\xff"] {
            assert!(Frame::decode(Bytes::copy_from_slice(bytes)).is_err());
        }
    }
}
