//! The data server: what processes publish for others to look up. The head keeps it; values are opaque to everybody but
//! the processes' own daemons.

use bytes::Bytes;
use ferrite_types::{Duration, ProcId};
use serde::{Deserialize, Serialize};

/// What a process asks of the data server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataRequest {
    /// `PMIx_Publish`: all of the items or, when one is there already, none.
    Publish {
        /// Keys with their values.
        items: Vec<(String, Bytes)>,
        /// Who may see them.
        range: DataRange,
        /// How long they stay.
        persistence: Persistence,
        /// Who may read them.
        access: Access,
    },
    /// `PMIx_Lookup`.
    Lookup {
        /// The keys.
        keys: Vec<String>,
        /// Whose data is looked at.
        range: DataRange,
        /// How many of the keys are waited for; 0 = nobody waits.
        wait: u32,
        /// Limit of the waiting.
        timeout: Option<Duration>,
    },
    /// `PMIx_Unpublish`, of the caller's own data.
    Unpublish {
        /// The keys; none = all.
        keys: Vec<String>,
        /// The range that they were published with; `None` = any.
        range: Option<DataRange>,
    },
}

/// A request with who makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataCall {
    /// The process.
    pub proc: ProcId,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
    /// What it wants.
    pub request: DataRequest,
}

/// How far data reaches (`PMIX_RANGE`). A reader must be within the publisher's range, and the publisher within the
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

/// How long data stays (`PMIX_PERSISTENCE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Persistence {
    /// Until it is unpublished, or with the session: as long as the DVM.
    Session,
    /// Until the publisher's job is over.
    App,
    /// Until the publisher has ended.
    Proc,
    /// Until somebody has read it, or as [`Persistence::App`].
    FirstRead,
}

/// Who may read data. Without a list only the publisher's own user and group; lists take their place, and all of them
/// must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// `PMIX_ACCESS_USERIDS`
    pub uids: Option<Vec<u32>>,
    /// `PMIX_ACCESS_GRPIDS`
    pub gids: Option<Vec<u32>>,
}

/// One answer of a lookup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Who published it.
    pub proc: ProcId,
    /// Under which key.
    pub key: String,
    /// What.
    pub value: Bytes,
}
