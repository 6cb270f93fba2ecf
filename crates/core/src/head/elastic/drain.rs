//! Drains: a shrink first tells the jobs that have asked for time (`--grace`), and their processes end by themselves.
//! The daemons are ordered to leave when the last of these processes is gone, or its time is over
//! (docs/spec/elastic.md).

use std::collections::BTreeMap;

use ferrite_types::{CampaignId, CampaignKind, DaemonRank, Duration, JobId, NodeId, RankSet, Timestamp};
use ferrite_wire::{DaemonMessage, Dest, Withdrawal};

use super::deadlines::seconds_until;
use super::phase::{Change, Phase};
use super::plan::Reason;
use super::turns::behind_others;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::lists::listed;

/// The time for a daemon to pass the notice on (milliseconds). After that it counts as told: a daemon that hangs for
/// longer is lost, or its processes have had their time.
pub(super) const TELL_MS: u64 = 20_000;

/// The wait of a shrink for processes.
#[derive(Debug)]
pub(in crate::head) struct Drain {
    /// The time of each job that was told.
    graces: BTreeMap<JobId, Duration>,
    /// Daemons that have not passed the notice on.
    untold: RankSet,
    /// The time at which the last of them had; the graces run from here (spec E44).
    told: Option<Timestamp>,
    /// The reason for which an elastic job keeps its nodes (spec E53).
    refused: Option<Reason>,
}

impl Drain {
    /// The jobs that were told.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> {
        self.graces.keys().copied()
    }

    /// Notes that a job refuses; the first one counts.
    pub(super) fn refuse(&mut self, why: Reason) {
        self.refused.get_or_insert(why);
    }

    /// The end of a job's time; `None` = it has not begun.
    fn until(&self, job: JobId) -> Option<Timestamp> {
        Some(self.told? + self.graces[&job])
    }
}

impl Head {
    /// Begins a shrink: tells the jobs that have asked for time; without one it orders the departure (spec E43, E68).
    pub(super) fn begin_departure(&mut self, id: CampaignId, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        let Change::Shrink { longest, until, .. } = &campaign.change else { panic!("campaign {id} is no shrink") };
        let shortened = |time: Duration| longest.map_or(time, |longest| longest.min(time));
        let daemons = self.daemons_of(&campaign.nodes);
        let until = *until;
        let times: Vec<(JobId, Duration)> = match until {
            None => {
                let asked = self.jobs.with_grace_on(&daemons).into_iter().map(|(job, time)| (job, shortened(time)));
                asked.filter(|(_, time)| time.0 > 0).collect()
            }
            // Jobs without a grace run on until then as well (spec E68).
            Some(until) => {
                let left = Duration(until.0.saturating_sub(cx.now.0));
                self.jobs.with_procs_on(&daemons).into_iter().map(|job| (job, left)).collect()
            }
        };
        let graces: BTreeMap<JobId, Duration> = times.into_iter().collect();
        if graces.is_empty() || self.dvm.is_ending() {
            return self.order_departure(id, cx);
        }
        let (nodes, alloc_id, req_id) =
            (self.pool.names(&campaign.nodes), campaign.alloc_id.clone(), campaign.req_id.clone());
        let mut untold = RankSet::new();
        for (job, time) in &graces {
            if !self.jobs.has_grace(*job) {
                continue;
            }
            let seconds = match until {
                None => u32::try_from(time.as_micros().div_ceil(1_000_000)).unwrap_or(u32::MAX),
                Some(until) => seconds_until(until, cx.now),
            };
            let (alloc_id, req_id, nodes) = (alloc_id.clone(), req_id.clone(), nodes.clone());
            let notice = Withdrawal { job: *job, ranks: Vec::new(), nodes, of_procs: false, seconds, alloc_id, req_id };
            untold.insert_all(&self.announce_withdrawal(notice, &daemons, cx));
        }
        let drain = match until {
            None => {
                cx.multicast(Dest::Many(untold.clone()), DaemonMessage::Withdrawal(id));
                cx.set_timer(HeadTimer::Campaign(id), cx.now + Duration::from_millis(TELL_MS));
                Drain { graces, untold, told: None, refused: None }
            }
            // The manager does not wait until everybody has heard of it.
            Some(_) => Drain { graces, untold: RankSet::new(), told: Some(cx.now), refused: None },
        };
        self.elastic.campaigns.enter(id, Phase::Draining(drain), cx);
        self.begin_graces(id, cx);
        self.queue_behind_drains(cx);
    }

    /// The daemons of nodes that have one.
    pub(super) fn daemons_of(&self, nodes: &[NodeId]) -> RankSet {
        nodes.iter().filter_map(|node| self.pool.record(*node).daemon).collect()
    }

    /// Handles the word of a daemon that its processes have been told (spec E44).
    pub(in crate::head) fn on_withdrawal_told(&mut self, daemon: DaemonRank, id: CampaignId, cx: &mut Cx) {
        // The shrink may have begun meanwhile, because the processes have ended.
        if let Some(drain) = self.elastic.campaigns.drain_mut(id) {
            drain.untold.remove(daemon);
            self.begin_graces(id, cx);
        } else {
            self.on_retiring_told(daemon, id);
        }
    }

