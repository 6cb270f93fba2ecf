//! The .deb, written by `dpkg-deb`. The commands are below `/usr/lib/ferrite-dvm`; the system's alternatives make the
//! links in `/usr/bin` whose names Debian's own packages have as well.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::layout::{Entry, size};
use super::release::Release;
use super::stage::{self, Stage};
use crate::runner::step;
use crate::workspace::root;

/// Writes the package.
pub(super) fn write(release: &Release, files: &[Entry], to: &Path) -> Result<()> {
    let stage = stage::make(release, files, "deb")?;
    let documents = stage.path("usr/share/doc/ferrite-dvm");
    let texts = root().join("packaging/debian");
    fs::copy(texts.join("copyright"), documents.join("copyright"))?;
    let log = stage::gzipped(changelog(release).as_bytes())?;
    fs::write(documents.join("changelog.Debian.gz"), log)?;
    stage.file("usr/share/lintian/overrides/ferrite-dvm", &fs::read(texts.join("lintian-overrides"))?, 0o644)?;
    stage.file("DEBIAN/control", control(release, files).as_bytes(), 0o644)?;
    for (script, text) in [("postinst", stage::AFTER_INSTALL), ("prerm", stage::BEFORE_REMOVAL)] {
        stage.file(&format!("DEBIAN/{script}"), in_debian(script, text).as_bytes(), 0o755)?;
    }
    pack(release, &stage, to)
}

fn pack(release: &Release, stage: &Stage, to: &Path) -> Result<()> {
    fs::set_permissions(stage.root(), fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new("dpkg-deb");
    // Files that are newer than the commit get its time.
    command.env("SOURCE_DATE_EPOCH", release.time_s.to_string());
    command.args(["--root-owner-group", "-Zxz", "--build"]).arg(stage.root()).arg(to);
    step("dpkg-deb", &mut command).map(|_| ())
}

fn control(release: &Release, files: &[Entry]) -> String {
    let (version, processor, maintainer) = (&release.version, release.processor.in_debian(), &release.maintainer);
    let size_kib = size(files).div_ceil(1024);
    format!(
        "Package: ferrite-dvm\nVersion: {version}-1\nArchitecture: {processor}\nMaintainer: {maintainer}\n\
         Installed-Size: {size_kib}\nDepends: libc6 (>= 2.28)\nRecommends: libpmix2 | libpmix2t64, openssh-client\n\
         Section: net\nPriority: optional\n\
         Description: elastic run-time environment for parallel programs\n \
         Ferrite starts MPI and other parallel programs on one machine or on many nodes,\n \
         and manages them until the last process has ended. It takes the options of\n \
         PRRTE's prterun, prte, prun and pterm. A running DVM can grow and shrink.\n"
    )
}

fn changelog(release: &Release) -> String {
    let date = stage::date(release.time_s);
    let (version, maintainer) = (&release.version, &release.maintainer);
    format!(
        "ferrite-dvm ({version}-1) unstable; urgency=medium\n\n  * Release {version}; CHANGELOG.md says what it brings.\n\n \
         -- {maintainer}  {date}\n"
    )
}

/// A script of the package, which dpkg calls in other cases as well.
fn in_debian(script: &str, text: &str) -> String {
    let case = if script == "postinst" { "configure" } else { "remove" };
    let indented = text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!("#!/bin/sh\nset -e\nif [ \"$1\" = {case} ]; then\n{indented}fi\n")
}
