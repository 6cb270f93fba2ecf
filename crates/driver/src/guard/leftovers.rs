//! The remains of a dead head or daemon: processes, its session directory, shared memory of its processes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::process::Pid;

use super::{GUARD_NAME, Guarded};

const SHM: &str = "/dev/shm";

/// Prefixes of the shared-memory segments of MPI libraries. A process that died with its daemon can no longer be asked
/// for its mappings; then such a prefix, our owner, a creation after our start and no living user identify a segment.
const MPI_SEGMENTS: &[&str] = &[
    "vader_segment.",
    "sm_segment.",
    "osc_rdma.",
    "osc_sm.",
    "ompi_",
    "open_mpi.",
    "mpich_shar_tmp",
    "mpich_shm_",
    "ucx_shm_posix_",
    "psm2_shm.",
    "psm3_shm.",
];

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
            self.mapped.extend(segments(&maps));
        }
    }

    /// Removes the remains. Call this when no process is left.
    pub(super) fn remove(&self) {
        // The call refuses to follow symbolic links; mostly the directories are gone already.
        self.directories.iter().for_each(|directory| drop(fs::remove_dir_all(directory)));
        let candidates = self.candidates();
        if candidates.is_empty() {
            return;
        }
        let in_use = segments_in_use();
        for name in candidates.difference(&in_use) {
            let _ = fs::remove_file(Path::new(SHM).join(name));
        }
    }

    fn candidates(&self) -> BTreeSet<String> {
        let Ok(entries) = fs::read_dir(SHM) else {
            return BTreeSet::new();
        };
        let entries = entries.flatten().filter(|e| e.metadata().is_ok_and(|m| self.is_ours(&m)));
        entries.filter_map(|e| e.file_name().into_string().ok()).filter(|name| self.is_known(name)).collect()
    }

    fn is_ours(&self, file: &fs::Metadata) -> bool {
        // The file system's clock ticks more coarsely than the process's.
        let earliest = self.born - Duration::from_millis(20);
        let born = file.created().or_else(|_| file.modified());
        file.is_file() && file.uid() == rustix::process::getuid().as_raw() && born.is_ok_and(|b| b >= earliest)
    }

    fn is_known(&self, name: &str) -> bool {
        self.mapped.contains(name)
            || name.contains(&self.dvm)
            || MPI_SEGMENTS.iter().any(|prefix| name.starts_with(prefix))
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

fn processes() -> impl Iterator<Item = (i32, PathBuf)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|e| Some((e.file_name().to_str()?.parse().ok()?, e.path())))
}

/// Finds names of segments in the text of a `maps` file.
fn segments(maps: &str) -> impl Iterator<Item = String> + '_ {
    maps.lines()
        .filter_map(|line| line.split_once("/dev/shm/"))
        .map(|(_, name)| name.trim_end_matches(" (deleted)").to_owned())
}

/// Returns the segments that any living process has mapped or open, as far as this user may see.
fn segments_in_use() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, path) in processes() {
        if let Ok(maps) = fs::read_to_string(path.join("maps")) {
            found.extend(segments(&maps));
        }
        let open = fs::read_dir(path.join("fd")).into_iter().flatten().flatten();
        let targets = open.filter_map(|fd| fs::read_link(fd.path()).ok());
        found.extend(targets.filter_map(|t| Some(t.strip_prefix(SHM).ok()?.to_str()?.to_owned())));
    }
    found
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

    #[test]
    fn segments_are_read_from_maps() {
        let maps = "7f0-7f1 rw-s 0 00:1 5 /dev/shm/vader_segment.n0.0.1\n7f1-7f2 r-xp 0 0 0 /lib/x.so\n\
                    7f2-7f3 rw-s 0 0 0 /dev/shm/gone (deleted)\n";
        let found: Vec<_> = segments(maps).collect();
        assert_eq!(found, ["vader_segment.n0.0.1", "gone"]);
    }
}
