//! PMI-1, the line protocol by which MPICH and what derives from it find their peers. Pure: bytes in, requests out,
//! replies as text. The driver owns the sockets; the daemon's core runs the barrier as one of its collectives.
//!
//! A process gets one end of a socket pair and its place in the job by [`client_env`]. It then puts what others need to
//! reach it into a key-value space ([`Kvs`]), waits at a barrier, and gets what the others put. What was put between
//! two barriers is the daemon's contribution to that barrier's collective ([`Kvs::take_delta`]), and the concatenation
//! of all contributions is merged by everyone ([`Kvs::merge`]).
//!
//! What is never done here: spawning and name publishing. They have requests, so that they can be refused by name.

mod environment;
mod kvs;
mod mapping;
mod reply;
mod request;

pub use environment::{ClientPlace, client_env};
pub use kvs::{Kvs, MergeError};
pub use mapping::process_mapping;
pub use reply::Reply;
pub use request::{ParseError, Parser, Request, parse};

/// The longest name of a key-value space.
pub const MAX_KVSNAME: usize = 256;
/// The longest key.
pub const MAX_KEY: usize = 64;
/// The longest value. Clients split longer ones.
pub const MAX_VALUE: usize = 1024;
/// The key under which clients look for the nodes of the job.
pub const PROCESS_MAPPING_KEY: &str = "PMI_process_mapping";
