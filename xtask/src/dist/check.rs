//! `cargo xtask dist --check`: lintian, and each package in fresh roots of Debian (`check.sh`).

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::build::Processor;
use super::release::Release;
use super::{Packages, enter};
use crate::programs::{Mpi, mpi_program};
use crate::runner::{announce, wait};

/// The releases of Debian in which packages are tried.
const SUITES: [&str; 2] = ["bookworm", "trixie"];

/// Longest time in one root, of which the installation of Open MPI takes most.
const LIMIT: Duration = Duration::from_secs(900);

/// Checks the packages of a release.
pub(super) fn all(release: &Release, packages: &Packages) -> Result<()> {
    announce("lintian");
    let mut lintian = Command::new("lintian");
    let status = lintian.args(["--fail-on", "error", "--tag-display-limit", "0", "--allow-root"]).arg(&packages.deb);
    ensure!(status.status().context("cannot start lintian")?.success(), "lintian found errors");
    let inputs = super::dir().join("inputs");
    fs::create_dir_all(&inputs)?;
    fs::copy(&packages.archive, inputs.join("archive.tar.gz"))?;
    fs::copy(&packages.deb, inputs.join("package.deb"))?;
    fs::copy(&packages.rpm, inputs.join("package.rpm"))?;
    // The program is compiled here, so it runs on this machine's kind of processor only.
    let has_mpi = release.processor == Processor::X86_64;
    if has_mpi {
        fs::copy(mpi_program("hello", Mpi::OpenMpi4)?, inputs.join("hello"))?;
    }
    for suite in SUITES {
        announce(&format!("Debian {suite}, {}", release.processor.name()));
        let root = enter::root_of(suite, release.processor)?;
        let mut command = enter::script(&root, &inputs, include_str!("check.sh"));
        let mut child = command.env("MPI", if has_mpi { "yes" } else { "no" }).spawn()?;
        let status = wait(&mut child, LIMIT)?.with_context(|| format!("Debian {suite}: no end within {LIMIT:?}"))?;
        ensure!(status.success(), "the packages do not pass in Debian {suite}: {status}");
    }
    Ok(())
}
