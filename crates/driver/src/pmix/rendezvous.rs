//! The files by which PMIx tools find a server: its name, address, release, process, user and time. The library would
//! write them itself, but it starts only with the first caller.

use std::io;
use std::path::{Path, PathBuf};

use ferrite_pmix::Proc;

use crate::control::{OTHER_DIRECTORY, explain};
use crate::files;

/// The release of PMIx that our side of the first message follows; the answering library may be newer.
const RELEASE: &str = "v4.2.2";
/// Directory in which tools look for the system's server.
const SYSTEM_DIR: &str = "/tmp";

/// The content of the files.
pub(super) struct Place<'a> {
    /// The name of the daemon that serves the tools.
    pub(super) name: &'a Proc,
    pub(super) hostname: &'a str,
    /// `tcp4://address:port`.
    pub(super) endpoint: &'a str,
    /// Id of the process that users see.
    pub(super) pid: u32,
}

impl Place<'_> {
    /// Writes the files into the session directory: tools search below the temporary directory.
    pub(super) fn publish(&self, dir: &Path) -> io::Result<()> {
        let nspace = &self.name.nspace;
        for name in ["tool".to_owned(), format!("tool.{}", self.pid), format!("tool.{nspace}")] {
            self.write(&dir.join(format!("pmix.{}.{name}", self.hostname)))?;
        }
        Ok(())
    }

    /// Writes the file of the system's server; returns its path, to be removed at the end.
    pub(super) fn publish_system(&self) -> io::Result<PathBuf> {
        let path = Path::new(SYSTEM_DIR).join(format!("pmix.sys.{}", self.hostname));
        self.write(&path).map_err(|error| {
            let text = format!(
                "{} cannot be written: {error}.\nHave it removed, or do without --system-server.",
                path.display()
            );
            io::Error::new(error.kind(), text)
        })?;
        Ok(path)
    }

    /// Writes one file.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let Proc { nspace, rank } = self.name;
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let text = format!("{nspace}.{rank};{}\n{RELEASE}\n{}\n{uid}:{gid}\nnow\n", self.endpoint, self.pid);
        files::replace(path, &text).map_err(explain("the rendezvous file", path, OTHER_DIRECTORY))
    }
}
