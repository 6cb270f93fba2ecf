//! `cargo xtask bench elastic`: measures a change of the DVM's size, from the request to its end.
//!
//! The outer half makes the bed and the report; the inner half (`xtask _bench_elastic`) measures on node n0. The floor
//! of a grow is a launch of `true` on the same nodes by the same agent.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::launch::start_agents;
use super::sample::Times;
use super::{machine, report};
use crate::args::Args;
use crate::runner::{build_product, wait};
use crate::setup::{self, Need};
use crate::soak;
use crate::testbed::{Bed, Kind};
use crate::workspace::product;

const NODES: usize = 10;
const DEFAULT_RUNS: usize = 100;
/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);
/// Jobs of the stream that is watched while the size changes.
const JOBS: usize = 400;
pub(super) const HEADS: &str =
    "| | median ms | p10 - p90 | p99 | worst | good runs | failed or hung |\n|---|---|---|---|---|---|---|";

/// `cargo xtask bench elastic [--runs N] [--write] [--no-build]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    let bed = Bed::own("bench", NODES, Kind::Plain)?;
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let agents = start_agents(&bed, &own)?;
    let mut text = format!(
        "{} Runs: {runs} of each, one run before that is not counted. Ten virtual nodes, tree of radix 2, elastic mode. Times are those \
         of the whole command `pdvm grow --wait` or `pdvm shrink --wait`, its own start and end included.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    report::follow(bed.command(0, &own)?.args(["_bench_elastic", &runs.to_string()]), &mut text)?;
    drop(agents);
    bed.down()?;
    if write { report::write("elastic", &text) } else { Ok(()) }
}

/// `xtask _bench_elastic RUNS`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [runs] = words else { anyhow::bail!("usage: _bench_elastic RUNS") };
    let runs: usize = runs.parse()?;
    let agent = std::env::current_exe()?.with_file_name("agent").display().to_string();
    for (title, agent) in [("by ssh", "ssh"), ("with a light agent", agent.as_str())] {
        eprintln!("--- {title}");
        println!("\n### {title}\n\n{HEADS}");
        sizes(agent, runs)?;
    }
    eprintln!("--- a stream of jobs");
    println!(
        "\n### a stream of `prun -n 1 true` while two clients grow and shrink by three nodes each (light agent)\n\n{HEADS}"
    );
    stream(&agent)
}

