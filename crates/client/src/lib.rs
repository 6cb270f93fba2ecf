//! The common part of `prun`, `pterm` and `pdvm`: selects a DVM, communicates with it, and moves input and output
//! between a job and its user. It knows no command lines, prints nothing, and starts without an event loop library or
//! libpmix: a client starts in about a millisecond.
//!
//! Read in this order: `selector` (which DVM is meant), `find` (which ones there are), `connection` (one request, one
//! reply), `remote` (the way to another host), `client_loop` (messages, output, input and signals at once), `bridge`
//! (JSON lines of another program).

mod bridge;
mod client_loop;
mod connection;
mod find;
mod frames;
mod preload;
mod remote;
mod selector;
mod signals;
mod sink;
mod source;

pub use bridge::{BridgeError, join};
pub use client_loop::{ClientEvent, ClientLoop};
pub use connection::{Channel, Connection, ConnectionError};
pub use find::{FindError, Here, connect, connect_and_ask, connect_silently};
pub use frames::{FrameError, Frames};
pub use preload::{PreloadError, Preloads, read_piece};
pub use remote::KeyError;
pub use selector::{Patience, Selector, SelectorError};
pub use signals::is_ignored;
pub use source::Source;
