//! The check of the wings of the head against their page: at most a third of the functions of all wings are visible
//! outside of their own wing, and every function that the tables of the page name is one of these.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::checkout::{self, Texts};

const HEAD: &str = "crates/core/src/head/";
const PAGE: &str = "docs/design/wings.md";

pub(crate) fn check() -> Result<()> {
    let texts = checkout::texts(|path| path == PAGE || (path.starts_with(HEAD) && path.ends_with(".rs")))?;
    checkout::report("the wings of the head", violations(&texts))
}

/// The functions of one wing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wing<'a> {
    /// Names of the functions that code outside of the wing can call.
    visible: Vec<&'a str>,
    all: usize,
}

fn violations(texts: &Texts) -> Vec<String> {
    let mut wings: BTreeMap<&str, Wing<'_>> = BTreeMap::new();
    for (path, text) in texts {
        let Some((wing, file)) = path.strip_prefix(HEAD).and_then(|path| path.split_once('/')) else { continue };
        let wing = wings.entry(wing).or_default();
        for (name, is_visible) in functions(text, file == "mod.rs") {
            wing.all += 1;
            wing.visible.extend(is_visible.then_some(name));
        }
    }
    let all: usize = wings.values().map(|wing| wing.all).sum();
    let visible: usize = wings.values().map(|wing| wing.visible.len()).sum();
    let mut found = Vec::new();
    if visible * 3 > all {
        let each: Vec<String> =
            wings.iter().map(|(name, wing)| format!("{name} {} of {}", wing.visible.len(), wing.all)).collect();
        found.push(format!(
            "{visible} of {all} functions are visible outside of their wing, more than a third: give the wings fewer \
             and richer verbs ({})",
            each.join(", ")
        ));
    }
    let page = texts.get(PAGE).map_or("", String::as_str);
    found.extend(named(page).filter_map(|(wing, name)| {
        let is_there = wings.get(wing).is_some_and(|wing| wing.visible.contains(&name));
        (!is_there).then(|| format!("{PAGE}: the table of {wing} names {name}, which no other wing can call"))
    }));
    found
}

/// The functions of a file before its tests, each with whether code outside of the wing can call it.
fn functions(text: &str, is_top: bool) -> impl Iterator<Item = (&str, bool)> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    lines.filter_map(move |line| {
        let (visibility, rest) = match line.trim_start().strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest[1..].split_once(") ")?,
            Some(rest) => ("", rest.trim_start()),
            None => ("self", line.trim_start()),
        };
        let rest = rest.strip_prefix("const ").unwrap_or(rest).strip_prefix("fn ")?;
        let name = rest.split(|sign: char| !(sign.is_alphanumeric() || sign == '_')).next()?;
        let is_visible = match visibility {
            "self" => false,
            // The module above the top of a wing is the head.
            "super" => is_top,
            _ => true,
        };
        Some((name, is_visible))
    })
}

/// The functions in the first cells of the tables of a page, with the wing under whose heading they stand.
fn named(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let sections = page.split("\n## `").skip(1).filter_map(|section| section.split_once('`'));
    sections.flat_map(|(wing, section)| {
        let section = section.split("\n## ").next().unwrap_or_default();
        let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
        cells.flat_map(move |cell| {
            let names = cell.split(", ").map(|name| name.trim_matches('`'));
            names.map(move |name| (wing, name.rsplit("::").next().unwrap_or(name)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        violations(&files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn the_wings_of_this_repository_are_as_their_page_says() {
        check().unwrap();
    }

    #[test]
    fn functions_are_visible_by_their_mark_and_by_their_place() {
        let text = "pub(in crate::head) fn a() {}\n    pub(super) fn b() {}\nfn c() {}\npub fn d() {}\n\
                    #[cfg(test)]\nmod tests {\n    pub fn e() {}\n}\n";
        let visible = |is_top| -> Vec<&str> {
            functions(text, is_top).filter(|(_, is_visible)| *is_visible).map(|(name, _)| name).collect()
        };
        assert_eq!(visible(false), ["a", "d"]);
        assert_eq!(visible(true), ["a", "b", "d"]);
        assert_eq!(functions(text, false).count(), 4);
    }

    #[test]
    fn more_than_a_third_of_visible_functions_is_a_fault() {
        let one = "pub(in crate::head) fn a() {}\nfn b() {}\n";
        let file = "crates/core/src/head/dvm/end.rs";
        assert_eq!(found(&[(file, &format!("{one}fn c() {{}}\n"))]), Vec::<String>::new());
        let [fault] = &found(&[(file, one)])[..] else { panic!("one fault") };
        assert!(fault.starts_with("1 of 2 functions") && fault.contains("dvm 1 of 2"), "{fault}");
    }

    #[test]
    fn a_table_names_only_what_other_wings_can_call() {
        let code = "pub(in crate::head) fn a() {}\nfn b() {}\nfn c() {}\n";
        let page = "# Wings\n\n## `dvm`: the DVM\n\n| method | called by | it |\n|---|---|---|\n\
                    | `Dvm::a`, `b` | jobs | does |\n\n## What flows\n\n| `c` | x |\n";
        let faults = found(&[("crates/core/src/head/dvm/end.rs", code), (PAGE, page)]);
        assert_eq!(faults, ["docs/design/wings.md: the table of dvm names b, which no other wing can call"]);
    }
}
