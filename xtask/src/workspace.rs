//! Paths: the checkout, its build output, the MPIs that are not Debian's.
//!
//! Called by every command. It only computes paths and never creates anything.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    // Cargo says it at run time too, which is right even if two checkouts share a target directory.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    match manifest.parent() {
        Some(root) => root.to_owned(),
        None => manifest,
    }
}

/// Cargo's target directory, wherever the user put it.
pub(crate) fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Returns the directory of `prterun` and `prted`; `FERRITE_BIN_DIR` names another build to test.
pub(crate) fn bin_dir() -> PathBuf {
    env::var_os("FERRITE_BIN_DIR").map_or_else(|| target().join("release"), PathBuf::from)
}

/// A command of the product.
pub(crate) fn product(name: &str) -> PathBuf {
    bin_dir().join(name)
}

/// Compiled test programs.
pub(crate) fn programs_dir() -> PathBuf {
    target().join("programs")
}

/// Returns the directory in which `cargo xtask setup` unpacks the MPIs of PyPI.
pub(crate) fn pypi_dir() -> PathBuf {
    target().join("pypi")
}

/// Finds a program in `PATH` and in the places that hold administrators' programs.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|file| is_executable(file))
}

/// True for a regular file that somebody may execute.
pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
