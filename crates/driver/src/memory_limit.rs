//! Limits of memory (`--mem`): each process that asked for memory runs in a control group (cgroup v2) of its own, and
//! the kernel ends it when it takes more.
//!
//! The daemon makes these groups beside itself, in the control group in which it was started, when that was given to
//! its user: by systemd (`Delegate=yes`), a container, or root. The kernel lets a group limit what is below it only
//! when no process is left in the group itself. So the processes that are there move one level down, into [`REST`],
//! and come back at the end. Nothing is made before the first process that takes memory.
//!
//! The guard removes all of it, however the daemon has ended ([`remove_groups`]). By its own group it knows that there
//! is something to remove, so it is always moved.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ferrite_types::ProcId;
use ferrite_wire::{StartError, StartErrorKind};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

/// The group of the processes that were in the daemon's group before.
const REST: &str = "ferrite-rest";
/// The group of guards where limits were possible before, and stay so.
const GUARDS: &str = "ferrite-guards";
/// Groups of processes begin with this word and the pid of their daemon.
const PREFIX: &str = "ferrite-";
/// Processes that fork while they are moved are looked for again so often.
const ROUNDS: usize = 50;
/// The longest wait for another daemon or guard that divides the group, or puts it together. Any process of the user
/// can hold the lock, so nobody waits for ever.
const LOCK_LIMIT: Duration = Duration::from_millis(200);
const LOCK_AGAIN: Duration = Duration::from_millis(5);

/// The groups of a daemon's processes.
#[derive(Default)]
pub(crate) struct MemoryLimits {
    /// The group below which the others are made, or the reason why none can be made; `None` before the first process
    /// that takes memory.
    area: Option<Result<PathBuf, String>>,
    groups: BTreeMap<ProcId, Group>,
    /// Groups whose process has ended, and that still have others.
    left: Vec<PathBuf>,
    is_told: bool,
}

struct Group {
    path: PathBuf,
    /// The processes that the kernel had ended in it when it was made, by a former start of the same rank.
    ended_before: u64,
}

impl MemoryLimits {
    /// Makes the group of a process that takes this memory (bytes), and opens the file by which it enters; `None` =
    /// there are no limits here (spec L163).
    ///
    /// # Errors
    /// The group cannot be made.
    pub(crate) fn prepare(&mut self, proc: ProcId, bytes: u64) -> Result<Option<OwnedFd>, StartError> {
        self.sweep();
        let mut made = self.made(proc, bytes);
        if made.is_err() {
            // The guard of another daemon of this group has put it together again.
            self.area = None;
            made = self.made(proc, bytes);
        }
        made.map_err(|error| StartError {
            kind: StartErrorKind::System,
            detail: format!("limiting its memory: {error}"),
        })
    }

