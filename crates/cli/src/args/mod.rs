//! From arguments to a request. Pure: the environment is passed in, files are named but not read, and whatever is
//! given, [`parse`] answers and never panics.
//!
//! Read in this order: `walk` (what is an option, what is the program), `options` (clap's definitions), `assemble`
//! (from options to a job); the others parse one value each.

mod ask;
mod assemble;
mod deprecated;
mod env;
mod error;
mod help;
mod io;
mod options;
mod placement;
mod rtos;
mod signals;
mod unbuilt;
mod walk;
mod words;

use clap::{CommandFactory, FromArgMatches};
use ferrite_rm::HostList;
use ferrite_types::{EnvOp, JobSpec};

pub use env::{Environment, is_launch_identity};
pub use error::{Place, UsageError};
pub use help::version;
pub use options::Options;
pub use signals::all as forwardable_signals;

use options::command;
use walk::{Segment, Walked};

/// What the user asked for.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Print this text and end well.
    Print(String),
    /// Run a job.
    Run(Box<Run>),
}

/// A job, and how to run it. Hostfiles are named, not read; defaults from parameters are not applied yet
/// ([`Run::apply_defaults`]).
#[derive(Clone, Debug)]
pub struct Run {
    /// The job. `hosts` of its apps are empty until the hostfiles are read.
    pub spec: JobSpec,
    /// What each app says of hosts, in the order of `spec.apps`.
    pub hosts: Vec<AppPlace>,
    /// `--default-hostfile`.
    pub default_hostfile: Option<String>,
    /// `--prtemca`, in order.
    pub params: Vec<(String, String)>,
    /// `--pmixmca` and `--gmca`: for every process of every app.
    pub job_env: Vec<EnvOp>,
    /// Root is allowed by option or environment.
    pub allow_root: bool,
    /// `--forward-signals`; `None` = not said.
    pub forward_signals: Option<Vec<i32>>,
    /// `--launch-agent`.
    pub launch_agent: Option<String>,
    /// `--leave-session-attached`.
    pub leave_session_attached: bool,
    /// `--debug-daemons`.
    pub debug_daemons: bool,
    /// `--report-pid`.
    pub report_pid: Option<ReportTo>,
    /// What deserves a remark but stops nothing: one line each.
    pub warnings: Vec<String>,
    unsaid: assemble::Unsaid,
}

/// Where an app may run, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppPlace {
    /// `--hostfile`.
    pub hostfile: Option<String>,
    /// `--host`.
    pub hosts: Option<HostList>,
}

/// Where `--report-pid` goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTo {
    /// `-`.
    Stdout,
    /// `+`.
    Stderr,
    /// A file.
    File(String),
}

/// Parses what stands behind the name of the command.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(args: &[String], environment: &Environment) -> Result<Parsed, UsageError> {
    let mut command = command();
    // clap sorts out positions and derived names only now; the walk reads the finished definitions.
    command.build();
    match walk::walk(&mut command, args)? {
        Walked::Help(topic) => help::text(&mut command, topic.as_deref()).map(Parsed::Print),
        Walked::Version => Ok(Parsed::Print(version("prterun"))),
        Walked::Apps(segments) => {
            let count = segments.len();
            let apps = segments
                .into_iter()
                .enumerate()
                .map(|(i, segment)| options_of(&mut command, segment, Place((count > 1).then_some(i + 1))))
                .collect::<Result<Vec<_>, _>>()?;
            assemble::run(apps, environment).map(|run| Parsed::Run(Box::new(run)))
        }
    }
}

/// The definitions of `prterun`'s options, for man page and completions.
#[must_use]
pub fn definitions() -> clap::Command {
    Options::command()
}

/// One application after clap: its options with types, their order, its command.
pub(crate) struct App {
    pub(crate) options: Options,
    pub(crate) matches: clap::ArgMatches,
    pub(crate) argv: Vec<String>,
    pub(crate) rewritten: Vec<(String, String)>,
}

fn options_of(command: &mut clap::Command, segment: Segment, place: Place) -> Result<App, UsageError> {
    let tokens = std::iter::once("prterun".to_owned()).chain(segment.options);
    let failed = |error: clap::Error| refused_by_clap(&error, place);
    let matches = command.try_get_matches_from_mut(tokens).map_err(failed)?;
    let options = Options::from_arg_matches(&matches).map_err(failed)?;
    Ok(App { options, matches, argv: segment.argv, rewritten: segment.rewritten })
}

/// After the walk only repetition is left for clap to refuse; anything else keeps clap's own words.
fn refused_by_clap(error: &clap::Error, place: Place) -> UsageError {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::ArgumentConflict, Some(ContextValue::String(form))) => {
            let option = form.split(' ').next().unwrap_or(form).to_owned();
            UsageError::Repeated { option, place }
        }
        _ => UsageError::Conflict {
            what: error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
            next: "`prterun --help` shows how each option is written.".to_owned(),
        },
    }
}
