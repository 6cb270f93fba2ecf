//! A miniature DVM for the tests: each node is a process of its own (libpmix has one server per process), and the
//! harness routes fences and direct modex between them, as the driver and the tree do in earnest.

pub(crate) mod harness;
pub(crate) mod node;
pub(crate) mod programs;
