//! The data server: values that processes publish for others to look up. The head keeps them; only the processes' own
//! daemons interpret them.

use bytes::Bytes;
use ferrite_types::{Duration, ProcId};
use serde::{Deserialize, Serialize};

/// A request of a process to the data server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataRequest {
    /// `PMIx_Publish`: stores all items, or none when one of the keys exists already.
    Publish {
        /// Keys with their values.
        items: Vec<(String, Bytes)>,
        /// The processes that can see them.
        range: DataRange,
        /// The life of the items.
        persistence: Persistence,
        /// The users that may read them.
        access: Access,
    },
    /// `PMIx_Lookup`: reads values.
    Lookup {
        /// The keys.
        keys: Vec<String>,
        /// The range of publishers that it reads from.
        range: DataRange,
        /// The number of keys to wait for; 0 = no wait.
        wait: u32,
        /// The limit of the wait.
        timeout: Option<Duration>,
    },
    /// `PMIx_Unpublish`: removes the caller's own items.
    Unpublish {
        /// The keys; empty = all.
        keys: Vec<String>,
        /// The range that they were published with; `None` = any.
        range: Option<DataRange>,
    },
}

/// A request with its caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataCall {
    /// The process that calls.
    pub proc: ProcId,
    /// Its effective user id.
    pub uid: u32,
    /// Its effective group id.
    pub gid: u32,
    /// The request.
    pub request: DataRequest,
}

/// The reach of data (`PMIX_RANGE`). A reader must be within the publisher's range, and the publisher within the
/// reader's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataRange {
    /// Every process of the DVM: the ranges session, global and undefined.
    Dvm,
    /// The DVM itself, and no process.
    Rm,
    /// The same job.
    Namespace,
    /// The same node.
    Local,
    /// The process itself.
    ProcLocal,
}

/// The life of data (`PMIX_PERSISTENCE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Persistence {
    /// Until it is unpublished, or with the session: as long as the DVM.
    Session,
    /// Until the publisher's job is over.
    App,
    /// Until the publisher has ended.
    Proc,
    /// Until the first reader has it, or as [`Persistence::App`].
    FirstRead,
}

/// The permission to read data. Without lists only the publisher's own user and group may read; lists replace this
/// rule, and a reader must be in each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// User ids (`PMIX_ACCESS_USERIDS`).
    pub uids: Option<Vec<u32>>,
    /// Group ids (`PMIX_ACCESS_GRPIDS`).
    pub gids: Option<Vec<u32>>,
}

/// One result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The process that published it.
    pub proc: ProcId,
    /// The key of the item.
    pub key: String,
    /// The published value.
    pub value: Bytes,
}
