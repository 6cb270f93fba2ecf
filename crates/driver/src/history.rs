//! The files of the history: `history/<number>` in the session directory, each a sequence of records. The machine says
//! which file a job belongs to, and which files go. A record is the length of its body (4 bytes, little-endian) and the
//! body (postcard). An index of jobs and places is in memory: 24 bytes a job.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ferrite_core::{Recall, Recalled};
use ferrite_types::JobId;
use ferrite_wire::control::{EndedJobs, JobDetail};

use crate::notice;
use crate::session_dir::SessionDir;

/// The number of jobs of a page.
const PAGE: usize = 1_000;
/// The largest body of a record (bytes); a longer one is damaged.
const LONGEST: u32 = 64 << 20;

/// The files of the history.
#[derive(Debug)]
pub(crate) struct History {
    session_dir: SessionDir,
    files: BTreeMap<u64, Kept>,
    /// True when the user was told that jobs cannot be kept.
    told: bool,
}

/// A file, and where its records begin.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    file: File,
    end: u64,
    /// The jobs, their numbers in the order of ends, and the places of their records.
    records: Vec<(JobId, u64, u64)>,
}

impl History {
    /// Makes a history without jobs; nothing is written before the first one.
    pub(crate) fn new(session_dir: &SessionDir) -> History {
        History { session_dir: session_dir.clone(), files: BTreeMap::new(), told: false }
    }

    /// Appends a job that is over, and removes files that are too old (spec L115).
    pub(crate) fn keep(&mut self, number: u64, file: u64, oldest: u64, job: &JobDetail) {
        while let Some(entry) = self.files.first_entry().filter(|entry| *entry.key() < oldest) {
            let Kept { path, .. } = entry.remove();
            if let Err(error) = fs::remove_file(&path) {
                tracing::warn!(%error, path = %path.display(), "a file of the history stays");
            }
        }
        if let Err(error) = self.append(number, file, job)
            && !std::mem::replace(&mut self.told, true)
        {
            notice::print(&format!(
                "The history of jobs cannot be written: {error}.\nOnly the last 1,000 jobs are remembered from here on, until it \
                 can. Make room in the directory, or name another with --prtemca prte_tmpdir_base <directory>."
            ));
        }
    }

    fn append(&mut self, number: u64, file: u64, job: &JobDetail) -> io::Result<()> {
        let kept = match self.files.entry(file) {
            std::collections::btree_map::Entry::Occupied(kept) => kept.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(Kept::create(&self.session_dir.dir()?.join("history"), file)?)
            }
        };
        kept.append(number, job)
    }

    /// Looks for what was asked.
    pub(crate) fn recall(&self, what: Recall) -> Recalled {
        match what {
            Recall::Job(job) => {
                Recalled::Job(job, self.files.values().rev().find_map(|kept| kept.find(job)).map(Box::new))
            }
            Recall::From(from) => Recalled::Page(self.page(from)),
        }
    }

    fn page(&self, from: u64) -> EndedJobs {
        let mut page = EndedJobs::default();
        for kept in self.files.values().filter(|kept| kept.records.last().is_some_and(|(_, last, _)| *last >= from)) {
            let first = kept.records.partition_point(|(_, number, _)| *number < from);
            for (_, number, at) in &kept.records[first..] {
                if page.jobs.len() == PAGE {
                    page.next = Some(*number);
                    return page;
                }
                page.jobs.extend(kept.read(*at).map(|detail| detail.status));
            }
        }
        page
    }
}

impl Kept {
    fn create(dir: &Path, number: u64) -> io::Result<Kept> {
        fs::create_dir_all(dir)?;
        let path = dir.join(number.to_string());
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok(Kept { path, file, end: 0, records: Vec::new() })
    }

    /// Appends a record. A half-written one has no entry in the index, and the next record takes its place.
    fn append(&mut self, number: u64, job: &JobDetail) -> io::Result<()> {
        let mut record = postcard::to_extend(job, vec![0; 4]).map_err(io::Error::other)?;
        let length = (record.len() - 4) as u32;
        record[..4].copy_from_slice(&length.to_le_bytes());
        self.file.write_all_at(&record, self.end)?;
        self.records.push((job.status.job, number, self.end));
        self.end += record.len() as u64;
        Ok(())
    }

    fn find(&self, job: JobId) -> Option<JobDetail> {
        let (_, _, at) = self.records.iter().rev().find(|(id, ..)| *id == job)?;
        self.read(*at)
    }

    /// Reads a record; one that somebody has damaged is left out, and the log says so.
    fn read(&self, at: u64) -> Option<JobDetail> {
        self.try_read(at)
            .inspect_err(|error| {
                tracing::warn!(%error, path = %self.path.display(), at, "a record of the history is damaged");
            })
            .ok()
    }

