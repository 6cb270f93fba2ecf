//! How a daemon comes into the DVM: its ticket, its report, the wireup.

use core::net::SocketAddr;

use ferrite_types::{DaemonRank, HostEntry, RankSet, Topology};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Served;

/// Where a daemon listens, best address first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact(pub Vec<SocketAddr>);

/// What a daemon that is being started reads from its standard input. It holds the DVM's key, so it
/// travels over the launcher's pipe only: never in argv or environment, never to a file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Name of the DVM; namespaces of jobs derive from it.
    pub dvm: String,
    /// Pre-shared key of the DVM's links. The machine leaves it out ([`Ticket::NO_KEY`]); the driver puts it in on the
    /// way to the launcher, and takes it out before the machine of the new daemon sees the ticket.
    pub key: [u8; 32],
    /// The daemon's rank.
    pub rank: DaemonRank,
    /// The node's name as the user knows it.
    pub node: String,
    /// Number of ranks in the DVM, the departed included.
    pub size: u32,
    /// Ranks without a daemon: departed, leaving, or on their way.
    pub dead: RankSet,
    /// The DVM is wired up already: the daemon reports over the link that it calls on, and waits there for its place.
    pub joins: bool,
    /// Width of the tree.
    pub radix: u32,
    /// Whom to call first: the tree parent when it started this daemon, else the head.
    pub home: DaemonRank,
    /// Where that one listens.
    pub contact: Contact,
    /// Parameters of the DVM (`--prtemca`).
    pub params: Vec<(String, String)>,
    /// The words that start a daemon on a node.
    pub program: Vec<String>,
    /// With tree spawn: the daemons of this one's subtree, for it to start.
    pub subtree: Vec<NodeLaunch>,
    /// One command starts all of these, and each of them reads this ticket: who reads it finds its rank by its node's
    /// name. Empty when the ticket is for one daemon alone.
    pub group: Vec<(DaemonRank, String)>,
    /// Its launcher lives as long as it: the daemon does not come loose.
    pub stays: bool,
    /// Directory in which the launcher was started, if it exists here.
    pub cwd: String,
    /// Time from its start by which the daemon must be connected (milliseconds).
    pub connect_ms: u64,
    /// The DVM lives for clients, and lets those in that are on the daemon's node.
    pub served: Option<Served>,
}

/// A daemon to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLaunch {
    /// Its rank.
    pub rank: DaemonRank,
    /// Its node.
    pub host: HostEntry,
}

/// Why a ticket cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TicketError {
    /// Nothing, or something else, came on standard input.
    #[error("no launch ticket on standard input (prted is started by prte or prterun, not by hand)")]
    NotATicket,
    /// The ticket is of another build.
    #[error("the launch ticket was written by another version (this is {}): install the same build on every node", env!("CARGO_PKG_VERSION"))]
    OtherVersion,
    /// It does not decode.
    #[error("the launch ticket is damaged")]
    Damaged,
    /// It is for several nodes, and this is none of them.
    #[error("the launch ticket is for other nodes than this one, which is called {names}")]
    NotForThisNode {
        /// What this node is called, with commas.
        names: String,
    },
}

const TICKET_MAGIC: &[u8; 8] = b"ferrtkt\n";

impl Ticket {
    /// In the place of the key wherever it is not needed.
    pub const NO_KEY: [u8; 32] = [0; 32];

    /// Magic, protocol, length (u32), body: what is written to the launcher's standard input.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = postcard::to_stdvec(self).expect("tickets hold no type that postcard refuses");
        let mut out = TICKET_MAGIC.to_vec();
        out.extend_from_slice(&crate::handshake::PROTOCOL.to_le_bytes());
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// The daemons that read it.
    pub fn ranks(&self) -> impl Iterator<Item = DaemonRank> {
        let alone = self.group.is_empty().then_some(self.rank);
        self.group.iter().map(|(rank, _)| *rank).chain(alone)
    }

    /// The ticket of one daemon of a group: the first that `is_here` says of its node's name. The same when it is for
    /// one daemon alone.
    #[must_use]
    pub fn member(&self, is_here: impl Fn(&str) -> bool) -> Option<Ticket> {
        if self.group.is_empty() {
            return Some(self.clone());
        }
        let (rank, node) = self.group.iter().find(|(_, node)| is_here(node))?.clone();
        Some(Ticket { rank, node, group: Vec::new(), ..self.clone() })
    }

    /// Reads a ticket; bytes after it are left alone.
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

/// Debug output without the key: tickets end up in logs.
impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("dvm", &self.dvm)
            .field("rank", &self.rank)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// A daemon's first words to the head over its tree link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonReport {
    /// Who.
    pub rank: DaemonRank,
    /// Its machine's own name, and what else it is known as.
    pub hostname: String,
    /// Where it listens.
    pub contact: Contact,
    /// What its machine is made of.
    pub topology: Topology,
    /// Its process id.
    pub pid: u32,
}

/// Why a daemon, or those of one command, did not come up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFailure {
    /// Which one; the first of several.
    pub rank: DaemonRank,
    /// Their nodes.
    pub nodes: Vec<String>,
    /// The command that was to start it.
    pub command: String,
    /// What went wrong, in words.
    pub cause: String,
}

impl LaunchFailure {
    /// Who did not come up, as the beginning of a sentence.
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

/// The shape of the DVM, for everyone: who is who's neighbour follows from it. Where neighbours listen they tell each
/// other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wireup {
    /// Number of this shape; they count from 1. One with a lower number is older, however late it comes.
    pub number: u64,
    /// Number of ranks, the departed included.
    pub size: u32,
    /// Ranks without a daemon: departed, leaving, or on their way.
    pub dead: RankSet,
    /// Those of them whose daemons are on their way.
    pub coming: RankSet,
    /// Those who have come since the last wireup; empty when everybody has.
    pub come: RankSet,
}
