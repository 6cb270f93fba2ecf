//! `cargo xtask soak`: runs many one-process jobs through one DVM, and checks that it keeps nothing of them.
//!
//! Called by hand with 100,000 jobs, and by `cargo xtask test` with fewer; the benchmark uses the same DVM.

mod resizes;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::programs::Mpi;
use crate::runner::{build_product, wait};
use crate::workspace::product;

/// Jobs of a full soak, and of that in the tests.
pub(crate) const FULL: usize = 100_000;
pub(crate) const QUICK: usize = 3_000;
/// The number of jobs before the first measurement, after which all buffers are full.
pub(crate) const BEFORE: usize = 1_000;
/// Variables that allow root to run jobs.
pub(crate) const AS_ROOT: [(&str, &str); 2] =
    [("PRTE_ALLOW_RUN_AS_ROOT", "1"), ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")];
/// Allowed growth over a whole soak (bytes): an allocator keeps a little.
const SLACK_BYTES: u64 = 2 << 20;
const LIMIT: Duration = Duration::from_secs(3_600);
/// The time within which a DVM notices the end of a client.
const SETTLED: Duration = Duration::from_secs(10);
/// Interval of looks: no event reports that another process closes a descriptor.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// `cargo xtask soak [--jobs N | --resizes N [--mpich]] [--no-build]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let (jobs, resizes): (Option<usize>, Option<usize>) = (args.parsed("--jobs")?, args.parsed("--resizes")?);
    let (mpich, no_build) = (args.flag("--mpich"), args.flag("--no-build"));
    args.finish()?;
    ensure!(jobs.is_none() || resizes.is_none(), "--jobs and --resizes are two soaks: name one of them");
    ensure!(!mpich || resizes.is_some(), "--mpich: only --resizes runs MPI");
    if !no_build {
        build_product()?;
    }
    match resizes {
        Some(count) => resizes::run(count, if mpich { Mpi::Mpich5 } else { Mpi::OpenMpi5 }),
        None => run(jobs.unwrap_or(FULL)),
    }
}

/// Runs that many jobs and compares the DVM with what it was after the first ones.
pub(crate) fn run(jobs: usize) -> Result<()> {
    ensure!(jobs > BEFORE, "--jobs: at least {}", BEFORE + 1);
    let mut soak = Soak::start()?;
    let idle = soak.measure()?;
    let first = soak.batch(BEFORE)?;
    let before = soak.settled(&idle)?;
    println!("soak: after {BEFORE} jobs ({first:.0}/s): {before}");
    let rate = soak.batch(jobs - BEFORE)?;
    let after = soak.settled(&before)?;
    println!("soak: after {jobs} jobs ({rate:.0}/s): {after}");
    soak.stop()?;
    after.compare(&before)
}

/// A DVM of its own in a directory of its own.
pub(crate) struct Soak {
    dir: tempfile::TempDir,
    /// The guard of the head; `None` when the DVM has ended.
    guard: Option<u32>,
    pid: u32,
}

/// The resources that a DVM holds.
#[derive(Clone, Debug)]
pub(crate) struct Holdings {
    resident: u64,
    descriptors: usize,
    threads: usize,
    files: BTreeSet<PathBuf>,
    shm: usize,
}

impl Soak {
    pub(crate) fn start() -> Result<Soak> {
        Soak::start_with(&[])
    }

    /// Starts a DVM with more options.
    pub(crate) fn start_with(options: &[&str]) -> Result<Soak> {
        let dir = tempfile::tempdir()?;
        let report = dir.path().join("pid");
        let mut prte = Command::new(product("prte"));
        prte.arg("--daemonize").arg("--report-pid").arg(&report).env("TMPDIR", dir.path()).envs(AS_ROOT);
        prte.args(options);
        let mut child = prte.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("prte")?;
        let status = wait(&mut child, Duration::from_secs(120))?.context("prte does not get ready")?;
        ensure!(status.success(), "prte: {status}");
        let guard: u32 = fs::read_to_string(&report)?.trim().parse()?;
        let children = fs::read_to_string(format!("/proc/{guard}/task/{guard}/children"))?;
        let pid = children.split_whitespace().next().context("prte has no child")?.parse()?;
        Ok(Soak { dir, guard: Some(guard), pid })
    }

