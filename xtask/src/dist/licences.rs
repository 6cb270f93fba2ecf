//! The licences of the crates that are linked into the programs: a list, and each different text once.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::release::Release;
use crate::runner::cargo;

/// A crate that is linked into the programs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    name: String,
    version: String,
    licence: String,
}

/// Returns the file of all licences.
pub(super) fn texts(release: &Release) -> Result<Vec<u8>> {
    let target = format!("{}-unknown-linux-musl", release.processor.name());
    let words = ["tree", "--locked", "-p", "ferrite-cli", "-p", "ferrite-pmixd", "--edges", "normal"];
    let format = ["--prefix", "none", "--format", "{p}\t{l}", "--target", &target];
    let output = cargo().args(words).args(format).output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let linked = linked(&String::from_utf8(output.stdout)?);
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for each in &linked {
        let texts = texts_of(each)?;
        ensure!(!texts.is_empty(), "{} {} comes without the text of its licence", each.name, each.version);
        for text in texts {
            by_text.entry(text).or_default().push(format!("{} {}", each.name, each.version));
        }
    }
    Ok(page(&linked, &by_text).into_bytes())
}

/// Reads the lines of `cargo tree`; our own crates, which have a path, are left out.
fn linked(tree: &str) -> BTreeSet<Linked> {
    let line = |line: &str| {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let (name, version, rest) = (words.next()?, words.next()?.strip_prefix('v')?, words.next());
        let licence = licence.trim_end_matches(" (*)").to_owned();
        let is_ours = rest.is_some_and(|rest| rest.starts_with("(/"));
        (!is_ours).then(|| Linked { name: name.to_owned(), version: version.to_owned(), licence })
    };
    tree.lines().filter_map(line).collect()
}

/// The licences in the source of a crate, as the registry's client has unpacked it.
fn texts_of(linked: &Linked) -> Result<Vec<String>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).context("there is no home directory")?;
    let registries = home.join("registry/src");
    let folder = format!("{}-{}", linked.name, linked.version);
    let sources = fs::read_dir(&registries).with_context(|| registries.display().to_string())?.flatten();
    let Some(source) = sources.map(|each| each.path().join(&folder)).find(|dir| dir.is_dir()) else {
        anyhow::bail!("the source of {folder} is not below {}", registries.display());
    };
    let mut files: Vec<PathBuf> = fs::read_dir(source)?.flatten().map(|each| each.path()).collect();
    files.retain(|file| is_licence(file));
    files.sort();
    files.iter().map(|file| Ok(fs::read_to_string(file)?.replace('\r', "").trim_end().to_owned())).collect()
}

fn is_licence(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let starts = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    file.is_file() && starts.iter().any(|start| name.starts_with(start))
}

fn page(linked: &BTreeSet<Linked>, by_text: &BTreeMap<String, Vec<String>>) -> String {
    let mut page = String::from("Libraries that are linked into Ferrite, and their licences\n\n");
    for each in linked {
        page += &format!("{} {}: {}\n", each.name, each.version, each.licence);
    }
    for (text, crates) in by_text {
        page += &format!("\n{}\n{}\n\n{text}\n", "-".repeat(80), crates.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_crates_and_repetitions_are_left_out() {
        let tree = "ferrite-cli v0.1.0 (/x/crates/cli)\tBSD-3-Clause\nbytes v1.2.3\tMIT\n\nserde v1.0.1\tMIT OR Apache-2.0\n\
                    bytes v1.2.3\tMIT (*)\nserde_derive v1.0.1 (proc-macro)\tMIT\n";
        let names: Vec<String> = linked(tree).iter().map(|each| format!("{} {}", each.name, each.licence)).collect();
        assert_eq!(names, ["bytes MIT", "serde MIT OR Apache-2.0", "serde_derive MIT"]);
    }
}
