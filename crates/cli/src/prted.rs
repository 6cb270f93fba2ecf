//! `prted`: parses, checks that a launcher has started it, serves.

use std::ffi::OsString;
use std::io::IsTerminal;

use ferrite_driver::{DaemonRun, run_daemon};

use crate::command::{as_text, print, refuse};
use crate::daemon_args::{self, DaemonOptions, DaemonParsed};
use crate::{frame, machine};

const NAME: &str = "prted";

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    match as_text(args).and_then(|args| daemon_args::parse(&args)) {
        Ok(DaemonParsed::Print(text)) => print(&text),
        // A ticket never comes from a terminal; waiting there would look like a hang.
        Ok(DaemonParsed::Serve(_)) if std::io::stdin().is_terminal() => {
            frame::print(&frame::framed(NAME, BY_HAND));
            1
        }
        Ok(DaemonParsed::Serve(options)) => serve(&options),
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            1
        }
    }
}

/// Message for a user who starts `prted` by hand.
pub const BY_HAND: &[&str] = &[
    "this is the daemon that prterun starts on every node of a job; it expects a launch ticket on its standard input, and there is \
     only a terminal",
    "To run a program, use prterun, for example: prterun -n 4 ./my_program",
];

fn serve(options: &DaemonOptions) -> i32 {
    if !machine::has_proc() {
        let [what, next] = machine::NO_PROC;
        return refuse(NAME, what, next);
    }
    run_daemon(DaemonRun { stay_attached: options.stays_attached() })
}
