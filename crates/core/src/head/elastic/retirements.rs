//! Fewer processes of an elastic job: its latest ones are told, have time, and are ended. Their nodes stay in the DVM
//! (spec E57 to E59).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::pmix_status::FERRITE_NODES_STAY;
use ferrite_types::{CampaignId, DaemonRank, Duration, JobId, PmixStatus, ProcId, Rank, RankSet};
use ferrite_wire::{DaemonMessage, Dest, JobResize, JobResizeOutcome, Withdrawal, WithdrawalAnswer};

use super::drain::TELL_MS;
use super::ranges::LONGEST_DEFERRAL_S;
use super::sizes::{Pending, What, name_of};
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_INVALID_OPERATION, PMIX_ERR_NOT_FOUND};

/// Processes that are to end.
#[derive(Debug)]
pub(super) struct Retirement {
    pub(super) procs: BTreeSet<ProcId>,
    /// Daemons that have not passed the notice on.
    untold: RankSet,
    /// True when the job cannot refuse.
    is_forced: bool,
    /// True when the requester has set the time.
    is_limited: bool,
    /// True once the processes were ordered to end.
    is_ordered: bool,
}

impl Head {
    /// Tells the latest processes of a tree that they are to end (spec E57).
    pub(super) fn retire(&mut self, root: JobId, count: u32, ask: &JobResize, cx: &mut Cx) {
        let chosen = self.choose_retired(root, count);
        let own = self
            .jobs
            .grace_of_tree(root)
            .map(|time| u32::try_from(time.as_micros().div_ceil(1_000_000)).unwrap_or(u32::MAX));
        let seconds = ask.time_s.or(own).unwrap_or_else(|| self.resize_time());
        let id = self.elastic.campaigns.number();
        let procs = chosen.iter().flat_map(|(job, ranks)| ranks.iter().map(|rank| ProcId { job: *job, rank: *rank }));
        let mut retirement = Retirement {
            procs: procs.collect(),
            untold: RankSet::new(),
            is_forced: ask.force,
            is_limited: ask.time_s.is_some(),
            is_ordered: false,
        };
        let procs: Vec<(JobId, Vec<Rank>)> = chosen.into_iter().collect();
        if seconds > 0 {
            for (job, ranks) in &procs {
                let notice = self.retirement_notice(*job, ranks.clone(), seconds, id);
                let there = self.announce_end(notice, cx);
                retirement.untold.insert_all(&there);
            }
        } else {
            retirement.untold = self.jobs.daemons_of_procs(&procs);
        }
        let hosts = self.pool.reachable(&retirement.untold);
        cx.multicast(Dest::Many(hosts), DaemonMessage::Retiring { change: id, procs });
        cx.set_timer(HeadTimer::Campaign(id), cx.now + Duration::from_millis(TELL_MS));
        self.open_size_change(root, ask, (seconds, id), What::Retirement(retirement), cx);
    }

    /// Chooses processes to end: whole worlds where that fits, otherwise the latest worlds and their highest ranks. The
    /// oldest world is the last one (spec E57).
    fn choose_retired(&self, root: JobId, count: u32) -> BTreeMap<JobId, Vec<Rank>> {
        let mut worlds: BTreeMap<JobId, Vec<Rank>> = BTreeMap::new();
        for (proc, node) in self.jobs.launched_of_tree(root) {
            if !self.elastic.is_to_leave(node) {
                worlds.entry(proc.job).or_default().push(proc.rank);
            }
        }
        let (count, oldest) = (count as usize, worlds.keys().next().copied());
        let mut rest = count;
        let mut whole = BTreeMap::new();
        for (job, ranks) in worlds.iter().rev().filter(|(job, _)| Some(**job) != oldest) {
            if ranks.len() <= rest {
                rest -= ranks.len();
                whole.insert(*job, ranks.clone());
            }
        }
        if rest == 0 {
            return whole;
        }
        let latest = worlds.into_iter().rev().flat_map(|(job, mut ranks)| {
            ranks.sort_unstable_by(|a, b| b.cmp(a));
            ranks.into_iter().map(move |rank| (job, rank))
        });
        let mut chosen: BTreeMap<JobId, Vec<Rank>> = BTreeMap::new();
        latest.take(count).for_each(|(job, rank)| chosen.entry(job).or_default().push(rank));
        chosen.values_mut().for_each(|ranks| ranks.sort_unstable());
        chosen
    }

