//! Clients on nodes other than the head's: what they say, and what they hear, travels between their daemon and the head
//! as bytes. Nobody on the way looks into them; the head's driver reads them as it reads those of its own clients.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What daemons tell the clients on their nodes of the DVM: enough to find it by the same rules as on the head's node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Process id of the head, as its user sees it.
    pub pid: u32,
    /// The head's host.
    pub host: String,
    /// When it began (seconds since 1970).
    pub started_s: u64,
    /// The batch job in whose allocation it runs.
    pub batch: Option<String>,
    /// True when it is the system's server.
    pub system: bool,
}

/// A word about one client, in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientWord {
    /// Daemon to head: it is there.
    Came,
    /// The next bytes of its connection.
    Bytes(Bytes),
    /// So many bytes have been taken: as many more may follow.
    Credit(u32),
    /// Nothing more comes from this side, and nothing more is wanted.
    Gone,
}
