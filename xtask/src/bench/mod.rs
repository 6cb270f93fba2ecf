//! `cargo xtask bench ...`: measures in one run on one machine, side by side with other launchers where they can do the
//! same.

mod agent;
mod busy;
mod campaign;
pub(crate) mod counts;
mod daemons;
pub(crate) mod dvm;
pub(crate) mod elastic;
pub(crate) mod fence;
mod fill;
mod head;
pub(crate) mod init;
pub(crate) mod launch;
mod machine;
mod map;
mod mpi4py;
mod peer;
mod plot;
pub(crate) mod preload;
mod repair;
mod report;
pub(crate) mod resize;
mod sample;
pub(crate) mod slurm;
mod tasks;

use std::env;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::args::Args;
use crate::dist;

pub(crate) use agent::{call as agent_main, serve_main as agentd_main};

const USAGE: &str = "\
cargo xtask bench busy [--runs N] [--write] [--no-build]
cargo xtask bench campaign [--tasks N] [--nodes N] [--write] [--no-build]
cargo xtask bench daemons [--nodes N] [--write] [--no-build]
cargo xtask bench counts [--write | --check] [--no-build]
cargo xtask bench launch [--runs N] [--only TEXT] [--write] [--no-build]
cargo xtask bench dvm [--runs N] [--jobs N] [--peer-root DIR] [--write] [--no-build]
cargo xtask bench elastic [--runs N] [--write] [--no-build]
cargo xtask bench fence [--runs N] [--write] [--no-build]
cargo xtask bench fill [--minutes N] [--write] [--no-build]
cargo xtask bench head [--max N] [--write]
cargo xtask bench init [--ranks N] [--runs N] [--write] [--no-build]
cargo xtask bench map [--runs N] [--peer-root DIR] [--write] [--no-build]
cargo xtask bench mpi4py [--mpi TEXT] [--ranks N,N...] [--write] [--no-build]
cargo xtask bench plot [--check]
cargo xtask bench preload [--nodes N] [--mib N] [--runs N] [--write] [--no-build]
cargo xtask bench repair [--runs N] [--write]
cargo xtask bench resize [--runs N] [--write] [--no-build]
cargo xtask bench slurm [--runs N] [--write] [--no-build]
cargo xtask bench tasks [--tasks N] [--runs N] [--write] [--no-build]

--packaged, with those that have --no-build, measures the programs as the packages have them: static and optimised as a whole.";

/// The option by which the programs of the packages are measured.
const PACKAGED: &str = "--packaged";

/// Chooses the benchmark.
pub(crate) fn main(mut args: Args) -> Result<()> {
    let packaged = args.flag(PACKAGED);
    let name = args.optional()?;
    let measure = match name.as_deref() {
        Some("head" | "plot" | "repair") if packaged => {
            bail!("{PACKAGED}: this benchmark runs no programs of ours; leave it out")
        }
        Some("busy") => busy::main,
        Some("campaign") => campaign::main,
        Some("daemons") => daemons::main,
        Some("counts") => counts::main,
        Some("launch") => launch::main,
        Some("dvm") => dvm::main,
        Some("elastic") => elastic::main,
        Some("fence") => fence::main,
        Some("fill") => fill::main,
        Some("head") => head::main,
        Some("init") => init::main,
        Some("map") => map::main,
        Some("mpi4py") => mpi4py::main,
        Some("plot") => plot::main,
        Some("preload") => preload::main,
        Some("repair") => repair::main,
        Some("resize") => resize::main,
        Some("slurm") => slurm::main,
        Some("tasks") => tasks::main,
        Some(other) => bail!("unknown benchmark '{other}'\n\n{USAGE}"),
        None => bail!("which one?\n\n{USAGE}"),
    };
    if packaged { as_packaged() } else { measure(args) }
}

/// Builds the programs of the packages, and runs this command again with them.
fn as_packaged() -> Result<()> {
    dist::lay_out_programs()?;
    let words = env::args_os().skip(1).filter(|word| word != PACKAGED);
    let mut again = Command::new(env::current_exe()?);
    again.args(words).env("FERRITE_BIN_DIR", dist::programs_dir());
    let status = again.status().context("cannot start the benchmark")?;
    ensure!(status.success(), "the benchmark has failed");
    Ok(())
}
