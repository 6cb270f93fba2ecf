//! A real Slurm on the nodes: `slurmd` on each, `slurmctld` on a *login node* that runs no job, `munged` on all.
//!
//! Called by the bed (configuration, readiness) and by a node's first process (the daemons). Everything lies in the
//! bed's directory and in each node's `/run/slurm`, a file system of its own: what Slurm keeps there is nobody's
//! residue. The machine's own Slurm, should it have one, is neither read nor changed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::mount::{MountFlags, mount, mount_bind};

use super::{Bed, LOGIN, address, node_name};
use crate::workspace::which;

/// Processors that each node claims to have, however many the machine has: jobs of several tasks and threads need them.
pub(crate) const CPUS: usize = 4;
/// Slurm's own processes, by the names that the kernel shows.
pub(super) const DAEMONS: [&str; 4] = ["munged", "slurmctld", "slurmscriptd", "slurmd"];
/// Time limit for the controller to see all nodes; a loaded machine needs a second or two.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const KEY_BYTES: usize = 128;

/// Returns the parts of Slurm that are not installed here.
pub(crate) fn missing() -> Vec<&'static str> {
    let programs = ["slurmctld", "slurmd", "srun", "sinfo", "munged"];
    programs.into_iter().filter(|program| which(program).is_none()).collect()
}

/// True for a bed whose directory holds a configuration of Slurm.
pub(super) fn is_part_of(dir: &Path) -> bool {
    dir.join("etc/slurm").is_dir()
}

/// Fills the directory that the nodes see as `/etc/slurm`, and makes the key that they share.
/// A partition of the last node alone; the other one, `main`, has all nodes.
pub(crate) const SIDE_PARTITION: &str = "side";
/// A partition whose jobs end for jobs of the next one, after this time (seconds).
pub(crate) const LOW_PARTITION: &str = "low";
pub(crate) const PREEMPTION_S: u32 = 12;
/// A partition whose jobs take nodes from jobs of the one before.
pub(crate) const HIGH_PARTITION: &str = "high";

pub(super) fn write(etc: &Path, nodes: usize) -> Result<()> {
    let missing = missing();
    ensure!(missing.is_empty(), "Slurm is not installed ({} missing): run `cargo xtask setup`", missing.join(", "));
    let dir = etc.join("slurm");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("slurm.conf"), configuration(nodes))?;
    // A cgroup plugin is loaded even when nothing uses one; it must be told of a version and a place, or it looks for
    // both and fails where no cgroup file system is mounted.
    fs::write(dir.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n")?;
    let mut key = [0; KEY_BYTES];
    std::io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut key)?;
    Ok(fs::write(key_file(etc), key)?)
}

fn key_file(etc: &Path) -> PathBuf {
    etc.join("munge.key")
}

fn configuration(nodes: usize) -> String {
    let (last, login) = (nodes - 1, address(LOGIN));
    // Tasks are not followed by cgroups, which this machine may not let us have: what double-forks away from its step
    // is not killed by Slurm, the hardest case for those who must leave nothing behind. Times are the shortest that
    // Slurm takes well: a lost node is noticed after ten seconds, a scheduling pass waits for nothing.
    format!(
        "\
ClusterName=bed
SlurmctldHost=login({login})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/slurm/munge.socket
CredType=cred/munge
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SlurmdTimeout=10
SlurmctldTimeout=30
InactiveLimit=0
MinJobAge=60
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
SlurmctldDebug=info
SlurmdDebug=info
NodeName=n[0-{last}] NodeAddr={network}.[1-{nodes}] CPUs={CPUS} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=NO PreemptMode=OFF State=UP
PartitionName={SIDE_PARTITION} Nodes=n{last} MaxTime=INFINITE OverSubscribe=NO PreemptMode=OFF State=UP
PartitionName={LOW_PARTITION} Nodes=ALL MaxTime=INFINITE PreemptMode=CANCEL GraceTime={PREEMPTION_S} State=UP
PartitionName={HIGH_PARTITION} Nodes=ALL MaxTime=INFINITE PriorityTier=2 PreemptMode=OFF State=UP
",
        network = super::NETWORK
    )
}

/// Files that a node's first process opens while the bed's directory is still visible.
pub(super) struct Daemons {
    key: Vec<u8>,
    configuration: PathBuf,
    name: &'static str,
    log: File,
}

