//! `cargo xtask bench init`: where the time of the start of an MPI program goes, with a trace of each rank.
//!
//! The outer half makes the bed and the report; the inner half (`xtask _bench_init`) measures on node n0. A library in
//! each rank notes its calls (`tests/programs/init_trace.c`), [`trace`] computes. It says what of the time is the
//! launcher's and its PMIx's, and what is Open MPI's, beside the same with PRRTE's launcher.

mod trace;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::launch::{Launchers, start_agents};
use super::sample::{Contender, End, Times, once};
use super::{machine, report};
use crate::args::Args;
use crate::programs::{Mpi, mpi_program, plain_library, plain_program, static_program};
use crate::runner::build_product;
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};

use trace::{Command, Part, Processor, Rank, Run, median};

const NODES: usize = 4;
const DEFAULT_RANKS: usize = 16;
const DEFAULT_RUNS: usize = 15;
/// Runs of the program without a launcher.
const ALONE: usize = 5;

/// `cargo xtask bench init [--ranks N] [--runs N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let ranks: usize = args.parsed("--ranks")?.unwrap_or(DEFAULT_RANKS);
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    ensure!((1..=1_024).contains(&ranks), "--ranks: between 1 and 1,024");
    ensure!(runs > 0, "--runs: at least 1");
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    Programs::compiled()?;
    let bed = Bed::own("bench", NODES, Kind::Plain)?;
    // A copy: cargo may replace the running one during a long measurement.
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let agents = start_agents(&bed, &own)?;
    let mut text = format!(
        "{} Ranks: {ranks}, of Open MPI of PyPI. Runs: {runs} of each launcher, in turns; one run each before that is not \
         counted. A run that takes 10 s is a hang: it is killed, counted and not timed. Figures are medians of the runs.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    report::follow(bed.command(0, &own)?.args(["_bench_init", &ranks.to_string(), &runs.to_string()]), &mut text)?;
    drop(agents);
    bed.down()?;
    if write { report::write("init", &text) } else { Ok(()) }
}

/// `xtask _bench_init RANKS RUNS`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [ranks, runs] = words else { anyhow::bail!("usage: _bench_init RANKS RUNS") };
    let (ranks, runs): (usize, usize) = (ranks.parse()?, runs.parse()?);
    let own = std::env::current_exe()?;
    let shared = own.parent().context("it is in a directory")?;
    let bench = Bench {
        programs: Programs::compiled()?,
        launchers: Launchers::find(),
        dir: shared.join("traces"),
        others: (1..NODES).map(|i| format!("n{i}")).collect(),
        ranks,
    };
    let exit = bench.exit_of_a_rank()?;
    let slots = ranks.div_ceil(NODES);
    let hosts = (0..NODES).map(|i| format!("n{i}:{slots}")).collect::<Vec<_>>().join(",");
    let agent = format!("--prtemca plm_ssh_agent {} --host {hosts}", shared.join("agent").display());
    for (place, words, is_one) in
        [("one node", "--map-by :oversubscribe", true), ("four nodes by a light agent", agent.as_str(), false)]
    {
        let mut all = bench.measured(words, runs, exit)?;
        println!("{}", tables(place, &mut all, is_one));
    }
    Ok(())
}

/// The programs of `tests/programs` that are needed.
struct Programs {
    mpi: PathBuf,
    run: PathBuf,
    rank: PathBuf,
    library: PathBuf,
}

impl Programs {
    fn compiled() -> Result<Self> {
        Ok(Self {
            mpi: mpi_program("barrier", Mpi::OpenMpi5)?,
            run: plain_program("init_run")?,
            rank: static_program("init_rank")?,
            library: plain_library("init_trace")?,
        })
    }
}

struct Bench {
    programs: Programs,
    launchers: Launchers,
    /// The directory of the traces of a run.
    dir: PathBuf,
    /// The nodes besides this one.
    others: Vec<String>,
    ranks: usize,
}

/// A launcher, and what it did.
struct Measured {
    name: &'static str,
    times: Times,
    runs: Vec<Run>,
}