    /// A tool that speaks to this DVM, whatever others there are.
    pub(crate) fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(product(name));
        command.args(self.guard.iter().flat_map(|guard| ["--pid".to_owned(), guard.to_string()]));
        command.env("TMPDIR", self.dir.path()).envs(AS_ROOT).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Runs so many jobs in one batch; jobs per second.
    pub(crate) fn batch(&mut self, jobs: usize) -> Result<f64> {
        let list = self.dir.path().join("list");
        let mut file = std::io::BufWriter::new(fs::File::create(&list)?);
        for _ in 0..jobs {
            writeln!(file, "-n 1 /bin/true")?;
        }
        file.flush()?;
        let began = Instant::now();
        let mut child = self.tool("prun").arg("--batch").arg(&list).spawn()?;
        let status = wait(&mut child, LIMIT)?.context("the batch hangs")?;
        ensure!(status.success(), "prun --batch: {status}");
        Ok(jobs as f64 / began.elapsed().as_secs_f64())
    }

    /// A directory for files of the tests.
    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn measure(&self) -> Result<Holdings> {
        let proc = PathBuf::from(format!("/proc/{}", self.pid));
        let status = fs::read_to_string(proc.join("status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: u64 = resident.split_whitespace().next().context("no VmRSS")?.parse()?;
        let mut files = BTreeSet::new();
        collect(self.dir.path(), &mut files)?;
        let name = format!("{}", self.pid);
        let is_ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().contains(&name);
        Ok(Holdings {
            resident: kilobytes << 10,
            descriptors: fs::read_dir(proc.join("fd"))?.count(),
            threads: fs::read_dir(proc.join("task"))?.count(),
            files,
            shm: fs::read_dir("/dev/shm")?.flatten().filter(is_ours).count(),
        })
    }

    /// The holdings once the DVM has noticed that the last client is gone: it may see the end of its connection after
    /// we have seen the end of the client. What is left over for good is still there at the deadline.
    fn settled(&self, before: &Holdings) -> Result<Holdings> {
        let began = Instant::now();
        loop {
            let now = self.measure()?;
            if now.descriptors <= before.descriptors || began.elapsed() > SETTLED {
                return Ok(now);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    pub(crate) fn stop(mut self) -> Result<()> {
        let status = self.end()?;
        ensure!(status.success(), "pterm: {status}");
        Ok(())
    }

    fn end(&mut self) -> Result<ExitStatus> {
        let mut pterm = self.tool("pterm");
        self.guard = None;
        Ok(pterm.stderr(Stdio::null()).status()?)
    }
}

/// The error is printed already; the DVM must not outlive it.
impl Drop for Soak {
    fn drop(&mut self) {
        if self.guard.is_some() {
            let _ = self.end();
        }
    }
}

fn collect(dir: &std::path::Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        files.insert(entry.path());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}

impl Holdings {
    /// Resident memory (MB).
    pub(crate) fn megabytes(&self) -> f64 {
        self.resident as f64 / f64::from(1 << 20)
    }

    /// Returns the cells of a table.
    pub(crate) fn cells(&self) -> String {
        let megabytes = self.megabytes();
        format!("{megabytes:.1} | {} | {} | {}", self.descriptors, self.threads, self.files.len())
    }

    fn compare(&self, before: &Holdings) -> Result<()> {
        let grown = self.resident.saturating_sub(before.resident);
        ensure!(grown <= SLACK_BYTES, "the memory has grown by {grown} bytes");
        ensure!(self.descriptors <= before.descriptors, "file descriptors are left open");
        ensure!(self.threads <= before.threads, "threads are left");
        ensure!(self.files == before.files, "files are left: {:?}", self.files.difference(&before.files));
        ensure!(self.shm <= before.shm, "shared memory is left");
        Ok(())
    }
}

impl std::fmt::Display for Holdings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Holdings { resident, descriptors, threads, files, shm } = self;
        let files = files.len();
        write!(f, "{} KB, {descriptors} descriptors, {threads} threads, {files} files, {shm} shm", resident >> 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holdings(resident: u64, descriptors: usize, file: &str) -> Holdings {
        Holdings { resident, descriptors, threads: 1, files: [PathBuf::from(file)].into(), shm: 0 }
    }

    #[test]
    fn growth_and_leftovers_are_found_and_slack_is_not_growth() {
        let before = holdings(10 << 20, 9, "a");
        assert!(holdings(11 << 20, 9, "a").compare(&before).is_ok());
        assert!(holdings(13 << 20, 9, "a").compare(&before).is_err());
        assert!(holdings(10 << 20, 10, "a").compare(&before).is_err());
        assert!(holdings(10 << 20, 9, "b").compare(&before).is_err());
    }
}
