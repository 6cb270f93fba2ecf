//! The check of the specification (`docs/spec`): each rule is cited by the code and the tests that its row names, each
//! citation names a rule that exists, and nothing cites a document that is not in this repository.
//! `docs/spec/README.md` says what a row and a citation are.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::checkout::{self, Texts};

const PAGES: &str = "docs/spec/";
const INVARIANTS: &str = "crates/sim/src/invariants/";

/// `cargo xtask spec`
pub(crate) fn check() -> Result<()> {
    let texts = checkout::texts(|path| path.ends_with(".rs") || path.ends_with(".md"))?;
    checkout::report("the specification (docs/spec/README.md says how it is made)", violations(&texts))
}

/// One rule.
struct Row<'a> {
    /// Page and line.
    at: String,
    id: &'a str,
    code: &'a str,
    invariant: &'a str,
    test: &'a str,
}

fn violations(texts: &Texts) -> Vec<String> {
    let mut found = Vec::new();
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for (path, text) in texts.iter().filter(|(path, _)| path.starts_with(PAGES)) {
        for row in rows_of(path, text, &mut found) {
            if let Some(first) = rows.get(row.id) {
                found.push(format!("{}: {} is defined at {} as well", row.at, row.id, first.at));
            } else {
                rows.insert(row.id, row);
            }
        }
    }
    for row in rows.values() {
        found.extend(places(row, row.code, false, texts));
        found.extend(places(row, row.test, true, texts));
        found.extend(invariant(row, texts));
    }
    for (path, text) in texts {
        for (line, comment) in remarks(path, text) {
            for id in citations(&comment).into_iter().filter(|id| !rows.contains_key(id)) {
                found.push(format!("{path}:{line}: cites spec {id}, which no row of {PAGES} defines"));
            }
            if let Some(what) = foreign(&comment) {
                found
                    .push(format!("{path}:{line}: cites `{what}`, which nobody can open here: cite a rule of {PAGES}"));
            }
        }
    }
    found
}

/// The rows of a page. What begins like one and is none is a fault.
fn rows_of<'a>(path: &str, text: &'a str, found: &mut Vec<String>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(cells) = line.strip_prefix('|') else { continue };
        let cells: Vec<&str> = cells.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
        if !is_id(cells[0]) {
            continue;
        }
        let at = format!("{path}:{}", number + 1);
        match cells[..] {
            [id, rule, code, invariant, test] if !rule.is_empty() => rows.push(Row { at, id, code, invariant, test }),
            _ => found.push(format!("{at}: a row has five cells: id, rule, code, invariant, test")),
        }
    }
    rows
}

/// Faults of a cell that names functions as `FILE: FUNCTION`.
fn places(row: &Row<'_>, cell: &str, is_test: bool, texts: &Texts) -> Vec<String> {
    let (at, id, what) = (&row.at, row.id, if is_test { "test" } else { "code" });
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return vec![format!("{at}: {id} names no {what}")];
    }
    let fault = |name: &&str| {
        let Some((file, function)) = name.split_once(": ") else {
            return Some(format!("{at}: `{name}` is not of the form `FILE: FUNCTION`"));
        };
        let Some(text) = texts.get(file) else {
            return Some(format!("{at}: {file} does not exist{}", elsewhere(function, texts)));
        };
        let definitions = definitions(text, function);
        if definitions.is_empty() {
            return Some(format!("{at}: {file} has no function {function}{}", elsewhere(function, texts)));
        }
        let fits = |(line, _): &&(usize, String)| is_tested_at(file, text, *line) == is_test;
        if !definitions.iter().any(|definition| fits(&definition)) {
            return Some(format!("{at}: `{name}` is no {what}"));
        }
        let is_cited = definitions.iter().any(|(_, comment)| citations(comment).contains(&id));
        (!is_cited).then(|| format!("{at}: the comment above `{name}` does not cite spec {id}"))
    };
    names.iter().filter_map(fault).collect()
}

/// Returns the new place of a function that has moved.
fn elsewhere(function: &str, texts: &Texts) -> String {
    let has = |(path, text): &(&String, &String)| path.ends_with(".rs") && !definitions(text, function).is_empty();
    let files: Vec<&str> = texts.iter().filter(has).map(|(path, _)| path.as_str()).collect();
    if files.is_empty() { String::new() } else { format!("; {function} is in {}", files.join(", ")) }
}

