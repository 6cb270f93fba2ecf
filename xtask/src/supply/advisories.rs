//! Known faults of crates: the list that is kept here, what it says of a version, and how it is written anew from a
//! copy of the RustSec advisory database.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::Locked;
use crate::workspace;

/// The list, from the root of the checkout.
const FILE: &str = "xtask/src/supply/advisories.txt";
/// The head of the list; the rest of it is data.
const HEAD: &str = "\
# Known faults of crates that we depend on, one a line: id, crate, versions without it, title; separated by tabs.
# Versions are comparisons with commas, alternatives with ||; - when there are none.
# `cargo xtask supply update DIR` writes this file anew from a copy of the RustSec advisory database (its directory
# has a `crates` in it), for the crates that are in Cargo.lock then. Do that before a release and when a dependency is added.
";

/// A fault, and the versions that do not have it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Advisory {
    package: String,
    id: String,
    good: Vec<String>,
    title: String,
}

impl fmt::Display for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let good = if self.good.is_empty() { "no version is without it".to_owned() } else { self.good.join(" || ") };
        write!(f, "{} ({}; without it: {good})", self.id, self.title)
    }
}

impl Advisory {
    /// Returns the advisories that are kept here.
    pub(super) fn known() -> Result<Vec<Advisory>> {
        let text = fs::read_to_string(workspace::root().join(FILE))?;
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(|line| Advisory::of_line(line).with_context(|| format!("{FILE}: {line}"))).collect()
    }

    fn of_line(line: &str) -> Result<Advisory> {
        let [id, package, good, title] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("not four parts with tabs between them");
        };
        let good: Vec<String> =
            good.split("||").map(|each| each.trim().to_owned()).filter(|each| each != "-").collect();
        for each in &good {
            ensure!(matches(each, [0, 0, 0]).is_some(), "'{each}' is no range of versions");
        }
        Ok(Advisory { package: package.to_owned(), id: id.to_owned(), good, title: title.to_owned() })
    }

    fn line(&self) -> String {
        let good = if self.good.is_empty() { "-".to_owned() } else { self.good.join(" || ") };
        format!("{}\t{}\t{good}\t{}\n", self.id, self.package, self.title)
    }

    /// True when this version of the crate has the fault, or cannot be understood.
    pub(super) fn concerns(&self, package: &str, version: &str) -> bool {
        let is_good = |version| self.good.iter().any(|range| matches(range, version) == Some(true));
        self.package == package && !parse_version(version).is_some_and(is_good)
    }

    /// A file of the database: TOML in front of a text. `None` when it was withdrawn or is only a remark.
    fn of_database(text: &str) -> Option<Advisory> {
        let (_, rest) = text.split_once("```toml")?;
        let (front, body) = rest.split_once("\n```")?;
        let value = |name: &str| {
            let line = front.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))?;
            Some(line.trim().trim_matches('"').to_owned())
        };
        if value("withdrawn").is_some() || value("informational").as_deref() == Some("notice") {
            return None;
        }
        let title = body.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("no title").replace('\t', " ");
        let good = [list(front, "patched"), list(front, "unaffected")].concat();
        Some(Advisory { package: value("package")?, id: value("id")?, good, title })
    }
}

