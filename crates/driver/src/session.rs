//! The session directory: `<tmpdir>/<prefix>.<pid>`, mode 0700, made when something first needs it and removed at the end.
//! It is locked as long as its process lives, so that what a killed one has left can be told from what is in use. Pids would not tell:
//! they come again, and the place may be shared with containers, whose processes cannot be seen from here.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ferrite_wire::dvm_contact::{CONTACT_FILE, SESSION_PREFIX};
use rustix::fs::{FlockOperation, flock};

use crate::params;

/// What the names of session directories begin with: of `prted`, and of `prterun`; those of `prte` are known to its clients too.
pub(crate) const DAEMON_PREFIX: &str = "prted";
pub(crate) const RUN_PREFIX: &str = "prtrn";

/// A file that is in each session directory from the moment when it is locked.
const MARK: &str = "ferrite.session";

/// The session directory of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// The locked directory.
    made: OnceLock<Result<File, String>>,
}

/// The directory in which session directories are made.
pub(crate) fn base(parameters: &[(String, String)]) -> PathBuf {
    if let Some(dir) = params::value(parameters, "prte_tmpdir_base") {
        return PathBuf::from(dir);
    }
    let from_environment = std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty());
    from_environment.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

impl Session {
    /// Plans `<base>/<prefix>.<pid>`; nothing is made yet.
    pub(crate) fn planned(base: &Path, prefix: &str, pid: u32) -> Session {
        let path = base.join(format!("{prefix}.{pid}"));
        let made = OnceLock::new();
        Session { inner: Arc::new(Inner { path, made }) }
    }

    /// Where it is, or would be.
    pub(crate) fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Its path, after making it.
    ///
    /// # Errors
    /// When it cannot be made, or something that is not ours is in its place.
    pub(crate) fn dir(&self) -> io::Result<&Path> {
        match self.inner.made.get_or_init(|| make(&self.inner.path)) {
            Ok(_) => Ok(&self.inner.path),
            Err(cause) => Err(io::Error::other(cause.clone())),
        }
    }

    /// Removes it, if it was made.
    pub(crate) fn remove(&self) {
        if !matches!(self.inner.made.get(), Some(Ok(_))) {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.inner.path) {
            tracing::warn!(%error, path = %self.inner.path.display(), "the session directory stays");
        }
    }
}

fn make(path: &Path) -> Result<File, String> {
    let explain = |error: io::Error| {
        format!(
            "the session directory {} cannot be made: {error}. Name another place with TMPDIR or \
             --prtemca prte_tmpdir_base <directory>",
            path.display()
        )
    };
    match create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // An earlier process with our pid may have left it, before a reboot say.
            remove_if_free(path).map_err(explain)?;
            create(path).map_err(explain)
        }
        other => other.map_err(explain),
    }
}

fn create(path: &Path) -> io::Result<File> {
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    let dir = File::open(path)?;
    flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
    File::create_new(path.join(MARK))?;
    Ok(dir)
}

/// Removes session directories of this user whose processes were killed with their guards.
pub(crate) fn remove_abandoned(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // Without either of them it may be another's, or one that is being made right now. Earlier releases knew only the second.
        let has = |file| path.join(file).exists();
        if is_session_name(&entry.file_name().to_string_lossy()) && (has(MARK) || has(CONTACT_FILE)) {
            // An error means that it stays.
            let _ = remove_if_free(&path);
        }
    }
}

fn is_session_name(name: &str) -> bool {
    let Some((prefix, pid)) = name.split_once('.') else { return false };
    let is_ours = [DAEMON_PREFIX, RUN_PREFIX].contains(&prefix) || SESSION_PREFIX.trim_end_matches('.') == prefix;
    is_ours && !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes a session directory, unless its process lives.
fn remove_if_free(path: &Path) -> io::Result<()> {
    let there = std::fs::symlink_metadata(path)?;
    if !there.is_dir() || there.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "something that is not ours has this name"));
    }
    let dir = File::open(path)?;
    flock(&dir, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
        io::Error::new(io::ErrorKind::ResourceBusy, "a process uses one of this name, in a container perhaps")
    })?;
    // Somebody else may have removed it before it was locked, and its successor has the name now.
    let (locked, named) = (dir.metadata()?, std::fs::symlink_metadata(path)?);
    if (locked.dev(), locked.ino()) != (named.dev(), named.ino()) {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a process has just taken this name"));
    }
    tracing::info!(path = %path.display(), "a session directory that nobody uses is removed");
    std::fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_made_on_demand_and_removed() {
        let base = tempfile::tempdir().unwrap();
        let session = Session::planned(base.path(), "prtrn", 1);
        assert!(!session.path().exists());
        let mode = session.dir().unwrap().metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        session.remove();
        assert!(!session.path().exists());
    }

    #[test]
    fn what_nobody_uses_is_removed_and_what_is_in_use_stays() {
        let base = tempfile::tempdir().unwrap();
        let place = |name: &str, file: &str| {
            let path = base.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join(file), "").unwrap();
            path
        };
        let living = ["prte", "prted", "prtrn"].map(|prefix| Session::planned(base.path(), prefix, 1));
        living.iter().for_each(|session| assert!(session.dir().unwrap().join(MARK).exists()));
        std::fs::write(living[0].path().join(CONTACT_FILE), "").unwrap();
        let dead = ["prte.2", "prted.2", "prtrn.2"].map(|name| place(name, MARK));
        let dead_before = place("prte.3", CONTACT_FILE);
        // It is being made, or another's.
        let unmarked = ["prte.4", "prted.4"].map(|name| place(name, "file"));
        let others = ["prted.n1.1000", "prted.", "prtedx.5", "spool.6"].map(|name| place(name, MARK));
        remove_abandoned(base.path());
        assert!(living.iter().all(|session| session.path().exists()));
        assert!(!dead.iter().any(|path| path.exists()) && !dead_before.exists());
        assert!(unmarked.iter().chain(&others).all(|path| path.exists()));
        // When its process has been killed, nobody holds the lock.
        let paths = living.each_ref().map(|session| session.path().to_owned());
        drop(living);
        remove_abandoned(base.path());
        assert!(!paths.iter().any(|path| path.exists()));
    }

    #[test]
    fn one_of_the_same_name_that_is_in_use_is_not_taken_away() {
        let base = tempfile::tempdir().unwrap();
        // Of a process in another container.
        let other = Session::planned(base.path(), "prted", 1);
        let mark = other.dir().unwrap().join(MARK);
        let error = Session::planned(base.path(), "prted", 1).dir().unwrap_err().to_string();
        assert!(error.contains("a process uses one of this name") && error.contains("TMPDIR"), "{error}");
        assert!(mark.exists());
    }

    #[test]
    fn a_symbolic_link_in_its_place_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = base.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, base.path().join("prtrn.1")).unwrap();
        let session = Session::planned(base.path(), "prtrn", 1);
        let error = session.dir().unwrap_err().to_string();
        assert!(error.contains("not ours"), "{error}");
        assert!(elsewhere.exists());
    }

    #[test]
    fn what_an_earlier_process_left_is_replaced() {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("prtrn.1")).unwrap();
        std::fs::write(base.path().join("prtrn.1/old"), "").unwrap();
        let session = Session::planned(base.path(), "prtrn", 1);
        assert!(!session.dir().unwrap().join("old").exists());
    }
}