    fn retirement_notice(&self, job: JobId, ranks: Vec<Rank>, seconds: u32, id: CampaignId) -> Withdrawal {
        let (_, alloc_id) = self.session_of_tree(self.jobs.root_of(job).unwrap_or(job));
        let nodes = self.jobs.nodes_of(job, &ranks);
        Withdrawal { job, ranks, nodes, of_procs: true, seconds, alloc_id, req_id: Some(name_of(id)) }
    }

    fn retirement(&mut self, root: JobId) -> Option<(&mut Pending, CampaignId)> {
        let pending = self.elastic.sizes.open.get_mut(&root)?;
        let id = pending.id;
        matches!(pending.what, What::Retirement(_)).then_some((pending, id))
    }

    /// Handles the word of a daemon that processes of a change know of it (spec E44).
    pub(super) fn on_retiring_told(&mut self, daemon: DaemonRank, id: CampaignId) {
        let mut open = self.elastic.sizes.open.values_mut().filter(|pending| pending.id == id);
        if let Some(What::Retirement(retirement)) = open.next().map(|pending| &mut pending.what) {
            retirement.untold.remove(daemon);
        }
    }

    /// Waits no longer for daemons that have not passed the notice on.
    pub(super) fn stop_telling(&mut self, root: JobId, _cx: &mut Cx) {
        if let Some(What::Retirement(retirement)) = self.elastic.sizes.open.get_mut(&root).map(|of| &mut of.what) {
            retirement.untold = RankSet::new();
        }
    }

    /// Goes on with a change: its processes have ended, the job has refused, or its time is over (spec E57,
    /// E58, E59).
    pub(super) fn settle_retirement(&mut self, root: JobId, cx: &mut Cx) {
        let Some(What::Retirement(retirement)) = self.elastic.sizes.open.get(&root).map(|of| &of.what) else { return };
        let living: Vec<ProcId> = retirement.procs.iter().copied().filter(|proc| self.jobs.has_living(*proc)).collect();
        let untold = self.pool.reachable(&retirement.untold);
        if living.is_empty() {
            return self.end_retirement(root, cx);
        }
        let now = cx.now;
        let Some((pending, id)) = self.retirement(root) else { return };
        if pending.refused.is_some() {
            return self.keep_procs(root, cx);
        }
        let seconds = pending.seconds;
        let What::Retirement(retirement) = &mut pending.what else { return };
        retirement.untold = untold;
        if pending.until.is_none() && retirement.untold.is_empty() {
            let until = now + Duration::from_secs(seconds.into());
            pending.until = Some(until);
            if until > now {
                cx.set_timer(HeadTimer::Campaign(id), until);
            }
        }
        if pending.until.is_some_and(|until| until <= now) && !retirement.is_ordered {
            retirement.is_ordered = true;
            cx.cancel_timer(HeadTimer::Campaign(id));
            self.order_end(&living, cx);
        }
    }

    /// Orders processes to end that have had their time (spec E58).
    fn order_end(&mut self, living: &[ProcId], cx: &mut Cx) {
        let mut procs: BTreeMap<JobId, Vec<Rank>> = BTreeMap::new();
        living.iter().for_each(|proc| procs.entry(proc.job).or_default().push(proc.rank));
        let procs: Vec<(JobId, Vec<Rank>)> = procs.into_iter().collect();
        let hosts = self.pool.reachable(&self.jobs.daemons_of_procs(&procs));
        if !hosts.is_empty() {
            cx.multicast(Dest::Many(hosts), DaemonMessage::Retire(procs));
        }
    }

