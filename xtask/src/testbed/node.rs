//! The first process of a virtual node (`xtask _node`): private file systems, network, sshd, then reaping.
//!
//! Started by the head inside fresh namespaces. It talks to the head over its standard streams: it says `pid`,
//! waits for `go` (the network device is there), says `ready`. It never outlives the head.

use std::fs::{self, File};
use std::io::{Write, stdin, stdout};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_move};
use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit, wait};

use super::{address, node_name, slurm};
use crate::args::Args;
use crate::workspace::which;

/// `xtask _node DIR INDEX`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let dir = PathBuf::from(args.operand("directory")?);
    let index = args.parsed_operand("index")?;
    say(&format!("pid {}", outer_pid()?))?;
    // The log is opened now, because the node's own /tmp will hide the directory.
    let log = File::options().append(true).create(true).open(dir.join(format!("log/sshd.{}", node_name(index))))?;
    let slurm = slurm::Daemons::of_node(&dir, index)?;
    private_files(&dir, index, slurm.as_ref()).with_context(|| format!("cannot set up {}", node_name(index)))?;
    let mut go = String::new();
    stdin().read_line(&mut go)?;
    ensure!(go == "go\n", "the head went away");
    network(index)?;
    start_sshd(log)?;
    if let Some(slurm) = slurm {
        slurm.start()?;
    }
    say("ready")?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    reap_for_ever()
}

/// Writes a line to the head.
fn say(line: &str) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The pid of this process as the machine sees it, whose `/proc` is still mounted.
fn outer_pid() -> Result<String> {
    let own = fs::read_link("/proc/self")?;
    Ok(own.display().to_string())
}

fn private_files(dir: &Path, index: usize, slurm: Option<&slurm::Daemons>) -> Result<()> {
    let name = node_name(index);
    rustix::system::sethostname(name.as_bytes())?;
    // A core file of a test that crashes on purpose would land in the checkout.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let shares = read_shares(dir)?;
    bind_file(&dir.join("etc/hosts"), "/etc/hosts")?;
    bind_file(&dir.join(format!("etc/hostname.{name}")), "/etc/hostname")?;
    mount_bind(dir.join("etc/ssh"), "/etc/ssh").context("cannot mount /etc/ssh (is openssh-client installed?)")?;
    if let Some(slurm) = slurm {
        slurm.mount()?;
    }
    hide_home()?;
    let stage = dir.join("stage").join(&name);
    fs::create_dir_all(&stage)?;
    for (place, mode) in [("/run", "mode=755"), ("/dev/shm", "mode=1777"), ("/tmp", "mode=1777")] {
        private_tmpfs(&stage, Path::new(place), mode, &shares).with_context(|| format!("tmpfs on {place}"))?;
    }
    for sub in ["/run/sshd", "/run/lock"] {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(sub)?;
    }
    // Last: nsenter, and the head's knowledge of our pid, need the machine's /proc until here.
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
    Ok(())
}

/// The directories that are to be seen at the same path on every node, one per line.
fn read_shares(dir: &Path) -> Result<Vec<PathBuf>> {
    Ok(fs::read_to_string(dir.join("shares"))?.lines().map(PathBuf::from).collect())
}

/// An empty file system on `place`, with the shared directories below `place` shining through.
fn private_tmpfs(stage: &Path, place: &Path, mode: &str, shares: &[PathBuf]) -> Result<()> {
    let mode = std::ffi::CString::new(mode)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", stage, "tmpfs", flags, mode.as_c_str())?;
    for share in shares {
        let Ok(below) = share.strip_prefix(place) else {
            continue;
        };
        ensure!(!below.as_os_str().is_empty(), "{} itself cannot be shared", place.display());
        fs::create_dir_all(stage.join(below))?;
        // Recursive: the checkout may have mounts of its own.
        mount_bind_recursive(share, stage.join(below))?;
    }
    Ok(mount_move(stage, place)?)
}

fn bind_file(source: &Path, target: &str) -> Result<()> {
    if !Path::new(target).exists() {
        // A minimal container may lack it; a mount needs something to stand on.
        File::create(target).with_context(|| format!("cannot create {target}"))?;
    }
    mount_bind(source, target).with_context(|| format!("cannot mount over {target}"))
}

/// Under sshd bash reads `~/.bashrc` even for `ssh host command`, and ssh prefers the files of `~/.ssh` to ours.
fn hide_home() -> Result<()> {
    let home = Path::new("/root");
    for file in [".bashrc", ".ssh/config"] {
        if home.join(file).is_file() {
            mount_bind("/dev/null", home.join(file))?;
        }
    }
    // known_hosts may list our names, rc and environment would run in every session.
    if home.join(".ssh").is_dir() {
        mount("tmpfs", home.join(".ssh"), "tmpfs", MountFlags::empty(), c"mode=700")?;
    }
    Ok(())
}

fn network(index: usize) -> Result<()> {
    super::head::ip_batch(&format!("link set lo up\naddress add {}/24 dev eth0\nlink set eth0 up\n", address(index)))
}

/// Starts sshd and returns when it listens: the pid file is written after that.
fn start_sshd(log: File) -> Result<()> {
    let program = which("sshd").context("sshd is missing: run `cargo xtask setup`")?;
    let mut sshd = Command::new(program);
    sshd.args(["-D", "-e"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    sshd.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let mut child = sshd.spawn().context("cannot start sshd")?;
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::metadata("/run/sshd.pid").map_or(0, |m| m.size()) == 0 {
        if let Some(status) = child.try_wait()? {
            bail!("sshd ended: {status}");
        }
        ensure!(Instant::now() < deadline, "sshd does not listen after 10 s");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The first process of a PID namespace inherits every orphan; unreaped they would look like left-overs.
fn reap_for_ever() -> Result<()> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => bail!("nothing left to wait for (sshd ended?): {error}"),
        }
    }
}
