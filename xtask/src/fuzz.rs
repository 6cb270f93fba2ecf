//! `cargo xtask fuzz`: builds all fuzz targets with the compiler of the house and runs each for a while, as many at a
//! time as there are processors. `cargo fuzz` needs a nightly compiler for the address sanitizer. The parsers are safe
//! code; libFuzzer sees panics, hangs and growing memory without it.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::runner::{announce, cargo, step};
use crate::workspace;

/// Each target in CI; by hand it is [`SECONDS`].
pub(crate) const SECONDS_IN_CI: u64 = 8;
const SECONDS: u64 = 20;
/// The time that a target may take for its last input (libFuzzer's own limit for an input is shorter).
const GRACE: Duration = Duration::from_secs(60);

/// Compiler flags: counters of edges and comparisons for libFuzzer, and the checks of a debug build.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "--cfg=fuzzing",
];

/// `cargo xtask fuzz [TARGET...] [--seconds N] [--keep]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let seconds = args.parsed("--seconds")?.unwrap_or(SECONDS);
    let keep = args.flag("--keep");
    let mut chosen = Vec::new();
    while let Some(target) = args.optional()? {
        chosen.push(target);
    }
    args.finish()?;
    let all = targets()?;
    for target in &chosen {
        ensure!(all.contains(target), "there is no target '{target}': {}", all.join(", "));
    }
    let chosen = if chosen.is_empty() { all } else { chosen };
    run(&chosen, seconds)?;
    if keep { chosen.iter().try_for_each(|target| keep_new(target)) } else { Ok(()) }
}

/// All targets, each for so many seconds.
pub(crate) fn run_all(seconds: u64) -> Result<()> {
    run(&targets()?, seconds)
}

fn run(targets: &[String], seconds: u64) -> Result<()> {
    build()?;
    announce(&format!("fuzz targets: {}, {seconds} s each", targets.len()));
    let queue = Mutex::new(targets.iter().collect::<VecDeque<_>>());
    let failures = Mutex::new(Vec::new());
    let next = || queue.lock().ok()?.pop_front();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = next() {
                    let result = run_one(target, seconds);
                    if let (Err(error), Ok(mut failures)) = (result, failures.lock()) {
                        failures.push(format!("{target}: {error:#}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

fn run_one(target: &str, seconds: u64) -> Result<()> {
    let (seeds, found, faults) = (seeds(target), corpus(target), fuzz().join("artifacts").join(target));
    for directory in [&seeds, &found, &faults] {
        fs::create_dir_all(directory)?;
    }
    let mut command = Command::new(binary(target)?);
    command.arg(format!("-max_total_time={seconds}")).args(["-timeout=10", "-rss_limit_mb=1024", "-verbosity=0"]);
    command.arg(format!("-artifact_prefix={}/", faults.display())).args([&found, &seeds]);
    let start = Instant::now();
    let outcome = crate::runner::run(&mut command, Duration::from_secs(seconds) + GRACE)?;
    ensure!(
        outcome.is_success(),
        "a fault was found; the input is in {}: make it a test of the crate\n    {}",
        faults.display(),
        outcome.tail()
    );
    let count = fs::read_dir(&found)?.count() + fs::read_dir(&seeds)?.count();
    println!("pass {:6.2} s  fuzz {target} ({count} inputs)", start.elapsed().as_secs_f64());
    Ok(())
}

/// Keeps the inputs that reached code which no kept input reaches.
fn keep_new(target: &str) -> Result<()> {
    let mut command = Command::new(binary(target)?);
    command.arg("-merge=1").args([seeds(target), corpus(target)]).stdout(Stdio::null()).stderr(Stdio::null());
    step(&format!("keeping what is new of {target}"), &mut command).map(|_| ())
}

fn build() -> Result<()> {
    let mut command = cargo();
    // With `--target`, build scripts are built without counters.
    command.args(["build", "--locked", "--release", "--quiet", "--bins", "--target", &host()?]).current_dir(fuzz());
    command.env("RUSTFLAGS", FLAGS.join(" "));
    step("building the fuzz targets", &mut command).map(|_| ())
}

/// Returns the names of the target files; an error for one that the manifest lacks, because it would never be built.
fn targets() -> Result<Vec<String>> {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml"))?;
    let mut names = Vec::new();
    for entry in fs::read_dir(fuzz().join("targets"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).context("a target whose name is no text")?;
        ensure!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "fuzz/Cargo.toml does not name {name}");
        names.push(name.to_owned());
    }
    names.sort();
    Ok(names)
}

fn fuzz() -> PathBuf {
    workspace::root().join("fuzz")
}

fn seeds(target: &str) -> PathBuf {
    fuzz().join("seeds").join(target)
}

fn corpus(target: &str) -> PathBuf {
    fuzz().join("corpus").join(target)
}

fn binary(target: &str) -> Result<PathBuf> {
    let path = fuzz().join("target").join(host()?).join("release").join(target);
    ensure!(workspace::is_executable(&path), "{} was not built", path.display());
    Ok(path)
}

/// Returns the compiler's name for this machine.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").current_dir(workspace::root()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    Ok(host.to_owned())
}
