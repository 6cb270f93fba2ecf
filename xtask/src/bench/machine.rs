//! The facts about the machine that a reader of a table needs.

use std::fs;
use std::process::Command;

use crate::dist;
use crate::workspace::{bin_dir, root};

/// Machine, load and number of runs as lines of Markdown.
pub(super) fn describe(runs: usize) -> String {
    format!(
        "{} Runs: {runs} of short commands, a half or a quarter of that for long ones, all contenders in turns; one run \
         each before that is not counted. A run that takes 10 s is a hang: it is killed, counted and not timed. \
         Neither hangs nor failures are in the times.\n",
        hardware_and_load()
    )
}

/// The part of it that holds for any benchmark.
pub(super) fn hardware_and_load() -> String {
    let first =
        |path: &str| fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().trim().to_owned();
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown CPU", |m| m.trim_start_matches([':', ' ', '\t']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory =
        first("/proc/meminfo").split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) >> 20;
    let load = first("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ");
    format!(
        "Machine: {cores} x {model}, {memory} GB, Linux {}, Debian {}. Load before (1, 5, 15 min): {load}. Commit: {}.{}",
        first("/proc/sys/kernel/osrelease"),
        first("/etc/debian_version"),
        commit().unwrap_or_else(|| "unknown".into()),
        if bin_dir() == dist::programs_dir() { " Programs: those of the packages." } else { "" },
    )
}

/// The commit that is measured, with `+` behind it when files of the checkout differ from it.
fn commit() -> Option<String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").current_dir(root()).args(words).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { "+" };
    Some(git(&["rev-parse", "--short=7", "HEAD"])? + changed)
}
