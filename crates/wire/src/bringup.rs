//! Bring-up of a daemon: its ticket, its report, the wireup.

use core::net::SocketAddr;

use ferrite_types::{DaemonRank, HostEntry, RankSet, Topology};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Served;

/// The addresses at which a daemon listens, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact(pub Vec<SocketAddr>);

/// The ticket, which a starting daemon reads from its standard input. It holds the DVM's key, so it travels over the
/// launcher's pipe only: never in argv or environment, never to a file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Name of the DVM; namespaces of jobs derive from it.
    pub dvm: String,
    /// Pre-shared key of the DVM's links. The head's machine leaves it out ([`Ticket::NO_KEY`]); the driver fills it
    /// in on the way to the launcher, and removes it before the new daemon's machine sees the ticket.
    pub key: [u8; 32],
    /// The daemon's rank.
    pub rank: DaemonRank,
    /// The node's name as the user knows it.
    pub node: String,
    /// Number of ranks in the DVM, the departed included.
    pub size: u32,
    /// Ranks without a daemon: departed, leaving, or on their way.
    pub dead: RankSet,
    /// True when the DVM is wired up already: the daemon reports over its first link, and waits there for its place.
    pub joins: bool,
    /// Radix of the tree.
    pub radix: u32,
    /// The daemon to call first: the tree parent when it has started this daemon, else the head.
    pub home: DaemonRank,
    /// The contact of `home`.
    pub contact: Contact,
    /// Parameters of the DVM (`--prtemca`).
    pub params: Vec<(String, String)>,
    /// The words of the command that starts a daemon on a node.
    pub program: Vec<String>,
    /// With tree spawn: the daemons of this one's subtree, for it to start.
    pub subtree: Vec<NodeLaunch>,
    /// The ranks and node names of all daemons that one command starts with this ticket; each daemon finds its rank
    /// by its node's name. Empty for a ticket of one daemon.
    pub group: Vec<(DaemonRank, String)>,
    /// True when the launcher lives as long as the daemon, which does not detach.
    pub stays: bool,
    /// Directory in which the launcher was started, if it exists here.
    pub cwd: String,
    /// The time from its start in which the daemon must connect (milliseconds).
    pub connect_ms: u64,
    /// The announcement for clients on the daemon's node; `None` = the DVM serves none.
    pub served: Option<Served>,
}

/// A daemon to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLaunch {
    /// The daemon's rank.
    pub rank: DaemonRank,
    /// The daemon's node.
    pub host: HostEntry,
}

/// The reason why a ticket cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TicketError {
    /// Standard input is empty, or holds something else.
    #[error("no launch ticket on standard input (prted is started by prte or prterun, not by hand)")]
    NotATicket,
    /// The ticket comes from another build.
    #[error("the launch ticket was written by another version (this is {}): install the same build on every node", env!("CARGO_PKG_VERSION"))]
    OtherVersion,
    /// The ticket does not decode.
    #[error("the launch ticket is damaged")]
    Damaged,
    /// The ticket is for several nodes, and this node is none of them.
    #[error("the launch ticket is for other nodes than this one, which is called {names}")]
    NotForThisNode {
        /// The names of this node, separated by commas.
        names: String,
    },
}

const TICKET_MAGIC: &[u8; 8] = b"ferrtkt\n";

impl Ticket {
    /// The placeholder for the key in tickets without it.
    pub const NO_KEY: [u8; 32] = [0; 32];

    /// The bytes for the launcher's standard input: magic, protocol, length (u32), body.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = postcard::to_stdvec(self).expect("tickets hold no type that postcard refuses");
        let mut out = TICKET_MAGIC.to_vec();
        out.extend_from_slice(&crate::handshake::PROTOCOL.to_le_bytes());
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// The daemons that read this ticket.
    pub fn ranks(&self) -> impl Iterator<Item = DaemonRank> {
        let alone = self.group.is_empty().then_some(self.rank);
        self.group.iter().map(|(rank, _)| *rank).chain(alone)
    }

    /// The ticket of one daemon of a group: the first whose node's name `is_here` accepts. A ticket of one daemon
    /// stays as it is.
    #[must_use]
    pub fn member(&self, is_here: impl Fn(&str) -> bool) -> Option<Ticket> {
        if self.group.is_empty() {
            return Some(self.clone());
        }
        let (rank, node) = self.group.iter().find(|(_, node)| is_here(node))?.clone();
        Some(Ticket { rank, node, group: Vec::new(), ..self.clone() })
    }

    /// Reads a ticket; bytes after it are ignored.
    ///
    /// # Errors
    /// When the bytes are no ticket of this build.
    pub fn decode(bytes: &[u8]) -> Result<Ticket, TicketError> {
        let rest = bytes.strip_prefix(TICKET_MAGIC).ok_or(TicketError::NotATicket)?;
        let (protocol, rest) = rest.split_first_chunk::<8>().ok_or(TicketError::NotATicket)?;
        if u64::from_le_bytes(*protocol) != crate::handshake::PROTOCOL {
            return Err(TicketError::OtherVersion);
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(TicketError::Damaged)?;
        let body = rest.get(..u32::from_le_bytes(*length) as usize).ok_or(TicketError::Damaged)?;
        postcard::from_bytes(body).map_err(|_| TicketError::Damaged)
    }
}

/// Debug output without the key, because tickets end up in logs.
impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("dvm", &self.dvm)
            .field("rank", &self.rank)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// The first message of a daemon to the head over its tree link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonReport {
    /// The daemon's rank.
    pub rank: DaemonRank,
    /// Its machine's own host name, and the machine's other names.
    pub hostname: String,
    /// The addresses at which it listens.
    pub contact: Contact,
    /// The topology of its machine.
    pub topology: Topology,
    /// Its process id.
    pub pid: u32,
}

/// The failure of a daemon, or of those of one command, to come up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFailure {
    /// The daemon; of several, the first.
    pub rank: DaemonRank,
    /// The nodes of the daemons.
    pub nodes: Vec<String>,
    /// The command that was to start them.
    pub command: String,
    /// The cause, in words.
    pub cause: String,
}

impl LaunchFailure {
    /// The daemons that did not come up, as the subject of a sentence.
    #[must_use]
    pub fn subject(&self) -> String {
        const SHOWN: usize = 8;
        match (self.nodes.as_slice(), self.nodes.len().saturating_sub(SHOWN)) {
            ([node], _) => format!("The daemon on node {node}"),
            (nodes, 0) => format!("The daemons on nodes {}", nodes.join(", ")),
            (nodes, more) => format!("The daemons on nodes {} and {more} more", nodes[..SHOWN].join(", ")),
        }
    }
}

/// The shape of the DVM for all daemons, which determines each daemon's neighbours. Neighbours tell each other their
/// contacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wireup {
    /// The number of this shape, from 1. A shape with a lower number is older, even when it arrives later.
    pub number: u64,
    /// Number of ranks, the departed included.
    pub size: u32,
    /// Ranks without a daemon: departed, leaving, or on their way.
    pub dead: RankSet,
    /// The ranks of `dead` whose daemons are on their way.
    pub coming: RankSet,
    /// The ranks that have come since the last wireup; may be empty.
    pub come: RankSet,
}