    fn try_read(&self, at: u64) -> io::Result<JobDetail> {
        let mut length = [0; 4];
        self.file.read_exact_at(&mut length, at)?;
        let length = u32::from_le_bytes(length);
        if length > LONGEST || at + 4 + u64::from(length) > self.end {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its length is wrong"));
        }
        let mut body = vec![0; length as usize];
        self.file.read_exact_at(&mut body, at + 4)?;
        postcard::from_bytes(&body).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::JobState;
    use ferrite_wire::control::{Ending, JobRecord, JobStatus};

    use super::*;

    fn job(id: u32) -> JobDetail {
        let status = JobStatus {
            job: JobId(id),
            parent: None,
            name: "a".to_owned(),
            task: format!("task {id}"),
            priority: 0,
            command: "a b".to_owned(),
            wdir: None,
            procs: 1,
            nodes: 1,
            first_node: "n0".to_owned(),
            state: JobState::Terminated,
            exit_code: Some((id % 250) as u8),
            ending: Some(Ending::Done),
            waiting_for: String::new(),
            submitted_us: 1,
            running_us: Some(2),
            ended_us: Some(3),
            tree: None,
        };
        JobDetail {
            status,
            nspace: format!("prte@{id}"),
            states: vec![(JobState::Init, 1)],
            procs: Vec::new(),
            places: Vec::new(),
            cause: String::new(),
            lost_ranks: Vec::new(),
            record: JobRecord::default(),
        }
    }

    fn found(history: &History, id: u32) -> Option<JobDetail> {
        match history.recall(Recall::Job(JobId(id))) {
            Recalled::Job(_, found) => found.map(|job| *job),
            Recalled::Page(_) => panic!("not asked for"),
        }
    }

    fn page(history: &History, from: u64) -> (Vec<u32>, Option<u64>) {
        match history.recall(Recall::From(from)) {
            Recalled::Page(page) => (page.jobs.iter().map(|job| job.job.0).collect(), page.next),
            Recalled::Job(..) => panic!("not asked for"),
        }
    }

    /// Files that are too old are gone (spec L115).
    #[test]
    fn jobs_are_found_until_their_file_goes() {
        let base = tempfile::tempdir().unwrap();
        let session_dir = SessionDir::planned(base.path(), "prte", 1);
        let mut history = History::new(&session_dir);
        assert!(!session_dir.path().exists(), "a DVM without jobs writes no history");
        // Jobs end in another order than that of their numbers.
        for number in 0..2_500_u64 {
            let file = number / 500;
            history.keep(number, file, file.saturating_sub(3), &job(10_000 - number as u32));
        }
        let names: Vec<_> = fs::read_dir(session_dir.path().join("history")).unwrap().flatten().collect();
        assert_eq!(names.len(), 4);
        assert_eq!(found(&history, 10_000), None);
        assert_eq!(found(&history, 9_501), None);
        assert_eq!(found(&history, 9_500), Some(job(9_500)));
        assert_eq!(found(&history, 7_501), Some(job(7_501)));
        let (first, next) = page(&history, 0);
        assert_eq!((first.len(), first[0], next), (PAGE, 9_500, Some(1_500)));
        let (rest, next) = page(&history, 1_500);
        assert_eq!((rest.len(), rest[0], rest[999], next), (PAGE, 8_500, 7_501, None));
        assert_eq!(page(&history, 2_500), (Vec::new(), None));
    }

    #[test]
    fn a_damaged_record_is_left_out_and_the_others_stay() {
        let base = tempfile::tempdir().unwrap();
        let session_dir = SessionDir::planned(base.path(), "prte", 1);
        let mut history = History::new(&session_dir);
        (1..=3).for_each(|id| history.keep(u64::from(id) - 1, 0, 0, &job(id)));
        let path = session_dir.path().join("history/0");
        let at = history.files[&0].records[1].2;
        let whole = fs::read(&path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for damage in [[0xff; 4], 7_u32.to_le_bytes()] {
            file.write_all_at(&damage, at).unwrap();
            assert_eq!(page(&history, 0), (vec![1, 3], None));
            assert_eq!(found(&history, 2), None);
        }
        // The end of the last record is missing.
        file.write_all_at(&whole, 0).unwrap();
        file.set_len(whole.len() as u64 - 1).unwrap();
        assert_eq!(page(&history, 0), (vec![1, 2], None));
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_told_and_forgets_jobs() {
        let base = tempfile::tempdir().unwrap();
        let session_dir = SessionDir::planned(&base.path().join("missing"), "prte", 1);
        let mut history = History::new(&session_dir);
        (1..=3).for_each(|id| history.keep(u64::from(id) - 1, 0, 0, &job(id)));
        assert!(history.told && found(&history, 1).is_none() && page(&history, 0) == (Vec::new(), None));
    }
}
