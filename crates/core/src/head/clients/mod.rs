//! Clients: their requests and replies, the status and the history.

mod batches;
mod history;
mod relayed;
mod requests;
mod status;
mod waiting;

use ferrite_types::DaemonRank;

use self::batches::Batches;
use self::history::History;
use self::waiting::Waits;
use crate::relay::Relays;

/// The state of what clients see.
#[derive(Debug)]
pub(in crate::head) struct Clients {
    history: History,
    /// Requests that wait for the ends of jobs.
    waits: Waits,
    /// Lists of jobs that processes of the DVM submit.
    batches: Batches,
    /// Clients of other nodes.
    relays: Relays,
}

impl Default for Clients {
    fn default() -> Clients {
        Clients {
            history: History::default(),
            waits: Waits::default(),
            batches: Batches::default(),
            relays: Relays::of(DaemonRank::HEAD),
        }
    }
}