impl Bench {
    /// Runs each launcher in turns; `words` are for both of them.
    fn measured(&self, words: &str, runs: usize, exit: u64) -> Result<Vec<Measured>> {
        let ours = ("**ours**", Some(self.launchers.ours.clone()));
        let peer = ("PRRTE 3 of PyPI", self.launchers.wheel.clone());
        let contenders: Vec<(Contender, &'static str)> = [ours, peer]
            .into_iter()
            .filter_map(|(name, call)| {
                let line = format!(
                    "{} {words} --bind-to none -n {} -x INIT_TRACE_DIR={} -x OMPI_MCA_mpi_yield_when_idle=1",
                    call?,
                    self.ranks,
                    self.dir.display()
                );
                Some((self.contender(name, &line), name))
            })
            .collect();
        let mut all: Vec<Measured> =
            contenders.iter().map(|(_, name)| Measured { name, times: Times::default(), runs: Vec::new() }).collect();
        for run in 0..=runs {
            for ((contender, _), measured) in contenders.iter().zip(&mut all) {
                if !measured.times.is_left_out() {
                    let (end, seen) = self.once(contender, exit)?;
                    // The first run fills the caches and is not counted.
                    if run > 0 {
                        measured.times.add(end);
                        measured.runs.extend(seen);
                    }
                }
            }
        }
        Ok(all)
    }

    /// The command of a launcher, and behind it a rank with the library.
    fn contender(&self, name: &str, launcher: &str) -> Contender {
        let Programs { mpi, run, rank, library } = &self.programs;
        let line = format!("{} {launcher} {} {} {}", run.display(), rank.display(), library.display(), mpi.display());
        Contender::new(name, &line).env("INIT_TRACE_DIR", self.dir.display().to_string())
    }

    /// A run whose traces are not whole has failed.
    fn once(&self, contender: &Contender, exit: u64) -> Result<(End, Option<Run>)> {
        self.empty_dir()?;
        let end = once(contender, &self.others)?;
        if !matches!(end, End::Good(_)) {
            return Ok((end, None));
        }
        let read = self.command_and_ranks(self.ranks).and_then(|(command, ranks)| Run::of(&command, &ranks, exit));
        match read {
            Ok(run) => Ok((end, Some(run))),
            Err(error) => {
                eprintln!("{}: {error:#}", contender.name);
                Ok((End::Failed, None))
            }
        }
    }

    fn empty_dir(&self) -> Result<()> {
        if self.dir.exists() {
            fs::remove_dir_all(&self.dir)?;
        }
        Ok(fs::create_dir(&self.dir)?)
    }

    fn command_and_ranks(&self, ranks: usize) -> Result<(Command, Vec<Rank>)> {
        let ranks = (0..ranks).map(|rank| read(&self.dir.join(rank.to_string()))).collect::<Result<_>>()?;
        Ok((read(&self.dir.join("command"))?, ranks))
    }

    /// Processor time of a rank's process after its exit handlers, in nanoseconds: what the kernel does to remove it.
    /// A rank cannot know that, so it is measured without a launcher.
    fn exit_of_a_rank(&self) -> Result<u64> {
        let alone = self.contender("alone", "");
        let mut times = Vec::new();
        for _ in 0..ALONE {
            self.empty_dir()?;
            ensure!(matches!(once(&alone, &self.others)?, End::Good(_)), "the MPI program fails without a launcher");
            let (command, ranks) = self.command_and_ranks(1)?;
            times.extend(ranks.iter().map(|rank| command.cpu.saturating_sub(rank.cpu_since_fork()) as f64));
        }
        Ok(median(times).unwrap_or_default() as u64)
    }
}

fn read<T: std::str::FromStr<Err = anyhow::Error>>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| path.display().to_string())
}

/// All tables of a place. Processor time is known where all processes are below the command: on one node.
fn tables(place: &str, all: &mut [Measured], is_one: bool) -> String {
    let mut text = format!(
        "\n### {place}: the whole command\n\n| | median ms | p10 - p90 | good runs | hangs | failures |\n\
         |---|---|---|---|---|---|\n"
    );
    for measured in all.iter_mut() {
        text += &format!("| {} | {} |\n", measured.name, measured.times.cells());
    }
    text += &parts(place, all);
    if is_one {
        text += &processor(place, all);
    }
    text += &fences(place, all);
    text += &calls(place, all);
    text + &ranks(place, all)
}

/// The head of a table: a first column, and `columns` for each launcher.
fn head(title: &str, first: &str, all: &[Measured], columns: &[&str]) -> String {
    let names = all.iter().flat_map(|m| columns.iter().map(move |column| format!(" {}{column} |", m.name)));
    let (names, lines): (String, String) = names.map(|name| (name, "--:|")).unzip();
    let firsts = "---|".repeat(first.matches('|').count() + 1);
    format!("\n### {title}\n\n| {first} |{names}\n|{firsts}{lines}\n")
}

/// A row of it: `cell` makes the cells of one launcher.
fn row(first: &str, all: &[Measured], cell: impl Fn(&[Run]) -> String) -> String {
    let cells: Vec<String> = all.iter().map(|measured| cell(&measured.runs)).collect();
    format!("| {first} | {} |\n", cells.join(" | "))
}

