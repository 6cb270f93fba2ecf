//! Notices of withdrawal: the processes of a job that has asked for a grace hear that their nodes are to leave, and so
//! do all that are connected with them. `elastic/drain.rs` says when.

use ferrite_types::pmix_status::PMIX_ALLOC_TIMEOUT_WARNING;
use ferrite_types::{Duration, JobId, Rank, RankSet};
use ferrite_wire::{EventInfo, EventRange, EventSource, PmixEvent, Withdrawal};

use super::notices;
use super::record::Job;
use super::registry::Jobs;
use crate::cx::Cx;
use crate::head::Head;

impl Job {
    /// Its living processes under these daemons.
    fn living_on(&self, daemons: &RankSet) -> impl Iterator<Item = Rank> {
        self.living().filter(|rank| self.map().daemon_of(*rank).is_some_and(|daemon| daemons.contains(daemon)))
    }
}

impl Jobs {
    /// Jobs with processes under these daemons that have asked for time, each with its time.
    pub(in crate::head) fn with_grace_on(&self, daemons: &RankSet) -> Vec<(JobId, Duration)> {
        let is_there =
            |job: &&Job| job.launch().is_some() && job.is_healthy() && job.living_on(daemons).next().is_some();
        let asked = self.iter().filter(|job| job.spec.options.grace.is_some()).filter(is_there);
        asked.filter_map(|job| Some((job.id, job.spec.options.grace?.time))).collect()
    }

    /// Those of these daemons that still have a process of any job.
    pub(in crate::head) fn busy_of(&self, daemons: &RankSet) -> RankSet {
        let launched = self.iter().filter(|job| job.launch().is_some());
        launched.flat_map(|job| job.living_on(daemons).filter_map(|rank| job.map().daemon_of(rank))).collect()
    }

    /// True for a job with living processes under these daemons.
    pub(in crate::head) fn lives_on(&self, id: JobId, daemons: &RankSet) -> bool {
        self.get(id).is_some_and(|job| job.living_on(daemons).next().is_some())
    }
}

impl Head {
    /// Tells the processes of a job, those of connected jobs, and its submitter that nodes are to leave; the processes
    /// there get the signal that the job wants (spec E43). Returns their daemons.
    pub(in crate::head) fn announce_withdrawal(
        &mut self,
        notice: Withdrawal,
        daemons: &RankSet,
        cx: &mut Cx,
    ) -> RankSet {
        let job = self.jobs.at(notice.job);
        let (id, ranks): (JobId, Vec<Rank>) = (job.id, job.living_on(daemons).collect());
        let there: RankSet = ranks.iter().filter_map(|rank| job.map().daemon_of(*rank)).collect();
        let signal = job.spec.options.grace.and_then(|grace| grace.signal);
        let nodes = ranks.iter().filter_map(|rank| job.map().node_of(*rank)).map(|node| node.name.clone());
        let mut nodes: Vec<String> = nodes.collect();
        nodes.dedup();
        let notice = Withdrawal { ranks, nodes, ..notice };
        if let Some(request) = job.request {
            cx.notice_to(request, notices::withdrawal(&notice));
        }
        let connected = self.jobs.connected_with(id);
        let procs = std::iter::once(id).chain(connected).map(|job| (job, Vec::new())).collect();
        let ranks = notice.ranks.clone();
        let code = PMIX_ALLOC_TIMEOUT_WARNING;
        let event = PmixEvent { code, source: EventSource::Dvm, info: EventInfo::Withdrawal(Box::new(notice)) };
        self.raise(event, EventRange::Named { procs, tools: Vec::new() }, cx);
        if let Some(signal) = signal {
            self.send_signal(id, &ranks, signal, cx);
        }
        there
    }
}
