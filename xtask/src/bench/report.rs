//! Puts the tables into `docs/benchmarks.md`, each benchmark between marks of its own, and has the pictures follow.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::plot;
use crate::width;
use crate::workspace::root;

/// Runs the inner half of a benchmark: what it prints is shown as it comes, and added to the text.
pub(super) fn follow(command: &mut Command, text: &mut String) -> Result<()> {
    let mut inner = command.stdout(Stdio::piped()).spawn()?;
    for line in BufReader::new(inner.stdout.take().context("no stdout")?).lines() {
        let line = line?;
        println!("{line}");
        text.extend([&line, "\n"]);
    }
    let status = inner.wait()?;
    ensure!(status.success(), "the measurement failed: {status}");
    Ok(())
}

/// Replaces the section `name`; the text around the marks is written by hand and stays.
pub(super) fn write(name: &str, text: &str) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let old = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let new = replaced(&old, name, text).with_context(|| format!("{} has no marks for '{name}'", path.display()))?;
    fs::write(&path, new)?;
    println!("written to {}", path.display());
    plot::write()
}

/// The page with another section `name`; `None` without its marks.
pub(super) fn replaced(old: &str, name: &str, text: &str) -> Option<String> {
    let (start, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = old.split_once(&start)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{start}\n{}\n\n{end}{after}", width::broken(text.trim())))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn only_the_text_between_the_marks_is_replaced() {
        let old = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n";
        assert_eq!(replaced(old, "x", "new\n").unwrap(), "a\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nb\n");
        assert!(replaced(old, "y", "new").is_none());
    }
}
