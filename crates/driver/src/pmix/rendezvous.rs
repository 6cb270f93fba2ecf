//! The files by which PMIx tools find a server: its name, address, release, process, user and time. The library would
//! write them itself, but it starts only with the first caller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ferrite_pmix::Proc;

use super::{PmixBridge, Shared};
use crate::control::{OTHER_DIRECTORY, explain};
use crate::files;
use crate::session_dir::SessionDir;

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

impl PmixBridge {
    /// Opens the front door to PMIx tools as well, and writes the files in `dir` by which tools find it. Returns its
    /// address and the files that have to be removed at the end beside the session directory. The library starts with
    /// the first caller.
    ///
    /// # Errors
    /// When there is no port, or a file cannot be written.
    pub(crate) fn open_to_tools(
        &mut self,
        dir: &Path,
        pid: u32,
        system: bool,
    ) -> io::Result<(String, Option<PathBuf>)> {
        let endpoint = format!("tcp4://127.0.0.1:{}", self.door_port()?);
        let place = self.place_of_tools(&endpoint, pid);
        place.publish(dir)?;
        let file = if system { Some(place.publish_system()?) } else { None };
        self.know_address(&endpoint);
        Ok((endpoint, file))
    }

    /// Opens the front door of a DVM for one job to PMIx tools. Beside the usual files it writes `rendezvous`, which
    /// has to be removed at the end. The job does not fail where the usual ones cannot be written.
    ///
    /// # Errors
    /// When there is no port, or `rendezvous` cannot be written.
    pub(crate) fn open_beside_job(&mut self, dir: &SessionDir, pid: u32, rendezvous: Option<&Path>) -> io::Result<()> {
        let endpoint = format!("tcp4://127.0.0.1:{}", self.door_port()?);
        let place = self.place_of_tools(&endpoint, pid);
        if let Err(error) = dir.dir().and_then(|dir| place.publish(dir)) {
            tracing::warn!(%error, "PMIx tools do not find this DVM");
        }
        rendezvous.map_or(Ok(()), |path| place.write(path))?;
        self.know_address(&endpoint);
        Ok(())
    }

    fn place_of_tools<'a>(&'a self, endpoint: &'a str, pid: u32) -> Place<'a> {
        let Shared { name, hostname, .. } = &*self.shared;
        Place { name, hostname, endpoint, pid }
    }

    fn know_address(&self, endpoint: &str) {
        let Proc { nspace, rank } = &self.shared.name;
        let _ = self.shared.uri.set(format!("{nspace}.{rank};{endpoint}"));
    }
}

impl Place<'_> {
    /// Writes the files into the session directory: tools search below the temporary directory. They have to be there
    /// before the first process of a job runs, whose first act may be a tool that looks for its launcher.
    pub(super) fn publish(&self, dir: &Path) -> io::Result<()> {
        let (nspace, pid) = (&self.name.nspace, self.pid);
        let path = |name: &str| dir.join(format!("pmix.{}.{name}", self.hostname));
        let first = path("tool");
        self.write(&first)?;
        // A second name of a file costs less than a second file; some file systems have no such names.
        for other in [path(&format!("tool.{pid}")), path(&format!("tool.{nspace}"))] {
            fs::hard_link(&first, &other).or_else(|_| self.write(&other))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_say_the_same_and_replace_older_ones() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("pmix.n0.tool.7"), "older").unwrap();
        let name = Proc { nspace: "prte-7@0".to_owned(), rank: 0 };
        let place = Place { name: &name, hostname: "n0", endpoint: "tcp4://127.0.0.1:9", pid: 7 };
        place.publish(dir.path()).unwrap();
        for file in ["tool", "tool.7", "tool.prte-7@0"] {
            let text = fs::read_to_string(dir.path().join(format!("pmix.n0.{file}"))).unwrap();
            assert!(text.starts_with("prte-7@0.0;tcp4://127.0.0.1:9\n"), "{file}: {text}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing else is left");
    }
}
