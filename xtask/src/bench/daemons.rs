//! `cargo xtask bench daemons`: a DVM of a thousand real daemons on this machine (`plm local`): its start, a job,
//! changes of its size, its memory and its end. The processors of one machine do the work of all nodes, so that the
//! times are those of the sum of the work, and not of the longest way through the tree.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::campaign::memory_of_a_daemon;
use super::sample::Times;
use super::{machine, report};
use crate::args::Args;
use crate::runner::{build_product, wait};
use crate::soak::Soak;

const NODES: usize = 1_000;
/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// `cargo xtask bench daemons [--nodes N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let nodes: usize = args.parsed("--nodes")?.unwrap_or(NODES);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    ensure!((4..=4_000).contains(&nodes), "--nodes: between 4 and 4,000");
    if !no_build {
        build_product()?;
    }
    let mut text = format!(
        "{} Daemons: {nodes}, the head included, all on this machine (`plm local`), one slot each.\n",
        machine::hardware_and_load()
    );
    println!("{text}");
    let table = measured(nodes)?;
    println!("{table}");
    text += &table;
    if write { report::write("daemons", &text) } else { Ok(()) }
}

fn measured(nodes: usize) -> Result<String> {
    let names: Vec<String> = (0..nodes).map(|node| format!("n{node}")).collect();
    let began = Instant::now();
    let dvm = Soak::start_with(&[
        "--prtemca",
        "plm",
        "local",
        "--prtemca",
        "prte_elastic_mode",
        "1",
        "--host",
        &names.iter().map(|name| format!("{name}:1")).collect::<Vec<_>>().join(","),
    ])?;
    let start = began.elapsed();
    let (head, daemon) = (dvm.measure()?, memory_of_a_daemon()?);
    let call = |name: &str, words: &[&str]| -> Result<Duration> {
        let began = Instant::now();
        let child = dvm.tool(name).args(words).stdout(Stdio::null()).spawn()?;
        let status = wait(&mut { child }, LIMIT)?.with_context(|| format!("{name} {words:?} hangs"))?;
        ensure!(status.success(), "{name} {words:?}: {status}");
        Ok(began.elapsed())
    };
    let times = |count: usize, name: &str, words: &[&str]| -> Result<String> {
        let mut times = Times::default();
        for _ in 0..count {
            times.good(call(name, words)?);
        }
        Ok(times.short())
    };
    let all = nodes.to_string();
    let (half, odd) = (names[nodes / 2..].join(","), every_second(&names).join(","));
    let change = |verb: &str, hosts: &str| times(1, "pdvm", &[verb, "--wait", "--host", hosts]);
    let mut rows = vec![
        ("`prte --daemonize`".to_owned(), format!("{:.0}", start.as_secs_f64() * 1e3)),
        ("`prun -n 1 true`, 20 times".to_owned(), times(20, "prun", &["-n", "1", "true"])?),
        (format!("`prun -n {all} true`, one on each, 5 times"), times(5, "prun", &["-n", &all, "true"])?),
        ("`pdvm shrink --wait` by the second half".to_owned(), change("shrink", &half)?),
        ("`pdvm grow --wait` by it".to_owned(), change("grow", &half)?),
        ("`pdvm shrink --wait` by every second".to_owned(), change("shrink", &odd)?),
        ("`pdvm grow --wait` by them".to_owned(), change("grow", &odd)?),
        (format!("`prun -n {all} true` after that, 5 times"), times(5, "prun", &["-n", &all, "true"])?),
    ];
    let after = dvm.measure()?;
    let began = Instant::now();
    dvm.stop()?;
    rows.push(("`pterm`".to_owned(), format!("{:.0}", began.elapsed().as_secs_f64() * 1e3)));
    let mut table = String::from("\n### times\n\n| | ms (p10 - p90) |\n|---|---|\n");
    rows.iter().for_each(|(what, time)| table += &format!("| {what} | {time} |\n"));
    table += &format!(
        "\n### memory\n\n| | MB |\n|---|---|\n| head, resident, at the start | {:.1} |\n| head after the changes | {:.1} |\n\
         | a daemon with its guard, proportional share (PSS) | {daemon:.2} |\n",
        head.megabytes(),
        after.megabytes(),
    );
    Ok(table)
}

/// Every second node, without the head's.
fn every_second(names: &[String]) -> Vec<String> {
    names.iter().skip(1).step_by(2).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_node_is_never_the_heads() {
        let names: Vec<String> = (0..5).map(|node| format!("n{node}")).collect();
        assert_eq!(every_second(&names), ["n1", "n3"]);
    }
}
