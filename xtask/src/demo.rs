//! `cargo xtask demo`: one real MPI job on four machines, from nothing, in one command.
//!
//! Shows the job as a user would see it, says where the time went, and checks that nothing is left behind. With
//! `--record` it makes the picture of README from what the job has written.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::cast::Cast;
use crate::programs::{Mpi, mpi_program};
use crate::runner::{announce, build_product, wait};
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind, NotPermitted};
use crate::workspace::{product, root};

const NODES: usize = 4;
const JOB_LIMIT: Duration = Duration::from_secs(120);
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// Names and durations of the measured parts.
#[derive(Default)]
struct Clock(Vec<(String, Duration)>);

impl Clock {
    fn time<T>(&mut self, what: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = step();
        self.0.push((what.to_owned(), start.elapsed()));
        result
    }

    fn print(&self) {
        println!("--- where the time went");
        for (what, time) in &self.0 {
            println!("{:>9.3} s  {what}", time.as_secs_f64());
        }
    }
}

/// `cargo xtask demo [--record]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let is_record = args.flag("--record");
    args.finish()?;
    let mut clock = Clock::default();
    clock.time("set-up of the machine", || setup::ensure_installed(Need::Nodes))?;
    clock.time("build of prterun, prted", || build_product().map(|_| ()))?;
    let hello = clock.time("compile of hello.c", || mpi_program("hello", Mpi::OpenMpi4))?;
    announce("four virtual nodes, each with its own network, files, processes and ssh server");
    let cast = match clock.time("four virtual nodes", || Bed::own("demo", NODES, Kind::Plain)) {
        Ok(bed) => on_nodes(&bed, &hello, &mut clock)?,
        Err(error) if error.is::<NotPermitted>() => {
            println!("{error:#}\nInstead: four daemons on this machine, with the names of nodes.");
            on_this_machine(&hello, &mut clock)?
        }
        Err(error) => return Err(error),
    };
    clock.print();
    if is_record {
        let picture = root().join("docs/images/demo.svg");
        fs::write(&picture, cast.svg())?;
        println!("written to {}", picture.display());
    }
    println!("--- nothing is left behind. Look around yourself: cargo xtask testbed up 4");
    Ok(())
}

fn on_nodes(bed: &Bed, hello: &Path, clock: &mut Clock) -> Result<Cast> {
    let hosts = bed.shared().join("hosts");
    fs::write(&hosts, (0..NODES).map(|i| format!("n{i} slots=2\n")).collect::<String>())?;
    let mut command = bed.command(0, product("prterun"))?;
    command.args(["--allow-run-as-root", "--hostfile"]).arg(&hosts);
    let cast = job(&mut command, hello, clock)?;
    let left = clock.time("look for left-overs", || Ok(bed.residue(LEAVE_LIMIT)))?;
    ensure!(left.is_empty(), "left behind on the nodes:\n  {}", left.join("\n  "));
    Ok(cast)
}

/// The launcher `local` starts one daemon per named node on this machine.
fn on_this_machine(hello: &Path, clock: &mut Clock) -> Result<Cast> {
    let before = traces();
    let mut command = Command::new(product("prterun"));
    command.args(["--allow-run-as-root", "--prtemca", "plm", "local", "--host", "n0:2,n1:2,n2:2,n3:2"]);
    let cast = job(&mut command, hello, clock)?;
    let deadline = Instant::now() + LEAVE_LIMIT;
    loop {
        let left: Vec<String> = traces().difference(&before).cloned().collect();
        if left.is_empty() {
            return Ok(cast);
        }
        ensure!(Instant::now() < deadline, "left behind:\n  {}", left.join("\n  "));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn job(command: &mut Command, hello: &Path, clock: &mut Clock) -> Result<Cast> {
    command.args(["--display", "map", "--output", "tag", "--prtemca", "ferrite_timing", "1", "-n", "8"]).arg(hello);
    announce(&format!("prterun {}", shown(command)));
    let start = Instant::now();
    let (status, lines) = clock.time("the job", || {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("no stdout")?;
        let shown = std::thread::spawn(move || show(output, start));
        Ok((wait(&mut child, JOB_LIMIT)?, shown.join().unwrap_or_default()))
    })?;
    let end = start.elapsed();
    let status = status.with_context(|| format!("prterun did not end within {JOB_LIMIT:?}"))?;
    ensure!(status.success(), "prterun: {status}");
    // Programs that do not find each other run as eight worlds of one, and end well.
    let greetings =
        lines.iter().filter(|(_, line)| line.contains("hello from rank") && line.contains(" of 8 ")).count();
    ensure!(greetings == 8, "{greetings} instead of 8 ranks found the other seven");
    Ok(Cast { command: typed(command), lines, end })
}

/// Passes the output on as it comes, and returns its lines with their times.
fn show(output: impl Read, start: Instant) -> Vec<(Duration, String)> {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let lines = lines.inspect(|line| println!("{line}"));
    lines.map(|line| (start.elapsed(), line)).collect()
}

/// The command as a user would type it, who is not root, has the files in the present directory, and does not ask for
/// the times of the parts (which go to standard error).
fn typed(command: &Command) -> String {
    let words = shown(command).replace("--allow-run-as-root ", "").replace("--prtemca ferrite_timing 1 ", "");
    let words =
        words.split(' ').map(|word| if word.starts_with('/') { word.rsplit('/').next().unwrap_or(word) } else { word });
    let typed = words.collect::<Vec<_>>().join(" ");
    format!("prterun {}", typed.strip_suffix(" hello").map_or(typed.clone(), |before| format!("{before} ./hello")))
}

/// The words after the program's own name, as a user would type them.
fn shown(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|w| w.to_string_lossy()).collect();
    let from = words.iter().position(|w| w == "--allow-run-as-root").unwrap_or(0);
    words[from..].join(" ")
}

/// Returns the possible remains of a job on this machine: its processes, and files of PMIx, of the MPIs and of Ferrite.
fn traces() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for dir in ["/tmp", "/dev/shm", "/run"] {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = ["prte", "ferrite", "pmix", "ompi", "vader", "sm_segment"];
            if ours.iter().any(|prefix| name.starts_with(prefix)) && !name.starts_with("ferrite-testbed") {
                found.insert(format!("{dir}/{name}"));
            }
        }
    }
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if matches!(name.trim(), "prterun" | "prted" | "ferrite-guard" | "ferrite-pmixd" | "hello") {
            found.insert(format!("process {} ({})", entry.file_name().to_string_lossy(), name.trim()));
        }
    }
    found
}
