//! The session directory: `<tmpdir>/<prefix>.<pid>`, mode 0700, made when something first needs it and removed at the end.
//! It is locked as long as its process lives, so that what a killed one has left can be told from what is in use.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ferrite_wire::dvm_contact::{CONTACT_FILE, SESSION_PREFIX};
use rustix::fs::{FlockOperation, flock};

use crate::params;

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
            remove_stale(path).map_err(explain)?;
            create(path).map_err(explain)
        }
        other => other.map_err(explain),
    }
}

fn create(path: &Path) -> io::Result<File> {
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    let dir = File::open(path)?;
    flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
    Ok(dir)
}

/// Removes session directories of persistent DVMs of this user that were killed with their guard. Pids would not tell: the
/// directory may be shared with containers, whose processes cannot be seen from here.
pub(crate) fn remove_abandoned(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(SESSION_PREFIX) && is_abandoned(&entry.path()).unwrap_or(false) {
            tracing::info!(path = %entry.path().display(), "a session directory that nobody uses is removed");
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> io::Result<bool> {
    let there = std::fs::symlink_metadata(path)?;
    // Without a contact file it may be one that is being made right now.
    let is_ours = there.is_dir() && there.uid() == rustix::process::getuid().as_raw();
    if !is_ours || !path.join(CONTACT_FILE).exists() {
        return Ok(false);
    }
    let dir = File::open(path)?;
    Ok(flock(&dir, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// An earlier process with our pid may have left one, before a reboot say. Anything else in this place was put there on purpose.
fn remove_stale(path: &Path) -> io::Result<()> {
    let there = std::fs::symlink_metadata(path)?;
    if !there.is_dir() || there.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "something that is not ours has this name"));
    }
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
        let living = Session::planned(base.path(), "prte", 1);
        std::fs::write(living.dir().unwrap().join(CONTACT_FILE), "").unwrap();
        let starting = base.path().join("prte.2");
        std::fs::create_dir(&starting).unwrap();
        let dead = base.path().join("prte.3");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(CONTACT_FILE), "").unwrap();
        remove_abandoned(base.path());
        assert!(living.path().exists() && starting.exists() && !dead.exists());
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
        assert_eq!(session.dir().unwrap().read_dir().unwrap().count(), 0);
    }
}
