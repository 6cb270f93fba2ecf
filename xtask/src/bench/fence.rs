//! `cargo xtask bench fence`: the time of a fence that gives each process the data of all, over many virtual nodes of
//! this one machine, with and without the second tree, beside PRRTE.
//!
//! The outer half makes the bed and the report; the inner half (`xtask _bench_fence`) measures on node n0. The program
//! (`tests/programs/modex.c`) is a client of PMIx without MPI, so that a thousand of them fit on the machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::launch::Launchers;
use super::sample::{Times, clean};
use super::{machine, report};
use crate::args::Args;
use crate::programs::pmix_program;
use crate::runner::{build_product, wait};
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};
use crate::workspace;

const NODES: usize = 32;
const DEFAULT_RUNS: usize = 7;
/// A run takes five seconds; one that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// The rate of the slow links.
const RATE: &str = "200mbit";

/// `cargo xtask bench fence [--runs N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    ensure!(runs > 0, "--runs: at least 1");
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    pmix_program("modex")?;
    let bed = Bed::own("bench", NODES, Kind::Plain)?;
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let mut text = format!(
        "{} {NODES} virtual nodes. Runs: {runs} of each launcher, in turns; one run each before that is not counted. A run \
         that takes {} s is a hang: it is killed, counted and not timed.\n",
        machine::hardware_and_load(),
        LIMIT.as_secs()
    );
    println!("{text}");
    let words = |links: &str| ["_bench_fence".to_owned(), runs.to_string(), links.to_owned()];
    report::follow(bed.command(0, &own)?.args(words("fast")), &mut text)?;
    let tc = workspace::which("tc").context("tc is missing (package iproute2)")?;
    for node in 0..NODES {
        let words = ["qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", RATE, "burst", "512kb", "latency", "5s"];
        ensure!(bed.command(node, &tc)?.args(words).status()?.success(), "the link of n{node} cannot be made slow");
    }
    report::follow(bed.command(0, &own)?.args(words("slow")), &mut text)?;
    bed.down()?;
    if write { report::write("fence", &text) } else { Ok(()) }
}

/// `xtask _bench_fence RUNS fast|slow`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [runs, links] = words else { anyhow::bail!("usage: _bench_fence RUNS fast|slow") };
    let runs: usize = runs.parse()?;
    let own = std::env::current_exe()?;
    let shared = own.parent().context("it is in a directory")?;
    let bench = Bench { program: pmix_program("modex")?, launchers: Launchers::find(), shared };
    match links.as_str() {
        "slow" => bench.table(&format!("1 rank on each node, links of {RATE}/s"), 1, &[31_250], runs),
        _ => bench.table("32 ranks on each node", 32, &[0, 100, 1_000], runs),
    }
}

struct Bench<'a> {
    program: PathBuf,
    launchers: Launchers,
    /// The directory for output.
    shared: &'a Path,
}

impl Bench<'_> {
    fn table(&self, title: &str, ranks_each: usize, sizes: &[usize], runs: usize) -> Result<()> {
        println!(
            "\n### {title}\n\n| bytes of each rank | bytes in all | | median ms | p10 - p90 | good runs | hangs | failures |\n\
             |--:|--:|---|---|---|---|---|---|"
        );
        let hosts = (0..NODES).map(|node| format!("n{node}:{ranks_each}")).collect::<Vec<_>>().join(",");
        // By ssh: with the light agent more runs of PRRTE hang.
        let words = format!("--host {hosts} --bind-to none");
        let ours = &self.launchers.ours;
        let mut calls = vec![
            ("**ours**", format!("{ours} {words}")),
            ("**ours**, without the second tree", format!("{ours} --prtemca ferrite_second_tree_bytes 0 {words}")),
        ];
        calls.extend(self.launchers.wheel.iter().map(|wheel| ("PRRTE 3 of PyPI", format!("{wheel} {words}"))));
        let ranks = NODES * ranks_each;
        for size in sizes {
            let mut times: Vec<Times> = calls.iter().map(|_| Times::default()).collect();
            for run in 0..=runs {
                for ((_, call), times) in calls.iter().zip(&mut times).filter(|(_, times)| !times.is_left_out()) {
                    let line = format!("{call} -n {ranks} {} {size} 1", self.program.display());
                    let took = self.once(&line, ranks)?;
                    // The first run fills the caches and is not counted.
                    match took {
                        _ if run == 0 => {}
                        Took::Time(time) => times.good(time),
                        Took::Failed => times.bad(),
                        Took::Hung => times.hung(),
                    }
                }
            }
            for ((name, _), times) in calls.iter().zip(&mut times) {
                println!("| {size} | {} | {name} | {} |", size * ranks, times.cells());
            }
        }
        Ok(())
    }

    /// Runs the program once; the time is that from the last arrival at the fence to the last return from it.
    fn once(&self, line: &str, ranks: usize) -> Result<Took> {
        let output = self.shared.join("output");
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().context("no command")?);
        command.args(words).stdin(Stdio::null()).stdout(File::create(&output)?).stderr(Stdio::null());
        let others: Vec<String> = (1..NODES).map(|node| format!("n{node}")).collect();
        match wait(&mut command.spawn()?, LIMIT)? {
            Some(status) if status.success() => {}
            Some(_) => {
                clean(&others)?;
                return Ok(Took::Failed);
            }
            None => {
                clean(&others)?;
                return Ok(Took::Hung);
            }
        }
        Ok(time_of(&fs::read_to_string(&output)?, ranks).map_or(Took::Failed, Took::Time))
    }
}

/// The end of a run.
enum Took {
    Time(Duration),
    Failed,
    Hung,
}

/// The time from the last arrival to the last return; `None` unless each rank has told its own.
fn time_of(output: &str, ranks: usize) -> Option<Duration> {
    let lines: Vec<(u64, u64)> = (output.lines())
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(from, to)| Some((from.parse().ok()?, to.trim().parse().ok()?)))
        .collect();
    let last = |of: fn(&(u64, u64)) -> u64| lines.iter().map(of).max();
    let time = last(|line| line.1)?.checked_sub(last(|line| line.0)?)?;
    (lines.len() == ranks).then_some(Duration::from_nanos(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_from_the_last_arrival_to_the_last_return_of_all_ranks() {
        let output = "1000 9000\n4000 7000\na line of something else\n";
        assert_eq!(time_of(output, 2), Some(Duration::from_nanos(5_000)));
        assert_eq!(time_of(output, 3), None, "one rank has said nothing");
        assert_eq!(time_of("", 0), None);
    }
}
