//! Entry point of the head: `prterun`, and `prte`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Instant, SystemTime};

use ferrite_core::{HeadConfig, Node};
use ferrite_rm::Allocation;
use ferrite_types::{DaemonRank, EnvOp, PictureFormat, Signal, Topology};
use ferrite_wire::Served;
use ferrite_wire::control::Submission;

use crate::control::service::Service;
use crate::detach::{self, Detach};
use crate::engine::{self, Role, Serving, Setup};
use crate::guard::{self, Guarded};
use crate::secret::{self, Secret};
use crate::session_dir::{self, SessionDir};
use crate::{host_name, logs, notice, start_log};

/// Options of the command line of `prterun` and `prte`.
#[derive(Debug)]
pub struct HeadRun {
    /// The command's name: `prterun` or `prte`.
    pub tool: String,
    /// Parameters; a later one replaces an earlier one of the same name.
    pub params: Vec<(String, String)>,
    /// The nodes, and whether each gets a daemon.
    pub allocation: Allocation,
    /// The topology that every node is assumed to have, if a file gives one.
    pub topology: Option<Topology>,
    /// Changes of the environment for the processes of all jobs.
    pub env: Vec<EnvOp>,
    /// Command that starts a daemon.
    pub prted: String,
    /// Working directory of the user.
    pub cwd: String,
    /// The one job of this process itself (`prterun`).
    pub submit: Option<Submission>,
    /// Options of a DVM that serves clients (`prte`). One of `submit` and `serve` is given, or both for a job that
    /// clients or PMIx tools may want to reach.
    pub serve: Option<Serve>,
    /// Receiver of the pictures of that job's map; `None` when the command line requests none.
    pub pictures: Option<Box<dyn KeepPicture>>,
    /// Signals that are passed on to jobs; see [`crate::parse_forward_signals`].
    pub forward_signals: Vec<Signal>,
}

/// Keeps the pictures of a job's map that a command line requests; the head draws them when it maps the job.
pub trait KeepPicture: std::fmt::Debug {
    /// Keeps one picture.
    ///
    /// # Errors
    /// A message for the user that says why it cannot be kept.
    fn keep(&mut self, format: PictureFormat, text: &str) -> Result<(), String>;
}

/// Options of a DVM that serves clients.
#[derive(Debug, Default)]
pub struct Serve {
    /// True to serve PMIx tools of this node only: no other client finds the DVM.
    pub tools_only: bool,
    /// The file that a PMIx tool which has started this process reads its address from.
    pub rendezvous: Option<PathBuf>,
    /// The PMIx tool that has started this launcher, and directs its job.
    pub caller: Option<Caller>,
    /// True to write `DVM ready` to standard output when the DVM is ready.
    pub ready_message: bool,
    /// True to detach from the caller, which continues when the DVM is ready.
    pub daemonize: bool,
    /// The place for the address of the DVM.
    pub report_uri: Option<Report>,
    /// The place for the process id.
    pub report_pid: Option<Report>,
    /// An end of a pipe; the DVM ends when nobody has the other end any more.
    pub keepalive: Option<Keepalive>,
    /// True to run in a session of its own.
    pub set_sid: bool,
    /// True for the system's DVM.
    pub system_server: bool,
    /// The address for clients of other hosts, if they can connect.
    pub listen: Option<Listen>,
    /// Id of the surrounding batch job.
    pub batch: Option<String>,
    /// The interpreter of JSON lines; `None` = all clients speak in frames.
    pub service: Option<Rc<dyn Service>>,
}

/// A PMIx tool that has started a launcher in order to direct it (spec L147).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tool's address: name and endpoint.
    pub address: String,
    /// The name under which the tool knows the launcher: namespace and rank; `None` = the launcher names itself.
    pub own_name: Option<(String, u32)>,
}

/// A descriptor by which another process keeps a DVM alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Its number.
    pub descriptor: i32,
    /// The option or variable that has named it, for messages.
    pub named_by: &'static str,
}

