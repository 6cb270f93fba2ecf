//! The process tree as `/proc` shows it. Only [`super::Processes`] uses it. An answer may be outdated when it is used;
//! callers have to stay correct then.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use rustix::process::{Pid, getpgid, getpid};

/// Returns the children of a process, of all its threads.
pub(super) fn children_of(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        children.extend(pids_in(&fs::read_to_string(thread.path().join("children")).unwrap_or_default()));
    }
    children
}

/// The children of this process's first thread. A subreaper's orphans are among them: the kernel gives them to the
/// first thread that lives. The processes that other threads have started are not.
#[derive(Default)]
pub(super) struct FirstThread {
    list: Option<File>,
}

impl FirstThread {
    /// Opens the list, which is kept.
    pub(super) fn of_this_process() -> FirstThread {
        let pid = getpid().as_raw_nonzero();
        FirstThread { list: File::open(format!("/proc/{pid}/task/{pid}/children")).ok() }
    }

    /// Reads the list.
    pub(super) fn children(&self) -> Vec<Pid> {
        let mut text = Vec::new();
        let mut buffer = [0_u8; 4096];
        while let Some(list) = &self.list
            && let Ok(count @ 1..) = list.read_at(&mut buffer, text.len() as u64)
        {
            text.extend_from_slice(&buffer[..count]);
        }
        pids_in(&String::from_utf8_lossy(&text)).collect()
    }
}

fn pids_in(list: &str) -> impl Iterator<Item = Pid> {
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw)
}

/// Returns all descendants of a process, parents before their children.
pub(super) fn descendants_of(pid: Pid) -> Vec<Pid> {
    let mut found = children_of(pid);
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        for child in children_of(pid) {
            // A pid that is reused during the search could close a circle.
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

/// True when the process runs or waits for a processor.
pub(super) fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    // The process name before it may contain any character, parentheses too.
    stat.is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" R")))
}

/// The start time of a process, in clock ticks since the machine's.
pub(super) fn began(pid: Pid) -> Option<u64> {
    const FIELD_AFTER_NAME: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(FIELD_AFTER_NAME)?.parse().ok()
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
