//! The command line of `prte`.

#![allow(rustdoc::broken_intra_doc_links, reason = "comments here are help texts, whose brackets are no links")]

use clap::{ArgAction, FromArgMatches, Parser};
use ferrite_driver::Listen;
use ferrite_rm::hostlist;
use ferrite_types::{EnvOp, Signal};
use ferrite_wire::remote::split_address;

use super::assemble::report_to;
use super::daemons::{Loudness, Spoken};
use super::env::{self, EnvArg, Environment, root_by_environment};
use super::job_defaults::JobDefaults;
use super::options::AboutOptions;
use super::signals::parse as parse_signals;

use super::{AppPlace, ReportTo, Tool, UsageError, matches_of};

/// Options of `prte`.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "prte",
    about = "Starts a DVM: a runtime on the nodes that runs any number of jobs (prun) until it is ended (pterm).",
    override_usage = "prte [OPTIONS]",
    after_help = "It prints `DVM ready` on standard output when jobs can be submitted. pterm or Ctrl-C ends it.\n\
        `prte --help TOPIC` explains an option or one of: hosts, parameters, dvm.",
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    term_width = 100
)]
pub struct PrteOptions {
    /// Hosts of the DVM: n0, n0:4 (slots), n0:* (all slots)
    #[arg(short = 'H', long, value_name = "HOST[:SLOTS],...", action = ArgAction::Append, help_heading = "Hosts")]
    host: Vec<String>,
    /// File with one host a line: name [slots=N] [max_slots=N] [username=U] [port=P]
    #[arg(long, alias = "machinefile", value_name = "FILE", help_heading = "Hosts")]
    hostfile: Option<String>,
    /// Hostfile that is used when nothing else names hosts; `none` = no such file
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    default_hostfile: Option<String>,
    /// Go into the background when the DVM is ready
    #[arg(long, help_heading = "Life of the DVM")]
    daemonize: bool,
    /// Do not print `DVM ready`
    #[arg(long, help_heading = "Life of the DVM")]
    no_ready_msg: bool,
    /// Run in a session of its own
    #[arg(long, help_heading = "Life of the DVM")]
    set_sid: bool,
    /// End when the last writer of this pipe (a file descriptor) is gone
    #[arg(long, value_name = "FD", help_heading = "Life of the DVM")]
    keepalive: Option<String>,
    /// Make this the system's DVM, which --system-server-first and --system-server-only select
    #[arg(long, help_heading = "Life of the DVM")]
    system_server: bool,
    /// Write how to find the DVM: `-` standard output, `+` standard error, or a file (removed at the end)
    #[arg(long, value_name = "-|+|FILE", help_heading = "Life of the DVM")]
    report_uri: Option<String>,
    /// Write the process id: `-` standard output, `+` standard error, or a file (removed at the end)
    #[arg(long, value_name = "-|+|FILE", help_heading = "Life of the DVM")]
    report_pid: Option<String>,
    /// Accept clients of other hosts at a port (0 = any). They need the file of --report-uri and the key file that it
    /// names. See --help dvm
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = "Life of the DVM")]
    listen: Option<String>,
    /// Signals to pass on to the processes of all jobs: `all` (default), `none`, or names and numbers
    #[arg(long, value_name = "SIGNAL,...", help_heading = "Life of the DVM")]
    forward_signals: Option<String>,
    /// Allow root to run programs (also: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    #[arg(long, help_heading = "Life of the DVM")]
    allow_run_as_root: bool,
    /// Forward VAR to the processes of all jobs with its present value, set it to a value, or forward all names that
    /// begin with PREFIX; the options of a job win
    #[arg(short = 'x', value_name = "VAR|VAR=VALUE|PREFIX*", action = ArgAction::Append, help_heading = "Jobs")]
    x: Vec<String>,
    /// Parameter of the PMIx library of the processes of all jobs (they see PMIX_MCA_KEY=VALUE)
    #[arg(long, value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append, help_heading = "Jobs")]
    pmixmca: Vec<String>,
    /// Mapping of the processes of jobs (prun --help mapping); a job's own --map-by wins
    #[arg(long, alias = "mapby", value_name = "POLICY[:QUALIFIER]...", help_heading = "Defaults of jobs")]
    map_by: Option<String>,
    /// Order of their ranks (prun --help ranking); a job's own --rank-by wins
    #[arg(long, alias = "rankby", value_name = "POLICY", help_heading = "Defaults of jobs")]
    rank_by: Option<String>,
    /// Binding of the processes (prun --help binding); a job's own --bind-to wins
    #[arg(long, alias = "bindto", value_name = "TARGET[:QUALIFIER]...", help_heading = "Defaults of jobs")]
    bind_to: Option<String>,
    /// Tags, files and order of the output of jobs that say nothing of it (prun --help output)
    #[arg(long, value_name = "DIRECTIVE,...", action = ArgAction::Append, help_heading = "Defaults of jobs")]
    output: Vec<String>,
    /// Displays of jobs that ask for none (prun --help display)
    #[arg(long, value_name = "DIRECTIVE,...", action = ArgAction::Append, help_heading = "Defaults of jobs")]
    display: Vec<String>,
    /// Options of jobs (prun --help runtime-options); each that a job gives wins. show-progress is for prte itself
    #[arg(
        long,
        alias = "rtos",
        value_name = "OPTION[=VALUE],...",
        action = ArgAction::Append,
        help_heading = "Defaults of jobs"
    )]
    runtime_options: Vec<String>,
    /// Time limit of each job that has none of its own: seconds, or [[dd:]hh:]mm:ss
    #[arg(long, value_name = "TIME", help_heading = "Defaults of jobs")]
    timeout: Option<String>,
    /// Set a parameter of the runtime
    #[arg(long, value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append, help_heading = "Runtime")]
    prtemca: Vec<String>,
    /// Command that starts a daemon on a node; the default is the prted next to this program
    #[arg(long, value_name = "COMMAND", help_heading = "Runtime")]
    launch_agent: Option<String>,
    /// Directory where Ferrite is installed on the other nodes: DIR/bin/prted is the daemon. DIR/lib comes first in
    /// the LD_LIBRARY_PATH of processes
    #[arg(long, value_name = "DIR", help_heading = "Runtime")]
    prefix: Option<String>,
    /// Start prted from the PATH of each node, in the place of the one that is beside this program there
    #[arg(long, help_heading = "Runtime")]
    noprefix: bool,
    /// Directory where PMIx is installed on every node: DIR/lib comes first in the LD_LIBRARY_PATH of daemons and
    /// processes, and PMIX_PREFIX is DIR
    #[arg(long, value_name = "DIR", help_heading = "Runtime")]
    pmix_prefix: Option<String>,
    /// Start daemons on no more than this number of nodes
    #[arg(long, value_name = "N", help_heading = "Runtime")]
    max_vm_size: Option<String>,
    /// Command that starts each process of all jobs; the path of the program and its arguments are put behind it
    #[arg(long, value_name = "COMMAND", help_heading = "Runtime")]
    exec_agent: Option<String>,
    /// Keep the daemons attached to the command that started them, with their error output shown here
    #[arg(long, help_heading = "Runtime")]
    leave_session_attached: bool,
    /// Show what the daemons do
    #[arg(long, help_heading = "Runtime")]
    debug_daemons: bool,
    /// Report each step of jobs and changes of size (parameter state_base_verbose 1)
    #[arg(short = 'v', long, help_heading = "Runtime")]
    verbose: bool,
    /// Print no warnings and no lines about progress; errors are printed all the same
    #[arg(short = 'q', long, help_heading = "Runtime")]
    quiet: bool,
    /// Show how many daemons have started, and which nodes are awaited
    #[arg(long, help_heading = "Runtime")]
    show_progress: bool,
    /// Accepted for scripts: prte or ompi
    #[arg(long, value_name = "NAME", help_heading = "Runtime")]
    personality: Option<String>,
    #[command(flatten)]
    about: AboutOptions,
}

