//! Fresh roots of Debian in which packages are tried. A root is made once; what a trial writes there is in memory, and
//! is gone when the trial has ended.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::build::Processor;

const MIRROR: &str = "http://deb.debian.org/debian";

/// Puts a layer in memory over `$ROOT`, mounts there what a running system needs, and runs the command in it, with
/// `$INPUTS` at `/inputs`. The mounts end with the command, and its processes with the namespace.
const ENTER: &str = r#"
layer=$(mktemp -d) && mount -t tmpfs -o size=3g tmpfs "$layer" || exit 99
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay -o "lowerdir=$ROOT,upperdir=$layer/upper,workdir=$layer/work" overlay "$layer/root" || exit 99
root=$layer/root
mkdir -p "$root/inputs"
mount --bind "$INPUTS" "$root/inputs" && mount -t proc proc "$root/proc" || exit 99
for dir in sys dev; do mount --rbind "/$dir" "$root/$dir" || exit 99; done
for dir in tmp run dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$root/$dir" || exit 99; done
cp /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null
exec chroot "$root" "$@"
"#;

/// Returns the root of a Debian release, made now if it is not there.
pub(super) fn root_of(suite: &str, processor: Processor) -> Result<PathBuf> {
    let roots = super::dir().join("roots");
    let root = roots.join(format!("{suite}-{}", processor.name()));
    let stamp = root.with_extension("stamp");
    if stamp.exists() {
        return Ok(root);
    }
    println!("dist: Debian {suite} ({}) in {}", processor.name(), root.display());
    if root.exists() {
        fs::remove_dir_all(&root).context("removing a root that was not finished")?;
    }
    fs::create_dir_all(&roots)?;
    let log = fs::File::create(root.with_extension("log"))?;
    let mut command = Command::new("debootstrap");
    command.args(["--variant=minbase", "--arch", processor.in_debian(), suite]).arg(&root).arg(MIRROR);
    let status = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).status();
    let status = status.context("cannot start debootstrap")?;
    ensure!(status.success(), "debootstrap failed: {} says why", root.with_extension("log").display());
    fs::write(stamp, "")?;
    Ok(root)
}

/// The command that runs a shell script in a root; `inputs` is what it finds at `/inputs`.
pub(super) fn script(root: &PathBuf, inputs: &PathBuf, script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", "sh", "-c", script]);
    command.env_clear().env("ROOT", root).env("INPUTS", inputs);
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
    command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
    command
}
