//! The state machines of Ferrite, without clock, sockets, threads, randomness or FFI.
//!
//! Read first: [`Input`] (events), [`Effect`] (requests to the driver), [`Timer`]. A [`Node`] is one process of the
//! DVM: router, daemon and, at rank 0, the head, with one entry point, [`Node::handle`]. The driver runs it against
//! the real world, the simulator against a simulated one.

// A new variant of an enum of ours is a decision at every match.
#![deny(clippy::wildcard_enum_match_arm)]

mod config;
mod cx;
mod daemon;
mod effect;
mod head;
mod input;
mod launches;
mod node;
mod output;
mod preload;
mod relay;
mod spread;
mod timer;
mod transport;

pub(crate) use ferrite_types::pmix_status;

pub use config::{HeadConfig, LocalNode};
pub use daemon::TIDY_MS;
pub use effect::{
    Account, BatchEffect, Effect, Effects, LaneEffect, PmixEffect, Recall, Recalled, Registration, RelayEffect, Share,
    Sink, SpawnRequest, StageEffect, Transition,
};
pub use head::{ERROR_STATES, Head, LAUNCH_STATES, state_tables};
pub use input::{
    AbortScope, BatchInput, DaemonInput, HeadInput, Input, Lane, LaneInput, LinkInput, LogCall, LogForm, LogId,
    LogStep, PmixCall, PmixToken, RelayId, RelayInput, RequestId,
};
pub use node::{Node, Reader};
pub use output::date_of;
pub use timer::{DaemonTimer, HeadTimer, LinkTimer, Timer};
