//! Who descends from whom, read from `/proc`. Only [`super::Processes`] uses it. What it says may be old by the time it
//! is used; callers must stay correct then.

use std::fs;

use rustix::process::{Pid, getpgid};

/// Children of a process, of all of its threads.
pub(super) fn children_of(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let pids = list.split_ascii_whitespace().filter_map(|p| p.parse().ok());
        children.extend(pids.filter_map(Pid::from_raw));
    }
    children
}

/// Everything below a process, parents before their children.
pub(super) fn descendants_of(pid: Pid) -> Vec<Pid> {
    let mut found = children_of(pid);
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        for child in children_of(pid) {
            // A pid that is used anew while we look could close a circle.
            if !found.contains(&child) {
                found.push(child);
            }
        }
        next += 1;
    }
    found
}

/// True when the process is in the group.
pub(super) fn is_in_group(pid: Pid, group: Pid) -> bool {
    getpgid(Some(pid)).is_ok_and(|g| g == group)
}

/// True when the process is on a processor or waits for one.
pub(super) fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    // The name before it may hold anything, parentheses too.
    stat.is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" R")))
}

/// The value of a variable in the environment that a process was started with.
pub(super) fn variable_of(pid: Pid, name: &str) -> Option<String> {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    let value = |entry: &[u8]| {
        let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    environ.split(|b| *b == 0).find_map(value)
}
