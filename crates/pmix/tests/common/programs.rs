//! Programs to run: compiled once per test binary where a compiler and headers are at hand.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const HEADERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/pmix2/include",
    "/usr/lib/aarch64-linux-gnu/pmix2/include",
    "/usr/include",
    "/usr/local/include",
];

/// The C client, or `None` with a message when it cannot be built here.
pub(crate) fn client() -> Option<&'static Path> {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let headers = HEADERS.iter().find(|folder| Path::new(folder).join("pmix.h").exists())?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/client.c");
        compile("cc", &["-w", "-I", headers, source.to_str()?], &["-lpmix"], "pmix-client")
    };
    skip_unless(PATH.get_or_init(build), "no C compiler or no pmix.h: install libpmix-dev")
}

/// An MPI program that reduces over all ranks, built with Debian's Open MPI 4, or with what `FERRITE_TEST_OMPI_MPICC`
/// names.
pub(crate) fn open_mpi() -> Option<&'static Path> {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/sum.c");
        let compiler = std::env::var("FERRITE_TEST_OMPI_MPICC").unwrap_or_else(|_| "mpicc.openmpi".into());
        compile(&compiler, &[source.to_str()?], &[], "mpi-sum")
    };
    skip_unless(PATH.get_or_init(build), "no mpicc.openmpi: install libopenmpi-dev")
}

fn compile(compiler: &str, before: &[&str], after: &[&str], name: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let status = Command::new(compiler).args(before).arg("-o").arg(&target).args(after).status().ok()?;
    status.success().then_some(target)
}

fn skip_unless(path: &'static Option<PathBuf>, reason: &str) -> Option<&'static Path> {
    if path.is_none() {
        eprintln!("SKIPPED: {reason}");
    }
    path.as_deref()
}
