//! The options of `prted`. A launcher starts it, and its ticket on standard input says everything else. Pure.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::args::{UsageError, version};

/// Options of `prted`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Parser)]
#[command(
    name = "prted",
    about = "The daemon that prterun starts on each node of a job. It is not started by hand.",
    override_usage = "prted [OPTIONS]   (with a launch ticket on standard input)",
    disable_help_flag = true,
    disable_version_flag = true,
    term_width = 100
)]
pub struct DaemonOptions {
    /// Show what this daemon does
    #[arg(long)]
    pub debug_daemons: bool,
    /// Stay attached to the command that started it
    #[arg(long)]
    pub leave_session_attached: bool,
    /// Show this text
    #[arg(short = 'h', long)]
    pub help: bool,
    /// Show name and version
    #[arg(short = 'V', long)]
    pub version: bool,
}

/// The request of a `prted` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonParsed {
    /// Print this and end well.
    Print(String),
    /// Serve as a daemon.
    Serve(DaemonOptions),
}

/// Parses the arguments of `prted`.
///
/// # Errors
/// Anything that is not an option of `prted`.
pub fn parse(args: &[String]) -> Result<DaemonParsed, UsageError> {
    let line = std::iter::once("prted").chain(args.iter().map(String::as_str));
    let options = DaemonOptions::try_parse_from(line).map_err(|e| refused(&e))?;
    if options.help {
        return Ok(DaemonParsed::Print(DaemonOptions::command().render_help().to_string()));
    }
    if options.version {
        return Ok(DaemonParsed::Print(version("prted")));
    }
    Ok(DaemonParsed::Serve(options))
}

fn refused(error: &clap::Error) -> UsageError {
    let line = error.to_string();
    let first = line.lines().next().unwrap_or_default();
    let next = match error.kind() {
        ErrorKind::UnknownArgument => {
            "prted is started by prterun, which sends it everything else, parameters included: give the option to prterun. `prted --help` lists what there is."
        }
        _ => "`prted --help` shows how the options are written.",
    };
    UsageError::Conflict { what: first.trim_start_matches("error: ").to_owned(), next: next.to_owned() }
}

impl DaemonOptions {
    /// True when the command that has started the daemon shall wait for its end.
    #[must_use]
    pub fn stays_attached(&self) -> bool {
        self.debug_daemons || self.leave_session_attached
    }
}
