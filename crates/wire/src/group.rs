//! The contents of the collectives by which PMIx groups are made. The data inside are the libraries' own.

use bytes::Bytes;
use ferrite_types::{Duration, JobId, ProcId, Rank};
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

/// The call of one process for a group whose members do not know each other (`PMIX_GROUP_BOOTSTRAP`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupEntry {
    /// The name of the group.
    pub group: String,
    /// The part that the process has in it.
    pub role: GroupRole,
    /// True when processes that end before they have come are left out (`PMIX_GROUP_OPTIONAL`,
    /// `PMIX_GROUP_FT_COLLECTIVE`).
    pub leaves_out: bool,
    /// The time that the process waits (`PMIX_TIMEOUT`).
    pub limit: Option<Duration>,
    /// What it contributes.
    pub part: GroupPart,
}

/// The part of a process in a group whose members do not know each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupRole {
    /// It leads.
    Leader {
        /// The process.
        proc: ProcId,
        /// The number of leaders of the group, as this one says.
        leaders: u64,
        /// Further members that it names, by job; no ranks = the whole job (`PMIX_GROUP_ADD_MEMBERS`).
        more: Vec<(JobId, Vec<Rank>)>,
    },
    /// A leader is to name it. The library does not say which process of the node it is.
    Follower,
}

/// A group that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupBuilt {
    /// Its number, which no other group of the DVM has had (`PMIX_GROUP_CONTEXT_ID`).
    pub context: u64,
    /// Its members, sorted, if they have not known each other; else empty.
    pub members: Vec<ProcId>,
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
