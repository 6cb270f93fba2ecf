//! Relayed clients: their bytes travel between their daemon and the head. No daemon on the way reads them; the head's
//! driver treats them like those of its own clients.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The announcement of a DVM for clients on its daemons' nodes, which find it by the same rules as on the head's
/// node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Process id of the head, as its user sees it.
    pub pid: u32,
    /// The head's host.
    pub host: String,
    /// The time of its beginning (seconds since 1970).
    pub started_s: u64,
    /// The batch job whose allocation it uses.
    pub batch: Option<String>,
    /// True when it is the system's server.
    pub system: bool,
}

/// A message about one relayed client, in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientWord {
    /// Daemon to head: the client has come.
    Came,
    /// The next bytes of its connection.
    Bytes(Bytes),
    /// The receiver has taken bytes; the sender may send as many more.
    Credit(u32),
    /// The sender has no more bytes and wants none.
    Gone,
}