/// The options about daemons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonWords {
    /// `--debug-daemons`.
    pub debug: bool,
    /// `--leave-session-attached`.
    pub attached: bool,
    /// `--launch-agent`.
    pub agent: Option<String>,
    /// Options that say the same as a parameter, and their values.
    pub params: Vec<(&'static str, String)>,
}

/// The request of a `prte` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrteRun {
    /// Hosts, as written.
    pub place: AppPlace,
    /// `--default-hostfile`.
    pub default_hostfile: Option<String>,
    /// `--prtemca`, in order.
    pub params: Vec<(String, String)>,
    /// The options about daemons.
    pub daemons: DaemonWords,
    /// Changes of the environment for the processes of all jobs.
    pub env: Vec<EnvOp>,
    /// Warnings that stop nothing: one line each.
    pub warnings: Vec<String>,
    /// `--forward-signals`; `None` = not said.
    pub forward_signals: Option<Vec<Signal>>,
    /// True when an option or the environment allows root.
    pub allow_root: bool,
    /// `--daemonize`.
    pub daemonize: bool,
    /// `--quiet`: there are no warnings then.
    pub quiet: bool,
    /// False with `--no-ready-msg`.
    pub ready_message: bool,
    /// `--set-sid`.
    pub set_sid: bool,
    /// `--keepalive`.
    pub keepalive: Option<i32>,
    /// `--system-server`.
    pub system_server: bool,
    /// `--listen`.
    pub listen: Option<Listen>,
    /// `--report-uri`.
    pub report_uri: Option<ReportTo>,
    /// `--report-pid`.
    pub report_pid: Option<ReportTo>,
}

