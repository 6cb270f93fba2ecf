//! Sessions: which nodes and jobs belong together, for how long, and for whom.

mod allocations;
mod end;
mod instantiation;
mod owners;
mod registry;
mod time_limits;

pub(in crate::head) use self::instantiation::wish_of;
pub(in crate::head) use self::owners::Owner;
pub(in crate::head) use self::registry::Sessions;
