//! The options that `prterun` and `prun` honour, as clap definitions. They are the source of help, man page,
//! completions and parsing. Values are plain text; the other files of `args` parse them.

#![allow(rustdoc::broken_intra_doc_links, reason = "comments here are help texts, whose brackets are no links")]

use clap::{ArgAction, Args, Parser};

/// The options of `prterun` before one executable.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "prterun",
    about = "Runs a parallel program: starts a private runtime on the nodes, runs one job, and cleans up.",
    override_usage = "prterun [OPTIONS] PROGRAM [ARGS]... [: [OPTIONS] PROGRAM [ARGS]...]...",
    after_help = "Options come before the program; everything after it belongs to the program. \
        `:` begins the next program of the same job.\n\
        `prterun --help TOPIC` explains an option or one of: mapping, ranking, binding, rankfiles, hosts, growing, output, display, \
        runtime-options, environment, apps, parameters, exit-codes, deprecated.",
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    term_width = 100
)]
pub struct Options {
    #[command(flatten)]
    pub(crate) app: AppOptions,
    #[command(flatten)]
    pub(crate) placement: PlacementOptions,
    #[command(flatten)]
    pub(crate) grow: GrowOptions,
    #[command(flatten)]
    pub(crate) env: EnvOptions,
    #[command(flatten)]
    pub(crate) io: IoOptions,
    #[command(flatten)]
    pub(crate) control: ControlOptions,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,
    #[command(flatten)]
    pub(crate) private: PrivateDvm,
    #[command(flatten)]
    pub(crate) dvm: DvmChoice,
    #[command(flatten)]
    pub(crate) session: SessionOptions,
    #[command(flatten)]
    pub(crate) about: AboutOptions,
}

/// The options of `prun` before one executable.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "prun",
    about = "Runs a parallel program in a DVM that is running already (started by prte), and waits for its end.",
    override_usage = "prun [OPTIONS] PROGRAM [ARGS]... [: [OPTIONS] PROGRAM [ARGS]...]...\n       prun --batch FILE|- [OPTIONS]",
    after_help = "Options come before the program; everything after it belongs to the program. \
        `:` begins the next program of the same job. Options that shape a DVM (such as --launch-agent) are refused: give them \
        to prte.\n\
        Without an option for it, the DVM is that of the same batch job, else the only one that is running here.\n\
        `prun --help TOPIC` explains an option or one of: batch, dvm, mapping, ranking, binding, rankfiles, hosts, growing, \
        output, display, runtime-options, environment, apps, parameters, exit-codes, deprecated.",
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    term_width = 100
)]
pub struct PrunOptions {
    #[command(flatten)]
    pub(crate) app: AppOptions,
    #[command(flatten)]
    pub(crate) placement: PlacementOptions,
    #[command(flatten)]
    pub(crate) grow: GrowOptions,
    #[command(flatten)]
    pub(crate) env: EnvOptions,
    #[command(flatten)]
    pub(crate) io: IoOptions,
    #[command(flatten)]
    pub(crate) control: ControlOptions,
    #[command(flatten)]
    pub(crate) submit: SubmitOptions,
    #[command(flatten)]
    pub(crate) session: SessionOptions,
    #[command(flatten)]
    pub(crate) batch: BatchOptions,
    #[command(flatten)]
    pub(crate) dvm: DvmChoice,
    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,
    #[command(flatten)]
    pub(crate) about: AboutOptions,
}

