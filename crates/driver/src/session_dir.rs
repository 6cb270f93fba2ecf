//! The session directory: `<base>/<prefix>.<pid>.<random>`, mode 0700, made when it is first needed and removed at the
//! end. Its name cannot be guessed, so that no other user can create it first in a shared directory. It is locked as
//! long as its process lives; so the directory of a killed process differs from one in use. A pid would not show this:
//! pids are reused, and the place may be shared with containers, whose processes cannot be seen from here.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ferrite_wire::dvm_contact::{CONTACT_FILE, SESSION_PREFIX};
use rustix::fs::{Access, FlockOperation, access, flock};

use crate::params;

mod runtime;

/// Prefixes of session directories: of `prted`, and of `prterun`; clients know those of `prte` as well.
pub(crate) const DAEMON_PREFIX: &str = "prted";
pub(crate) const RUN_PREFIX: &str = "prtrn";

/// A file in each session directory, made when the directory is locked.
const MARK: &str = "ferrite.session";

/// The session directory of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SessionDir {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// The parameter that names the directory above, for messages; empty = none does.
    source: String,
    /// The locked directory.
    made: OnceLock<Result<File, String>>,
}

/// The directory in which session directories are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) dir: PathBuf,
    /// True when PMIx tools of other packages do not search there: their files have to be below the temporary
    /// directory.
    pub(crate) is_out_of_sight: bool,
    /// The parameter that names it, for messages; empty = none does.
    source: String,
}

/// The common temporary directory.
pub(crate) const COMMON: &str = "/tmp";

/// The parameter that is `prte_tmpdir_base` of the head's node only.
pub(crate) const LOCAL_BASE: &str = "prte_local_tmpdir_base";

/// The parameter that is `prte_tmpdir_base` of all other nodes.
pub(crate) const REMOTE_BASE: &str = "prte_remote_tmpdir_base";

/// Chooses the base: the configured one (`own`: the parameter of this kind of node), the user's own directory if it
/// exists, or the common one.
pub(crate) fn base(parameters: &[(String, String)], own: &str) -> Base {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let configured = [own, "prte_tmpdir_base"].into_iter().find_map(|name| {
        let value = params::value(parameters, name)?;
        Some((value.to_owned(), params::label(parameters, name)))
    });
    let asked = configured.or_else(|| Some((variable("TMPDIR")?, "environment variable TMPDIR".to_owned())));
    if let Some((dir, source)) = asked {
        return Base { dir: PathBuf::from(dir), is_out_of_sight: false, source };
    }
    let source = String::new();
    match runtime::own_dir(variable) {
        Some(dir) => Base { dir, is_out_of_sight: true, source },
        None => Base { dir: PathBuf::from(COMMON), is_out_of_sight: false, source },
    }
}

impl Base {
    /// Checks a directory that a parameter names; others are looked at when a file is made there.
    ///
    /// # Errors
    /// It cannot hold session directories: the parameter, and the flaw (spec L94).
    pub(crate) fn check(&self) -> Result<(), String> {
        match flaw_of_directory(&self.dir).filter(|_| self.source.starts_with("parameter")) {
            Some(flaw) => Err(format!("{}: {}: {flaw}", self.source, self.dir.display())),
            None => Ok(()),
        }
    }
}

/// Returns why nobody may make directories in this one; `None` = we may.
#[must_use]
pub fn flaw_of_directory(dir: &Path) -> Option<String> {
    match std::fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("there is no such directory".to_owned()),
        Err(error) => Some(error.to_string()),
        Ok(meta) if !meta.is_dir() => Some("it is not a directory".to_owned()),
        Ok(_) => {
            let refused = access(dir, Access::WRITE_OK | Access::EXEC_OK).err()?;
            Some(format!("you may not make files there ({refused})"))
        }
    }
}

/// Plans the directory in which PMIx tools of other packages search: the session directory, or another one where they
/// do not search there.
pub(crate) fn for_tools(base: &Base, session_dir: &SessionDir, prefix: &str) -> SessionDir {
    if base.is_out_of_sight {
        SessionDir::planned(Path::new(COMMON), prefix, std::process::id())
    } else {
        session_dir.clone()
    }
}

impl SessionDir {
    /// Plans a directory below a base; see [`SessionDir::planned`].
    pub(crate) fn below(base: &Base, prefix: &str, pid: u32) -> SessionDir {
        SessionDir::plan(&base.dir, prefix, pid, base.source.clone())
    }

    /// Plans `<base>/<prefix>.<pid>.<random>` without making it.
    pub(crate) fn planned(base: &Path, prefix: &str, pid: u32) -> SessionDir {
        SessionDir::plan(base, prefix, pid, String::new())
    }

    fn plan(base: &Path, prefix: &str, pid: u32, source: String) -> SessionDir {
        // The number comes from a keyed hash whose key the kernel's generator gave: it cannot be predicted.
        let random = RandomState::new().hash_one(pid) >> 16;
        let path = base.join(format!("{prefix}.{pid}.{random:012x}"));
        let made = OnceLock::new();
        SessionDir { inner: Arc::new(Inner { path, source, made }) }
    }

