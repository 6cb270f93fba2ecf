//! The files below the prefix. The same list becomes the archive, the .deb and the .rpm.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::build::Programs;
use super::licences;
use super::release::Release;
use crate::workspace::root;

/// The commands; each is a link to `ferrite`.
pub(super) const COMMANDS: [&str; 7] = ["pdvm", "prte", "prte_info", "prted", "prterun", "prun", "pterm"];

/// The documents that are packed beside the licences.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "SECURITY.md", "GLOSSARY.md"];

/// A file below the prefix.
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) content: Content,
}

/// The kind of a file.
pub(super) enum Content {
    Text(Vec<u8>),
    Program(Vec<u8>),
    /// A link to another file of the same directory.
    Link(&'static str),
}

impl Entry {
    fn text(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: Content::Text(bytes.into()) }
    }

    fn program(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), content: Content::Program(bytes) }
    }

    /// The mode of the installed file.
    pub(super) fn mode(&self) -> u32 {
        match self.content {
            Content::Text(_) => 0o644,
            Content::Program(_) => 0o755,
            Content::Link(_) => 0o777,
        }
    }
}

/// The bytes that an installation takes.
pub(super) fn size(files: &[Entry]) -> usize {
    let len = |entry: &Entry| match &entry.content {
        Content::Text(bytes) | Content::Program(bytes) => bytes.len(),
        Content::Link(_) => 0,
    };
    files.iter().map(len).sum()
}

/// Collects everything that is installed, sorted by path.
pub(super) fn files(release: &Release, programs: &Programs) -> Result<Vec<Entry>> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let mut files = vec![
        Entry::program("bin/ferrite", read(&programs.ferrite)?),
        Entry::program("bin/ferrite-pmixd", read(&programs.pmixd)?),
    ];
    files.extend(COMMANDS.map(|name| Entry { path: format!("bin/{name}"), content: Content::Link("ferrite") }));
    let root = root();
    for page in names(&root.join("docs/man"))? {
        let section = page.rsplit('.').next().unwrap_or_default();
        files.push(Entry::text(format!("share/man/man{section}/{page}"), read(&root.join("docs/man").join(&page))?));
    }
    for script in names(&root.join("crates/cli/completions"))? {
        let bytes = read(&root.join("crates/cli/completions").join(&script))?;
        files.extend(place_of_completion(&script).map(|path| Entry::text(path, bytes)));
    }
    for document in DOCUMENTS {
        files.push(Entry::text(format!("share/doc/ferrite/{document}"), read(&root.join(document))?));
    }
    let unit = "packaging/systemd/ferrite-dvm.service";
    files.push(Entry::text("share/ferrite/ferrite-dvm.service", read(&root.join(unit))?));
    files.push(Entry::text("share/doc/ferrite/LICENSE", read(&root.join("LICENSE"))?));
    files.push(Entry::text("share/doc/ferrite/THIRD-PARTY.txt", licences::texts(release)?));
    for (from, to) in [("ferrite.lua", ".lua"), ("ferrite.tcl", "")] {
        let path = format!("share/modulefiles/ferrite/{}{to}", release.version);
        files.push(Entry::text(path, read(&root.join("packaging/modulefiles").join(from))?));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The names in a directory, sorted.
fn names(dir: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut names: Vec<String> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}

/// The place where the shell of a completion script looks for it.
fn place_of_completion(script: &str) -> Option<String> {
    let (command, shell) = script.rsplit_once('.')?;
    match shell {
        "bash" => Some(format!("share/bash-completion/completions/{command}")),
        "zsh" => Some(format!("share/zsh/site-functions/_{command}")),
        "fish" => Some(format!("share/fish/vendor_completions.d/{command}.fish")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_of_the_product_is_a_link() {
        let manifest = fs::read_to_string(root().join("crates/cli/Cargo.toml")).unwrap();
        let names = manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
        let mut commands: Vec<_> = names.filter(|name| *name != "ferrite").collect();
        commands.sort_unstable();
        assert_eq!(commands, COMMANDS);
    }

    #[test]
    fn completions_are_where_their_shells_look() {
        let place = |script| place_of_completion(script).unwrap_or_default();
        assert_eq!(place("prte_info.bash"), "share/bash-completion/completions/prte_info");
        assert_eq!(place("prun.zsh"), "share/zsh/site-functions/_prun");
        assert_eq!(place("prun.txt"), "");
    }
}
