//! Checks the man pages with mandoc, where it is installed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::runner;
use crate::workspace::{root, which};

/// Longest time for all pages.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn check() -> Result<()> {
    let Some(mandoc) = which("mandoc") else {
        println!("xtask tidy: mandoc is not installed; the man pages are not checked");
        return Ok(());
    };
    let dir = root().join("docs/man");
    let entries = std::fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
    let mut pages: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    pages.sort();
    let outcome = runner::run(Command::new(mandoc).args(["-T", "lint"]).args(&pages), LIMIT)?;
    if outcome.is_success() && outcome.stdout.is_empty() {
        return Ok(());
    }
    bail!("xtask tidy: mandoc complains about man pages:\n{}{}", outcome.stdout, outcome.stderr)
}
