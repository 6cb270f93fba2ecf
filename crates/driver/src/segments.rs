//! Shared-memory segments in `/dev/shm`. MPI libraries leave theirs when a process ends without `MPI_Finalize`: it was
//! killed, or it has left a job that goes on. They are removed after the job, and with the DVM (`guard/leftovers.rs`).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use ferrite_types::JobId;
use tokio::task::{spawn_blocking, spawn_local};

const SHM: &str = "/dev/shm";

/// Prefixes of the segments of MPI libraries. A process that has ended can no longer be asked for its mappings; then
/// such a prefix, our owner, a creation after our start and no living user identify a segment.
const OF_MPI: &[&str] = &[
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

/// Removes what jobs leave. The search for users of a segment reads much of `/proc`, so a thread does it, and only when
/// there is a segment of the time of the job.
#[derive(Default)]
pub(crate) struct Sweeper {
    /// The time at which each job began here.
    begun: RefCell<BTreeMap<JobId, SystemTime>>,
    sweep: Rc<Sweep>,
}

/// The thread's work.
#[derive(Default)]
struct Sweep {
    /// Segments that were made since then are to be looked at.
    since: Cell<Option<SystemTime>>,
    is_under_way: Cell<bool>,
}

impl Sweeper {
    /// Notes the time when the first process of a job is about to be started.
    pub(crate) fn begin(&self, job: JobId) {
        self.begun.borrow_mut().entry(job).or_insert_with(SystemTime::now);
    }

    /// Removes what a job has left (spec L138). Call this when its processes have ended.
    pub(crate) fn end(&self, job: JobId) {
        let Some(begun) = self.begun.borrow_mut().remove(&job) else { return };
        if made_since(begun, is_of_mpi).is_empty() {
            return;
        }
        let sweep = Rc::clone(&self.sweep);
        sweep.since.set(Some(sweep.since.get().map_or(begun, |since| since.min(begun))));
        if sweep.is_under_way.replace(true) {
            return;
        }
        spawn_local(async move {
            while let Some(since) = sweep.since.take() {
                let work = move || remove_unused(&made_since(since, is_of_mpi));
                // A thread that has panicked has removed less; the guard removes the rest.
                let _ = spawn_blocking(work).await;
            }
            sweep.is_under_way.set(false);
        });
    }
}

/// True for the name of a segment of an MPI library.
pub(crate) fn is_of_mpi(name: &str) -> bool {
    OF_MPI.iter().any(|prefix| name.starts_with(prefix))
}

/// Our segments that have been made since then and have such names.
pub(crate) fn made_since(begin: SystemTime, is_known: impl Fn(&str) -> bool) -> BTreeSet<String> {
    // The file system's clock ticks more coarsely than the process's.
    let earliest = begin - Duration::from_millis(20);
    let is_ours = |file: fs::Metadata| {
        let made = file.created().or_else(|_| file.modified());
        file.is_file() && file.uid() == rustix::process::getuid().as_raw() && made.is_ok_and(|made| made >= earliest)
    };
    // The directory is as old as its newest entry.
    let changed = fs::metadata(SHM).and_then(|dir| dir.modified());
    if changed.is_ok_and(|changed| changed < earliest) {
        return BTreeSet::new();
    }
    let entries = fs::read_dir(SHM).into_iter().flatten().flatten();
    let known = entries.filter_map(|e| Some((e.file_name().into_string().ok().filter(|name| is_known(name))?, e)));
    known.filter(|(_, e)| e.metadata().is_ok_and(is_ours)).map(|(name, _)| name).collect()
}

/// Removes those that no living process has mapped or open, as far as this user may see.
pub(crate) fn remove_unused(segments: &BTreeSet<String>) {
    if segments.is_empty() {
        return;
    }
    for name in segments.difference(&in_use()) {
        let _ = fs::remove_file(Path::new(SHM).join(name));
    }
}

fn in_use() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, path) in processes() {
        if let Ok(maps) = fs::read_to_string(path.join("maps")) {
            found.extend(named_in(&maps));
        }
        let open = fs::read_dir(path.join("fd")).into_iter().flatten().flatten();
        let targets = open.filter_map(|fd| fs::read_link(fd.path()).ok());
        found.extend(targets.filter_map(|t| Some(t.strip_prefix(SHM).ok()?.to_str()?.to_owned())));
    }
    found
}

/// The names of segments in the text of a `maps` file.
pub(crate) fn named_in(maps: &str) -> impl Iterator<Item = String> + '_ {
    maps.lines()
        .filter_map(|line| line.split_once("/dev/shm/"))
        .map(|(_, name)| name.trim_end_matches(" (deleted)").to_owned())
}

/// The processes of this machine, with their directories in `/proc`.
pub(crate) fn processes() -> impl Iterator<Item = (i32, PathBuf)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|e| Some((e.file_name().to_str()?.parse().ok()?, e.path())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_from_maps() {
        let maps = "7f0-7f1 rw-s 0 00:1 5 /dev/shm/vader_segment.n0.0.1\n7f1-7f2 r-xp 0 0 0 /lib/x.so\n\
                    7f2-7f3 rw-s 0 0 0 /dev/shm/gone (deleted)\n";
        let found: Vec<_> = named_in(maps).collect();
        assert_eq!(found, ["vader_segment.n0.0.1", "gone"]);
    }

    /// (spec L138)
    #[tokio::test(flavor = "current_thread")]
    async fn what_a_job_has_left_is_removed_after_it_and_nothing_else() {
        let mine = |name: &str| Path::new(SHM).join(format!("{name}{}", std::process::id()));
        let older = mine("mpich_shm_older_");
        fs::write(&older, "").unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let sweeper = Sweeper::default();
        sweeper.begin(JobId(1));
        let [left, open, other] = ["mpich_shm_left_", "vader_segment.open_", "somebodys_"].map(mine);
        fs::write(&left, "").unwrap();
        fs::write(&other, "").unwrap();
        let user = fs::File::create(&open).unwrap();
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                sweeper.end(JobId(2));
                assert!(!sweeper.sweep.is_under_way.get());
                sweeper.end(JobId(1));
                while sweeper.sweep.is_under_way.get() {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        let there: Vec<bool> = [&older, &left, &open, &other].map(|path| path.exists()).into();
        [&older, &open, &other].into_iter().for_each(|path| fs::remove_file(path).unwrap());
        drop(user);
        assert_eq!(there, [true, false, true, true]);
    }
}
