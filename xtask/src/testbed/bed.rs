//! A bed as the other commands see it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::procs::{self, NodeProcess};
use super::residue;
use super::state::{self, Identity, Lock, Record};
use super::{LOGIN, MAX_NODES, head, keys, node_name, slurm};
use crate::workspace;

/// This user may not make namespaces; the text says what the kernel said.
#[derive(Debug)]
pub(crate) struct NotPermitted(String);

impl std::fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "virtual nodes cannot be made here: {}. Run as root, in a container with --privileged", self.0)
    }
}

impl std::error::Error for NotPermitted {}

/// Finds out if virtual nodes can be made here: tries the three things that need the right to do so.
pub(crate) fn permitted() -> Result<(), NotPermitted> {
    let script = "mount -t tmpfs none /tmp && ip link add br0 type bridge && ip link add v0 type veth peer name v1";
    let tried = Command::new("unshare")
        .args(["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(NotPermitted(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))),
        Err(error) => Err(NotPermitted(format!("unshare: {error}"))),
    }
}

/// The parts of a bed besides its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: nodes that are reached by ssh.
    Plain,
    /// A real Slurm, and a login node on which no job runs.
    Slurm,
}

/// A running bed. Dropping an owned one removes it.
pub(crate) struct Bed {
    dir: PathBuf,
    record: Record,
    /// The head watches the other end; `None` for a bed that stands on its own.
    lifeline: Option<(Child, ChildStdin)>,
    baseline: BTreeMap<usize, BTreeSet<String>>,
    /// True once a line was cut: for some seconds after its mending, nodes still believe that there is no route.
    pub(super) was_cut: AtomicBool,
}

impl Bed {
    /// Brings up `count` nodes that live as long as the returned value, however this process ends.
    pub(crate) fn up(name: &str, count: usize, kind: Kind) -> Result<Self> {
        ensure!((1..=MAX_NODES).contains(&count), "{count} nodes: between 1 and {MAX_NODES} can be made");
        let dir = state::directory(name)?;
        let _lock = Lock::take(&dir)?;
        if let Ok(record) = Record::read(&dir) {
            ensure!(
                !record.head.is_alive(),
                "the bed '{name}' is up already: `cargo xtask testbed down`, or give another --name"
            );
        }
        state::remove(&dir)?;
        let started = prepare(&dir, count, kind).and_then(|()| start_head(&dir, count));
        let (record, lifeline) = match started {
            Ok(started) => started,
            Err(error) => {
                let log = fs::read_to_string(dir.join("log/head")).unwrap_or_default();
                state::remove(&dir)?;
                return Err(explain(error, &log));
            }
        };
        record.write(&dir)?;
        let mut bed =
            Self { dir, record, lifeline: Some(lifeline), baseline: BTreeMap::new(), was_cut: AtomicBool::new(false) };
        if kind == Kind::Slurm {
            bed.await_idle(&(0..count).collect::<Vec<_>>())?;
        }
        bed.baseline = bed.inventories();
        Ok(bed)
    }

    /// A bed of this process's own, which no other process can have named.
    pub(crate) fn own(purpose: &str, count: usize, kind: Kind) -> Result<Self> {
        Self::up(&format!("{purpose}-{}", std::process::id()), count, kind)
    }

    /// Finds a bed that another process brought up.
    pub(crate) fn find(name: &str) -> Result<Self> {
        let dir = state::directory(name)?;
        match Record::read(&dir) {
            Ok(record) if record.head.is_alive() => {
                Ok(Self { dir, record, lifeline: None, baseline: BTreeMap::new(), was_cut: AtomicBool::new(false) })
            }
            _ => bail!("no bed '{name}' is up: `cargo xtask testbed up 4`"),
        }
    }

    /// Lets the bed stand after this process.
    pub(crate) fn detach(mut self) -> Result<()> {
        if let Some((_, mut input)) = self.lifeline.take() {
            input.write_all(b"detach\n").context("the bed ended")?;
        }
        Ok(())
    }

    /// Removes everything. Called by drop for a bed of one's own.
    pub(crate) fn down(mut self) -> Result<()> {
        self.destroy()
    }

    fn destroy(&mut self) -> Result<()> {
        let _lock = Lock::take(&self.dir)?;
        self.record.head.kill()?;
        self.record.head.wait_gone(Duration::from_secs(20))?;
        if let Some((mut child, _)) = self.lifeline.take() {
            child.wait()?;
        }
        state::remove(&self.dir)
    }

    /// Returns the number of nodes without the login node.
    pub(crate) fn len(&self) -> usize {
        self.record.nodes.len()
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.record.login.is_some() { Kind::Slurm } else { Kind::Plain }
    }

