//! `cargo xtask book`: lays the book's source in `target/book-src`, checks its links, and builds it with mdBook where
//! that is installed.
//!
//! The chapters are `docs/book/src`. Behind them stand the reference pages, which are made from the code: the man pages
//! (options, parameters) by mandoc, and the pages of `docs`. The check of the links needs no mdBook and covers README
//! and every page of `docs` as well.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::args::Args;
use crate::checkout;
use crate::runner::{self, announce, step};
use crate::sequence;
use crate::workspace::{root, target, which};

/// The pages of `docs` that belong to the book.
const PAGES: [(&str, &str); 9] = [
    ("mpirun.md", "Options of Open MPI's mpirun"),
    ("refused-options.md", "Refused options"),
    ("maps.md", "Maps and their refusals"),
    ("pdvm-json.md", "The JSON of pdvm"),
    ("service.md", "The service: JSON lines"),
    ("resource-managers.md", "Resource managers"),
    ("debugging.md", "Debugging"),
    ("benchmarks.md", "Benchmarks"),
    ("pmix-programs.md", "Programs of libpmix"),
];

/// Longest time in which mandoc writes a page.
const LIMIT: Duration = Duration::from_secs(20);

/// `cargo xtask book`
pub(crate) fn main(args: Args) -> Result<()> {
    args.finish()?;
    announce("links");
    check_links()?;
    let source = target().join("book-src");
    lay(&source)?;
    let Some(mdbook) = which("mdbook") else {
        println!("book: laid in {}; mdbook is not installed, so no pages are made", source.display());
        return Ok(());
    };
    step("mdbook", Command::new(mdbook).arg("build").arg(&source).arg("--dest-dir").arg(target().join("book")))?;
    println!("book: {}", target().join("book/index.html").display());
    Ok(())
}

/// Lays chapters, reference and pictures.
fn lay(source: &Path) -> Result<()> {
    if source.exists() {
        fs::remove_dir_all(source)?;
    }
    let (docs, pages) = (root().join("docs"), source.join("src"));
    for dir in ["reference", "images"] {
        fs::create_dir_all(pages.join(dir))?;
    }
    fs::copy(docs.join("book/book.toml"), source.join("book.toml"))?;
    let mut summary = String::new();
    for file in listed(&docs.join("book/src"))? {
        let text = moved(&fs::read_to_string(docs.join("book/src").join(&file))?);
        let text = with_pictures(&text, file.trim_end_matches(".md"), |name, svg| {
            Ok(fs::write(pages.join("images").join(name), svg)?)
        })
        .with_context(|| format!("docs/book/src/{file}"))?;
        if file == "SUMMARY.md" { summary = text } else { fs::write(pages.join(&file), text)? }
    }
    for image in listed(&docs.join("images"))? {
        fs::copy(docs.join("images").join(&image), pages.join("images").join(&image))?;
    }
    summary += "\n# Reference\n\n";
    for (file, title) in PAGES {
        fs::write(pages.join("reference").join(file), of_docs(&fs::read_to_string(docs.join(file))?))?;
        summary += &format!("- [{title}](reference/{file})\n");
    }
    for page in listed(&docs.join("man"))? {
        let Some(text) = manual(&docs.join("man").join(&page))? else { continue };
        let name = format!("reference/{page}.md");
        fs::write(pages.join(&name), text)?;
        summary += &format!("- [{page}]({name})\n");
    }
    fs::write(pages.join("SUMMARY.md"), summary)?;
    Ok(())
}

/// Replaces the sequence diagrams of a chapter by links to pictures, which it passes on with their names.
fn with_pictures(text: &str, chapter: &str, mut write: impl FnMut(&str, String) -> Result<()>) -> Result<String> {
    let (mut out, mut rest, mut count) = (String::new(), text, 0);
    while let Some((before, block)) = rest.split_once("```mermaid\n") {
        let (block, after) = block.split_once("```").context("a block of Mermaid has no end")?;
        out += before;
        if sequence::is_one(block) {
            count += 1;
            let name = format!("{chapter}-{count}.svg");
            write(&name, sequence::drawn(block)?)?;
            out += &format!("![Sequence {count} of this page](images/{name})");
        } else {
            out += &format!("```mermaid\n{block}```");
        }
        rest = after;
    }
    Ok(out + rest)
}

/// A man page as text in a block of Markdown; `None` without mandoc, which writes no Markdown of such pages itself.
fn manual(page: &Path) -> Result<Option<String>> {
    let Some(mandoc) = which("mandoc") else { return Ok(None) };
    let outcome = runner::run(Command::new(mandoc).args(["-T", "utf8", "-O", "width=78"]).arg(page), LIMIT)?;
    anyhow::ensure!(outcome.is_success(), "mandoc {}: {}", page.display(), outcome.tail());
    Ok(Some(format!("````text\n{}````\n", without_overstrikes(&outcome.stdout))))
}

/// Takes out what makes letters bold on a printer: a letter, a step back, the letter again.
fn without_overstrikes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{8}' => drop(plain.pop()),
            letter => plain.push(letter),
        }
    }
    plain
}

