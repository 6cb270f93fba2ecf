//! `ferrite-pmixd`: the process that runs libpmix for one daemon, which starts it when the first program wants PMIx.
//! The library is foreign code that speaks with every program of the node: when one of them makes it crash or hang,
//! this process is what is lost, and not the daemon. It has neither the key of the DVM nor a link, and it decides
//! nothing.
//!
//! Its standard input is the socket to the daemon (`ferrite_pmix::protocol`); over its standard output the daemon
//! passes connections (`entrance`).

mod caller;
mod entrance;
mod pace;
mod serve;
mod topology;

use std::io::Write;
use std::os::fd::OwnedFd;

use ferrite_pmix::protocol::{BUILD, OTHER_BUILD};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};

fn main() {
    std::process::exit(match std::env::args().nth(1).as_deref() {
        Some(build) if build == BUILD => start(),
        Some("--version") => {
            println!("ferrite-pmixd {}", env!("CARGO_PKG_VERSION"));
            0
        }
        Some("--libpmix") => tell_library(),
        Some(topology::ARGUMENT) => print_topology(),
        Some(build) if build.contains('/') => OTHER_BUILD,
        _ => {
            eprintln!(
                "ferrite-pmixd: this is the process in which prterun, prte and prted run libpmix; they start it themselves"
            );
            1
        }
    });
}

/// Says which libpmix would be used (`prte_info`).
fn tell_library() -> i32 {
    match ferrite_pmix::installed() {
        Ok((version, path)) => {
            println!("OpenPMIx {version} ({})", path.display());
            0
        }
        Err(error) => {
            eprintln!("none: {error}");
            1
        }
    }
}

/// Prints the topology of this machine for the process that is named (`topology`), and ends with it.
fn print_topology() -> i32 {
    let waiting = std::env::args().nth(2).and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    let tied = set_parent_process_death_signal(Some(Signal::KILL));
    if waiting.is_none() || getppid() != waiting || tied.is_err() {
        eprintln!("ferrite-pmixd: nobody waits for the topology");
        return 1;
    }
    let printed = ferrite_pmix::topology_xml()
        .and_then(|xml| std::io::stdout().write_all(&xml).map_err(|error| error.to_string()));
    match printed {
        // The exit handlers of drivers are left out.
        Ok(()) if std::io::stdout().flush().is_ok() => serve::leave(),
        Ok(()) => 1,
        Err(reason) => {
            eprintln!("ferrite-pmixd: no topology: {reason}");
            1
        }
    }
}

/// Leaves the signals that Slurm sends to all processes of a job to the daemon; this process ends with it (spec E66).
fn ignore_signals() {
    for signal in [libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: `SIG_IGN` installs no handler that could run our code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn start() -> i32 {
    // From now on no debugger of the same user can take descriptors from this process.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    raise_descriptor_limit();
    ignore_signals();
    have_one_heap();
    match sockets() {
        Ok((daemon, connections)) => {
            entrance::open(connections);
            serve::run(daemon.into())
        }
        Err(error) => {
            eprintln!("ferrite-pmixd: its sockets cannot be taken over: {error}");
            1
        }
    }
}

/// Returns the two sockets, moved away from the standard streams, because the library may print.
fn sockets() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let above = |fd| rustix::io::fcntl_dupfd_cloexec(fd, 3);
    let (daemon, connections) = (above(rustix::stdio::stdin())?, above(rustix::stdio::stdout())?);
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((daemon, connections))
}

/// Has all threads share one heap, which grows in larger steps and keeps some memory. The heap of the library's thread
/// would grow page by page, and the data of each fence would have its pages mapped anew.
#[cfg(target_env = "gnu")]
fn have_one_heap() {
    const MIB: i32 = 1 << 20;
    let limits = [
        (libc::M_ARENA_MAX, 1),
        (libc::M_TOP_PAD, MIB / 4),
        (libc::M_TRIM_THRESHOLD, 4 * MIB),
        (libc::M_MMAP_THRESHOLD, 4 * MIB),
    ];
    for (parameter, value) in limits {
        // SAFETY: it changes numbers of the allocator; there is one thread yet. A refusal leaves the default.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Other C libraries have one heap.
#[cfg(not(target_env = "gnu"))]
fn have_one_heap() {}

/// Raises the limit of descriptors: each process of the node is a connection here.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // On failure the limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
