//! Jobs: their records, states, placement, queue, failures, spawn trees, connections, output and input.

mod connections;
mod failure_policy;
mod failures;
mod job_record;
pub(in crate::head) mod notices;
mod output;
mod placement;
pub(in crate::head) mod placement_defaults;
mod queue;
mod record;
mod spawn;
mod state_tables;
mod states;
mod status;
mod stdin;

pub(in crate::head) use self::connections::Connections;
pub(in crate::head) use self::failure_policy::{Failure, NODES_LEFT};
pub(in crate::head) use self::output::Mux;
pub use self::record::Job;
pub(in crate::head) use self::spawn::Trees;
pub use self::state_tables::{ERROR_STATES, LAUNCH_STATES, state_tables};
pub(in crate::head) use self::states::refuse;
