//! Job requests: one or more app contexts, parsed from a command line or a PMIx spawn.

use serde::{Deserialize, Serialize};

use crate::resources::Amounts;
use crate::{Beside, Duration, HostSelection, MapRequest, PreloadEntry, Rank, Signal};

/// A job request. Paths, hosts and slots are as the user wrote them; nothing is looked up yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The executables (MPMD: several), ranks counted across them in order.
    pub apps: Vec<AppContext>,
    /// Placement of every app that has none of its own.
    pub map: MapRequest,
    /// The ranks that read standard input. `None` = the usual: rank 0 of a job with a submitter, nobody of another job.
    pub stdin: Option<StdinTarget>,
    /// The treatment of output.
    pub output: OutputOptions,
    /// The information to show before the launch.
    pub display: Display,
    /// Policies about failures, limits and the launch.
    pub options: RuntimeOptions,
    /// The place where processes wait for a debugger; `None` = nowhere.
    pub stop: Option<DebugStop>,
    /// For a companion job: the processes beside which its own run, whatever `map` and the hosts of its apps say.
    pub beside: Option<Beside>,
    /// For a job that a process has spawned by PMI-1: the entries that its key-value space has from the start.
    pub pmi1: Option<Vec<(String, String)>>,
    /// The files that are moved to its nodes before the launch (`--preload-binary`, `--preload-files`), parents before
    /// what they hold.
    #[serde(default)]
    pub preload: Vec<PreloadEntry>,
}

/// The place where processes of a job wait for a debugger, until they are released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugStop {
    /// The place.
    pub at: StopPoint,
    /// The ranks that wait; `None` = all.
    pub ranks: Option<Vec<Rank>>,
    /// For [`StopPoint::App`]: the name of the place, which the program compares with its own names.
    pub breakpoint: Option<String>,
}

/// Places where a process waits for a debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopPoint {
    /// Before the first instruction of the program, stopped by SIGSTOP (`--stop-on-exec`).
    Exec,
    /// In `PMIx_Init` (`--stop-in-init`).
    Init,
    /// At the place where the program itself waits (`--stop-in-app`).
    App,
}

impl DebugStop {
    /// All processes wait at a place.
    #[must_use]
    pub fn of_all(at: StopPoint) -> DebugStop {
        DebugStop { at, ranks: None, breakpoint: None }
    }

    /// True for a rank that waits.
    #[must_use]
    pub fn concerns(&self, rank: Rank) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank))
    }
}

impl StopPoint {
    /// The place, in words after "wait".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            StopPoint::Exec => "before the first instruction of their program",
            StopPoint::Init => "in PMIx_Init",
            StopPoint::App => "where their program says",
        }
    }
}

/// One executable of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppContext {
    /// Program and arguments; never empty.
    pub argv: Vec<String>,
    /// The name that the process gets as its own (`argv[0]` of `execve`); `None` = the program.
    pub arg0: Option<String>,
    /// Number of processes; `None` = as many as the mapping gives (all slots, or `ppr`).
    pub np: Option<u32>,
    /// Nodes that it may use.
    pub hosts: HostSelection,
    /// Its own placement instead of the job's. Oversubscription and inheritance are the job's all the same.
    pub map: Option<MapRequest>,
    /// Working directory; `None` = the submitter's.
    pub wdir: Option<String>,
    /// Directory of the submitter, used when `wdir` is not given or is relative.
    pub submit_dir: String,
    /// The search path for an `argv[0]` without a slash; `None` = `PATH` of the process's environment.
    pub path: Option<String>,
    /// Changes to the environment, in the order given.
    pub env: Vec<EnvOp>,
    /// Command that starts each process; `None` = that of the daemon's parameters, empty = none.
    pub exec_agent: Option<Vec<String>>,
    /// True when each process starts in a directory of its own below its daemon's session directory.
    pub session_cwd: bool,
    /// What each of its processes takes of its node, or of the DVM, besides a slot (`--mem`, `--resource`).
    pub takes: Amounts,
    /// What its processes take together of what all nodes of the DVM share (`--resource NAME=AMOUNT/job`).
    pub takes_once: Amounts,
    /// The name of the process set of its processes (`--pset`, `PMIX_PSET_NAME`); `None` = they are in none.
    pub set: Option<String>,
}

