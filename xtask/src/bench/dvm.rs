//! `cargo xtask bench dvm`: measures the cost of a job in a running DVM, and what many jobs leave behind.
//!
//! The outer half makes the bed and the report. The inner half (`xtask _bench_dvm`) measures on node n0, where all its
//! processes can be ended.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::sample::Times;
use super::{machine, peer, report};
use crate::args::Args;
use crate::runner::{announce, build_product, wait};
use crate::setup::{self, Need};
use crate::soak::{self, Soak};
use crate::testbed::{Bed, Kind, sweep_own_namespace};
use crate::workspace::product;

const DEFAULT_RUNS: usize = 200;
/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);
const CLIENTS: usize = 16;
const GIGABYTE: usize = 1 << 30;

/// `cargo xtask bench dvm [--runs N] [--jobs N] [--peer-root DIR] [--write] [--no-build]`
///
/// `--peer-root` is a Debian 13 with `openmpi-bin` (made by debootstrap), whose `prte` and `prun` are measured as well.
pub(crate) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let jobs: usize = args.parsed("--jobs")?.unwrap_or(soak::FULL);
    let peer = args.value("--peer-root")?.unwrap_or_default();
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    let bed = Bed::own("bench", 1, Kind::Plain)?;
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let mut text = machine::describe(runs);
    println!("{text}");
    let words = ["_bench_dvm", &runs.to_string(), &jobs.to_string(), &peer];
    report::follow(bed.command(0, &own)?.args(words), &mut text)?;
    bed.down()?;
    let table = many_nodes()?;
    println!("{table}");
    text += &table;
    if write { report::write("dvm", &text) } else { Ok(()) }
}

const MANY_NODES: usize = 32;

/// A DVM over many virtual nodes of this one machine, by real ssh.
fn many_nodes() -> Result<String> {
    announce("many nodes");
    let bed = Bed::own("bench-many", MANY_NODES, Kind::Plain)?;
    let hosts: Vec<String> = (0..MANY_NODES).map(|node| format!("n{node}:32")).collect();
    let hosts = hosts.join(",");
    let call = |name: &str, words: &[&str]| -> Result<Duration> {
        let mut command = bed.command(0, product(name))?;
        command.args(words).envs(soak::AS_ROOT).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        ensure!(run(&mut command)?, "{name} {words:?} failed");
        Ok(began.elapsed())
    };
    let mut times: [Times; 4] = Default::default();
    let mut floor = Times::default();
    for _ in 0..3 {
        times[0].good(call("prte", &["--daemonize", "--host", &hosts])?);
        for _ in 0..3 {
            floor.good(by_two_threads(1024)?);
            times[1].good(call("prun", &["-n", "1", "/bin/true"])?);
            times[2].good(call("prun", &["-n", "1024", "/bin/true"])?);
        }
        times[3].good(call("pterm", &[])?);
    }
    bed.down()?;
    let mut text =
        format!("\n### a DVM over {MANY_NODES} virtual nodes by ssh\n\n| | median ms (p10 - p90) |\n|---|---|\n");
    text += &format!("| floor: 1024 times `true` by two threads | {} |\n", floor.short());
    for (name, times) in
        ["`prte --daemonize`", "`prun -n 1 true`", "`prun -n 1024 true`", "`pterm`"].iter().zip(&mut times)
    {
        text += &format!("| {name} | {} |\n", times.short());
    }
    Ok(text)
}

/// `xtask _bench_dvm RUNS JOBS PEER`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [runs, jobs, peer_root] = words else { anyhow::bail!("usage: _bench_dvm RUNS JOBS PEER") };
    let (runs, jobs): (usize, usize) = (runs.parse()?, jobs.parse()?);
    let mut launchers = vec![Launcher::ours()];
    if !peer_root.is_empty() {
        launchers.push(Launcher::peer(Path::new(peer_root))?);
    }
    start_and_end(&launchers, (runs / 20).max(3))?;
    one_after_another(&launchers, runs)?;
    at_a_time(&launchers, runs)?;
    batch()?;
    streams()?;
    many(jobs)
}

/// Progress goes to standard error: standard output is the report.
fn say(title: &str) {
    eprintln!("--- {title}");
}

/// The `prte`, `prun` and `pterm` of Ferrite or of the reference.
struct Launcher {
    name: &'static str,
    prte: Vec<String>,
    prun: Vec<String>,
    pterm: Vec<String>,
}

impl Launcher {
    fn ours() -> Launcher {
        let call = |name: &str| vec![product(name).display().to_string()];
        Launcher { name: "**ours**", prte: call("prte"), prun: call("prun"), pterm: call("pterm") }
    }

    fn peer(root: &Path) -> Result<Launcher> {
        peer::enter(root)?;
        // The reference's clients are servers too; several at a time would be taken for the DVM.
        let call = |name: &str, option: &str, value: &str| {
            let mut words = peer::call(root, name);
            words.extend([option, value].map(str::to_owned));
            words
        };
        let found = "file:/tmp/dvm.uri";
        Ok(Launcher {
            name: peer::NAME,
            prte: call("prte", "--report-uri", "/tmp/dvm.uri"),
            prun: call("prun", "--dvm-uri", found),
            pterm: call("pterm.openmpi", "--dvm-uri", found),
        })
    }

