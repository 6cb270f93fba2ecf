//! The commands. Each turns its arguments into a request to the driver, or to a DVM that is running. `args` parses
//! (pure), `setup` reads files, `machine` reads facts about this host, `frame` prints messages, `limits` checks the
//! shell's limits, and `command` is common to all commands. `prterun`, `prte`, `prted`, `prun` (with `batch`), `pterm`,
//! `prte_info` and `pdvm` are the commands; the binaries call them. `one` is the binary that holds all of them.

pub mod args;
pub mod batch;
mod called;
pub mod command;
pub mod daemon_args;
pub mod frame;
mod interrupts;
pub mod limits;
pub mod machine;
pub mod one;
pub mod pdvm;
mod pictures;
pub mod prte;
pub mod prte_info;
pub mod prted;
pub mod prterun;
pub mod prun;
pub mod pterm;
pub mod service;
pub mod setup;
