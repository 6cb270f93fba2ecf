//! The command line of `pterm`.

#![allow(rustdoc::broken_intra_doc_links, reason = "comments here are help texts, whose brackets are no links")]

use clap::{FromArgMatches, Parser};

use super::connect::of as connect_of;
use super::env::Environment;
use super::options::{AboutOptions, ConnectionOptions};

use super::{Connect, Tool, UsageError, matches_of};

/// Options of `pterm`.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "pterm",
    about = "Ends a DVM that was started by prte, with all its jobs.",
    override_usage = "pterm [OPTIONS]",
    after_help = "Without an option for it, the DVM is that of the same batch job, else the only one that is running here.\n\
        `pterm --help TOPIC` explains an option, or: dvm.",
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    term_width = 100
)]
pub struct PtermOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    /// Report which DVM is ended
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Print nothing but errors
    #[arg(short = 'q', long, conflicts_with = "verbose")]
    quiet: bool,
    #[command(flatten)]
    about: AboutOptions,
}

/// The request of a `pterm` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtermParsed {
    /// Print this and end well.
    Print(String),
    /// End this DVM.
    End {
        /// The DVM.
        connect: Connect,
        /// `--verbose`.
        verbose: bool,
        /// `--quiet`.
        quiet: bool,
    },
}

/// Parses the arguments of `pterm`.
///
/// # Errors
/// The first fault of the line.
pub fn parse(args: &[String], environment: &Environment) -> Result<PtermParsed, UsageError> {
    let matches = match matches_of(Tool::Pterm, args)? {
        Ok(matches) => matches,
        Err(text) => return Ok(PtermParsed::Print(text)),
    };
    // Help and version were answered before.
    let PtermOptions { connection, verbose, quiet, about: _ } = PtermOptions::from_arg_matches(&matches)
        .map_err(|e| UsageError::Conflict { what: e.to_string(), next: String::new() })?;
    connect_of(connection, environment).map(|connect| PtermParsed::End { connect, verbose, quiet })
}
