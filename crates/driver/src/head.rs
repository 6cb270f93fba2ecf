//! Entry point of the head: `prterun`, and `prte`.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Instant, SystemTime};

use ferrite_core::{HeadConfig, Node};
use ferrite_rm::Allocation;
use ferrite_types::{DaemonRank, PictureFormat, Topology};
use ferrite_wire::Served;
use ferrite_wire::control::Submission;

use crate::detach::{self, Detach};
use crate::engine::{self, Role, Serving, Setup};
use crate::guard::{self, Ward};
use crate::secret::{self, Secret};
use crate::session::{self, Session};
use crate::{host_name, local_time, notice, start_log};

/// What the command line says.
#[derive(Debug)]
pub struct HeadRun {
    /// The command's name: `prterun` or `prte`.
    pub tool: String,
    /// Parameters, later ones win.
    pub params: Vec<(String, String)>,
    /// The nodes, and which of them get a daemon.
    pub allocation: Allocation,
    /// What every node is taken to be like, if a file says so.
    pub topology: Option<Topology>,
    /// Command that starts a daemon.
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// The one job of this process itself (`prterun`).
    pub submit: Option<Submission>,
    /// The DVM lives for clients (`prte`). Exactly one of the two is given.
    pub serve: Option<Serve>,
    /// Who keeps the pictures of that job's map; `None` = it asks for none.
    pub pictures: Option<Box<dyn KeepPicture>>,
    /// Signals that are passed on to jobs; see [`crate::parse_forward_signals`].
    pub forward_signals: Vec<i32>,
}

/// Keeps pictures of a job's map, which are asked for by a command line and drawn where the job is mapped.
pub trait KeepPicture: std::fmt::Debug {
    /// Takes a picture.
    ///
    /// # Errors
    /// Why it cannot be kept, as a message for the user.
    fn keep(&mut self, format: PictureFormat, text: &str) -> Result<(), String>;
}

/// How a DVM lives for clients.
#[derive(Debug, Default)]
pub struct Serve {
    /// `DVM ready` on standard output when it is.
    pub ready_message: bool,
    /// Come loose from the caller, which is told to go on when the DVM is ready.
    pub daemonize: bool,
    /// Where to write how to find it.
    pub report_uri: Option<Report>,
    /// Where to write the process id.
    pub report_pid: Option<Report>,
    /// A pipe; the DVM ends when nobody can write to it any more.
    pub keepalive: Option<i32>,
    /// In a session of its own.
    pub set_sid: bool,
    /// It is the system's DVM.
    pub system_server: bool,
    /// Where clients of other hosts are let in, if they are.
    pub listen: Option<Listen>,
    /// The batch job that it runs in.
    pub batch: Option<String>,
}

/// A TCP port of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Its address or name; `None` = all that this host has.
    pub address: Option<String>,
    /// 0 = any that is free.
    pub port: u16,
}

/// Where something is reported to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, removed at the end of the DVM.
    File(PathBuf),
}

/// Runs a head to its end and returns the exit code. To be called while the process has one thread: it forks.
/// The caller's process becomes the guard and never returns from here.
#[must_use]
pub fn run_head(run: HeadRun) -> i32 {
    let began = Instant::now();
    match start(run, began) {
        Ok(code) => guard::exit_now(i32::from(code)),
        Err(cause) => {
            notice::print(&cause);
            1
        }
    }
}

fn start(mut run: HeadRun, began: Instant) -> Result<u8, String> {
    let hostname = host_name();
    let detach = run.serve.as_ref().map_or(Ok(None), come_loose)?;
    // Names carry the process that the user sees.
    let pid = std::process::id();
    let dvm = format!("{}-{hostname}-{pid}", run.tool);
    let prefix = if run.serve.is_none() { session::RUN_PREFIX } else { "prte" };
    let base = session::base(&run.params);
    if run.serve.is_some() {
        session::remove_abandoned(&base.dir);
        if base.is_out_of_sight {
            session::remove_abandoned(Path::new(session::COMMON));
        }
    }
    let session = Session::planned(&base.dir, prefix, pid);
    let tools = if run.serve.is_some() && base.is_out_of_sight {
        Session::planned(Path::new(session::COMMON), prefix, pid)
    } else {
        session.clone()
    };
    let ward = Ward {
        tool: run.tool.clone(),
        dvm: dvm.clone(),
        session: session.path().to_owned(),
        tools: tools.path().to_owned(),
        silent: detach.is_some(),
        is_waited_for: detach.is_none(),
    };
    let keeper = guard::enter(&ward).map_err(|e| format!("{} cannot fork: {e}", run.tool))?;
    start_log(&run.params);
    secret::hide_memory();
    let key = Secret::random().map(Rc::new).map_err(|e| format!("no random key for the DVM: {e}"))?;
    let persistent = run.serve.is_some();
    let started_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let served = run.serve.as_ref().map(|serve| Served {
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
        session,
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
        prted: run.prted,
        cwd: run.cwd,
        local_time_at_zero_s: local_time::now_s() - began.elapsed().as_secs() as i64,
        persistent,
        served,
    };
    engine::run(setup, |local| Node::head(config, local)).map_err(|(error, _)| error.to_string())
}

/// Into the background, or at least out of the caller's session.
fn come_loose(serve: &Serve) -> Result<Option<Detach>, String> {
    if serve.daemonize {
        return detach::start(false).map(Some).map_err(|e| format!("prte cannot fork: {e}"));
    }
    if serve.set_sid {
        // The leader of a process group cannot; whoever is one already has what it asks for.
        let _ = rustix::process::setsid();
    }
    Ok(None)
}
