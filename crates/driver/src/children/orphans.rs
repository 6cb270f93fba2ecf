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

use super::starts::Starts;
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
    pub(super) fn adopt(starts: Rc<Starts>) -> io::Result<Orphans> {
        set_child_subreaper(Some(getpid()))?;
        let own = Own::default();
        spawn_local(reap(own.clone(), starts, signal(SignalKind::child())?));
        Ok(Orphans { own })
    }

    /// For a process that starts no processes of jobs.
    pub(super) fn none() -> Orphans {
        Orphans { own: Own::default() }
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

async fn reap(own: Own, starts: Rc<Starts>, mut ended: Signal) {
    while ended.recv().await.is_some() {
        while let Ok(Some(_)) = waitid(WaitId::All, look()) {
            reap_orphans(&own, &starts).await;
        }
    }
}

/// Reaps the dead children that have no other owner (spec L110).
async fn reap_orphans(own: &Own, starts: &Starts) {
    let dead = dead_orphans(own);
    // A process whose start is under way is not in the list yet: once it is, it is no orphan.
    let heard = starts.settled(|_| true);
    let pause = if dead.is_empty() { BEING_REAPED } else { UNCLAIMED };
    tokio::time::sleep(pause).await;
    heard.await;
    for (pid, _) in dead_orphans(own).intersection(&dead) {
        let _ = waitid(WaitId::Pid(*pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Options to look at a dead child without reaping it.
fn look() -> WaitIdOptions {
    WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT
}

/// Returns the dead children that nobody has reaped, with their start times: a number may be reused.
fn dead_orphans(own: &Own) -> HashSet<(Pid, u64)> {
    let is_dead = |pid: &Pid| matches!(waitid(WaitId::Pid(*pid), look()), Ok(Some(_)));
    not_in(own).into_iter().filter(is_dead).filter_map(|pid| Some((pid, tree::began(pid)?))).collect()
}

fn not_in(own: &Own) -> Vec<Pid> {
    let own = own.borrow();
    let mut children = tree::children_of(getpid());
    children.retain(|c| !own.contains(c));
    children
}

#[cfg(test)]
mod tests {
    use ferrite_types::{JobId, ProcId, Rank};

    use super::*;

    // spec L110
    #[tokio::test(flavor = "current_thread")]
    async fn a_dead_child_is_no_orphan_while_its_start_is_under_way() {
        let (own, starts) = (Own::default(), Starts::default());
        let proc = ProcId { job: JobId(1), rank: Rank(0) };
        let is_there = |child: &std::process::Child| waitid(WaitId::Pid(Pid::from_child(child)), look()).is_ok();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        starts.begin(proc);
        {
            let reaping = reap_orphans(&own, &starts);
            tokio::pin!(reaping);
            tokio::select! {
                biased;
                () = &mut reaping => panic!("it does not wait for the start"),
                () = tokio::time::sleep(UNCLAIMED + BEING_REAPED) => assert!(is_there(&child)),
            }
            own.borrow_mut().insert(Pid::from_child(&child));
            starts.settle(proc);
            reaping.await;
        }
        assert!(is_there(&child));
        // Nobody has started it: it is reaped.
        own.borrow_mut().clear();
        reap_orphans(&own, &starts).await;
        assert!(!is_there(&child) && child.wait().is_err());
    }
}