    /// Lets the graces run once every daemon has told its processes, and sets the timer to the end of the next one
    /// (spec E44).
    fn begin_graces(&mut self, id: CampaignId, cx: &mut Cx) {
        let Some(drain) = self.elastic.campaigns.drain_mut(id) else { return };
        if drain.untold.is_empty() && drain.told.is_none() {
            drain.told = Some(cx.now);
        }
        let ends = drain.graces.keys().filter_map(|job| drain.until(*job));
        if let Some(next) = ends.filter(|end| *end > cx.now).min() {
            cx.set_timer(HeadTimer::Campaign(id), next);
        }
    }

    /// Handles the timer of a drain: a grace is over, or a daemon has not passed the notice on.
    pub(super) fn on_drain_timer(&mut self, id: CampaignId, cx: &mut Cx) {
        if let Some(drain) = self.elastic.campaigns.drain_mut(id) {
            drain.untold = RankSet::new();
        }
        self.begin_graces(id, cx);
    }

    /// Orders the departure for shrinks whose processes have ended, or have had their time (spec E45). Of the others
    /// the nodes without a process leave, and the last nodes after them (spec E48, E49).
    pub(in crate::head) fn end_drains(&mut self, cx: &mut Cx) {
        if !self.elastic.is_any_draining() {
            return;
        }
        let draining: Vec<CampaignId> = self.elastic.campaigns.draining().map(|(id, _)| id).collect();
        for id in draining {
            self.part_with_the_lost(id, cx);
            if self.elastic.campaigns.part_of(id).is_some() {
                continue;
            }
            if let Some(why) = self.elastic.campaigns.drain_mut(id).and_then(|drain| drain.refused.clone()) {
                self.stay(id, why, cx);
                continue;
            }
            if !self.drained_jobs(id, cx.now).is_empty() {
                self.let_the_idle_leave(id, cx);
                continue;
            }
            match self.daemons_of(&self.elastic.campaigns.expect(id).nodes).is_empty() {
                // All were lost meanwhile, and nobody is left to be told.
                true => self.offer_release(id, cx),
                false => self.order_departure(id, cx),
            }
        }
        self.run_activated(cx);
    }

    /// Waits no longer for the word of daemons that are lost.
    pub(super) fn part_with_the_lost(&mut self, id: CampaignId, cx: &mut Cx) {
        let daemons = self.daemons_of(&self.elastic.campaigns.expect(id).nodes);
        let Some(drain) = self.elastic.campaigns.drain_mut(id) else { return };
        let lost: Vec<DaemonRank> = drain.untold.iter().filter(|rank| !daemons.contains(*rank)).collect();
        if !lost.is_empty() {
            for rank in lost {
                drain.untold.remove(rank);
            }
            self.begin_graces(id, cx);
        }
    }

    /// Gives jobs this time from now on (spec E52).
    pub(super) fn defer_departure(&mut self, id: CampaignId, jobs: &[JobId], time: Duration, cx: &mut Cx) {
        let Some(drain) = self.elastic.campaigns.drain_mut(id) else { return };
        // The time runs from the notice, which has been passed on everywhere or is about to be.
        let since = drain.told.map_or(Duration(0), |told| Duration(cx.now.0.saturating_sub(told.0)));
        for job in jobs {
            let grace = drain.graces.entry(*job).or_insert(time);
            *grace = (*grace).max(Duration(since.0 + time.0));
        }
        self.begin_graces(id, cx);
    }

    /// The jobs for which a drain waits: they have processes on its nodes, and time.
    fn drained_jobs(&self, id: CampaignId, now: Timestamp) -> Vec<JobId> {
        let campaign = self.elastic.campaigns.expect(id);
        let Phase::Draining(drain) = &campaign.phase else { return Vec::new() };
        let daemons = self.daemons_of(&campaign.nodes);
        let has_time = |job: &JobId| drain.until(*job).is_none_or(|end| end > now);
        drain.graces.keys().copied().filter(|job| has_time(job) && self.jobs.lives_on(*job, &daemons)).collect()
    }

    /// The reason why a drain waits, in words.
    pub(super) fn drain_waits_for(&self, id: CampaignId, drain: &Drain, nodes: &[NodeId]) -> String {
        let daemons = self.daemons_of(nodes);
        let there = drain.graces.keys().filter(|job| self.jobs.lives_on(**job, &daemons));
        let jobs: Vec<String> = there.map(|job| format!("job {job}")).collect();
        if jobs.is_empty() {
            return behind_others(&self.elastic.campaigns.part_of(id).into_iter().collect());
        }
        let names = self.pool.names(nodes);
        let verb = if names.len() == 1 { "leaves" } else { "leave" };
        format!(
            "the processes of {} to end before {} {verb}",
            listed(jobs.iter().map(String::as_str)),
            listed(names.iter().map(String::as_str))
        )
    }
}

impl super::campaigns::Campaigns {
    /// The drain of a shrink that is in that phase.
    pub(super) fn drain_mut(&mut self, id: CampaignId) -> Option<&mut Drain> {
        let campaign = self.open.get_mut(&id)?;
        debug_assert!(campaign.kind() == CampaignKind::Shrink, "only shrinks drain");
        if let Phase::Draining(drain) = &mut campaign.phase { Some(drain) } else { None }
    }
}
