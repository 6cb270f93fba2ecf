//! The purity check: pure crates have no clock, sockets, processes, threads or random numbers.
//!
//! Two halves: which crates may depend on which (the levels of ARCHITECTURE.md), and which names of the standard
//! library may stand in a source. Clippy checks the same names by type, with the `clippy.toml` of each pure crate,
//! which must equal `pure-clippy.toml` beside this file. It reads sources and never compiles.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace::root;

/// The allowed dependencies of a crate.
struct Rule {
    name: &'static str,
    /// Crates of this workspace, without the prefix `ferrite-`.
    ours: &'static [&'static str],
    /// Pure: its sources are checked and its foreign dependencies come from [`PURE_FOREIGN`].
    is_pure: bool,
}

const fn rule(name: &'static str, ours: &'static [&'static str], is_pure: bool) -> Rule {
    Rule { name, ours, is_pure }
}

const RULES: [Rule; 14] = [
    rule("types", &[], true),
    rule("wire", &["types"], true),
    rule("router", &["types"], true),
    rule("map", &["types"], true),
    rule("rm", &["types"], true),
    rule("pmi1", &["types"], true),
    rule("core", &["types", "wire", "router", "map", "rm", "pmi1"], true),
    rule("sim", &["types", "wire", "router", "map", "rm", "pmi1", "core"], true),
    rule("pmix-sys", &[], false),
    rule("pmix", &["pmix-sys"], false),
    rule("pmixd", &["pmix-sys", "pmix"], false),
    rule("driver", &["types", "wire", "router", "map", "rm", "pmi1", "core", "client", "pmix-sys", "pmix"], false),
    rule("client", &["types", "wire"], false),
    rule(
        "cli",
        &["types", "wire", "router", "map", "rm", "pmi1", "core", "driver", "client", "pmix-sys", "pmix"],
        false,
    ),
];

/// Crates without any effect of their own.
const PURE_FOREIGN: [&str; 10] = [
    "bytes",
    "crc32fast",
    "postcard",
    "roxmltree",
    "serde",
    "serde_json",
    "strsim",
    "thiserror",
    "tracing",
    "bitflags",
];

/// Paths that no pure source may name. A single word is forbidden wherever it stands as a name.
const FORBIDDEN: [&[&str]; 14] = [
    &["std", "net"],
    &["std", "process"],
    &["std", "fs"],
    &["std", "env"],
    &["std", "thread"],
    &["std", "os"],
    &["Instant"],
    &["SystemTime"],
    &["HashMap"],
    &["HashSet"],
    &["tokio"],
    &["rustix"],
    &["libc"],
    &["nix"],
];

const PURE_CLIPPY: &str = include_str!("pure-clippy.toml");

/// Checks the whole workspace; the error lists every violation.
pub(crate) fn check() -> Result<()> {
    let mut found = Vec::new();
    let crates = root().join("crates");
    for entry in fs::read_dir(&crates)? {
        let dir = entry?.path();
        let Some(name) = dir.file_name().and_then(|n| n.to_str()) else { continue };
        let Ok(manifest) = fs::read_to_string(dir.join("Cargo.toml")) else { continue };
        let Some(rule) = RULES.iter().find(|r| r.name == name) else {
            found.push(format!("crates/{name}: has no rule: add it to xtask/src/purity.rs with its level"));
            continue;
        };
        found.extend(dependency_violations(rule, &manifest));
        if rule.is_pure {
            found.extend(crate_violations(&dir, rule)?);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    bail!("{} violations of purity:\n  {}", found.len(), found.join("\n  "))
}

fn crate_violations(dir: &Path, rule: &Rule) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let clippy = dir.join("clippy.toml");
    // The simulator's binary reads its command line and the time; its library is checked here only.
    if rule.name != "sim" && fs::read_to_string(&clippy).ok().as_deref() != Some(PURE_CLIPPY) {
        found.push(format!("{}: must equal xtask/src/pure-clippy.toml", shown(&clippy)));
    }
    for file in sources(&dir.join("src"))? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        found.extend(source_violations(&text).into_iter().map(|v| format!("{}:{v}", shown(&file))));
    }
    Ok(found)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Returns the library's sources, without binaries and test modules.
fn sources(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if matches!(name, "bin" | "main.rs" | "tests" | "tests.rs") {
            continue;
        }
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn dependency_violations(rule: &Rule, manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in dependencies(manifest) {
        let is_allowed = match name.strip_prefix("ferrite-") {
            Some(ours) => rule.ours.contains(&ours),
            None => !rule.is_pure || PURE_FOREIGN.contains(&name.as_str()),
        };
        if !is_allowed {
            found.push(format!("crates/{}/Cargo.toml: may not depend on {name}", rule.name));
        }
    }
    found
}

/// Names in the `[dependencies]` tables of a manifest; those for tests and builds do not count.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            is_inside = table == "dependencies" || table.ends_with(".dependencies");
            // `[dependencies.name]` is a table of its own.
            if let Some((_, name)) =
                table.split_once("dependencies.").filter(|(head, _)| head.is_empty() || head.ends_with('.'))
            {
                names.push(name.to_owned());
            }
        } else if is_inside && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default().trim_matches('"');
            if !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// A word or a mark of a source, with its line.
#[derive(Debug, Clone, PartialEq)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Violations as `LINE: text`.
fn source_violations(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut group: Vec<Vec<&str>> = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "::" => {}
            // A group of a `use`: every member starts with what stands before the brace.
            "{" if at > 0 && tokens[at - 1].text == "::" => group.push(path.clone()),
            "}" if !group.is_empty() => {
                group.pop();
                path.clear();
            }
            word if is_word(word) => {
                if at == 0 || tokens[at - 1].text != "::" {
                    path = group.last().cloned().unwrap_or_default();
                }
                path.push(word);
                let next = tokens.get(at + 1).map(|t| t.text);
                found.extend(forbidden(&path, next).map(|name| format!("{}: names {name}", token.line)));
            }
            // A group contains no block; this only starts a new path.
            _ => path.clear(),
        }
    }
    found.dedup();
    found
}