/// The action that a line requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrteParsed {
    /// Print this and end well.
    Print(String),
    /// Start a DVM.
    Run(Box<PrteRun>),
}

/// Parses the arguments of `prte`.
///
/// # Errors
/// The first fault of the line.
pub fn parse(args: &[String], environment: &Environment) -> Result<PrteParsed, UsageError> {
    let matches = match matches_of(Tool::Prte, args)? {
        Ok(matches) => matches,
        Err(text) => return Ok(PrteParsed::Print(text)),
    };
    let options = PrteOptions::from_arg_matches(&matches)
        .map_err(|e| UsageError::Conflict { what: e.to_string(), next: String::new() })?;
    let (env, warnings) = options.env(environment)?;
    let mut run = PrteRun { env, warnings, ..options.into_run()? };
    run.allow_root |= root_by_environment(environment);
    Ok(PrteParsed::Run(Box::new(run)))
}

impl PrteOptions {
    /// Returns the changes of the environment for all jobs, and remarks about them.
    fn env(&self, environment: &Environment) -> Result<(Vec<EnvOp>, Vec<String>), UsageError> {
        let (mut changes, mut warnings) = (Vec::new(), Vec::new());
        for [key, value] in self.pmixmca.as_chunks::<2>().0 {
            changes.push(env::parameter("--pmixmca", "PMIX_MCA_", key, value)?);
        }
        for text in &self.x {
            changes.extend(env::changes(&EnvArg::Forward(text), environment, &mut warnings)?);
        }
        Ok((changes, warnings))
    }

    fn into_run(self) -> Result<PrteRun, UsageError> {
        let hosts = match self.host.is_empty() {
            true => None,
            false => Some(hostlist::parse(&self.host.join(",")).map_err(|e| UsageError::foreign(&e, ""))?),
        };
        let jobs = JobDefaults {
            map_by: self.map_by,
            rank_by: self.rank_by,
            bind_to: self.bind_to,
            output: self.output,
            display: self.display,
            runtime_options: self.runtime_options,
            timeout: self.timeout,
        };
        let (defaults, progress) = jobs.into_params()?;
        let progress = if self.show_progress { Some(true) } else { progress };
        let loudness = Loudness { verbose: self.verbose, quiet: self.quiet, progress };
        loudness.check()?;
        let given = self.prtemca.as_chunks::<2>().0.iter().map(|[key, value]| (key.clone(), value.clone()));
        let params = loudness.params().into_iter().chain(given).collect();
        let spoken = Spoken {
            prefix: self.prefix,
            noprefix: self.noprefix,
            pmix_prefix: self.pmix_prefix,
            max_vm_size: self.max_vm_size,
            exec_agent: self.exec_agent,
        };
        let report = |option, to: Option<String>| to.map(|to| report_to(option, to)).transpose();
        Ok(PrteRun {
            place: AppPlace { hostfile: self.hostfile, hosts, ..AppPlace::default() },
            default_hostfile: self.default_hostfile,
            params,
            daemons: DaemonWords {
                debug: self.debug_daemons,
                attached: self.leave_session_attached,
                agent: self.launch_agent,
                params: spoken.into_params()?.into_iter().chain(defaults).collect(),
            },
            forward_signals: self.forward_signals.map(|l| parse_signals("--forward-signals", &l)).transpose()?,
            env: Vec::new(),
            warnings: Vec::new(),
            allow_root: self.allow_run_as_root,
            daemonize: self.daemonize,
            quiet: self.quiet,
            ready_message: !self.no_ready_msg,
            set_sid: self.set_sid,
            keepalive: self.keepalive.map(|fd| number("--keepalive", &fd)).transpose()?,
            system_server: self.system_server,
            listen: self.listen.map(|text| listen(&text)).transpose()?,
            report_uri: report("--report-uri", self.report_uri)?,
            report_pid: report("--report-pid", self.report_pid)?,
        })
    }
}

fn number(option: &str, text: &str) -> Result<i32, UsageError> {
    text.parse()
        .ok()
        .filter(|n| *n >= 0)
        .ok_or_else(|| UsageError::value(option, format!("{text:?} is not a number"), "Give a number, 0 or more."))
}

fn listen(text: &str) -> Result<Listen, UsageError> {
    let everywhere = text.parse().ok().map(|port| Listen { address: None, port });
    let place = everywhere
        .or_else(|| split_address(text).map(|(address, port)| Listen { address: Some(address.to_owned()), port }));
    let wrong = || {
        let next = "Give a port, 0 for any that is free, or ADDRESS:PORT; an IPv6 address in brackets.";
        UsageError::value("--listen", format!("{text:?} is no port of this host"), next)
    };
    place.ok_or_else(wrong)
}
