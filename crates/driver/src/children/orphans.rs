//! Orphans of jobs' processes: as a subreaper this process becomes the parent of every orphan below it. Only
//! [`super::Processes`] uses it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_local;

use super::tree;

/// After this time an unreaped dead child has no other owner and is reaped here. The other owners of children in this
/// process reap theirs at once, so this module need not know them.
const UNCLAIMED: Duration = Duration::from_secs(1);

/// Time for a process's own watcher to reap it; an unreaped process may hide others from the quick check.
const BEING_REAPED: Duration = Duration::from_millis(20);

/// The children of this process that it has not started for a job.
pub(super) struct Orphans {
    own: Own,
}

/// Pids of processes that were started for a job and are not reaped yet.
pub(super) type Own = Rc<RefCell<HashSet<Pid>>>;

impl Orphans {
    /// Makes this process the parent of all orphans below it, and reaps them from now on.
    pub(super) fn adopt() -> io::Result<Orphans> {
        set_child_subreaper(Some(getpid()))?;
        let own = Own::default();
        spawn_local(reap(own.clone(), signal(SignalKind::child())?));
        Ok(Orphans { own })
    }

    /// Returns the pids that are not orphans.
    pub(super) fn own(&self) -> &Own {
        &self.own
    }

    /// Returns the orphans that match, with all of their descendants.
    pub(super) fn matching(&self, wanted: impl Fn(Pid) -> bool) -> Vec<Pid> {
        let mut found = Vec::new();
        for orphan in not_in(&self.own).into_iter().filter(|o| wanted(*o)) {
            found.push(orphan);
            found.extend(tree::descendants_of(orphan));
        }
        found
    }
}

async fn reap(own: Own, mut ended: Signal) {
    while ended.recv().await.is_some() {
        while let Ok(Some(_)) = waitid(WaitId::All, look()) {
            let dead = dead_orphans(&own);
            let pause = if dead.is_empty() { BEING_REAPED } else { UNCLAIMED };
            tokio::time::sleep(pause).await;
            for pid in dead_orphans(&own).intersection(&dead) {
                let _ = waitid(WaitId::Pid(*pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
        }
    }
}

/// Options to look at a dead child without reaping it.
fn look() -> WaitIdOptions {
    WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT
}

fn dead_orphans(own: &Own) -> HashSet<Pid> {
    let is_dead = |pid: &Pid| matches!(waitid(WaitId::Pid(*pid), look()), Ok(Some(_)));
    not_in(own).into_iter().filter(is_dead).collect()
}

fn not_in(own: &Own) -> Vec<Pid> {
    let own = own.borrow();
    let mut children = tree::children_of(getpid());
    children.retain(|c| !own.contains(c));
    children
}
