//! Policies of a job about failures: whether it goes on without the failed process, which survivors are told, and
//! what its result is. `failures.rs` calls these methods and says what has failed. `restarts.rs`
//! starts processes again before any of this counts.

use std::collections::BTreeSet;

use ferrite_types::{JobId, JobState, ProcId, Rank};
use ferrite_wire::{DaemonMessage, Dest, ProcFailure};

use super::notices;
use super::record::Job;
use super::record::Outcome;
use crate::cx::Cx;
use crate::head::Head;

/// The result that a failure gives its job: at once, or at the job's end when it survives.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) state: JobState,
    pub(super) code: u8,
    /// The message for the submitter.
    pub(super) text: String,
}

/// Exit code of a job whose nodes have left the DVM with its processes: EX_TEMPFAIL ("try again") of sysexits.h.
pub(super) const NODES_LEFT: u8 = 75;

/// Exit code of a job that lacks nothing but some output, which no file could take: EX_IOERR of sysexits.h.
const OUTPUT_LOST: u8 = 74;

impl Job {
    /// True when the abnormal end of a process does not end the others.
    pub(super) fn survives_ends(&self) -> bool {
        self.is_healthy() && self.spec.options.tolerates_failures()
    }

    /// True when the loss of a daemon does not end processes elsewhere. A job that is being launched begins whole or
    /// not at all, as after a start failure.
    pub(super) fn survives_losses(&self) -> bool {
        self.survives_ends() && self.launch().is_some_and(|launch| launch.launching.is_empty())
    }
}

impl Head {
    /// Handles a failure. The submitter hears of the job's first failure, whether the job survives it or not (spec
    /// L33).
    pub(super) fn on_failure(&mut self, id: JobId, mut failure: Failure, survived: bool, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        if !survived {
            failure.text.push_str(notices::ended());
            return self.fail_job(id, failure.state, failure.code, failure.text, cx);
        }
        if let Outcome::Open { survived: first @ None } = &mut job.outcome {
            failure.text.push_str(&notices::survived(&job.spec.options));
            if let Some(request) = job.request {
                cx.notice_to(request, failure.text.clone());
            }
            *first = Some(failure);
        }
    }

    /// Handles processes that end because their nodes leave. This is no failure; but a job without a policy to go on
    /// would wait for them, or end like a success. It ends like a job that has lost a node (spec E34).
    pub(super) fn take_procs(&mut self, id: JobId, taken: &[Rank], survives: bool, cx: &mut Cx) {
        for rank in taken {
            let proc = ProcId { job: id, rank: *rank };
            self.close_lines(proc, cx);
            self.pmix.purge_failed(proc, cx);
        }
        if taken.is_empty() {
            return;
        }
        let job = self.jobs.at_mut(id);
        let is_known = |rank: &Rank| job.lost.iter().any(|lost| job.map().node_of(*lost) == job.map().node_of(*rank));
        let is_news = !taken.iter().all(is_known);
        job.lost.extend(taken);
        let job = self.jobs.at(id);
        if !job.is_healthy() || !is_news {
            return;
        }
        // The other processes on leaving nodes are being ended as well.
        let goes = |rank: &Rank| job.map().daemon_of(*rank).is_some_and(|daemon| self.is_doomed(id, daemon));
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

    /// Tells the daemons of a surviving job which processes have failed: collectives must not wait for these, and
    /// survivors are told if the policy says so.
    pub(super) fn tell_survivors(&mut self, id: JobId, failed: Vec<ProcFailure>, cx: &mut Cx) {
        let job = self.jobs.at(id);
        if failed.is_empty() || !job.is_healthy() || job.all_ended() {
            return;
        }
        let hosts = self.pool.reachable(&job.known_at());
        cx.multicast(Dest::Many(hosts), DaemonMessage::ProcsFailed { job: id, failed });
    }

    /// Gives a job without processes the first failure that it survived as its result (spec L33), or the loss of its
    /// output (spec L51).
    pub(super) fn settle(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let is_empty = !job.lost.is_empty() && job.lost.len() == job.size();
        let Outcome::Open { survived } = &mut job.outcome else { return };
        if is_empty {
            // Without any surviving process the job is no success.
            let text = notices::nothing_is_left(id);
            survived.get_or_insert(Failure { state: JobState::KilledByCmd, code: NODES_LEFT, text });
        }
        if let Some(failure) = survived.take() {
            job.set_outcome(failure.code, failure.text);
            self.activate(id, failure.state, cx);
        } else if let Some(text) = job.lost_output.take() {
            job.set_outcome(OUTPUT_LOST, text);
        }
    }
}
