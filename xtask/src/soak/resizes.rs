//! `cargo xtask soak --resizes N`: changes the size of one MPI job so many times, and looks at what its DVM of ten
//! nodes keeps of that. The job checks its own result, which is that of a job that never changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{LIMIT, LOOK_AGAIN, SLACK_BYTES, Soak, collect};
use crate::programs::{Mpi, python, source};
use crate::runner::wait;
use crate::workspace::root;

/// The virtual nodes, each with two slots.
const NODES: usize = 10;
/// The largest size of the job.
const MOST: u32 = 8;
/// The size at which the DVM is looked at.
const USUAL: u32 = 2;
/// Changes between two looks.
const BETWEEN: usize = 50;
/// The records of the last 1,000 jobs, which the head has in memory (bytes).
const RECORDS_BYTES: u64 = 6 << 20;
/// Descriptors and files more or less, as the processes are on other nodes.
const FEW: usize = 32;
/// A change that takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);
/// The programs that keep records of the job.
const PROGRAMS: [&str; 3] = ["prte", "prted", "ferrite-pmixd"];

/// What the programs of a DVM hold together.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    /// Memory that is theirs alone, by program (bytes).
    memory: BTreeMap<&'static str, u64>,
    descriptors: usize,
    files: usize,
}

/// Makes that many changes or a few more, in blocks that end with the size at the beginning.
pub(super) fn run(resizes: usize, mpi: Mpi) -> Result<()> {
    let python = python(mpi).context("mpi4py is not installed: cargo xtask setup")?;
    let hosts: Vec<String> = (0..NODES).map(|node| format!("n{node}:2")).collect();
    let hosts = hosts.join(",");
    let soak =
        Soak::start_with(&["--host", &hosts, "--prtemca", "plm", "local", "--prtemca", "prte_elastic_mode", "1"])?;
    let (up, stop, said) = (soak.dir().join("up"), soak.dir().join("stop"), soak.dir().join("said"));
    let mut job = soak.tool("prun");
    job.args(["--elastic", &format!("1:{MOST}"), "--grace", "60", "--map-by", "node", "-n", &USUAL.to_string()]);
    job.args(["-x", &format!("PYTHONPATH={}", root().join("python").display())]).arg(python);
    job.arg(source("malleable.py")).arg(&up).arg(&stop).arg(MOST.to_string());
    job.env("OMPI_MCA_mpi_yield_when_idle", "1").stdout(fs::File::create(&said)?).stderr(Stdio::null());
    let mut job = job.spawn().context("prun")?;
    let outcome = change(&soak, &mut job, &up, resizes);
    fs::write(&stop, "")?;
    let status = wait(&mut job, HANGS)?.context("the job does not end")?;
    outcome?;
    ensure!(status.success(), "the job has failed: {status}");
    let said = fs::read_to_string(&said)?;
    ensure!(said.trim() == "right", "the job says {said:?}");
    soak.stop()
}

