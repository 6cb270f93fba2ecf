//! The check of CONTRIBUTING's list of files with `unsafe`: each that has it is listed with what it is for, and each
//! that is listed has it.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::checkout::{self, Texts};
use crate::purity;

const PAGE: &str = "CONTRIBUTING.md";
const HEADING: &str = "\n## Unsafe code\n";

pub(crate) fn check() -> Result<()> {
    let texts = checkout::texts(|path| path == PAGE || path.ends_with(".rs"))?;
    checkout::report("the list of files with `unsafe`", violations(&texts))
}

fn violations(texts: &Texts) -> Vec<String> {
    let page = texts.get(PAGE).map_or("", String::as_str);
    let Some((_, section)) = page.split_once(HEADING) else {
        return vec![format!("{PAGE} has no section `{}`", HEADING.trim())];
    };
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: BTreeSet<&str> = rows.map(|(file, _)| file).collect();
    let has = |(file, text): &(&String, &String)| file.ends_with(".rs") && is_unsafe(text);
    let have: BTreeSet<&str> = texts.iter().filter(has).map(|(file, _)| file.as_str()).collect();
    let new = have.difference(&listed);
    let new = new.map(|file| format!("{file} has `unsafe`: do without it, or add the file to the list in {PAGE}"));
    let gone = listed.difference(&have).map(|file| format!("{PAGE}: {file} is listed and has no `unsafe`"));
    new.chain(gone).collect()
}

/// True for a source in which the word stands outside of comments and strings.
fn is_unsafe(text: &str) -> bool {
    text.lines().any(|line| purity::line_tokens(line).contains(&"unsafe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(source: &str) -> Vec<String> {
        let page = "# No unsafe\n\n## Unsafe code\n\n| file | what for |\n|---|---|\n| `a.rs` | it |\n\n## Other\n\n| `b.rs` | no |\n";
        violations(&Texts::from(
            [(PAGE, page), ("a.rs", "unsafe { call() }\n"), ("b.rs", source)]
                .map(|(path, text)| (path.to_owned(), text.to_owned())),
        ))
    }

    #[test]
    fn the_list_of_this_repository_is_right() {
        check().unwrap();
    }

    #[test]
    fn a_file_that_is_not_listed_is_found_wherever_the_word_stands() {
        for source in ["unsafe fn f() {}\n", "fn f() {}\n#[cfg(test)]\nmod tests { fn g() { unsafe { h() } } }\n"] {
            let found = checked(source);
            assert!(found.len() == 1 && found[0].starts_with("b.rs has"), "{found:?}");
        }
    }

    #[test]
    fn comments_strings_and_names_are_no_unsafe_code() {
        assert_eq!(checked("// unsafe\n#![allow(unsafe_code)]\nlet s = \"unsafe\"; // unsafe\n"), Vec::<String>::new());
    }

    #[test]
    fn what_is_listed_and_has_none_is_found() {
        let mut texts = Texts::from([(PAGE.to_owned(), format!("{HEADING}\n| `a.rs` | it |\n"))]);
        texts.insert("a.rs".to_owned(), "fn f() {}\n".to_owned());
        let found = violations(&texts);
        assert!(found.len() == 1 && found[0].contains("a.rs is listed"), "{found:?}");
        assert_eq!(violations(&Texts::new()).len(), 1, "no section");
    }
}
