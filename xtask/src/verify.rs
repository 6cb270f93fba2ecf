//! `cargo xtask verify`, which equals CI and never writes to the tree, and `cargo xtask fix`, which does.

use anyhow::Result;

use crate::args::Args;
use crate::runner::{announce, cargo, step};
use crate::setup::{self, Need};
use crate::{fuzz, listed, man, purity, spec, supply, test, tracked, unsafety, width, wings};

/// `cargo xtask verify [--quick]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let quick = args.flag("--quick");
    args.finish()?;
    step("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    announce("purity");
    purity::check()?;
    announce("specification");
    spec::check()?;
    // Building needs the libraries that setup brings, and the check of man pages needs mandoc.
    setup::ensure_installed(Need::Slurm)?;
    announce("lists, widths of text, and tracked files");
    tidy()?;
    let lints = ["clippy", "--locked", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("lints", cargo().args(lints))?;
    announce("licences, sources, bans and known faults of dependencies");
    supply::check()?;
    let mut doc = cargo();
    doc.env("RUSTDOCFLAGS", "-D warnings");
    step(
        "documentation",
        doc.args(["doc", "--locked", "--quiet", "--workspace", "--no-deps", "--document-private-items"]),
    )?;
    fuzz::run_all(if quick { 1 } else { fuzz::SECONDS_IN_CI })?;
    test::run(quick)
}

/// `cargo xtask tidy`: checks the lists of modules and of files with `unsafe`, the width of lines, the wings of
/// the head, the man pages (with mandoc, where it is), and the files in git.
pub(crate) fn tidy() -> Result<()> {
    listed::check()?;
    unsafety::check()?;
    width::check()?;
    wings::check()?;
    man::check()?;
    tracked::check()
}

/// `cargo xtask fix`
pub(crate) fn fix(args: Args) -> Result<()> {
    args.finish()?;
    let lints = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    step("lints", cargo().args(lints))?;
    step("formatting", cargo().args(["fmt", "--all"])).map(|_| ())
}