/// Size and place of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Program")]
pub(crate) struct AppOptions {
    /// Number of processes of this program; the default is one per slot, or what the mapping gives
    #[arg(short = 'n', long = "np", alias = "n", short_alias = 'c', alias = "c", value_name = "N")]
    pub(crate) np: Option<String>,
    /// Processes on every node (the same as --map-by ppr:N:node)
    #[arg(short = 'N', value_name = "N")]
    pub(crate) per_node: Option<String>,
    /// Working directory of the processes
    #[arg(long, alias = "wd", value_name = "DIR")]
    pub(crate) wdir: Option<String>,
    /// Start each process in a directory of its own, which is removed with the job
    #[arg(long)]
    pub(crate) set_cwd_to_session_dir: bool,
    /// Copy the program to each node before the launch, and start the copy; each process then starts in a directory of
    /// its own
    #[arg(short = 's', long)]
    pub(crate) preload_binary: bool,
    /// Files, directories and archives (.tar, .tar.gz, .tgz) that are copied to each node before the launch, separated
    /// by commas; each process finds them in a directory of its own, in which it starts
    #[arg(long, value_name = "FILES")]
    pub(crate) preload_files: Vec<String>,
    /// Directories in which to look for the program, separated by `:`, instead of PATH
    #[arg(long, value_name = "DIRS")]
    pub(crate) path: Option<String>,
    /// File with one program a line, each with its options in front, in the place of programs on the line
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Option<String>,
    /// Command that starts each process, in the place of the parameter odls_base_exec_agent; the path of the program
    /// and its arguments are put behind it
    #[arg(long, value_name = "COMMAND")]
    pub(crate) exec_agent: Option<String>,
    /// Directory where the program and its MPI library are installed on every node: DIR/bin comes first in its PATH,
    /// DIR/lib in its LD_LIBRARY_PATH, and OPAL_PREFIX is DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) app_prefix: Option<String>,
    /// Directory where the PMIx library of the program is installed on every node: DIR/lib comes first in its
    /// LD_LIBRARY_PATH, and PMIX_PREFIX is DIR. Also: environment PMIX_APP_PREFIX
    #[arg(long, value_name = "DIR")]
    pub(crate) app_pmix_prefix: Option<String>,
    /// The program gets no directory of PMIx, neither that of the DVM (--pmix-prefix) nor PMIX_APP_PREFIX. Also:
    /// environment PMIX_APP_NO_PREFIX
    #[arg(long)]
    pub(crate) no_app_prefix: bool,
    /// Name of a process set, unique in the DVM, that the processes of this program make up; it ends with the job
    #[arg(long, value_name = "NAME")]
    pub(crate) pset: Option<String>,
}

/// Options of placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Hosts and placement")]
pub(crate) struct PlacementOptions {
    /// Hosts to use: n0, n0:4 (slots), n0:* (all slots), +n2 (third node of the allocation), +e (idle nodes)
    #[arg(short = 'H', long, value_name = "HOST[:SLOTS],...", action = ArgAction::Append)]
    pub(crate) host: Vec<String>,
    /// File with one host a line: name [slots=N] [max_slots=N] [username=U] [port=P]
    #[arg(long, alias = "machinefile", value_name = "FILE")]
    pub(crate) hostfile: Option<String>,
    /// How processes are spread: slot, node, core, package, ppr:N:node, rankfile:FILE=F ..., and qualifiers such as
    /// :PE=2
    #[arg(long, alias = "mapby", value_name = "POLICY[:QUALIFIER]...", action = ArgAction::Append)]
    pub(crate) map_by: Vec<String>,
    /// How ranks are given to the placed processes: slot, node, fill, span
    #[arg(long, alias = "rankby", value_name = "POLICY", action = ArgAction::Append)]
    pub(crate) rank_by: Vec<String>,
    /// Objects to bind to: none, core, hwthread, numa, package ..., and qualifiers such as :overload-allowed
    #[arg(long, alias = "bindto", value_name = "OBJECT[:QUALIFIER]...", action = ArgAction::Append)]
    pub(crate) bind_to: Vec<String>,
    /// Memory that each process takes of its node, as 4G; a node gets no more processes than it has memory for. A
    /// process that uses more is ended, where the node can limit it: the daemon needs a control group (cgroup v2) that
    /// is given to its user. A job is told once where it cannot
    #[arg(long, value_name = "SIZE")]
    pub(crate) mem: Option<String>,
    /// Amounts that each process takes of its node, or of what all nodes share, besides a slot, as fpga=1; all of them
    /// take licence=1/job together. The parameter ferrite_resources states what there is
    #[arg(long, value_name = "NAME=AMOUNT[/job],...", action = ArgAction::Append)]
    pub(crate) resource: Vec<String>,
}

/// Nodes that the DVM shall get for the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "More nodes for the job (see --help growing)")]
pub(crate) struct GrowOptions {
    /// Hosts to add to the DVM before the job is placed: n5, n6:4 (slots), n7:+2 (two more slots)
    #[arg(long, value_name = "HOST[:SLOTS],...", action = ArgAction::Append)]
    pub(crate) add_host: Vec<String>,
    /// File of hosts to add, one a line; slots=+N and slots=-N change the slots of a host
    #[arg(long, value_name = "FILE")]
    pub(crate) add_hostfile: Option<String>,
    /// Start daemons on nodes of the allocation that have none: names, +nK (the K-th node), +all, file=FILE
    #[arg(long, value_name = "NODE|+nK|+all|file=FILE,...", action = ArgAction::Append)]
    pub(crate) activate: Vec<String>,
}

