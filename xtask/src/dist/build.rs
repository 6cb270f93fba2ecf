//! The programs of a package. `ferrite`, which holds all commands, is linked with musl and needs no library of the
//! machine. Rust's own linker links it, which can put functions in an order (`order`). `ferrite-pmixd` opens libpmix
//! and so needs the machine's C library; it is linked for an old one by Zig, which knows the symbols of each release of
//! glibc. Zig also compiles what is written in C, for each processor.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use super::release::Release;
use super::{dir, order};
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
    let ferrite = ferrite(release, Symbols::Stripped)?;
    order::tell_age(&ferrite)?;
    let glibc = format!("{processor}-unknown-linux-gnu");
    let title = format!("building ferrite-pmixd for {glibc} and glibc {GLIBC}");
    let command = build(release, &format!("{glibc}.{GLIBC}"), &["-p", "ferrite-pmixd"], &flags())?;
    Ok(Programs { ferrite, pmixd: linked(&title, command, &glibc, "ferrite-pmixd")? })
}

/// Whether a program keeps the names of its functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbols {
    Kept,
    Stripped,
}

/// Builds the program of all commands.
pub(super) fn ferrite(release: &Release, symbols: Symbols) -> Result<PathBuf> {
    let musl = format!("{}-unknown-linux-musl", release.processor.name());
    let what = ["-p", "ferrite-cli", "--features", "one-program", "--bin", "ferrite"];
    let mut command = build(release, &musl, &what, &format!("{} {}", flags(), own_linker()?))?;
    if symbols == Symbols::Kept {
        command.env("CARGO_PROFILE_DIST_STRIP", "none");
    }
    linked(&format!("building ferrite for {musl}"), command, &musl, "ferrite")
}

/// Returns the flags by which rustc calls the linker that comes with it.
fn own_linker() -> Result<String> {
    // The crate libloading asks for libdl. musl has its functions in libc, and Rust's musl lacks the empty libdl.
    let place = dir().join("link");
    fs::create_dir_all(&place)?;
    fs::write(place.join("libdl.a"), "!<arch>\n").context("cannot write an empty libdl.a")?;
    let (place, script) = (place.display(), order::script());
    let linker = "-C linker=rust-lld -C relocation-model=static";
    Ok(format!("{linker} -L native={place} -C link-arg=-T{}", script.display()))
}

fn linked(title: &str, mut command: Command, target_name: &str, program: &str) -> Result<PathBuf> {
    step(title, &mut command)?;
    Ok(target().join(target_name).join("dist").join(program))
}

fn build(release: &Release, target_name: &str, what: &[&str], flags: &str) -> Result<Command> {
    let mut command = cargo();
    // The subcommand is found by `PATH`, as is Zig.
    let tools = dist_tools();
    let path = env::var_os("PATH").unwrap_or_default();
    let Ok(path) = env::join_paths([tools].into_iter().chain(env::split_paths(&path))) else {
        bail!("the name of the checkout has a colon, and PATH cannot hold it");
    };
    command.args(["zigbuild", "--locked", "--quiet", "--profile", "dist", "--target", target_name]).args(what);
    command.env("PATH", path).env("FERRITE_COMMIT", &release.commit).env("RUSTFLAGS", flags);
    command.env("SOURCE_DATE_EPOCH", release.time_s.to_string());
    Ok(command)
}

/// Takes the names of this machine's directories out of the programs.
fn flags() -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let renamed = |from: PathBuf, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    format!("{} {}", renamed(root(), "/ferrite"), renamed(home, "/cargo"))
}
