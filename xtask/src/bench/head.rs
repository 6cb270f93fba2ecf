//! `cargo xtask bench head`: what the head computes for a request, in DVMs of different sizes: its time, and its
//! instructions. What a request does not concern should not cost.
//!
//! `sim scale head` plays the DVM and prints the times. In it the head works on each kind of request in a function of
//! its own (`counted` in `crates/sim/src/head_work.rs`), so that callgrind can count the instructions below each.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::repair::{grouped, output};
use super::{machine, report};
use crate::args::Args;
use crate::runner::{announce, cargo, step};
use crate::setup::{self, Need};
use crate::workspace::target;

const SIZES: [u32; 3] = [100, 1_000, 10_000];

/// The functions of the kinds of requests, in the order of the rows that `sim` prints.
const KINDS: [&str; 8] =
    ["job", "status", "change", "second", "history", "job_after_history", "job_on_a_named_node", "job_in_a_full_dvm"];
/// The module of these functions.
const MODULE: &str = "head_work::counted::";

const LEGEND: &str = "\
Played by the simulator, radix 64. *Requests*: how many of a kind were measured; all figures are means for one. \
*Instructions*: those of the head alone, by callgrind. A job has its launch, its reports and its end.";

/// `cargo xtask bench head [--max N] [--write]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let most: u32 = args.parsed("--max")?.unwrap_or(SIZES[2]);
    let write = args.flag("--write");
    args.finish()?;
    ensure!((SIZES[0]..=SIZES[2]).contains(&most), "--max: between {} and {} daemons", SIZES[0], SIZES[2]);
    setup::ensure_installed(Need::Counts)?;
    step("building sim (release)", cargo().args(["build", "--release", "--quiet", "-p", "ferrite-sim"]))?;
    let sim = target().join("release/sim");
    announce("times");
    let times = table(&output(Command::new(&sim).args(words(1, most)))?.0);
    let mut counts = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        announce(&format!("instructions with {size} daemons (ten minutes for 10,000)"));
        counts.push(count(&sim, size)?);
    }
    let text = format!(
        "{}\n\n{LEGEND}\n\n### time\n\n{}\n### instructions\n\n{}",
        machine::hardware_and_load(),
        times.concat(),
        counted(&times, &counts)?
    );
    println!("{text}");
    if write { report::write("head", &text) } else { Ok(()) }
}

fn words(least: u32, most: u32) -> [String; 6] {
    ["scale", "--min", &least.to_string(), "--max", &most.to_string(), "head"].map(str::to_owned)
}

/// Counts the instructions of each kind of request in a DVM of this size.
fn count(sim: &Path, size: u32) -> Result<BTreeMap<String, u64>> {
    let results = tempfile::tempdir()?;
    let file = results.path().join("counts");
    let mut callgrind = Command::new("valgrind");
    callgrind.args(["--tool=callgrind", &format!("--toggle-collect=*{MODULE}*")]);
    callgrind.arg(format!("--callgrind-out-file={}", file.display())).arg(sim).args(words(size, size));
    output(&mut callgrind)?;
    let mut annotate = Command::new("callgrind_annotate");
    let (listed, _) = output(annotate.args(["--inclusive=yes", "--threshold=100"]).arg(&file))?;
    Ok(inclusive(&listed))
}

/// Reads lines such as `1,234 (56.7%)  ???:ferrite_sim::head_work::counted::status [/x/sim]`.
fn inclusive(listed: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (count, rest) = line.trim().split_once(' ')?;
        let (_, name) = rest.split_once(MODULE)?;
        let kind = name.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next()?;
        Some((kind.to_owned(), count.replace(',', "").parse().ok()?))
    };
    listed.lines().filter_map(line).collect()
}

/// The lines of the table in the output of `sim`.
fn table(output: &str) -> Vec<String> {
    output.lines().filter(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect()
}

/// The table of times with thousands of instructions in place of times; `counts` has a map for each size.
fn counted(times: &[String], counts: &[BTreeMap<String, u64>]) -> Result<String> {
    let [heads, line, rows @ ..] = times else { bail!("sim has printed no table") };
    ensure!(rows.len() == KINDS.len(), "sim has printed {} rows, for {} kinds of requests", rows.len(), KINDS.len());
    let mut text = heads.replace("time (us)", "1,000 instructions") + line;
    for (row, kind) in rows.iter().zip(KINDS) {
        let mut cells = row.trim().trim_matches('|').split('|').map(str::trim);
        let (what, requests) = cells.next().zip(cells.next()).with_context(|| format!("a short row: {row}"))?;
        let number: u64 = requests.parse().with_context(|| format!("no number of requests: {row}"))?;
        text += &format!("| {what} | {requests} |");
        for counts in counts {
            let count = counts.get(kind).with_context(|| format!("callgrind has not seen '{kind}'"))?;
            text += &format!(" {} |", grouped((count / number.max(1) + 500) / 1_000));
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrind_lists_each_kind() {
        let listed = "\
70,000 (100.0%)  PROGRAM TOTALS
45,678 (65.25%)  ???:ferrite_sim::head_work::counted::job_after_history [/x/release/sim]
 1,234 ( 1.76%)  ???:ferrite_sim::head_work::counted::job'2 [/x/release/sim]
   900 ( 1.28%)  ???:ferrite_core::node::Node::handle [/x/release/sim]
";
        let wanted = [("job".to_owned(), 1_234), ("job_after_history".to_owned(), 45_678)];
        assert_eq!(inclusive(listed), BTreeMap::from(wanted));
    }

    #[test]
    fn each_count_stands_in_the_row_of_its_kind() {
        let rows = KINDS.map(|kind| format!("| a {kind} | 10 | 3.7 | 11.8 |\n"));
        let heads = ["| the head's time (us) for | requests | 100 daemons | 1000 daemons |\n", "|---|--:|--:|--:|\n"];
        let times: Vec<String> = heads.map(str::to_owned).into_iter().chain(rows).collect();
        let of_size =
            |factor: u64| KINDS.iter().zip(1..).map(|(kind, nth)| ((*kind).to_owned(), nth * factor)).collect();
        let text = counted(&times, &[of_size(10_000), of_size(12_345_000)]).expect("all are there");
        assert!(text.starts_with("| the head's 1,000 instructions for | requests |"), "{text}");
        assert!(text.contains("| a status | 10 | 2 | 2,469 |\n"), "{text}");
        assert!(counted(&times, &[BTreeMap::new()]).is_err(), "nothing was counted");
        assert!(counted(&times[..4], &[of_size(1)]).is_err(), "rows are missing");
    }
}
