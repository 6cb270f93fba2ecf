//! The job log of the DVM (`ferrite_job_log`): a file with one line for each text. It is opened for each line, so that
//! another program may move it away.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ferrite_core::date_of;
use ferrite_types::PmixStatus;
use ferrite_types::pmix_status::{PMIX_ERR_NOT_AVAILABLE, PMIX_ERR_OUT_OF_RESOURCE};

use super::in_one_line;

/// The line for a text: its time, its process, the text.
pub(super) fn line(now_s: i64, source: &str, text: &str) -> String {
    format!("{} {source} {}\n", date_of(now_s), in_one_line(text))
}

/// Appends a line (spec L135).
///
/// # Errors
/// `PMIX_ERR_OUT_OF_RESOURCE` when the file has no room for all of it, `PMIX_ERR_NOT_AVAILABLE` when there is no file
/// of this user to write to.
pub(super) fn append(path: &Path, line: &str) -> Result<(), PmixStatus> {
    open(path).map_err(|error| (error, PMIX_ERR_NOT_AVAILABLE)).and_then(|mut file| write(&mut file, line)).map_err(
        |(error, status)| {
            tracing::warn!(%error, file = %path.display(), "the job log does not take what a process logs");
            status
        },
    )
}

/// Opens the file for its owner only, and no pipe or device, which could stop the event loop. A link at its place may
/// be another user's.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let there = file.metadata()?;
    if !there.is_file() || there.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is no file of this user"));
    }
    Ok(file)
}

/// Writes a line by one call, so that the lines of several writers do not mix. A line that had no room is ended first.
fn write(file: &mut File, line: &str) -> Result<(), (io::Error, PmixStatus)> {
    let failed = |error| (error, PMIX_ERR_OUT_OF_RESOURCE);
    let whole = match ends_within_a_line(file).map_err(failed)? {
        true => format!("\n{line}"),
        false => line.to_owned(),
    };
    let written = file.write(whole.as_bytes()).map_err(failed)?;
    match written == whole.len() {
        true => Ok(()),
        false => Err(failed(io::Error::new(io::ErrorKind::WriteZero, "only a part of a line was written"))),
    }
}

fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    Ok(file.read(&mut last)? == 1 && last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file (spec L135).
    #[test]
    fn lines_are_appended_to_a_file_of_the_user_alone_and_through_no_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        append(&path, "a\n").unwrap();
        append(&path, "b\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\n");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for odd in [link.as_path(), Path::new("/dev/full"), dir.path(), Path::new("/no/such/file")] {
            assert_eq!(append(odd, "c\n"), Err(PMIX_ERR_NOT_AVAILABLE), "{}", odd.display());
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\n");
    }

    #[test]
    fn a_pipe_that_nobody_reads_stops_nobody() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(append(&path, "c\n"), Err(PMIX_ERR_NOT_AVAILABLE));
    }

    #[test]
    fn a_full_disk_is_the_answer() {
        let mut full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        assert!(matches!(write(&mut full, "a\n"), Err((_, PMIX_ERR_OUT_OF_RESOURCE))));
    }

    #[test]
    fn a_line_that_had_no_room_is_ended_before_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        std::fs::write(&path, "cut").unwrap();
        append(&path, "a\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "cut\na\n");
    }
}
