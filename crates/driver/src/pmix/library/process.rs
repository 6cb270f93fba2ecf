//! Chooses and starts the program that runs libpmix. Only [`super::Library`] uses it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ferrite_pmix::protocol::BUILD;
use ferrite_pmix::{LIBPMIX_ENV, PROCESS_ENV};
use ferrite_pmix_sys as sys;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;

use crate::stdio::watched;
use crate::{guard, install, params};

/// The program that runs libpmix.
pub(crate) const PROGRAM: &str = "ferrite-pmixd";
/// Default time after which an unanswering library counts as hung; a parameter may change it.
const PATIENCE_MS: u64 = 30_000;

/// The services of one process of the library before another one takes its place: libpmix 4.2.2 keeps 3 to 6 KiB of
/// most of them.
const MOST_SERVED: u32 = 1_000;

/// The way in which the library is run: program, patience and span of service.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    /// Path of the program.
    pub(in crate::pmix) program: PathBuf,
    /// The time that the library has for an order.
    pub(in crate::pmix) patience: Duration,
    /// After so many jobs, connections and events another process takes the place of this one, once it serves nobody.
    pub(in crate::pmix) most_served: u32,
    /// Variables that the program gets, beside those of this process.
    pub(in crate::pmix) env: BTreeMap<String, String>,
}

impl Runner {
    /// Reads the parameters `ferrite_pmixd` (default: the program beside this one), `ferrite_libpmix` (spec L132),
    /// `ferrite_pmix_patience_ms`, and those about the places of installations.
    pub(crate) fn of(parameters: &[(String, String)]) -> Runner {
        let beside =
            || std::env::current_exe().map(|own| own.with_file_name(PROGRAM)).unwrap_or_else(|_| PROGRAM.into());
        let mut env = install::variables(&install::env(parameters), |name| std::env::var(name).ok());
        env.extend(params::value(parameters, "ferrite_libpmix").map(|file| (LIBPMIX_ENV.to_owned(), file.to_owned())));
        let patience_ms = params::number(parameters, "ferrite_pmix_patience_ms").unwrap_or(PATIENCE_MS);
        Runner {
            program: params::value(parameters, "ferrite_pmixd").map_or_else(beside, PathBuf::from),
            patience: Duration::from_millis(patience_ms),
            most_served: MOST_SERVED,
            env,
        }
    }
}

/// A process that was just started.
pub(super) struct Begun {
    pub(super) child: Child,
    /// Becomes readable when the process has ended.
    pub(super) ended: AsyncFd<OwnedFd>,
    /// Socket for orders and reports.
    pub(super) daemon: UnixStream,
    /// Socket over which connections are passed.
    pub(super) entrance: AsyncFd<OwnedFd>,
}

/// Starts the program with its two sockets; it dies with this process. The library in it calls `caller`.
pub(super) fn begin(runner: &Runner, caller: Option<&str>) -> io::Result<Begun> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (entrance, inside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let mut command = Command::new(&runner.program);
    command.arg(BUILD).stdin(OwnedFd::from(theirs)).stdout(Stdio::from(inside)).current_dir("/");
    // By these a tool speaks to a launcher, which passes on what concerns the library.
    for name in [sys::PMIX_LAUNCHER_RNDZ_URI, sys::PMIX_KEEPALIVE_PIPE] {
        command.env_remove(OsStr::from_bytes(name.to_bytes()));
    }
    command.envs(caller.map(|address| (OsStr::from_bytes(sys::PMIX_LAUNCHER_RNDZ_URI.to_bytes()), address)));
    // Variables that the user has set keep their values.
    let preset = PROCESS_ENV.iter().filter(|(name, _)| std::env::var_os(name).is_none());
    command.envs(preset.copied()).envs(&runner.env);
    guard::tie(&mut command);
    let mut child = command.spawn()?;
    let begun = pidfd_open(Pid::from_child(&child), PidfdFlags::NONBLOCK).map_err(io::Error::from);
    let watch = |pidfd| Ok((watched(pidfd)?, UnixStream::from_std(ours)?, watched(entrance)?));
    match begun.and_then(watch) {
        Ok((ended, daemon, entrance)) => Ok(Begun { child, ended, daemon, entrance }),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}
