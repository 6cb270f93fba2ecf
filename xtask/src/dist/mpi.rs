//! The MPI program of the trials, for each kind of processor.
//!
//! For this machine's kind its own `mpicc` compiles it. For another kind Zig does, with the header of this machine's
//! Open MPI and a library of empty functions, which stands for libmpi while the program is linked: Open MPI's ABI is
//! the same on both 64-bit processors. The program finds the real library where it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::build::Processor;
use crate::programs::{Mpi, mpi_program, source};
use crate::setup::dist_tools;

/// The names that `tests/programs/hello.c` takes from libmpi.
const STUB: &str = "char ompi_mpi_comm_world[1024];\nint MPI_Init(void) { return 0; }\nint MPI_Finalize(void) { return 0; \
                    }\nint MPI_Comm_rank(void) { return 0; }\nint MPI_Comm_size(void) { return 0; }\n\
                    int MPI_Get_processor_name(void) { return 0; }\n";

/// Returns the executable of `hello.c`.
pub(super) fn hello(processor: Processor) -> Result<PathBuf> {
    if processor.is_native() {
        return mpi_program("hello", Mpi::OpenMpi4);
    }
    let dir = super::dir().join(format!("mpi-{}", processor.name()));
    fs::create_dir_all(&dir)?;
    let (stub, library, program) = (dir.join("stub.c"), dir.join("libmpi.so.40"), dir.join("hello"));
    fs::write(&stub, STUB)?;
    zig(processor, &["-shared", "-Wl,-soname,libmpi.so.40"], &[&stub], &library)?;
    let include = include_directory()?;
    zig(processor, &["-O1", "-fPIC", &format!("-I{include}")], &[&source("hello.c"), &library], &program)?;
    Ok(program)
}

/// Where this machine's Open MPI has `mpi.h`.
fn include_directory() -> Result<String> {
    let asked = Command::new("mpicc.openmpi").arg("--showme:incdirs").output().context("mpicc.openmpi")?;
    let words = String::from_utf8(asked.stdout)?;
    let with_header = |dir: &&str| Path::new(dir).join("mpi.h").exists();
    Ok(words.split_whitespace().find(with_header).context("this machine's Open MPI has no mpi.h")?.to_owned())
}

fn zig(processor: Processor, flags: &[&str], inputs: &[&Path], to: &Path) -> Result<()> {
    let mut command = Command::new(dist_tools().join("python"));
    command.args(["-m", "ziglang", "cc", "-target", &format!("{}-linux-gnu.2.28", processor.name())]);
    command.args(flags).args(inputs).arg("-o").arg(to);
    let output = command.output().context("cannot start Zig")?;
    ensure!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