    /// Returns its path, whether or not it is made yet.
    pub(crate) fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Makes it if needed and returns its path.
    ///
    /// # Errors
    /// When it cannot be made, or a file of another user is in its place.
    pub(crate) fn dir(&self) -> io::Result<&Path> {
        match self.inner.made.get_or_init(|| make(&self.inner.path, &self.inner.source)) {
            Ok(_) => Ok(&self.inner.path),
            Err(cause) => Err(io::Error::other(cause.clone())),
        }
    }

    /// Removes it, if it was made.
    pub(crate) fn remove(&self) {
        if !matches!(self.inner.made.get(), Some(Ok(_))) {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.inner.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.inner.path.display(), "the session directory stays");
        }
    }
}

fn make(path: &Path, source: &str) -> Result<File, String> {
    create(path).map_err(|error| {
        let named = if source.is_empty() { String::new() } else { format!(" (of {source})") };
        format!(
            "the session directory {}{named} cannot be made: {error}. Name another place with TMPDIR or \
             --prtemca prte_tmpdir_base <directory>",
            path.display()
        )
    })
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
        // A directory without either file may belong to another program, or is just being made. Earlier releases wrote
        // only the second file.
        let has = |file| path.join(file).exists();
        if is_session_dir_name(&entry.file_name().to_string_lossy()) && (has(MARK) || has(CONTACT_FILE)) {
            // On an error the directory stays.
            let _ = remove_if_free(&path);
        }
    }
}

/// True for `<prefix>.<pid>.<random>`; earlier releases used `<prefix>.<pid>`.
fn is_session_dir_name(name: &str) -> bool {
    let Some((prefix, rest)) = name.split_once('.') else { return false };
    let (pid, random) = rest.split_once('.').unwrap_or((rest, "0"));
    let is_ours = [DAEMON_PREFIX, RUN_PREFIX].contains(&prefix) || SESSION_PREFIX.trim_end_matches('.') == prefix;
    let is = |text: &str, digit: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|byte| digit(&byte));
    is_ours && is(pid, u8::is_ascii_digit) && is(random, u8::is_ascii_hexdigit)
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
    // Another process may have removed it before it was locked, and a successor may have the name now.
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
        let session_dir = SessionDir::planned(base.path(), "prtrn", 1);
        assert!(!session_dir.path().exists());
        let mode = session_dir.dir().unwrap().metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        session_dir.remove();
        assert!(!session_dir.path().exists());
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
        let living = ["prte", "prted", "prtrn"].map(|prefix| SessionDir::planned(base.path(), prefix, 1));
        living.iter().for_each(|session_dir| assert!(session_dir.dir().unwrap().join(MARK).exists()));
        std::fs::write(living[0].path().join(CONTACT_FILE), "").unwrap();
        let dead = ["prte.2.0123456789ab", "prted.2.0", "prtrn.2"].map(|name| place(name, MARK));
        // A directory of an earlier release.
        let dead_before = place("prte.3", CONTACT_FILE);
        // It is being made, or belongs to another program.
        let unmarked = ["prte.4", "prted.4"].map(|name| place(name, "file"));
        let others = ["prted.n1.1000", "prted.", "prtedx.5", "spool.6", "prte.7.tar"].map(|name| place(name, MARK));
        remove_abandoned(base.path());
        assert!(living.iter().all(|session_dir| session_dir.path().exists()));
        assert!(!dead.iter().any(|path| path.exists()) && !dead_before.exists());
        assert!(unmarked.iter().chain(&others).all(|path| path.exists()));
        // The lock of a killed process is free.
        let paths = living.each_ref().map(|session_dir| session_dir.path().to_owned());
        drop(living);
        remove_abandoned(base.path());
        assert!(!paths.iter().any(|path| path.exists()));
    }

    #[test]
    fn nobody_can_take_its_name_beforehand() {
        let base = tempfile::tempdir().unwrap();
        let [one, other] = [1, 1].map(|pid| SessionDir::planned(base.path(), "prted", pid));
        assert_ne!(one.path(), other.path());
        let name = |session_dir: &SessionDir| session_dir.path().file_name().unwrap().to_string_lossy().into_owned();
        assert!(is_session_dir_name(&name(&one)) && name(&one).starts_with("prted.1."));
        // Another user who has seen the pid could make it.
        std::fs::write(base.path().join("prted.1"), "").unwrap();
        assert!(one.dir().unwrap().is_dir() && other.dir().unwrap().is_dir());
    }

    #[test]
    fn something_in_its_place_is_neither_used_nor_removed() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = base.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let session_dir = SessionDir::planned(base.path(), "prtrn", 1);
        std::os::unix::fs::symlink(&elsewhere, session_dir.path()).unwrap();
        let error = session_dir.dir().unwrap_err().to_string();
        assert!(error.contains("exists") && error.contains("TMPDIR"), "{error}");
        session_dir.remove();
        assert!(elsewhere.exists() && session_dir.path().is_symlink());
    }
}
