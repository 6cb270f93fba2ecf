//! Options that name files with more of the line: `--app` (programs), and `--tune` or `--am` (parameters, variables).
//! [`include()`] puts the words of the files in the place of the options, before the line is parsed.

use std::io;

use ferrite_rm::params::Meaning;

use super::error::UsageError;
use super::tool::Tool;
use super::walk::{self, Walk};
use crate::batch::line::words;

/// Reads a file, which is named as the user named it.
pub(super) type Read<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// The options, in their canonical spelling.
const OPTIONS: [&str; 2] = ["--app", "--tune"];

/// Options that a file of parameters may hold beside `KEY = VALUE`, and the number of values of each.
const IN_TUNE: [(&str, usize); 8] = [
    ("-x", 1),
    ("-mca", 2),
    ("--mca", 2),
    ("-gmca", 2),
    ("--gmca", 2),
    ("--prtemca", 2),
    ("--pmixmca", 2),
    ("--omca", 2),
];

/// Returns the line with the words of all files that it names.
///
/// # Errors
/// A file that cannot be read, a line of it that cannot be used, or programs in the file and on the line.
pub fn include(tool: Tool, args: &[String], read: Read<'_>) -> Result<Vec<String>, UsageError> {
    if !args.iter().any(|word| may_name_a_file(word)) {
        return Ok(args.to_vec());
    }
    let mut command = tool.command();
    let mut args = args.to_vec();
    let mut programs: Option<(String, Vec<String>)> = None;
    while let Some(found) = Walk::new(tool, &mut command, &args).next_file(&OPTIONS)? {
        let walk::FileNamed { option, path, from, to } = found;
        if option == "--app" {
            if programs.is_some() {
                let next = "Put every program into one file.";
                return Err(UsageError::value("--app", format!("{path:?} is a second file"), next));
            }
            let words = programs_of(&path, &text(&option, &path, read)?)?;
            programs = Some((path, words));
            args.drain(from..to);
        } else {
            let mut words = Vec::new();
            for file in path.split(',') {
                words.extend(parameters_of(&option, file, &text(&option, file, read)?)?);
            }
            args.splice(from..to, words);
        }
    }
    let Some((path, words)) = programs else { return Ok(args) };
    if let Some(program) = Walk::new(tool, &mut command, &args).program()? {
        let why = format!("{path:?} names the programs, and so does the line ({program:?})");
        return Err(UsageError::value("--app", why, "Put every program into the file, or every one on the line."));
    }
    args.extend(words);
    Ok(args)
}

/// True for a word that is one of the options, wherever it stands: the definitions of all options need not be made to
/// look for what is hardly ever there.
fn may_name_a_file(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    matches!(name.trim_start_matches('-'), "app" | "tune" | "am") && name.starts_with('-')
}

fn text(option: &str, path: &str, read: Read<'_>) -> Result<String, UsageError> {
    read(path).map_err(|error| {
        UsageError::value(option, format!("{path:?} cannot be read: {error}"), "Name a text file that exists here.")
    })
}

/// The lines of a file that are neither empty nor comments, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the programs of a file, one a line, as they stand on a command line.
fn programs_of(path: &str, text: &str) -> Result<Vec<String>, UsageError> {
    let mut all = Vec::new();
    for (number, line) in lines(text) {
        let words = split("--app", path, number, line)?;
        if !all.is_empty() {
            all.push(":".to_owned());
        }
        all.extend(words);
    }
    if all.is_empty() {
        let next = "Write one program a line, with its options in front: -n 2 ./program ARGS";
        return Err(UsageError::value("--app", format!("{path:?} names no program"), next));
    }
    Ok(all)
}

