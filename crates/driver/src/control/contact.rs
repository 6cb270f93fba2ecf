//! Files by which a persistent DVM is found: the contact file in its session directory, and the files that
//! `--report-uri` and `--report-pid` name. They are removed when the DVM ends.

use std::io;
use std::path::{Path, PathBuf};

use ferrite_wire::DvmContact;
use ferrite_wire::dvm_contact::CONTACT_FILE;

use super::{OTHER_DIRECTORY, explain};
use crate::Report;
use crate::files::{self, Placed};
use crate::notice::{write_stderr, write_stdout};

/// Files that are valid only while the DVM lives. Dropping this removes them.
#[derive(Debug, Default)]
pub(crate) struct Published {
    files: Vec<Placed>,
}

impl Published {
    /// Writes the contact file of the DVM.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn contact(&mut self, contact: &DvmContact, dir: &Path, report: Option<&Report>) -> io::Result<()> {
        let path = dir.join(CONTACT_FILE);
        let text = contact.to_text();
        files::replace(&path, &text).map_err(explain("the contact file", &path, OTHER_DIRECTORY))?;
        match report {
            Some(Report::File(_)) => self.report(report, &text),
            _ => self.report(report, &format!("{}\n", contact.uri())),
        }
    }

    /// Adds a file that is removed with the DVM.
    pub(crate) fn remember(&mut self, file: Option<PathBuf>) {
        self.files.extend(file.and_then(Placed::at));
    }

    /// Writes a line to the place that the user named.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn report(&mut self, to: Option<&Report>, text: &str) -> io::Result<()> {
        match to {
            None => {}
            Some(Report::Stdout) => write_stdout(text),
            Some(Report::Stderr) => write_stderr(text),
            Some(Report::File(path)) => {
                files::write_report(path, text).map_err(explain(
                    "the report file",
                    path,
                    "Give `-`, `+`, or a file in a directory that can be written to.",
                ))?;
                self.remember(Some(path.clone()));
            }
        }
        Ok(())
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        self.files.iter().for_each(Placed::remove);
    }
}
