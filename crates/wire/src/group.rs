//! The contents of the collectives by which PMIx groups are made. The data inside are the libraries' own.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The contribution of a daemon to a new group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPart {
    /// True when the members want an event for each of them that ends (`PMIX_GROUP_NOTIFY_TERMINATION`).
    pub notify: bool,
    /// The data of the local members for the others, in the form of libpmix 4 and 5.
    pub data: Bytes,
    /// The same as infos, which libpmix 7 gives and takes; encoded by the driver. Empty = none.
    pub infos: Bytes,
}

/// A group that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupBuilt {
    /// Its number, which no other group of the DVM has had (`PMIX_GROUP_CONTEXT_ID`).
    pub context: u64,
    /// The data of all members.
    pub data: Bytes,
    /// The infos of each daemon that has any.
    pub infos: Vec<Bytes>,
}

impl GroupPart {
    /// Encodes the contribution.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        Bytes::from(postcard::to_stdvec(self).expect("no type that postcard refuses"))
    }

    /// Decodes a contribution; `None` for other bytes.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<GroupPart> {
        postcard::from_bytes(bytes).ok()
    }
}

impl GroupBuilt {
    /// Encodes the result.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        Bytes::from(postcard::to_stdvec(self).expect("no type that postcard refuses"))
    }

    /// Decodes a result; `None` for other bytes.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<GroupBuilt> {
        postcard::from_bytes(bytes).ok()
    }
}
