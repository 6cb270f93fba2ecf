//! `pterm`: the end of a DVM. It says so, waits until the DVM is gone, and says that as well.

#![allow(rustdoc::broken_intra_doc_links, reason = "comments here are help texts, whose brackets are no links")]

use std::ffi::OsString;

use clap::{FromArgMatches, Parser};
use ferrite_wire::control::{Reply, Request};

use crate::args::{AboutOptions, Connect, ConnectionOptions, Tool, UsageError, connect_of, matches_of};
use crate::command::{self, REFUSED, as_text, print};
use crate::machine::{self, Surroundings};
use crate::{frame, prun, setup};

const NAME: &str = "pterm";

/// Options of `pterm`.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "pterm",
    about = "Ends a DVM that was started by prte, with all its jobs.",
    override_usage = "pterm [OPTIONS]",
    after_help = "Without a word about the DVM it is the one of the same batch job, else the only one that is running here.\n\
        `pterm --help TOPIC` explains an option, or: dvm.",
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    term_width = 100
)]
pub struct PtermOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    about: AboutOptions,
}

/// What a `pterm` line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtermParsed {
    /// Print this and end well.
    Print(String),
    /// End this DVM.
    End(Connect),
}

/// Parses what stands behind the name of the command.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(args: &[String]) -> Result<PtermParsed, UsageError> {
    let matches = match matches_of(Tool::Pterm, args)? {
        Ok(matches) => matches,
        Err(text) => return Ok(PtermParsed::Print(text)),
    };
    // Help and version were answered before.
    let PtermOptions { connection, about: _ } = PtermOptions::from_arg_matches(&matches)
        .map_err(|e| UsageError::Conflict { what: e.to_string(), next: String::new() })?;
    connect_of(connection).map(PtermParsed::End)
}

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    match as_text(args).and_then(|args| parse(&args)) {
        Ok(PtermParsed::Print(text)) => print(&text),
        Ok(PtermParsed::End(connect)) => {
            command::with_surroundings(NAME, machine::environment(), |around| end(&connect, around))
        }
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

fn end(connect: &Connect, around: &Surroundings) -> i32 {
    let base = match setup::tmpdir_base_here(around) {
        Ok(base) => base,
        Err(error) => return command::refuse(NAME, &error.to_string(), &error.next_step()),
    };
    let Some(mut connection) = prun::find(NAME, connect, base.as_deref(), around) else { return REFUSED };
    frame::print("TERMINATING DVM...");
    match connection.ask(Request::Terminate) {
        Ok(Reply::Ordered) => connection.wait_for_the_end(),
        Ok(other) => {
            frame::print("\n");
            return command::refuse(NAME, &format!("the DVM refused to end: {}", why(&other)), "");
        }
        // It is gone, which is what was wanted: somebody else ended it in the same moment.
        Err(_) => {}
    }
    frame::print("DONE\n");
    0
}

fn why(reply: &Reply) -> String {
    match reply {
        Reply::Refused(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
