//! Jobs whose processes wait for a debugger (docs/debugging.md).

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, Skipped, finish};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, mpi_program, pmix_program};
use crate::workspace::which;

const SOON: Duration = Duration::from_secs(20);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        processes_stop_before_their_first_instruction_until_they_are_released,
        mpi_processes_stop_in_init_and_gdb_attaches_to_them,
        a_process_that_spawns_a_job_is_its_debugger,
        stopped_processes_are_ended_like_others,
    ]
}

/// Output of `pdvm job 1` on n0; empty while nothing answers.
fn job(c: &Context) -> Result<String> {
    Ok(c.tool("pdvm", "job 1")?.run()?.stdout)
}

fn wait_until_ready(c: &Context) -> Result<String> {
    c.until("the job is READY_FOR_DEBUG", SOON, || Ok(job(c)?.contains("State      READY_FOR_DEBUG")))?;
    job(c)
}

/// The release (spec L55, L56).
fn processes_stop_before_their_first_instruction_until_they_are_released(c: &Context) -> Result<()> {
    for hosts in ["n0:2", "n0,n1"] {
        let call = c.prterun("-n 2 --map-by node --stop-on-exec --host")?.words([hosts, "sh", "-c"])?;
        let running = call.words(["echo rank $PMIX_RANK ran"])?.start()?;
        let says = wait_until_ready(c)?;
        ensure!(says.contains("2 of 2 processes stopped before the first instruction"), "{says}");
        c.tool("pdvm", "release 1 --ranks 1")?.run()?.code(0)?;
        let says = job(c)?;
        ensure!(says.contains("1 of 2 processes stopped"), "{says}");
        c.tool("pdvm", "release 1")?.run()?.code(0)?;
        let outcome = finish(running)?.code(0)?;
        let mut lines: Vec<&str> = outcome.stdout.lines().collect();
        lines.sort_unstable();
        ensure!(lines == ["rank 0 ran", "rank 1 ran"], "{lines:?}");
        let node = if hosts == "n0,n1" { "n1" } else { "n0" };
        let told = format!("rank 1 on node {node}: pid ");
        ensure!(outcome.stderr.contains(&told), "no '{told}' in:\n{}", outcome.stderr);
    }
    Ok(())
}

/// A debugger attaches while the job waits (spec L55).
fn mpi_processes_stop_in_init_and_gdb_attaches_to_them(c: &Context) -> Result<()> {
    if which("gdb").is_none() {
        anyhow::bail!(Skipped("gdb is not installed".to_owned()));
    }
    let program = mpi_program("hello", Mpi::OpenMpi4)?;
    let call = c.prterun("-n 3 --map-by node --stop-in-init --host n0:2,n1")?.program(&program)?;
    let running = call.start()?;
    let says = wait_until_ready(c)?;
    ensure!(says.contains("3 of 3 processes stopped in PMIx_Init"), "{says}");
    let process = c.named("hello").into_iter().find(|(node, _)| *node == 0);
    let (_, process) = process.ok_or_else(|| anyhow::anyhow!("no process on n0"))?;
    let line = format!("-batch -ex bt -p {}", process.node_pid);
    let stack = c.program_on(0, "gdb", &line)?.run()?.stdout;
    ensure!(stack.contains("MPI_Init") || stack.contains("PMIx_Init"), "{stack}");
    c.tool("pdvm", "release 1")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

/// The event to the parent, and its release (spec L55, L56).
fn a_process_that_spawns_a_job_is_its_debugger(c: &Context) -> Result<()> {
    let program = pmix_program("debugger")?;
    for (hosts, place) in [("n0:4", "exec"), ("n0:4", "init"), ("n0:2,n1:2", "exec"), ("n0:2,n1:2", "init")] {
        let call = c.prterun("-n 1 --map-by node --host")?.words([hosts])?.program(&program)?;
        let outcome = call.words([place])?.run()?.code(0)?;
        let mut lines: Vec<&str> = outcome.stdout.lines().collect();
        ensure!(lines.first() == Some(&"ready"), "{hosts} {place}: nobody went on before the release: {lines:?}");
        lines.sort_unstable();
        let wanted = ["child 0 went on", "child 1 went on", "over", "ready", "released: 1"];
        ensure!(lines == wanted, "{hosts} {place}: {lines:?}");
    }
    Ok(())
}

/// How a stopped job ends (spec L27).
fn stopped_processes_are_ended_like_others(c: &Context) -> Result<()> {
    let running = c.prterun("-n 4 --map-by node --stop-on-exec --host n0:2,n1:2 sleep 1000")?.start()?;
    wait_until_ready(c)?;
    c.signal(0, "prterun", Signal::INT)?;
    finish(running)?.failure()?;
    let limited = c.prterun("-n 2 --map-by node --timeout 2 --stop-on-exec --host n0,n1 sleep 1000")?;
    limited.run()?.code(124)?;
    Ok(())
}
