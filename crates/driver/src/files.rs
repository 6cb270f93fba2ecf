//! Files with names that everybody can guess, often in directories that everybody may write to. Another user may have
//! put something there before: a link to a file of ours, or a pipe without a reader. Files are written beside their
//! place and renamed, so that readers find the whole file or none, and no file of another user is written to.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// Time for a pipe to get a reader; after it the pipe is given up.
const READER_LIMIT: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(10);

/// A file that is removed when its content is no longer true.
#[derive(Debug)]
pub(crate) struct Placed {
    path: PathBuf,
    id: (u64, u64),
}

impl Placed {
    /// Returns the file at this place. `None` for places that are not removed: terminals, pipes, links to them.
    pub(crate) fn at(path: PathBuf) -> Option<Placed> {
        let there = fs::symlink_metadata(&path).ok()?;
        let is_made_by_us = there.is_file() || there.file_type().is_socket();
        is_made_by_us.then(|| Placed { id: (there.dev(), there.ino()), path })
    }

    /// Removes the file, unless another file has its name by now.
    pub(crate) fn remove(&self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == self.id) {
            // The user may have removed it already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes a file for its owner only. It replaces an existing file of this user; root replaces files of any user.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(there) if !is_ours(&there) && !rustix::process::geteuid().is_root() => return Err(foreign(&there)),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    write_beside(path, text, Some(0o600))
}

/// Writes a report to the place that the user named: a file, a terminal, or a pipe.
///
/// # Errors
/// When the existing file belongs to another user, cannot be written to, or is a pipe without a reader.
pub fn write_report(path: &Path, text: &str) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return write_beside(path, text, None),
        there => there?,
    };
    // Links owned by root lead to terminals and descriptors, as /dev/stdout.
    if there.is_symlink() && (is_ours(&there) || there.uid() == 0) {
        return write_through(path, text, true);
    }
    match there.file_type() {
        kind if kind.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        kind if kind.is_char_device() => write_through(path, text, false),
        _ if !is_ours(&there) => Err(foreign(&there)),
        kind if kind.is_file() => write_beside(path, text, Some(there.mode() & 0o7777)),
        _ => write_through(path, text, false),
    }
}

fn is_ours(there: &Metadata) -> bool {
    there.uid() == rustix::process::geteuid().as_raw()
}

fn foreign(there: &Metadata) -> io::Error {
    let kind = there.file_type();
    let what = match kind {
        _ if kind.is_symlink() => "a symbolic link",
        _ if kind.is_fifo() => "a pipe",
        _ => "a file",
    };
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{what} of user {} is there already", there.uid()))
}

/// Writes a file beside its place and renames it. `mode` applies whatever the umask is.
fn write_beside(path: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let random = RandomState::new().hash_one(text);
    let beside = path.with_file_name(format!(".{}.{random:016x}", name.to_string_lossy()));
    // `create_new` follows no link and opens no existing file.
    let mut file = File::options().write(true).create_new(true).mode(mode.unwrap_or(0o666)).open(&beside)?;
    let done = mode
        .map_or(Ok(()), |mode| file.set_permissions(Permissions::from_mode(mode)))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Writes into the existing file, and waits some time for the reader of a pipe.
fn write_through(path: &Path, text: &str, create: bool) -> io::Result<()> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.write(true).create(create).truncate(create).custom_flags(flags.bits() as i32);
    let deadline = Instant::now() + READER_LIMIT;
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) && Instant::now() < deadline => {
                std::thread::sleep(GLANCE);
            }
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                let text = format!("nobody has read it for {} s", READER_LIMIT.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            // The text is shorter than the capacity of any pipe.
            file => return file?.write_all(text.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
