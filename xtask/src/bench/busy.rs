//! `cargo xtask bench busy`: how long questions, orders and changes of size take while a DVM is busy with a long list
//! of jobs and with many clients.
//!
//! All daemons are on this machine (`plm local`), so that the benchmark needs no rights. It measures whole commands,
//! from their start to their end.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::sample::Times;
use super::{machine, report};
use crate::args::Args;
use crate::runner::{build_product, wait};
use crate::soak::Soak;

const DEFAULT_RUNS: usize = 50;
const CLIENTS: usize = 16;
/// The jobs of the list: more than the DVM can run meanwhile.
const TASKS: usize = 100_000;
/// Jobs of the list that are submitted at a time: what a list does by itself, and many.
const AT_A_TIME: [usize; 2] = [256, 4_096];
/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);
/// Interval of looks at the results of a list: no event says that another process writes a file.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// `cargo xtask bench busy [--runs N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    if !no_build {
        build_product()?;
    }
    let mut text = format!(
        "{} Runs: {runs} of each command, one after another; five cancels. Times are those of whole commands, their own \
         start and end included. The DVM has three daemons on this machine (`plm local`), and grows and shrinks by a \
         fourth.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    for load in [None, Some(AT_A_TIME[0]), Some(AT_A_TIME[1])] {
        let table = measured(load, runs)?;
        println!("{table}");
        text += &table;
    }
    if write { report::write("busy", &text) } else { Ok(()) }
}

/// The table of a DVM that is idle, or that has this many jobs of a list at a time.
fn measured(load: Option<usize>, runs: usize) -> Result<String> {
    let options = ["--prtemca", "plm", "local", "--prtemca", "prte_elastic_mode", "1", "--host", "n0:2,n1:2,n2:2"];
    let dvm = Soak::start_with(&options)?;
    let list = dvm.dir().join("list");
    let mut file = std::io::BufWriter::new(fs::File::create(&list)?);
    (0..TASKS).try_for_each(|_| writeln!(file, "-n 1 /bin/true"))?;
    file.into_inner().context("the list cannot be written")?;
    let mut rows: Vec<(&str, Times)> = Vec::new();
    let (is_over, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
    let began = Instant::now();
    let mut cancels = Times::default();
    std::thread::scope(|scope| -> Result<()> {
        let mut batch = load.map(|at_a_time| start_batch(&dvm, at_a_time)).transpose()?;
        let clients = load.map_or(0, |_| CLIENTS);
        let others: Vec<_> = (0..clients).map(|_| scope.spawn(|| keep_busy(&dvm, &is_over, &ran))).collect();
        let outcome = questions(&dvm, runs, &mut rows).and_then(|()| {
            let Some(at_a_time) = load else { return Ok(()) };
            for last in (0..5).rev() {
                let mut child = batch.take().context("a list")?;
                cancelled(&mut child, &mut cancels)?;
                batch = (last > 0).then(|| start_batch(&dvm, at_a_time)).transpose()?;
            }
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        if let Some(mut child) = batch {
            let _ = child.kill();
            let _ = child.wait();
        }
        let joined: Vec<_> = others.into_iter().map(|client| client.join()).collect();
        outcome?;
        for client in joined {
            client.map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(())
    })?;
    let rate = ran.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    dvm.stop()?;
    if load.is_some() {
        rows.push(("the cancel of the list, until its last record", cancels));
    }
    let title = match load {
        None => "idle".to_owned(),
        Some(at_a_time) => format!("{CLIENTS} clients, and a list with {at_a_time} jobs at a time"),
    };
    let mut table = format!("\n### {title}\n\n| | median ms | p99 | worst | good runs | failed or hung |\n");
    table += "|---|---|---|---|---|---|\n";
    rows.iter_mut().for_each(|(name, times)| table += &format!("| {name} | {} |\n", times.tail()));
    if load.is_some() {
        table += &format!("\nMeanwhile the clients ran {rate:.0} jobs/s.\n");
    }
    Ok(table)
}

/// Asks and changes the size, in turns.
fn questions(dvm: &Soak, runs: usize, rows: &mut Vec<(&'static str, Times)>) -> Result<()> {
    let calls: [(&str, &[&str]); 4] = [
        ("`pdvm status`", &["status"]),
        ("`pdvm jobs`", &["jobs"]),
        ("`pdvm grow --wait` by one node", &["grow", "--wait", "--host", "n3"]),
        ("`pdvm shrink --wait` by one node", &["shrink", "--wait", "--host", "n3"]),
    ];
    rows.extend(calls.iter().map(|(name, _)| (*name, Times::default())));
    for _ in 0..runs {
        for ((_, words), (_, times)) in calls.iter().zip(rows.iter_mut()) {
            let began = Instant::now();
            let mut pdvm = dvm.tool("pdvm");
            pdvm.args(words.iter()).stderr(Stdio::null());
            match wait(&mut pdvm.spawn()?, LIMIT)? {
                Some(status) if status.success() => times.good(began.elapsed()),
                _ => times.bad(),
            }
        }
    }
    Ok(())
}

/// Starts the list, and waits until the first of its jobs is over: the command reads all lines before it begins.
fn start_batch(dvm: &Soak, at_a_time: usize) -> Result<Child> {
    let results = dvm.dir().join("results");
    let _ = fs::remove_file(&results);
    let mut prun = dvm.tool("prun");
    prun.arg("--batch").arg(dvm.dir().join("list")).arg("--results").arg(&results);
    // A job that runs on a node that leaves fails; the list goes on.
    prun.args(["--keep-going", "--max-running", &at_a_time.to_string()]);
    let mut batch = prun.stderr(Stdio::null()).spawn()?;
    while fs::metadata(&results).map_or(0, |found| found.len()) == 0 {
        ensure!(batch.try_wait()?.is_none(), "the list does not run");
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(batch)
}

/// Interrupts a list as Ctrl-C does, and waits for its end.
fn cancelled(batch: &mut Child, times: &mut Times) -> Result<()> {
    ensure!(batch.try_wait()?.is_none(), "the list ended before its cancel");
    let pid = Pid::from_raw(batch.id().cast_signed()).context("a process has a number")?;
    let began = Instant::now();
    kill_process(pid, Signal::INT)?;
    match wait(batch, LIMIT)? {
        Some(_) => times.good(began.elapsed()),
        None => times.bad(),
    }
    Ok(())
}

/// Runs one job after the other until the measurement is over.
fn keep_busy(dvm: &Soak, is_over: &AtomicBool, ran: &AtomicUsize) -> Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        let mut prun: Command = dvm.tool("prun");
        prun.args(["--map-by", ":OVERSUBSCRIBE", "-n", "1", "/bin/true"]).stderr(Stdio::null());
        let mut child = prun.spawn()?;
        if wait(&mut child, LIMIT)?.is_some_and(|status| status.success()) {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}
