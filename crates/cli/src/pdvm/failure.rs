//! The reasons why a verb fails, with advice for the user.

use std::io;
use std::path::PathBuf;

use ferrite_client::{BridgeError, ConnectionError, FindError};
use ferrite_types::Signal;
use thiserror::Error;

use crate::args::UsageError;
use crate::command::REFUSED;
use crate::setup::SetupError;

/// The reason why a verb fails.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The line is wrong.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A parameter is wrong.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// `--do-not-connect`.
    #[error("--do-not-connect leaves no DVM that could be asked")]
    Never,
    /// The current directory or the executable cannot be found.
    #[error("cannot find out where we are: {0}")]
    Surroundings(io::Error),
    /// There is no such DVM.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The connection broke.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// A bridge has ended before the DVM has closed the conversation.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// The DVM refuses; the text is its reason.
    #[error("{0}")]
    Refused(String),
    /// The DVM refuses to change its size; the text is its reason.
    #[error("{0}")]
    NotResized(String),
    /// The DVM has tried to change its size and failed; the text is its reason.
    #[error("{0}")]
    RolledBack(String),
    /// An elastic job has not changed its size; the text is the reason.
    #[error("{0}")]
    JobKeepsSize(String),
    /// A signal has ended the wait.
    #[error(
        "interrupted while it waited; what has begun goes on, and what a resource manager has not granted yet is not asked for any more"
    )]
    Interrupted(Signal),
    /// The reply is of the wrong kind.
    #[error("the DVM {dvm} gave an answer that belongs to another question")]
    Astray {
        /// The DVM's name.
        dvm: String,
    },
    /// The job's namespace belongs to another DVM.
    #[error("job {wanted} belongs to another DVM than {dvm}, which was found")]
    OtherDvm {
        /// The namespace, as given.
        wanted: String,
        /// The DVM.
        dvm: String,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// A file cannot be written.
    #[error("cannot write {path}: {cause}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// `top` needs a terminal and has none.
    #[error("top needs a terminal, and standard output is none")]
    NoTerminal,
    /// `top` has no JSON.
    #[error("top has no JSON: it draws")]
    TopJson,
    /// The terminal cannot be set up.
    #[error("cannot use the terminal: {0}")]
    Terminal(io::Error),
    /// `web` cannot open its port.
    #[error("cannot open port {port}: {cause}")]
    Port {
        /// The port; 0 = any.
        port: u16,
        /// The system's error.
        cause: io::Error,
    },
    /// Signals cannot be caught, or there are no more descriptors.
    #[error("cannot begin to listen: {0}")]
    Machine(io::Error),
}

impl Failure {
    /// Returns the command's exit code.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Failure::Interrupted(signal) => 128 + signal.0,
            _ => REFUSED,
        }
    }

    /// Returns the kind of the failure, for programs (docs/pdvm-json.md).
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Failure::Usage(_) | Failure::Setup(_) | Failure::Never | Failure::TopJson => "usage",
            Failure::Find(_) | Failure::OtherDvm { .. } => "no_dvm",
            Failure::Connection(_) | Failure::Bridge(BridgeError::Connection(_) | BridgeError::NoService { .. }) => {
                "connection"
            }
            Failure::Bridge(BridgeError::NoJson(_)) => "usage",
            Failure::Refused(_) | Failure::NotResized(_) => "refused",
            Failure::RolledBack(_) | Failure::JobKeepsSize(_) => "failed",
            Failure::Interrupted(_) => "interrupted",
            Failure::Output(_) | Failure::File { .. } | Failure::Bridge(BridgeError::Output(_)) => "output",
            Failure::Surroundings(_)
            | Failure::NoTerminal
            | Failure::Terminal(_)
            | Failure::Port { .. }
            | Failure::Machine(_)
            | Failure::Bridge(BridgeError::Input(_) | BridgeError::Machine(_)) => "machine",
            Failure::Astray { .. } => "fault",
        }
    }

    /// Returns advice for the user; empty when the message contains it.
    pub(crate) fn next_step(&self) -> String {
        let text = match self {
            Failure::Usage(error) => return error.next_step(),
            Failure::Setup(error) => return error.next_step(),
            Failure::Never => "Remove the option.",
            Failure::Surroundings(_) => "Change to a directory that exists, and start the command by its path.",
            Failure::Find(error) => error.next_step(),
            Failure::Connection(error) => error.next_step(),
            Failure::Bridge(error) => error.next_step(),
            Failure::Refused(_) => "",
            Failure::NotResized(_) => "Nothing was changed.",
            Failure::RolledBack(_) => {
                "The DVM has the nodes that it had before. Ask again when the cause is mended; `pdvm nodes` lists what there is."
            }
            Failure::JobKeepsSize(_) => "`pdvm jobs --tree` shows its size.",
            Failure::Interrupted(_) => "`pdvm status` shows how far it is, `pdvm events --follow` its end.",
            Failure::Astray { .. } => "This is a fault of the software: please report it.",
            Failure::OtherDvm { .. } => "Say which DVM is meant with --namespace, --pid or --dvm-uri.",
            Failure::Output(_) => "Look at where standard output goes: the disk may be full.",
            Failure::File { .. } => "Give a file in a directory that can be written to, or `-`.",
            Failure::NoTerminal | Failure::TopJson => {
                "`pdvm status`, `pdvm jobs` and `pdvm nodes` print the same once, with --json for programs; `pdvm events --follow` goes on."
            }
            Failure::Terminal(_) => "Check TERM, or use `pdvm status` and `pdvm jobs`.",
            Failure::Port { .. } => "Give another port, or leave out --port: a free one is chosen.",
            Failure::Machine(_) => "The limit of open files may be reached (ulimit -n).",
        };
        text.to_owned()
    }
}
