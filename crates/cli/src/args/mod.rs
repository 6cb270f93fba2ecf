//! Makes a request of the arguments of a command. Pure: the environment is passed in, and files are named but not read.
//! [`parse`] never panics, whatever the arguments are.
//!
//! Read in this order: `walk` (tells options from the program), `options` (clap's definitions), `assemble` (makes a job
//! of the options); each other module parses one kind of value.

mod ask;
mod assemble;
mod connect;
mod daemons;
mod defaults;
mod deprecated;
mod display;
mod env;
mod error;
mod grow;
pub(crate) mod help;
mod include;
mod io;
mod job_defaults;
mod ompi;
mod options;
mod placement;
mod prefixes;
pub mod prte;
pub mod pterm;
mod rtos;
mod signals;
mod tool;
mod unbuilt;
mod walk;
mod words;

use ferrite_rm::HostList;
use ferrite_types::{EnvOp, HostRef, JobSpec, Signal};
use ferrite_wire::control::{Dependency, SessionChoice};

pub use connect::{BatchRun, Connect};
pub(crate) use connect::{VARIABLE as WHICH_DVM, of as connect_of};
pub use display::Picture;
pub(crate) use env::ROOT_PERMISSION;
pub use env::{Environment, is_launch_identity};
pub use error::{Place, UsageError};
pub use grow::GrowAsk;
pub use help::{help_topics, version};
pub use include::include;
pub(crate) use ompi::{
    announce_failures as announce_failures_to_ompi, installation as installation_of_ompi, libpmix as libpmix_of_ompi,
};
pub(crate) use options::ConnectionOptions;
pub use options::{Options, PrunOptions};
pub use signals::all as forwardable_signals;
pub use tool::Tool;

pub(crate) use grow::refused as refused_hosts;
pub(crate) use placement::{Defaults as PlacementDefaults, counts};
pub(crate) use signals::parse as parse_signals;
use tool::JobOptions;
pub(crate) use walk::{Segment, Walked};

/// The user's request.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Print this text and end well.
    Print(String),
    /// Run a job.
    Run(Box<Run>),
}

/// A job and how to run it. Hostfiles are not read and defaults from parameters are not applied yet
/// ([`Run::apply_defaults`]).
#[derive(Clone, Debug)]
pub struct Run {
    /// The job. `hosts` of its apps are empty until the hostfiles are read.
    pub spec: JobSpec,
    /// The hosts of each app, in the order of `spec.apps`.
    pub hosts: Vec<AppPlace>,
    /// The files that each app brings along, in the order of `spec.apps`.
    pub preloads: Vec<PreloadAsk>,
    /// The files that the placement of the job names.
    pub map_files: MapFiles,
    /// Pictures of the job map and their files, relative to the user's directory until the job is set up.
    pub pictures: Vec<Picture>,
    /// Nodes that the DVM shall get for the job.
    pub grow: GrowAsk,
    /// `--default-hostfile`.
    pub default_hostfile: Option<String>,
    /// `--prtemca`, in order.
    pub params: Vec<(String, String)>,
    /// Changes of the environment for every process, from `--pmixmca` and `--gmca`.
    pub job_env: Vec<EnvOp>,
    /// True when an option or the environment allows root.
    pub allow_root: bool,
    /// `--forward-signals`; `None` = not said.
    pub forward_signals: Option<Vec<Signal>>,
    /// `--launch-agent`.
    pub launch_agent: Option<String>,
    /// Options about daemons that say the same as a parameter, and their values.
    pub daemon_params: Vec<(&'static str, String)>,
    /// `--leave-session-attached`.
    pub leave_session_attached: bool,
    /// `--debug-daemons`.
    pub debug_daemons: bool,
    /// `--verbose`.
    pub verbose: bool,
    /// `show-progress`, of the line or of the parameter `rtos`; `None` = not said.
    pub show_progress: Option<bool>,
    /// `--quiet`: there are no warnings then.
    pub quiet: bool,
    /// `--report-pid`.
    pub report_pid: Option<ReportTo>,
    /// The DVM to run in; `None` = a private one.
    pub connect: Option<Connect>,
    /// `--detach`.
    pub detach: bool,
    /// `--wait-for-slots`, or an option that implies it: `--priority`, `--after`, `--after-any`.
    pub wait_for_slots: bool,
    /// `--priority`; `None` = not said.
    pub priority: Option<i16>,
    /// `--after` and `--after-any`.
    pub after: Vec<Dependency>,
    /// The session that the job shall run in.
    pub session: SessionChoice,
    /// `--personality`, or the parameter of that name; empty before parameters are applied.
    pub personality: String,
    /// `--batch`; then there are no apps.
    pub batch: Option<BatchRun>,
    /// Warnings that stop nothing: one line each.
    pub warnings: Vec<String>,
    unsaid: assemble::Unsaid,
}

/// The files that an app brings along, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreloadAsk {
    /// `--preload-binary`.
    pub binary: bool,
    /// `--preload-files`: lists separated by commas.
    pub files: Vec<String>,
}

