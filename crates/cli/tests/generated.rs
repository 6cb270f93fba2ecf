//! Man pages and shell completions are made from the definitions of the options and committed. This proves that they
//! are up to date; `UPDATE_GENERATED=1 cargo test -p ferrite-cli --test generated` writes them.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

mod manual;
mod values;

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use ferrite_cli::args::Tool;
use ferrite_cli::daemon_args::DaemonOptions;
use ferrite_cli::{pdvm, prte_info};

fn commands() -> Vec<Command> {
    let ours = Tool::ALL.into_iter().map(Tool::definitions).chain([
        DaemonOptions::command(),
        pdvm::definitions(),
        prte_info::definitions(),
    ]);
    ours.map(|c| c.version(env!("CARGO_PKG_VERSION"))).collect()
}

/// The page of a command, and those of its verbs.
fn pages(command: Command) -> Vec<Command> {
    let mut whole = command.clone();
    // Each verb gets the options of all verbs only now.
    whole.build();
    [command].into_iter().chain(verbs(&whole)).collect()
}

/// Verbs of a command, and theirs.
fn verbs(command: &Command) -> Vec<Command> {
    let page = |verb: &Command| [verb.clone().version(env!("CARGO_PKG_VERSION"))].into_iter().chain(verbs(verb));
    command.get_subcommands().flat_map(page).collect()
}

fn check(path: &Path, text: &[u8]) {
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let committed = std::fs::read(path).unwrap_or_default();
    assert!(committed == text, "{} is out of date: see the first lines of this test", path.display());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn man_pages_are_up_to_date() {
    for command in commands().into_iter().flat_map(pages) {
        let name = &command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let path = root().join(format!("docs/man/{name}.1"));
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).unwrap();
        let page = manual::completed(name, std::str::from_utf8(&text).unwrap());
        for section in ["EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            assert!(page.contains(&format!(".SH \"{section}\"\n")), "{name} has no {section}");
        }
        check(&path, page.as_bytes());
    }
}

#[test]
fn the_man_page_of_all_parameters_is_up_to_date() {
    check(&root().join("docs/man/prte-parameters.7"), manual::broken(&prte_info::manual()).as_bytes());
}

#[test]
fn shell_completions_are_up_to_date() {
    for (shell, suffix) in [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")] {
        for mut command in commands() {
            let name = command.get_name().to_owned();
            command = values::offered(command);
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("completions/{name}.{suffix}"));
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command, name, &mut text);
            let mut script = values::calling(shell, std::str::from_utf8(&text).unwrap());
            if shell == Shell::Zsh {
                script = values::escaped_in_zsh(&command, script);
            }
            if shell == Shell::Fish {
                script.push_str(&values::jobs_in_fish(&command));
            }
            check(&path, script.as_bytes());
        }
    }
}
