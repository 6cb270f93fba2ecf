//! The commands: what the user typed becomes a request to the driver, or to a DVM that is running. `args` is pure
//! parsing, `setup` reads files and `machine` what this host is, `frame` is how messages look, `limits` what the
//! shell's limits must allow, and `command` what all commands do alike; `prterun`, `prte`, `prted`, `prun` (with
//! `batch`), `pterm`, `prte_info` and `pdvm` put them together, and the binaries are one line each.

pub mod args;
pub mod batch;
pub mod command;
pub mod daemon_args;
pub mod frame;
mod interrupts;
pub mod limits;
pub mod machine;
pub mod pdvm;
mod pictures;
pub mod prte;
pub mod prte_info;
pub mod prted;
pub mod prterun;
pub mod prun;
pub mod pterm;
pub mod setup;
