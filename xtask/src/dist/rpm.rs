//! The .rpm, written by `rpmbuild` from the same tree as the .deb.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::layout::Entry;
use super::release::Release;
use super::stage;
use crate::runner::step;
use crate::workspace::root;

/// Writes the package.
pub(super) fn write(release: &Release, files: &[Entry], to: &Path) -> Result<()> {
    let stage = stage::make(release, files, "rpm")?;
    let top = super::dir().join("rpmbuild");
    fs::create_dir_all(&top)?;
    let template = fs::read_to_string(root().join("packaging/rpm/ferrite-dvm.spec.in"))?;
    let spec = top.join("ferrite-dvm.spec");
    fs::write(&spec, filled(&template, release, stage.root()))?;
    let mut command = Command::new("rpmbuild");
    let processor = release.processor.name();
    command.args(["-bb", "--quiet", "--target", processor, "--define"]).arg(format!("_topdir {}", top.display()));
    // Times and the name of this machine are no part of a package that has the same bytes each time.
    for define in ["use_source_date_epoch_as_buildtime 1", "clamp_mtime_to_source_date_epoch 1", "_buildhost ferrite"] {
        command.args(["--define", define]);
    }
    command.env("SOURCE_DATE_EPOCH", release.time_s.to_string());
    step("rpmbuild", command.arg(&spec))?;
    let name = to.file_name().context("a package has a name")?;
    fs::copy(top.join("RPMS").join(processor).join(name), to)?;
    Ok(())
}

fn filled(template: &str, release: &Release, stage: &Path) -> String {
    let values = [
        ("@VERSION@", release.version.as_str()),
        ("@STAGE@", &stage.display().to_string()),
        ("@AFTER_INSTALL@", stage::AFTER_INSTALL.trim_end()),
        ("@BEFORE_REMOVAL@", stage::BEFORE_REMOVAL.trim_end()),
    ];
    values.into_iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
}
