//! Clients: their requests and replies, the status and the history.

mod history;
mod relayed;
mod requests;
mod status;

use ferrite_types::DaemonRank;
use ferrite_wire::control::JobDetail;

use self::history::History;
use crate::relay::Relays;

/// The state of what clients see.
#[derive(Debug)]
pub(in crate::head) struct Clients {
    history: History,
    /// Clients of other nodes.
    relays: Relays,
}

impl Default for Clients {
    fn default() -> Clients {
        Clients { history: History::default(), relays: Relays::of(DaemonRank::HEAD) }
    }
}

impl Clients {
    /// Keeps what is known of a job that is over.
    pub(in crate::head) fn remember(&mut self, job: JobDetail) {
        self.history.add(job);
    }
}