/// Returns the options of a file of parameters.
fn parameters_of(option: &str, path: &str, text: &str) -> Result<Vec<String>, UsageError> {
    let mut all = Vec::new();
    for (number, line) in lines(text) {
        if line.starts_with('-') {
            let words = split(option, path, number, line)?;
            check(option, path, number, &words)?;
            all.extend(words);
            continue;
        }
        let refuse = || {
            let next = "Write KEY = VALUE, or options such as -x NAME=VALUE and --mca KEY VALUE.";
            UsageError::value(option, format!("line {number} of {path:?} is no parameter: {line}"), next)
        };
        let (key, value) = line.split_once('=').ok_or_else(refuse)?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(refuse());
        }
        let to = if matches!(Meaning::of(key), Meaning::Unknown) { "--gmca" } else { "--prtemca" };
        all.extend([to, key, value].map(str::to_owned));
    }
    Ok(all)
}

fn split(option: &str, path: &str, number: usize, line: &str) -> Result<Vec<String>, UsageError> {
    words(line)
        .map_err(|error| UsageError::value(option, format!("line {number} of {path:?}: {error}"), "Correct the line."))
}

/// Refuses what is no option of a file of parameters, and an option without its values.
fn check(option: &str, path: &str, number: usize, words: &[String]) -> Result<(), UsageError> {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let values = IN_TUNE.iter().find(|(name, _)| name == word).map(|(_, values)| *values);
        match values.and_then(|values| after.get(values..)) {
            Some(more) => rest = more,
            None => {
                let why = match values {
                    Some(values) => format!("line {number} of {path:?}: {word} needs {values} value(s)"),
                    None => format!("line {number} of {path:?}: {word} cannot stand there"),
                };
                let next =
                    "A file may set -x, --mca, --gmca, --pmixmca and --prtemca; other options belong on the line.";
                return Err(UsageError::value(option, why, next));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn included(line: &str, files: &[(&str, &str)]) -> Result<String, String> {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
        };
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        include(Tool::Prterun, &args, &read).map(|args| args.join(" ")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_programs_of_a_file_take_the_place_of_those_of_the_line() {
        let files = [("f", "# two programs\n-n 2 ./a x\n\n  -n 3 ./b 'y z'\n")];
        let line = included("--app f --display map --host n0,n1", &files).unwrap();
        assert_eq!(line, "--display map --host n0,n1 -n 2 ./a x : -n 3 ./b y z");
        assert_eq!(included("-n 2 ./a --app f", &files).unwrap(), "-n 2 ./a --app f", "a program's own option");
    }

    #[test]
    fn parameters_of_files_stand_where_the_option_stood() {
        let files = [
            ("f", "# mine\nrml_base_radix = 4\nbtl=self,tcp\n-x A=1 -mca pml ob1\n"),
            ("g", "--prtemca plm_base_verbose 5\n"),
        ];
        assert_eq!(
            included("--tune f,g -n 1 ./a : --am g ./b", &files).unwrap(),
            "--prtemca rml_base_radix 4 --gmca btl self,tcp -x A=1 -mca pml ob1 --prtemca plm_base_verbose 5 -n 1 ./a \
             : --prtemca plm_base_verbose 5 ./b"
        );
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_by_name_and_line() {
        let files = [
            ("f", "./a"),
            ("empty", "# nothing\n"),
            ("shell", "./a\n./b > out"),
            ("bad", "rml_base_radix 4"),
            ("worse", "\n--np 4"),
            ("short", "--mca btl"),
        ];
        for (line, why) in [
            ("--app nowhere", "\"nowhere\" cannot be read"),
            ("--app f ./b", "\"f\" names the programs, and so does the line (\"./b\")"),
            ("--app f --app f", "\"f\" is a second file"),
            ("--app empty", "\"empty\" names no program"),
            ("--app shell", "line 2 of \"shell\""),
            ("--tune bad ./a", "line 1 of \"bad\" is no parameter"),
            ("--tune worse ./a", "line 2 of \"worse\": --np cannot stand there"),
            ("--am short ./a", "line 1 of \"short\": --mca needs 2 value(s)"),
        ] {
            let error = included(line, &files).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