fn change(soak: &Soak, job: &mut Child, up: &Path, resizes: usize) -> Result<()> {
    let began = Instant::now();
    while !up.exists() {
        ensure!(began.elapsed() < LIMIT && job.try_wait()?.is_none(), "the job does not begin");
        std::thread::sleep(LOOK_AGAIN);
    }
    println!(
        "| changes | grow (ms) | shrink (ms) | prte (KiB) | prted (KiB) | ferrite-pmixd (KiB) | descriptors | files |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut made, mut size, mut draw, mut first) = (0, USUAL, 1_u32, None);
    while made < resizes {
        let (mut grows, mut shrinks) = (Vec::new(), Vec::new());
        for left in (0..BETWEEN).rev() {
            // Any other size, and at the end the usual one.
            let wanted = if left == 0 {
                USUAL
            } else {
                let others: Vec<u32> = (1..=MOST).filter(|s| *s != size && (left > 1 || *s != USUAL)).collect();
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                others[(draw >> 8) as usize % others.len()]
            };
            let took = resize(soak, job, wanted)?;
            if wanted > size { &mut grows } else { &mut shrinks }.push(took);
            size = wanted;
        }
        made += BETWEEN;
        let now = held(soak)?;
        println!("{}", row(made, &grows, &shrinks, &now));
        first.get_or_insert(now);
    }
    let (Some(first), last) = (first, held(soak)?) else { bail!("--resizes: at least 1") };
    compare(&first, &last)
}

/// Changes the size; returns the time until the DVM has made the change.
fn resize(soak: &Soak, job: &mut Child, size: u32) -> Result<Duration> {
    let began = Instant::now();
    let mut order = soak.tool("pdvm");
    order.args(["resize", "1", &format!("={size}"), "--wait"]).stderr(Stdio::piped());
    let mut order = order.spawn()?;
    let status = wait(&mut order, HANGS)?.with_context(|| format!("the change to {size} hangs"))?;
    if !status.success() {
        let told = order.stderr.take().map(std::io::read_to_string).transpose()?.unwrap_or_default();
        bail!("the change to {size} fails ({status}, job {:?}): {told}", job.try_wait()?);
    }
    Ok(began.elapsed())
}

fn row(made: usize, grows: &[Duration], shrinks: &[Duration], held: &Held) -> String {
    let median = |all: &[Duration]| {
        let mut sorted = all.to_vec();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or_else(|| "-".to_owned(), |time| time.as_millis().to_string())
    };
    let memory: Vec<String> = PROGRAMS.iter().map(|name| (held.memory[name] >> 10).to_string()).collect();
    let (grow, shrink, memory) = (median(grows), median(shrinks), memory.join(" | "));
    format!("| {made} | {grow} | {shrink} | {memory} | {} | {} |", held.descriptors, held.files)
}

/// Looks at all programs of the DVM, which have its directory in their environment.
fn held(soak: &Soak) -> Result<Held> {
    let mark = format!("TMPDIR={}\0", soak.dir().display());
    let mut held = Held { memory: PROGRAMS.map(|name| (name, 0)).into(), descriptors: 0, files: 0 };
    for entry in fs::read_dir("/proc")?.flatten() {
        let proc = entry.path();
        // A process may end meanwhile, and is none of these then.
        let Ok(name) = fs::read_to_string(proc.join("comm")) else { continue };
        let Some(memory) = held.memory.get_mut(name.trim()) else { continue };
        let environment = fs::read(proc.join("environ")).unwrap_or_default();
        if !environment.windows(mark.len()).any(|part| part == mark.as_bytes()) {
            continue;
        }
        let maps = fs::read_to_string(proc.join("smaps_rollup")).unwrap_or_default();
        let own = maps.lines().find_map(|line| line.strip_prefix("Anonymous:")?.split_whitespace().next());
        *memory += own.and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or_default() << 10;
        held.descriptors += fs::read_dir(proc.join("fd")).map_or(0, Iterator::count);
    }
    let mut files = std::collections::BTreeSet::new();
    collect(soak.dir(), &mut files)?;
    held.files = files.len();
    Ok(held)
}

/// The head and the daemons keep nothing but the records of the last 1,000 jobs. libpmix keeps something of each
/// process (docs/design/pmix.md).
fn compare(first: &Held, last: &Held) -> Result<()> {
    for (name, most) in [("prte", SLACK_BYTES + RECORDS_BYTES), ("prted", SLACK_BYTES * (NODES as u64 - 1))] {
        let grown = last.memory[name].saturating_sub(first.memory[name]);
        ensure!(grown <= most, "the memory of {name} has grown by {grown} bytes");
    }
    ensure!(last.descriptors <= first.descriptors + FEW, "descriptors are left: {first:?}, {last:?}");
    ensure!(last.files <= first.files + FEW, "files are left: {first:?}, {last:?}");
    Ok(())
}