fn listed(dir: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut names: Vec<String> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Turns the links of a chapter to other pages of the checkout into links of the book, or into their texts when the
/// book does not have the page.
fn moved(chapter: &str) -> String {
    rewritten(chapter, |to| {
        let in_docs = to.strip_prefix("../../")?;
        if in_docs.starts_with("images/") {
            return Some(in_docs.to_owned());
        }
        Some(if is_of_book(in_docs) { format!("reference/{in_docs}") } else { String::new() })
    })
}

/// The same for a page of `docs`, which stands in `reference`.
fn of_docs(page: &str) -> String {
    rewritten(page, |to| {
        let is_plain = !to.starts_with("http") && !to.starts_with('#');
        let kept = is_of_book(to) || to.starts_with("images/");
        (is_plain && !kept).then(String::new)
    })
}

fn is_of_book(to: &str) -> bool {
    let file = to.split('#').next().unwrap_or_default();
    PAGES.iter().any(|(page, _)| *page == file)
}

/// Replaces the targets of links; an empty one makes the link plain text, `None` keeps it.
fn rewritten(page: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some(at) = rest.find("](") {
        let end = rest[at..].find(')').map_or(rest.len(), |len| at + len);
        let to = rest.get(at + 2..end).unwrap_or_default();
        match change(to) {
            Some(new) if new.is_empty() => {
                let open = rest[..at].rfind('[').unwrap_or(at);
                out += &rest[..open];
                out += rest.get(open + 1..at).unwrap_or_default();
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            new => {
                out += &rest[..at];
                out += &format!("]({}", new.as_deref().unwrap_or(to));
                rest = &rest[end..];
            }
        }
    }
    out + rest
}

/// Fails when a link of README, the book or `docs` names a file that is not there.
pub(crate) fn check_links() -> Result<()> {
    let is_page = |path: &str| path.ends_with(".md") && !path.starts_with("crates/");
    let mut broken = Vec::new();
    for (path, text) in checkout::texts(is_page)? {
        for to in links(&text) {
            let file = resolved(&path, to);
            if !root().join(&file).exists() {
                broken.push(format!("{path}: {to} is not there"));
            }
        }
    }
    checkout::report("links", broken)
}

/// The targets of links to files, without the part behind `#`. Text between backticks has none.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let targets = prose.flat_map(|prose| prose.split("](").skip(1));
    let files = targets.filter_map(|rest| rest.split(')').next()?.split('#').next());
    files.filter(|to| !to.is_empty() && !to.contains(':') && !to.contains(['`', ' ', '\n'])).collect()
}

fn resolved(page: &str, to: &str) -> PathBuf {
    let dir = Path::new(page).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for part in dir.join(to).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_of_this_repository_leads_to_a_file() {
        check_links().unwrap();
    }

    #[test]
    fn sequence_diagrams_of_chapters_become_pictures() {
        let chapter = "a\n```mermaid\nsequenceDiagram\n  participant A\n  Note over A: x\n```\nb\n";
        let mut names = Vec::new();
        let laid = with_pictures(chapter, "c", |name, svg| {
            names.push(name.to_owned());
            assert!(svg.contains("</svg>"));
            Ok(())
        });
        assert_eq!(
            (laid.unwrap().as_str(), names),
            ("a\n![Sequence 1 of this page](images/c-1.svg)\nb\n", vec!["c-1.svg".into()])
        );
    }

    #[test]
    fn the_diagrams_of_this_book_can_be_drawn() {
        let pages = checkout::texts(|path| path.starts_with("docs/book/src/")).unwrap();
        for (path, text) in pages {
            with_pictures(&text, "x", |_, _| Ok(())).unwrap_or_else(|error| panic!("{path}: {error:#}"));
        }
    }

    #[test]
    fn bold_letters_of_manual_pages_become_plain() {
        assert_eq!(without_overstrikes("N\u{8}NA\u{8}A _\u{8}x"), "NA x");
    }

    #[test]
    fn links_are_found_in_prose_and_not_in_code() {
        let text =
            "see [a](x/a.md#part), [web](https://e.org) and [here](#below)\n```sh\nx=[](no.md)\n```\n![p](p.svg)";
        assert_eq!(links(text), ["x/a.md", "p.svg"]);
        assert_eq!(resolved("docs/book/src/a.md", "../../mpirun.md"), Path::new("docs/mpirun.md"));
    }

    #[test]
    fn links_of_chapters_lead_to_pages_of_the_book_or_become_text() {
        let chapter = "[m](../../mpirun.md#x), ![i](../../images/map.svg), [S](../../../SECURITY.md), [n](dvm.md).";
        assert_eq!(moved(chapter), "[m](reference/mpirun.md#x), ![i](images/map.svg), S, [n](dvm.md).");
        assert_eq!(of_docs("[a](spec/README.md) [b](mpirun.md) [c](#d)"), "a [b](mpirun.md) [c](#d)");
    }
}
