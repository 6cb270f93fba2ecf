//! `cargo xtask bench preload`: the way of one file to all nodes of a DVM, beside `scp` in a tree and plain copies.
//!
//! The outer half makes the bed and the report; the inner half (`xtask _bench_preload`) measures on node n0. All nodes
//! are on this machine and write to its disk: the floor is the time of so many copies by `cp`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::elastic::{HEADS, command, record, timed_within};
use super::sample::Times;
use super::{machine, report};
use crate::args::Args;
use crate::runner::build_product;
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};

const DEFAULT_NODES: usize = 32;
const DEFAULT_MIB: usize = 1_024;
const DEFAULT_RUNS: usize = 3;
/// A transfer that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// Gives the file to the nodes LOW to HIGH, of which LOW has it: a half of the rest by way of the node in the middle,
/// and so on. Words: DIR LOW HIGH.
const SCP_TREE: &str = r#"
dir=$1 low=$2 high=$3
while [ $((high - low)) -gt 1 ]; do
    middle=$(((low + high + 1) / 2))
    scp -q "$dir/n$low" "n$middle:$dir/n$middle" || exit 1
    ssh "n$middle" sh "$dir/tree.sh" "$dir" "$middle" "$high" &
    high=$middle
done
for child in $(jobs -p); do wait "$child" || exit 1; done
"#;

/// `cargo xtask bench preload [--nodes N] [--mib N] [--runs N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let nodes: usize = args.parsed("--nodes")?.unwrap_or(DEFAULT_NODES);
    let mib: usize = args.parsed("--mib")?.unwrap_or(DEFAULT_MIB);
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    let bed = Bed::own("bench", nodes, Kind::Plain)?;
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let mut text = format!(
        "{} Runs: {runs} of each. A file of {mib} MiB goes to {nodes} virtual nodes, which share this machine's processors and \
         disk. *scp in a tree*: a node that has the file gives it to another one, and both go on, each for a half of the \
         rest.\n\n{HEADS}\n",
        machine::hardware_and_load()
    );
    print!("{text}");
    let words = [nodes, mib, runs].map(|number| number.to_string());
    report::follow(bed.command(0, &own)?.arg("_bench_preload").args(words), &mut text)?;
    bed.down()?;
    if write { report::write("preload", &text) } else { Ok(()) }
}

/// `xtask _bench_preload NODES MIB RUNS`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [nodes, mib, runs] = words else { anyhow::bail!("usage: _bench_preload NODES MIB RUNS") };
    let (nodes, mib, runs): (usize, usize, usize) = (nodes.parse()?, mib.parse()?, runs.parse()?);
    let dir = std::env::current_exe()?.parent().context("it is in a directory")?.join("preload");
    fs::create_dir_all(dir.join("sessions"))?;
    fs::write(dir.join("tree.sh"), SCP_TREE)?;
    let file = dir.join("file");
    fill(&file, mib)?;
    let hosts = (0..nodes).map(|node| format!("n{node}")).collect::<Vec<_>>().join(",");
    let base = dir.join("sessions").display().to_string();
    let prte = ["--daemonize", "--host", &hosts, "--prtemca", "prte_tmpdir_base", &base];
    ensure!(timed(&mut command("prte", &prte))?.is_some(), "prte does not start");
    let processes = nodes.to_string();
    let job = ["--map-by", "ppr:1:node", "-n", &processes];
    let path = file.display().to_string();
    let (mut bare, mut moved, mut scp, mut copies): (Times, Times, Times, Times) = Default::default();
    for _ in 0..runs {
        record(&mut bare, timed(command("prun", &job).env("TMPDIR", &base).arg("true"))?);
        let size = format!("[ $(stat -L -c %s file) = $(({mib} << 20)) ]");
        let files = ["--preload-files", &path, "sh", "-c", &size];
        record(&mut moved, timed(command("prun", &job).env("TMPDIR", &base).args(files))?);
        record(&mut scp, by_scp(&dir, &file, nodes)?);
        record(&mut copies, by_copies(&dir, &file, nodes)?);
    }
    ensure!(timed(command("pterm", &[]).env("TMPDIR", &base))?.is_some(), "pterm fails");
    for (row, times) in [
        ("floor: copies by `cp`, two at a time", &mut copies),
        ("`scp` in a tree", &mut scp),
        ("`prun --preload-files`", &mut moved),
        ("the same job without the file", &mut bare),
    ] {
        println!("| {row} | {} |", times.long());
    }
    Ok(fs::remove_dir_all(&dir)?)
}

/// Makes a file of bytes that nothing compresses.
fn fill(file: &Path, mib: usize) -> Result<()> {
    let mut state = 0x5eed_u64;
    let mut block = Vec::with_capacity(1 << 20);
    while block.len() < 1 << 20 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        block.extend((state >> 16).to_le_bytes());
    }
    let mut file = File::create(file)?;
    (0..mib).try_for_each(|_| file.write_all(&block))?;
    Ok(file.sync_all()?)
}

fn place_of(dir: &Path, node: usize) -> PathBuf {
    dir.join(format!("n{node}"))
}

fn by_scp(dir: &Path, file: &Path, nodes: usize) -> Result<Option<Duration>> {
    fs::copy(file, place_of(dir, 0))?;
    let tree = dir.join("tree.sh").display().to_string();
    let outcome = timed(Command::new("sh").arg(&tree).arg(dir).args(["0", &nodes.to_string()]))?;
    removed(dir, nodes)?;
    Ok(outcome)
}

fn by_copies(dir: &Path, file: &Path, nodes: usize) -> Result<Option<Duration>> {
    let script = r#"seq 0 $(($2 - 1)) | xargs -P 2 -I '{}' cp "$0" "$1/n{}""#;
    let outcome = timed(Command::new("sh").args(["-c", script]).arg(file).arg(dir).arg(nodes.to_string()))?;
    removed(dir, nodes)?;
    Ok(outcome)
}

/// Removes the copies, each of which has to be there.
fn removed(dir: &Path, nodes: usize) -> Result<()> {
    (0..nodes)
        .map(|node| place_of(dir, node))
        .try_for_each(|path| fs::remove_file(&path).with_context(|| format!("{} has not come", path.display())))?;
    // The next contender does not pay for writes of this one.
    rustix::fs::sync();
    Ok(())
}

/// Returns the duration; `None` when the command failed or hung.
fn timed(command: &mut Command) -> Result<Option<Duration>> {
    timed_within(command, LIMIT)
}