/// The forbidden path that ends at the last word of `path`.
fn forbidden(path: &[&str], next: Option<&str>) -> Option<String> {
    let last = *path.last()?;
    FORBIDDEN.iter().find_map(|rule| {
        let hit = match rule {
            // A crate's name is forbidden as the root of a path, a type's name everywhere.
            [word] if word.starts_with(char::is_lowercase) => path.len() == 1 && last == *word && next == Some("::"),
            [word] => last == *word,
            _ => path == *rule,
        };
        hit.then(|| rule.join("::"))
    })
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Splits a source into words and marks; leaves out comments, strings and everything from the test module on.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        all.extend(line_tokens(line).into_iter().map(|text| Token { text, line: number + 1 }));
    }
    all
}

/// The words and marks of one line of a source, without comments and strings.
pub(crate) fn line_tokens(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            break;
        }
        let length = token_length(rest, first);
        let text = &rest[..length];
        if first != '"' && !first.is_whitespace() {
            all.push(text);
        }
        rest = &rest[length..];
    }
    all
}

fn token_length(rest: &str, first: char) -> usize {
    if first.is_alphanumeric() || first == '_' {
        return rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    }
    if first == '"' {
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '"' if !escaped => return at + 1,
                _ => escaped = c == '\\' && !escaped,
            }
        }
        return rest.len();
    }
    if rest.starts_with("::") { 2 } else { first.len_utf8() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_pure() {
        check().unwrap();
    }

    #[test]
    fn a_forbidden_name_is_found_however_it_is_written() {
        for line in [
            "use std::net::TcpStream;",
            "use std::{collections::BTreeMap, fs};",
            "use std::{\n  sync::{Arc, Mutex},\n  net::SocketAddr,\n};",
            "let now = std::time::Instant::now();",
            "use std::time::{Duration, Instant};",
            "let m: HashMap<u8, u8> = HashMap::new();",
            "tokio::spawn(f());",
            "let v = std::env::var(\"X\");",
            "unsafe { libc::getpid() };",
        ] {
            assert!(!source_violations(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn innocent_sources_pass() {
        for line in [
            "use core::net::IpAddr; use std::time::Duration;",
            "// std::fs is forbidden here",
            "let s = \"std::fs::read\";",
            "let net = self.net; match process { process::Kind => env }",
            "use std::{collections::{BTreeMap, BTreeSet}, fmt};\nmod fs {}",
            "fn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }",
        ] {
            assert_eq!(source_violations(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_dependency_on_a_higher_level_is_found() {
        let router = RULES.iter().find(|r| r.name == "router").unwrap();
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nferrite-types.workspace = true\nferrite-core.workspace = true\n\
                        [dependencies.tokio]\nversion = \"1\"\n[dev-dependencies]\nproptest = \"1\"\n";
        let found = dependency_violations(router, manifest);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("ferrite-core") && found[1].contains("tokio"), "{found:?}");
    }

    #[test]
    fn the_clippy_file_of_the_pure_crates_keeps_what_the_root_allows() {
        let own = fs::read_to_string(root().join("clippy.toml")).unwrap();
        for line in own.lines().filter(|l| l.contains('=')) {
            assert!(PURE_CLIPPY.contains(line), "{line}");
        }
    }
}
