//! The files of `--display map:svg=FILE`, `html=FILE` and `--rtos output-proctable=FILE`. The head draws a picture when
//! it maps the job, and lists the processes when all have started; the command that asked for it writes the file. A
//! file that cannot be written is an error before the job begins. A file is written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ferrite_driver::KeepPicture;
use ferrite_types::PictureFormat;

use crate::args::Picture;

/// Advice about a file that cannot be written.
pub(crate) const NEXT: &str = "Name a file in a directory that exists and can be written to.";

/// The requested pictures, and the pieces that have come.
#[derive(Debug, Default)]
pub(crate) struct Pictures {
    files: Vec<Picture>,
    /// The pieces of incomplete pictures.
    pieces: Vec<(PictureFormat, Vec<u8>)>,
}

impl Pictures {
    /// Checks that these files can be written.
    ///
    /// # Errors
    /// The first file that cannot be written.
    pub(crate) fn new(files: Vec<Picture>) -> Result<Pictures, String> {
        files.iter().try_for_each(|(of, file)| check(file).map_err(|error| complaint(*of, file, &error)))?;
        Ok(Pictures { files, pieces: Vec::new() })
    }

    /// Takes a piece of a picture; the last piece writes the file.
    pub(crate) fn take(&mut self, format: PictureFormat, piece: &[u8], last: bool) -> Result<(), String> {
        let at = self.pieces.iter().position(|(of, _)| *of == format).unwrap_or_else(|| {
            self.pieces.push((format, Vec::new()));
            self.pieces.len() - 1
        });
        self.pieces[at].1.extend_from_slice(piece);
        if last {
            let (_, whole) = self.pieces.swap_remove(at);
            return self.write(format, &whole);
        }
        Ok(())
    }

    fn write(&self, format: PictureFormat, whole: &[u8]) -> Result<(), String> {
        let files = self.files.iter().filter(|(of, _)| *of == format).map(|(_, file)| file);
        files.into_iter().try_for_each(|file| write(file, whole).map_err(|error| complaint(format, file, &error)))
    }
}

impl KeepPicture for Pictures {
    fn keep(&mut self, format: PictureFormat, text: &str) -> Result<(), String> {
        self.write(format, text.as_bytes())
    }
}

fn complaint(format: PictureFormat, file: &Path, error: &io::Error) -> String {
    let what = match format {
        PictureFormat::Svg | PictureFormat::Html => "--display: cannot write the picture",
        PictureFormat::Processes => "--runtime-options output-proctable: cannot write the table of processes",
    };
    format!("{what} {}: {error}", file.display())
}

/// True for a file that cannot be replaced by another, such as a pipe or a terminal.
fn is_special(file: &Path) -> io::Result<bool> {
    match fs::metadata(file) {
        Ok(there) if there.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(there) => Ok(!there.is_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn check(file: &Path) -> io::Result<()> {
    if is_special(file)? {
        return Ok(());
    }
    let (scratch, _) = scratch(file)?;
    fs::File::create_new(&scratch)?;
    fs::remove_file(&scratch)
}

fn write(file: &Path, whole: &[u8]) -> io::Result<()> {
    if is_special(file)? {
        return fs::OpenOptions::new().write(true).open(file)?.write_all(whole);
    }
    let (scratch, target) = scratch(file)?;
    let mut out = fs::File::create_new(&scratch)?;
    let done = out.write_all(whole).and_then(|()| fs::rename(&scratch, target));
    if done.is_err() {
        // The first error is reported; the remaining scratch file is no picture.
        let _ = fs::remove_file(&scratch);
    }
    done
}

/// Returns the name of a scratch file in the same directory, and the file itself; links are followed.
fn scratch(file: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let name = target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let hidden = format!(".{}.{}", name.to_string_lossy(), std::process::id());
    Ok((target.with_file_name(hidden), target))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_picture_is_there_whole_with_its_last_piece_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("map.svg");
        let mut pictures = Pictures::new(vec![(PictureFormat::Svg, file.clone())]).unwrap();
        assert!(names(directory.path()).is_empty());
        pictures.take(PictureFormat::Svg, b"<svg", false).unwrap();
        pictures.take(PictureFormat::Html, b"nobody asked", true).unwrap();
        assert!(!file.exists());
        pictures.take(PictureFormat::Svg, b"/>", true).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"<svg/>");
        pictures.keep(PictureFormat::Svg, "again").unwrap();
        assert_eq!((fs::read(&file).unwrap(), names(directory.path()).len()), (b"again".to_vec(), 1));
    }

    #[test]
    fn a_link_stays_one_and_a_device_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("map.svg"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("map.svg", &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_written_is_named_before_anything_begins() {
        let directory = tempfile::tempdir().unwrap();
        for file in [directory.path().join("no/map.svg"), directory.path().to_owned(), PathBuf::from("/")] {
            let error = Pictures::new(vec![(PictureFormat::Svg, file.clone())]).unwrap_err();
            assert!(error.starts_with(&format!("--display: cannot write the picture {}: ", file.display())), "{error}");
        }
        assert!(names(directory.path()).is_empty());
    }
}
