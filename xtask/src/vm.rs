//! `cargo xtask vm`: what only a machine of its own can show, in qemu: the limits of memory in control groups of
//! version 2, which many machines that build and test do not have.
//!
//! The machine has a kernel of Debian, busybox, Ferrite's commands with their libraries, and `tests/vm/memory.sh` as
//! its first process. Nothing is installed in this system but qemu and busybox.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::args::Args;
use crate::runner::{self, announce, build_product};
use crate::setup;
use crate::workspace::{product, root, target, which};

/// Longest time of the machine.
const LIMIT: Duration = Duration::from_secs(300);
const STEP_LIMIT: Duration = Duration::from_secs(300);
const KERNEL: &str = "linux-image-cloud-amd64";
const COMMANDS: [&str; 5] = ["prte", "prted", "prterun", "prun", "pterm"];

/// `cargo xtask vm`
pub(crate) fn main(args: Args) -> Result<()> {
    args.finish()?;
    build_product()?;
    setup::ensure_programs(&[
        ("qemu-system-x86", "qemu-system-x86_64"),
        ("busybox-static", "busybox"),
        ("cpio", "cpio"),
    ])?;
    let place = target().join("vm");
    fs::create_dir_all(&place)?;
    let kernel = kernel(&place)?;
    let disk = disk(&place)?;
    announce("a machine with control groups of version 2");
    let mut qemu = Command::new("qemu-system-x86_64");
    // Emulated: a virtual machine often has a /dev/kvm that does not work, and this takes a quarter of a minute anyway.
    qemu.args(["-accel", "tcg", "-m", "1536", "-smp", "2", "-nographic", "-no-reboot"]);
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(disk);
    qemu.args(["-append", "console=ttyS0 quiet panic=-1 rdinit=/init cgroup_no_v1=all"]).stdin(Stdio::null());
    let outcome = runner::run(&mut qemu, LIMIT)?;
    let said = outcome.stdout.replace('\r', "");
    let checks: Vec<&str> =
        said.lines().filter(|line| line.starts_with("ok ") || line.starts_with("not ok ")).collect();
    checks.iter().for_each(|line| println!("{line}"));
    let bad = checks.iter().filter(|line| line.starts_with("not ok ")).count();
    if bad > 0 || !said.contains("all checks are made") {
        bail!("{bad} checks of {} failed; the machine said:\n{said}\n{}", checks.len(), outcome.stderr);
    }
    println!("--- {} checks passed", checks.len());
    Ok(())
}

/// The kernel of Debian, unpacked and not installed.
fn kernel(place: &Path) -> Result<PathBuf> {
    let root = place.join("kernel");
    let found = || -> Option<PathBuf> {
        let files = fs::read_dir(root.join("boot")).ok()?.flatten();
        files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("vmlinuz"))
    };
    if let Some(kernel) = found() {
        return Ok(kernel);
    }
    // The package without a version depends on the newest one.
    let depends = output(Command::new("apt-cache").args(["depends", "--important", KERNEL]))?;
    let name = depends.split_whitespace().find(|word| word.starts_with("linux-image-") && *word != KERNEL);
    let name = name.with_context(|| format!("{KERNEL} depends on no kernel:\n{depends}"))?;
    output(Command::new("apt-get").args(["download", name]).current_dir(place))?;
    let packages = fs::read_dir(place)?.flatten().map(|file| file.path());
    let package = packages.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "deb"));
    let package = package.context("apt-get download has left no package")?;
    output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root))?;
    fs::remove_file(package)?;
    found().context("the package has no kernel")
}

/// Makes the first file system of the machine.
fn disk(place: &Path) -> Result<PathBuf> {
    let tree = place.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    for directory in ["bin", "etc", "lib64", "lib/x86_64-linux-gnu"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    let busybox = which("busybox").context("busybox is not installed")?;
    fs::copy(busybox, tree.join("bin/busybox"))?;
    symlink("busybox", tree.join("bin/sh"))?;
    let users = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n";
    fs::write(tree.join("etc/passwd"), users)?;
    fs::write(tree.join("etc/group"), "root:x:0:\nuser:x:1000:\n")?;
    let mut libraries = BTreeSet::new();
    for command in COMMANDS {
        let file = product(command);
        fs::copy(&file, tree.join("bin").join(command))?;
        let listed = output(Command::new("ldd").arg(&file))?;
        libraries.extend(listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from));
    }
    for library in libraries {
        let to = tree.join(library.strip_prefix("/")?);
        fs::create_dir_all(to.parent().context("a library in no directory")?)?;
        fs::copy(&library, to)?;
    }
    let init = tree.join("init");
    fs::copy(root().join("tests/vm/memory.sh"), &init)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    let disk = place.join("disk.cpio");
    let names = output(Command::new("find").arg(".").current_dir(&tree))?;
    let mut cpio = Command::new("cpio");
    cpio.args(["--create", "--format=newc", "--quiet", "--owner=0:0"]).current_dir(&tree);
    let mut child = cpio.stdin(Stdio::piped()).stdout(File::create(&disk)?).spawn().context("cpio")?;
    child.stdin.take().context("cpio has no input")?.write_all(names.as_bytes())?;
    let status = runner::wait(&mut child, STEP_LIMIT)?.context("cpio hangs")?;
    ensure!(status.success(), "cpio: {status}");
    Ok(disk)
}

fn output(command: &mut Command) -> Result<String> {
    let outcome = runner::run(command, STEP_LIMIT)?;
    ensure!(outcome.is_success(), "{command:?}: {}", outcome.tail());
    Ok(outcome.stdout)
}