fn invariant(row: &Row<'_>, texts: &Texts) -> Option<String> {
    let Row { at, id, invariant, .. } = row;
    if let Some(reason) = invariant.strip_prefix('-') {
        return reason.trim().is_empty().then(|| format!("{at}: {id} has no invariant and does not say why"));
    }
    let file = format!("{INVARIANTS}{}.rs", invariant.trim_matches('`'));
    let is_one = texts.get(&file).is_some_and(|text| text.contains("impl Invariant for "));
    (!is_one).then(|| format!("{at}: {file} is no invariant"))
}

/// The lines at which functions of that name are defined, each with the comment above it.
fn definitions(text: &str, function: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let defines = |line: &str| {
        let rest = line.split_once("fn ").filter(|(head, _)| !head.contains("//")).map(|(_, rest)| rest);
        let rest = rest.and_then(|rest| rest.strip_prefix(function));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let comment = |at: usize| {
        let above = lines[..at].iter().rev().skip_while(|line| line.starts_with("#["));
        let mut comment: Vec<&str> = above.map_while(|line| comment_text(line)).collect();
        comment.reverse();
        comment.join(" ")
    };
    lines.iter().enumerate().filter(|(_, line)| defines(line)).map(|(at, _)| (at, comment(at))).collect()
}

/// True for a line of a test: in a file of tests, or behind `#[cfg(test)]`.
fn is_tested_at(file: &str, text: &str, line: usize) -> bool {
    let in_tests = file.starts_with(INVARIANTS) || file.starts_with("xtask/src/scenarios/");
    in_tests
        || file.split('/').any(|part| part == "tests" || part == "tests.rs")
        || text.lines().take(line).any(|line| line.trim() == "#[cfg(test)]")
}

/// The comments of a source, or the lines of a page that stand in no code, each with its line.
fn remarks(path: &str, text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut goes_on) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_fence = path.ends_with(".md") && line.starts_with("```");
        is_code ^= is_fence;
        let remark = match path.ends_with(".md") {
            true => Some(line).filter(|_| !is_code && !is_fence && !line.is_empty()),
            false => comment_text(line),
        };
        match (remark, all.last_mut()) {
            (Some(remark), Some((_, before))) if goes_on => *before = format!("{before} {remark}"),
            (Some(remark), _) => all.push((number + 1, remark.to_owned())),
            (None, _) => {}
        }
        goes_on = remark.is_some();
    }
    all
}

fn comment_text(line: &str) -> Option<&str> {
    Some(line.strip_prefix("//")?.trim_start_matches(['/', '!']).trim())
}

