//! `cargo xtask verify`, which equals CI and never writes to the tree, and `cargo xtask fix`, which does.

use anyhow::Result;

use crate::args::Args;
use crate::runner::{announce, cargo, step};
use crate::setup::{self, Need};
use crate::{purity, test};

/// `cargo xtask verify [--quick]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let quick = args.flag("--quick");
    args.finish()?;
    step("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    announce("purity");
    purity::check()?;
    // Building needs the libraries that setup brings.
    setup::ensure_installed(Need::Slurm)?;
    let lints = ["clippy", "--locked", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("lints", cargo().args(lints))?;
    licences()?;
    let mut doc = cargo();
    doc.env("RUSTDOCFLAGS", "-D warnings");
    step(
        "documentation",
        doc.args(["doc", "--locked", "--quiet", "--workspace", "--no-deps", "--document-private-items"]),
    )?;
    test::run(quick)
}

/// `cargo xtask fix`
pub(crate) fn fix(args: Args) -> Result<()> {
    args.finish()?;
    let lints = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    step("lints", cargo().args(lints))?;
    step("formatting", cargo().args(["fmt", "--all"])).map(|_| ())
}

/// Licences, advisories and sources of what we depend on, where the tool is installed.
fn licences() -> Result<()> {
    if crate::workspace::which("cargo-deny").is_none() && !test::has_subcommand("deny") {
        announce("licences: skipped, cargo-deny is not installed (cargo install cargo-deny)");
        return Ok(());
    }
    // Advisories need the network and change without us: not a part of what a commit can break.
    step("licences", cargo().args(["deny", "check", "licenses", "bans", "sources"])).map(|_| ())
}
