//! Programs of another processor run on this machine by the qemu of Debian 13.
//!
//! The qemu of Debian 12 lacks `PR_SET_CHILD_SUBREAPER`, the call by which a process adopts the orphans below it. No
//! command of the product starts a job without this call.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::build::Processor;
use super::enter;
use crate::runner::{announce, step};

/// The kernel's list of the kinds of programs that it runs by an interpreter.
const FORMATS: &str = "/proc/sys/fs/binfmt_misc";

/// The first bytes of a program for ARM, and which of their bits count.
const AARCH64: &str = concat!(
    r"\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:",
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
);

/// Fetches qemu from a root of Debian 13. The file does not need the libraries of a machine.
const FETCH: &str = "cd /inputs && apt-get update -q && apt-get download -q qemu-user && \
                     dpkg-deb --fsys-tarfile qemu-user_*.deb | tar -x --strip-components=3 ./usr/bin/qemu-aarch64 && \
                     rm qemu-user_*.deb";

/// Makes the kernel run such programs, also in roots, until this machine starts again.
pub(super) fn ensure(processor: Processor) -> Result<()> {
    if processor.is_native() {
        return Ok(());
    }
    ensure!(processor == Processor::Aarch64, "this machine has no emulator of {}", processor.name());
    let dir = super::dir().join("qemu");
    let qemu = dir.join("qemu-aarch64");
    if !qemu.exists() {
        announce("qemu of Debian 13");
        fs::create_dir_all(&dir)?;
        let root = enter::root_of(enter::debian_13(), Processor::X86_64)?;
        let status = enter::script(&root, &dir, FETCH).status()?;
        ensure!(status.success() && qemu.exists(), "cannot fetch qemu-user of Debian 13: {status}");
    }
    register(&qemu)
}

fn register(qemu: &Path) -> Result<()> {
    let formats = Path::new(FORMATS);
    // Machines without systemd do not mount it.
    if !formats.join("register").exists() {
        step("binfmt_misc", Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", FORMATS]))?;
    }
    let own = formats.join("ferrite-aarch64");
    let line = |text: &str| text.lines().any(|line| line == format!("interpreter {}", qemu.display()));
    match fs::read_to_string(&own) {
        Ok(text) if line(&text) => return Ok(()),
        // Another checkout has registered its own qemu.
        Ok(_) => fs::write(&own, "-1")?,
        Err(_) => {}
    }
    // The last one that was registered comes first. `F`: it is opened now, so roots need no copy; `P`: programs see the
    // name by which they were called.
    let text = format!(":ferrite-aarch64:M::{AARCH64}:{}:OPF", qemu.display());
    let file = formats.join("register");
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
