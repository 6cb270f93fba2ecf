//! The check of ARCHITECTURE.md against the tree: the crates of its table, the modules of its list, and every path of
//! code that it names are there; every crate, and every module of a directory that it lists, is listed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::checkout::{self, Texts};

const PAGE: &str = "ARCHITECTURE.md";
/// The text before the list of modules, and the directory that the list is about.
const LISTS: [(&str, &str); 1] = [("Inside `core`:\n\n```\n", "crates/core/src")];

pub(crate) fn check() -> Result<()> {
    let texts = checkout::texts(|path| path == PAGE || path.ends_with(".rs") || path.ends_with("README.md"))?;
    checkout::report("the lists of ARCHITECTURE.md", violations(&texts))
}

fn violations(texts: &Texts) -> Vec<String> {
    let Some(page) = texts.get(PAGE) else { return vec![format!("{PAGE} is not there")] };
    let mut found = crates(page, texts);
    for (before, root) in LISTS {
        match page.split_once(before) {
            Some((_, list)) => found.extend(modules(list.split("```").next().unwrap_or_default(), root, texts)),
            None => found.push(format!("{PAGE} has no list of the modules of {root}")),
        }
    }
    found.extend(named(page).filter_map(|path| missing(&path, texts)));
    found
}

/// The table of crates, `| level | crate | what it is |`.
fn crates(page: &str, texts: &Texts) -> Vec<String> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| level | crate |")).skip(2);
    let cells = rows.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(2));
    let listed: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let of_crates = texts.keys().filter_map(|path| path.strip_prefix("crates/")?.split('/').next());
    let there: BTreeSet<&str> = of_crates.chain(["xtask"]).collect();
    let gone =
        listed.difference(&there).map(|name| format!("{PAGE}: its table has a crate {name}, which is not there"));
    let new = there.difference(&listed).map(|name| format!("{PAGE}: its table of crates lacks {name}"));
    gone.chain(new).collect()
}

/// A list of modules: `FILE.rs...` with a description behind it, or `DIRECTORY/` and the words that are its modules, on
/// as many lines as there are, which begin with a blank from the second one on.
fn modules(list: &str, root: &str, texts: &Texts) -> Vec<String> {
    let mut listed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::from([(root.to_owned(), BTreeSet::new())]);
    let mut dir = root.to_owned();
    for line in list.lines() {
        let mut words = line.split([' ', ';']).filter(|word| !word.is_empty()).peekable();
        if line.ends_with(".rs") || words.peek().is_some_and(|word| word.ends_with(".rs")) {
            let files = words.map_while(|word| word.strip_suffix(".rs"));
            listed.entry(root.to_owned()).or_default().extend(files);
            continue;
        }
        if let Some(name) = words.next_if(|word| word.ends_with('/')) {
            let name = name.trim_end_matches('/');
            dir = format!("{root}/{name}");
            let (above, last) = name
                .rsplit_once('/')
                .map_or((root.to_owned(), name), |(above, last)| (format!("{root}/{above}"), last));
            listed.entry(above).or_default().insert(last);
        }
        listed.entry(dir.clone()).or_default().extend(words);
    }
    let mut found = Vec::new();
    for (dir, listed) in &listed {
        let there = modules_of(dir, texts);
        found.extend(listed.difference(&there).map(|name| format!("{PAGE}: {dir} has no module {name}")));
        found.extend(there.difference(listed).map(|name| format!("{PAGE}: its list lacks module {name} of {dir}")));
    }
    found
}

/// The modules of a directory, whether they are files or directories.
fn modules_of<'a>(dir: &str, texts: &'a Texts) -> BTreeSet<&'a str> {
    let below = texts.keys().filter_map(|path| path.strip_prefix(dir)?.strip_prefix('/'));
    let name = |rest: &'a str| rest.split_once('/').map_or_else(|| rest.strip_suffix(".rs"), |(name, _)| Some(name));
    below.filter_map(name).filter(|name| !matches!(*name, "mod" | "lib" | "main" | "tests" | "bin")).collect()
}

/// Returns the paths of this repository in code spans, each path of a group separately.
fn named(page: &str) -> impl Iterator<Item = String> {
    let text: String = page.split("\n```").step_by(2).collect::<Vec<_>>().join(" ").replace('\n', " ");
    let spans: Vec<String> = text.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    spans.into_iter().flat_map(|span| match span.split_once('{') {
        Some((head, tail)) if head.ends_with("::") => {
            tail.trim_end_matches('}').split(", ").map(|last| format!("{head}{last}")).collect()
        }
        _ => vec![span],
    })
}

