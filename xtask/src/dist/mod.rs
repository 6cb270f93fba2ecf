//! `cargo xtask dist`: archive, .deb and .rpm of the product in `target/dist`, with the same bytes each time.
//!
//! `build` makes the programs, `order` says which functions come first in them, `layout` says what is where below the
//! prefix, `licences` collects the texts of what is linked, and `archive`, `deb` and `rpm` write the packages. `check`
//! installs them in fresh roots of Debian and Ubuntu, runs jobs there, and removes them. `twice` makes them again
//! elsewhere and compares the bytes.

mod archive;
mod build;
mod check;
mod deb;
mod emulate;
mod enter;
mod layout;
mod licences;
mod mpi;
mod order;
mod release;
mod rpm;
mod stage;
mod twice;

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::runner::announce;
use crate::setup;
use crate::workspace::target;

pub(crate) use build::Processor;
use release::Release;

/// `cargo xtask dist [--processor P] [--no-build] [--check [--in SUITE]] [--twice]`, or `--order`
pub(crate) fn main(mut args: Args) -> Result<()> {
    if args.flag("--order") {
        args.finish()?;
        return order::write();
    }
    let processor: Processor = args.parsed("--processor")?.unwrap_or(Processor::X86_64);
    let (no_build, is_check, is_twice) = (args.flag("--no-build"), args.flag("--check"), args.flag("--twice"));
    let only = args.value("--in")?;
    args.finish()?;
    ensure!(only.is_none() || is_check, "--in SUITE says where --check installs the packages: add --check");
    // A wrong name is an error now, and not after the build.
    enter::systems(processor, only.as_deref())?;
    setup::ensure_installed_for_dist()?;
    let release = Release::of_checkout(processor)?;
    let packages = if no_build { Packages::of(&release) } else { make(&release)? };
    packages.print()?;
    if is_twice {
        twice::compare(&release, &packages)?;
    }
    if is_check { check::all(&release, &packages, only.as_deref()) } else { Ok(()) }
}

/// Where packages, and what is needed to make them, are.
pub(crate) fn dir() -> PathBuf {
    target().join("dist")
}

/// The directory of the packages' programs for this machine, laid out as an installation has them.
pub(crate) fn programs_dir() -> PathBuf {
    dir().join("bin")
}

/// Builds the programs of the packages for this machine, and lays them out.
pub(crate) fn lay_out_programs() -> Result<()> {
    setup::ensure_installed_for_dist()?;
    let programs = build::programs(&Release::of_checkout(native()?)?)?;
    let place = programs_dir();
    fs::create_dir_all(&place)?;
    for (name, built) in [("ferrite", &programs.ferrite), ("ferrite-pmixd", &programs.pmixd)] {
        // A running program cannot be overwritten, but its name can be given to another.
        let copy = place.join(format!("{name}.new"));
        fs::copy(built, &copy).with_context(|| format!("cannot copy {}", built.display()))?;
        fs::rename(copy, place.join(name))?;
    }
    link_commands(&place)
}

/// The kind of this machine's processor.
fn native() -> Result<Processor> {
    let native = Processor::ALL.into_iter().find(|processor| processor.is_native());
    native.with_context(|| format!("there are no packages for {ARCH}"))
}

/// Gives the program of all commands their names.
fn link_commands(place: &Path) -> Result<()> {
    for name in layout::COMMANDS {
        let link = place.join(name);
        if !link.exists() {
            symlink("ferrite", &link).with_context(|| format!("cannot make {}", link.display()))?;
        }
    }
    Ok(())
}

/// The packages of one processor.
pub(crate) struct Packages {
    archive: PathBuf,
    deb: PathBuf,
    rpm: PathBuf,
}

impl Packages {
    fn of(release: &Release) -> Self {
        Self::below(&dir(), release)
    }

    fn below(dir: &Path, release: &Release) -> Self {
        let (version, processor) = (&release.version, release.processor);
        Self {
            archive: dir.join(format!("{}.tar.gz", release.name())),
            deb: dir.join(format!("ferrite-dvm_{version}-1_{}.deb", processor.in_debian())),
            rpm: dir.join(format!("ferrite-dvm-{version}-1.{}.rpm", processor.name())),
        }
    }

    fn files(&self) -> [&PathBuf; 3] {
        [&self.archive, &self.deb, &self.rpm]
    }

    fn print(&self) -> Result<()> {
        for file in self.files() {
            let len = fs::metadata(file).with_context(|| format!("{} is not there", file.display()))?.len();
            println!("{:>6.2} MB  {}", len as f64 / 1e6, file.display());
        }
        Ok(())
    }
}

fn make(release: &Release) -> Result<Packages> {
    let programs = build::programs(release)?;
    announce("packages");
    let files = layout::files(release, &programs)?;
    println!("{:>6.2} MB  installed", layout::size(&files) as f64 / 1e6);
    let packages = Packages::of(release);
    fs::write(&packages.archive, archive::written(release, &files)?)?;
    deb::write(release, &files, &packages.deb)?;
    rpm::write(release, &files, &packages.rpm)?;
    Ok(packages)
}
