//! `cargo xtask bench tasks`: small tasks per second on two slots of this machine, through a DVM and through the tools
//! that people use for many small tasks. Each task is one process `true`. All contenders take turns in one run.
//!
//! The contenders in Python are in `python/benchmarks/tasks.py`, which runs once for each turn.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::dvm::by_two_threads;
use super::{machine, report};
use crate::args::Args;
use crate::programs::workflow_programs;
use crate::runner::{announce, build_product, wait};
use crate::setup::{self, Need};
use crate::soak::{self, Soak};
use crate::workspace::{root, which};

/// Tasks of a turn of the fastest contenders.
const TASKS: usize = 6_000;
const RUNS: usize = 3;
/// Tasks of each contender before the first turn, which fill the caches.
const WARM_UP: usize = 50;
/// A command that takes longer hangs. The script has a shorter limit of its own, and ends its workers then.
const LIMIT: Duration = Duration::from_secs(180);
const TASK: &str = "/bin/true";

/// `cargo xtask bench tasks [--tasks N] [--runs N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let tasks: usize = args.parsed("--tasks")?.unwrap_or(TASKS);
    let runs: usize = args.parsed("--runs")?.unwrap_or(RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    ensure!(tasks >= 100 && tasks.is_multiple_of(2), "--tasks: an even number from 100 on");
    ensure!(runs > 0, "--runs: at least 1");
    setup::ensure_installed(Need::Build)?;
    if let Err(error) = setup::ensure_programs(&[("parallel", "parallel")]) {
        eprintln!("setup: GNU parallel is not available and is not measured: {error:#}");
    }
    if !no_build {
        build_product()?;
    }
    let mut text = format!(
        "{} Turns: {runs}, all contenders in each. A turn of a fast contender has {tasks} tasks, one of a slow contender \
         a part of them.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    let table = measured(tasks, runs)?;
    println!("{table}");
    text += &table;
    if write { report::write("tasks", &text) } else { Ok(()) }
}

/// One row of the table.
struct Contender {
    /// Its name in the table.
    name: &'static str,
    /// It runs one of so many tasks of a turn, so that slow contenders take as long as fast ones.
    share: usize,
    way: Way,
}

/// How a contender runs tasks.
enum Way {
    /// Two threads, each of which spawns a process and waits for it.
    Threads,
    /// One `prun --batch`.
    Batch,
    /// A program that reads a line for each task.
    Lines(Vec<&'static str>),
    /// A contender of the script.
    Script(&'static str),
}

fn contenders() -> [Contender; 9] {
    let row = |name, share, way| Contender { name, share, way };
    [
        row("floor: two threads spawn and wait", 1, Way::Threads),
        row("**ours**, `prun --batch`", 1, Way::Batch),
        row("**ours**, the Python package", 2, Way::Script("ferrite")),
        row("`xargs -P 2 -n 1`", 1, Way::Lines(vec!["xargs", "-P", "2", "-n", "1", TASK])),
        row("GNU parallel, `-j 2`", 8, Way::Lines(vec!["parallel", "--will-cite", "-j", "2", TASK])),
        row("Python, `ThreadPoolExecutor`", 2, Way::Script("threads")),
        row("joblib, two processes", 2, Way::Script("joblib")),
        row("Parsl, `HighThroughputExecutor`", 8, Way::Script("parsl")),
        row("Dask, `LocalCluster`", 8, Way::Script("dask")),
    ]
}

impl Contender {
    fn is_installed(&self) -> bool {
        match &self.way {
            Way::Threads | Way::Batch => true,
            Way::Lines(words) => which(words[0]).is_some_and(|_| words[0] != "parallel" || is_parallel_of_gnu()),
            Way::Script(name) => python(name).is_some(),
        }
    }

    /// Runs so many tasks; tasks per second. It is an error when one of them fails.
    fn turn(&self, dvm: &mut Soak, tasks: usize) -> Result<f64> {
        match &self.way {
            Way::Threads => Ok(tasks as f64 / by_two_threads(tasks)?.as_secs_f64()),
            Way::Batch => dvm.batch(tasks),
            Way::Lines(words) => {
                let lines = dvm.dir().join("lines");
                fs::write(&lines, "x\n".repeat(tasks))?;
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).stdin(File::open(&lines)?);
                let began = Instant::now();
                said_by(&mut command, dvm)?;
                Ok(tasks as f64 / began.elapsed().as_secs_f64())
            }
            Way::Script(name) => {
                let python = python(name).context("there is no python3")?;
                let mut command = Command::new(&python);
                // Parsl looks for its own programs there.
                let programs = python.parent().context("no directory")?.display();
                command.env("PATH", format!("{programs}:{}", env::var("PATH").unwrap_or_default()));
                command.arg(root().join("python/benchmarks/tasks.py")).args([name, &*tasks.to_string()]);
                rate_of(&said_by(command.stdin(Stdio::null()), dvm)?)
            }
        }
    }
}

/// Another program has the same name.
fn is_parallel_of_gnu() -> bool {
    let said = Command::new("parallel").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    said.is_ok_and(|said| said.stdout.starts_with(b"GNU parallel"))
}

/// The Python for a contender of the script: that with the workflow systems, or any if it needs none of them.
fn python(contender: &str) -> Option<PathBuf> {
    let any = || which("python3").filter(|_| ["ferrite", "threads"].contains(&contender));
    workflow_programs().map(|programs| programs.join("python")).or_else(any)
}

/// Runs a command to its good end; its standard output. All its files are in the directory of the DVM, which is gone
/// afterwards. The output goes through files, so that a worker that holds them cannot make this wait.
fn said_by(command: &mut Command, dvm: &Soak) -> Result<String> {
    let dir = dvm.dir();
    let (out, err) = (dir.join("out"), dir.join("err"));
    command.stdout(File::create(&out)?).stderr(File::create(&err)?).current_dir(dir);
    command.envs(soak::AS_ROOT).env("TMPDIR", dir).env_remove("PRTEPROXY_USE_DVM");
    command.env("PYTHONPATH", root().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    // GNU parallel calls each task by a shell: one that starts fast.
    command.env("PARALLEL_HOME", dir).env("PARALLEL_SHELL", "/bin/sh");
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let status = wait(&mut child, LIMIT)?.context("it hangs")?;
    let errors = fs::read_to_string(&err)?;
    ensure!(status.success(), "{status}: {}", errors.lines().last().unwrap_or_default());
    Ok(fs::read_to_string(&out)?)
}

/// The rate in the output of the script.
fn rate_of(said: &str) -> Result<f64> {
    let rate = said.lines().find_map(|line| line.strip_prefix("tasks/s ")).context("the script says no rate")?;
    rate.parse().with_context(|| format!("'{rate}' is no rate"))
}

/// The turns of one contender.
#[derive(Default)]
struct Turns {
    /// Tasks per second of the good turns.
    rates: Vec<f64>,
    failed: usize,
}

impl Turns {
    fn median(&mut self) -> Option<f64> {
        self.rates.sort_by(f64::total_cmp);
        self.rates.get(self.rates.len() / 2).copied()
    }

    /// Median, least and most, part of the floor, and failed turns: cells of a table.
    fn cells(&mut self, floor: Option<f64>) -> String {
        let median = self.median();
        let show = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        let part = median.zip(floor).map_or("-".to_owned(), |(rate, floor)| format!("{:.0} %", rate / floor * 100.0));
        let (least, most) = (self.rates.first().copied(), self.rates.last().copied());
        format!("{} | {} - {} | {part} | {}", show(median), show(least), show(most), self.failed)
    }
}

fn measured(tasks: usize, runs: usize) -> Result<String> {
    let contenders = contenders();
    let mut dvm = Soak::start_with(&["--host", "localhost:2"])?;
    let mut found: Vec<Option<Turns>> =
        contenders.iter().map(|contender| contender.is_installed().then(Turns::default)).collect();
    for turn in 0..=runs {
        for (contender, turns) in contenders.iter().zip(&mut found) {
            let Some(turns) = turns else { continue };
            // The script warms each contender up itself.
            let is_warm_up = turn == 0;
            if is_warm_up && matches!(contender.way, Way::Script(_)) {
                continue;
            }
            announce(contender.name);
            let count = if is_warm_up { WARM_UP } else { tasks / contender.share };
            match contender.turn(&mut dvm, count) {
                Ok(_) if is_warm_up => {}
                Ok(rate) => turns.rates.push(rate),
                Err(error) => {
                    eprintln!("{}: {error:#}", contender.name);
                    turns.failed += 1;
                }
            }
        }
    }
    dvm.stop()?;
    let floor = found.first_mut().and_then(|turns| turns.as_mut()?.median());
    let mut table = String::from(
        "\n### tasks\n\n| contender | tasks/s (median) | least - most | of the floor | failed |\n|---|---|---|---|---|\n",
    );
    for (contender, turns) in contenders.iter().zip(&mut found) {
        let cells = turns.as_mut().map_or("not installed | - | - | -".to_owned(), |turns| turns.cells(floor));
        table += &format!("| {} | {cells} |\n", contender.name);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_turn_is_counted_and_is_not_in_the_rates() {
        let mut turns = Turns { rates: vec![300.0, 100.0, 200.0], failed: 1 };
        assert_eq!(turns.cells(Some(400.0)), "200 | 100 - 300 | 50 % | 1");
        assert_eq!(Turns { rates: Vec::new(), failed: 2 }.cells(Some(400.0)), "- | - - - | - | 2");
    }

    #[test]
    fn the_rate_is_that_of_the_line_of_the_script() {
        assert_eq!(rate_of("a warning\ntasks/s 12.5\n").unwrap(), 12.5);
        assert!(rate_of("").is_err());
        assert!(rate_of("tasks/s many").is_err());
    }
}
