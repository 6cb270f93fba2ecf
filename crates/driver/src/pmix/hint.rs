//! Guesses whether a program uses libpmix, so that the library can start beside it. This is only a hint: an
//! unrecognised program is served when it connects.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use ferrite_core::Registration;
use ferrite_types::JobId;

use super::Shared;

/// Size of the searched part of an executable (bytes): names of libraries are near its beginning.
const LOOK_AT: u64 = 64 * 1024;

/// Libraries that only users of PMIx are linked with. (MPICH's library is `libmpi.so.12` or `libmpich.so`.)
const LIBRARIES: [&[u8]; 3] = [b"libpmix.so", b"libmpi.so.40", b"libmpi.so.20"];

/// Number of programs that are remembered, because a stream of small jobs runs the same few again and again.
const REMEMBERED: usize = 64;

/// The results for the programs so far.
#[derive(Default)]
pub(super) struct Hints {
    seen: BTreeMap<(String, PathBuf), Seen>,
}

struct Seen {
    path: PathBuf,
    stamp: Stamp,
    wants: bool,
}

/// Identifies a version of a file; it changes with the file.
type Stamp = (u64, u64, u64, i64, i64);

impl Hints {
    /// True when the program names a library that uses PMIx.
    pub(super) fn wants_pmix(&mut self, program: &str, wdir: &Path) -> bool {
        let key = (program.to_owned(), wdir.to_owned());
        if let Some(seen) = self.seen.get(&key).filter(|seen| stamp(&seen.path) == Some(seen.stamp)) {
            return seen.wants;
        }
        let Some(seen) = find(program, wdir).and_then(look) else {
            return false;
        };
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        let wants = seen.wants;
        self.seen.insert(key, seen);
        wants
    }
}

fn find(program: &str, wdir: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(wdir.join(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

fn look(path: PathBuf) -> Option<Seen> {
    let stamp = stamp(&path)?;
    let mut head = Vec::with_capacity(LOOK_AT as usize);
    File::open(&path).ok()?.take(LOOK_AT).read_to_end(&mut head).ok()?;
    let wants =
        head.starts_with(b"\x7fELF") && LIBRARIES.iter().any(|name| memchr::memmem::find(&head, name).is_some());
    Some(Seen { path, stamp, wants })
}

fn stamp(path: &Path) -> Option<Stamp> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

impl Shared {
    /// Starts the library if a program of the job looks like a user of it.
    pub(super) fn start_if_wanted(self: &Rc<Self>, job: JobId) {
        let registration = self.jobs.borrow().get(&job).map(|job| Arc::clone(&job.registration));
        let wants = |registration: Arc<Registration>| {
            registration.order.spec.apps.iter().any(|app| {
                let wdir = app.wdir.as_ref().unwrap_or(&app.submit_dir);
                app.argv.first().is_some_and(|p| self.hints.borrow_mut().wants_pmix(p, Path::new(wdir)))
            })
        };
        if self.running().is_none() && registration.is_some_and(wants) {
            self.library();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_without_mpi_start_nothing() {
        assert!(!Hints::default().wants_pmix("true", Path::new("/")));
        assert!(!Hints::default().wants_pmix("./none", Path::new("/")));
    }

    #[test]
    fn a_program_that_names_the_library_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("p"), b"\x7fELF....\0libmpi.so.40\0").unwrap();
        let mut hints = Hints::default();
        assert!(hints.wants_pmix("./p", dir.path()));
        assert!(hints.wants_pmix("./p", dir.path()));
        // Another program of the same name.
        std::fs::write(dir.path().join("p"), b"\x7fELF....").unwrap();
        assert!(!hints.wants_pmix("./p", dir.path()));
    }
}
