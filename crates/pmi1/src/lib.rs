//! PMI-1, the line protocol by which processes of MPICH and its derivatives find each other. Pure: it makes requests of
//! bytes, and replies as text. The driver owns the sockets; the daemon's machine runs the barrier as a collective.
//!
//! A process gets one end of a socket pair, and its place in the job ([`client_env`]). It puts its contact into a
//! key-value space ([`Kvs`]), waits at a barrier, and gets the contacts of the others. Each daemon contributes to a
//! barrier what was put since the last one ([`Kvs::take_delta`]), and merges all contributions ([`Kvs::merge`]).
//!
//! A process may start a job ([`Spawn`]), whose processes find the contact of their parent in their key-value space. It
//! may also publish ports under names for other jobs.

mod environment;
mod kvs;
mod mapping;
mod reply;
mod request;
mod spawn;

pub use environment::{ClientPlace, client_env};
pub use kvs::{Kvs, MergeError};
pub use mapping::process_mapping;
pub use reply::Reply;
pub use request::{ParseError, Parser, Request, parse};
pub use spawn::{BadSpawn, Spawn, SpawnApp};

/// The longest name of a key-value space (bytes).
pub const MAX_KVSNAME: usize = 256;
/// The longest key (bytes).
pub const MAX_KEY: usize = 64;
/// The longest value (bytes). Clients split longer ones.
pub const MAX_VALUE: usize = 1024;
/// The key under which clients look for the nodes of the job.
pub const PROCESS_MAPPING_KEY: &str = "PMI_process_mapping";
