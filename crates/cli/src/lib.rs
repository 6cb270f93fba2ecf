//! The commands: what the user typed becomes a request to the driver. `args` is pure parsing, `setup` reads files and
//! `machine` what this host is, `frame` is how messages look; `prterun` and `prted` put them together, and the binaries are
//! one line each.

pub mod args;
pub mod daemon_args;
pub mod frame;
pub mod machine;
pub mod prted;
pub mod prterun;
pub mod setup;
