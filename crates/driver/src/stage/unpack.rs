//! Unpacks archives that a job brings along. What they name is foreign: only files, directories and links within the
//! job's files are taken, and nothing is written through a link.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use ferrite_types::{check_preload_link, check_preload_name};
use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

/// The most entries of an archive.
const MOST: usize = 1_000_000;

/// Unpacks an archive into `dir`, which lies at `above` below the directory of the job's files.
///
/// # Errors
/// The archive is damaged, names something that may not be unpacked, or cannot be written.
pub(crate) fn unpack(archive: File, gzip: bool, dir: &Path, above: &str) -> io::Result<()> {
    let archive = BufReader::with_capacity(256 * 1024, archive);
    if gzip { take_all(MultiGzDecoder::new(archive), dir, above) } else { take_all(archive, dir, above) }
}

fn take_all(from: impl Read, dir: &Path, above: &str) -> io::Result<()> {
    let mut made = BTreeSet::new();
    // Links come last, so that nothing can be written through one.
    let mut links = Vec::new();
    for (count, entry) in Archive::new(from).entries()?.enumerate() {
        if count >= MOST {
            return Err(io::Error::other(format!("the archive has more than {MOST} entries")));
        }
        let mut entry = entry?;
        if matches!(entry.header().entry_type(), EntryType::XGlobalHeader) {
            continue;
        }
        let Some(name) = plain_name(&entry)? else { continue };
        take(&mut entry, &name, dir, above, &mut made, &mut links)
            .map_err(|error| io::Error::new(error.kind(), format!("{name} in the archive: {error}")))?;
    }
    for (name, target) in links {
        let into = dir.join(&name);
        symlink(target, into)
            .map_err(|error| io::Error::new(error.kind(), format!("{name} in the archive: {error}")))?;
    }
    Ok(())
}

/// See spec L72.
fn take(
    entry: &mut Entry<'_, impl Read>,
    name: &str,
    dir: &Path,
    above: &str,
    made: &mut BTreeSet<String>,
    links: &mut Vec<(String, String)>,
) -> io::Result<()> {
    check_preload_name(name).map_err(io::Error::other)?;
    let mode = entry.header().mode()?;
    match entry.header().entry_type() {
        EntryType::Directory => return make_directories(name, dir, made),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {}
        EntryType::Symlink => {
            let target = entry.link_name_bytes().unwrap_or_default();
            let target = std::str::from_utf8(&target).map_err(|_| io::Error::other("its target is not UTF-8"))?;
            let whole = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
            check_preload_link(&whole, target)
                .map_err(|why| io::Error::other(format!("the link to {target}: {why}")))?;
            if let Some((above, _)) = name.rsplit_once('/') {
                make_directories(above, dir, made)?;
            }
            links.push((name.to_owned(), target.to_owned()));
            return Ok(());
        }
        EntryType::Link => return Err(io::Error::other("hard links are not unpacked")),
        _ => return Err(io::Error::other("only files, directories and symbolic links are unpacked")),
    }
    if mode & 0o7000 != 0 {
        return Err(io::Error::other("its mode has a setuid, setgid or sticky bit"));
    }
    if let Some((above, _)) = name.rsplit_once('/') {
        make_directories(above, dir, made)?;
    }
    let mode = if mode & 0o111 != 0 { 0o700 } else { 0o600 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(dir.join(name))?;
    let size = entry.size();
    if io::copy(entry, &mut file)? != size {
        return Err(io::Error::other("the archive ends in the middle of it"));
    }
    Ok(())
}

/// Makes a directory and those above it. One that is there must be a directory and no link.
fn make_directories(name: &str, dir: &Path, made: &mut BTreeSet<String>) -> io::Result<()> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    for part in ends.map(|at| &name[..at]) {
        if made.contains(part) {
            continue;
        }
        let path = dir.join(part);
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(&path)?.is_dir() => {}
            Err(error) => return Err(error),
        }
        made.insert(part.to_owned());
    }
    Ok(())
}

/// The name of an entry without a leading `./` and a trailing `/`; `None` for the directory of the archive itself.
fn plain_name(entry: &Entry<'_, impl Read>) -> io::Result<Option<String>> {
    let bytes = entry.path_bytes();
    let name = std::str::from_utf8(&bytes).map_err(|_| {
        io::Error::other(format!("a name in the archive is not UTF-8: {:?}", String::from_utf8_lossy(&bytes)))
    })?;
    let mut name = name.trim_end_matches('/');
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    Ok((!name.is_empty() && name != ".").then(|| name.to_owned()))
}
