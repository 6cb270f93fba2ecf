//! The DVM itself: its bring-up, its nodes, its losses and its end.

mod bringup;
mod end;
mod losses;
mod nodes;

pub(in crate::head) use self::bringup::BringUp;
pub(in crate::head) use self::end::{Exit, INTERRUPTED};
pub(in crate::head) use self::losses::{Loss, Losses};
pub(in crate::head) use self::nodes::Pool;