/// The environment of the processes of one program. The order among these options is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Environment of the processes")]
pub(crate) struct EnvOptions {
    /// Forward VAR with its present value, set it to a value, or forward all names that begin with PREFIX
    #[arg(short = 'x', value_name = "VAR|VAR=VALUE|PREFIX*", action = ArgAction::Append)]
    pub(crate) x: Vec<String>,
    /// Set a variable
    #[arg(long, value_name = "NAME=VALUE", action = ArgAction::Append)]
    pub(crate) set_env: Vec<String>,
    /// Remove a variable; with a trailing `*`, all names with this prefix
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub(crate) unset_env: Vec<String>,
    /// Append VALUE to the present value; the character in brackets separates them, as in 'PATH[:]'
    #[arg(long, value_names = ["NAME[c]", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub(crate) append_env: Vec<String>,
    /// Prepend VALUE to the present value
    #[arg(long, value_names = ["NAME[c]", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub(crate) prepend_env: Vec<String>,
    /// Open MPI parameter of this program (it sees OMPI_MCA_KEY=VALUE)
    #[arg(long, alias = "omca", value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub(crate) mca: Vec<String>,
    /// Open MPI parameter of all programs of the job
    #[arg(long, alias = "gomca", value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub(crate) gmca: Vec<String>,
    /// Parameter of the PMIx library of all programs (they see PMIX_MCA_KEY=VALUE)
    #[arg(long, value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub(crate) pmixmca: Vec<String>,
    /// Files with a parameter a line: KEY = VALUE, or -x NAME=VALUE, --mca KEY VALUE, --prtemca KEY VALUE
    #[arg(long, alias = "am", value_name = "FILE,...", action = ArgAction::Append)]
    pub(crate) tune: Vec<String>,
}

/// Input and output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Input and output")]
pub(crate) struct IoOptions {
    /// Readers of standard input: a rank (0 without this option), `all`, or `none`
    #[arg(long, value_name = "RANK|all|none")]
    pub(crate) stdin: Option<String>,
    /// Tags, files and order of output: tag, timestamp, rank, merge-stderr-to-stdout, xml, dir=D, file=F, :pattern,
    /// :copy, :raw ...
    #[arg(long, value_name = "DIRECTIVE,...", action = ArgAction::Append)]
    pub(crate) output: Vec<String>,
    /// Show before the launch: map, map-devel, allocation, bind, topo, cpus; with :parseable as XML; map:svg=FILE as a
    /// picture
    #[arg(long, value_name = "DIRECTIVE,...", action = ArgAction::Append)]
    pub(crate) display: Vec<String>,
}

