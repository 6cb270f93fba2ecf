//! The context of every scenario: the nodes, a way to call `prterun`, and checks whose errors say what was expected.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use crate::runner::{self, Outcome, Running};
use crate::testbed::{Bed, NodeProcess, guard_and_worker};
use crate::workspace::product;

/// A job that takes longer than this is a hang.
const JOB_LIMIT: Duration = Duration::from_secs(60);

/// The scenario is skipped: something that it needs is not installed.
#[derive(Debug)]
pub(super) struct Skipped(pub(super) String);

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

/// The surroundings of one scenario.
pub(super) struct Context {
    bed: Bed,
    is_quick: bool,
    notes: Mutex<Vec<String>>,
}

impl Context {
    pub(super) fn new(bed: Bed, is_quick: bool) -> Self {
        Self { bed, is_quick, notes: Mutex::default() }
    }

    pub(super) fn bed(&self) -> &Bed {
        &self.bed
    }

    pub(super) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Keeps a measured value, to be printed below the scenario's line.
    pub(super) fn note(&self, text: String) {
        self.notes().push(text);
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_bed(self) -> Bed {
        self.bed
    }

    /// A hostfile that gives every node `slots` slots.
    pub(super) fn hostfile(&self, slots: usize) -> Result<PathBuf> {
        let lines: Vec<String> = (0..self.bed.len()).map(|i| format!("n{i} slots={slots}\n")).collect();
        self.file("hosts", &lines.concat())
    }

    /// A file that all nodes see.
    pub(super) fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.bed.shared().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Writes such a file that only its owner may read.
    pub(super) fn private_file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.file(name, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(path)
    }

    /// `prterun` on n0 with the words of `line`, split at blanks.
    pub(super) fn prterun(&self, line: &str) -> Result<Call<'_>> {
        self.tool("prterun", line)
    }

