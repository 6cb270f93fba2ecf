//! The check of widths: no line of Markdown, and no line of a comment, is wider than 120 columns, which rustfmt sees to
//! for code only.

use anyhow::Result;

use crate::checkout::{self, Texts};

/// `max_width` of rustfmt.toml, counted in characters.
const MOST: usize = 120;

/// Files that programs write.
const GENERATED: [&str; 2] = ["crates/pmix-sys/src/bindings.rs", "docs/man/"];

pub(crate) fn check() -> Result<()> {
    let texts = checkout::texts(|path| Kind::of(path).is_some())?;
    checkout::report("widths", violations(&texts))
}

/// Breaks the lines of a page that are too wide, for what is written by a program.
pub(crate) fn broken(page: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in page.lines() {
        if line.chars().count() <= MOST || is_exempt(Kind::Markdown, line) {
            lines.push(line.to_owned());
            continue;
        }
        let mut last = String::new();
        for word in line.split_whitespace() {
            if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > MOST {
                lines.push(std::mem::take(&mut last));
            }
            last = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
        }
        lines.push(last);
    }
    lines.join("\n")
}

/// The marker by which a file says that a line is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Markdown,
    /// `// ...`
    Rust,
    /// `/* ... */`, on any number of lines
    C,
    /// `# ...`
    Shell,
}

impl Kind {
    fn of(path: &str) -> Option<Kind> {
        if GENERATED.iter().any(|generated| path.starts_with(generated)) {
            return None;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "md" => Some(Kind::Markdown),
            "rs" => Some(Kind::Rust),
            "c" | "h" => Some(Kind::C),
            "sh" => Some(Kind::Shell),
            _ => None,
        }
    }
}

fn violations(texts: &Texts) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in texts {
        let Some(kind) = Kind::of(path) else { continue };
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            let is_text = is_text(kind, line.trim(), &mut inside);
            let width = line.chars().count();
            if is_text && width > MOST && !is_exempt(kind, line) {
                found.push(format!("{path}:{}: {width} columns; break the line at {MOST}", number + 1));
            }
        }
    }
    found
}

/// True for a line that people are to read as text. `inside` is kept for comments of several lines.
fn is_text(kind: Kind, line: &str, inside: &mut bool) -> bool {
    match kind {
        Kind::Markdown => true,
        Kind::Rust => line.starts_with("//"),
        Kind::Shell => line.starts_with('#'),
        Kind::C => {
            let begins = line.starts_with("/*") || line.starts_with("//");
            let is_text = *inside || begins;
            if is_text {
                *inside = !line.starts_with("//") && !line.ends_with("*/");
            }
            is_text
        }
    }
}

/// Rows of tables, and words that cannot be broken.
fn is_exempt(kind: Kind, line: &str) -> bool {
    let is_row = kind == Kind::Markdown && line.trim_start().starts_with('|');
    is_row || line.split_whitespace().any(|word| word.chars().count() > MOST / 2 && word.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(words: &str) -> String {
        words.repeat(MOST / words.len() + 1)
    }

    fn checked(path: &str, text: &str) -> usize {
        violations(&Texts::from([(path.to_owned(), text.to_owned())])).len()
    }

    #[test]
    fn no_line_of_this_repository_is_too_wide() {
        check().unwrap();
    }

    #[test]
    fn a_wide_line_of_text_is_found_in_each_kind_of_file() {
        let words = wide("word ");
        let cases = [
            ("a.md", format!("# {words}\n")),
            ("a.rs", format!("    /// {words}\n")),
            ("a.rs", format!("//! {words}\n")),
            ("a.sh", format!("# {words}\n")),
            ("a.c", format!("/* {words} */\n")),
            ("a.c", format!("/* first\n * {words}\n */\nint f(void);\n")),
        ];
        for (path, text) in cases {
            assert_eq!(checked(path, &text), 1, "{path}: {text}");
        }
    }

    #[test]
    fn code_tables_addresses_and_what_programs_write_may_be_wide() {
        let words = wide("word ");
        let cases = [
            ("a.md", format!("| {words} |\n")),
            ("a.md", format!("<https://example.org/{}>\n", wide("a"))),
            ("a.rs", format!("call(\"{words}\");\n")),
            ("a.c", format!("/* text */\ncall(\"{words}\");\n")),
            ("docs/man/a.md", words.clone()),
            ("a.toml", format!("# {words}\n")),
        ];
        for (path, text) in cases {
            assert_eq!(checked(path, &text), 0, "{path}: {text}");
        }
    }

    #[test]
    fn what_is_broken_is_narrow_and_has_the_same_words() {
        let (words, row) = (wide("word "), format!("| {} |", wide("cell ")));
        let page = broken(&format!("# A page\n\n{words}\n{row}\nend"));
        assert_eq!(checked("a.md", &page), 0, "{page}");
        assert!(page.starts_with("# A page\n\nword word") && page.ends_with(&format!("\n{row}\nend")), "{page}");
        assert_eq!(page.matches("word").count(), words.matches("word").count());
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(checked("a.md", &"\u{e4}".repeat(MOST)), 0);
        assert_eq!(checked("a.md", &"\u{e4}".repeat(MOST + 1)), 1);
    }
}
