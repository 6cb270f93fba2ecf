//! Placement: map (how many processes on which node, on which object), rank (in which order), bind (to which hardware
//! threads). Pure functions make a job map of a job and the nodes that it may use. The head calls them when it maps a
//! job; the command line parses directives with them. Nothing here starts or remembers a job: the head passes in what
//! mapped jobs use ([`Occupancy`]).
//!
//! Read `place.rs` first: it calls the steps in their order.

mod app;
mod beside;
mod bind;
mod candidate;
mod count;
mod cpu_list;
mod device;
mod device_env;
mod device_use;
pub mod directive;
pub mod display;
pub mod display_topo;
mod error;
mod full;
mod listed;
mod mapped_node;
mod narrow;
mod occupancy;
pub mod picture;
mod place;
mod placement_policy;
mod rank;
mod shape;
mod shapes;
mod slots;
mod topic;
pub mod topology_file;
mod units;
mod unplaceable;

pub use beside::{BesideError, place_beside};
pub use cpu_list::{CpuListError, restrict};
pub use device_env::{DeviceEnvError, device_env};
pub use directive::DirectiveError;
pub use error::{Binding, MapError, NodeProcessors, NodeSlots, ResourceAmount};
pub use full::needs_free_slots;
pub use narrow::{Alike, place_on_free};
pub use occupancy::{Occupancy, Overcommitted};
pub use place::place;
pub use slots::{DefaultSlots, DefaultSlotsError};