/// The strings of a list that may go over several lines.
fn list(front: &str, name: &str) -> Vec<String> {
    let starts = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='));
    let Some(first) = front.lines().find(starts) else { return Vec::new() };
    let from = first.as_ptr() as usize - front.as_ptr() as usize;
    let text = front[from..].split_once(']').map_or("", |(list, _)| list);
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Writes the list anew; how many there are.
pub(super) fn update(database: &Path, locked: &[Locked]) -> Result<usize> {
    let crates = database.join("crates");
    ensure!(crates.is_dir(), "{} has no directory 'crates'", database.display());
    let names: BTreeSet<&str> =
        locked.iter().filter(|each| each.source.is_some()).map(|each| each.name.as_str()).collect();
    let mut found = BTreeSet::new();
    for name in names {
        // Most crates have none.
        for entry in fs::read_dir(crates.join(name)).into_iter().flatten() {
            found.extend(Advisory::of_database(&fs::read_to_string(entry?.path())?));
        }
    }
    let lines: String = found.iter().map(Advisory::line).collect();
    fs::write(workspace::root().join(FILE), HEAD.to_owned() + &lines)?;
    Ok(found.len())
}

type Version = [u64; 3];

/// Up to three numbers; what follows them is left out.
fn parse_version(text: &str) -> Option<Version> {
    let numbers = text.split(['-', '+']).next()?.split('.');
    let mut version = [0; 3];
    for (index, number) in numbers.enumerate() {
        *version.get_mut(index)? = number.trim().parse().ok()?;
    }
    Some(version)
}

/// True for a version in a range such as `>=1.2, <2`; `None` when it is no range.
fn matches(range: &str, version: Version) -> Option<bool> {
    let one = |comparison: &str| {
        let comparison = comparison.trim();
        let number = comparison.trim_start_matches(['<', '>', '=', '^']);
        let bound = parse_version(number)?;
        Some(match comparison.strip_suffix(number)?.trim_end() {
            ">=" => version >= bound,
            ">" => version > bound,
            "<=" => version <= bound,
            "<" => version < bound,
            "=" => version == bound,
            "^" | "" => version >= bound && version < next_incompatible(bound),
            _ => return None,
        })
    };
    range.split(',').map(one).try_fold(true, |all, one| Some(all & one?))
}

fn next_incompatible([major, minor, patch]: Version) -> Version {
    match (major, minor) {
        (0, 0) => [0, 0, patch + 1],
        (0, minor) => [0, minor + 1, 0],
        (major, _) => [major + 1, 0, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_a_fault_unless_it_is_in_one_of_the_ranges() {
        let fault = Advisory::of_line("R-1\ta\t>=1.8.4, <1.9 || >=1.13.1 || ^0.2.3\tA title").unwrap();
        for good in ["1.8.4", "1.8.9", "1.13.1", "2.0.0", "0.2.9"] {
            assert!(!fault.concerns("a", good), "{good}");
        }
        for bad in ["1.8.3", "1.9.0", "1.13.0", "0.3.0", "0.2.2", "odd"] {
            assert!(fault.concerns("a", bad), "{bad}");
        }
        assert!(!fault.concerns("b", "1.0.0"));
        assert!(Advisory::of_line("R-2\ta\t-\tUnmaintained").unwrap().concerns("a", "9.9.9"));
        assert!(Advisory::of_line("R-3\ta\t~1\tOdd").is_err() && Advisory::of_line("R-3 a").is_err());
    }

    #[test]
    fn files_of_the_database_become_lines_that_are_read_again() {
        let text = "```toml\n[advisory]\nid = \"RUSTSEC-2021-0124\"\npackage = \"tokio\"\ndate = \"2021-11-16\"\n\n[versions]\n\
            patched = [\n    \">= 1.8.4, < 1.9.0\",\n    \">= 1.13.1\",\n]\nunaffected = [\"<0.1.14\"]\n```\n\n# Data race\n\nText.\n";
        let found = Advisory::of_database(text).unwrap();
        assert_eq!(found.good, [">= 1.8.4, < 1.9.0", ">= 1.13.1", "<0.1.14"]);
        assert_eq!(Advisory::of_line(found.line().trim_end()).unwrap(), found);
        assert!(found.concerns("tokio", "1.9.0") && !found.concerns("tokio", "1.54.1"));
        assert_eq!(Advisory::of_database(&text.replace("date =", "withdrawn =")), None);
    }

    #[test]
    fn the_list_can_be_read() {
        assert!(Advisory::known().unwrap().len() > 20);
    }
}
