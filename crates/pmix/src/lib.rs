//! A safe PMIx server: libpmix opened at run time, its upcalls as owned values, its answers given where they are safe.
//!
//! The driver uses it; it knows no DVM type and no async runtime, and it takes no decisions. Three rules of the library
//! shape it (README.md says how they were found):
//!
//! 1. Upcalls come on the library's thread and must return at once: arguments are copied, the receiver passes them on.
//! 2. Answers must be given on that thread: [`Completer`] may be used anywhere and hops there by itself.
//! 3. A client that gets no answer hangs: a [`Completer`] that is dropped answers with an error.
//!
//! The start of the library takes milliseconds that most jobs need not pay. A child can be given
//! [`FrontDoor::child_env`] before the library runs; the first connection to the driver's port is then the reason to
//! call [`Server::start`].

mod array;
mod completer;
mod environment;
mod flood;
mod gate;
mod job;
mod module;
mod progress;
pub mod protocol;
mod pulls;
mod replies;
mod server;
mod socket;
mod status;
mod upcall;
mod value;

/// The libpmix that a server would use: its release, and its file as it is named to the loader.
///
/// # Errors
/// There is none, or none that fits.
pub fn installed() -> Result<(Version, std::path::PathBuf), OpenError> {
    let library = ferrite_pmix_sys::Library::open()?;
    Ok((library.version(), library.path().to_path_buf()))
}

pub use completer::Completer;
pub use environment::{FrontDoor, PROCESS_ENV, compat_env};
pub use ferrite_pmix_sys::{LIBPMIX_ENV, OpenError, Version, topology_xml};
pub use gate::{Claim, FirstMessage, Greeting};
pub use job::{AppInfo, DETAILS_UP_TO, JobInfo, LocalProc, NodeInfo, RemoteProc, SHARED_FROM, Stop};
pub use replies::Replies;
pub use server::{Audience, CalledBy, Error, Notice, OutputChannel, Server, ServerConfig};
pub use socket::wake_at;
pub use status::Status;
pub use upcall::{App, LogChannel, LogEntry, Published, Question, Upcall};
pub use value::{Info, Proc, ProcInfo, Value};
