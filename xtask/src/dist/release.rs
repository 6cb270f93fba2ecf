//! What is released: version, commit, time. All of it comes from the checkout, so that packages have the same bytes
//! whoever makes them and when.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::build::Processor;
use crate::workspace::root;

/// A release for one processor.
pub(super) struct Release {
    pub(super) version: String,
    /// The commit; with `+` behind it when files of the checkout differ from it.
    pub(super) commit: String,
    /// The time of the commit (seconds since 1970), which all packed files get.
    pub(super) time_s: u64,
    pub(super) processor: Processor,
}

impl Release {
    pub(super) fn of_checkout(processor: Processor) -> Result<Self> {
        let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { "+" };
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"])?),
            time_s: git(&["log", "-1", "--format=%ct"])?.parse().context("the time of the commit")?,
            processor,
        })
    }

    /// The name of the archive and of the directory in it.
    pub(super) fn name(&self) -> String {
        format!("ferrite-{}-{}-linux", self.version, self.processor.name())
    }
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root()).args(words).output().context("cannot run git")?;
    ensure!(output.status.success(), "git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
