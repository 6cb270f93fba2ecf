//! Jobs that processes of MPICH start, and jobs of MPICH that meet: spawns and names by PMI-1. MPICH of Debian is built
//! for a network library (UCX) with which it can do neither.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Scenario;
use super::context::{Call, Context, Expect, Skipped, finish};
use super::dvm::{start_dvm, stop_dvm};
use crate::programs::{Mpi, mpi_program, python, source};
use crate::runner::Outcome;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        Scenario::new("parents of MPICH spawn children elsewhere and speak with them", speak),
        Scenario::new("a parent of MPICH spawns two programs with arguments and a directory, again and again", again),
        Scenario::new(
            "a spawn of MPICH without room or without its program is refused, and the parents go on",
            refused,
        ),
        Scenario::new("parents of MPICH end with the first failure of what they have spawned", shared_fate),
        Scenario::new("two jobs of MPICH meet by a published name", meet),
        Scenario::new("mpi4py over MPICH computes in a pool of spawned workers", pool),
    ]
}

fn need() -> Result<()> {
    ensure!(Mpi::Mpich5.is_installed(), Skipped(format!("{} is not installed", Mpi::Mpich5.name())));
    Ok(())
}

/// Runs a job and drops the remarks of MPICH's network library, which writes them to standard output.
fn run(job: Call<'_>) -> Result<Outcome> {
    let mut outcome = job.run()?;
    let lines = outcome.stdout.lines().filter(|line| !line.contains("UCX  WARN"));
    outcome.stdout = lines.map(|line| format!("{line}\n")).collect();
    Ok(outcome)
}

fn speak(c: &Context) -> Result<()> {
    need()?;
    let program = mpi_program("spawn", Mpi::Mpich5)?;
    let four = "n0,n1,n2,n3";
    for (hosts, radix, node) in [(four, "64", ["n2", "n3"]), (four, "2", ["n2", "n3"]), ("n0:4", "64", ["n0", "n0"])] {
        let start = Instant::now();
        let job = c.prterun("-n 2 --host")?.words([hosts, "--prtemca", "rml_base_radix", radix])?;
        let parents = (0..2).map(|rank| format!("parent {rank} of 2 spoke with 2 children: 0 wrong"));
        let children = (0..2).map(|rank| format!("child {rank} of 2 answered 2 parents on {}", node[rank]));
        let expected: Vec<String> = parents.chain(children).collect();
        run(job.program(&program)?)?.code(0)?.lines(&expected)?;
        c.note(format!("2 parents, 2 children on {hosts}: {:.2} s", start.elapsed().as_secs_f64()));
    }
    Ok(())
}

fn again(c: &Context) -> Result<()> {
    need()?;
    let program = mpi_program("spawns", Mpi::Mpich5)?;
    // Over UCX, MPICH connects to children that have just ended, under its own mpiexec as well; over libfabric not.
    // The children of one round may still be there when those of the next one come: there are slots for all.
    for (hosts, rounds) in [("n0:32", "5"), ("n0:2,n1:32", "5")] {
        let expected = [0, 1].map(|rank| format!("parent {rank} met 15"));
        let job = c.prterun("-n 2 --host")?.words([hosts])?.program(&program)?.words([rounds])?;
        run(job.env("MPIR_CVAR_CH4_NETMOD", "ofi"))?.code(0)?.lines(&expected)?;
    }
    Ok(())
}

fn refused(c: &Context) -> Result<()> {
    need()?;
    let program = mpi_program("spawns", Mpi::Mpich5)?;
    let expected = [0, 1].map(|rank| [format!("parent {rank} was refused"), format!("parent {rank} met 0")]).concat();
    for (hosts, what, cause) in [("n0:8,n1:2", "/no/such/program", "/no/such/program"), ("n0:2,n1:2", "", "slots")] {
        let job = c.prterun("-n 2 --host")?.words([hosts])?.program(&program)?.words(["1"])?;
        let job = if what.is_empty() { job } else { job.words([what])? };
        let outcome = run(job)?;
        ensure!(outcome.elapsed < Duration::from_secs(15), "it took {:?}", outcome.elapsed);
        outcome.code(0)?.lines(&expected)?.complains_about(&[cause])?;
    }
    // A program that ends without MPI would let its parents wait for ever.
    let job = c.prterun("-n 1 --host n0:8")?.program(&program)?.words(["1", "/bin/true"])?;
    let outcome = job.run()?.failure()?.complains_about(&["MPI_Init"])?;
    ensure!(outcome.elapsed < Duration::from_secs(15), "it took {:?}", outcome.elapsed);
    Ok(())
}

fn shared_fate(c: &Context) -> Result<()> {
    need()?;
    let program = mpi_program("kin", Mpi::Mpich5)?;
    // The first to notice it is the cause: MPICH sees the failure of a child as well, when it has yet to meet it.
    let outcome = c.everywhere(1, "-n 2")?.program(&program)?.words(["fail"])?.run()?.failure()?;
    let outcome = outcome.complains_about(&["which is connected with it, ends as well"])?;
    ensure!(outcome.elapsed < Duration::from_secs(15), "it took {:?}", outcome.elapsed);
    c.wait_for(0, "kin")
}

/// The addresses of MPICH's default network library are longer than its own limit of a port's name; those of the other
/// one are not.
fn meet(c: &Context) -> Result<()> {
    need()?;
    let program = mpi_program("meet", Mpi::Mpich5)?;
    start_dvm(c, 2)?;
    for (ours, theirs) in [("n0,n1", "n2,n3"), ("n1:2", "n1:2")] {
        let start = |hosts: &str, part: &str| {
            let job = c.tool("prun", "-n 2 --map-by :oversubscribe --host")?.words([hosts])?.program(&program)?;
            job.env("MPIR_CVAR_CH4_NETMOD", "ofi").words([part])?.start()
        };
        let (server, client) = (start(ours, "server")?, start(theirs, "client")?);
        finish(client)?.code(0)?.lines(&["client of 2 met 2, sum 2".to_owned()])?;
        finish(server)?.code(0)?.lines(&["server of 2 met 2, sum 0".to_owned()])?;
    }
    stop_dvm(c)
}

fn pool(c: &Context) -> Result<()> {
    need()?;
    let python = python(Mpi::Mpich5).ok_or_else(|| Skipped("mpi4py is not installed".into()))?;
    let job = c.everywhere(1, "-n 1")?.words([python, source("pool.py")])?;
    run(job)?.code(0)?.lines(&["squares 0 1 4 9 16 25".to_owned()])?;
    Ok(())
}
