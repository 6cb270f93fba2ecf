//! `cargo xtask dist --twice`: makes the packages once more, from a clone in another directory and with another target
//! directory, and compares the bytes.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::release::Release;
use super::{Packages, dir};
use crate::runner::step;
use crate::workspace::{pypi_dir, root};

/// Fails when a package of the second build differs from that of the first.
pub(super) fn compare(release: &Release, first: &Packages) -> Result<()> {
    ensure!(!release.commit.ends_with('+'), "--twice builds a clone of the commit: commit what is changed first");
    // Not below the checkout, and names of another length: a path in a program changes its bytes.
    let place = env::temp_dir().join(format!("ferrite-dist-twice-{}", std::process::id()));
    let made = second(release, &place).and_then(|second| differences(first, &second));
    let kept = dir().join("twice");
    if made.as_ref().is_ok_and(Vec::is_empty) {
        fs::remove_dir_all(&place)?;
        println!("dist: built twice, the three packages have the same bytes");
        return Ok(());
    }
    let differing = made.with_context(|| format!("the second build, which stays in {}", place.display()))?;
    fs::create_dir_all(&kept)?;
    for (_, second) in &differing {
        fs::copy(second, kept.join(second.file_name().unwrap_or_default()))?;
    }
    fs::remove_dir_all(&place)?;
    let names: Vec<String> = differing.iter().map(|(first, _)| first.display().to_string()).collect();
    anyhow::bail!("the second build differs, see {}: {}", kept.display(), names.join(", "))
}

/// Makes the packages in a clone.
fn second(release: &Release, place: &Path) -> Result<Packages> {
    let (clone, target) = (place.join("clone"), place.join("build"));
    fs::create_dir_all(&target)?;
    let mut command = Command::new("git");
    step("a clone", command.args(["clone", "--quiet", "--no-hardlinks"]).arg(root()).arg(&clone))?;
    // The linker is the same one. Its directory is no part of a program.
    symlink(pypi_dir(), target.join("pypi"))?;
    let mut command = Command::new(env::current_exe()?);
    command.args(["dist", "--processor", release.processor.name()]).current_dir(&clone);
    command.env("CARGO_MANIFEST_DIR", clone.join("xtask")).env("CARGO_TARGET_DIR", &target);
    step("the second build", &mut command)?;
    Ok(Packages::below(&target.join("dist"), release))
}

/// The pairs of files that differ.
fn differences(first: &Packages, second: &Packages) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut pairs = Vec::new();
    for (first, second) in first.files().into_iter().zip(second.files()) {
        if fs::read(first)? != fs::read(second)? {
            pairs.push((first.clone(), second.clone()));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_with_one_other_byte_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let packages = |name: &str, deb: &[u8]| {
            let file = |end: &str| dir.path().join(format!("{name}.{end}"));
            let made = Packages { archive: file("tar.gz"), deb: file("deb"), rpm: file("rpm") };
            fs::write(&made.archive, b"a").unwrap();
            fs::write(&made.deb, deb).unwrap();
            fs::write(&made.rpm, b"r").unwrap();
            made
        };
        let (one, same, other) = (packages("1", b"d"), packages("2", b"d"), packages("3", b"D"));
        assert!(differences(&one, &same).unwrap().is_empty());
        assert_eq!(differences(&one, &other).unwrap(), [(one.deb, other.deb)]);
    }
}
