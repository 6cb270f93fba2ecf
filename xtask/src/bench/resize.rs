//! `cargo xtask bench resize`: measures the steps of a change of an elastic MPI job's size, beside their floors.
//!
//! The outer half makes the bed and the report; the inner half (`xtask _bench_resize`) measures on node n0. The job is
//! `tests/programs/steps.c`, whose times are of the clock that this file reads: all nodes of a bed share it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::time::{ClockId, clock_gettime};

use super::elastic::{command, record, timed};
use super::sample::Times;
use super::{machine, report};
use crate::args::Args;
use crate::programs::{Mpi, mpi_and_pmix_program, mpi_program, pmix_program};
use crate::runner::{build_product, wait};
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};

const DEFAULT_RUNS: usize = 30;
/// Megabytes of the job's vector, and how many of them a grow from two to four processes moves.
const VECTOR: usize = 64;
const MOVED: usize = VECTOR * 3 / 4;
/// Copies that a job of `steps.c` measures.
const COPIES: usize = 20;
/// The first job of a DVM.
const JOB: &str = "1";
/// A change that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(20);
/// Interval of looks at the file of the job: no event says that another process writes a file.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const MPIS: [Mpi; 2] = [Mpi::OpenMpi5, Mpi::Mpich5];
/// What a DVM may use, and what that means for a job of two processes to which two others come.
const LAYOUTS: [(&str, &str); 2] = [("one node", "n0:8"), ("two nodes, newcomers on the other one", "n0:2,n1:2")];
/// Open MPI lets others run while it waits; MPICH does not know the name.
const YIELD: (&str, &str) = ("OMPI_MCA_mpi_yield_when_idle", "1");

/// `cargo xtask bench resize [--runs N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    for mpi in MPIS {
        mpi_and_pmix_program("steps", mpi)?;
        mpi_program("hello", mpi)?;
    }
    pmix_program("resized")?;
    let bed = Bed::own("bench", 2, Kind::Plain)?;
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let mut text = format!(
        "{} Runs: {runs} grows and shrinks in turns, one of each before that is not counted. Two virtual nodes share the \
         processors of the machine. A job of two processes on n0 grows to four and shrinks to two; it has a vector of \
         {VECTOR} MB and asks each millisecond whether its size is to change. Open MPI yields when it is idle.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    report::follow(bed.command(0, &own)?.args(["_bench_resize", &runs.to_string()]), &mut text)?;
    bed.down()?;
    if write { report::write("resize", &text) } else { Ok(()) }
}

/// `xtask _bench_resize RUNS`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [runs] = words else { bail!("usage: _bench_resize RUNS") };
    let runs: usize = runs.parse()?;
    for mpi in MPIS {
        for (title, hosts) in LAYOUTS {
            eprintln!("--- {}, {title}", mpi.name());
            println!("\n### {}, {title}\n", mpi.name());
            println!("| | median ms | p10 - p90 | good runs | hung | failed |\n|---|---|---|---|---|---|");
            let mut rows = Rows::default();
            without_mpi(hosts, runs, &mut rows)?;
            with_mpi(hosts, mpi, runs, &mut rows)?;
            rows.print();
        }
    }
    Ok(())
}

#[derive(Default)]
struct Rows {
    answer: [Times; 2],
    hello: Times,
    asked: Times,
    spawn: Times,
    merge: Times,
    copy: Times,
    dealt: Times,
    grown: Times,
    grow: [Times; 2],
    dealt_back: Times,
    retire: Times,
    shrink: [Times; 2],
}

impl Rows {
    fn print(&mut self) {
        let [answer_floor, answer] = &mut self.answer;
        let [grow_floor, grow] = &mut self.grow;
        let [shrink_floor, shrink] = &mut self.shrink;
        let moved = format!("redistribute, {MOVED} MB");
        let copied = format!("floor: `memcpy` of {MOVED} MB into new memory");
        let back = format!("redistribute in the shrink, {MOVED} MB");
        for (name, times) in [
            ("floor: answer without MPI (`resized.c`)", answer_floor),
            ("answer: from `pdvm resize +2` to the event in rank 0", answer),
            ("poll: from the event to the job's next look", &mut self.asked),
            ("floor: `prun -n 2 hello` of the same MPI", &mut self.hello),
            ("spawn: `MPI_Comm_spawn`", &mut self.spawn),
            ("merge: `MPI_Intercomm_merge` and disconnect", &mut self.merge),
            (copied.as_str(), &mut self.copy),
            (moved.as_str(), &mut self.dealt),
            ("floor: `pdvm resize +2 --wait` without MPI", grow_floor),
            ("`pdvm resize +2 --wait`", grow),
            ("from `pdvm resize +2` until all four have their data", &mut self.grown),
            (back.as_str(), &mut self.dealt_back),
            ("retire: from the notice to the last leaver's end", &mut self.retire),
            ("floor: `pdvm resize -2 --wait` without MPI", shrink_floor),
            ("`pdvm resize -2 --wait`", shrink),
        ] {
            println!("| {name} | {} |", times.cells());
        }
    }
}

/// The only job of an own DVM, and the file into which it writes. The head of the DVM is on n0.
struct Job {
    child: Child,
    file: Lines,
}

/// What others write into a file.
struct Lines {
    path: PathBuf,
    /// Bytes that were read.
    read: usize,
    kept: Vec<String>,
}

