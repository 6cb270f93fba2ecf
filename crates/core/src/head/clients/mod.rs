//! Clients: their requests and replies, the status, the history and the metrics.

mod history;
mod metrics;
mod relayed;
mod requests;
mod status;

pub(in crate::head) use self::metrics::{Counted, Late};
pub(in crate::head) use self::status::listed_names;

use ferrite_types::DaemonRank;
use ferrite_wire::control::JobDetail;

use self::history::History;
use self::metrics::Counters;
use crate::relay::Relays;

/// The state of what clients see.
#[derive(Debug)]
pub(in crate::head) struct Clients {
    history: History,
    counters: Counters,
    /// Clients of other nodes.
    relays: Relays,
}

impl Clients {
    pub(in crate::head) fn new() -> Clients {
        Clients { history: History::default(), counters: Counters::default(), relays: Relays::of(DaemonRank::HEAD) }
    }

    /// Counts an event for the metrics.
    pub(in crate::head) fn count(&mut self, event: Counted) {
        self.counters.count(event);
    }

    /// Keeps what is known of a job that is over.
    pub(in crate::head) fn remember(&mut self, job: JobDetail) {
        self.history.add(job);
    }
}
