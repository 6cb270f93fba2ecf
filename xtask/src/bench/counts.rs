//! `cargo xtask bench counts`: counts instructions and system calls of single commands. Unlike times they are the same
//! on a busy machine, so that a commit that makes a path longer is seen (`--check`).

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::report;
use crate::args::Args;
use crate::dist;
use crate::runner::{self, announce, build_product};
use crate::setup::{self, Need};
use crate::workspace::{bin_dir, product, root, which};

/// The increase from which on a count is a fault (percent).
const TOLERANCE: u64 = 5;
/// A process that waits on a busy machine looks again, so the least of some runs is taken.
const RUNS: usize = 3;
const LIMIT: Duration = Duration::from_secs(60);

/// The counted commands; those of a running DVM begin with a client's name.
const COMMANDS: [&[&str]; 6] = [
    &["prterun", "--version"],
    &["prterun", "-n", "1", "true"],
    &["prterun", "-n", "64", "--map-by", ":OVERSUBSCRIBE", "true"],
    &["prun", "--version"],
    &["prun", "-n", "1", "true"],
    &["pdvm", "status"],
];

const LEGEND: &str = "\
Release build, `PATH=/usr/bin:/bin`. *Instructions*: those of user code in the process of the command that executes most \
(for `prterun` the head, what it has executed before it became a process of its own included), by callgrind. *System \
calls*: of all processes, `true` included, by strace. A machine with more processors needs more of both for `prterun`, \
which reads their topology. The DVM and its clients have a `TMPDIR` of their own, so that what lies in `/tmp` does not \
count. Each figure is the least of three runs.";

/// The beginning of the line about the machine of the table.
const MACHINE: &str = "Counted on: ";

const HEADER: &str = "| command | 1,000 instructions | system calls |\n|---|--:|--:|\n";

/// `cargo xtask bench counts [--write | --check] [--no-build]`
///
/// `--check` compares with the table in `docs/benchmarks.md`, on a machine like the one that the table was made on.
pub(crate) fn main(mut args: Args) -> Result<()> {
    let (write, check, no_build) = (args.flag("--write"), args.flag("--check"), args.flag("--no-build"));
    args.finish()?;
    // CI compares the build that it has, which is cargo's.
    let is_packaged = bin_dir() == dist::programs_dir();
    ensure!(
        !(is_packaged && (write || check)),
        "--packaged: the stored counts are those of cargo's build; leave it out"
    );
    setup::ensure_installed(Need::Counts)?;
    if !no_build {
        build_product()?;
    }
    if check {
        ensure!(!write, "--check and --write: one of them");
        return self::check();
    }
    announce("counts");
    let counts = show_all()?;
    if write { report::write("counts", &section(&counts)?) } else { Ok(()) }
}

fn section(counts: &[Count]) -> Result<String> {
    Ok(format!("{LEGEND}\n\n{MACHINE}{}.\n\n{HEADER}{}", machine()?, rows(counts)))
}

fn rows(counts: &[Count]) -> String {
    counts.iter().map(Count::row).collect()
}

/// Counts the built product and compares with the table; on a machine unlike the table's it only says so.
pub(crate) fn check() -> Result<()> {
    announce("counts of instructions and system calls");
    let page = page()?;
    if let Some(reason) = unlike(&page, &machine()?) {
        println!("counts: not compared: {reason}");
        return Ok(());
    }
    compare(&show_all()?, &page)
}

/// The versions on which the counts depend, beside the product and the pinned compiler.
fn machine() -> Result<String> {
    let processors = thread::available_parallelism()?;
    let release = fs::read_to_string("/etc/debian_version").unwrap_or_default();
    // Point releases change no library that is counted.
    let release = release.trim().split('.').next().unwrap_or_default().to_owned();
    Ok(format!("{processors} processors, {ARCH}, Debian {release}"))
}

/// Returns why counts of this machine cannot be compared with the page.
fn unlike(page: &str, here: &str) -> Option<String> {
    let stored = page.lines().find_map(|line| line.strip_prefix(MACHINE)?.strip_suffix('.'));
    let stored = stored.unwrap_or("an unknown machine");
    (stored != here).then(|| format!("the table in docs/benchmarks.md is of {stored}; this machine has {here}"))
}

fn page() -> Result<String> {
    fs::read_to_string(root().join("docs/benchmarks.md")).context("cannot read docs/benchmarks.md")
}

fn show_all() -> Result<Vec<Count>> {
    let counts = count_all(&Tools { valgrind: tool("valgrind")?, strace: tool("strace")? })?;
    println!("{HEADER}{}", rows(&counts));
    Ok(counts)
}

fn tool(name: &str) -> Result<PathBuf> {
    which(name).with_context(|| format!("{name} is not installed: apt-get install {name}"))
}

struct Tools {
    valgrind: PathBuf,
    strace: PathBuf,
}

struct Count {
    command: String,
    kilo_instructions: u64,
    calls: u64,
}

impl Count {
    fn row(&self) -> String {
        format!("| `{}` | {} | {} |\n", self.command, self.kilo_instructions, self.calls)
    }
}

fn count_all(tools: &Tools) -> Result<Vec<Count>> {
    // Clients find the DVM of this directory only.
    let dir = tempfile::tempdir()?;
    let dvm = runner::run(&mut ours(dir.path(), &["prte", "--daemonize"], None), LIMIT)?;
    ensure!(dvm.is_success(), "no DVM: {}", dvm.tail());
    let counts = COMMANDS.iter().map(|words| tools.least(dir.path(), words)).collect();
    let end = runner::run(&mut ours(dir.path(), &["pterm"], None), LIMIT)?;
    ensure!(end.is_success(), "the DVM does not end: {}", end.tail());
    counts
}

