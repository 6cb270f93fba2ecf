//! Programs that share one amount of work among the processes of a spawn tree, as solvers that change their size do:
//! `work:N` in the first processes, `work:0` in those that come later. With more processes it is done sooner.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, JobId, ProcId};

use crate::event::Event;
use crate::process::Step;
use crate::queue::Time;
use crate::world::World;

/// The time in which nothing is done after processes have come or gone: Open MPI takes about as long to merge them and
/// to move the data.
const CHANGE: Time = 2_000_000;

/// A job that is twice as large as at first is faster by two to the power of this, as real programs are.
const SCALING: f64 = 0.9;

/// The work of a tree.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Process-microseconds that are left.
    left: u64,
    /// The time up to which the done part is taken off.
    since: Time,
    /// The processes of the first world.
    first: u32,
    /// The workers, each with its daemon and the time of its beginning.
    workers: BTreeMap<ProcId, (DaemonRank, Time)>,
    /// The number of changes; it tells which end is the true one.
    changes: u64,
}

impl Work {
    /// Takes off what was done until now, and pauses.
    fn change(&mut self, now: Time, pause: Time) {
        let done = now.saturating_sub(self.since) as f64 * self.rate();
        self.left = self.left.saturating_sub(done as u64);
        self.since = self.since.max(now + pause);
    }

    /// The work that is done in a microsecond.
    fn rate(&self) -> f64 {
        let first = f64::from(self.first.max(1));
        first * (self.workers.len() as f64 / first).powf(SCALING)
    }

    fn end(&self) -> Option<Time> {
        (!self.workers.is_empty()).then(|| self.since + (self.left as f64 / self.rate()).ceil() as Time)
    }
}

impl World {
    /// Notes the parents of a job that is registered.
    pub(crate) fn note_root(&mut self, job: JobId, parent: Option<JobId>) {
        let root = parent.map_or(job, |parent| self.root_of(parent));
        self.roots.insert(job, root);
    }

    fn root_of(&self, job: JobId) -> JobId {
        self.roots.get(&job).copied().unwrap_or(job)
    }

    /// A process begins to work. The first one of a tree brings all of the work.
    pub(crate) fn begin_work(&mut self, rank: DaemonRank, proc: ProcId, all: u64) {
        let (root, now) = (self.root_of(proc.job), self.queue.now());
        let work = self.works.entry(root).or_insert_with(|| Work { left: all, since: now, ..Work::default() });
        // The first world begins together.
        work.change(now, if proc.job == root { 0 } else { CHANGE });
        work.first += u32::from(proc.job == root);
        work.workers.insert(proc, (rank, now));
        self.plan_end(root);
    }

    /// The first process that works for a tree.
    pub(crate) fn first_worker(&self, root: JobId) -> Option<ProcId> {
        self.works.get(&root)?.workers.keys().next().copied()
    }

    /// A process has ended.
    pub(crate) fn leave_work(&mut self, proc: ProcId) {
        let (root, now) = (self.root_of(proc.job), self.queue.now());
        let Some(work) = self.works.get_mut(&root) else { return };
        if let Some((_, begun)) = work.workers.get(&proc).copied() {
            work.change(now, CHANGE);
            work.workers.remove(&proc);
            self.held += now - begun;
            self.plan_end(root);
        }
    }

    fn plan_end(&mut self, root: JobId) {
        let now = self.queue.now();
        let Some(work) = self.works.get_mut(&root) else { return };
        work.changes += 1;
        if let Some(end) = work.end() {
            self.queue.at(end.max(now), Event::WorkDone(root, work.changes));
        }
    }

    /// The work is done, unless something has changed meanwhile: all workers go on.
    pub(crate) fn work_done(&mut self, root: JobId, changes: u64) {
        if self.works.get(&root).is_none_or(|work| work.changes != changes) {
            return;
        }
        let Some(work) = self.works.remove(&root) else { return };
        let now = self.queue.now();
        for (proc, (rank, begun)) in work.workers {
            self.held += now - begun;
            if let Some(process) = self.process(rank, proc)
                && matches!(process.steps.front(), Some(Step::Work(_)))
            {
                process.steps.pop_front();
            }
            self.wake(rank, proc);
        }
    }
}