    /// The indices of all nodes, the login node at the end.
    pub(crate) fn indices(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.len()).chain(self.record.login.map(|_| LOGIN))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn head(&self) -> Identity {
        self.record.head
    }

    /// A directory that all nodes and the machine see at the same path.
    pub(crate) fn shared(&self) -> PathBuf {
        self.dir.join("shared")
    }

    /// A command on node `index`, in the current directory, with the product's commands in `PATH`.
    ///
    /// The child process is `nsenter`: it ends as the command ends, but signals to it do not reach the command.
    pub(crate) fn command(&self, index: usize, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let node = self.node(index)?;
        ensure!(node.is_alive(), "{} is down", node_name(index));
        let mut command = enter(node, &["--net", "--uts", "--mount", "--ipc", "--pid", "--root"])?;
        let cwd = std::env::current_dir()?;
        command.arg(format!("--wdns={}", head::path_text(&cwd)?)).arg("--").arg(program);
        set_environment(&mut command);
        Ok(command)
    }

    /// All processes of node `index` except its first one and its waiting ssh server.
    pub(crate) fn processes(&self, index: usize) -> Vec<NodeProcess> {
        let Ok(node) = self.node(index) else {
            return Vec::new();
        };
        let mut all = procs::of_namespace(node);
        all.retain(|p| !p.is_furniture());
        all
    }

    /// Kills a node: all its processes and its network at once.
    pub(crate) fn crash(&self, index: usize) -> Result<()> {
        let node = self.node(index)?;
        node.kill()?;
        node.wait_gone(Duration::from_secs(20))
    }

    /// Brings a crashed node back, empty; under Slurm it is idle when this returns.
    pub(crate) fn start(&mut self, index: usize) -> Result<()> {
        ensure!(!self.node(index)?.is_alive(), "{} is up", node_name(index));
        let _lock = Lock::take(&self.dir)?;
        let is_slurms = self.kind() == Kind::Slurm && index != LOGIN;
        if is_slurms {
            self.mark_down(index)?;
        }
        let pid = head::ask_to_start(&self.dir, index)?;
        let node = Identity::of(pid).context("the node ended at once")?;
        self.record.set(index, node);
        self.record.write(&self.dir)?;
        if is_slurms {
            self.await_idle(&[index])?;
        }
        if let Some(baseline) = self.baseline.get_mut(&index) {
            *baseline = residue::inventory(node);
        }
        Ok(())
    }