    fn made(&mut self, proc: ProcId, bytes: u64) -> io::Result<Option<OwnedFd>> {
        let Ok(area) = self.area.get_or_insert_with(|| prepare_area(&own_group()?)) else { return Ok(None) };
        let path = area.join(format!("{PREFIX}{}-{}-{}", std::process::id(), proc.job, proc.rank));
        // It is used again for another start of the same rank.
        self.left.retain(|left| *left != path);
        let in_area = |error: io::Error| {
            let _ = fs::remove_dir(&path);
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let (group, entrance) = made(&path, bytes).map_err(in_area)?;
        self.groups.insert(proc, group);
        Ok(Some(entrance))
    }

    /// Why memory is not limited here. Says it once.
    pub(crate) fn obstacle(&mut self) -> Option<String> {
        let obstacle = self.area.as_ref()?.as_ref().err()?;
        (!std::mem::replace(&mut self.is_told, true)).then(|| obstacle.clone())
    }

    /// Notes the end of a process, or that it did not start; true when the kernel ended it, or one that it had started,
    /// because of its limit.
    pub(crate) fn ended(&mut self, proc: ProcId) -> bool {
        let Some(Group { path, ended_before }) = self.groups.remove(&proc) else { return false };
        let is_over = ended_by_kernel(&path) > ended_before;
        self.left.push(path);
        self.sweep();
        is_over
    }

    /// Removes the groups in which no process is left.
    pub(crate) fn sweep(&mut self) {
        let is_there = |path: &PathBuf| fs::remove_dir(path).is_err_and(|error| error.kind() != ErrorKind::NotFound);
        self.left.retain(is_there);
    }
}

/// Makes a group with a limit, and opens its entrance.
fn made(path: &Path, bytes: u64) -> io::Result<(Group, OwnedFd)> {
    match fs::create_dir(path) {
        // A former start of the same rank has left processes.
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    fs::write(path.join("memory.max"), bytes.to_string())?;
    // The whole process ends with its threads and children. A machine without swap has no file for it.
    fs::write(path.join("memory.oom.group"), "1")?;
    match fs::write(path.join("memory.swap.max"), "0") {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let entrance = rustix::fs::open(path.join("cgroup.procs"), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((Group { path: path.to_owned(), ended_before: ended_by_kernel(path) }, entrance))
}

/// The number of processes of a group that the kernel has ended for their memory.
fn ended_by_kernel(group: &Path) -> u64 {
    let events = fs::read_to_string(group.join("memory.events")).unwrap_or_default();
    let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// The control group of this process.
fn own_group() -> Result<PathBuf, String> {
    let read = |file: &str| fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
    let (own, mounts) = (read("/proc/self/cgroup")?, read("/proc/self/mountinfo")?);
    group_of(&own, &mounts).ok_or_else(|| "this system has no control groups of version 2".to_owned())
}

/// The directory of a process's group, from its `cgroup` and `mountinfo`.
fn group_of(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut words = mount.split(' ').skip(3);
        let (root, at) = (words.next()?, words.next()?);
        let below = path.strip_prefix(root.trim_end_matches('/'))?;
        // The root has no name of its own, and messages no slash at its end.
        let below = below.trim_start_matches('/');
        Some(if below.is_empty() { PathBuf::from(at) } else { Path::new(at).join(below) })
    })
}

/// Makes a group ready to have groups with limits below it.
fn prepare_area(own: &Path) -> Result<PathBuf, String> {
    // A daemon beside this one may have moved it already.
    let area = moved_from(own).unwrap_or(own);
    let controllers = fs::read_to_string(area.join("cgroup.controllers")).unwrap_or_default();
    if !controllers.split_whitespace().any(|name| name == "memory") {
        return Err(format!("the control group {} has no memory controller", area.display()));
    }
    if !is_delegated(area) {
        return Err(format!("the control group {} is not given to this user", area.display()));
    }
    let failed = |error: io::Error| format!("the control group {} cannot be divided: {error}", area.display());
    let _lock = locked(area).map_err(failed)?;
    let control = area.join("cgroup.subtree_control");
    let is_on = fs::read_to_string(&control).is_ok_and(|on| on.split_whitespace().any(|name| name == "memory"));
    // A daemon beside this one has divided it, or it is the root of all groups, which may have limits and processes.
    let is_ours = is_on && area.join(REST).exists();
    let rest = area.join(if is_on && !is_ours { GUARDS } else { REST });
    if let Err(error) = fs::create_dir(&rest)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(failed(error));
    }
    let divided = if fs::write(&control, "+memory").is_ok() {
        rustix::process::getppid().map_or(Ok(()), |guard| move_one(&rest, &guard.to_string()))
    } else {
        move_all(area, &rest).and_then(|()| fs::write(&control, "+memory"))
    };
    if let Err(error) = divided {
        let _ = move_all(&rest, area);
        let _ = fs::remove_dir(&rest);
        return Err(failed(error));
    }
    Ok(area.to_owned())
}

/// True when the user of this process may divide a group. Root may write to any group; those that systemd manages have
/// an attribute when it has given them away, and the root of what a container sees is its own.
fn is_delegated(area: &Path) -> bool {
    let can_write = |file: &str| rustix::fs::access(area.join(file), rustix::fs::Access::WRITE_OK).is_ok();
    if !(can_write("cgroup.procs") && can_write("cgroup.subtree_control")) {
        return false;
    }
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let is_marked = |name: &str| rustix::fs::getxattr(area, name, &mut [0_u8; 8]).is_ok_and(|length| length > 0);
    // The root of the tree has no parent of its kind.
    let is_root = !area.parent().is_some_and(|parent| parent.join("cgroup.procs").exists());
    is_root || is_marked("trusted.delegate") || is_marked("user.delegate")
}

/// Locks a group against other daemons and guards, until the descriptor is closed.
fn locked(area: &Path) -> io::Result<OwnedFd> {
    let directory = rustix::fs::open(area, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let began = Instant::now();
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(directory),
            // The kernel has no lock with a limit, and tells nobody when one is free.
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < LOCK_LIMIT => std::thread::sleep(LOCK_AGAIN),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Moves all processes of a group into another.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..ROUNDS {
        let procs = fs::read_to_string(from.join("cgroup.procs"))?;
        if procs.is_empty() {
            return Ok(());
        }
        for pid in procs.lines() {
            // A process may end meanwhile.
            last = move_one(to, pid);
        }
    }
    last.and(Err(io::Error::other("processes come into it again and again")))
}

fn move_one(to: &Path, pid: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(to.join("cgroup.procs"))?.write_all(pid.as_bytes())
}

/// The divided group whose processes were moved into this one.
fn moved_from(own: &Path) -> Option<&Path> {
    own.parent().filter(|_| own.ends_with(REST) || own.ends_with(GUARDS))
}

/// Removes the groups of a daemon that has ended, whose processes are ended as well; and what was made to divide its
/// group, unless another daemon has processes with limits there (spec L163).
pub(crate) fn remove_groups(daemon: u32) {
    // One read: each run of a command comes here.
    let mut own = [0_u8; 4096];
    let length = File::open("/proc/self/cgroup").and_then(|mut file| file.read(&mut own)).unwrap_or(0);
    let own = String::from_utf8_lossy(&own[..length]);
    let is_moved = |line: &str| line.starts_with("0::") && moved_from(Path::new(line)).is_some();
    if own.lines().any(is_moved)
        && let Ok(own) = own_group()
    {
        remove_below(&own, daemon);
    }
}

fn remove_below(own: &Path, daemon: u32) {
    let Some(area) = moved_from(own) else { return };
    let prefix = format!("{PREFIX}{daemon}-");
    let names = || fs::read_dir(area).into_iter().flatten().flatten().map(|entry| entry.file_name());
    for name in names().filter(|name| name.to_string_lossy().starts_with(&prefix)) {
        let _ = fs::remove_dir(area.join(name));
    }
    let Ok(_lock) = locked(area) else { return };
    let is_limited = |name: &str| name.starts_with(PREFIX) && name != REST && name != GUARDS;
    if names().any(|name| is_limited(&name.to_string_lossy())) {
        return;
    }
    if own.ends_with(REST) {
        let _ = fs::write(area.join("cgroup.subtree_control"), "-memory");
    }
    if let Err(error) = move_all(own, area).and_then(|()| fs::remove_dir(own)) {
        tracing::debug!(%error, "the control group {} stays", own.display());
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::{JobId, Rank};

    use super::*;

    #[test]
    fn the_group_is_found_below_its_mount() {
        let own = "4:memory:/a\n0::/user.slice/run.scope\n";
        let plain = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        assert_eq!(group_of(own, plain), Some(PathBuf::from("/sys/fs/cgroup/user.slice/run.scope")));
        let mixed = "31 23 0:5 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                     29 23 0:26 /user.slice /mnt/two rw - cgroup2 cgroup2 rw\n";
        assert_eq!(group_of(own, mixed), Some(PathBuf::from("/mnt/two/run.scope")));
        assert_eq!(group_of("0::/\n", plain).map(|path| path.display().to_string()), Some("/sys/fs/cgroup".to_owned()));
        assert_eq!(group_of("4:memory:/a\n", plain), None);
        assert_eq!(group_of(own, "31 23 0:5 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"), None);
    }

    #[test]
    fn a_guard_knows_its_group_when_it_was_moved() {
        let moved = |path| moved_from(Path::new(path));
        assert_eq!(moved("0::/a/ferrite-rest"), Some(Path::new("0::/a")));
        assert_eq!(moved("0::/ferrite-guards"), Some(Path::new("0::")));
        assert_eq!((moved("0::/"), moved("0::/a/ferrite-restless")), (None, None));
    }

    /// Files as the kernel shows them. Only the kernel limits; `cargo xtask scenarios memory` shows it on a system that
    /// has given a group away.
    fn made_up(controllers: &str) -> tempfile::TempDir {
        let area = tempfile::tempdir().unwrap();
        fs::write(area.path().join("cgroup.controllers"), controllers).unwrap();
        for file in ["cgroup.procs", "cgroup.subtree_control"] {
            fs::write(area.path().join(file), "").unwrap();
        }
        area
    }

    #[test]
    fn a_group_that_cannot_limit_is_named_once() {
        let area = made_up("cpu io");
        let mut limits = MemoryLimits { area: Some(prepare_area(area.path())), ..MemoryLimits::default() };
        let proc = ProcId { job: JobId(1), rank: Rank(0) };
        assert!(limits.prepare(proc, 1 << 20).unwrap().is_none());
        let said = limits.obstacle().unwrap();
        assert!(said.contains("has no memory controller") && said.contains(&*area.path().to_string_lossy()), "{said}");
        assert_eq!(limits.obstacle(), None);
        assert!(!limits.ended(proc));
    }

    #[test]
    fn nobody_waits_for_ever_for_who_holds_the_lock() {
        let area = made_up("memory");
        let held = locked(area.path()).unwrap();
        assert_eq!(locked(area.path()).unwrap_err().kind(), ErrorKind::WouldBlock);
        let said = prepare_area(area.path()).unwrap_err();
        assert!(said.contains("cannot be divided") || said.contains("is not given"), "{said}");
        drop(held);
        assert!(locked(area.path()).is_ok());
    }

    #[test]
    fn the_kernels_count_of_ended_processes_is_read() {
        let group = tempfile::tempdir().unwrap();
        assert_eq!(ended_by_kernel(group.path()), 0);
        fs::write(group.path().join("memory.events"), "low 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n").unwrap();
        assert_eq!(ended_by_kernel(group.path()), 3);
    }
}
