//! Checks the limits of the caller's shell before anything else: a command that fails for them later cannot say why.

use std::ffi::OsString;
use std::hint::black_box;

use rustix::process::{Resource, getrlimit};

use crate::command::REFUSED;
use crate::frame;

/// The smallest stack (bytes). With 64 KiB a command's own code overflows it; 100 KiB are enough.
const LEAST_STACK: u64 = 256 << 10;

/// Number of open files that a command needs to serve one process.
#[derive(Clone, Copy, Debug)]
pub enum Files {
    /// A head or daemon: pipes of processes, sockets, timers.
    Dvm = 64,
    /// A client.
    Client = 16,
}

/// Runs a command of this name with the arguments of this process, unless the shell's limits are too small for it.
#[must_use]
pub fn run<Args>(name: &str, files: Files, main: fn(Args) -> i32, args: Args) -> i32
where
    Args: Iterator<Item = OsString>,
{
    let limit = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
    if let Some((what, next)) = obstacle(limit(Resource::Nofile), limit(Resource::Stack), files) {
        frame::print(&frame::framed(name, &[&what, &next]));
        return REFUSED;
    }
    // `black_box` keeps the compiler from inlining `main`, whose stack would then be needed before the check.
    black_box(main)(args)
}

fn obstacle(open_files: u64, stack: u64, needed: Files) -> Option<(String, String)> {
    let files = needed as u64;
    if open_files < files {
        let what = format!("the limit of open files is {open_files} here (ulimit -n), and at least {files} are needed");
        return Some((what, "Raise it in the shell that starts the command: ulimit -n 1024".to_owned()));
    }
    if stack < LEAST_STACK {
        let (limit, least) = (stack >> 10, LEAST_STACK >> 10);
        let what = format!("the limit of the stack is {limit} KiB here (ulimit -s), and at least {least} are needed");
        return Some((what, "Raise it in the shell that starts the command: ulimit -s 8192".to_owned()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_small_is_named_with_what_is_needed() {
        assert_eq!(obstacle(64, LEAST_STACK, Files::Dvm), None);
        assert_eq!(obstacle(16, u64::MAX, Files::Client), None);
        let (what, next) = obstacle(8, u64::MAX, Files::Dvm).unwrap();
        assert!(what.contains("is 8 here (ulimit -n)") && what.contains("64") && next.contains("ulimit -n 1024"));
        let (what, next) = obstacle(u64::MAX, 64 << 10, Files::Client).unwrap();
        assert!(what.contains("is 64 KiB here (ulimit -s)") && what.contains("256") && next.contains("ulimit -s 8192"));
    }
}
