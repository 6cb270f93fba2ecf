//! `cargo xtask supply`: checks that every dependency has an allowed licence, comes from the registry, is not banned,
//! and has no known fault. The rules are those of `deny.toml`, so that `cargo deny` gives the same result; installing
//! it would take longer than all the rest of CI. The list of faults is `supply/advisories.txt`, which needs no network;
//! `cargo xtask supply update DIR` makes it anew from a copy of the RustSec advisory database.

mod advisories;
mod licence;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::runner::cargo;
use crate::workspace;

/// The registry of every foreign crate.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// The targets whose dependencies the rules cover.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// `cargo xtask supply [update DIR]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    match args.optional()?.as_deref() {
        None => {
            args.finish()?;
            check()
        }
        Some("update") => {
            let from = args.optional()?.context("update DIR: a copy of the RustSec advisory database")?;
            args.finish()?;
            let count = advisories::update(Path::new(&from), &locked(&lock_file()?))?;
            println!("{count} advisories concern crates of Cargo.lock");
            check()
        }
        Some(other) => anyhow::bail!("unknown word '{other}': supply, or supply update DIR"),
    }
}

/// A crate of Cargo.lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Locked {
    name: String,
    version: String,
    /// `None`: one of ours.
    source: Option<String>,
}

/// Checks all rules; the error names all violations.
pub(crate) fn check() -> Result<()> {
    let rules = fs::read_to_string(workspace::root().join("deny.toml"))?;
    let locked = locked(&lock_file()?);
    let mut wrong = Vec::new();
    for each in &locked {
        if each.source.as_deref().is_some_and(|source| source != REGISTRY) {
            wrong.push(format!("{} does not come from the registry", each.name));
        }
        wrong.extend(
            banned(&rules).filter(|name| *name == each.name).map(|name| format!("{name} is banned: see deny.toml")),
        );
    }
    let faults = advisories::Advisory::known()?;
    for (each, fault) in locked.iter().flat_map(|each| faults.iter().map(move |fault| (each, fault))) {
        if fault.concerns(&each.name, &each.version) {
            wrong.push(format!("{} {} has a known fault: {fault}", each.name, each.version));
        }
    }
    wrong.extend(bad_licences(&rules)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} crates: licences, bans, sources and {} known faults are looked at", locked.len(), faults.len());
    Ok(())
}

fn lock_file() -> Result<String> {
    Ok(fs::read_to_string(workspace::root().join("Cargo.lock"))?)
}

fn locked(text: &str) -> Vec<Locked> {
    let value = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let blocks = text.split("[[package]]").skip(1);
    let crates = blocks.filter_map(|block| {
        Some(Locked { name: value(block, "name")?, version: value(block, "version")?, source: value(block, "source") })
    });
    crates.collect()
}

/// The names behind `{ crate = ` in the rules.
fn banned(rules: &str) -> impl Iterator<Item = &str> {
    rules.split("{ crate = \"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0))
}

/// The words of the list `allow` in the rules.
fn allowed(rules: &str) -> BTreeSet<&str> {
    let list = rules.split_once("\nallow = [").and_then(|(_, rest)| Some(rest.split_once(']')?.0));
    list.unwrap_or_default().split('"').skip(1).step_by(2).collect()
}

/// Crates that are built for us, or run while we build or test, and whose licence is none of the allowed.
fn bad_licences(rules: &str) -> Result<BTreeSet<String>> {
    let allowed = allowed(rules);
    ensure!(!allowed.is_empty(), "deny.toml allows no licence");
    let mut bad = BTreeSet::new();
    for target in TARGETS {
        let words = ["tree", "--locked", "--workspace", "--prefix", "none", "--format", "{p}\t{l}", "--target", target];
        let output = cargo().args(words).output()?;
        ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        for (name, licence) in text.lines().filter_map(|line| line.split_once('\t')) {
            if !licence::is_allowed(licence.trim_end_matches(" (*)"), &allowed) {
                bad.insert(format!("{name} has the licence '{licence}', which deny.toml does not allow"));
            }
        }
    }
    Ok(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_and_rules_are_read() {
        let lock = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.2.3\"\nsource = \"x\"\n\n[[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
        let found = locked(lock);
        assert_eq!((found.len(), found[0].source.as_deref(), found[1].source.as_deref()), (2, Some("x"), None));
        assert_eq!((found[0].name.as_str(), found[0].version.as_str()), ("a", "1.2.3"));
        let rules = "[licenses]\nallow = [\"MIT\", \"ISC\"]\ndeny = [\n    { crate = \"nix\", reason = \"r\" },\n]";
        assert_eq!(allowed(rules), ["MIT", "ISC"].into());
        assert_eq!(banned(rules).collect::<Vec<_>>(), ["nix"]);
    }
}
