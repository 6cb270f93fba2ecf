//! `cargo xtask documented`: runs the commands that README and the book show to users, as they stand there.
//!
//! The blocks marked `sh` of a page are one script, which stops at the first command that fails. What cannot be run
//! anywhere (an installation, a site's nodes) is in blocks marked `console`; they are counted in the output.
//!
//! A table below `<!-- each row: prterun {} true -->` belongs to the script as well: each row is a command, in which
//! the code of the second cell takes the place of `{}`. So a table of options cannot promise what the programs refuse.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::checkout;
use crate::programs::{Mpi, mpi_program};
use crate::runner;
use crate::setup::{self, Need};
use crate::workspace::{bin_dir, root};

/// Longest time for the commands of one page.
const LIMIT: Duration = Duration::from_secs(120);

/// Prepares what the pages take for granted: `./my_mpi_program`, the Python package, and no DVM of the user. A DVM that
/// a page leaves running ends with the script.
const BEFORE: &str = r#"set -eu
trap 'pterm > /dev/null 2>&1 || true' EXIT
cp "$MPI_PROGRAM" my_mpi_program
"#;

/// `cargo xtask documented [--no-build]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let no_build = args.flag("--no-build");
    args.finish()?;
    setup::ensure_installed(Need::Nodes)?;
    if !no_build {
        runner::build_product()?;
    }
    run().map(|_| ())
}

/// Runs the commands of all pages; returns the number of pages.
pub(crate) fn run() -> Result<usize> {
    let hello = mpi_program("hello", Mpi::OpenMpi4)?;
    let pages = checkout::texts(|path| path == "README.md" || is_of_book(path))?;
    let scripts: BTreeMap<&String, Blocks> = pages.iter().map(|(path, text)| (path, blocks(text))).collect();
    let mut failures = Vec::new();
    for (path, page) in scripts.iter().filter(|(_, page)| !page.script.is_empty()) {
        let dir = tempfile::tempdir()?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{BEFORE}{}", page.script)).current_dir(dir.path()).env("MPI_PROGRAM", &hello);
        let path_of_shell = env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path_of_shell}", bin_dir().display())).env("TMPDIR", dir.path());
        command.env("PYTHONPATH", root().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
        // The pages are for users; tests often run as root.
        command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let outcome = runner::run(&mut command, LIMIT)?;
        println!("{path}: {} blocks and {} rows run, {} only shown", page.run, page.rows, page.shown);
        if !outcome.is_success() {
            let shown = outcome.tail();
            failures.push(format!("{path}: a command failed ({:?})\n    {shown}", outcome.code()));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(scripts.len())
}

fn is_of_book(path: &str) -> bool {
    path.starts_with("docs/book/src/") && path.ends_with(".md")
}

/// The commands of a page.
#[derive(Debug, Default, PartialEq)]
struct Blocks {
    script: String,
    /// Blocks in the script, rows of tables there, and blocks that are not run.
    run: usize,
    rows: usize,
    shown: usize,
}

/// Collects the blocks of a page, and the rows of its tables that are commands. The last of them that the script names
/// is the one that has failed.
fn blocks(page: &str) -> Blocks {
    let mut blocks = Blocks::default();
    let mut is_inside = false;
    let mut row_command = None;
    for (number, line) in page.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        match line.strip_prefix("```") {
            Some("sh") => {
                is_inside = true;
                blocks.run += 1;
                let _ = writeln!(blocks.script, "echo 'block of line {number}' >&2");
            }
            Some("console") => blocks.shown += 1,
            Some(_) => is_inside = false,
            None if is_inside => {
                let _ = writeln!(blocks.script, "{line}");
            }
            None if line.starts_with("<!-- each row: ") => {
                row_command = line.trim_start_matches("<!-- each row: ").strip_suffix(" -->");
            }
            None if line.starts_with('|') => {
                for words in row_command.into_iter().flat_map(|command| row(line, command)) {
                    blocks.rows += 1;
                    let _ = writeln!(blocks.script, "echo 'row of line {number}' >&2\n{words}");
                }
            }
            None if line.is_empty() => {}
            None => row_command = None,
        }
    }
    blocks
}

/// The commands of a row: one for each piece of code in its second cell.
fn row(line: &str, command: &str) -> Vec<String> {
    let cell = line.split(" | ").nth(1).unwrap_or_default();
    cell.split('`').skip(1).step_by(2).map(|code| command.replace("{}", &code.replace("\\|", "|"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_commands_become_one_script_and_others_do_not() {
        let page =
            "# T\n```sh\nprterun -n 1 a\n```\ntext\n```text\noutput\n```\n```console\n$ x\n```\n```sh\nb # c\n```\n";
        let found = blocks(page);
        assert_eq!(found.script, "echo 'block of line 2' >&2\nprterun -n 1 a\necho 'block of line 12' >&2\nb # c\n");
        assert_eq!((found.run, found.shown), (2, 1));
    }

    #[test]
    fn rows_of_a_marked_table_are_commands_and_those_of_others_are_not() {
        let page = "<!-- each row: run {} x -->\n\n| old | new |\n|---|---|\n| `-a` | `-b`, `-c \\| d` |\n\
                    | `-e` | nothing to do |\ntext\n| `-f` | `-g` |\n";
        let found = blocks(page);
        assert_eq!(found.script, "echo 'row of line 5' >&2\nrun -b x\necho 'row of line 5' >&2\nrun -c | d x\n");
        assert_eq!((found.run, found.rows, found.shown), (0, 2, 0));
    }

    #[test]
    fn the_readme_shows_commands_and_has_at_most_150_lines() {
        let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
        assert!(blocks(&readme).run >= 3 && readme.lines().count() <= 150, "{} lines", readme.lines().count());
    }
}