impl AppContext {
    /// The directory in which its processes start, unless each has one of its own.
    #[must_use]
    pub fn directory(&self) -> String {
        match self.wdir.as_deref() {
            None => self.submit_dir.clone(),
            Some(wdir) if wdir.starts_with('/') => wdir.to_owned(),
            Some(wdir) => format!("{}/{wdir}", self.submit_dir),
        }
    }
}

/// One change to a process's environment, which the daemon makes before it starts the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvOp {
    /// Sets a variable to a value.
    Set(String, String),
    /// Removes a variable; a trailing `*` removes every name with that prefix.
    Unset(String),
    /// Appends the separator and the value.
    Append(String, char, String),
    /// Put the value and the separator in front.
    Prepend(String, char, String),
}

/// The readers of the job's standard input (`--stdin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdinTarget {
    /// One rank.
    Rank(Rank),
    /// Every rank gets a copy.
    All,
    /// Nobody.
    None,
}

impl StdinTarget {
    /// True when these ranks are all readers; no ranks stand for whoever reads.
    #[must_use]
    pub fn is_for(self, ranks: &[Rank]) -> bool {
        match self {
            _ if ranks.is_empty() => true,
            StdinTarget::Rank(reader) => ranks.iter().all(|rank| *rank == reader),
            StdinTarget::All | StdinTarget::None => false,
        }
    }
}

/// The treatment of the job's output (`--output`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputOptions {
    /// `[job,rank]<stream>: ` in front of each line.
    pub tag: bool,
    /// `[namespace,rank][host:pid]<stream>: ` in front of each line.
    pub tag_detailed: bool,
    /// `[namespace,rank]<stream>: ` in front of each line.
    pub tag_fullname: bool,
    /// `[rank]` in front of each line.
    pub rank: bool,
    /// Date and time in front of each line.
    pub timestamp: bool,
    /// Standard error goes where standard output goes.
    pub merge_stderr: bool,
    /// Unbuffered: chunks are passed on as they come, without waiting for the end of a line.
    pub raw: bool,
    /// Each line as an XML element that names its stream, namespace and rank.
    pub xml: bool,
    /// `dir=D`: `D/<namespace>/rank.<padded rank>/stdout` and `stderr`.
    pub dir: Option<String>,
    /// `file=N`: `N.<namespace>.<padded rank>.out` and `.err`.
    pub file: Option<String>,
    /// True when `file` is a pattern: `%n` namespace, `%r` rank, `%R` padded rank, `%h` node, `%%` percent sign.
    pub pattern: bool,
    /// True to write to the terminal as well, with `dir` or `file`.
    pub copy: bool,
}

/// The information that `--display` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Display {
    /// The job map.
    pub map: bool,
    /// The job map with everything that is known of each process.
    pub map_devel: bool,
    /// The allocation.
    pub allocation: bool,
    /// Bindings, reported by each daemon.
    pub bind: bool,
    /// The programs whose bindings are reported (`--bind-to core:report` of one program), by their index.
    pub bind_of: Vec<u16>,
    /// The topologies of these nodes; `Some` and empty: of all of the job's.
    pub topo: Option<Vec<String>>,
    /// The processors of these nodes that may be used; `Some` and empty: of all of the job's.
    pub cpus: Option<Vec<String>>,
    /// True for the machine-readable form.
    pub parseable: bool,
    /// Objects by the numbers of the operating system, not by logical ones.
    pub physical: bool,
    /// The job map as pictures, which the requester keeps in files.
    pub pictures: Vec<PictureFormat>,
    /// The place of the table of processes, which comes when all have started (`--rtos output-proctable`).
    pub processes: Option<TableTo>,
}

/// Places of the table of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableTo {
    /// Standard output of the requester.
    Stdout,
    /// Its standard error.
    Stderr,
    /// A file that it keeps ([`PictureFormat::Processes`]).
    File,
}

/// Kinds of files about a job that its requester keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PictureFormat {
    /// `svg=FILE`: one image.
    Svg,
    /// `html=FILE`: a page with the image in it, which shows more about what is pointed at.
    Html,
    /// `output-proctable=FILE`: the table of processes, as text.
    Processes,
}

