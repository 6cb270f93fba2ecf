//! The launch fence for jobs: where jobs wait while the DVM changes its size, and how the wait ends
//! (docs/spec/elastic.md).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ferrite_types::{CampaignId, CampaignKind, JobId, JobNode, JobState, NodeId, PmixStatus, SessionId};

use ferrite_wire::control::Submission;
use ferrite_wire::{GrowRequest, ResizeOutcome, ResizeRequest};

use super::plan::Reason;
use super::requester::Requester;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::jobs::Job;
use crate::pmix_status::PMIX_ERR_JOB_CANCELED;

/// The place where a job is parked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::head) enum Hold {
    /// Before the map, while any campaign is open. The job has asked for the size that these campaigns bring, and is
    /// not launched without it.
    Map(BTreeSet<CampaignId>),
    /// After the map and before the launch, while a shrink is open.
    Launch,
    /// In a session that is paused.
    Paused,
}

/// The session and the grow that a job depends on before it has begun.
#[derive(Clone, Copy, Debug)]
pub(in crate::head) struct JobAllocation {
    pub(in crate::head) session: SessionId,
    /// The campaign that brings the nodes of the job's own request.
    pub(in crate::head) grows: Option<CampaignId>,
}

impl Head {
    /// Finds the session of a submission, and requests the nodes that the submission brings along. The caller lets
    /// the campaign proceed after it has created the job, because the campaign may end at once (spec E14, S6).
    pub(in crate::head) fn allocate_job(
        &mut self,
        submission: &Submission,
        parent: Option<JobId>,
        cx: &mut Cx,
    ) -> Result<JobAllocation, Reason> {
        let session = self.session_for(submission, parent)?;
        let Some(request) = &submission.grow else {
            return Ok(JobAllocation { session, grows: None });
        };
        // Nodes that a session's job brings along are for that session, unless the job names another allocation. A
        // session that shares an allocation adds them to that; beside the nodes with which the DVM began, a new
        // allocation starts.
        let shares = request.alloc_id.is_none() && self.sessions.is_shared(session);
        let own = self.sessions.alloc_id(session).filter(|alloc_id| **alloc_id != *self.config.dvm);
        let alloc_id = request.alloc_id.clone().or(own.cloned());
        let request = ResizeRequest::Grow(GrowRequest { alloc_id, ..(**request).clone() });
        let (grows, resize) = self.resize(&request, Requester::Nobody, cx);
        if let Some(campaign) = grows.and_then(|id| self.elastic.campaigns.open.get_mut(&id))
            && let Some(joins) = campaign.joins_mut()
        {
            joins.shared_by = shares.then_some(session);
        }
        match resize.outcome {
            ResizeOutcome::Refused { status, cause } => Err(Reason { status, cause }),
            ResizeOutcome::Unchanged
            | ResizeOutcome::Begun
            | ResizeOutcome::Requested { .. }
            | ResizeOutcome::Done
            | ResizeOutcome::Failed { .. } => Ok(JobAllocation { session, grows }),
        }
    }

    /// VM_READY: sends the job on to the map, unless the DVM is changing its size (spec G1, E7).
    pub(in crate::head) fn pass_map_hold(&mut self, id: JobId, cx: &mut Cx) {
        let open: BTreeSet<CampaignId> = match self.jobs.get(id).and_then(Job::grows) {
            own if self.is_elastic() => self.elastic.campaigns.that_hold(own).collect(),
            // A job that brings nodes along waits for them in any DVM, elastic or not.
            Some(own) => self.elastic.campaigns.open.keys().copied().filter(|id| *id == own).collect(),
            None => BTreeSet::new(),
        };
        if !open.is_empty() {
            self.jobs.on_parked_again(id, |own| self.elastic.campaigns.open.contains_key(&own));
            self.park(id, Hold::Map(open), cx);
        } else if self.jobs.get(id).is_some_and(|job| self.sessions.is_paused(job.session())) {
            self.park(id, Hold::Paused, cx);
        } else {
            self.activate(id, JobState::Map, cx);
        }
    }

    /// LAUNCH_APPS: sends the job on to the launch, unless nodes are leaving (spec E8).
    pub(in crate::head) fn pass_launch_hold(&mut self, id: JobId, cx: &mut Cx) {
        if self.is_elastic() && self.elastic.campaigns.shrinking() {
            return self.park(id, Hold::Launch, cx);
        }
        if self.jobs.get(id).is_some_and(|job| self.sessions.is_paused(job.session())) {
            return self.park(id, Hold::Paused, cx);
        }
        self.launch_or_map_again(id, cx);
    }

