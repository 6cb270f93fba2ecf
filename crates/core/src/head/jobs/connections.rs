//! Connected jobs (`PMIx_Connect`, which MPI calls after a spawn, and when jobs meet at a port). Connected jobs share
//! failures: when one of them fails, the others end, unless they go on after failures anyway. Parents and children
//! play no part here: see `spawn.rs`.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{JobId, JobState};
use ferrite_wire::{CollectiveKey, CollectiveKind, Members};

use super::record::Job;
use super::registry::Jobs;
use crate::cx::Cx;
use crate::head::Head;

/// The sets of connected members, each with a count: jobs may meet at several ports.
#[derive(Debug, Default)]
pub(super) struct Connections(BTreeMap<Members, u32>);

impl Connections {
    fn on_collective(&mut self, key: &CollectiveKey) {
        if key.members.others.is_empty() {
            return;
        }
        match &key.kind {
            CollectiveKind::PmixConnect => *self.0.entry(key.members.clone()).or_default() += 1,
            // Open MPI disconnects by a fence of the same processes; it never calls PMIx_Disconnect.
            CollectiveKind::PmixDisconnect | CollectiveKind::PmixFence => self.part(&key.members),
            CollectiveKind::Pmi1Barrier | CollectiveKind::GroupConstruct(_) | CollectiveKind::GroupDestruct(_) => {}
        }
    }

    fn part(&mut self, members: &Members) {
        if let Some(times) = self.0.get_mut(members) {
            *times -= 1;
            if *times == 0 {
                self.0.remove(members);
            }
        }
    }

    /// Drops the connections of a job that is over.
    pub(super) fn forget(&mut self, job: JobId) {
        self.0.retain(|members, _| !members.include(job));
    }

    fn with(&self, job: JobId) -> BTreeSet<JobId> {
        let shared = self.0.keys().filter(|members| members.include(job));
        shared.flat_map(Members::jobs).map(|(other, _)| other).filter(|other| *other != job).collect()
    }
}

impl Job {
    /// True when the failure of a connected job ends this one.
    fn shares_failures(&self) -> bool {
        self.is_healthy() && !self.is_over() && !self.all_ended() && !self.spec.options.tolerates_failures()
    }
}

impl Jobs {
    /// Records a collective that has succeeded, which may connect jobs or part them.
    pub(in crate::head) fn connect(&mut self, key: &CollectiveKey) {
        self.connections.on_collective(key);
    }

    /// The jobs that are connected with this one.
    pub(in crate::head) fn connected_with(&self, id: JobId) -> BTreeSet<JobId> {
        self.connections.with(id)
    }

    /// Connects a job with one that it has spawned by PMI-1, for as long as both run: a program connects them by
    /// itself, and PMI-1 does not tell when it parts them (spec L41).
    pub(super) fn bind(&mut self, parent: JobId, child: JobId) {
        if let Some(members) = Members::of_jobs(vec![(parent, Vec::new()), (child, Vec::new())]) {
            self.connections.0.insert(members, 1);
        }
    }
}

impl Head {
    /// The jobs that end when this one fails.
    fn bound_to(&self, id: JobId) -> Vec<JobId> {
        let shares = |other: &JobId| self.jobs.get(*other).is_some_and(Job::shares_failures);
        self.jobs.connections.with(id).into_iter().filter(shares).collect()
    }

    /// A sentence for the submitter of a failed job, about its other jobs that end with it.
    pub(super) fn who_ends_too(&self, id: JobId) -> Option<String> {
        let request = self.jobs.get(id)?.request;
        let his = |other: &JobId| self.jobs.get(*other).is_some_and(|job| job.request == request);
        let others: Vec<String> =
            self.bound_to(id).iter().filter(|other| his(other)).map(ToString::to_string).collect();
        match &others[..] {
            [] => None,
            [one] => Some(format!("\nJob {one}, which is connected with it, ends as well.")),
            [..] => Some(format!("\nJobs {}, which are connected with it, end as well.", others.join(", "))),
        }
    }

    /// Ends the jobs that are connected with a failed one. A submitter that was told of the failure is not told
    /// again.
    pub(super) fn fail_connected(&mut self, id: JobId, code: u8, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let (request, cause) = (job.request, job.cause().to_owned());
        for other in self.bound_to(id) {
            let text = format!("Job {id}, which was connected with job {other}, failed.");
            if self.jobs.get(other).is_some_and(|other| other.request == request) {
                self.end_job(other, JobState::KilledByCmd, code, text, cx);
            } else {
                self.fail_job(
                    other,
                    JobState::KilledByCmd,
                    code,
                    format!("{text}\n{cause}\nJob {other} ends as well."),
                    cx,
                );
            }
        }
    }
}