/// The ids behind each word `spec`: one, or several with `, ` or ` and ` between them.
fn citations(text: &str) -> Vec<&str> {
    let mut ids = Vec::new();
    for (at, word) in text.match_indices("spec ") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-/.`".contains(c)) {
            continue;
        }
        let mut rest = &text[at + word.len()..];
        loop {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            if !is_id(&rest[..end]) {
                break;
            }
            ids.push(&rest[..end]);
            rest = &rest[end..];
            let Some(next) = rest.strip_prefix(", ").or_else(|| rest.strip_prefix(" and ")) else { break };
            rest = next;
        }
    }
    ids
}

/// A capital letter and a number.
fn is_id(text: &str) -> bool {
    let mut chars = text.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_uppercase());
    letter && text.len() > 1 && chars.all(|c| c.is_ascii_digit())
}

/// A citation of what the project was made from. Seeds of the simulator are named by their option (`--seed 7`).
fn foreign(text: &str) -> Option<&str> {
    for word in ["seed ", "seeds ", "inventory "] {
        for (at, _) in text.match_indices(word) {
            let number = &text[at + word.len()..];
            let digits = number.bytes().take_while(|c| c.is_ascii_digit() || *c == b',').count();
            let is_part = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
            let is_small = number[..digits].trim_end_matches(',').len() == 1;
            if is_small && !is_part {
                return Some(&text[at..at + word.len() + 1]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "| E1 | It grows. | `crates/a/src/grow.rs: grow` | `fence` | `crates/a/tests/a.rs: it_grows` |\n";
    const CODE: &str = "/// Grows\n/// (spec E1).\n#[must_use]\nfn grow() {}\n";
    const TEST: &str = "/// Growing (spec E1).\n#[test]\nfn it_grows() {}\n";

    fn checked(changes: &[(&str, &str)]) -> Vec<String> {
        let mut texts = Texts::from(
            [
                ("docs/spec/a.md", ROW),
                ("crates/a/src/grow.rs", CODE),
                ("crates/a/tests/a.rs", TEST),
                ("crates/sim/src/invariants/fence.rs", "impl Invariant for Fence {}\n"),
            ]
            .map(|(path, text)| (path.to_owned(), text.to_owned())),
        );
        for (path, text) in changes {
            texts.insert((*path).to_owned(), (*text).to_owned());
        }
        violations(&texts)
    }

    #[test]
    fn the_specification_of_this_repository_holds() {
        check().unwrap();
    }

    #[test]
    fn a_row_whose_functions_cite_it_is_right() {
        assert_eq!(checked(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_has_moved_is_told_with_its_new_place() {
        let moved = ROW.replace("src/grow", "src/old");
        let found = checked(&[("docs/spec/a.md", &moved)]);
        assert!(found.len() == 1, "{found:?}");
        for part in ["docs/spec/a.md:1", "src/old.rs does not exist", "; grow is in crates/a/src/grow.rs"] {
            assert!(found[0].contains(part), "{found:?}");
        }
    }

    #[test]
    fn each_broken_cell_is_one_fault() {
        let cells = [
            (ROW.replace(": grow`", ": shrink`"), "has no function shrink"),
            (ROW.replace("rs: grow`", "rs`"), "not of the form"),
            (ROW.replace("`crates/a/src/grow.rs: grow`", "everywhere"), "names no code"),
            (ROW.replace("`fence`", "`fences`"), "fences.rs is no invariant"),
            (ROW.replace("`fence`", "-"), "does not say why"),
            (ROW.replace("`crates/a/src/grow.rs: grow`", "`crates/a/tests/a.rs: it_grows`"), "is no code"),
            (ROW.replace("`crates/a/tests/a.rs: it_grows`", "`crates/a/src/grow.rs: grow`"), "is no test"),
            (format!("{ROW}{ROW}"), "defined at docs/spec/a.md:1 as well"),
            (format!("{ROW}| E2 | Too few cells. |\n"), "five cells"),
        ];
        for (page, part) in cells {
            let found = checked(&[("docs/spec/a.md", &page)]);
            assert!(found.len() == 1 && found[0].contains(part), "{part}: {found:?}");
        }
    }

    #[test]
    fn a_function_that_does_not_cite_its_rule_is_found() {
        for (path, text) in [("crates/a/src/grow.rs", CODE), ("crates/a/tests/a.rs", TEST)] {
            let found = checked(&[(path, &text.replace("(spec E1)", "(E1)"))]);
            assert!(found.len() == 1 && found[0].contains("does not cite spec E1"), "{found:?}");
        }
        let below = "fn grow() {}\n/// (spec E1)\nfn other() {}\n";
        assert_eq!(checked(&[("crates/a/src/grow.rs", below)]).len(), 1, "it is above another function");
    }

    #[test]
    fn a_citation_of_a_rule_that_is_not_there_is_found_and_what_is_none_passes() {
        for text in [
            "// spec E9\n",
            "/// As it says (spec E1, E9).\n",
            "//! spec E1\n//! and E9\n",
            "//! the\n//! spec\n//! E9\n",
        ] {
            let found = checked(&[("crates/a/src/b.rs", text)]);
            assert!(found.len() == 1 && found[0].contains("cites spec E9"), "{text}: {found:?}");
        }
        let none = "// The L1 cache, E9, job-spec E9, spec e9, spec E9x.\nlet spec = E9; call(\"spec E9\");\n";
        assert_eq!(checked(&[("crates/a/src/b.rs", none)]), Vec::<String>::new());
        let page = "# A page\n\nspec E9\n\n```\nspec E8\n```\n";
        let found = checked(&[("docs/b.md", page)]);
        assert!(found.len() == 1 && found[0].starts_with("docs/b.md:3"), "{found:?}");
    }

    #[test]
    fn documents_that_are_not_here_are_not_cited() {
        for text in
            ["// as seed 3 says\n", "/// (seeds 2 and 3)\n", "//! (reference inventory 1.5)\n", "// of seed\n// 4\n"]
        {
            assert_eq!(checked(&[("crates/a/src/b.rs", text)]).len(), 1, "{text}");
        }
        for text in ["// sim --seed 3\n", "// from seed 1,000,000 on\n", "// a seed is enough\n", "// seed 17\n"] {
            assert_eq!(checked(&[("crates/a/src/b.rs", text)]), Vec::<String>::new(), "{text}");
        }
    }
}
