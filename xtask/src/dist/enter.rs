//! Fresh roots of Debian and Ubuntu in which packages are tried. A root is made once; what a trial writes there is in
//! memory, and is gone when the trial has ended.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::build::Processor;
use super::emulate;

/// A release of a distribution.
pub(super) struct System {
    pub(super) title: &'static str,
    suite: &'static str,
    mirror: &'static str,
    /// More words for debootstrap.
    words: &'static [&'static str],
    /// The script of debootstrap, where an older debootstrap does not know the suite.
    script: Option<&'static str>,
    processors: &'static [Processor],
}

const DEBIAN: &str = "http://deb.debian.org/debian";
const EVERY: &[Processor] = &Processor::ALL;

/// The systems in which packages are tried.
static SYSTEMS: [System; 3] = [
    System { title: "Debian 12", suite: "bookworm", mirror: DEBIAN, words: &[], script: None, processors: EVERY },
    System { title: "Debian 13", suite: "trixie", mirror: DEBIAN, words: &[], script: None, processors: EVERY },
    System {
        title: "Ubuntu 24.04",
        suite: "noble",
        mirror: "http://archive.ubuntu.com/ubuntu",
        // Open MPI is in `universe`. Debian 12 has no package with Ubuntu's keys, so debootstrap cannot check them; apt
        // in the root does.
        words: &["--components=main,universe", "--no-check-gpg"],
        script: Some("gutsy"),
        // This mirror has no other kind.
        processors: &[Processor::X86_64],
    },
];

/// The systems that exist for this processor, or the one of this suite.
pub(super) fn systems(processor: Processor, only: Option<&str>) -> Result<Vec<&'static System>> {
    let is_meant = |system: &&System| only.is_none_or(|suite| system.suite == suite);
    let has = |system: &&System| system.processors.contains(&processor);
    let systems: Vec<_> = SYSTEMS.iter().filter(has).filter(is_meant).collect();
    let known: Vec<&str> = SYSTEMS.iter().filter(has).map(|system| system.suite).collect();
    let (only, processor) = (only.unwrap_or_default(), processor.name());
    ensure!(!systems.is_empty(), "--in {only}: there is no such root for {processor}, but {}", known.join(", "));
    Ok(systems)
}

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

/// The system that has a qemu which knows all that the product calls.
pub(super) fn debian_13() -> &'static System {
    &SYSTEMS[1]
}

/// Returns the root of a system, made now if it is not there.
pub(super) fn root_of(system: &System, processor: Processor) -> Result<PathBuf> {
    emulate::ensure(processor)?;
    let roots = super::dir().join("roots");
    let root = roots.join(format!("{}-{}", system.suite, processor.name()));
    let stamp = root.with_extension("stamp");
    if stamp.exists() {
        return Ok(root);
    }
    println!("dist: {} ({}) in {}", system.title, processor.name(), root.display());
    if root.exists() {
        fs::remove_dir_all(&root).context("removing a root that was not finished")?;
    }
    fs::create_dir_all(&roots)?;
    let log = fs::File::create(root.with_extension("log"))?;
    let mut command = Command::new("debootstrap");
    command.args(["--variant=minbase", "--arch", processor.in_debian()]).args(system.words);
    command.arg(system.suite).arg(&root).arg(system.mirror).args(system.script);
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
