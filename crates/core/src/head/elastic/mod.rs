//! Changes of the size of the DVM: campaigns, the launch fence, and nodes of a resource manager.

mod campaigns;
mod cancel;
mod choice;
mod doubtful;
mod extensions;
mod grow;
mod late_wireup;
mod launch_fence;
mod phase;
mod push;
mod requester;
mod shrink;
mod turns;

pub(in crate::head) use self::campaigns::{Campaign, Campaigns, GrowPlan, Joins, Plan, Reason};
pub(in crate::head) use self::extensions::Extensions;
pub(in crate::head) use self::launch_fence::{Berth, Hold};
pub(in crate::head) use self::phase::Change;
pub(in crate::head) use self::requester::Requester;