impl PreloadAsk {
    /// The option that asks for files; `None` = no files are asked for.
    fn option(&self) -> Option<&'static str> {
        match self.binary {
            true => Some("--preload-binary"),
            false => (!self.files.is_empty()).then_some("--preload-files"),
        }
    }
}

/// The hosts of an app, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppPlace {
    /// `--hostfile`.
    pub hostfile: Option<String>,
    /// `--host`.
    pub hosts: Option<HostList>,
    /// The hosts of `--host`, each as often as it is named.
    pub namings: Vec<HostRef>,
}

/// Files with the lines of a sequence or a rankfile (`FILE=path`), as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapFiles {
    /// The job's placement.
    pub job: Option<String>,
    /// The placement of each application that has its own.
    pub apps: Vec<Option<String>>,
}

/// The target of `--report-pid` (and `--report-uri`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTo {
    /// `-`.
    Stdout,
    /// `+`.
    Stderr,
    /// A file.
    File(String),
}

/// Parses the arguments of `prterun`.
///
/// # Errors
/// The first fault of the line.
pub fn parse(args: &[String], environment: &Environment) -> Result<Parsed, UsageError> {
    parse_for(Tool::Prterun, args, environment)
}

/// Parses the arguments of `prterun` or `prun`.
///
/// # Errors
/// The first fault of the line.
pub fn parse_for(tool: Tool, args: &[String], environment: &Environment) -> Result<Parsed, UsageError> {
    Parser::new(tool).parse(args, environment)
}

/// A parser for any number of lines of one command.
#[derive(Debug)]
pub struct Parser {
    tool: Tool,
    command: clap::Command,
}

impl Parser {
    /// Makes a parser for `prterun` or `prun`.
    #[must_use]
    pub fn new(tool: Tool) -> Parser {
        Parser { tool, command: tool.command() }
    }

    /// Parses the arguments of the command.
    ///
    /// # Errors
    /// The first fault of the line.
    pub fn parse(&mut self, args: &[String], environment: &Environment) -> Result<Parsed, UsageError> {
        let Parser { tool, command } = self;
        match walk::walk(*tool, command, args)? {
            Walked::Help(topic) => help::text(*tool, command, topic.as_deref()).map(Parsed::Print),
            Walked::Version => {
                let of_ompi = ompi::version(environment).filter(|_| *tool == Tool::Prterun);
                Ok(Parsed::Print(of_ompi.unwrap_or_else(|| version(tool.name()))))
            }
            Walked::Apps(segments) => {
                let count = segments.len();
                let place = |i: usize| Place((count > 1).then_some(i + 1));
                let apps = segments
                    .into_iter()
                    .enumerate()
                    .map(|(i, segment)| options_of(*tool, command, segment, place(i)))
                    .collect::<Result<Vec<_>, _>>()?;
                assemble::run(*tool, apps, environment).map(|run| Parsed::Run(Box::new(run)))
            }
        }
    }
}

/// Returns the definitions of `prterun`'s options, for man page and completions.
#[must_use]
pub fn definitions() -> clap::Command {
    Tool::Prterun.definitions()
}

/// Parses the line of a command that runs no program. The inner `Err` is a text that the line asks for, such as the
/// help.
pub(crate) fn matches_of(tool: Tool, args: &[String]) -> Result<Result<clap::ArgMatches, String>, UsageError> {
    let mut command = tool.command();
    match walk::walk(tool, &mut command, args)? {
        Walked::Help(topic) => help::text(tool, &mut command, topic.as_deref()).map(Err),
        Walked::Version => Ok(Err(version(tool.name()))),
        Walked::Apps(segments) => {
            let options = segments.into_iter().flat_map(|segment| segment.options);
            let tokens = std::iter::once(tool.name().to_owned()).chain(options);
            command.try_get_matches_from_mut(tokens).map(Ok).map_err(|error| refused_by_clap(&error, Place::default()))
        }
    }
}

/// One application after clap: its options with types, their order, its command.
pub(crate) struct App {
    pub(crate) options: JobOptions,
    pub(crate) matches: clap::ArgMatches,
    pub(crate) argv: Vec<String>,
    pub(crate) rewritten: Vec<(String, String)>,
}

fn options_of(tool: Tool, command: &mut clap::Command, segment: Segment, place: Place) -> Result<App, UsageError> {
    let tokens = std::iter::once(tool.name().to_owned()).chain(segment.options);
    let failed = |error: clap::Error| refused_by_clap(&error, place);
    let matches = command.try_get_matches_from_mut(tokens).map_err(failed)?;
    let options = JobOptions::of(tool, &matches).map_err(failed)?;
    Ok(App { options, matches, argv: segment.argv, rewritten: segment.rewritten })
}

/// Returns the error for a refusal of clap. The walk leaves only repeated options to clap; other errors keep clap's
/// text.
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
