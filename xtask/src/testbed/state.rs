//! The directory by which a bed is found again, and the identity of its processes.
//!
//! One directory per user, checkout and bed name below `/tmp`: two checkouts, or two test processes with names of
//! their own, never meet. A lock file beside it makes `up` and `down` of the same bed take turns.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::LOGIN;
use crate::workspace;

/// A process, named so that a reused pid is not mistaken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: i32,
    start_ticks: u64,
}

impl Identity {
    /// The identity of a running process; `None` if there is none.
    pub(super) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command name may hold spaces and parentheses: count the fields behind the last one.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let start_ticks = fields.nth(18)?.parse().ok()?;
        Some(Self { pid, start_ticks })
    }

    pub(super) fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Kills exactly this process. No error if it is gone.
    pub(super) fn kill(self) -> Result<()> {
        let pid = Pid::from_raw(self.pid).context("pid 0")?;
        // The descriptor pins the process: it is opened first and checked then, so the pid cannot be reused in between.
        let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
            return Ok(());
        };
        if !self.is_alive() {
            return Ok(());
        }
        match pidfd_send_signal(&fd, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot kill process {pid:?}")),
        }
    }

    /// Waits until the process is gone.
    pub(super) fn wait_gone(self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while self.is_alive() {
            ensure!(Instant::now() < deadline, "process {} is still there after {limit:?}", self.pid);
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.pid, self.start_ticks)
    }
}

impl FromStr for Identity {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (pid, start) = text.split_once(':').context("not pid:start")?;
        Ok(Self { pid: pid.parse()?, start_ticks: start.parse()? })
    }
}

/// The parts of a running bed, as kept in the file `bed` of its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) head: Identity,
    /// The first process of each node, by index.
    pub(super) nodes: Vec<Identity>,
    /// The first process of the login node, if there is one.
    pub(super) login: Option<Identity>,
}

impl Record {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("bed");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut lines = text.lines();
        let head = lines.next().context("empty record")?.parse()?;
        let mut record = Self { head, nodes: Vec::new(), login: None };
        for line in lines {
            match line.strip_prefix("login ") {
                Some(login) => record.login = Some(login.parse()?),
                None => record.nodes.push(line.parse()?),
            }
        }
        Ok(record)
    }

    /// The first process of the node that has this index.
    pub(super) fn node(&self, index: usize) -> Option<Identity> {
        if index == LOGIN { self.login } else { self.nodes.get(index).copied() }
    }

    /// Notes the first process of a node: of one more, or of one that was started again.
    pub(super) fn set(&mut self, index: usize, node: Identity) {
        match self.nodes.get_mut(index) {
            _ if index == LOGIN => self.login = Some(node),
            Some(old) => *old = node,
            None => self.nodes.push(node),
        }
    }

    /// Replaces the record in one step, so that a reader never sees half of it.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let mut text = format!("{}\n", self.head);
        for node in &self.nodes {
            text.push_str(&format!("{node}\n"));
        }
        if let Some(login) = self.login {
            text.push_str(&format!("login {login}\n"));
        }
        fs::write(dir.join("bed.new"), text)?;
        fs::rename(dir.join("bed.new"), dir.join("bed"))?;
        Ok(())
    }
}

/// The directory of the bed called `name` of this user and checkout.
pub(super) fn directory(name: &str) -> Result<PathBuf> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        !name.is_empty() && name.len() <= 64 && name.chars().all(fine),
        "'{name}' is no name for a bed: use letters, digits, - _ ."
    );
    let mut hasher = DefaultHasher::new();
    workspace::root().hash(&mut hasher);
    Ok(parent()?.join(format!("{:08x}-{name}", hasher.finish() as u32)))
}

/// The directory of all beds of this user, made on first use and refused if it is somebody else's.
fn parent() -> Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let dir = PathBuf::from(format!("/tmp/ferrite-testbed-{uid}"));
    let meta = loop {
        match fs::DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("cannot make {}", dir.display()));
            }
            _ => {}
        }
        match fs::symlink_metadata(&dir) {
            // The last bed of this user took it away just now.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            meta => break meta?,
        }
    };
    if !meta.is_dir() || meta.uid() != uid || meta.mode() & 0o022 != 0 {
        bail!("{} is not a private directory of user {uid}: remove it", dir.display());
    }
    Ok(dir)
}

/// Held while a bed is made or removed.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Self> {
        let path = dir.with_extension("lock");
        loop {
            let file = File::options().create(true).append(true).mode(0o600).open(&path);
            if file.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotFound) {
                // The last bed of this user took the directory of all beds away just now.
                parent()?;
                continue;
            }
            let file = file.with_context(|| format!("cannot open {}", path.display()))?;
            flock(&file, FlockOperation::LockExclusive)?;
            // `remove` takes the file away: a lock on a file without a name excludes no other process.
            if fs::metadata(&path).is_ok_and(|m| file.metadata().is_ok_and(|f| f.ino() == m.ino())) {
                return Ok(Self { _file: file });
            }
        }
    }
}

/// Removes what a bed that is gone has left. The caller holds its lock.
pub(super) fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => {
            // The lock too: each `run` has a name of its own and would leave one for ever.
            let _ = fs::remove_file(dir.with_extension("lock"));
            // Fails as long as this user has another bed.
            let _ = dir.parent().map(fs::remove_dir);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_names_a_process_and_not_its_pid() {
        let own = Identity::of(std::process::id() as i32).unwrap();
        assert!(own.is_alive());
        assert_eq!(own.to_string().parse::<Identity>().unwrap(), own);
        let reused = Identity { start_ticks: own.start_ticks + 1, ..own };
        assert!(!reused.is_alive());
        reused.kill().unwrap();
        assert!(own.is_alive());
    }

    #[test]
    fn a_record_is_read_as_it_was_written_with_a_login_node_and_without() {
        let dir = tempfile::tempdir().unwrap();
        let own = Identity::of(std::process::id() as i32).unwrap();
        let other = Identity { pid: own.pid + 1, ..own };
        let mut record = Record { head: own, nodes: Vec::new(), login: None };
        record.set(0, own);
        record.set(1, own);
        record.set(1, other);
        for login in [None, Some(other)] {
            record.login = login;
            record.write(dir.path()).unwrap();
            assert_eq!(Record::read(dir.path()).unwrap(), record);
            assert_eq!((record.node(LOGIN), record.node(1), record.node(2)), (login, Some(other), None));
        }
    }

    #[test]
    fn a_bed_name_cannot_leave_its_directory() {
        for name in ["", "../x", "a/b", "a b"] {
            assert!(directory(name).is_err(), "{name:?}");
        }
    }
}