    /// Parks a job; its state is then WAITING_FOR_DAEMONS (spec E9).
    fn park(&mut self, id: JobId, hold: Hold, cx: &mut Cx) {
        self.jobs.hold(id, hold);
        self.activate(id, JobState::WaitingForDaemons, cx);
    }

    /// Launches a job whose map still holds. A job that has lost a node is mapped again, as soon as the fence permits
    /// (spec G3, E10).
    fn launch_or_map_again(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get(id) else { return };
        let is_gone = |node: &&JobNode| {
            self.pool.record(node.id).daemon != Some(node.daemon) || self.elastic.is_draining(node.id)
        };
        let gone: Vec<NodeId> = job.map().nodes.iter().filter(is_gone).map(|node| node.id).collect();
        if gone.is_empty() {
            self.activate(id, JobState::SendLaunchMsg, cx);
        } else {
            self.map_again(id, gone, cx);
        }
    }

    /// Ends the jobs that waited for the nodes of a failed grow; they were never launched. Other jobs go on waiting
    /// for their own campaigns. A cancelled grow is no failure: it ends only the job that it was for (spec G4, E13).
    pub(super) fn abort_held(&mut self, campaign: CampaignId, status: PmixStatus, cause: &str, cx: &mut Cx) {
        let failed = status != PMIX_ERR_JOB_CANCELED;
        let waits = |job: &&Job| {
            let held = matches!(job.hold(), Some(Hold::Map(campaigns)) if campaigns.contains(&campaign));
            // A job that was mapped before needs nothing of later campaigns: it only had to wait until they are over.
            (failed && held && !job.was_mapped()) || (job.grows() == Some(campaign) && !job.is_launched())
        };
        let aborted: Vec<JobId> = self.jobs.iter().filter(waits).map(Job::id).collect();
        for id in aborted {
            // The parent of a spawned job gets the reason as a status.
            self.answer_spawn(id, Err(status), cx);
            let text = format!(
                "Job {id} was not launched: it waited for the DVM to grow, and that failed.\n{cause}\n\
                 Run it again; the DVM has the nodes that it had before."
            );
            self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
        }
    }

    /// Releases the jobs that no open campaign holds, by priority and in the order in which they came (spec G7, L122).
    pub(in crate::head) fn admit_held(&mut self, cx: &mut Cx) {
        if self.dvm.is_ending() {
            return;
        }
        let may_map = |head: &Head, job: &Job| match job.grows() {
            own if head.is_elastic() => head.elastic.campaigns.that_hold(own).next().is_none(),
            Some(own) => !head.elastic.campaigns.open.contains_key(&own),
            None => true,
        };
        let held = self.jobs.iter().filter(|job| job.hold().is_some());
        let mut held: Vec<(Reverse<i16>, JobId)> = held.map(|job| (Reverse(job.priority()), job.id())).collect();
        held.sort_unstable();
        for (_, id) in held {
            let Some(job) = self.jobs.get(id).filter(|job| job.is_healthy()) else { continue };
            let is_mapped = job.is_mapped();
            let is_free = if is_mapped { !self.elastic.campaigns.shrinking() } else { may_map(self, job) };
            if !is_free {
                // A job of a resumed session now waits for the open campaigns.
                if job.hold() == Some(&Hold::Paused) && !self.sessions.is_paused(job.session()) {
                    let open = Hold::Map(self.elastic.campaigns.that_hold(job.grows()).collect());
                    self.jobs.hold(id, if is_mapped { Hold::Launch } else { open });
                }
                continue;
            }
            if self.sessions.is_paused(job.session()) {
                self.jobs.hold(id, Hold::Paused);
                continue;
            }
            let next = if is_mapped { JobState::LaunchApps } else { JobState::Map };
            self.jobs.admit(id);
            self.activate(id, next, cx);
        }
        self.serve_queue(cx);
    }

    /// The reason why a parked job waits, in words (spec E9).
    pub(in crate::head) fn held_for(&self, hold: &Hold) -> String {
        if *hold == Hold::Paused {
            return "its session to be resumed".to_owned();
        }
        let campaigns: Vec<String> = self
            .elastic
            .campaigns
            .open
            .iter()
            .filter(|(_, campaign)| *hold != Hold::Launch || campaign.kind() == CampaignKind::Shrink)
            .filter(|(id, campaign)| campaign.holds() || matches!(hold, Hold::Map(all) if all.contains(id)))
            .map(|(id, campaign)| format!("{} {id}: {}", campaign.kind(), self.campaign_waits_for(*id)))
            .collect();
        let what = if *hold == Hold::Launch { "nodes to leave" } else { "the DVM's new size" };
        format!("{what} ({})", campaigns.join("; "))
    }
}