    fn start(&self) -> Result<Duration> {
        let began = Instant::now();
        ensure!(run(command(&self.prte).arg("--daemonize"))?, "{} cannot start a DVM", self.name);
        Ok(began.elapsed())
    }

    fn stop(&self) -> Result<Duration> {
        let began = Instant::now();
        if !run(&mut command(&self.pterm))? {
            self.sweep()?;
        }
        while dvm_is_there() && began.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(began.elapsed())
    }

    /// Kills what is left: a DVM that hangs cannot be asked to end.
    fn sweep(&self) -> Result<()> {
        ensure!(self.name == peer::NAME, "our own DVM hangs");
        sweep_own_namespace()?;
        let left = fs::read_dir("/tmp")?.flatten().filter(|e| e.file_name().to_string_lossy().starts_with("prte"));
        left.for_each(|entry| drop(fs::remove_dir_all(entry.path())));
        Ok(())
    }

    fn prun(&self, words: &[&str]) -> Command {
        let mut command = command(&self.prun);
        command.args(words);
        command
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(soak::AS_ROOT).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs a command; true when it ended well. One that hangs is killed and counts as failed.
fn run(command: &mut Command) -> Result<bool> {
    let mut child = command.spawn()?;
    Ok(wait(&mut child, LIMIT)?.is_some_and(|status| status.success()))
}

fn dvm_is_there() -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return false };
    entries.flatten().any(|entry| {
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        // A zombie that nobody reaps is gone.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        ["prte", "ferrite-guard"].contains(&name.trim_end()) && !stat.contains(") Z ")
    })
}

fn table(title: &str, heads: &str) {
    let columns = heads.matches('|').count();
    println!("\n### {title}\n\n| | {heads} |\n|---|{}", "---|".repeat(columns + 1));
}

fn start_and_end(launchers: &[Launcher], runs: usize) -> Result<()> {
    say("start and end");
    table(
        "a DVM on one node",
        "`prte --daemonize` until it returns, ms (p10 - p90) | `pterm` until all is gone, ms (p10 - p90)",
    );
    for launcher in launchers {
        let (mut starts, mut ends) = (Times::default(), Times::default());
        for _ in 0..runs {
            starts.good(launcher.start()?);
            ends.good(launcher.stop()?);
        }
        println!("| {} | {} | {} |", launcher.name, starts.short(), ends.short());
    }
    Ok(())
}

fn one_after_another(launchers: &[Launcher], runs: usize) -> Result<()> {
    say("one after another");
    table("`prun -n 1 true`, one after another", "median ms | p10 - p90 | p99 | worst | good runs | failed or hung");
    let mut floor = Times::default();
    (0..runs).try_for_each(|_| timed(&mut floor, &mut Command::new("/bin/true")))?;
    println!("| floor: spawn and wait | {} |", floor.long());
    for launcher in launchers {
        launcher.start()?;
        let mut times = Times::default();
        let runs = if launcher.name == peer::NAME { (runs / 4).max(10) } else { runs };
        for _ in 0..runs {
            let bad = times.bad_runs();
            timed(&mut times, &mut launcher.prun(&["-n", "1", "/bin/true"]))?;
            if times.bad_runs() > bad {
                launcher.sweep()?;
                launcher.start()?;
            }
        }
        println!("| {} | {} |", launcher.name, times.long());
        launcher.stop()?;
    }
    Ok(())
}

fn timed(times: &mut Times, command: &mut Command) -> Result<()> {
    let began = Instant::now();
    match run(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))? {
        true => times.good(began.elapsed()),
        false => times.bad(),
    }
    Ok(())
}

fn at_a_time(launchers: &[Launcher], runs: usize) -> Result<()> {
    say("at a time");
    table(&format!("`prun -n 1 true`, {CLIENTS} at a time"), "jobs/s | failed or hung | worst ms");
    let mut floor = rate(&mut || Command::new("/bin/true"), runs * 4)?;
    println!("| floor: spawn and wait | {} |", floor.cells());
    println!("| the same, when a job is two processes, as client and task | {:.0} | | |", floor.per_second / 2.0);
    for launcher in launchers {
        launcher.start()?;
        let oversubscribed = ["--map-by", ":OVERSUBSCRIBE", "-n", "1", "/bin/true"];
        let runs = if launcher.name == peer::NAME { runs } else { runs * 4 };
        println!("| {} | {} |", launcher.name, rate(&mut || launcher.prun(&oversubscribed), runs)?.cells());
        launcher.stop()?;
    }
    Ok(())
}

