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
use super::tree::{self, FirstThread};

/// After this time an unreaped dead child has no other owner and is reaped here. The other owners of children in this
/// process reap theirs at once, so this module need not know them.
const UNCLAIMED: Duration = Duration::from_secs(1);

/// Time for a process's own watcher to reap it; an unreaped process may hide others from the quick check.
const BEING_REAPED: Duration = Duration::from_millis(20);

/// The children of this process that it has not started for a job.
#[derive(Clone)]
pub(super) struct Orphans {
    own: Own,
    children: Rc<FirstThread>,
}

/// Pids of processes that were started for a job and are not reaped yet.
pub(super) type Own = Rc<RefCell<HashSet<Pid>>>;

impl Orphans {
    /// Makes this process the parent of all orphans below it, and reaps them from now on.
    pub(super) fn adopt(starts: Rc<Starts>) -> io::Result<Orphans> {
        set_child_subreaper(Some(getpid()))?;
        let orphans = Orphans { own: Own::default(), children: Rc::new(FirstThread::of_this_process()) };
        spawn_local(reap(orphans.clone(), starts, signal(SignalKind::child())?));
        Ok(orphans)
    }

    /// For a process that starts no processes of jobs.
    pub(super) fn none() -> Orphans {
        Orphans { own: Own::default(), children: Rc::default() }
    }

    /// Returns the pids that are not orphans.
    pub(super) fn own(&self) -> &Own {
        &self.own
    }

    /// Returns the orphans that match, with all of their descendants.
    pub(super) fn matching(&self, wanted: impl Fn(Pid) -> bool) -> Vec<Pid> {
        let mut found = Vec::new();
        for orphan in self.all().into_iter().filter(|o| wanted(*o)) {
            found.push(orphan);
            found.extend(tree::descendants_of(orphan));
        }
        found
    }

    fn all(&self) -> Vec<Pid> {
        let own = self.own.borrow();
        let mut children = self.children.children();
        children.retain(|c| !own.contains(c));
        children
    }

    /// Returns the dead children that nobody has reaped, with their start times: a number may be reused.
    fn dead(&self) -> HashSet<(Pid, u64)> {
        let is_dead = |pid: &Pid| matches!(waitid(WaitId::Pid(*pid), look()), Ok(Some(_)));
        self.all().into_iter().filter(is_dead).filter_map(|pid| Some((pid, tree::began(pid)?))).collect()
    }
}

async fn reap(orphans: Orphans, starts: Rc<Starts>, mut ended: Signal) {
    while ended.recv().await.is_some() {
        while let Ok(Some(_)) = waitid(WaitId::All, look()) {
            reap_orphans(&orphans, &starts).await;
        }
    }
}

/// Reaps the dead children that have no other owner (spec L110).
async fn reap_orphans(orphans: &Orphans, starts: &Starts) {
    let dead = orphans.dead();
    // A process whose start is under way is not in the list yet: once it is, it is no orphan.
    let heard = starts.settled(|_| true);
    let pause = if dead.is_empty() { BEING_REAPED } else { UNCLAIMED };
    tokio::time::sleep(pause).await;
    heard.await;
    for (pid, _) in orphans.dead().intersection(&dead) {
        let _ = waitid(WaitId::Pid(*pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Options to look at a dead child without reaping it.
fn look() -> WaitIdOptions {
    WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use ferrite_types::{JobId, ProcId, Rank};

    use super::*;

    // spec L110
    #[tokio::test(flavor = "current_thread")]
    async fn a_dead_child_is_not_reaped_while_its_start_is_under_way() {
        let starts = Starts::default();
        // This thread is not the first one of the process.
        let children = Rc::new(FirstThread::of_this_process());
        set_child_subreaper(Some(getpid())).unwrap();
        let orphans = Orphans { own: Own::default(), children };
        let proc = ProcId { job: JobId(1), rank: Rank(0) };
        let is_there = |orphan: Pid| waitid(WaitId::Pid(orphan), look()).is_ok();
        let script = "exec 3<&0; cat <&3 >/dev/null 2>&1 & echo $!";
        let mut shell = std::process::Command::new("sh");
        let mut shell = shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = shell.stdin.take();
        let told = String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap();
        let orphan = told.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        // It lives as long as its shell, and until its input ends.
        drop(input);
        waitid(WaitId::Pid(orphan), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        starts.begin(proc);
        {
            let reaping = reap_orphans(&orphans, &starts);
            tokio::pin!(reaping);
            tokio::select! {
                biased;
                () = &mut reaping => panic!("it does not wait for the start"),
                () = tokio::time::sleep(UNCLAIMED + BEING_REAPED) => assert!(is_there(orphan)),
            }
            orphans.own().borrow_mut().insert(orphan);
            starts.settle(proc);
            reaping.await;
        }
        assert!(is_there(orphan));
        // Nobody has started it: it is reaped.
        orphans.own().borrow_mut().clear();
        reap_orphans(&orphans, &starts).await;
        assert!(!is_there(orphan));
    }
}
