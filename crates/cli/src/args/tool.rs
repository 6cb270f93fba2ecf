//! The commands that share this parser: their definitions and their differences.

use clap::{ArgAction, Command, CommandFactory, FromArgMatches};

use super::options::{
    AppOptions, BatchOptions, ConnectionOptions, ControlOptions, DvmChoice, EnvOptions, GrowOptions, IoOptions,
    Options, PlacementOptions, PrivateDvm, PrunOptions, RuntimeArgs, SessionOptions, SubmitOptions,
};

/// A command of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// One job with a DVM of its own.
    Prterun,
    /// One job, or many, in a DVM that is running.
    Prun,
    /// A DVM that outlives its jobs.
    Prte,
    /// The end of a DVM.
    Pterm,
}

/// The need of a command line for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// There must be one.
    Needed,
    /// There must be one, unless this option is there: then there must be none.
    Unless(&'static str),
    /// There must be none.
    Refused,
}

impl Tool {
    /// All commands that share the parser.
    pub const ALL: [Tool; 4] = [Tool::Prterun, Tool::Prun, Tool::Prte, Tool::Pterm];

    /// Returns the name of the command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Prterun => "prterun",
            Tool::Prun => "prun",
            Tool::Prte => "prte",
            Tool::Pterm => "pterm",
        }
    }

    /// Returns the definitions of its options, for man page and completions.
    #[must_use]
    pub fn definitions(self) -> Command {
        match self {
            Tool::Prterun => Options::command(),
            Tool::Prun => PrunOptions::command(),
            Tool::Prte => super::prte::PrteOptions::command(),
            Tool::Pterm => super::pterm::PtermOptions::command(),
        }
    }

    /// Returns the finished definitions. Every value may begin with a hyphen: the walk has already told values from
    /// options.
    pub(crate) fn command(self) -> Command {
        let takes_value = |a: &clap::Arg| matches!(a.get_action(), ArgAction::Set | ArgAction::Append);
        let mut command =
            self.definitions().mut_args(|a| if takes_value(&a) { a.allow_hyphen_values(true) } else { a });
        // clap computes positions and derived names here; the walk reads them.
        command.build();
        command
    }

    /// True when the command has the options of jobs, also the deprecated ones.
    pub(crate) fn has_jobs(self) -> bool {
        matches!(self, Tool::Prterun | Tool::Prun)
    }

    pub(crate) fn program(self) -> Program {
        match self {
            Tool::Prterun => Program::Needed,
            Tool::Prun => Program::Unless("--batch"),
            Tool::Prte | Tool::Pterm => Program::Refused,
        }
    }
}

/// The options of one application of any command; options that the command does not have are empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobOptions {
    pub(crate) app: AppOptions,
    pub(crate) placement: PlacementOptions,
    pub(crate) grow: GrowOptions,
    pub(crate) env: EnvOptions,
    pub(crate) io: IoOptions,
    pub(crate) control: ControlOptions,
    pub(crate) runtime: RuntimeArgs,
    pub(crate) private: PrivateDvm,
    pub(crate) dvm: DvmChoice,
    pub(crate) connection: ConnectionOptions,
    pub(crate) submit: SubmitOptions,
    pub(crate) session: SessionOptions,
    pub(crate) batch: BatchOptions,
}

impl JobOptions {
    pub(crate) fn of(tool: Tool, matches: &clap::ArgMatches) -> Result<JobOptions, clap::Error> {
        if tool == Tool::Prun {
            // Help and version were answered by the walk.
            let PrunOptions {
                app,
                placement,
                grow,
                env,
                io,
                control,
                submit,
                session,
                batch,
                dvm,
                connection,
                runtime,
                about: _,
            } = PrunOptions::from_arg_matches(matches)?;
            let private = PrivateDvm::default();
            return Ok(JobOptions {
                app,
                placement,
                grow,
                env,
                io,
                control,
                runtime,
                private,
                dvm,
                connection,
                submit,
                session,
                batch,
            });
        }
        let Options { app, placement, grow, env, io, control, runtime, private, dvm, session, about: _ } =
            Options::from_arg_matches(matches)?;
        Ok(JobOptions {
            app,
            placement,
            grow,
            env,
            io,
            control,
            runtime,
            private,
            dvm,
            session,
            ..JobOptions::default()
        })
    }
}
