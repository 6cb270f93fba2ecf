//! `cargo xtask bench campaign`: thousands of one-process tasks through one DVM of many daemons, by many clients at a
//! time and as one list. Each task leaves a mark, so that a lost one and one that ran twice are seen.
//!
//! All daemons are on this machine (`plm local`). The set-up of a task is the time from the start of its client to its
//! mark; the clock of files has steps of some milliseconds.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use super::sample::Times;
use super::{machine, report};
use crate::args::Args;
use crate::runner::{build_product, wait};
use crate::soak::Soak;

const TASKS: usize = 8_200;
const NODES: usize = 256;
const CLIENTS: usize = 64;
const SLOTS: usize = 4;
/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);
/// The limit of a whole list.
const LIST_LIMIT: Duration = Duration::from_secs(600);

/// `cargo xtask bench campaign [--tasks N] [--nodes N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let tasks: usize = args.parsed("--tasks")?.unwrap_or(TASKS);
    let nodes: usize = args.parsed("--nodes")?.unwrap_or(NODES);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    ensure!((1..=1_000).contains(&nodes), "--nodes: between 1 and 1,000");
    if !no_build {
        build_product()?;
    }
    let mut text = format!(
        "{} One run: {tasks} tasks each way, through one DVM of {nodes} daemons on this machine (`plm local`, {SLOTS} \
         slots each). A task is a shell that leaves a mark, on a node that its client names.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    let table = measured(tasks, nodes)?;
    println!("{table}");
    text += &table;
    if write { report::write("campaign", &text) } else { Ok(()) }
}

fn measured(tasks: usize, nodes: usize) -> Result<String> {
    let hosts = (0..nodes).map(|node| format!("n{node}:{SLOTS}")).collect::<Vec<_>>().join(",");
    let began = Instant::now();
    let dvm = Soak::start_with(&["--prtemca", "plm", "local", "--host", &hosts])?;
    let start = began.elapsed();
    let before = dvm.measure()?;
    let alone = floor(tasks, dvm.dir())?;
    let clients = by_clients(&dvm, tasks, nodes)?;
    let between = dvm.measure()?;
    let list = by_list(&dvm, tasks, nodes)?;
    let after = dvm.measure()?;
    let daemon = memory_of_a_daemon()?;
    let began = Instant::now();
    dvm.stop()?;
    let mut table = String::from(
        "\n### tasks\n\n| | tasks/s | set-up median ms | p99 | worst | lost | more than once |\n|---|---|---|---|---|---|---|\n",
    );
    for (name, mut found) in [
        ("floor: two threads spawn and wait", alone),
        (&*format!("{CLIENTS} clients, `prun -n 1`"), clients),
        ("one list, `prun --batch`", list),
    ] {
        let times = found.times.tail();
        let times = times.split(" | ").take(3).collect::<Vec<_>>().join(" | ");
        table += &format!("| {name} | {:.0} | {times} | {} | {} |\n", found.rate, found.lost, found.twice);
    }
    table += &format!(
        "\n### the DVM\n\n| | |\n|---|---|\n| `prte --daemonize`, {nodes} daemons, s | {:.1} |\n| `pterm`, s | {:.1} |\n\
         | head at the start, resident MB | {:.1} |\n| head after the clients | {:.1} |\n| head after the list | {:.1} |\n\
         | a daemon with its guard, proportional share (PSS), MB | {daemon:.2} |\n",
        start.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        before.megabytes(),
        between.megabytes(),
        after.megabytes(),
    );
    Ok(table)
}

/// The ends of the tasks.
struct Found {
    rate: f64,
    times: Times,
    lost: usize,
    twice: usize,
}

/// The words of a task, which adds a line to a file of its own.
fn task(dir: &Path, number: usize) -> [String; 3] {
    ["/bin/sh".to_owned(), "-c".to_owned(), format!("echo >> {}/{number}", dir.display())]
}

