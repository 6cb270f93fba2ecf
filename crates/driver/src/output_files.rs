//! Output files of the processes of this node (`--output dir=...`, `file=...`).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Largest number of files that are open at a time; a job of thousands of ranks needs more than a process may open.
const MOST_OPEN: usize = 128;

/// The files that were written to.
#[derive(Default)]
pub(crate) struct OutputFiles {
    files: BTreeMap<String, Entry>,
    open: usize,
    clock: u64,
}

#[derive(Default)]
struct Entry {
    file: Option<File>,
    begun: bool,
    failed: bool,
    last_use: u64,
}

impl OutputFiles {
    /// Writes all of it. An error comes once per file; later writes to it are dropped.
    pub(crate) fn write(&mut self, path: &str, data: &[u8]) -> io::Result<()> {
        self.clock += 1;
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), Entry::default());
        }
        if self.files[path].file.is_none() && self.open >= MOST_OPEN {
            self.close_oldest();
        }
        let entry = self.files.get_mut(path).expect("it was entered above");
        entry.last_use = self.clock;
        if entry.failed {
            return Ok(());
        }
        let was_open = entry.file.is_some();
        let result = entry.write(path, data);
        entry.failed = result.is_err();
        if entry.failed {
            entry.file = None;
        }
        self.open = self.open + usize::from(entry.file.is_some()) - usize::from(was_open);
        result
    }

    /// Forgets a file. A later write replaces its content.
    pub(crate) fn close(&mut self, path: &str) {
        let entry = self.files.remove(path);
        self.open -= usize::from(entry.is_some_and(|entry| entry.file.is_some()));
    }

    fn close_oldest(&mut self) {
        let open = self.files.values_mut().filter(|e| e.file.is_some());
        if let Some(oldest) = open.min_by_key(|e| e.last_use) {
            oldest.file = None;
            self.open -= 1;
        }
    }
}

impl Entry {
    fn write(&mut self, path: &str, data: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(self.open(Path::new(path))?);
        }
        let file = self.file.as_mut().expect("it was opened above");
        file.write_all(data)
    }

    /// Opens a file: the first time it replaces the content of an earlier run, after that it appends.
    fn open(&mut self, path: &Path) -> io::Result<File> {
        if self.begun {
            return OpenOptions::new().append(true).open(path);
        }
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let file = File::create(path)?;
        self.begun = true;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_may_be_open_are_all_written_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = |i: usize| format!("{}/{i}/stdout", dir.path().display());
        let mut files = OutputFiles::default();
        for round in ["one ", "two"] {
            for i in 0..MOST_OPEN + 10 {
                files.write(&path(i), round.as_bytes()).unwrap();
            }
        }
        assert_eq!(files.open, MOST_OPEN);
        for i in [0, 5, MOST_OPEN + 9] {
            assert_eq!(fs::read_to_string(path(i)).unwrap(), "one two");
        }
    }

    #[test]
    fn what_an_earlier_run_left_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("{}/out", dir.path().display());
        fs::write(&path, "of yesterday").unwrap();
        OutputFiles::default().write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_once() {
        let mut files = OutputFiles::default();
        assert!(files.write("/dev/null/sub/out", b"x").is_err());
        assert!(files.write("/dev/null/sub/out", b"x").is_ok());
    }
}
