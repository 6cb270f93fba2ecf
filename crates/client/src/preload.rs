//! Files that a job brings along, where they are read: finds them, checks them, and reads their pieces.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use ferrite_types::{MAX_PRELOAD_ENTRIES, PreloadEntry, PreloadKind};
use ferrite_wire::FilePiece;
use thiserror::Error;

/// The most bytes that are read at once, even if the DVM asks for more.
const MOST: u32 = 1 << 20;

/// Endings of the names of archives that are unpacked; true = compressed.
const ARCHIVES: [(&str, bool); 3] = [(".tar", false), (".tar.gz", true), (".tgz", true)];

/// Endings of the names of archives that other launchers unpack and this one does not.
const OTHER_ARCHIVES: [&str; 7] = [".tar.bz2", ".tbz", ".tbz2", ".bz", ".tar.xz", ".txz", ".zip"];

/// A file that a job cannot bring along.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {cause}")]
pub struct PreloadError {
    path: String,
    cause: String,
    next: &'static str,
}

impl PreloadError {
    fn new(path: &Path, cause: impl ToString, next: &'static str) -> PreloadError {
        PreloadError { path: path.display().to_string(), cause: cause.to_string(), next }
    }

    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        self.next
    }
}

const SEE: &str = "Nothing was started. See that the file exists and that you may read it.";
const RENAME: &str = "Nothing was started. Give the files different names, or put them into an archive (.tar).";
const ONE_BY_ONE: &str = "Nothing was started. Leave it out, or put a copy of what is meant in its place.";

/// The files of one job.
#[derive(Debug, Default)]
pub struct Preloads {
    entries: Vec<PreloadEntry>,
    by_name: BTreeMap<String, usize>,
}

impl Preloads {
    /// Adds files and directories of a list separated by commas. A relative path keeps its directories on the nodes; of
    /// an absolute one the last part is kept.
    ///
    /// # Errors
    /// The first that cannot be brought along.
    pub fn add_list(&mut self, list: &str, dir: &Path) -> Result<(), PreloadError> {
        for item in list.split(',') {
            if item.is_empty() {
                return Err(PreloadError::new(Path::new(&format!("{list:?}")), "a name in the list is empty", SEE));
            }
            let path = dir.join(item);
            self.add(&path, &name_of(item, &path)?)?;
        }
        Ok(())
    }

