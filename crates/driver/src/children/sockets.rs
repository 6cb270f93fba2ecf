//! Finds the processes that hold a socket, by the descriptors in `/proc` of a job's processes and of their descendants.

use std::fs;
use std::io;
use std::rc::Rc;

use ferrite_types::ProcId;
use rustix::process::Pid;

use super::orphans::Orphans;
use super::starts::Starts;
use super::{Table, belongs_to, tree};

/// Finds the holders of sockets among the processes of jobs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Holders {
    table: Table,
    orphans: Rc<Orphans>,
    starts: Rc<Starts>,
}

/// The holder of a socket, as a job sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A process of the job, or a descendant of one, holds it.
    OfJob,
    /// No process of the job holds it.
    Other,
    /// Some processes hide their descriptors, and the others do not hold it.
    Unknown,
}

impl Holders {
    pub(super) fn new(table: Table, orphans: Rc<Orphans>, starts: Rc<Starts>) -> Holders {
        Holders { table, orphans, starts }
    }

    /// For a process that starts no processes of jobs.
    pub(crate) fn none() -> Holders {
        Holders::new(Table::default(), Rc::new(Orphans::none()), Rc::default())
    }

    /// Waits until the event loop has heard of a process that may run already.
    pub(crate) async fn heard_of(&self, proc: ProcId) {
        self.starts.settled(|other| other == proc).await;
    }

    /// Looks for the socket with this inode number among the processes of a job, also among those that may run already
    /// but are not heard of yet (spec L110).
    pub(crate) async fn find(&self, said: ProcId, inode: u32) -> Holder {
        self.heard_of(said).await;
        match self.of_job(said, inode) {
            // A descendant of another process may say that it is this one.
            Holder::Other => {
                self.starts.settled(|other| other.job == said.job).await;
                self.of_job(said, inode)
            }
            found => found,
        }
    }

    /// Looks for the socket with this inode number, first at the process that claims to hold it.
    fn of_job(&self, said: ProcId, inode: u32) -> Holder {
        let name = format!("socket:[{inode}]");
        let mut hidden = false;
        let mut holds = |pid: Pid| match holds(pid, &name) {
            Ok(holds) => holds,
            Err(error) => {
                hidden |= error.kind() == io::ErrorKind::PermissionDenied;
                false
            }
        };
        let (first, others) = self.processes(said);
        let below = |pid: &Pid| tree::descendants_of(*pid);
        let found = first.iter().any(|pid| holds(*pid))
            || first.iter().flat_map(below).any(&mut holds)
            || others.iter().any(|pid| holds(*pid))
            || others.iter().flat_map(below).any(&mut holds)
            || self.left_by(said).iter().any(|pid| holds(*pid) || below(pid).into_iter().any(&mut holds));
        match (found, hidden) {
            (true, _) => Holder::OfJob,
            (false, false) => Holder::Other,
            (false, true) => Holder::Unknown,
        }
    }

    /// Returns the claimed process, if it runs, and the other processes of its job.
    fn processes(&self, said: ProcId) -> (Option<Pid>, Vec<Pid>) {
        let table = self.table.borrow();
        let running = table.iter().filter(|(proc, local)| proc.job == said.job && !local.reaped);
        let (first, others): (Vec<_>, Vec<_>) =
            running.map(|(proc, local)| (*proc, local.pid)).partition(|(p, _)| *p == said);
        (first.first().map(|(_, pid)| *pid), others.into_iter().map(|(_, pid)| pid).collect())
    }

    /// Returns the orphans of the job's processes.
    fn left_by(&self, said: ProcId) -> Vec<Pid> {
        let table = self.table.borrow();
        let of_job: Vec<_> =
            table.iter().filter(|(p, _)| p.job == said.job).map(|(p, local)| (*p, local.group)).collect();
        self.orphans.matching(|orphan| of_job.iter().any(|(proc, group)| belongs_to(orphan, *proc, *group)))
    }
}

/// True when the process has the socket open.
fn holds(pid: Pid, name: &str) -> io::Result<bool> {
    for entry in fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()))? {
        // A descriptor that is closed meanwhile does not count.
        if entry.and_then(|entry| fs::read_link(entry.path())).is_ok_and(|target| target.as_os_str() == name) {
            return Ok(true);
        }
    }
    Ok(false)
}