/// Returns a command of ours, run by a tool or directly, in surroundings that are the same everywhere.
fn ours(dir: &Path, words: &[&str], by: Option<Command>) -> Command {
    let program = product(words[0]);
    let mut command = match by {
        Some(mut tool) => {
            tool.arg(program);
            tool
        }
        None => Command::new(program),
    };
    command.args(&words[1..]).env_clear().env("PATH", "/usr/bin:/bin").env("TMPDIR", dir).current_dir("/");
    command.envs(crate::soak::AS_ROOT);
    command
}

impl Tools {
    fn least(&self, dir: &Path, words: &[&str]) -> Result<Count> {
        let mut least: Option<Count> = None;
        for _ in 0..RUNS {
            let Some(count) = self.count(dir, words)? else {
                println!("{words:?}: a run without an end within {LIMIT:?} is not counted");
                continue;
            };
            least = Some(match least {
                None => count,
                Some(Count { command, kilo_instructions, calls }) => Count {
                    command,
                    kilo_instructions: kilo_instructions.min(count.kilo_instructions),
                    calls: calls.min(count.calls),
                },
            });
        }
        least.with_context(|| format!("{words:?}: no run ends within {LIMIT:?}"))
    }

    /// `None`: the machine stood still (docs/benchmarks.md, "Launch"), or the command hangs.
    fn count(&self, dir: &Path, words: &[&str]) -> Result<Option<Count>> {
        let run = |tool: Command| -> Result<bool> {
            let outcome = runner::run(&mut ours(dir, words, Some(tool)), LIMIT)?;
            ensure!(outcome.status.is_none() || outcome.is_success(), "{words:?} fails: {}", outcome.tail());
            Ok(outcome.is_success())
        };
        let results = tempfile::tempdir()?;
        let mut callgrind = Command::new(&self.valgrind);
        callgrind.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}/%p", results.path().display()));
        if !run(callgrind)? {
            return Ok(None);
        }
        let mut most = 0;
        for file in fs::read_dir(results.path())? {
            most = most.max(total(&fs::read_to_string(file?.path())?).unwrap_or(0));
        }
        ensure!(most > 0, "callgrind has counted nothing of {words:?}");
        let summary = results.path().join("calls");
        let mut strace = Command::new(&self.strace);
        strace.args(["-f", "-c", "-o"]).arg(&summary);
        if !run(strace)? {
            return Ok(None);
        }
        let calls = calls(&fs::read_to_string(&summary)?).context("strace's summary has no total")?;
        Ok(Some(Count { command: words.join(" "), kilo_instructions: most / 1_000, calls }))
    }
}

/// Reads the line `totals: 3463329` of callgrind.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

/// Reads the calls in strace's last line, `100.00    0.015582          20       751        44 total`.
fn calls(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.ends_with(" total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// Compares with the rows of the page.
fn compare(counts: &[Count], page: &str) -> Result<()> {
    let mut more = String::new();
    for count in counts {
        let Some((instructions, calls)) = stored(page, &count.command) else {
            bail!("docs/benchmarks.md has no row for '{}': --write makes it", count.command);
        };
        for (what, now, before) in
            [("1,000 instructions", count.kilo_instructions, instructions), ("system calls", count.calls, calls)]
        {
            if now * 100 > before * (100 + TOLERANCE) {
                more += &format!("\n  {}: {now} {what}, {before} before", count.command);
            }
        }
    }
    ensure!(more.is_empty(), "more than {TOLERANCE} % above the figures in docs/benchmarks.md:{more}");
    Ok(())
}

fn stored(page: &str, command: &str) -> Option<(u64, u64)> {
    // Other tables of the page have rows of the same commands.
    let (_, table) = page.split_once("<!-- counts: begin -->")?;
    let rest = table.lines().find_map(|line| line.strip_prefix(&format!("| `{command}` | ")))?;
    let mut numbers = rest.split('|').map(|cell| cell.trim().parse::<u64>());
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_summaries_are_read() {
        assert_eq!(total("events: Ir\ntotals: 3463329\n"), Some(3_463_329));
        assert_eq!(calls("% time\n100.00    0.015582          20       751        44 total\n"), Some(751));
        assert_eq!(calls("100.00    0.015582          20       751           total\n"), Some(751), "no errors");
    }

    #[test]
    fn a_table_of_another_machine_is_not_compared() {
        let page = "Counted on: 2 processors, x86_64, Debian 12.\n";
        assert_eq!(unlike(page, "2 processors, x86_64, Debian 12"), None);
        let reason = unlike(page, "64 processors, x86_64, Debian 12").unwrap();
        assert!(reason.contains("of 2 processors") && reason.contains("has 64 processors"), "{reason}");
        assert!(unlike("no table", "2 processors, x86_64, Debian 12").is_some());
    }

    #[test]
    fn an_increase_beyond_the_tolerance_is_a_fault_and_names_the_command() {
        let page =
            "| `prun -n 1 true` | 7.2 (5.5 - 10.3) |\n<!-- counts: begin -->\n| `prun -n 1 true` | 1000 | 200 |\n";
        let count =
            |kilo_instructions, calls| [Count { command: "prun -n 1 true".to_owned(), kilo_instructions, calls }];
        assert!(compare(&count(1_050, 210), page).is_ok());
        assert!(compare(&count(500, 100), page).is_ok());
        for (more, what) in [(count(1_051, 200), "instructions"), (count(1_000, 211), "system calls")] {
            let told = compare(&more, page).unwrap_err().to_string();
            assert!(told.contains("prun -n 1 true") && told.contains(what), "{told}");
        }
        assert!(compare(&count(1, 1), "").is_err(), "a command without a row");
    }
}
