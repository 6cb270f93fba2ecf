//! The launch fence as jobs see it: where they wait while the DVM changes its size, and how that ends (seed 2, step 3; seed 3,
//! admission contract).

use std::collections::BTreeSet;

use ferrite_types::{CampaignId, CampaignKind, Duration, JobId, JobState};

use ferrite_wire::{GrowRequest, ResizeOutcome, ResizeRequest};

use super::campaigns::Requester;
use super::{Head, Job};
use crate::Timer;
use crate::cx::Cx;

/// Where a job is parked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Before it is mapped, while any campaign is open. It has asked for the size that these bring: it is not launched without.
    Map(BTreeSet<CampaignId>),
    /// Mapped and not launched, while a shrink is open.
    Launch,
}

impl Head {
    /// The nodes that a job brings along. Why not, in words, when they are refused.
    pub(super) fn grow_for_job(&mut self, request: GrowRequest, cx: &mut Cx) -> Result<Option<CampaignId>, String> {
        let (campaign, resize) = self.resize(&ResizeRequest::Grow(request), Requester::Nobody, cx);
        match resize.outcome {
            ResizeOutcome::Refused { cause, .. } => Err(cause),
            ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Done | ResizeOutcome::Failed { .. } => {
                Ok(campaign)
            }
        }
    }

    /// VM_READY: on to the map, unless the DVM is changing its size.
    pub(super) fn pass_map_hold(&mut self, id: JobId, cx: &mut Cx) {
        let open: BTreeSet<CampaignId> = match self.jobs.get(&id).and_then(|job| job.grows) {
            _ if self.is_elastic() => self.campaigns.open.keys().copied().collect(),
            // Whoever brings nodes along waits for them, whatever the rules are for others.
            Some(own) => self.campaigns.open.keys().copied().filter(|id| *id == own).collect(),
            None => BTreeSet::new(),
        };
        if open.is_empty() {
            return self.activate(id, JobState::Map, cx);
        }
        self.park(id, Hold::Map(open), cx);
    }

    /// SYSTEM_PREP is done: on to the launch.
    pub(super) fn prepare(&mut self, id: JobId, cx: &mut Cx) {
        match self.params.number("ferrite_debug_prep_ms").unwrap_or(0) {
            0 => self.activate(id, JobState::LaunchApps, cx),
            ms => cx.set_timer(Timer::Prep(id), cx.now + Duration::from_millis(u64::from(ms))),
        }
    }

    pub(super) fn on_prepared(&mut self, id: JobId, cx: &mut Cx) {
        if self.jobs.get(&id).is_some_and(|job| job.is_healthy() && job.state == JobState::SystemPrep) {
            self.activate(id, JobState::LaunchApps, cx);
        }
    }

    /// LAUNCH_APPS: on to the launch, unless nodes are leaving.
    pub(super) fn pass_launch_hold(&mut self, id: JobId, cx: &mut Cx) {
        if self.is_elastic() && self.campaigns.shrinking() {
            return self.park(id, Hold::Launch, cx);
        }
        self.launch_or_map_again(id, cx);
    }

    fn park(&mut self, id: JobId, hold: Hold, cx: &mut Cx) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.held = Some(hold);
            self.activate(id, JobState::WaitingForDaemons, cx);
        }
    }

    /// A map that still holds is launched; one that has lost a node is made again, and not before the fence lets it.
    fn launch_or_map_again(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let map = job.map.clone();
        let there = |node: &ferrite_types::JobNode| {
            self.nodes.iter().any(|record| record.id == node.id && record.daemon == Some(node.daemon))
        };
        if map.nodes.iter().all(there) {
            return self.activate(id, JobState::SendLaunchMsg, cx);
        }
        self.occupancy.release(&mut self.nodes, &map);
        job.clear_map();
        cx.cancel_timer(Timer::JobTimeout(id));
        cx.cancel_timer(Timer::SpawnTimeout(id));
        self.activate(id, JobState::VmReady, cx);
    }

    /// A grow has failed: whoever waited for what it was to bring was never launched. Others go on waiting for theirs.
    pub(super) fn abort_held(&mut self, campaign: CampaignId, cause: &str, cx: &mut Cx) {
        let waits = |job: &&Job| matches!(&job.held, Some(Hold::Map(campaigns)) if campaigns.contains(&campaign));
        let aborted: Vec<JobId> = self.jobs.values().filter(waits).map(|job| job.id).collect();
        for id in aborted {
            let text = format!(
                "Job {id} was not launched: it waited for the DVM to grow, and that failed.\n{cause}\n\
                 Run it again; the DVM has the nodes that it had before."
            );
            self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
        }
    }

    /// A campaign has ended: those go on whom no other one holds, in the order in which they came.
    pub(super) fn admit_held(&mut self, cx: &mut Cx) {
        if self.exit.begun() {
            return;
        }
        let may_map = |head: &Head, job: &Job| match job.grows {
            _ if head.is_elastic() => !head.campaigns.any(),
            Some(own) => !head.campaigns.open.contains_key(&own),
            None => true,
        };
        let held: Vec<JobId> = self.jobs.values().filter(|job| job.held.is_some()).map(|job| job.id).collect();
        for id in held {
            let Some(job) = self.jobs.get(&id).filter(|job| job.is_healthy()) else { continue };
            let next = match &job.held {
                Some(Hold::Map(_)) if may_map(self, job) => JobState::Map,
                Some(Hold::Launch) if !self.campaigns.shrinking() => JobState::LaunchApps,
                Some(Hold::Map(_) | Hold::Launch) | None => continue,
            };
            if let Some(job) = self.jobs.get_mut(&id) {
                job.held = None;
            }
            self.activate(id, next, cx);
        }
        self.serve_queue(cx);
    }

    /// What a parked job waits for, in words.
    pub(super) fn held_for(&self, hold: &Hold) -> String {
        let campaigns: Vec<String> = self
            .campaigns
            .open
            .iter()
            .filter(|(_, campaign)| *hold != Hold::Launch || campaign.kind == CampaignKind::Shrink)
            .map(|(id, campaign)| format!("{} {id}: {}", campaign.kind, self.campaign_waits_for(*id)))
            .collect();
        let what = if *hold == Hold::Launch { "nodes to leave" } else { "the DVM's new size" };
        format!("{what} ({})", campaigns.join("; "))
    }
}
