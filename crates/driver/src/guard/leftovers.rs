//! The remains of a dead head or daemon: processes, its session directory, shared memory of its processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::process::Pid;

use super::{GUARD_NAME, Guarded};
use crate::segments::{self, processes};

/// Collects remains while processes are ended, and removes them afterwards.
pub(super) struct Leftovers {
    directories: [PathBuf; 2],
    dvm: String,
    born: SystemTime,
    /// Names under `/dev/shm` that the ended processes had mapped.
    mapped: BTreeSet<String>,
}

impl Leftovers {
    pub(super) fn new(guarded: &Guarded, born: SystemTime) -> Leftovers {
        let directories = [guarded.session_dir.clone(), guarded.tools.clone()];
        Leftovers { directories, dvm: guarded.dvm.clone(), born, mapped: BTreeSet::new() }
    }

    /// Notes the mappings of a process. Call this before the process is killed.
    pub(super) fn note_mappings(&mut self, pid: Pid) {
        let pid = pid.as_raw_nonzero();
        if let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) {
            self.mapped.extend(segments::named_in(&maps));
        }
    }

    /// Removes the remains. Call this when no process is left.
    pub(super) fn remove(&self) {
        // The call refuses to follow symbolic links; mostly the directories are gone already.
        self.directories.iter().for_each(|directory| drop(fs::remove_dir_all(directory)));
        let is_known = |name: &str| self.mapped.contains(name) || name.contains(&self.dvm) || segments::is_of_mpi(name);
        segments::remove_unused(&segments::made_since(self.born, is_known));
    }
}

/// Returns the direct children of a process, of all its threads.
pub(super) fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().map(|t| fs::read_to_string(t.path().join("children")));
    let mut found = Vec::new();
    for list in lists {
        match list {
            Ok(list) => {
                found.extend(list.split_whitespace().filter_map(|word| word.parse().ok().and_then(Pid::from_raw)))
            }
            // This is a kernel without this file, or a thread that has just ended.
            Err(_) => return children_by_search(pid.get()),
        }
    }
    found
}

fn children_by_search(parent: i32) -> Vec<Pid> {
    processes()
        .filter(|(_, path)| fs::read_to_string(path.join("stat")).is_ok_and(|stat| parent_of(&stat) == Some(parent)))
        .filter_map(|(pid, _)| Pid::from_raw(pid))
        .collect()
}

/// Parses the fourth field of `/proc/<pid>/stat`; the second is a name in parentheses that can contain any character.
fn parent_of(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// True for Ferrite's own commands and guards: they leave in order when they are told to.
pub(super) fn cleans_up_itself(pid: Pid) -> bool {
    let ours: [&[u8]; 4] = [b"prted", b"prterun", b"prte", GUARD_NAME.to_bytes()];
    ours.contains(&name_of(pid).trim_ascii_end())
}

/// True for a process that ends by itself when the head is gone, and does harm when it is ended before:
/// - A client, such as the process of a batch, writes its last records (spec L120).
/// - `srun` ends with the daemons of its step, which leave when they lose the head. When it gets SIGTERM, or is killed,
///   Slurm kills the daemons at once, and their files remain.
pub(super) fn ends_with_the_head(pid: Pid) -> bool {
    [&b"prun"[..], b"srun"].contains(&name_of(pid).trim_ascii_end())
}

fn name_of(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent_of("12 (a) R 9 (x) S 34 12 12"), Some(34));
        assert_eq!(parent_of("12 (cat) S 7 12 12"), Some(7));
        assert_eq!(parent_of(""), None);
    }
}