/// Life of the job.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Life of the job")]
pub(crate) struct ControlOptions {
    /// End the job after this time: seconds, or [[dd:]hh:]mm:ss. Also: environment MPIEXEC_TIMEOUT
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Give up when the processes are not all started after this time
    #[arg(long, value_name = "TIME")]
    pub(crate) spawn_timeout: Option<String>,
    /// Show the state of every process when a time limit passes
    #[arg(long)]
    pub(crate) report_state_on_timeout: bool,
    /// With --timeout: show the stacks of all processes when it passes, before they are ended. Each node uses gdb,
    /// eu-stack, gstack or pstack, whichever it has. Parameter prte_timeout_for_stack_trace limits the wait
    #[arg(long)]
    pub(crate) get_stack_traces: bool,
    /// Stop every process before its program's first instruction, until a debugger or `pdvm release` lets it go on
    #[arg(long)]
    pub(crate) stop_on_exec: bool,
    /// Stop every process in PMIx_Init (MPI_Init), until a debugger or `pdvm release` lets it go on
    #[arg(long)]
    pub(crate) stop_in_init: bool,
    /// Tell the processes to wait at a place of the program's own, perhaps that of this name, until a debugger or
    /// `pdvm release` lets them go on
    #[arg(long, value_name = "BREAKPOINT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) stop_in_app: Option<String>,
    /// The failure of a process does not end the job (the same as --runtime-options recoverable)
    #[arg(long)]
    pub(crate) enable_recovery: bool,
    /// Like --enable-recovery, and the other processes get a PMIx event for each failure
    /// (--runtime-options continuous)
    #[arg(long)]
    pub(crate) continuous: bool,
    /// Start a failed process again on its node, up to N times each (--runtime-options max-restarts=N)
    #[arg(long, value_name = "N")]
    pub(crate) max_restarts: Option<String>,
    /// Tell the processes before their nodes leave the DVM, and let them run for this time from then on. The nodes
    /// leave as soon as these processes have ended
    #[arg(long, value_name = "TIME")]
    pub(crate) grace: Option<String>,
    /// With --grace: a signal for the processes on nodes that are to leave, as USR1. Programs with PMIx get the event
    /// PMIX_ALLOC_TIMEOUT_WARNING in any case
    #[arg(long, value_name = "SIGNAL")]
    pub(crate) grace_signal: Option<String>,
    /// The job may have MIN to MAX processes, with all that it spawns. No shrink leaves it fewer than MIN, and its
    /// processes may refuse that their nodes leave, or ask for time, unless the shrink is forced (pdvm shrink --force).
    /// They are told 30 s before; --grace gives another time
    #[arg(long, value_name = "MIN:MAX")]
    pub(crate) elastic: Option<String>,
    /// Options of the job: error-nonzero-status=B, donotlaunch, donotspawn, recoverable, continuous, notifyerrors,
    /// fwd-environment, output-proctable, timeout=T ...
    #[arg(long, alias = "rtos", value_name = "OPTION[=VALUE],...", action = ArgAction::Append)]
    pub(crate) runtime_options: Vec<String>,
    /// Signals to pass on to the processes: `all` (default), `none`, or names and numbers
    #[arg(long, value_name = "SIGNAL,...")]
    pub(crate) forward_signals: Option<String>,
    /// Allow root to run programs (also: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    #[arg(long)]
    pub(crate) allow_run_as_root: bool,
}

/// The runtime itself.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Runtime")]
pub(crate) struct RuntimeArgs {
    /// Set a parameter of the runtime
    #[arg(long, value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub(crate) prtemca: Vec<String>,
    /// Write the process id: `-` standard output, `+` standard error, or a file (which is kept)
    #[arg(long, value_name = "-|+|FILE")]
    pub(crate) report_pid: Option<String>,
    /// Report what is done: the DVM that is used, and each step of jobs (parameter state_base_verbose 1)
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
    /// Print no warnings and no lines about progress; errors are printed all the same
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    /// Rules for the command line: prte, or ompi and ompi5, which accept deprecated options without a warning
    #[arg(long, value_name = "NAME")]
    pub(crate) personality: Option<String>,
}

/// The private DVM of `prterun`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Runtime")]
pub(crate) struct PrivateDvm {
    /// Hostfile that is used when nothing else names hosts; `none` = no such file
    #[arg(long, value_name = "FILE")]
    pub(crate) default_hostfile: Option<String>,
    /// Command that starts a daemon on a node; the default is the prted next to this program
    #[arg(long, value_name = "COMMAND")]
    pub(crate) launch_agent: Option<String>,
    /// Directory where Ferrite is installed on the other nodes: DIR/bin/prted is the daemon. DIR/lib comes first in
    /// the LD_LIBRARY_PATH of processes
    #[arg(long, value_name = "DIR")]
    pub(crate) prefix: Option<String>,
    /// Start prted from the PATH of each node, in the place of the one that is beside this program there
    #[arg(long)]
    pub(crate) noprefix: bool,
    /// Directory where PMIx is installed on every node: DIR/lib comes first in the LD_LIBRARY_PATH of daemons and
    /// processes, and PMIX_PREFIX is DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) pmix_prefix: Option<String>,
    /// Start daemons on no more than this number of nodes
    #[arg(long, value_name = "N")]
    pub(crate) max_vm_size: Option<String>,
    /// Keep the daemons attached to the command that started them, with their error output shown here
    #[arg(long)]
    pub(crate) leave_session_attached: bool,
    /// Show what the daemons do
    #[arg(long)]
    pub(crate) debug_daemons: bool,
    /// Accepted for scripts: prterun never announces that it is ready
    #[arg(long)]
    pub(crate) no_ready_msg: bool,
}

/// The DVM for a job.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The DVM to run in")]
pub(crate) struct DvmChoice {
    /// Run in a running DVM: search, pid:N, pid:file:PATH, uri:URI, file:PATH, ns:NAME, system, system-first. Also:
    /// environment PRTEPROXY_USE_DVM
    #[arg(long, value_name = "WHICH")]
    pub(crate) dvm: Option<String>,
}

