//! Jobs: their records, states, placement, queue, failures, spawn trees, connections, output and input.

mod aborts;
mod companions;
mod connections;
mod debug;
mod dependencies;
mod failure_policy;
mod failures;
mod job_record;
mod new_members;
mod node_losses;
mod notices;
mod output;
mod phase;
mod placement;
mod placement_defaults;
mod preload;
mod process_table;
mod pulls;
mod queue;
mod record;
mod registry;
mod restarts;
mod spawn;
mod stacks;
mod state_tables;
mod states;
mod status;
mod stdin;
mod submissions;
mod waiting_list;
mod waits;
mod watchers;
mod withdrawals;

pub(in crate::head) use self::record::Job;
pub(in crate::head) use self::registry::Jobs;
pub use self::state_tables::{ERROR_STATES, LAUNCH_STATES, state_tables};
