//! `pterm`: ends a DVM. It prints that the DVM ends, waits until it is gone, and prints that it has ended.

use std::ffi::OsString;

use ferrite_wire::control::{Reply, Request};

use crate::args::Connect;
use crate::args::pterm::{PtermParsed, parse};
use crate::command::{self, REFUSED, as_text, print};
use crate::machine::{self, Surroundings};
use crate::{frame, prun, setup};

const NAME: &str = "pterm";

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    match as_text(args).and_then(|args| parse(&args, &machine::environment())) {
        Ok(PtermParsed::Print(text)) => print(&text),
        Ok(PtermParsed::End { connect, verbose, quiet }) => {
            command::with_surroundings(NAME, machine::environment(), |around| end(&connect, verbose, quiet, around))
        }
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

fn end(connect: &Connect, verbose: bool, quiet: bool, around: &Surroundings) -> i32 {
    let base = match setup::tmpdir_base_here(around) {
        Ok(base) => base,
        Err(error) => return command::refuse(NAME, &error.to_string(), &error.next_step()),
    };
    let Some(mut connection) = prun::find(NAME, connect, base.as_deref(), around) else { return REFUSED };
    let say = |text: &str| {
        if !quiet {
            frame::print(text)
        }
    };
    if verbose {
        frame::print(&format!("{NAME}: the DVM is {}\n", connection.dvm()));
    }
    say("TERMINATING DVM...");
    match connection.ask(Request::Terminate) {
        Ok(Reply::Ordered) => connection.wait_for_the_end(),
        Ok(other) => {
            say("\n");
            return command::refuse(NAME, &format!("the DVM refused to end: {}", why(&other)), "");
        }
        // Another client has ended the DVM at the same moment; it is gone as requested.
        Err(_) => {}
    }
    say("DONE\n");
    0
}

fn why(reply: &Reply) -> String {
    match reply {
        Reply::Refused(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
