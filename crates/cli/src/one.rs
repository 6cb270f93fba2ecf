//! All commands in one program, which packages install: seven separate programs are five times as large. The name of
//! the file that was started chooses the command, or else the first argument.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::command::REFUSED;
use crate::frame;
use crate::limits::{Files, run};
use crate::{pdvm, prte, prte_info, prted, prterun, prun, pterm};

/// The name of the program, by which messages mean it when no command is chosen.
const NAME: &str = "ferrite";

/// The entry of a command.
type Main = fn(std::iter::Skip<std::env::ArgsOs>) -> i32;

/// The commands: name, open files that each needs, entry.
const COMMANDS: [(&str, Files, Main); 7] = [
    ("prterun", Files::Dvm, prterun::main),
    ("prte", Files::Dvm, prte::main),
    ("prted", Files::Dvm, prted::main),
    ("prun", Files::Client, prun::main),
    ("pterm", Files::Client, pterm::main),
    ("prte_info", Files::Client, prte_info::main),
    ("pdvm", Files::Client, pdvm::main),
];

/// Runs the command that the name of this process's file or its first argument chooses; returns the exit code.
#[must_use]
pub fn main() -> i32 {
    // The first word of a command line is no proof: Open MPI's `mpirun` starts `prterun` with its own name there.
    let file = rustix::param::linux_execfn();
    let words: Vec<OsString> = std::env::args_os().take(2).collect();
    match choose(OsStr::from_bytes(file.to_bytes()), &words) {
        Some((at, words_before)) => {
            let (name, files, main) = COMMANDS[at];
            run(name, files, main, std::env::args_os().skip(words_before))
        }
        None => {
            let names = COMMANDS.map(|(name, ..)| name).join(", ");
            let next = format!("Name one of them first: {NAME} prterun --help. They are {names}.");
            frame::print(&frame::framed(NAME, &["this program holds several commands, and none is named", &next]));
            REFUSED
        }
    }
}

/// Chooses a command: its place in the list, and the number of words before its own arguments.
fn choose(file: &OsStr, words: &[OsString]) -> Option<(usize, usize)> {
    let place =
        |word: &OsStr| COMMANDS.iter().position(|(name, ..)| Path::new(word).file_name() == Some(name.as_ref()));
    let by_word = |at: usize| place(words.get(at)?).map(|found| (found, at + 1));
    place(file).map(|found| (found, 1)).or_else(|| by_word(0)).or_else(|| by_word(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(file: &str, words: &[&str]) -> Option<(&'static str, usize)> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        choose(OsStr::new(file), &words).map(|(at, skip)| (COMMANDS[at].0, skip))
    }

    #[test]
    fn the_file_that_was_started_chooses_before_the_words() {
        assert_eq!(chosen("/usr/bin/prun", &["mpirun", "-n"]), Some(("prun", 1)));
        assert_eq!(chosen("./prted", &["prterun", "pterm"]), Some(("prted", 1)));
        assert_eq!(chosen("/dev/fd/3", &["prte", "prun"]), Some(("prte", 1)), "a descriptor was started");
        assert_eq!(chosen("/opt/ferrite/bin/ferrite", &["ferrite", "pdvm", "top"]), Some(("pdvm", 2)));
    }

    #[test]
    fn a_name_that_is_no_command_chooses_none() {
        assert_eq!(chosen("/opt/bin/ferrite", &["ferrite"]), None);
        assert_eq!(chosen("/opt/bin/ferrite", &["ferrite", "-n", "prun"]), None);
        assert_eq!(chosen("", &[]), None);
    }
}