/// The DVM that `prun` and `pterm` look for, and how long.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The DVM to run in")]
pub(crate) struct ConnectionOptions {
    /// The DVM with this URI (from prte --report-uri), or the one whose URI is in a file
    #[arg(long, value_name = "URI|file:PATH")]
    pub(crate) dvm_uri: Option<String>,
    /// Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names
    #[arg(long, value_name = "FILE")]
    pub(crate) dvm_key: Option<String>,
    /// The DVM with this process id, or the one whose process id is in a file
    #[arg(long, value_name = "N|file:PATH")]
    pub(crate) pid: Option<String>,
    /// The DVM with this name or namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The system's DVM (prte --system-server) if there is one, else another
    #[arg(long)]
    pub(crate) system_server_first: bool,
    /// The system's DVM (prte --system-server), or none
    #[arg(long)]
    pub(crate) system_server_only: bool,
    /// Connect to no DVM; the command then fails
    #[arg(long)]
    pub(crate) do_not_connect: bool,
    /// Look for the DVM for this time; with --num-connect-retries: the time between two attempts
    #[arg(long, value_name = "SECONDS")]
    pub(crate) wait_to_connect: Option<String>,
    /// Look for the DVM again this many times, every second or as --wait-to-connect says
    #[arg(long, value_name = "N")]
    pub(crate) num_connect_retries: Option<String>,
}

/// How a job is submitted.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Submission")]
pub(crate) struct SubmitOptions {
    /// Print the namespace of the job and end; the job goes on. Its output is dropped unless it goes to files (--output
    /// dir=D). It has no standard input, unless --stdin names readers: `pdvm feed` feeds them. With --batch: print the
    /// batch and end; the DVM runs the list
    #[arg(long)]
    pub(crate) detach: bool,
    /// Wait for slots when they are taken; without this option the job is refused
    #[arg(long)]
    pub(crate) wait_for_slots: bool,
    /// Wait for slots, before jobs of a lower priority: -1000 to 1000, 0 for jobs without this option. With --batch:
    /// for the lines that do not say it themselves
    #[arg(long, value_name = "N")]
    pub(crate) priority: Option<String>,
    /// Begin after these jobs have ended with code 0: numbers, namespaces or names of tasks, separated by commas. When
    /// one ends otherwise, the job is never run and ends with code 1. It waits for slots
    #[arg(long, value_name = "JOBS")]
    pub(crate) after: Vec<String>,
    /// Begin after these jobs have ended, with any code
    #[arg(long, value_name = "JOBS")]
    pub(crate) after_any: Vec<String>,
}

/// The allocation that a job runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "The allocation to run in (one of them)")]
pub(crate) struct SessionOptions {
    /// The allocation with this id, which pdvm grow prints
    #[arg(long, value_name = "ID")]
    pub(crate) alloc_id: Option<String>,
    /// The allocation whose request has this name (pdvm grow --req-id)
    #[arg(long, value_name = "NAME")]
    pub(crate) alloc_refid: Option<String>,
    /// The session with this number
    #[arg(long, value_name = "N")]
    pub(crate) session_id: Option<String>,
}

/// Many jobs from a list.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Many jobs (see --help batch)")]
pub(crate) struct BatchOptions {
    /// Run one job for each line of a file, or of standard input
    #[arg(long, value_name = "FILE|-")]
    pub(crate) batch: Option<String>,
    /// Write results to this file, and output of jobs to standard output and standard error. Without this option
    /// results go to standard output, and all output of jobs to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<String>,
    /// Leave out jobs that have ended well according to this file of results, and append results to it. A file that is
    /// not there yet is made
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<String>,
    /// Go on after a failed job; without this option no more jobs are submitted
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Run a failed job again, up to this number of times
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<String>,
    /// Limit the number of jobs that are open at a time (default: the slots of the DVM and 256)
    #[arg(long, value_name = "N")]
    pub(crate) max_running: Option<String>,
}

/// Options about the command. The walk handles them before clap; they are defined here for help and completions.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Help")]
pub(crate) struct AboutOptions {
    /// Show this text, or the help on a topic
    #[arg(short = 'h', long, value_name = "TOPIC", num_args = 0..=1, action = ArgAction::Append)]
    pub(crate) help: Vec<String>,
    /// Show name and version
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
}
