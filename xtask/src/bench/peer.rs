//! The C reference in a Debian 13 of its own: made by `debootstrap --include=openmpi-bin trixie DIR`, entered by
//! chroot. Only on a node of the bed, whose mounts end with it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

/// Its name in tables.
pub(super) const NAME: &str = "PRRTE 3.0.8 of Debian 13";

/// Gives it what programs expect to find.
pub(super) fn enter(root: &Path) -> Result<()> {
    ensure!(root.join("usr/bin/prun").exists(), "{}: there is no usr/bin/prun", root.display());
    for dir in ["proc", "sys", "dev", "tmp"] {
        let status = Command::new("mount").args(["--rbind", &format!("/{dir}")]).arg(root.join(dir)).status()?;
        ensure!(status.success(), "cannot mount /{dir} below {}", root.display());
    }
    Ok(())
}

/// The words that call a program there.
pub(super) fn call(root: &Path, program: &str) -> Vec<String> {
    let words = ["chroot", &root.display().to_string(), program].map(str::to_owned);
    words.into()
}
