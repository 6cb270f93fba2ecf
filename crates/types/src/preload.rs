//! Files that are moved to the nodes of a job before its launch, and which names they may have there.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest name of a preloaded file, with its directories (bytes).
pub const MAX_PRELOAD_NAME: usize = 1024;

/// Most entries of one job: files, directories and links.
pub const MAX_PRELOAD_ENTRIES: usize = 10_000;

/// One file, directory or link that a job brings along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreloadEntry {
    /// Its name on the nodes, relative to the directory of the job's files.
    pub name: String,
    /// Its absolute path where it is read; empty for what has no content.
    pub source: String,
    /// Its kind.
    pub kind: PreloadKind,
}

/// The kinds of preloaded entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreloadKind {
    /// A file.
    File {
        /// Its size (bytes).
        size: u64,
        /// True when its owner may execute it.
        executable: bool,
    },
    /// An archive (tar) whose content takes its place.
    Archive {
        /// Its size (bytes).
        size: u64,
        /// True when it is compressed (gzip).
        gzip: bool,
    },
    /// A directory.
    Directory,
    /// A symbolic link to something within the job's files.
    Link {
        /// The link's target, as written.
        target: String,
    },
}

/// The reason why a name is refused: what it names could lie outside of the job's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadPreloadName {
    /// It is empty.
    #[error("the name is empty")]
    Empty,
    /// It is longer than [`MAX_PRELOAD_NAME`], or one of its parts is longer than 255 bytes.
    #[error("the name is too long")]
    TooLong,
    /// It begins with a slash.
    #[error("the path is absolute")]
    Absolute,
    /// It has a part `..` where none may be.
    #[error("the path leads upwards (..)")]
    Upwards,
    /// It has a NUL byte, an empty part or a part `.`.
    #[error("the path is not in its plain form")]
    NotPlain,
}

impl PreloadEntry {
    /// The number of bytes that are moved for it.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self.kind {
            PreloadKind::File { size, .. } | PreloadKind::Archive { size, .. } => size,
            PreloadKind::Directory | PreloadKind::Link { .. } => 0,
        }
    }

    /// Checks its name, and where it leads if it is a link.
    ///
    /// # Errors
    /// When it could name something outside of the job's files.
    pub fn check(&self) -> Result<(), BadPreloadName> {
        check_preload_name(&self.name)?;
        match &self.kind {
            PreloadKind::Link { target } => check_preload_link(&self.name, target),
            PreloadKind::File { .. } | PreloadKind::Archive { .. } | PreloadKind::Directory => Ok(()),
        }
    }
}

/// Checks the name of a preloaded file: relative, and only plain parts (spec L72).
///
/// # Errors
/// When it could name something outside of the job's files.
pub fn check_preload_name(name: &str) -> Result<(), BadPreloadName> {
    check_whole(name)?;
    name.split('/').try_for_each(check_part)
}

/// Checks where the symbolic link `name` leads. Its target may go up, but not out of the job's files, and only at its
/// beginning: the parts of `name` are directories, and what follows may pass through other links, each of which stays
/// inside as well (spec L72).
///
/// # Errors
/// When it could lead outside of the job's files.
pub fn check_preload_link(name: &str, target: &str) -> Result<(), BadPreloadName> {
    check_whole(target)?;
    let depth = name.split('/').count() - 1;
    let ups = target.split('/').take_while(|part| *part == "..").count();
    if ups > depth {
        return Err(BadPreloadName::Upwards);
    }
    target.split('/').skip(ups).try_for_each(check_part)
}

fn check_whole(path: &str) -> Result<(), BadPreloadName> {
    match path {
        "" => Err(BadPreloadName::Empty),
        path if path.len() > MAX_PRELOAD_NAME => Err(BadPreloadName::TooLong),
        path if path.starts_with('/') => Err(BadPreloadName::Absolute),
        _ => Ok(()),
    }
}

fn check_part(part: &str) -> Result<(), BadPreloadName> {
    match part {
        ".." => Err(BadPreloadName::Upwards),
        "" | "." => Err(BadPreloadName::NotPlain),
        part if part.contains('\0') => Err(BadPreloadName::NotPlain),
        part if part.len() > 255 => Err(BadPreloadName::TooLong),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_names_are_taken() {
        for name in ["a", "a/b.c/d", "..a", "a/...", " "] {
            assert_eq!(check_preload_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(256);
        let bad = [
            ("", BadPreloadName::Empty),
            ("/a", BadPreloadName::Absolute),
            ("..", BadPreloadName::Upwards),
            ("a/../b", BadPreloadName::Upwards),
            ("a//b", BadPreloadName::NotPlain),
            ("a/", BadPreloadName::NotPlain),
            ("./a", BadPreloadName::NotPlain),
            ("a\0b", BadPreloadName::NotPlain),
            (&long, BadPreloadName::TooLong),
            (&"a/".repeat(600), BadPreloadName::TooLong),
        ];
        for (name, why) in bad {
            assert_eq!(check_preload_name(name), Err(why), "{name}");
        }
    }

    #[test]
    fn a_link_may_go_up_within_the_files_and_only_at_its_beginning() {
        for (name, target) in [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../b/c"), ("d/a", "..")] {
            assert_eq!(check_preload_link(name, target), Ok(()), "{name} -> {target}");
        }
        // In the last ones `d/l` may be a link to `..`.
        let bad = [("a", ".."), ("d/a", "../../b"), ("a", "/etc/passwd"), ("a", "d/l/.."), ("d/a", "../d/l/../..")];
        for (name, target) in bad {
            assert!(check_preload_link(name, target).is_err(), "{name} -> {target}");
        }
    }
}
