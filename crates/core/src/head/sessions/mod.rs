//! Sessions: their nodes and jobs, owners, time limits and ends.

mod allocations;
mod end;
mod instantiation;
mod orders;
mod owners;
mod registry;
mod session;
mod time_limits;

pub(in crate::head) use self::owners::Owner;
pub(in crate::head) use self::registry::Sessions;
