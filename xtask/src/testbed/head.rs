//! The first process of the outer PID namespace (`xtask _head`): makes the bridge, starts the nodes, stays.
//!
//! Its standard input is the *lifeline*: when the process at the other end dies, however it dies, the head ends and
//! the kernel kills the rest. `up` sends `detach` first and leaves the bed standing.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{WaitOptions, wait};

use super::{LOGIN, node_name, slurm};
use crate::args::Args;
use crate::workspace::which;

/// Long enough for a machine under heavy load; a bed that is not up by then never will be.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Children are either waited for by who started them or are orphans of a node: never both at once.
static REAPING: Mutex<()> = Mutex::new(());
static READY: AtomicBool = AtomicBool::new(false);

/// `xtask _head DIR NODES`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let dir = PathBuf::from(args.operand("directory")?);
    let count: usize = args.parsed_operand("nodes")?;
    // Fails only where we already lead a session.
    let _ = rustix::process::setsid();
    std::thread::spawn({
        let dir = dir.clone();
        move || follow_lifeline(&dir)
    });
    std::thread::spawn(give_up_when_late);
    make_bridge().context("cannot make the bridge between the nodes")?;
    // The login node first: the others register with the controller that runs there.
    let login = slurm::is_part_of(&dir).then_some(LOGIN);
    let indices: Vec<usize> = login.into_iter().chain(0..count).collect();
    let pids = start_nodes(&dir, &indices)?;
    let control = UnixListener::bind(dir.join("control"))?;
    let mut out = stdout().lock();
    for (index, pid) in indices.iter().zip(pids) {
        writeln!(out, "node {index} {pid}")?;
    }
    writeln!(out, "ready")?;
    out.flush()?;
    READY.store(true, Ordering::Relaxed);
    std::thread::spawn(move || serve_control(&dir, &control));
    reap_for_ever()
}

/// Ends the bed when the process that wanted it is gone.
fn follow_lifeline(dir: &Path) {
    let mut line = String::new();
    if matches!(stdin().read_line(&mut line), Ok(n) if n > 0) && line == "detach\n" {
        return;
    }
    // No other process can tidy up any more: the owner may have been killed.
    let _ = super::state::remove(dir);
    std::process::exit(0);
}

fn give_up_when_late() {
    std::thread::sleep(START_LIMIT);
    if !READY.load(Ordering::Relaxed) {
        eprintln!("testbed: the nodes are not up after {START_LIMIT:?}");
        std::process::exit(1);
    }
}

fn make_bridge() -> Result<()> {
    ip_batch("link set lo up\nlink add br0 type bridge stp_state 0 forward_delay 0\nlink set br0 up\n")
}

/// Runs many `ip` commands in one process.
pub(super) fn ip_batch(script: &str) -> Result<()> {
    let program = which("ip").context("ip is missing: run `cargo xtask setup` (package iproute2)")?;
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(script.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "ip: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// A node on its way up.
struct Starting {
    name: String,
    /// `unshare`, which ends when the node ends.
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Starting {
    fn new(dir: &Path, index: usize) -> Result<Self> {
        let mut command = unshare(&["_node", path_text(dir)?, &index.to_string()])?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start unshare")?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { name: node_name(index), child, input, output })
    }

    fn read(&mut self, word: &str) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        match line.trim_end().strip_prefix(word) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => bail!("{} did not come up ({})", self.name, self.child.wait()?),
        }
    }
}

/// Starts the nodes side by side; returns their pids as the machine sees them.
fn start_nodes(dir: &Path, indices: &[usize]) -> Result<Vec<i32>> {
    let mut nodes = indices.iter().map(|&i| Starting::new(dir, i)).collect::<Result<Vec<_>>>()?;
    let mut pids = Vec::new();
    let mut script = String::new();
    for (node, index) in nodes.iter_mut().zip(indices) {
        let pid: i32 = node.read("pid")?.parse()?;
        pids.push(pid);
        // The address stays when a node comes back after a crash: others may remember it, and would otherwise call an
        // unused address for long.
        let [_, _, high, low] = (*index as u32 + 1).to_be_bytes();
        let address = format!("02:00:00:00:{high:02x}:{low:02x}");
        // A path means the same in all releases of `ip`; a pid does not.
        let space = format!("/proc/{pid}/ns/net");
        script +=
            &format!("link add dev v{index} master br0 up type veth peer name eth0 address {address} netns {space}\n");
    }
    ip_batch(&script).context("cannot make the nodes' network devices")?;
    for node in &mut nodes {
        node.input.write_all(b"go\n")?;
    }
    for node in &mut nodes {
        node.read("ready")?;
    }
    Ok(pids)
}

/// `unshare` with this program and `words` as the first process of new namespaces.
pub(super) fn unshare(words: &[&str]) -> Result<Command> {
    let program = which("unshare").context("unshare is missing: run `cargo xtask setup` (package util-linux)")?;
    let own = own_file()?;
    let mut command = Command::new(program);
    command.args(["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--propagation", "private"]);
    command.arg("--").arg(own).args(words);
    Ok(command)
}

/// This program's file. A build of the workspace, as the tests' is, may have replaced it while we run: then the new
/// one, made of the same sources, does as well.
fn own_file() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let text = path_text(&own)?;
    let file = PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(text));
    ensure!(file.exists(), "{} is gone: build it again", file.display());
    Ok(file)
}

pub(super) fn path_text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Brings crashed nodes back: a line `start INDEX` is answered by `node PID` or `error TEXT`.
fn serve_control(dir: &Path, control: &UnixListener) {
    for stream in control.incoming().flatten() {
        if let Err(error) = answer(dir, stream) {
            eprintln!("testbed: {error:#}");
        }
    }
}

fn answer(dir: &Path, mut stream: UnixStream) -> Result<()> {
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let index: usize = line.trim().strip_prefix("start ").context("unknown request")?.parse()?;
    let _guard = REAPING.lock();
    // The kernel takes a dead node's device away some time after its last process.
    let _ = ip_batch(&format!("link delete v{index}\n"));
    let reply = match start_nodes(dir, &[index]) {
        Ok(pids) => format!("node {}\n", pids[0]),
        Err(error) => format!("error {error:#}\n"),
    };
    Ok(stream.write_all(reply.as_bytes())?)
}

/// Asks the head of a bed to start node `index` again; returns its pid.
pub(super) fn ask_to_start(dir: &Path, index: usize) -> Result<i32> {
    let mut stream = UnixStream::connect(dir.join("control")).context("the bed's head does not answer")?;
    stream.write_all(format!("start {index}\n").as_bytes())?;
    let mut reply = String::new();
    BufReader::new(&stream).read_line(&mut reply)?;
    match reply.trim_end().split_once(' ') {
        Some(("node", pid)) => Ok(pid.parse()?),
        Some((_, error)) => bail!("{error}"),
        None => bail!("the bed's head gave no answer"),
    }
}

fn reap_for_ever() -> Result<()> {
    loop {
        {
            let _guard = REAPING.lock();
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
