//! Clients: their requests, the replies and the notices.

mod history;
mod job_record;
mod metrics;
pub(in crate::head) mod notices;
mod relayed;
mod requests;
pub(in crate::head) mod status;

pub(in crate::head) use self::history::History;
pub(in crate::head) use self::metrics::Counters;
pub(in crate::head) use self::status::listed_names;