    /// One of our commands on n0 with the words of `line`, split at blanks.
    pub(super) fn tool(&self, name: &str, line: &str) -> Result<Call<'_>> {
        self.tool_on(0, name, line)
    }

    /// The same on another node.
    pub(super) fn tool_on(&self, node: usize, name: &str, line: &str) -> Result<Call<'_>> {
        Call::new(self, node, &product(name))?.words(line.split_whitespace())
    }

    /// A program that is not ours on a node, with the words of `line`.
    pub(super) fn program_on(&self, node: usize, program: &str, line: &str) -> Result<Call<'_>> {
        Call::new(self, node, Path::new(program))?.words(line.split_whitespace())
    }

    /// `prterun` on n0 over all four nodes, `slots` slots on each.
    pub(super) fn everywhere(&self, slots: usize, line: &str) -> Result<Call<'_>> {
        let hostfile = self.hostfile(slots)?;
        Call::new(self, 0, &product("prterun"))?
            .words(["--hostfile"])?
            .words([hostfile])?
            .words(line.split_whitespace())
    }

    /// Processes called `name` on all nodes, with the nodes' indices.
    pub(super) fn named(&self, name: &str) -> Vec<(usize, NodeProcess)> {
        self.bed
            .indices()
            .flat_map(|i| self.bed.processes(i).into_iter().filter(|p| p.name == name).map(move |p| (i, p)))
            .collect()
    }

    /// Waits until `count` processes called `name` run on the nodes.
    pub(super) fn wait_for(&self, count: usize, name: &str) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.named(name).len() != count {
            ensure!(
                Instant::now() < deadline,
                "{} instead of {count} processes '{name}' after 20 s",
                self.named(name).len()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Waits until a condition is true, and returns how long that took.
    pub(super) fn until(&self, what: &str, limit: Duration, is_so: impl Fn() -> Result<bool>) -> Result<Duration> {
        let start = Instant::now();
        while !is_so()? {
            ensure!(start.elapsed() < limit, "not within {limit:?}: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(start.elapsed())
    }

    /// Returns the process called `name` on node `index`, not its guard.
    pub(super) fn worker(&self, index: usize, name: &str) -> Result<NodeProcess> {
        self.guard_and_worker(index, name).map(|[_, worker]| worker)
    }

    /// The guard on node `index` and the process called `name` that it looks after.
    pub(super) fn guard_and_worker(&self, index: usize, name: &str) -> Result<[NodeProcess; 2]> {
        let found = guard_and_worker(&self.bed.processes(index), name);
        found.with_context(|| format!("no '{name}' with its guard on n{index}"))
    }

    /// Sends a signal to the processes called `name` on node `index`.
    pub(super) fn signal(&self, index: usize, name: &str, signal: Signal) -> Result<()> {
        let found: Vec<_> = self.named(name).into_iter().filter(|(node, _)| *node == index).collect();
        ensure!(!found.is_empty(), "no process '{name}' on n{index}");
        found.iter().try_for_each(|(_, process)| process.signal(signal))
    }
}

/// A command and its arguments before the call.
pub(super) struct Call<'a> {
    command: Command,
    _context: &'a Context,
}

impl<'a> Call<'a> {
    fn new(context: &'a Context, node: usize, program: &Path) -> Result<Self> {
        let mut command = context.bed.command(node, program)?;
        command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1").stdin(Stdio::null());
        Ok(Self { command, _context: context })
    }

    pub(super) fn words<W: AsRef<std::ffi::OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Result<Self> {
        self.command.args(words);
        Ok(self)
    }

    pub(super) fn program(self, path: &Path) -> Result<Self> {
        self.words([path])
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn with_stdin(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Runs it to its end.
    pub(super) fn run(mut self) -> Result<Outcome> {
        no_hang(runner::Running::start(&mut self.command)?.finish(JOB_LIMIT)?)
    }

    /// Starts it; the scenario does something meanwhile.
    pub(super) fn start(mut self) -> Result<Running> {
        Running::start(&mut self.command)
    }

    /// Starts it; the scenario reads standard output itself.
    pub(super) fn start_unread(mut self) -> Result<Running> {
        Running::start_unread(&mut self.command)
    }
}

/// Waits for the end of a started job.
pub(super) fn finish(running: Running) -> Result<Outcome> {
    no_hang(running.finish(JOB_LIMIT)?)
}

fn no_hang(outcome: Outcome) -> Result<Outcome> {
    ensure!(outcome.status.is_some(), "hang: it had to be killed after {:?}\n    {}", outcome.elapsed, outcome.tail());
    ensure!(!outcome.is_output_held, "it ended but something still holds its output\n    {}", outcome.tail());
    Ok(outcome)
}

/// Checks on an outcome; each error shows the end of the output.
pub(super) trait Expect: Sized {
    fn code(self, code: i32) -> Result<Self>;
    fn one_of(self, codes: &[i32]) -> Result<Self>;
    fn failure(self) -> Result<Self>;
    /// Standard error names all of `parts`.
    fn complains_about(self, parts: &[&str]) -> Result<Self>;
    /// Standard output has exactly these lines, in any order.
    fn lines(self, expected: &[String]) -> Result<Self>;
}

impl Expect for Outcome {
    fn code(self, code: i32) -> Result<Self> {
        let got = Outcome::code(&self).context("no exit code")?;
        ensure!(got == code, "exit code {got} instead of {code}\n    {}", self.tail());
        Ok(self)
    }

    fn one_of(self, codes: &[i32]) -> Result<Self> {
        let got = Outcome::code(&self).context("no exit code")?;
        ensure!(codes.contains(&got), "exit code {got} instead of one of {codes:?}\n    {}", self.tail());
        Ok(self)
    }

    fn failure(self) -> Result<Self> {
        ensure!(!self.is_success(), "exit code 0 instead of a failure\n    {}", self.tail());
        Ok(self)
    }

    fn complains_about(self, parts: &[&str]) -> Result<Self> {
        for part in parts {
            ensure!(self.stderr.contains(part), "stderr does not name '{part}'\n    {}", self.tail());
        }
        Ok(self)
    }

    fn lines(self, expected: &[String]) -> Result<Self> {
        let mut got: Vec<&str> = self.stdout.lines().collect();
        let mut want: Vec<&str> = expected.iter().map(String::as_str).collect();
        got.sort_unstable();
        want.sort_unstable();
        ensure!(got == want, "expected the lines\n      {}\n    {}", want.join("\n      "), self.tail());
        Ok(self)
    }
}