/// Measures changes of size, one row of the table each.
fn sizes(agent: &str, runs: usize) -> Result<()> {
    let (one, four) = (["n5"].as_slice(), ["n5", "n6", "n7", "n8"].as_slice());
    for (row, nodes) in [("floor: `true` on one node", one), ("floor: `true` on four nodes at once", four)] {
        let mut times = Times::default();
        bare(agent, nodes)?;
        for _ in 0..runs {
            record(&mut times, bare(agent, nodes)?);
        }
        println!("| {row} | {} |", times.long());
    }
    // In the tree of a DVM over n0 to n4, n5 and n6 come below n2, n7 and n8 below n3.
    let dvm = Dvm::start(&["n0", "n1", "n2", "n3", "n4"], agent)?;
    let (mut grow_one, mut grow_four, mut less_one, mut less_four) = Default::default();
    // The first grow is not counted: the rows are about nodes that were in the DVM before.
    dvm.grow(one)?;
    dvm.shrink(one)?;
    for _ in 0..runs {
        record(&mut grow_one, dvm.grow(one)?);
        record(&mut less_one, dvm.shrink(one)?);
        record(&mut grow_four, dvm.grow(four)?);
        record(&mut less_four, dvm.shrink(four)?);
    }
    dvm.stop()?;
    // A branch: all below n1, at three depths.
    let all: Vec<String> = (0..NODES).map(|node| format!("n{node}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let (mut branch, mut regrow): (Times, Times) = Default::default();
    for _ in 0..runs {
        let dvm = Dvm::start(&all, agent)?;
        record(&mut branch, dvm.shrink(&["n1", "n3", "n4", "n7", "n8", "n9"])?);
        record(&mut regrow, dvm.grow(&["n1", "n3", "n4", "n7", "n8", "n9"])?);
        dvm.stop()?;
    }
    for (row, times) in [
        ("grow +1 (a node that had left)", &mut grow_one),
        ("grow +4 (nodes that had left)", &mut grow_four),
        ("shrink -1", &mut less_one),
        ("shrink -4", &mut less_four),
        ("shrink by a branch of six, three deep", &mut branch),
        ("grow it again", &mut regrow),
    ] {
        println!("| {row} | {} |", times.long());
    }
    Ok(())
}

/// Measures the delay of a stream of jobs: alone first, then with changes of size all the time.
fn stream(agent: &str) -> Result<()> {
    let dvm = Dvm::start(&["n0", "n1", "n2", "n3"], agent)?;
    let mut alone = Times::default();
    jobs(&mut alone)?;
    println!("| alone | {} |", alone.long());
    let is_over = AtomicBool::new(false);
    let mut with = Times::default();
    let changes = std::thread::scope(|scope| -> Result<Times> {
        let changing = [["n4", "n5", "n6"], ["n7", "n8", "n9"]].map(|nodes| {
            let (is_over, dvm) = (&is_over, &dvm);
            scope.spawn(move || -> Result<Vec<Option<Duration>>> {
                let mut all = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    all.push(dvm.grow(&nodes)?);
                    all.push(dvm.shrink(&nodes)?);
                }
                Ok(all)
            })
        });
        let outcome = jobs(&mut with);
        is_over.store(true, Ordering::Relaxed);
        let mut times = Times::default();
        for thread in changing {
            for change in thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?? {
                record(&mut times, change);
            }
        }
        outcome.map(|()| times)
    });
    let mut changes = changes?;
    println!("| with changes of size | {} |", with.long());
    println!("| the changes meanwhile | {} |", changes.long());
    dvm.stop()
}

fn jobs(times: &mut Times) -> Result<()> {
    for _ in 0..JOBS {
        record(times, timed(&mut command("prun", &["-n", "1", "/bin/true"]))?);
    }
    Ok(())
}

pub(super) fn record(times: &mut Times, outcome: Option<Duration>) {
    match outcome {
        Some(time) => times.good(time),
        None => times.bad(),
    }
}

/// A DVM of ours with its head on n0.
struct Dvm;

impl Dvm {
    fn start(nodes: &[&str], agent: &str) -> Result<Dvm> {
        let hosts = nodes.iter().map(|node| format!("{node}:4")).collect::<Vec<_>>().join(",");
        let mut words = vec!["--daemonize", "--host", &hosts, "--prtemca", "rml_base_radix", "2"];
        words.extend(["--prtemca", "prte_elastic_mode", "1"]);
        if agent != "ssh" {
            words.extend(["--prtemca", "plm_ssh_agent", agent]);
        }
        ensure!(timed(&mut command("prte", &words))?.is_some(), "prte does not start");
        Ok(Dvm)
    }

    fn grow(&self, nodes: &[&str]) -> Result<Option<Duration>> {
        timed(&mut command("pdvm", &["grow", "--wait", "--host", &nodes.join(",")]))
    }

    fn shrink(&self, nodes: &[&str]) -> Result<Option<Duration>> {
        timed(&mut command("pdvm", &["shrink", "--wait", "--host", &nodes.join(",")]))
    }

    fn stop(self) -> Result<()> {
        ensure!(timed(&mut command("pterm", &[]))?.is_some(), "pterm fails");
        Ok(())
    }
}

pub(super) fn command(name: &str, words: &[&str]) -> Command {
    let mut command = Command::new(product(name));
    command.args(words).envs(soak::AS_ROOT);
    command
}

/// `true` on each of some nodes at once, by the agent alone.
fn bare(agent: &str, nodes: &[&str]) -> Result<Option<Duration>> {
    let began = Instant::now();
    let start = |node: &&str| quiet(Command::new(agent).args([node, "true"])).spawn();
    let children: Vec<Child> = nodes.iter().map(start).collect::<Result<_, _>>()?;
    let mut good = true;
    for mut child in children {
        good &= wait(&mut child, LIMIT)?.is_some_and(|status| status.success());
    }
    Ok(good.then(|| began.elapsed()))
}

/// Returns the duration; `None` when the command failed or hung.
pub(super) fn timed(command: &mut Command) -> Result<Option<Duration>> {
    timed_within(command, LIMIT)
}

/// Does the same; a command hangs that takes longer than `limit`.
pub(super) fn timed_within(command: &mut Command, limit: Duration) -> Result<Option<Duration>> {
    let began = Instant::now();
    let status = wait(&mut quiet(command).spawn()?, limit)?;
    Ok(status.is_some_and(|status| status.success()).then(|| began.elapsed()))
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}