/// The median of a figure of each run.
fn figure(runs: &[Run], of: impl Fn(&Run) -> f64) -> String {
    median(runs.iter().map(of)).map_or("-".to_owned(), |value| format!("{value:.1}"))
}

fn parts(place: &str, all: &[Measured]) -> String {
    let title = format!("{place}: where a rank is");
    let columns = [", ms", ", longest rank", ", %"];
    let mut text = head(&title, "part | whose", all, &columns);
    for part in Part::ALL {
        let whose = if part.is_launchers() { "launcher" } else { "rank" };
        text += &row(&format!("{} | {whose}", part.name()), all, |runs| {
            let share = figure(runs, |run| 100.0 * run.mean(part) / run.whole);
            format!("{} | {} | {share}", figure(runs, |run| run.mean(part)), figure(runs, |run| run.longest(part)))
        });
    }
    text + &row("all parts of the launcher | launcher", all, |runs| {
        let share = figure(runs, |run| 100.0 * run.launchers() / run.whole);
        format!("{} | - | {share}", figure(runs, Run::launchers))
    })
}

/// A share of the processor time, in milliseconds.
type Share = fn(&Processor) -> f64;

fn processor(place: &str, all: &[Measured]) -> String {
    let rows: [(&str, Share); 7] = [
        ("all processes", |time| time.all),
        ("ranks, outside of PMIx", |time| time.rest),
        ("ranks, in PMIx_Init", |time| time.pmix[0]),
        ("ranks, in PMIx_Get", |time| time.pmix[1]),
        ("ranks, in other calls of PMIx", |time| time.pmix[2]),
        ("ranks, removed by the kernel", |time| time.exits),
        ("launcher: its processes, and the start of the ranks'", |time| time.launcher),
    ];
    let mut text = head(&format!("{place}: processor time"), "", all, &[", ms", ", %"]);
    for (name, of) in rows {
        text += &row(name, all, |runs| {
            let share = figure(runs, |run| 100.0 * of(&run.processor) / run.processor.all);
            format!("{} | {share}", figure(runs, |run| of(&run.processor)))
        });
    }
    text
}

fn fences(place: &str, all: &[Measured]) -> String {
    let columns = [": first to last arrival, ms", ": from then to a return", ": to the last return"];
    let mut text = head(&format!("{place}: fences"), "fence", all, &columns);
    let count = all.iter().flat_map(|m| &m.runs).map(|run| run.fences.len()).max().unwrap_or(0);
    for at in 0..count {
        text += &row(&(at + 1).to_string(), all, |runs| {
            let runs: Vec<Run> = runs.iter().filter(|run| at < run.fences.len()).cloned().collect();
            let columns: [fn(&trace::Fence) -> f64; 3] = [|f| f.arrivals, |f| f.mean, |f| f.last];
            columns.map(|of| figure(&runs, |run| of(&run.fences[at]))).join(" | ")
        });
    }
    text
}

fn calls(place: &str, all: &[Measured]) -> String {
    let mut text = head(&format!("{place}: calls of PMIx by a rank"), "", all, &[""]);
    for (at, name) in ["`PMIx_Get`", "of these, longer than 0.2 ms", "others"].into_iter().enumerate() {
        text += &row(name, all, |runs| figure(runs, |run| run.calls[at]));
    }
    text
}

/// Each rank of our run that took the median of the time.
fn ranks(place: &str, all: &[Measured]) -> String {
    let Some(ours) = all.first() else { return String::new() };
    let Some(whole) = median(ours.runs.iter().map(|run| run.whole)) else { return String::new() };
    let Some(run) = ours.runs.iter().find(|run| run.whole == whole) else { return String::new() };
    let names: Vec<&str> = Part::ALL.into_iter().map(Part::short).collect();
    let mut text = format!(
        "\n### {place}: each rank of one run of ours, ms\n\n| rank | {} |\n|--:|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    for (rank, account) in run.accounts.iter().enumerate() {
        let cells: Vec<String> = Part::ALL.into_iter().map(|part| format!("{:.1}", account.ms(part))).collect();
        text += &format!("| {rank} | {} |\n", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_only_hangs_has_a_dash_in_each_cell() {
        let launcher = |name| Measured { name, times: Times::default(), runs: Vec::new() };
        let text = tables("here", &mut [launcher("**ours**"), launcher("peer")], true);
        assert_eq!(text.matches("### here: ").count(), 5);
        assert!(text.contains("| rest of MPI_Init | rank | - | - | - | - | - | - |\n"), "{text}");
        let cells = |line: &str| line.matches('|').count();
        for table in text.split("### here: ").skip(1) {
            let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
            assert!(rows.iter().all(|row| cells(row) == cells(rows[0])), "{table}");
        }
    }
}
