//! `cargo xtask bench slurm`: measures Ferrite in a job of Slurm: a start on its nodes, and a change of size by a
//! second job.
//!
//! The outer half makes a bed with a real Slurm and the report; the inner half (`xtask _bench_slurm`) measures on the
//! login node. The floors are Slurm's own commands for the same work.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::elastic::{HEADS, command, record, timed};
use super::sample::{Contender, Times, compare};
use super::{machine, report};
use crate::args::Args;
use crate::runner::build_product;
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind, LOGIN, missing_of_slurm};
use crate::workspace::product;

const NODES: usize = 10;
const DEFAULT_RUNS: usize = 30;

/// `cargo xtask bench slurm [--runs N] [--write] [--no-build]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Slurm)?;
    let missing = missing_of_slurm();
    ensure!(missing.is_empty(), "Slurm is not installed: no {}", missing.join(", "));
    if !no_build {
        build_product()?;
    }
    let bed = Bed::own("bench", NODES, Kind::Slurm)?;
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let mut text = format!(
        "{} Runs: {runs} of each, in turns, one run before that is not counted. Slurm 22.05 on ten virtual nodes, the commands on a login node.\n\
         \n{HEADS}\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    report::follow(bed.command(LOGIN, &own)?.args(["_bench_slurm", &runs.to_string()]), &mut text)?;
    bed.down()?;
    if write { report::write("slurm", &text) } else { Ok(()) }
}

/// `xtask _bench_slurm RUNS`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [runs] = words else { anyhow::bail!("usage: _bench_slurm RUNS") };
    let runs: usize = runs.parse()?;
    starts(runs)?;
    changes(runs)
}

/// A program on one node and on ten, started in a job that is there.
fn starts(runs: usize) -> Result<()> {
    let job = allocate("starts", NODES)?;
    let prterun = product("prterun").display().to_string();
    let mut contenders = Vec::new();
    for (count, list, tasks) in [(1, "n0", "1"), (NODES, "n[0-9]", "1(x10)")] {
        let step = format!("srun --jobid={job} --overlap -N{count} -n{count} -w {list} true");
        contenders.push(Contender::new(&format!("floor: `srun true` on {count}"), &step));
        for (how, plm) in [("by srun", "slurm"), ("by ssh", "ssh")] {
            let line = format!("{prterun} --allow-run-as-root --prtemca plm {plm} --map-by node -n {count} true");
            let name = format!("`prterun true` on {count}, daemons {how}");
            let contender = Contender::new(&name, &line).env("SLURM_JOB_ID", &job).env("SLURM_NODELIST", list);
            contenders.push(contender.env("SLURM_TASKS_PER_NODE", tasks));
        }
    }
    let mut results = compare(&contenders, runs, &[])?;
    for (contender, times) in contenders.iter().zip(&mut results) {
        println!("| {} | {} |", contender.name, times.long());
    }
    run("scancel", &[&job])
}

/// Two nodes more and two less, in a DVM that begins on two.
fn changes(runs: usize) -> Result<()> {
    let job = allocate("dvm", 2)?;
    let nodes = said("squeue", &["-h", "-j", &job, "-o", "%N"])?;
    let mut prte = command("prte", &["--daemonize"]);
    prte.env("SLURM_JOB_ID", &job).env("SLURM_NODELIST", &nodes).env("SLURM_TASKS_PER_NODE", "1(x2)");
    ensure!(timed(&mut prte)?.is_some(), "prte does not start");
    let (mut floor, mut more, mut less): (Times, Times, Times) = Default::default();
    for round in 0..=runs {
        let bare = bare()?;
        let grown = timed(&mut command("pdvm", &["grow", "--nodes", "2", "--wait"]))?;
        let shrunk = timed(&mut command("pdvm", &["shrink", "--nodes", "2", "--wait"]))?;
        if round > 0 {
            record(&mut floor, Some(bare));
            record(&mut more, grown);
            record(&mut less, shrunk);
        }
    }
    for (name, times) in [
        ("floor: `salloc --no-shell`, `srun true` in it, on two nodes", &mut floor),
        ("`pdvm grow --nodes 2 --wait`: two of Slurm's", &mut more),
        ("`pdvm shrink --nodes 2 --wait`: back to Slurm", &mut less),
    ] {
        println!("| {name} | {} |", times.long());
    }
    ensure!(timed(&mut command("pterm", &[]))?.is_some(), "pterm fails");
    run("scancel", &[&job])
}

/// Measures the necessary part of a grow: a job, and a step in it.
fn bare() -> Result<std::time::Duration> {
    let began = Instant::now();
    let job = allocate("bare", 2)?;
    run("srun", &["--jobid", &job, "--overlap", "-N2", "-n2", "true"])?;
    let took = began.elapsed();
    run("scancel", &[&job])?;
    Ok(took)
}

/// A job of its own, without a command.
fn allocate(name: &str, nodes: usize) -> Result<String> {
    let output = Command::new("salloc")
        .args(["--no-shell", "--exclusive", "-J", name, &format!("-N{nodes}")])
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let job = said.lines().find_map(|line| line.strip_prefix("salloc: Granted job allocation "));
    Ok(job.with_context(|| format!("no job is granted: {said}"))?.trim().to_owned())
}

fn run(program: &str, words: &[&str]) -> Result<()> {
    said(program, words).map(|_| ())
}

fn said(program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
