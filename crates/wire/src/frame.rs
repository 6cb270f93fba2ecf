//! The frame: a small header that relays read, and a payload that they pass on unread.
//!
//! On a link each frame is preceded by its length (u32, little endian); the driver adds this and the encryption.
//! Inside: u16 header length, header (postcard), payload.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use ferrite_types::{DaemonRank, RankSet};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Upper limit of one encoded frame (bytes); a larger length prefix is garbage.
pub const MAX_FRAME: usize = 1 << 30;

/// The addressees of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dest {
    /// One daemon.
    One(DaemonRank),
    /// These daemons; relays split the set by subtree.
    Many(RankSet),
    /// Every daemon of the DVM, the head included.
    All,
}

/// The treatment of a frame on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameKind {
    /// For the neighbour itself; never passed on, and lost with its link.
    Direct,
    /// Passed on and delivered, once and in order.
    Message {
        /// Its number in the conversation with each addressee.
        numbers: Numbers,
        /// Number of the last message that the author took from the addressee; only with one addressee.
        ack: u64,
    },
    /// The question whether everything up to this number has arrived. It follows the messages on the same route.
    Probe(Numbers),
    /// The progress of the receiver, for an author of messages.
    Ack {
        /// Number of the last accepted message.
        upto: u64,
        /// True when later messages are lost.
        missing: bool,
    },
    /// Delivered to every daemon and acknowledged up the tree.
    Xcast {
        /// Its number at the head.
        seq: u64,
        /// The order in which a daemon processes it and passes it on.
        order: Order,
    },
    /// To the parent: the whole subtree of the sender has processed this broadcast.
    XcastAck {
        /// The broadcast's number.
        seq: u64,
    },
    /// To a neighbour, which passes it on away from the sender: a broken route through the sender works again. The
    /// frame's origin is the daemon at the far end of the renewed link; daemons that owe an acknowledgement and are
    /// reached through it are probed.
    Renewed,
    /// A sign of life on a silent link.
    Heartbeat,
}

/// The order of processing and passing on a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Passed on first: a daemon that leaves because of it must not keep it from others.
    ForwardFirst,
    /// Processed first: it determines the children to which it is passed on.
    ProcessFirst,
}

/// The numbers of a message at its addressees: a message to many has a number in each conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numbers {
    /// The same number at all addressees.
    Same(u64),
    /// Different numbers, each with its addressees.
    Each(Vec<(u64, RankSet)>),
}

impl Numbers {
    /// The numbers from those of all addressees.
    #[must_use]
    pub fn of(each: impl IntoIterator<Item = (DaemonRank, u64)>) -> Numbers {
        let mut groups: BTreeMap<u64, RankSet> = BTreeMap::new();
        for (rank, number) in each {
            groups.entry(number).or_default().insert(rank);
        }
        match groups.len() {
            1 => Numbers::Same(groups.into_keys().next().unwrap_or_default()),
            _ => Numbers::Each(groups.into_iter().collect()),
        }
    }

    /// The number at one addressee; `None` for a rank that is no addressee.
    #[must_use]
    pub fn at(&self, rank: DaemonRank) -> Option<u64> {
        match self {
            Numbers::Same(number) => Some(*number),
            Numbers::Each(groups) => groups.iter().find(|(_, ranks)| ranks.contains(rank)).map(|(number, _)| *number),
        }
    }

    /// The numbers for a part of the addressees.
    #[must_use]
    pub fn within(&self, part: &RankSet) -> Numbers {
        match self {
            Numbers::Same(number) => Numbers::Same(*number),
            Numbers::Each(_) => Numbers::of(part.iter().filter_map(|rank| Some((rank, self.at(rank)?)))),
        }
    }
}

/// The unit of traffic on links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The addressees.
    pub dest: Dest,
    /// The author's rank.
    pub origin: DaemonRank,
    /// The treatment on the way.
    pub kind: FrameKind,
    /// An encoded [`crate::Message`]; empty for probes, acknowledgements and heartbeats.
    pub payload: Bytes,
}

/// The reason why bytes are no frame or no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The frame is shorter than its header says.
    #[error("frame cut short")]
    Short,
    /// The header does not decode.
    #[error("frame header is garbage")]
    Header,
    /// The payload does not decode.
    #[error("message is garbage")]
    Payload,
    /// The message is followed by further bytes.
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
        let header = Header { dest: self.dest.clone(), origin: self.origin, kind: self.kind.clone() };
        let header = postcard::to_stdvec(&header).expect("headers hold no type that postcard refuses");
        let mut out = BytesMut::with_capacity(4 + header.len() + self.payload.len());
        out.put_u32_le(u32::try_from(header.len()).expect("a rank set of the whole DVM fits in 4 GB"));
        out.put_slice(&header);
        out.put_slice(&self.payload);
        out.freeze()
    }

    /// Decodes the output of [`Frame::encode`]; the payload is a slice of the input, not a copy.
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
            kind: FrameKind::Xcast { seq: 7, order: Order::ProcessFirst },
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

    #[test]
    fn a_part_of_the_addressees_keeps_its_numbers() {
        let numbers = Numbers::of([(DaemonRank(1), 4), (DaemonRank(2), 9), (DaemonRank(3), 4)]);
        assert_eq!(numbers.at(DaemonRank(3)), Some(4));
        assert_eq!(numbers.at(DaemonRank(7)), None);
        assert_eq!(numbers.within(&RankSet::range(2, 4)).at(DaemonRank(2)), Some(9));
        assert_eq!(numbers.within(&RankSet::range(3, 4)), Numbers::Same(4));
    }
}
