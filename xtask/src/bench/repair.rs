//! `cargo xtask bench repair`: measures the cost of deaths for a daemon, all at once or one after another.
//!
//! Each case is a process of its own (`crates/router/examples/repair_cost.rs`), so that callgrind counts the
//! instructions of that case alone; a process that prepares the same and repairs nothing is subtracted. It needs no
//! nodes: the tree is arithmetic.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{machine, report};
use crate::args::Args;
use crate::runner::{announce, cargo, step};
use crate::workspace::{target, which};

const DEFAULT_RUNS: usize = 21;
const SIZES: [u32; 3] = [1_000, 10_000, 100_000];
const RADIXES: [u32; 2] = [2, 64];
const DEAD: [u32; 4] = [1, 16, 256, 4_096];
const PATTERNS: [(&str, &str); 2] = [("branch", "one branch"), ("scattered", "scattered")];
const VIEWPOINTS: [(&str, &str); 3] = [
    ("head", "the head"),
    ("ancestor", "an ancestor: the parent of the branch (where it is not the head); rank 1 of the scattered"),
    ("leaf", "an untouched leaf"),
];
const WAYS: [&str; 3] = ["batched", "single", "adopting"];

const LEGEND: &str = "\
A daemon handles all deaths in one repair (*batched*) or each in its own (*single*), and computes after each repair its \
parent, its children and the next hops to 16 daemons. *Adopting* repairs are single ones that return what they have changed, so \
that the list of children is not computed again. *Places* counts the places of the tree that these computations visit by \
definition: each removed rank, each place above until the answer is known, each child, each dead place on the way. Callgrind \
counts the instructions, without preparation.";

const HEADER: &str = "\
| daemons | radix | dead | pattern | places: batched | single | 1,000 instructions: batched | single | adopting | µs, median (p10 - p90): batched | single | adopting |
|---|---|---|---|---|---|---|---|---|---|---|---|";

/// `cargo xtask bench repair [--runs N] [--write]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let write = args.flag("--write");
    args.finish()?;
    let probe = Probe::build(runs.max(1))?;
    let counted =
        if probe.valgrind.is_some() { "" } else { " There is no valgrind here: instructions are not counted." };
    let mut text =
        format!("{} Runs: {runs} of each time, in one process.{counted}\n\n{LEGEND}\n", machine::hardware_and_load());
    for (viewpoint, title) in VIEWPOINTS {
        announce(title);
        text += &format!("\n### {title}\n\n{HEADER}\n");
        for case in Case::all(viewpoint) {
            text.extend(probe.row(&case)?);
        }
    }
    println!("{text}");
    if write { report::write("repair", &text) } else { Ok(()) }
}

struct Case {
    viewpoint: &'static str,
    pattern: (&'static str, &'static str),
    radix: u32,
    size: u32,
    dead: u32,
}

impl Case {
    fn all(viewpoint: &'static str) -> Vec<Case> {
        let mut cases = Vec::new();
        for (size, radix) in SIZES.into_iter().flat_map(|size| RADIXES.map(|radix| (size, radix))) {
            for pattern in PATTERNS {
                let dead = DEAD.into_iter().filter(|dead| *dead < size);
                cases.extend(dead.map(|dead| Case { viewpoint, pattern, radix, size, dead }));
            }
        }
        cases
    }
}

/// The program that does one case, and what counts its instructions.
struct Probe {
    program: PathBuf,
    valgrind: Option<PathBuf>,
    runs: usize,
}

impl Probe {
    fn build(runs: usize) -> Result<Probe> {
        let words = ["build", "--release", "--quiet", "-p", "ferrite-router", "--example", "repair_cost"];
        step("building repair_cost (release)", cargo().args(words))?;
        Ok(Probe { program: target().join("release/examples/repair_cost"), valgrind: which("valgrind"), runs })
    }

    /// A line of the table; `None` when the viewpoint is the head's.
    fn row(&self, case: &Case) -> Result<Option<String>> {
        let Some(mut places) = self.numbers(case, "single", "count")? else { return Ok(None) };
        places.splice(1..1, self.numbers(case, "batched", "count")?.into_iter().flatten().skip(1));
        let [dead, batched, single] = places[..] else { anyhow::bail!("repair_cost printed {places:?}") };
        let (size, radix, pattern) = (grouped(case.size.into()), case.radix, case.pattern.1);
        let mut row = format!(
            "| {size} | {radix} | {} | {pattern} | {} | {} |",
            grouped(dead),
            grouped(batched),
            grouped(single)
        );
        let nothing = self.instructions(case, "nothing")?;
        for way in WAYS {
            let count = self.instructions(case, way)?.zip(nothing).map(|(all, rest)| all.saturating_sub(rest));
            row += &count.map_or(" - |".into(), |count| format!(" {} |", short(count)));
        }
        for way in WAYS {
            let times = self.numbers(case, way, "time")?.context("a viewpoint that came and went")?;
            row += &format!(" {} |", spread(times[1..].to_vec()));
        }
        Ok(Some(row + "\n"))
    }

    /// Returns the program's printed numbers; `None` when it prints none.
    fn numbers(&self, case: &Case, way: &str, what: &str) -> Result<Option<Vec<u64>>> {
        let text = output(Command::new(&self.program).args(words(case, way, what, self.runs)))?;
        let numbers: Vec<u64> = text.0.lines().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Some(numbers).filter(|numbers| !numbers.is_empty()))
    }

    /// All instructions of a process that does it once.
    fn instructions(&self, case: &Case, way: &str) -> Result<Option<u64>> {
        let Some(valgrind) = &self.valgrind else { return Ok(None) };
        let mut command = Command::new(valgrind);
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&self.program);
        let (_, log) = output(command.args(words(case, way, "time", 1)))?;
        let count = log.lines().find_map(|line| line.split_once("Collected : ")).context("callgrind gave no count")?;
        Ok(Some(count.1.trim().parse()?))
    }
}

fn words(case: &Case, way: &str, what: &str, runs: usize) -> Vec<String> {
    let numbers = [case.radix, case.size, case.dead].map(|number| number.to_string());
    let rest = [case.pattern.0, case.viewpoint, way, what, &runs.to_string()].map(str::to_owned);
    numbers.into_iter().chain(rest).collect()
}

/// Standard output and standard error.
pub(super) fn output(command: &mut Command) -> Result<(String, String)> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    let (out, log) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    ensure!(output.status.success(), "{command:?}: {}\n{log}", output.status);
    Ok((out, log))
}

/// Median and spread of nanoseconds, as microseconds.
fn spread(mut times: Vec<u64>) -> String {
    times.sort_unstable();
    let last = times.len() - 1;
    let [median, low, high] = [last / 2, last / 10, last - last / 10].map(|at| short(times[at]));
    format!("{median} ({low} - {high})")
}

/// Formats thousandths, with a decimal for small numbers.
fn short(number: u64) -> String {
    if number < 100_000 { format!("{:.1}", number as f64 / 1e3) } else { grouped((number + 500) / 1_000) }
}

/// `1,234,567`
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([grouped(7), grouped(1_000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
        assert_eq!([short(49), short(99_940), short(1_234_567)], ["0.0", "99.9", "1,235"]);
        assert_eq!(spread((1..=21).rev().map(|n| n * 1_000).collect()), "11.0 (3.0 - 19.0)");
    }
}