/// Returns an error for a path of this repository that does not exist: `crate::module::Item`, `crate/module.rs`, or one
/// from the root.
fn missing(path: &str, texts: &Texts) -> Option<String> {
    let fault = || Some(format!("{PAGE}: `{path}` is not there"));
    let exists = |file: &str| texts.contains_key(file);
    if path.contains(' ') {
        return None;
    }
    if let Some((first, rest)) = path.split_once('/') {
        let is_crate = texts.keys().any(|file| file.starts_with(&format!("crates/{first}/src/")));
        let (is_root, is_text) =
            (matches!(first, "crates" | "docs" | "xtask"), path.ends_with(".rs") || path.ends_with(".md"));
        let there = exists(path) || exists(&format!("crates/{first}/src/{rest}"));
        return if is_text && (is_root || is_crate) && !there { fault() } else { None };
    }
    let (first, rest) = path.split_once("::")?;
    let mut dir = format!("crates/{}/src", first.replace('_', "-"));
    let mut file = format!("{dir}/lib.rs");
    if !texts.keys().any(|file| file.starts_with(&dir)) {
        return None;
    }
    for part in rest.split("::") {
        dir = format!("{dir}/{part}");
        if let Some(next) = [format!("{dir}.rs"), format!("{dir}/mod.rs")].into_iter().find(|file| exists(file)) {
            file = next;
        } else {
            // The word is no module, so it must be an item of the last module or of one below it.
            let below =
                format!("{}/", file.trim_end_matches("/mod.rs").trim_end_matches(".rs").trim_end_matches("/lib"));
            let may_have = |(name, _): &(&String, &String)| **name == file || name.starts_with(&below);
            let has = texts.iter().filter(may_have).any(|(_, text)| defines(text, part));
            return if has { None } else { fault() };
        }
    }
    None
}

fn defines(text: &str, item: &str) -> bool {
    let is_defined = |kind: &str| {
        text.match_indices(&format!("{kind} {item}")).any(|(at, found)| {
            let next = text[at + found.len()..].chars().next();
            next.is_none_or(|c| !c.is_alphanumeric() && c != '_')
        })
    };
    ["struct", "enum", "trait", "fn", "const", "type"].into_iter().any(is_defined)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| level | crate | what it is |\n|---|---|---|\n| 1 | `core` | a |\n| 3 | `pmix-sys`, `pmix` | b |\n| - | `xtask` | c |\n";
    const LIST: &str = "a.rs b.rs   what they are\nhead/   one two;\n        three\nhead/sub/  four\n";

    fn checked(list: &str, text: &str, table: &str) -> Vec<String> {
        let page = format!("{table}\nInside `core`:\n\n```\n{list}```\n{text}\n");
        let files =
            ["a", "b", "lib", "head/mod", "head/one", "head/two/deep", "head/three", "head/sub/four", "head/sub/mod"];
        let mut texts: Texts =
            files.map(|file| (format!("crates/core/src/{file}.rs"), "pub fn own() {}".to_owned())).into();
        texts.insert("crates/pmix-sys/src/lib.rs".to_owned(), "struct Padded;".to_owned());
        texts.insert("crates/pmix/README.md".to_owned(), String::new());
        texts.insert(PAGE.to_owned(), page);
        violations(&texts)
    }

    #[test]
    fn the_lists_of_this_repository_are_right() {
        check().unwrap();
    }

    #[test]
    fn lists_that_fit_the_tree_pass() {
        let text = "`core::a`, `core::head::{one, three}`, `core/head/one.rs`, `crates/pmix/README.md`, `pmix_sys::Padded`, `core::a::own`, \
                    `std::fs`, `and/or`, `x::y`";
        assert_eq!(checked(LIST, text, TABLE), Vec::<String>::new());
    }

    #[test]
    fn each_difference_is_one_fault() {
        let cases = [
            (LIST.replace("b.rs", ""), "", TABLE.to_owned(), "lacks module b of crates/core/src"),
            (LIST.replace("b.rs", "b.rs c.rs"), "", TABLE.to_owned(), "crates/core/src has no module c"),
            (LIST.replace("three", ""), "", TABLE.to_owned(), "lacks module three of crates/core/src/head"),
            (LIST.replace("four", "four five"), "", TABLE.to_owned(), "crates/core/src/head/sub has no module five"),
            (LIST.to_owned(), "", TABLE.replace(", `pmix`", ""), "lacks pmix"),
            (LIST.to_owned(), "", TABLE.replace("`xtask`", "`xtask` `old`"), "a crate old, which is not there"),
            (LIST.to_owned(), "`core::head::{one, gone}`", TABLE.to_owned(), "`core::head::gone` is not there"),
            (LIST.to_owned(), "`core::a::Gone`", TABLE.to_owned(), "`core::a::Gone` is not there"),
            (LIST.to_owned(), "`core/gone.rs`", TABLE.to_owned(), "`core/gone.rs` is not there"),
            (LIST.to_owned(), "`crates/pmix/GONE.md`", TABLE.to_owned(), "`crates/pmix/GONE.md` is not there"),
        ];
        for (list, text, table, part) in cases {
            let found = checked(&list, text, &table);
            assert!(found.len() == 1 && found[0].contains(part), "{part}: {found:?}");
        }
    }
}