/// The time that the processes of a job have before their nodes leave the DVM (`--grace`, spec E43).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    /// The time, from the notice on.
    pub time: Duration,
    /// A signal that goes with the notice to the processes on those nodes (`--grace-signal`), for programs without
    /// PMIx.
    pub signal: Option<Signal>,
}

/// The sizes that an elastic job may have: processes of the job and of all that it has spawned (`--elastic MIN:MAX`,
/// spec E51).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRange {
    /// The smallest, at least 1.
    pub min: u32,
    /// The largest, at least as large.
    pub max: u32,
}

impl SizeRange {
    /// True for a size of the range.
    #[must_use]
    pub fn includes(self, size: usize) -> bool {
        (self.min as usize..=self.max as usize).contains(&size)
    }
}

impl std::fmt::Display for SizeRange {
    /// As in `2:8`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.min, self.max)
    }
}

/// Runtime options (`--rtos` and options of their own).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeOptions {
    /// A non-zero exit ends the job (default).
    pub error_nonzero_status: bool,
    /// True to map and show only.
    pub do_not_launch: bool,
    /// True to start the daemons, to map and show, and to start no process.
    pub do_not_spawn: bool,
    /// The failure of a process does not end the job.
    pub recoverable: bool,
    /// Like `recoverable`, and its processes are told of each failure: the job runs until it is ended or no process
    /// is left.
    pub continuous: bool,
    /// The processes of a recoverable job are told of each failure.
    pub notify_errors: bool,
    /// The number of times that a failed process is started again on its node; 0 = never (spec L81).
    pub max_restarts: u32,
    /// Forward the submitter's whole environment.
    pub fwd_environment: bool,
    /// Its processes are told before their nodes leave, and have time to end.
    pub grace: Option<Grace>,
    /// The sizes that the job may have, and its processes may refuse that their nodes leave.
    pub elastic: Option<SizeRange>,
    /// Limit for the whole job.
    pub timeout: Option<Duration>,
    /// Limit until all processes are started.
    pub spawn_timeout: Option<Duration>,
    /// Show the processes' states when a timeout strikes.
    pub report_state_on_timeout: bool,
    /// Show the stacks of the processes when the time limit of the job strikes.
    pub stack_traces: bool,
    /// The exit code is that of the submitted job alone, whatever happens to the jobs that it has spawned.
    pub children_separately: bool,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            error_nonzero_status: true,
            do_not_launch: false,
            do_not_spawn: false,
            recoverable: false,
            continuous: false,
            notify_errors: false,
            max_restarts: 0,
            fwd_environment: false,
            grace: None,
            elastic: None,
            timeout: None,
            spawn_timeout: None,
            report_state_on_timeout: false,
            stack_traces: false,
            children_separately: false,
        }
    }
}

impl RuntimeOptions {
    /// True when the job is over with its map.
    #[must_use]
    pub fn ends_with_map(&self) -> bool {
        self.do_not_launch || self.do_not_spawn
    }

    /// True when the job goes on without a process that failed.
    #[must_use]
    pub fn tolerates_failures(&self) -> bool {
        self.recoverable || self.continuous
    }

    /// True when processes get an event for each failure that their job survives.
    #[must_use]
    pub fn announces_failures(&self) -> bool {
        self.continuous || (self.notify_errors && (self.recoverable || self.max_restarts > 0))
    }
}

impl JobSpec {
    /// A job of these app contexts with every option at its default.
    #[must_use]
    pub fn new(apps: Vec<AppContext>) -> JobSpec {
        JobSpec {
            apps,
            map: MapRequest::default(),
            stdin: None,
            output: OutputOptions::default(),
            display: Display::default(),
            options: RuntimeOptions::default(),
            stop: None,
            beside: None,
            pmi1: None,
            preload: Vec::new(),
        }
    }

    /// The placement of an application: its own request, or that of the job.
    #[must_use]
    pub fn map_of<'a>(&'a self, app: &'a AppContext) -> &'a MapRequest {
        app.map.as_ref().unwrap_or(&self.map)
    }

    /// The place where this process waits for a debugger.
    #[must_use]
    pub fn stop_of(&self, rank: Rank) -> Option<StopPoint> {
        self.stop.as_ref().filter(|stop| stop.concerns(rank)).map(|stop| stop.at)
    }
}