/// Reads the marks. `since` has the start of each task's client.
fn found(dir: &Path, tasks: usize, since: &BTreeMap<usize, SystemTime>, took: Duration) -> Result<Found> {
    let (mut times, mut lost, mut twice) = (Times::default(), 0, 0);
    for number in 0..tasks {
        let Ok(mark) = fs::metadata(dir.join(number.to_string())) else {
            lost += 1;
            continue;
        };
        twice += usize::from(mark.len() > 1);
        if let Some(since) = since.get(&number) {
            // The clock of files may be a step behind.
            times.good(mark.modified()?.duration_since(*since).unwrap_or_default());
        }
    }
    fs::remove_dir_all(dir)?;
    Ok(Found { rate: (tasks - lost) as f64 / took.as_secs_f64(), times, lost, twice })
}

/// Has threads take the numbers of the tasks one by one; when each was begun.
fn shared_out(
    tasks: usize,
    threads: usize,
    run: impl Fn(usize) -> Result<()> + Sync,
) -> Result<BTreeMap<usize, SystemTime>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, SystemTime)>> {
        let mut own = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= tasks {
                return Ok(own);
            }
            own.push((number, SystemTime::now()));
            run(number)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = BTreeMap::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??);
        }
        Ok(all)
    })
}

fn floor(tasks: usize, dir: &Path) -> Result<Found> {
    let dir = fresh(dir, "floor")?;
    let began = Instant::now();
    let since = shared_out(tasks, 2, |number| {
        let words = task(&dir, number);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status()?;
        Ok(())
    })?;
    found(&dir, tasks, &since, began.elapsed())
}

fn by_clients(dvm: &Soak, tasks: usize, nodes: usize) -> Result<Found> {
    let dir = fresh(dvm.dir(), "clients")?;
    let began = Instant::now();
    let since = shared_out(tasks, CLIENTS, |number| {
        let mut prun = dvm.tool("prun");
        prun.args(["--host", &format!("n{}", number % nodes), "-n", "1"]).args(task(&dir, number));
        // A task that fails leaves no mark.
        let _ = wait(&mut prun.stderr(Stdio::null()).spawn()?, LIMIT)?;
        Ok(())
    })?;
    found(&dir, tasks, &since, began.elapsed())
}

fn by_list(dvm: &Soak, tasks: usize, nodes: usize) -> Result<Found> {
    let dir = fresh(dvm.dir(), "list")?;
    let list = dvm.dir().join("tasks");
    let mut file = std::io::BufWriter::new(fs::File::create(&list)?);
    for number in 0..tasks {
        let [shell, option, script] = task(&dir, number);
        writeln!(file, "--host n{} -n 1 {shell} {option} '{script}'", number % nodes)?;
    }
    file.into_inner().context("the list cannot be written")?;
    let began = Instant::now();
    let mut prun = dvm.tool("prun");
    let status = wait(&mut prun.arg("--batch").arg(&list).spawn()?, LIST_LIMIT)?.context("the list hangs")?;
    ensure!(status.success(), "prun --batch: {status}");
    found(&dir, tasks, &BTreeMap::new(), began.elapsed())
}

fn fresh(dir: &Path, name: &str) -> Result<std::path::PathBuf> {
    let dir = dir.join(name);
    fs::create_dir(&dir)?;
    Ok(dir)
}

/// The memory of a daemon and its guard: the mean over all daemons of this machine's build (MB).
pub(super) fn memory_of_a_daemon() -> Result<f64> {
    let prted = crate::workspace::product("prted").canonicalize()?;
    let (mut kilobytes, mut daemons) = (0_u64, 0_u64);
    for entry in fs::read_dir("/proc")?.flatten() {
        if fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == prted) {
            let rollup = fs::read_to_string(entry.path().join("smaps_rollup")).unwrap_or_default();
            let share = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
            kilobytes += share.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0);
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            daemons += u64::from(name.trim_end() == "prted");
        }
    }
    ensure!(daemons > 0, "there is no daemon");
    Ok(kilobytes as f64 / 1024.0 / daemons as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_was_lost_and_one_that_ran_twice_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fresh(dir.path(), "marks").unwrap();
        let since = shared_out(4, 2, |number| {
            for _ in 0..[1, 0, 2, 1][number] {
                let words = task(&dir, number);
                assert!(Command::new(&words[0]).args(&words[1..]).status()?.success());
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(since.len(), 4);
        let found = found(&dir, 4, &since, Duration::from_secs(1)).unwrap();
        assert_eq!((found.lost, found.twice, found.times.good_runs(), found.rate), (1, 1, 3, 3.0));
    }
}
