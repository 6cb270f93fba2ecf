//! `cargo xtask sim`: the simulator, built and called. Every word is the simulator's own; it alone knows what they
//! mean.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::runner::cargo;
use crate::workspace;

/// `cargo xtask sim WORD...`; the exit code is the simulator's: 1 for a broken guarantee, 2 for a wrong word.
pub(crate) fn main(words: &[String]) -> Result<u8> {
    // Built first and called by its path: cargo's own exit codes are not to be taken for those of the simulator.
    let build = ["build", "--release", "--quiet", "-p", "ferrite-sim", "--bin", "sim"];
    let built = cargo().args(build).status().context("cannot start cargo")?;
    ensure!(built.success(), "the simulator cannot be built: {built}");
    let program = workspace::target().join("release/sim");
    let status =
        Command::new(&program).args(words).status().with_context(|| format!("cannot start {}", program.display()))?;
    // By a signal: as a shell says it.
    let code = status.code().or_else(|| status.signal().map(|n| 128 + n)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}