/// Keeps several commands running until `count` have ended; returns commands per second.
fn rate(make: &mut dyn FnMut() -> Command, count: usize) -> Result<Rate> {
    let began = Instant::now();
    let (mut running, mut times): (Vec<(Child, Instant)>, _) = (Vec::new(), Times::default());
    let (mut started, mut ended) = (0, 0);
    while ended < count {
        while running.len() < CLIENTS && started < count {
            let mut command = make();
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            running.push((command.spawn()?, Instant::now()));
            started += 1;
        }
        let (mut child, since) = running.remove(0);
        match wait(&mut child, LIMIT)? {
            Some(status) if status.success() => times.good(since.elapsed()),
            _ => times.bad(),
        }
        ended += 1;
    }
    Ok(Rate { per_second: times.good_runs() as f64 / began.elapsed().as_secs_f64(), times })
}

/// Commands per second, and the time of each.
struct Rate {
    per_second: f64,
    times: Times,
}

impl Rate {
    /// Rate, number of failures and longest time: cells of a table.
    fn cells(&mut self) -> String {
        format!("{:.0} | {} | {}", self.per_second, self.times.bad_runs(), self.times.worst())
    }
}

/// Starts `true` so many times (an even number) by two threads, each of which waits for its process before the next
/// one. It is an error when one of them fails.
pub(super) fn by_two_threads(count: usize) -> Result<Duration> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let spawner = || {
            (0..count / 2).try_for_each(|_| {
                ensure!(run(&mut Command::new("/bin/true"))?, "/bin/true failed");
                Ok(())
            })
        };
        let other = scope.spawn(spawner);
        spawner()?;
        other.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?
    })?;
    Ok(began.elapsed())
}

/// Measures the tasks of a batch, beside the same processes started by two threads.
fn batch() -> Result<()> {
    const TASKS: usize = 10_000;
    say("batch");
    let floor = TASKS as f64 / by_two_threads(TASKS)?.as_secs_f64();
    let mut soak = Soak::start()?;
    let rate = soak.batch(TASKS)?;
    soak.stop()?;
    table(&format!("`prun --batch`, {TASKS} tasks `true`"), "jobs/s | of the floor");
    println!(
        "| floor: two threads spawn and wait | {floor:.0} | |\n| **ours** | {rate:.0} | {:.0} % |",
        rate / floor * 100.0
    );
    Ok(())
}

/// Measures a gigabyte of output of a job, and a gigabyte of input.
fn streams() -> Result<()> {
    say("streams");
    let ours = Launcher::ours();
    ours.start()?;
    let mut rows = Vec::new();
    for (name, script) in [
        ("plain pipes: `head \\| cat`", "head -c 1G /dev/zero | cat"),
        ("out of one rank, `prun -n 1 head`", "\"$PRUN\" -n 1 head -c 1G /dev/zero"),
        ("into one rank, `prun -n 1 cat`", "head -c 1G /dev/zero | \"$PRUN\" -n 1 sh -c 'cat >/dev/null; echo'"),
    ] {
        let mut times = Times::default();
        for _ in 0..5 {
            times.good(drained(script, &ours.prun[0])?);
        }
        rows.push((name, times.median().unwrap_or_default() / 1e3));
    }
    ours.stop()?;
    table("a gigabyte", "seconds (median of 5) | MB/s | of the plain pipes");
    let floor = rows[0].1;
    for (name, seconds) in &rows {
        println!(
            "| {name} | {seconds:.2} | {:.0} | {:.0} % |",
            GIGABYTE as f64 / 1e6 / seconds,
            floor / seconds * 100.0
        );
    }
    Ok(())
}

/// Runs a script whose output this process reads to its end.
fn drained(script: &str, prun: &str) -> Result<Duration> {
    let began = Instant::now();
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("PRUN", prun).envs(soak::AS_ROOT).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut output = child.stdout.take().context("no stdout")?;
    let mut buffer = vec![0; 1 << 20];
    while output.read(&mut buffer)? > 0 {}
    ensure!(child.wait()?.success(), "{script} failed");
    Ok(began.elapsed())
}

fn many(jobs: usize) -> Result<()> {
    say("many jobs");
    let mut soak = Soak::start()?;
    let first = soak.batch(soak::BEFORE)?;
    let before = soak.measure()?;
    let step = ((jobs - soak::BEFORE) / 3).max(1);
    table(
        &format!("{jobs} one-process jobs through one DVM"),
        "jobs/s meanwhile | resident MB | file descriptors | threads | files",
    );
    println!("| after {} | {first:.0} | {} |", soak::BEFORE, before.cells());
    for part in 1..=3 {
        let rate = soak.batch(step)?;
        println!("| after {} | {rate:.0} | {} |", soak::BEFORE + part * step, soak.measure()?.cells());
    }
    soak.stop()?;
    std::io::stdout().flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_counts_failures_apart() {
        let mut count = 0;
        let mut make = || {
            count += 1;
            Command::new(if count % 2 == 0 { "/bin/true" } else { "/bin/false" })
        };
        let mut rate = rate(&mut make, 40).unwrap();
        assert_eq!(rate.times.bad_runs(), 20, "{}", rate.cells());
    }
}
