//! `cargo xtask bench map`: measures placement alone, and the command that shows a map without a launch.
//!
//! The first table is `crates/map/examples/map_cost.rs`, which calls the placement of the head in a loop. For the
//! second the whole command maps made-up nodes, and so does the reference where there is one (`--peer-root DIR`: a
//! Debian with `libprrte-bin`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{machine, report};
use crate::args::Args;
use crate::runner::{announce, build_product, cargo, step, wait};
use crate::soak::AS_ROOT;
use crate::workspace::{product, root, target};

const DEFAULT_RUNS: usize = 5;
/// Slots of each made-up node: the cores of the machine in `TOPOLOGY`.
const CORES: u32 = 8;
const TOPOLOGY: &str = "crates/map/tests/topologies/two-packages.xml";
const NODES: [u32; 4] = [10, 100, 1_000, 10_000];
/// The most nodes for the reference: its time grows with the square.
const PEER_NODES: u32 = 1_000;
const LIMIT: Duration = Duration::from_secs(120);

const LEGEND: &str = "\
Placement by itself: nodes of 100 cores in two packages, one process, then a process for each core. Milliseconds, median \
(p10 - p90).";

const COMMAND: &str = "\
`prterun --runtime-options donotlaunch --map-by core -n ALL true` with made-up nodes of 8 cores: the whole command, from its start to its \
end, nothing displayed. Milliseconds, median (smallest - largest).";

/// `cargo xtask bench map [--runs N] [--peer-root DIR] [--write] [--no-build]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS).max(1);
    let peer: Option<PathBuf> = args.parsed("--peer-root")?;
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    if !no_build {
        build_product()?;
    }
    let words = ["build", "--release", "--quiet", "-p", "ferrite-map", "--example", "map_cost"];
    step("building map_cost (release)", cargo().args(words))?;
    announce("placement by itself");
    let mut text = format!("{} Runs: {runs}.\n\n{LEGEND}\n\n", machine::hardware_and_load());
    text += "| policy | nodes | processes | ms | ns per process |\n|---|---|---|---|---|\n";
    let output = Command::new(target().join("release/examples/map_cost")).arg(runs.to_string()).output()?;
    ensure!(output.status.success(), "map_cost: {}", output.status);
    text += &String::from_utf8(output.stdout)?;
    announce("the command");
    text += &commands(runs, peer.as_deref())?;
    println!("{text}");
    if write { report::write("map", &text) } else { Ok(()) }
}

fn commands(runs: usize, peer: Option<&Path>) -> Result<String> {
    let mut text = format!("\n{COMMAND}\n\n| nodes | processes | prterun | PRRTE |\n|---|---|---|---|\n");
    for nodes in NODES {
        let ours = times(runs, || ours(nodes))?;
        let theirs = match peer.filter(|_| nodes <= PEER_NODES) {
            Some(root) => times(runs, || theirs(root, nodes))?,
            None => "-".to_owned(),
        };
        text += &format!("| {nodes} | {} | {ours} | {theirs} |\n", nodes * CORES);
    }
    Ok(text)
}

fn ours(nodes: u32) -> Result<Command> {
    let mut command = Command::new(product("prterun"));
    command.args(words(&root().join(TOPOLOGY), nodes));
    Ok(command)
}

/// Returns the reference's command in its own mount namespace, which unmounts `/proc` and `/dev` at its end.
fn theirs(peer: &Path, nodes: u32) -> Result<Command> {
    let inside = "tmp/ferrite-bench-map.xml";
    std::fs::copy(root().join(TOPOLOGY), peer.join(inside)).with_context(|| format!("{}", peer.display()))?;
    let enter = r#"mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" prterun "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", enter]).arg(peer);
    command.args(words(&Path::new("/").join(inside), nodes));
    Ok(command)
}

fn words(topology: &Path, nodes: u32) -> Vec<String> {
    let (slots, all) = (CORES.to_string(), (nodes * CORES).to_string());
    let param = |name: &str, value: &str| ["--prtemca".to_owned(), name.to_owned(), value.to_owned()];
    let mut words = Vec::new();
    words.extend(param("hwloc_use_topo_file", &topology.display().to_string()));
    words.extend(param("ras_simulator_num_nodes", &nodes.to_string()));
    words.extend(param("ras_simulator_slots", &slots));
    words.extend(param("ras_simulator_max_slots", &slots));
    words.extend(["--runtime-options", "donotlaunch", "--map-by", "core", "-n", &all, "true"].map(str::to_owned));
    words
}

fn times(runs: usize, command: impl Fn() -> Result<Command>) -> Result<String> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let mut command = command()?;
        command.envs(AS_ROOT).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let status = wait(&mut child, LIMIT)?.with_context(|| format!("{command:?} hangs"))?;
        ensure!(status.success(), "{command:?}: {status}");
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(format!("{:.0} ({:.0} - {:.0})", times[times.len() / 2], times[0], times[times.len() - 1]))
}
