//! Reads files that users name, and says what to do when one cannot be read.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::SetupError;

pub(super) fn read_if_there(kind: &'static str, path: &Path) -> Result<Option<String>, SetupError> {
    match std::fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        _ => read(kind, path).map(Some),
    }
}

/// The largest file (bytes); no list of hosts is larger.
const LIMIT: u64 = 64 << 20;

pub(super) fn read(kind: &'static str, path: &Path) -> Result<String, SetupError> {
    let failed = |cause: String, next: &'static str| SetupError::File { kind, path: shown(path), cause, next };
    let check = "Check the name, and the permissions of the file and of the directories above it.";
    let reason = |e: io::Error| failed(plain(&e), check);
    // The kind of file is checked first: opening a pipe would wait for a writer.
    let meta = std::fs::metadata(path).map_err(reason)?;
    if !meta.is_file() {
        let is = if meta.is_dir() { "it is a directory" } else { "it is not a regular file" };
        return Err(failed(
            is.to_owned(),
            "Give the name of a regular file; write the output of a command to one first.",
        ));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(reason)?;
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(reason)?;
    if bytes.len() as u64 > LIMIT {
        return Err(failed(
            "it is larger than 64 MB".to_owned(),
            "Check the name: this is not a text with a line per item.",
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        failed(format!("line {line} is not text (UTF-8)"), "Check the name, or write the line in plain text.")
    })
}

fn shown(path: &Path) -> String {
    PathBuf::from(path).display().to_string()
}

/// Returns the system's text for an error, without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
