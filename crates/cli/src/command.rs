//! The common parts of all commands: arguments as text, printing of requested texts, refusal of lines.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};

use crate::args::{self, Environment, Parsed, ReportTo, Tool, UsageError};
use crate::frame;
use crate::machine::{self, Surroundings};

/// Exit code of every refusal, as in the field.
pub(crate) const REFUSED: i32 = 1;

/// Returns the arguments as text, because they are sent to other nodes as text.
pub(crate) fn as_text(args: impl Iterator<Item = OsString>) -> Result<Vec<String>, UsageError> {
    let text = |(index, arg): (usize, OsString)| {
        arg.into_string()
            .map_err(|arg| UsageError::NotText { index: index + 1, shown: arg.to_string_lossy().into_owned() })
    };
    args.enumerate().map(text).collect()
}

/// Largest file of programs or parameters (bytes).
const LARGEST: u64 = 16 << 20;

/// Reads a file that the line names, and refuses one without end.
fn read(path: &str) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {LARGEST} bytes")));
    }
    Ok(text)
}

/// Parses a line with the files that it names (`--app`, `--tune`).
pub(crate) fn parse(tool: Tool, args: &[String], environment: &Environment) -> Result<Parsed, UsageError> {
    args::parse_for(tool, &args::include(tool, args, &read)?, environment)
}

/// Prints a text; a reader that is gone (`prterun --help | head`) is no failure.
pub(crate) fn print(text: &str) -> i32 {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    0
}

/// Prints the error and the next step, in a frame.
pub(crate) fn refuse(command: &str, what: &str, next: &str) -> i32 {
    frame::print(&frame::framed(command, &[what, next]));
    REFUSED
}

/// Calls a function with the surroundings of this process, or reports why they cannot be read.
pub(crate) fn with_surroundings(
    command: &str,
    environment: Environment,
    go_on: impl FnOnce(&Surroundings) -> i32,
) -> i32 {
    if !machine::has_proc() {
        let [what, next] = machine::NO_PROC;
        return refuse(command, what, next);
    }
    match Surroundings::of_process(environment) {
        Ok(around) => go_on(&around),
        Err(error) => refuse(
            command,
            &format!("cannot find out where we are: {error}"),
            "Change to a directory that exists, and start the command by its path.",
        ),
    }
}

/// Does what `--report-pid` asks for; false when it failed, after printing the error.
pub(crate) fn report_pid(command: &str, to: Option<&ReportTo>) -> bool {
    let line = format!("{}\n", std::process::id());
    let done = match to {
        None => return true,
        Some(ReportTo::Stdout) => std::io::stdout().write_all(line.as_bytes()),
        Some(ReportTo::Stderr) => std::io::stderr().write_all(line.as_bytes()),
        Some(ReportTo::File(path)) => ferrite_driver::write_report(std::path::Path::new(path), &line),
    };
    if let Err(error) = &done {
        refuse(
            command,
            &format!("--report-pid: cannot write our process id: {error}"),
            "Give `-`, `+`, or a file in a directory that can be written to.",
        );
    }
    done.is_ok()
}
