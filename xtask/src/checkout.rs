//! The files of the checkout as values, for the checks of `cargo xtask verify` that read them. It never writes one.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::root;

/// Path from the root -> text.
pub(crate) type Texts = BTreeMap<String, String>;

/// The paths that git knows, and with `and_new` those that it would add.
pub(crate) fn paths(and_new: bool) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z", "--cached"]);
    if and_new {
        git.args(["--others", "--exclude-standard"]);
    }
    let output = git.output().context("cannot run git, which knows the files of the checkout")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8(output.stdout).context("a path is no UTF-8")?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns the texts of the files with wanted names; a deleted file has none.
pub(crate) fn texts(wanted: impl Fn(&str) -> bool) -> Result<Texts> {
    let mut texts = Texts::new();
    for path in paths(true)?.into_iter().filter(|path| wanted(path)) {
        let file = root().join(&path);
        if file.is_file() {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {path}"))?;
            texts.insert(path, text);
        }
    }
    Ok(texts)
}

/// Fails with all violations of a check, each a line.
pub(crate) fn report(what: &str, mut found: Vec<String>) -> Result<()> {
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Ok(());
    }
    bail!("{} faults in {what}:\n  {}", found.len(), found.join("\n  "))
}
