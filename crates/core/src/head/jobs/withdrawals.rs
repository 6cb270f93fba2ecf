//! Notices of withdrawal: the processes of a job that has asked for a grace hear that their nodes are to leave, and so
//! do all that are connected with them. `elastic/drain.rs` says when.

use ferrite_types::pmix_status::PMIX_ALLOC_TIMEOUT_WARNING;
use std::collections::BTreeMap;

use ferrite_types::{AllocId, AllocReqId, DaemonRank, Duration, JobId, PmixStatus, Rank, RankSet, SizeRange};
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

impl Jobs {
    /// True when any job is elastic.
    pub(in crate::head) fn has_elastic(&self) -> bool {
        self.iter().any(|job| job.spec.options.elastic.is_some())
    }

    /// The root of a job's spawn tree.
    pub(in crate::head) fn root_of(&self, id: JobId) -> Option<JobId> {
        self.get(id).map(|job| job.root)
    }

    /// The roots of elastic spawn trees, over or not, with the sizes that these may have (spec E51).
    pub(in crate::head) fn elastic_trees(&self) -> BTreeMap<JobId, SizeRange> {
        self.iter().filter_map(|job| Some((job.root, job.spec.options.elastic?))).collect()
    }

    /// The daemons of the living processes of a spawn tree, one for each process.
    pub(in crate::head) fn places_of_tree(&self, root: JobId) -> Vec<DaemonRank> {
        let launched =
            self.tree_of(root).into_iter().filter_map(|id| self.get(id)).filter(|job| job.launch().is_some());
        launched.flat_map(|job| job.living().filter_map(|rank| job.map().daemon_of(rank))).collect()
    }
}

impl Head {
    /// Tells all who have heard of a withdrawal from these nodes that it does not come (spec E53).
    pub(in crate::head) fn announce_stay(
        &mut self,
        id: JobId,
        nodes: &[String],
        daemons: &RankSet,
        (alloc_id, req_id): (&AllocId, Option<&AllocReqId>),
        code: PmixStatus,
        cx: &mut Cx,
    ) {
        let job = self.jobs.at(id);
        let ranks: Vec<Rank> = job.living_on(daemons).collect();
        let (alloc_id, req_id, nodes) = (alloc_id.clone(), req_id.cloned(), nodes.to_vec());
        let notice = Withdrawal { job: id, ranks, nodes, seconds: 0, alloc_id, req_id };
        if let Some(request) = job.request {
            cx.notice_to(request, notices::stays(&notice));
        }
        let connected = self.jobs.connected_with(id);
        let procs = std::iter::once(id).chain(connected).map(|job| (job, Vec::new())).collect();
        let event = PmixEvent { code, source: EventSource::Dvm, info: EventInfo::Withdrawal(Box::new(notice)) };
        self.raise(event, EventRange::Named { procs, tools: Vec::new() }, cx);
    }

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