    /// Takes the bed away after `limit` unless the returned guard is dropped before: whatever waits for it then ends.
    pub(crate) fn watchdog(&self, limit: Duration) -> Watchdog {
        let head = self.record.head;
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            if receiver.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = head.kill();
            }
        });
        Watchdog(sender)
    }

    pub(crate) fn is_standing(&self) -> bool {
        self.record.head.is_alive()
    }

    /// False when a node is down or a line was cut since the bed came up: then the next user might find the traces.
    pub(crate) fn is_as_new(&self) -> bool {
        !self.was_cut.load(Ordering::Relaxed) && self.indices().all(|node| self.is_node_up(node))
    }

    pub(crate) fn is_node_up(&self, index: usize) -> bool {
        self.node(index).is_ok_and(Identity::is_alive)
    }

    /// Returns the processes and files on the nodes that were not there when the bed came up. Waits up to `grace` for
    /// them to vanish.
    pub(crate) fn residue(&self, grace: Duration) -> Vec<String> {
        self.residue_on(&self.indices().collect::<Vec<_>>(), grace)
    }

    /// The same on some of the nodes.
    pub(crate) fn residue_on(&self, nodes: &[usize], grace: Duration) -> Vec<String> {
        let deadline = Instant::now() + grace;
        loop {
            let found = self.residue_now(nodes);
            if found.is_empty() || Instant::now() > deadline {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn residue_now(&self, nodes: &[usize]) -> Vec<String> {
        let mut lines = Vec::new();
        for &index in nodes {
            let Some(node) = self.record.node(index) else { continue };
            let now = residue::inventory(node);
            let before = self.baseline.get(&index).cloned().unwrap_or_default();
            lines.extend(now.difference(&before).map(|what| format!("{}: {what}", node_name(index))));
        }
        lines
    }

    fn inventories(&self) -> BTreeMap<usize, BTreeSet<String>> {
        let nodes = self.indices().filter_map(|index| Some((index, self.record.node(index)?)));
        nodes.map(|(index, node)| (index, residue::inventory(node))).collect()
    }

    pub(super) fn node(&self, index: usize) -> Result<Identity> {
        self.record.node(index).with_context(|| {
            format!("there is no node {}: the bed has n0 to {}", node_name(index), node_name(self.len() - 1))
        })
    }
}

/// Holds a [`Bed::watchdog`] back when it is dropped in time.
pub(crate) struct Watchdog(#[expect(dead_code, reason = "its drop is the message")] std::sync::mpsc::Sender<()>);

impl Drop for Bed {
    fn drop(&mut self) {
        if self.lifeline.is_some()
            && let Err(error) = self.destroy()
        {
            eprintln!("testbed: {error:#}");
        }
    }
}

pub(super) fn enter(process: Identity, namespaces: &[&str]) -> Result<Command> {
    let program = workspace::which("nsenter").context("nsenter is missing (package util-linux)")?;
    let mut command = Command::new(program);
    command.arg(format!("--target={}", process.pid)).args(namespaces);
    Ok(command)
}

fn set_environment(command: &mut Command) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(workspace::bin_dir()).chain(std::env::split_paths(&path));
    if let Ok(joined) = std::env::join_paths(all) {
        command.env("PATH", joined);
    }
    // These name directories of the machine that a node does not have.
    command.env_remove("TMPDIR").env_remove("XDG_RUNTIME_DIR");
    // A job of a resource manager around us is none of the nodes'.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_managers(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

fn is_managers(name: &str) -> bool {
    ["SLURM", "SALLOC_", "SBATCH_", "SRUN_", "PBS_", "LSB_", "PALS_", "FLUX_"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Lays out the directory of a bed.
fn prepare(dir: &Path, count: usize, kind: Kind) -> Result<()> {
    for sub in ["log", "stage", "shared"] {
        fs::create_dir_all(dir.join(sub))?;
    }
    let shares: BTreeSet<PathBuf> = shares(dir);
    let lines: Vec<&str> = shares.iter().map(|p| head::path_text(p)).collect::<Result<_>>()?;
    fs::write(dir.join("shares"), lines.join("\n") + "\n")?;
    let names: Vec<usize> = (0..count).chain((kind == Kind::Slurm).then_some(LOGIN)).collect();
    keys::write(&dir.join("etc"), &names)?;
    match kind {
        Kind::Plain => Ok(()),
        Kind::Slurm => slurm::write(&dir.join("etc"), count),
    }
}

/// Returns the directories that the nodes have to see at the same path. Only those below their private file systems
/// need a mount.
fn shares(dir: &Path) -> BTreeSet<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
    let mut wanted = vec![dir.join("shared"), workspace::root(), workspace::target(), workspace::bin_dir()];
    wanted.extend(own);
    let mut all: BTreeSet<PathBuf> = wanted.iter().filter_map(|p| p.canonicalize().ok()).collect();
    // A directory inside another one is there already.
    let inner: Vec<PathBuf> = all.iter().filter(|p| p.ancestors().skip(1).any(|a| all.contains(a))).cloned().collect();
    all.retain(|p| !inner.contains(p));
    all
}

fn start_head(dir: &Path, count: usize) -> Result<(Record, (Child, ChildStdin))> {
    use std::os::unix::process::CommandExt;
    let log = fs::File::create(dir.join("log/head"))?;
    let mut command = head::unshare(&["_head", head::path_text(dir)?, &count.to_string()])?;
    // A group of its own: Ctrl-C is for the program on the nodes.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().context("cannot start unshare")?;
    let input = child.stdin.take().context("no stdin")?;
    let output = BufReader::new(child.stdout.take().context("no stdout")?);
    let mut record = None;
    for line in output.lines() {
        let line = line?;
        if line == "ready" {
            return Ok((record.context("the head named no node")?, (child, input)));
        }
        let (index, pid) =
            line.strip_prefix("node ").and_then(|l| l.split_once(' ')).context("the head spoke nonsense")?;
        let node = Identity::of(pid.parse()?).context("a node ended at once")?;
        let record = match &mut record {
            Some(record) => record,
            None => record.insert(Record { head: first_child(child.id())?, nodes: Vec::new(), login: None }),
        };
        record.set(index.parse()?, node);
    }
    bail!("the nodes did not come up ({})", child.wait()?)
}

/// `unshare` has one child, the head.
fn first_child(pid: u32) -> Result<Identity> {
    let found = procs::children(pid as i32).into_iter().next().context("the head ended at once")?;
    Identity::of(found).context("the head ended at once")
}

/// Says that the right is missing, if that is what the log tells.
fn explain(error: anyhow::Error, log: &str) -> anyhow::Error {
    let log = log.trim();
    if ["Operation not permitted", "Permission denied"].iter().any(|text| log.contains(text)) {
        return NotPermitted(log.replace('\n', "; ")).into();
    }
    if log.is_empty() { error } else { error.context(log.to_owned()) }
}