/// The same changes of a program that speaks PMIx alone.
fn without_mpi(hosts: &str, runs: usize, rows: &mut Rows) -> Result<()> {
    let (mut said, times) = (Lines::new("log")?, Lines::new("times")?);
    let env = [("RESIZED_LOG", said.path.clone()), ("RESIZED_TIMES", times.path.clone())];
    let mut job = Job::start(hosts, &pmix_program("resized")?, times, &["0", "take=2"], &env)?;
    said.take(2, "up")?;
    for run in 0..=runs {
        let (begun, whole) = resize("+2")?;
        let heard = job.file.take(1, "heard")?;
        said.take(2, "up")?;
        let (_, less) = resize("-2")?;
        job.file.take(1, "heard")?;
        if run > 0 {
            rows.answer[0].good(between(begun, heard[0][0]));
            record(&mut rows.grow[0], whole);
            record(&mut rows.shrink[0], less);
        }
    }
    job.end()
}

fn with_mpi(hosts: &str, mpi: Mpi, runs: usize, rows: &mut Rows) -> Result<()> {
    let (steps, hello) = (mpi_and_pmix_program("steps", mpi)?, mpi_program("hello", mpi)?);
    let file = Lines::new("steps")?;
    let words = [file.path.display().to_string(), VECTOR.to_string()];
    let mut job = Job::start(hosts, &steps, file, &[&words[0], &words[1]], &[])?;
    for copy in job.file.take(COPIES, "copy")? {
        rows.copy.good(between(0.0, copy[0]));
    }
    job.file.take(1, "up")?;
    for run in 0..=runs {
        let bare = timed(command("prun", &["-n", "2"]).arg(&hello).env(YIELD.0, YIELD.1))?;
        let (begun, whole) = resize("+2")?;
        let grown = job.file.take(1, "grow")?;
        let (_, less) = resize("-2")?;
        let (shrunk, left) = (job.file.take(1, "shrink")?, job.file.take(2, "left")?);
        let (&[heard, asked, spawned, merged, dealt], &[told, began, back]) = (&grown[0][..], &shrunk[0][..]) else {
            bail!("these are not the lines of steps.c: {grown:?} {shrunk:?}")
        };
        if run == 0 {
            continue;
        }
        record(&mut rows.hello, bare);
        record(&mut rows.grow[1], whole);
        record(&mut rows.shrink[1], less);
        for (times, from, to) in [
            (&mut rows.answer[1], begun, heard),
            (&mut rows.asked, heard, asked),
            (&mut rows.spawn, asked, spawned),
            (&mut rows.merge, spawned, merged),
            (&mut rows.dealt, merged, dealt),
            (&mut rows.grown, begun, dealt),
            (&mut rows.dealt_back, began, back),
            (&mut rows.retire, told, left[0][0].max(left[1][0])),
        ] {
            times.good(between(from, to));
        }
    }
    job.end()
}

impl Job {
    fn start(hosts: &str, program: &Path, file: Lines, words: &[&str], env: &[(&str, PathBuf)]) -> Result<Job> {
        let mut prte = command("prte", &["--daemonize", "--host", hosts, "--prtemca", "prte_elastic_mode", "1"]);
        ensure!(timed(prte.env(YIELD.0, YIELD.1))?.is_some(), "prte does not start");
        let mut prun = command("prun", &["--host", "n0:8", "--elastic", "2:4", "--grace", "60", "-n", "2"]);
        for (name, path) in env {
            prun.arg("-x").arg(format!("{name}={}", path.display()));
        }
        prun.arg(program).args(words).env(YIELD.0, YIELD.1);
        let child = prun.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Job { child, file })
    }

    fn end(mut self) -> Result<()> {
        ensure!(timed(&mut command("pdvm", &["kill", JOB]))?.is_some(), "pdvm kill fails");
        wait(&mut self.child, LIMIT)?.context("the job does not end")?;
        ensure!(timed(&mut command("pterm", &[]))?.is_some(), "pterm fails");
        Ok(())
    }
}

/// Changes the size; returns when that began, and how long the command took.
fn resize(size: &str) -> Result<(f64, Option<Duration>)> {
    let begun = clock_gettime(ClockId::Monotonic);
    let begun = begun.tv_sec as f64 + begun.tv_nsec as f64 * 1e-9;
    Ok((begun, timed(&mut command("pdvm", &["resize", JOB, size, "--wait"]))?))
}

impl Lines {
    /// An empty file that all nodes see.
    fn new(name: &str) -> Result<Lines> {
        let path = std::env::current_exe()?.with_file_name(name);
        fs::write(&path, "")?;
        Ok(Lines { path, read: 0, kept: Vec::new() })
    }

    /// Waits for so many lines with this word, and takes them; returns the numbers in each. Other lines stay: processes
    /// write in any order.
    fn take(&mut self, count: usize, word: &str) -> Result<Vec<Vec<f64>>> {
        let has = |line: &String| line.split(' ').any(|w| w == word);
        let deadline = Instant::now() + LIMIT;
        loop {
            let text = fs::read_to_string(&self.path)?;
            let end = text.rfind('\n').map_or(0, |at| at + 1);
            self.kept.extend(text[self.read..end].lines().map(str::to_owned));
            self.read = end;
            ensure!(!self.kept.iter().any(|line| line == "wrong"), "data is not where it should be");
            if self.kept.iter().filter(|line| has(line)).count() >= count {
                break;
            }
            ensure!(Instant::now() < deadline, "not {count} times '{word}': {:?}", self.kept);
            std::thread::sleep(LOOK_AGAIN);
        }
        let (found, kept) = std::mem::take(&mut self.kept).into_iter().partition(has);
        self.kept = kept;
        let found: Vec<String> = found;
        Ok(found.iter().map(|line| line.split(' ').filter_map(|w| w.parse().ok()).collect()).collect())
    }
}

fn between(from: f64, to: f64) -> Duration {
    Duration::from_secs_f64((to - from).max(0.0))
}
