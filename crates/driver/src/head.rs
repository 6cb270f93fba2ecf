//! Entry point of the head: `prterun`, and `prte`.

use std::io;
use std::time::Instant;

use ferrite_core::{HeadConfig, Node};
use ferrite_rm::Allocation;
use ferrite_types::{DaemonRank, EnvOp, JobSpec};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use crate::engine::{self, Role, Setup};
use crate::guard::{self, Ward};
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
    /// Command that starts a daemon.
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// Environment that is forwarded to every process of every job.
    pub forwarded_env: Vec<EnvOp>,
    /// True when the DVM outlives its jobs.
    pub persistent: bool,
    /// The first job.
    pub submit: Option<JobSpec>,
    /// Signals that are passed on to jobs; see [`crate::parse_forward_signals`].
    pub forward_signals: Vec<i32>,
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

fn start(run: HeadRun, began: Instant) -> Result<u8, String> {
    let hostname = host_name();
    // Names carry the process that the user sees.
    let pid = std::process::id();
    let dvm = format!("{}-{hostname}-{pid}", run.tool);
    let prefix = if run.tool == "prterun" { "prtrn" } else { "prte" };
    let session = Session::planned(&session::base(&run.params), prefix, pid);
    guard::enter(&Ward { tool: run.tool.clone(), dvm: dvm.clone(), session: session.path().to_owned(), silent: false })
        .map_err(|e| format!("{} cannot fork: {e}", run.tool))?;
    start_log(&run.params);
    let key = new_key().map_err(|e| format!("no random key for the DVM: {e}"))?;
    let setup = Setup {
        dvm: dvm.clone(),
        rank: DaemonRank::HEAD,
        key: key.clone(),
        hostname,
        params: run.params.clone(),
        session,
        began,
        role: Role::Head { forward: run.forward_signals, submit: run.submit.map(Box::new) },
    };
    let config = HeadConfig {
        dvm,
        key: *key,
        params: run.params,
        allocation: run.allocation,
        prted: run.prted,
        cwd: run.cwd,
        forwarded_env: run.forwarded_env,
        local_time_at_zero_s: local_time::now_s() - began.elapsed().as_secs() as i64,
        persistent: run.persistent,
    };
    engine::run(setup, |local| Node::head(config, local)).map_err(|(error, _)| error.to_string())
}

fn new_key() -> io::Result<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    // The kernel gives up to 256 bytes whole.
    getrandom(&mut key[..], GetRandomFlags::empty())?;
    Ok(key)
}
