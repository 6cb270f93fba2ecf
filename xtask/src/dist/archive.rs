//! The archive: one directory with everything, which works where it is unpacked, and `install.sh`, which copies it.

use std::fs;
use std::io::Write;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::layout::{Content, Entry};
use super::release::Release;
use crate::workspace::root;

/// Returns the bytes of the archive.
pub(super) fn written(release: &Release, files: &[Entry]) -> Result<Vec<u8>> {
    let script = fs::read(root().join("packaging/install.sh"))?;
    let install = Entry { path: "install.sh".to_owned(), content: Content::Program(script) };
    packed(&release.name(), release.time_s, files.iter().chain([&install]))
}

/// Packs files into a directory of this name. Owners, times and the order are fixed.
fn packed<'a>(name: &str, time_s: u64, files: impl Iterator<Item = &'a Entry>) -> Result<Vec<u8>> {
    let mut tar = Builder::new(GzBuilder::new().mtime(0).write(Vec::new(), Compression::best()));
    for entry in files {
        let mut header = Header::new_ustar();
        header.set_mode(entry.mode());
        header.set_mtime(time_s);
        header.set_uid(0);
        header.set_gid(0);
        let path = format!("{name}/{}", entry.path);
        match &entry.content {
            Content::Text(bytes) | Content::Program(bytes) => {
                header.set_size(bytes.len() as u64);
                tar.append_data(&mut header, path, bytes.as_slice())?;
            }
            Content::Link(to) => {
                header.set_entry_type(EntryType::Symlink);
                header.set_size(0);
                tar.append_link(&mut header, path, to)?;
            }
        }
    }
    let mut gz = tar.into_inner()?;
    gz.flush()?;
    Ok(gz.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn files() -> [Entry; 2] {
        let program = Entry { path: "bin/ferrite".to_owned(), content: Content::Program(b"code".to_vec()) };
        [program, Entry { path: "bin/prun".to_owned(), content: Content::Link("ferrite") }]
    }

    #[test]
    fn the_same_files_give_the_same_bytes_with_fixed_owners_and_times() {
        let bytes = packed("f", 77, files().iter()).unwrap();
        assert_eq!(bytes, packed("f", 77, files().iter()).unwrap());
        assert_ne!(bytes, packed("f", 78, files().iter()).unwrap());
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut seen = Vec::new();
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (77, 0, 0));
            let mode = header.mode().unwrap();
            let link = entry.link_name().unwrap().map(|to| to.display().to_string());
            let path = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            seen.push((path, mode, link, text));
        }
        let program = ("f/bin/ferrite".to_owned(), 0o755, None, "code".to_owned());
        let link = ("f/bin/prun".to_owned(), 0o777, Some("ferrite".to_owned()), String::new());
        assert_eq!(seen, [program, link]);
    }
}
