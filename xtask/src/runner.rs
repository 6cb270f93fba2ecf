//! Runs a program with a deadline and keeps its output.
//!
//! Called by the scenarios and the benchmarks. It kills the program itself at the deadline, never its descendants:
//! the caller sweeps the node they run on.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// If output has not ended this long after its program, another process holds the pipe.
const DRAIN_LIMIT: Duration = Duration::from_secs(3);

/// The result of a program.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None`: it was killed at its deadline.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
    /// A process that outlived the program still has its output open.
    pub(crate) is_output_held: bool,
}

impl Outcome {
    /// The exit code as a shell would show it; `None` after a hang.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|s| s.code().or_else(|| s.signal().map(|n| 128 + n)))
    }

    pub(crate) fn is_success(&self) -> bool {
        self.code() == Some(0)
    }

    /// The last lines of both streams, for a failure's report.
    pub(crate) fn tail(&self) -> String {
        let last = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(12)..].join("\n      ")
        };
        format!("stdout:\n      {}\n    stderr:\n      {}", last(&self.stdout), last(&self.stderr))
    }
}

/// Runs `command` without input until it ends or `limit` is over.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Outcome> {
    Running::start(command.stdin(Stdio::null()))?.finish(limit)
}

/// A program whose output is being read.
pub(crate) struct Running {
    child: Child,
    stdout: Option<Receiver<Vec<u8>>>,
    stderr: Receiver<Vec<u8>>,
    started: Instant,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut running = Self::start_unread(command)?;
        let stdout = running.child.stdout.take().context("no stdout")?;
        running.stdout = Some(read_all(stdout));
        Ok(running)
    }

    /// Like `start`, but the caller reads standard output from [`Running::child`].
    pub(crate) fn start_unread(command: &mut Command) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let stderr = read_all(child.stderr.take().context("no stderr")?);
        Ok(Self { child, stdout: None, stderr, started })
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the end, at most `limit` from now.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<Outcome> {
        drop(self.child.stdin.take());
        let status = wait(&mut self.child, limit)?;
        let elapsed = self.started.elapsed();
        let mut is_output_held = false;
        let mut text = |receiver: Receiver<Vec<u8>>| {
            let limit = if status.is_some() { DRAIN_LIMIT } else { Duration::from_millis(50) };
            let bytes = receiver.recv_timeout(limit).unwrap_or_else(|_| {
                is_output_held = true;
                Vec::new()
            });
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let stdout = self.stdout.map(&mut text).unwrap_or_default();
        let stderr = text(self.stderr);
        Ok(Outcome { status, stdout, stderr, elapsed, is_output_held })
    }
}

/// Waits for a child, kills it at the limit. `None`: it was killed.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let pid = Pid::from_raw(child.id() as i32).context("pid 0")?;
    let fd = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => bail!("poll: {error}"),
        }
    }
}

fn read_all(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Runs a step of a command with its output shown; an error names the step's command line.
pub(crate) fn step(title: &str, command: &mut Command) -> Result<Duration> {
    announce(title);
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{title}: {command:?}: {status}");
    }
    Ok(start.elapsed())
}

/// Prints the title of a step.
pub(crate) fn announce(title: &str) {
    println!("--- {title}");
    // The title is written before the output of a child, even into a file.
    let _ = std::io::stdout().flush();
}

/// Returns the command for cargo, with the same toolchain.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::workspace::root());
    // These variables of the outer cargo would make the inner one build packages again.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_CRATE_NAME"]
    {
        command.env_remove(name);
    }
    command
}

/// Builds the product's commands, unless `FERRITE_BIN_DIR` names another build to test.
pub(crate) fn build_product() -> Result<Duration> {
    if std::env::var_os("FERRITE_BIN_DIR").is_some() {
        return Ok(Duration::ZERO);
    }
    step(
        "building prterun and prted (release)",
        cargo().args(["build", "--release", "--quiet", "-p", "ferrite-cli", "-p", "ferrite-pmixd"]),
    )
}
