//! The policies of a job about failures: whether it goes on without the process that failed, who is told, and what that
//! makes of its result. Called by the reactions of `failures.rs`, which say what failed. It never restarts a process.

use std::collections::BTreeSet;

use ferrite_types::{JobId, JobState, ProcId, Rank};
use ferrite_wire::{DaemonMessage, Dest, ProcFailure};

use crate::cx::Cx;
use crate::head::clients::notices;
use crate::head::{Head, Job};

/// What a failure makes of its job: now, or at its end when the job survives it.
#[derive(Debug)]
pub(in crate::head) struct Failure {
    pub(in crate::head) state: JobState,
    pub(in crate::head) code: u8,
    /// What failed, in words.
    pub(in crate::head) text: String,
}

/// Exit code of a job whose nodes have left the DVM with its processes: that of sysexits.h for "try again".
pub(in crate::head) const NODES_LEFT: u8 = 75;

impl Job {
    /// True when the abnormal end of a process leaves the others alone.
    pub(super) fn survives_ends(&self) -> bool {
        self.is_healthy() && self.spec.options.tolerates_failures()
    }

    /// True when the loss of a daemon leaves the processes of others alone. A job that is still being launched is to
    /// begin whole or not at all, as with a process that cannot be started.
    pub(in crate::head) fn survives_losses(&self) -> bool {
        self.survives_ends() && self.launching.is_empty()
    }
}

impl Head {
    /// The first failure of a job is what its submitter hears of, whether the job survives it or not (spec L33).
    pub(in crate::head) fn on_failure(&mut self, id: JobId, mut failure: Failure, survived: bool, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if !survived {
            failure.text.push_str(notices::ended());
            return self.fail_job(id, failure.state, failure.code, failure.text, cx);
        }
        if job.survived.is_none() {
            failure.text.push_str(&notices::survived(&job.spec.options));
            if let Some(request) = job.request {
                cx.notice_to(request, failure.text.clone());
            }
            job.survived = Some(failure);
        }
    }

    /// Processes were ended because their nodes leave. Nobody has failed, but a job that has not asked to go on with a
    /// part of its processes would wait for them, or end as if all were well: it ends like one that has lost a node
    /// (spec E34).
    pub(in crate::head) fn take_procs(&mut self, id: JobId, taken: &[Rank], survives: bool, cx: &mut Cx) {
        for rank in taken {
            let proc = ProcId { job: id, rank: *rank };
            self.close_lines(proc, cx);
            self.purge_failed(proc, cx);
        }
        let Some(job) = self.jobs.get_mut(&id).filter(|_| !taken.is_empty()) else {
            return;
        };
        let is_known = |rank: &Rank| job.lost.iter().any(|lost| job.map.node_of(*lost) == job.map.node_of(*rank));
        let is_news = !taken.iter().all(is_known);
        job.lost.extend(taken);
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_healthy() && is_news) else {
            return;
        };
        // The others there are being ended as well.
        let goes = |rank: &Rank| job.map.daemon_of(*rank).is_some_and(|daemon| self.is_doomed(id, daemon));
        let going: BTreeSet<Rank> = taken.iter().copied().chain(job.living().filter(goes)).collect();
        let goes_on = survives && job.living().any(|rank| !going.contains(&rank));
        let text = notices::nodes_left(job, &going, goes_on);
        if !survives {
            let failure = Failure { state: JobState::KilledByCmd, code: NODES_LEFT, text };
            self.on_failure(id, failure, false, cx);
        } else if let Some(request) = job.request {
            cx.notice_to(request, text);
        }
    }

    /// The daemons of a job that goes on hear who failed: their processes must not wait for those in a collective, and
    /// are told if they are to be.
    pub(in crate::head) fn tell_survivors(&mut self, id: JobId, failed: Vec<ProcFailure>, cx: &mut Cx) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if failed.is_empty() || !job.is_healthy() || job.all_ended() {
            return;
        }
        let hosts = self.reachable(&job.known_at);
        cx.multicast(Dest::Many(hosts), DaemonMessage::ProcsFailed { job: id, failed });
    }

    /// Nothing is left of a job: the first failure that it survived is its result (spec L33).
    pub(super) fn settle(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.is_healthy()) else {
            return;
        };
        if !job.lost.is_empty() && job.lost.len() == job.procs.len() {
            // A result that nobody was left to bring about is no good one.
            let text = notices::nothing_is_left(id);
            job.survived.get_or_insert(Failure { state: JobState::KilledByCmd, code: NODES_LEFT, text });
        }
        if let Some(failure) = job.survived.take() {
            job.exit_code = Some(failure.code);
            job.cause = failure.text;
            self.activate(id, failure.state, cx);
        }
    }
}
