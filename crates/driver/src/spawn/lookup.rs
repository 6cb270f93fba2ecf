//! Chooses the file to execute and its directory before a process exists, so that an error can be precise. Only
//! [`super::Spawner`] uses it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ferrite_wire::{StartError, StartErrorKind};
use rustix::fs::{Access, access};

/// Search path of `execvp` when the environment has no `PATH`.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// Returns the working directory: the named one when the user gave it; otherwise the nearest existing one to the
/// submitter's.
pub(super) fn directory(wanted: &str, given: bool, home: Option<&[u8]>) -> Result<PathBuf, StartError> {
    let wanted = absolute(Path::new(wanted));
    match usable_directory(&wanted) {
        Ok(()) => Ok(wanted),
        Err(e) if given => {
            Err(StartError { kind: StartErrorKind::Directory, detail: format!("{}: {}", wanted.display(), words(&e)) })
        }
        Err(_) => {
            let home = home.map(|h| absolute(Path::new(OsStr::from_bytes(h))));
            let home = home.filter(|h| usable_directory(h).is_ok());
            Ok(home.unwrap_or_else(|| PathBuf::from("/")))
        }
    }
}

/// Finds the file for a program's name; `path` is a list as in `PATH`.
pub(crate) fn executable(program: &str, path: Option<&[u8]>, wdir: &Path) -> Result<PathBuf, StartError> {
    if program.is_empty() {
        return Err(failed("the program's name is empty".to_owned()));
    }
    if program.contains('/') {
        let file = wdir.join(program);
        return match runnable(&file) {
            Ok(()) => Ok(file),
            Err(e) => Err(failed(format!("{}: {}", file.display(), words(&e)))),
        };
    }
    let path = path.unwrap_or(DEFAULT_PATH);
    let mut refused = None;
    for dir in path.split(|b| *b == b':') {
        // An empty element is the working directory, and a relative one starts from it.
        let file = wdir.join(OsStr::from_bytes(dir)).join(program);
        match runnable(&file) {
            Ok(()) => return Ok(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => refused = refused.or(Some((file, e))),
        }
    }
    Err(failed(match refused {
        Some((file, e)) => format!("{}: {}", file.display(), words(&e)),
        None => format!("{program}: not found in {}", String::from_utf8_lossy(path)),
    }))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from("/"))
}

fn usable_directory(dir: &Path) -> io::Result<()> {
    if !fs::metadata(dir)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(access(dir, Access::EXEC_OK)?)
}

fn runnable(file: &Path) -> io::Result<()> {
    // A non-directory in the path (`PATH=/etc/passwd`) counts as a missing file.
    let meta = fs::metadata(file).map_err(|e| match e.kind() {
        io::ErrorKind::NotADirectory => io::ErrorKind::NotFound.into(),
        _ => e,
    })?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(access(file, Access::EXEC_OK)?)
}

fn failed(detail: String) -> StartError {
    StartError { kind: StartErrorKind::Executable, detail }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "is not a directory".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_in_the_path_given() {
        let found = executable("sh", Some(b"/nonexistent:/bin"), Path::new("/")).unwrap();
        assert_eq!(found, Path::new("/bin/sh"));
        let error = executable("sh", Some(b"/nonexistent"), Path::new("/")).unwrap_err();
        assert_eq!(error.detail, "sh: not found in /nonexistent");
    }

    #[test]
    fn a_relative_name_starts_at_the_working_directory() {
        assert_eq!(executable("./sh", None, Path::new("/bin")).unwrap(), Path::new("/bin/./sh"));
        assert_eq!(executable("sh", Some(b""), Path::new("/bin")).unwrap(), Path::new("/bin/sh"));
    }

    #[test]
    fn what_is_there_but_cannot_run_says_why() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("data"), "").unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        let detail = |name: &str| executable(name, None, dir.path()).unwrap_err().detail;
        assert!(detail("./data").ends_with("data: permission denied"));
        assert!(detail("./sub").ends_with("sub: is a directory"));
        assert!(detail("./none").ends_with("none: no such file or directory"));
    }

    #[test]
    fn a_missing_directory_is_an_error_only_when_the_user_named_it() {
        let error = directory("/nonexistent", true, None).unwrap_err();
        assert_eq!(error.kind, StartErrorKind::Directory);
        assert_eq!(directory("/nonexistent", false, Some(b"/tmp")).unwrap(), Path::new("/tmp"));
        assert_eq!(directory("/nonexistent", false, None).unwrap(), Path::new("/"));
    }
}
