//! What a persistent DVM writes down so that it can be found: the contact file in its session directory, and the files that
//! `--report-uri` and `--report-pid` name. They go when it goes.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ferrite_wire::DvmContact;
use ferrite_wire::dvm_contact::CONTACT_FILE;

use super::{OTHER_DIRECTORY, explain};
use crate::Report;
use crate::notice::{write_stderr, write_stdout};

/// Files that are true only while the DVM lives. Removed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Published {
    files: Vec<PathBuf>,
}

impl Published {
    /// Makes the DVM known.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn contact(&mut self, contact: &DvmContact, dir: &Path, report: Option<&Report>) -> io::Result<()> {
        let path = dir.join(CONTACT_FILE);
        // Clients look for it all the time: they find all of it or nothing.
        let beside = dir.join("contact.new");
        let text = contact.to_text();
        write_private(&beside, &text).map_err(explain("the contact file", &path, OTHER_DIRECTORY))?;
        std::fs::rename(&beside, &path).map_err(explain("the contact file", &path, OTHER_DIRECTORY))?;
        match report {
            Some(Report::File(_)) => self.report(report, &text),
            _ => self.report(report, &format!("{}\n", contact.uri())),
        }
    }

    /// This file goes with the DVM too.
    pub(crate) fn remember(&mut self, file: Option<PathBuf>) {
        self.files.extend(file);
    }

    /// Writes a line where the user wants it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn report(&mut self, to: Option<&Report>, text: &str) -> io::Result<()> {
        match to {
            None => {}
            Some(Report::Stdout) => write_stdout(text),
            Some(Report::Stderr) => write_stderr(text),
            Some(Report::File(path)) => {
                std::fs::write(path, text).map_err(explain(
                    "the report file",
                    path,
                    "Give `-`, `+`, or a file in a directory that can be written to.",
                ))?;
                self.files.push(path.clone());
            }
        }
        Ok(())
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        for file in &self.files {
            // The user may have removed it already.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Readable for its owner only.
pub(super) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
