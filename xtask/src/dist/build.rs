//! The programs of a package. `ferrite`, which holds all commands, is linked with musl and needs no library of the
//! machine. `ferrite-pmixd` opens libpmix and so needs the machine's C library; it is linked for an old one. Zig is the
//! linker of both: it knows the symbols of each release of glibc, for each processor.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};

use super::release::Release;
use crate::runner::{cargo, step};
use crate::setup::dist_tools;
use crate::workspace::{root, target};

/// The release of glibc that `ferrite-pmixd` needs: that of RHEL 8.
const GLIBC: &str = "2.28";

/// A kind of processor for which there are packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    pub(crate) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    pub(crate) fn in_debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// True when this machine runs its programs without an emulator.
    pub(crate) fn is_native(self) -> bool {
        self.name() == env::consts::ARCH
    }
}

impl FromStr for Processor {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|each| each.name() == word).ok_or(())
    }
}

/// Where the programs were linked.
pub(super) struct Programs {
    pub(super) ferrite: PathBuf,
    pub(super) pmixd: PathBuf,
}

/// Builds the programs.
pub(super) fn programs(release: &Release) -> Result<Programs> {
    let processor = release.processor.name();
    let musl = format!("{processor}-unknown-linux-musl");
    let glibc = format!("{processor}-unknown-linux-gnu");
    let title = format!("building ferrite for {musl}");
    build(release, &title, &musl, &["-p", "ferrite-cli", "--features", "one-program", "--bin", "ferrite"])?;
    let title = format!("building ferrite-pmixd for {glibc} and glibc {GLIBC}");
    build(release, &title, &format!("{glibc}.{GLIBC}"), &["-p", "ferrite-pmixd"])?;
    let built = |target_name: &str, program| target().join(target_name).join("dist").join(program);
    Ok(Programs { ferrite: built(&musl, "ferrite"), pmixd: built(&glibc, "ferrite-pmixd") })
}

fn build(release: &Release, title: &str, target_name: &str, what: &[&str]) -> Result<()> {
    let mut command = cargo();
    // The subcommand is found by `PATH`, as is Zig.
    let tools = dist_tools();
    let path = env::var_os("PATH").unwrap_or_default();
    let Ok(path) = env::join_paths([tools].into_iter().chain(env::split_paths(&path))) else {
        bail!("the name of the checkout has a colon, and PATH cannot hold it");
    };
    command.args(["zigbuild", "--locked", "--quiet", "--profile", "dist", "--target", target_name]).args(what);
    command.env("PATH", path).env("FERRITE_COMMIT", &release.commit).env("RUSTFLAGS", flags());
    command.env("SOURCE_DATE_EPOCH", release.time_s.to_string());
    step(title, &mut command).map(|_| ())
}

/// Takes the names of this machine's directories out of the programs.
fn flags() -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let renamed = |from: PathBuf, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    format!("{} {}", renamed(root(), "/ferrite"), renamed(home, "/cargo"))
}