/// A TCP port of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Its address or name; `None` = all addresses of this host.
    pub address: Option<String>,
    /// Port number; 0 = any free port.
    pub port: u16,
}

/// The place that a report is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, which is removed at the end of the DVM.
    File(PathBuf),
}

/// Runs a head to its end, which is the end of the process. Call this while the process has one thread, because it
/// forks: the caller's process becomes the guard, and never returns from here. Returns the exit code of a head that
/// cannot start.
#[must_use]
pub fn run_head(run: HeadRun) -> i32 {
    let began = Instant::now();
    let Err(cause) = start(run, began);
    notice::print(&cause);
    1
}

/// Returns only why the head cannot start.
fn start(mut run: HeadRun, began: Instant) -> Result<Infallible, String> {
    logs::check(&run.params)?;
    let hostname = host_name();
    let detach = run.serve.as_ref().map_or(Ok(None), come_loose)?;
    // File names contain the pid of the process that the user sees.
    let pid = std::process::id();
    let dvm = format!("{}-{hostname}-{pid}", run.tool);
    let is_found = run.serve.as_ref().is_some_and(|serve| !serve.tools_only);
    let prefix = if is_found { "prte" } else { session_dir::RUN_PREFIX };
    let base = session_dir::base(&run.params, session_dir::LOCAL_BASE);
    if is_found {
        session_dir::remove_abandoned(&base.dir);
        if base.is_out_of_sight {
            session_dir::remove_abandoned(Path::new(session_dir::COMMON));
        }
    }
    let session_dir = SessionDir::below(&base, prefix, pid);
    let tools =
        if run.serve.is_some() { session_dir::for_tools(&base, &session_dir, prefix) } else { session_dir.clone() };
    let guarded = Guarded {
        tool: run.tool.clone(),
        dvm: dvm.clone(),
        session_dir: session_dir.path().to_owned(),
        tools: tools.path().to_owned(),
        silent: detach.is_some(),
        is_waited_for: detach.is_none(),
    };
    let keeper = guard::enter(&guarded).map_err(|e| format!("{} cannot start its guard: {e}", run.tool))?;
    start_log(&run.params);
    secret::hide_memory();
    let key = Secret::random().map(Rc::new).map_err(|e| format!("no random key for the DVM: {e}"))?;
    let persistent = run.serve.is_some() && run.submit.is_none();
    let started_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let served = run.serve.as_ref().filter(|_| is_found).map(|serve| Served {
        pid,
        host: hostname.clone(),
        started_s,
        batch: serve.batch.clone(),
        system: serve.system_server,
    });
    let serve = run.serve.take().map(|serve| Box::new(Serving { serve, pid, started_s, detach }));
    let setup = Setup {
        dvm: dvm.clone(),
        rank: DaemonRank::HEAD,
        key,
        hostname,
        params: run.params.clone(),
        session_dir: session_dir.clone(),
        tools,
        began,
        keeper,
        role: Role::Head {
            forward: run.forward_signals,
            submit: run.submit.map(Box::new),
            serve,
            pictures: run.pictures,
        },
    };
    let config = HeadConfig {
        dvm,
        params: run.params,
        allocation: run.allocation,
        topology: run.topology,
        env: run.env,
        prted: run.prted,
        cwd: run.cwd,
        session_dir: session_dir.path().display().to_string(),
        on_terminal: rustix::termios::isatty(rustix::stdio::stderr()),
        persistent,
        served,
    };
    let (error, _) = engine::run(setup, |local| Node::head(config, local));
    Err(error.to_string())
}

/// Moves to the background, or at least out of the caller's session.
fn come_loose(serve: &Serve) -> Result<Option<Detach>, String> {
    if serve.daemonize {
        return detach::start(false).map(Some).map_err(|e| format!("prte cannot fork: {e}"));
    }
    if serve.set_sid {
        // This fails for the leader of a process group, which is apart from the caller already.
        let _ = rustix::process::setsid();
    }
    Ok(None)
}
