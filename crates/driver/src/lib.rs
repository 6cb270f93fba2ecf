//! The real world behind the machines of `ferrite-core`: sockets, processes, timers, signals, libpmix. The driver
//! carries out every [`ferrite_core::Effect`] and turns each event into a [`ferrite_core::Input`]; the machines decide.
//!
//! Everything runs on one thread. Part by part: `engine` is the main loop, `head` and `daemon` the entry points,
//! `link` what daemons are connected by, `launcher` starts daemons, `extension` and `release` talk to the resource
//! manager, `guard` and `detach` are the processes around the real one; `children`, `spawn`, `stdio` and `output` are
//! the processes of jobs, `pmix` their MPI side, `logs` where they log, `control` the clients of a persistent DVM.

mod accepting;
mod attribute;
mod batches;
mod children;
mod control;
mod daemon;
mod detach;
mod directed;
mod engine;
mod extension;
mod files;
mod guard;
mod head;
mod history;
mod install;
mod launcher;
mod link;
mod local_time;
mod logs;
mod memory_limit;
mod notice;
mod output;
mod output_files;
mod params;
mod pmix;
mod release;
mod secret;
mod segments;
mod session_dir;
mod signals;
mod spawn;
mod stage;
mod stdio;
mod timers;
mod timing;
mod topology;

use ferrite_core::Input;

pub use batches::{BATCH_VARIABLE, RESTARTED_VARIABLE};
pub use control::Dial;
pub use control::service::{Interpreter, Said, Service};
pub use daemon::{DaemonRun, run_daemon};
pub use directed::{Directed, ToolCall};
pub use ferrite_pmix::LIBPMIX_ENV;
pub use files::write_report;
pub use head::{Caller, HeadRun, KeepPicture, Keepalive, Listen, Report, Serve, run_head};
pub use link::interfaces::addresses as interface_addresses;
pub use local_time::zone_s;
pub use notice::width as message_width;
pub use session_dir::flaw_of_directory;
pub use signals::{ForwardSignalsError, parse_forward_signals};

/// The queue of inputs for the machine. The queue is unbounded; the core's credits bound its content.
pub(crate) type Inbox = tokio::sync::mpsc::UnboundedSender<Input>;

/// Returns this machine's name for itself.
#[must_use]
pub fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// Writes logs to standard error when `FERRITE_LOG` or the parameter `ferrite_log` is set; otherwise there is no
/// logger.
fn start_log(parameters: &[(String, String)]) {
    let from_environment = std::env::var("FERRITE_LOG").ok();
    let asked = from_environment.as_deref().or_else(|| params::value(parameters, "ferrite_log"));
    if let Some(filter) = asked.filter(|f| !f.is_empty()) {
        let filter = tracing_subscriber::EnvFilter::new(filter);
        // This fails when a test has installed a logger already.
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    }
}