impl Daemons {
    /// `None` for a bed without Slurm.
    pub(super) fn of_node(dir: &Path, index: usize) -> Result<Option<Self>> {
        if !is_part_of(dir) {
            return Ok(None);
        }
        let name = if index == LOGIN { "slurmctld" } else { "slurmd" };
        let log = File::options().append(true).create(true).open(log_file(dir, index))?;
        let etc = dir.join("etc");
        Ok(Some(Self { key: fs::read(key_file(&etc))?, configuration: etc.join("slurm"), name, log }))
    }

    /// The node's own files. Its `/run` is made already; the bed's directory is still to be seen.
    pub(super) fn mount(&self) -> Result<()> {
        fs::create_dir_all("/etc/slurm").context("cannot make a place for slurm.conf")?;
        mount_bind(&self.configuration, "/etc/slurm").context("cannot mount /etc/slurm")
    }

    /// Starts them. `munged` returns when it answers; whether the others do is asked of the controller by the bed.
    pub(super) fn start(self) -> Result<()> {
        fs::create_dir("/run/slurm")?;
        mount("tmpfs", "/run/slurm", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")?;
        for sub in ["spool", "state"] {
            fs::create_dir(Path::new("/run/slurm").join(sub))?;
        }
        self.start_munged()?;
        let mut daemon = daemon(self.name)?;
        let (out, err) = (self.log.try_clone()?, self.log);
        daemon.arg("-D").stdout(out).stderr(err);
        daemon.spawn().with_context(|| format!("cannot start {}", self.name))?;
        Ok(())
    }

    fn start_munged(&self) -> Result<()> {
        // The daemon takes a key that no other user can read, or none.
        fs::write("/run/slurm/munge.key", &self.key)?;
        fs::set_permissions("/run/slurm/munge.key", Permissions::from_mode(0o400))?;
        let mut munged = daemon("munged")?;
        munged.args(["--key-file=/run/slurm/munge.key", "--socket=/run/slurm/munge.socket"]);
        munged.args(["--pid-file=/run/slurm/munged.pid", "--seed-file=/run/slurm/munge.seed"]);
        munged.args(["--log-file=/run/slurm/munged.log"]).stdout(Stdio::null());
        let status = munged.status().context("cannot start munged")?;
        ensure!(status.success(), "munged: {status}");
        Ok(())
    }
}

fn daemon(name: &str) -> Result<Command> {
    let program = which(name).with_context(|| format!("{name} is missing: run `cargo xtask setup`"))?;
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).env_clear().env("PATH", PATH);
    Ok(command)
}

fn log_file(dir: &Path, index: usize) -> PathBuf {
    let daemon = if index == LOGIN { "slurmctld" } else { "slurmd" };
    dir.join(format!("log/{daemon}.{}", node_name(index)))
}

impl Bed {
    /// Waits until the controller calls all of these nodes idle.
    pub(super) fn await_idle(&self, nodes: &[usize]) -> Result<()> {
        let deadline = Instant::now() + IDLE_LIMIT;
        loop {
            let said = self.ask_slurm("sinfo", &["-h", "-N", "-o", "%N %t"])?;
            let is_idle = |&node: &usize| said.lines().any(|line| line == format!("{} idle", node_name(node)));
            if nodes.iter().all(is_idle) {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!(
                    "Slurm's nodes are not idle after {IDLE_LIMIT:?}; sinfo says\n{said}\n{}",
                    self.slurm_logs(nodes)
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Tells the controller that a node is gone, unless it knows: the node's next registration, and no older one, makes
    /// it idle again.
    pub(super) fn mark_down(&self, index: usize) -> Result<()> {
        let node = format!("nodename={}", node_name(index));
        self.ask_slurm("scontrol", &["update", &node, "state=down", "reason=testbed"]).map(|_| ())
    }

    /// Returns the output of one of Slurm's commands on the login node, on either stream.
    fn ask_slurm(&self, program: &str, words: &[&str]) -> Result<String> {
        let program = which(program).with_context(|| format!("{program} is missing (package slurm-client)"))?;
        let output = self.command(LOGIN, program)?.args(words).stdin(Stdio::null()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    }

    /// The ends of the logs that tell why: the bed's directory goes when it does not come up.
    fn slurm_logs(&self, nodes: &[usize]) -> String {
        let mut text = String::new();
        for index in std::iter::once(LOGIN).chain(nodes.iter().copied()) {
            let path = log_file(self.dir(), index);
            let log = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            text += &format!("{}:\n    {}\n", path.display(), lines[lines.len().saturating_sub(5)..].join("\n    "));
        }
        text
    }
}