    /// Adds a program. Returns the path by which it is started on the nodes, in the directory of the process.
    ///
    /// # Errors
    /// It is no program, or cannot be brought along.
    pub fn add_program(&mut self, program: &str, dir: &Path, search: &str) -> Result<String, PreloadError> {
        let is_program = |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0);
        let path = match program.contains('/') {
            true => dir.join(program),
            false => {
                let found = search.split(':').filter(|d| !d.is_empty()).map(|d| dir.join(d).join(program));
                let cause = "there is no such program in the search path";
                found.into_iter().find(is_program).ok_or_else(|| PreloadError::new(Path::new(program), cause, SEE))?
            }
        };
        let there = look(&path)?;
        if !there.is_file() || there.mode() & 0o111 == 0 {
            return Err(PreloadError::new(&path, "it is no program that can be executed", SEE));
        }
        let name = last_part(&path)?;
        self.add_file(&path, &name, &there, false)?;
        Ok(format!("./{name}"))
    }

    /// Returns the entries, parents before what they hold.
    #[must_use]
    pub fn into_entries(self) -> Vec<PreloadEntry> {
        self.entries
    }

    fn add(&mut self, path: &Path, name: &str) -> Result<(), PreloadError> {
        let there = look(path)?;
        if there.is_dir() {
            self.add_parents(path, name)?;
            return self.add_directory(path, name);
        }
        self.add_file(path, name, &there, true)
    }

    fn add_directory(&mut self, path: &Path, name: &str) -> Result<(), PreloadError> {
        self.enter(path, PreloadEntry { name: name.to_owned(), source: String::new(), kind: PreloadKind::Directory })?;
        let unreadable = |error: io::Error| PreloadError::new(path, error, SEE);
        let mut found: Vec<_> =
            fs::read_dir(path).map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
        found.sort_by_key(fs::DirEntry::file_name);
        for below in found {
            let path = below.path();
            let name = format!("{name}/{}", last_part(&path)?);
            let there = fs::symlink_metadata(&path).map_err(|error| PreloadError::new(&path, error, SEE))?;
            if there.is_dir() {
                self.add_directory(&path, &name)?;
            } else if there.is_symlink() {
                let target = fs::read_link(&path).map_err(|error| PreloadError::new(&path, error, SEE))?;
                let target = utf8(&target)?;
                self.enter(&path, PreloadEntry { name, source: String::new(), kind: PreloadKind::Link { target } })?;
            } else {
                self.add_file(&path, &name, &there, false)?;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, name: &str, there: &Metadata, may_unpack: bool) -> Result<(), PreloadError> {
        if !there.is_file() {
            return Err(PreloadError::new(path, "it is neither a file nor a directory", ONE_BY_ONE));
        }
        if there.permissions().mode() & 0o7000 != 0 {
            let cause = "its mode has a setuid, setgid or sticky bit, which no copy gets";
            return Err(PreloadError::new(path, cause, ONE_BY_ONE));
        }
        if may_unpack && OTHER_ARCHIVES.iter().any(|ending| name.ends_with(ending)) {
            let next =
                "Nothing was started. Make a .tar or .tar.gz of it; to move it as it is, put it into a directory.";
            return Err(PreloadError::new(path, "archives of this kind are not unpacked", next));
        }
        File::open(path).map_err(|error| PreloadError::new(path, error, SEE))?;
        self.add_parents(path, name)?;
        let size = there.len();
        let archive = ARCHIVES.iter().find(|(ending, _)| may_unpack && name.ends_with(ending));
        let kind = match archive {
            Some((_, gzip)) => PreloadKind::Archive { size, gzip: *gzip },
            None => PreloadKind::File { size, executable: there.mode() & 0o111 != 0 },
        };
        let source = utf8(&std::path::absolute(path).map_err(|error| PreloadError::new(path, error, SEE))?)?;
        self.enter(path, PreloadEntry { name: name.to_owned(), source, kind })
    }

    fn add_parents(&mut self, path: &Path, name: &str) -> Result<(), PreloadError> {
        for (at, _) in name.match_indices('/') {
            let name = name[..at].to_owned();
            self.enter(path, PreloadEntry { name, source: String::new(), kind: PreloadKind::Directory })?;
        }
        Ok(())
    }

    fn enter(&mut self, path: &Path, entry: PreloadEntry) -> Result<(), PreloadError> {
        entry.check().map_err(|why| PreloadError::new(path, why, ONE_BY_ONE))?;
        if let Some(at) = self.by_name.get(&entry.name) {
            let other = &self.entries[*at];
            if *other == entry {
                return Ok(());
            }
            let cause = format!("another file has the name {} on the nodes", entry.name);
            return Err(PreloadError::new(path, cause, RENAME));
        }
        if self.entries.len() >= MAX_PRELOAD_ENTRIES {
            let cause = format!("a job brings at most {MAX_PRELOAD_ENTRIES} files along");
            return Err(PreloadError::new(path, cause, "Nothing was started. Put the files into an archive (.tar)."));
        }
        self.by_name.insert(entry.name.clone(), self.entries.len());
        self.entries.push(entry);
        Ok(())
    }
}

/// The name on the nodes of a path as the user wrote it.
fn name_of(item: &str, path: &Path) -> Result<String, PreloadError> {
    if item.starts_with('/') {
        return last_part(path);
    }
    let plain: Vec<&str> = item.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if plain.is_empty() {
        let next = "Nothing was started. Name what is in it, or the directory by its path.";
        return Err(PreloadError::new(path, "the directory has no name on the nodes", next));
    }
    Ok(plain.join("/"))
}

fn last_part(path: &Path) -> Result<String, PreloadError> {
    let name = path.file_name().ok_or_else(|| PreloadError::new(path, "the path names no file", SEE))?;
    utf8(Path::new(name))
}

fn utf8(path: &Path) -> Result<String, PreloadError> {
    path.to_str().map(str::to_owned).ok_or_else(|| PreloadError::new(path, "its name is not UTF-8", RENAME))
}

fn look(path: &Path) -> Result<Metadata, PreloadError> {
    fs::metadata(path).map_err(|error| PreloadError::new(path, error, SEE))
}

/// Reads a piece of a file for the head.
///
/// # Errors
/// The file and the cause, in words.
pub fn read_piece(entry: u32, path: &str, offset: u64, length: u32) -> Result<FilePiece, String> {
    let read = || -> io::Result<Bytes> {
        let mut data = vec![0; length.min(MOST) as usize];
        File::open(path)?.read_exact_at(&mut data, offset)?;
        Ok(Bytes::from(data))
    };
    match read() {
        Ok(data) => Ok(FilePiece::new(entry, offset, data)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(format!("{path}: it has become shorter")),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn listed(preloads: Preloads) -> Vec<String> {
        let text = |entry: PreloadEntry| match entry.kind {
            PreloadKind::File { size, executable } => {
                format!("{} {size}{}", entry.name, if executable { "x" } else { "" })
            }
            PreloadKind::Archive { gzip, .. } => format!("{} {}", entry.name, if gzip { "tgz" } else { "tar" }),
            PreloadKind::Directory => format!("{}/", entry.name),
            PreloadKind::Link { target } => format!("{} -> {target}", entry.name),
        };
        preloads.into_entries().into_iter().map(text).collect()
    }

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("d/e")).unwrap();
        for (name, text) in [("a.txt", "four"), ("d/b", "x"), ("d/e/c", ""), ("t.tar.gz", "z"), ("d/t.zip", "z")] {
            fs::write(at(name), text).unwrap();
        }
        symlink("../b", at("d/e/l")).unwrap();
        fs::write(at("run"), "#!").unwrap();
        fs::set_permissions(at("run"), fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    #[test]
    fn files_keep_their_relative_directories_and_archives_are_known_by_their_names() {
        let dir = tree();
        let mut preloads = Preloads::default();
        preloads.add_list("./a.txt,d,t.tar.gz", dir.path()).unwrap();
        preloads.add_list(&format!("d/b,{}/run", dir.path().display()), dir.path()).unwrap();
        assert_eq!(preloads.add_program("./run", dir.path(), "").unwrap(), "./run");
        let expected =
            ["a.txt 4", "d/", "d/b 1", "d/e/", "d/e/c 0", "d/e/l -> ../b", "d/t.zip 1", "t.tar.gz tgz", "run 2x"];
        assert_eq!(listed(preloads), expected);
    }

    #[test]
    fn what_cannot_be_moved_is_refused_by_name() {
        let dir = tree();
        let at = |name: &str| dir.path().join(name);
        symlink("/etc", at("d/out")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("other/a.txt"), "").unwrap();
        fs::write(at("setuid"), "").unwrap();
        fs::set_permissions(at("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::write(at("x.zip"), "").unwrap();
        let other = format!("a.txt,{}", at("other/a.txt").display());
        // Beside the directory is what others have there, but nothing of this name.
        let beside = format!("../{}.x", dir.path().file_name().unwrap().display());
        let cases = [
            ("none", "No such file"),
            ("a.txt,,b", "is empty"),
            (&beside, "No such file"),
            ("d/../a.txt", "upwards"),
            (".", "no name"),
            ("d", "absolute"),
            ("setuid", "setuid"),
            ("x.zip", "not unpacked"),
            (&other, "another file"),
        ];
        for (list, why) in cases {
            let error = Preloads::default().add_list(list, dir.path()).unwrap_err();
            assert!(error.to_string().contains(why), "{list}: {error}");
            assert!(error.next_step().starts_with("Nothing was started."), "{list}");
        }
        for program in ["./a.txt", "./d", "nowhere"] {
            assert!(Preloads::default().add_program(program, dir.path(), "/bin").is_err(), "{program}");
        }
    }

    #[test]
    fn pieces_are_whole_or_an_error() {
        let dir = tree();
        let path = dir.path().join("a.txt");
        let path = path.to_str().unwrap();
        assert_eq!(&read_piece(0, path, 1, 2).unwrap().data[..], b"ou");
        assert!(read_piece(0, path, 1, 4).unwrap_err().contains("shorter"));
        assert!(read_piece(0, "/nowhere", 0, 1).unwrap_err().contains("/nowhere: No such file"));
    }
}
