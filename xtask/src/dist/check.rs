//! `cargo xtask dist --check`: lintian, and each package in fresh roots of Debian and Ubuntu (`check.sh`).

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::release::Release;
use super::{Packages, enter, mpi};
use crate::runner::{announce, wait};

/// Longest time in one root, of which the installation of Open MPI takes most.
const LIMIT: Duration = Duration::from_secs(900);

/// Longest time in a root whose programs run by qemu.
const EMULATED_LIMIT: Duration = Duration::from_secs(3600);

/// Checks the packages of a release, in all systems or in one.
pub(super) fn all(release: &Release, packages: &Packages, only: Option<&str>) -> Result<()> {
    announce("lintian");
    let mut lintian = Command::new("lintian");
    let status = lintian.args(["--fail-on", "error", "--tag-display-limit", "0", "--allow-root"]).arg(&packages.deb);
    ensure!(status.status().context("cannot start lintian")?.success(), "lintian found errors");
    let inputs = super::dir().join(format!("inputs-{}", release.processor.name()));
    fs::create_dir_all(&inputs)?;
    fs::copy(&packages.archive, inputs.join("archive.tar.gz"))?;
    fs::copy(&packages.deb, inputs.join("package.deb"))?;
    fs::copy(&packages.rpm, inputs.join("package.rpm"))?;
    fs::copy(mpi::hello(release.processor)?, inputs.join("hello"))?;
    let is_native = release.processor.is_native();
    let limit = if is_native { LIMIT } else { EMULATED_LIMIT };
    for system in enter::systems(release.processor, only)? {
        let title = system.title;
        announce(&format!("{title}, {}", release.processor.name()));
        let start = Instant::now();
        let root = enter::root_of(system, release.processor)?;
        let mut command = enter::script(&root, &inputs, include_str!("check.sh"));
        // Shell and Tcl are the same on each processor, and their programs are slow under an emulator.
        let mut child = command.env("TOOLS", if is_native { "yes" } else { "no" }).spawn()?;
        let status = wait(&mut child, limit)?.with_context(|| format!("{title}: no end within {limit:?}"))?;
        ensure!(status.success(), "the packages do not pass in {title}: {status}");
        println!("dist: {title}, {}: {} s", release.processor.name(), start.elapsed().as_secs());
    }
    Ok(())
}