    /// Ends a change whose processes have ended: their slots are free, also those of a job that goes on (spec E58).
    fn end_retirement(&mut self, root: JobId, cx: &mut Cx) {
        let Some(What::Retirement(retirement)) = self.elastic.sizes.open.get(&root).map(|of| &of.what) else { return };
        let procs = retirement.procs.clone();
        let count = procs.len() as u32;
        self.free_ended(&procs);
        self.close_size_change(root, count, JobResizeOutcome::Done, cx);
        self.serve_queue(cx);
    }

    /// Ends a change that was refused: all who were told hear that the processes stay (spec E59).
    fn keep_procs(&mut self, root: JobId, cx: &mut Cx) {
        let Some((pending, id)) = self.retirement(root) else { return };
        let cause = pending.refused.clone().unwrap_or_default();
        let What::Retirement(retirement) = &pending.what else { return };
        let procs = retirement.procs.clone();
        let mut of_jobs: BTreeMap<JobId, Vec<Rank>> = BTreeMap::new();
        procs.iter().for_each(|proc| of_jobs.entry(proc.job).or_default().push(proc.rank));
        // Some may have ended meanwhile.
        let ended: BTreeSet<ProcId> = procs.iter().copied().filter(|proc| !self.jobs.has_living(*proc)).collect();
        for (job, ranks) in of_jobs.into_iter().filter(|(job, _)| self.jobs.get(*job).is_some()).collect::<Vec<_>>() {
            let ranks = ranks.into_iter().filter(|rank| self.jobs.has_living(ProcId { job, rank: *rank })).collect();
            let notice = self.retirement_notice(job, ranks, 0, id);
            self.announce(notice, FERRITE_NODES_STAY, cx);
        }
        self.free_ended(&ended);
        self.close_size_change(root, 0, JobResizeOutcome::Failed(cause), cx);
        self.serve_queue(cx);
    }

    /// Handles the answer of a process to the notice that processes of its job are to end (spec E59).
    pub(super) fn on_retirement_answer(
        &mut self,
        root: JobId,
        by: ProcId,
        answer: WithdrawalAnswer,
        cx: &mut Cx,
    ) -> Result<(), PmixStatus> {
        let Some((pending, id)) = self.retirement(root) else { return Err(PMIX_ERR_NOT_FOUND) };
        let What::Retirement(Retirement { procs, is_forced, is_limited, is_ordered, .. }) = &pending.what else {
            return Err(PMIX_ERR_NOT_FOUND);
        };
        if *is_forced || *is_ordered {
            return Err(PMIX_ERR_INVALID_OPERATION);
        }
        match answer {
            WithdrawalAnswer::Refuse => {
                let count = super::sizes::processes(procs.len() as u32);
                let verb = if procs.len() == 1 { "ends" } else { "end" };
                let cause = format!(
                    "Rank {} of job {} refuses that {count} {verb}. Force it with `pdvm resize --force`.",
                    by.rank, by.job
                );
                pending.refused.get_or_insert(cause);
            }
            WithdrawalAnswer::Defer(_) if *is_limited => return Err(PMIX_ERR_INVALID_OPERATION),
            WithdrawalAnswer::Defer(seconds) if seconds > LONGEST_DEFERRAL_S => return Err(PMIX_ERR_BAD_PARAM),
            WithdrawalAnswer::Defer(seconds) => {
                // The time runs from the notice, which has been passed on everywhere or is about to be.
                pending.seconds = pending.seconds.max(seconds);
                let until = cx.now + Duration::from_secs(seconds.into());
                if let Some(end) = pending.until.as_mut().filter(|end| **end < until) {
                    *end = until;
                    cx.set_timer(HeadTimer::Campaign(id), until);
                }
            }
        }
        Ok(())
    }
}
