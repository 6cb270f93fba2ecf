//! `cargo xtask test`: everything that is tested, from pure functions to real programs on virtual nodes.
//!
//! It ends with one line that counts all tests, whichever way they ran.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::bench::counts;
use crate::runner::{announce, build_product, cargo};
use crate::setup::{self, Need};
use crate::testbed::permitted;
use crate::{documented, scenarios, sim, soak};

/// `cargo xtask test [--quick]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let quick = args.flag("--quick");
    args.finish()?;
    run(quick)
}

/// Runs everything; an error if anything failed.
pub(crate) fn run(quick: bool) -> Result<()> {
    announce("set-up");
    setup::ensure_installed(Need::Slurm)?;
    let mut count = Count::default();
    let mut failures = Vec::new();
    let mut note = |name: &str, result: Result<()>| {
        if let Err(error) = result {
            println!("{name}: FAILED: {error:#}");
            failures.push(name.to_owned());
        }
    };
    note("unit and integration tests", workspace_tests(&mut count));
    note("documentation tests", documentation_tests(&mut count));
    note("simulation", simulation(quick));
    note("scenarios", scenarios_on_nodes(quick, &mut count));
    note("soak", soak(&mut count));
    note("commands of the documents", documented_commands(&mut count));
    note("counts", counts::check());
    println!("total: {} passed, {} failed", count.passed, count.failed);
    ensure!(failures.is_empty(), "failed: {}", failures.join(", "));
    ensure!(count.passed > 0, "no test ran");
    Ok(())
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Count {
    passed: usize,
    failed: usize,
}

impl Count {
    /// Adds what a summary line of the test harness, or of nextest, says.
    fn add_line(&mut self, line: &str) {
        // An indented line is what a failed test printed; nextest counts that test itself.
        if !line.starts_with("test result:") && !line.contains("tests run:") && !line.contains("test run:") {
            return;
        }
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<usize>() else { continue };
            match pair[1] {
                "passed" => self.passed += number,
                // A test that nextest had to kill has failed too.
                "failed" | "timed" => self.failed += number,
                _ => {}
            }
        }
    }
}

/// True if cargo knows the subcommand.
pub(crate) fn has_subcommand(name: &str) -> bool {
    cargo().args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn workspace_tests(count: &mut Count) -> Result<()> {
    announce("unit and integration tests");
    let mut command = cargo();
    if has_subcommand("nextest") {
        command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail"]);
    } else {
        // Binaries and libraries; the documentation's tests have a step of their own.
        command.args(["test", "--workspace", "--all-targets", "--no-fail-fast", "--quiet"]);
    }
    counted(&mut command, count)
}

fn documentation_tests(count: &mut Count) -> Result<()> {
    announce("documentation tests");
    counted(cargo().args(["test", "--workspace", "--doc", "--no-fail-fast", "--quiet"]), count)
}

/// Runs a test command, shows its output as it comes and counts its summaries.
fn counted(command: &mut Command, count: &mut Count) -> Result<()> {
    // A changed snapshot is a failure, not a new file in the tree.
    command.env("INSTA_UPDATE", "no").env("CARGO_TERM_COLOR", "never");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let shared = Mutex::new(count);
    std::thread::scope(|scope| {
        scope.spawn(|| stdout.map(|s| show(BufReader::new(s), &shared)));
        scope.spawn(|| stderr.map(|s| show(BufReader::new(s), &shared)));
    });
    let status = child.wait()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn show(stream: impl BufRead, count: &Mutex<&mut Count>) {
    // By bytes: a failing test may print anything.
    for line in stream.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        if let Ok(mut count) = count.lock() {
            count.add_line(&line);
        }
    }
}

/// A sweep over seeds of every family on all cores: whole DVMs in one process, with losses, failing starts, changes of
/// size.
fn simulation(quick: bool) -> Result<()> {
    announce("simulation");
    // The least that a push plays, on a slow machine too.
    let (seconds, least) = if quick { ("10", "0") } else { ("120", "12000") };
    let code = sim::main(&["--seconds", seconds, "--at-least", least, "--all"].map(str::to_owned))?;
    ensure!(code == 0, "the simulator ended with {code}");
    Ok(())
}

/// Many jobs through one DVM, of the product that the scenarios have built.
fn soak(count: &mut Count) -> Result<()> {
    announce("soak");
    let result = soak::run(soak::QUICK);
    count.passed += usize::from(result.is_ok());
    count.failed += usize::from(result.is_err());
    result
}

/// The commands that README and the book show, by the product that the scenarios have built.
fn documented_commands(count: &mut Count) -> Result<()> {
    announce("commands of the documents");
    let result = documented::run();
    count.passed += result.as_ref().copied().unwrap_or(0);
    count.failed += usize::from(result.is_err());
    result.map(|_| ())
}

fn scenarios_on_nodes(quick: bool, count: &mut Count) -> Result<()> {
    build_product()?;
    announce("scenarios on virtual nodes");
    if let Err(reason) = permitted() {
        println!("scenarios: skipped: {reason}");
        return Ok(());
    }
    let tally = scenarios::run(&[], quick, 1)?;
    println!("{tally}");
    count.passed += tally.passed;
    count.failed += tally.failed;
    ensure!(tally.is_good(), "not all scenarios passed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[test]
    fn summaries_of_both_runners_are_counted() {
        let mut count = Count::default();
        count.add_line(
            "test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s",
        );
        count.add_line("     Summary [   2.451s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped");
        count.add_line("     Summary [   0.1s] 1 test run: 1 passed, 0 skipped");
        count.add_line("running 5 tests that all passed");
        count.add_line("    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 203 filtered out");
        assert_eq!(count, Count { passed: 16, failed: 3 });
    }
}
