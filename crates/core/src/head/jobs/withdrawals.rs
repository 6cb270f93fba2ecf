//! Notices of withdrawal: the processes of a job that has asked for a grace hear that their nodes are to leave, and so
//! do all that are connected with them. `elastic/drain.rs` says when.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::pmix_status::{FERRITE_NODES_STAY, PMIX_ALLOC_TIMEOUT_WARNING};
use ferrite_types::{
    AllocId, AllocReqId, DaemonRank, Duration, JobId, NodeId, PmixStatus, ProcId, Rank, RankSet, SessionId, SizeRange,
};
use ferrite_wire::{EventInfo, EventRange, EventSource, PmixEvent, ProcEnd, Withdrawal};

use super::notices;
use super::phase::Launch;
use super::record::Job;
use super::registry::Jobs;
use super::spawn::Birth;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;

impl Job {
    /// Its living processes under these daemons.
    fn living_on(&self, daemons: &RankSet) -> impl Iterator<Item = Rank> {
        self.living().filter(|rank| self.map().daemon_of(*rank).is_some_and(|daemon| daemons.contains(daemon)))
    }

    /// Its members: living processes that have not given their slots back (spec E70).
    fn members(&self) -> impl Iterator<Item = Rank> {
        self.living().filter(|rank| !self.freed.contains(rank))
    }

    /// Its members with their nodes.
    fn places_of_members(&self) -> impl Iterator<Item = (ProcId, NodeId)> {
        self.members().filter_map(|rank| Some((ProcId { job: self.id, rank }, self.map().node_of(rank)?.id)))
    }

    /// Its living processes with their nodes.
    fn places_of_living(&self) -> impl Iterator<Item = (ProcId, NodeId)> {
        self.living().filter_map(|rank| Some((ProcId { job: self.id, rank }, self.map().node_of(rank)?.id)))
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

    /// True for a job that has asked for time before its processes are ended with their nodes.
    pub(in crate::head) fn has_grace(&self, id: JobId) -> bool {
        self.get(id).is_some_and(|job| job.spec.options.grace.is_some())
    }

    /// True when any job has asked for time.
    pub(in crate::head) fn have_grace(&self) -> bool {
        self.iter().any(|job| job.spec.options.grace.is_some())
    }

    /// Jobs with processes under these daemons.
    pub(in crate::head) fn with_procs_on(&self, daemons: &RankSet) -> Vec<JobId> {
        let is_there = |job: &&Job| job.launch().is_some() && job.living_on(daemons).next().is_some();
        self.iter().filter(is_there).map(|job| job.id).collect()
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

    /// The root of a job's spawn tree. A root that is over is the name of its tree as long as that lives.
    pub(in crate::head) fn root_of(&self, id: JobId) -> Option<JobId> {
        self.get(id).map(|job| job.root).or_else(|| self.has_tree(id).then_some(id))
    }

    /// The root of an elastic job.
    pub(in crate::head) fn elastic_root_of(&self, id: JobId) -> Option<JobId> {
        self.get(id).filter(|job| job.spec.options.elastic.is_some()).map(|job| job.root)
    }

    /// The submitter of a job, as long as it listens.
    pub(in crate::head) fn listener_of(&self, id: JobId) -> Option<RequestId> {
        self.get(id)?.request
    }

    /// The roots of elastic spawn trees, over or not, with the sizes that these may have (spec E51).
    pub(in crate::head) fn elastic_trees(&self) -> BTreeMap<JobId, SizeRange> {
        self.iter().filter_map(|job| Some((job.root, job.spec.options.elastic?))).collect()
    }

    /// The sizes that a spawn tree may have; `None` = it is not elastic.
    pub(in crate::head) fn range_of_tree(&self, root: JobId) -> Option<SizeRange> {
        self.tree_of(root).into_iter().find_map(|id| self.get(id)?.spec.options.elastic)
    }

    /// The time that the processes of a tree have before they are ended.
    pub(in crate::head) fn grace_of_tree(&self, root: JobId) -> Option<Duration> {
        self.tree_of(root).into_iter().find_map(|id| Some(self.get(id)?.spec.options.grace?.time))
    }

    /// The session of a tree: that of its oldest job.
    pub(in crate::head) fn session_of_tree(&self, root: JobId) -> SessionId {
        self.tree_of(root).first().and_then(|id| self.get(*id)).map_or(SessionId::DVM, |job| job.session)
    }

    /// The jobs of a tree that run programs, and are not over.
    pub(in crate::head) fn worlds_of(&self, root: JobId) -> Vec<JobId> {
        let is_world = |id: &JobId| self.get(*id).is_some_and(|job| job.takes_slots() && !job.is_over());
        self.tree_of(root).into_iter().filter(is_world).collect()
    }

    /// Hands on what an elastic job takes as a whole of what all nodes share: from a world that is over to the oldest
    /// that goes on (spec E73).
    pub(super) fn hand_on_whole(&mut self, job: &mut Job) {
        if job.spec.options.elastic.is_none() || job.map().takes.is_empty() {
            return;
        }
        let heir = self.worlds_of(job.root).into_iter().find(|id| self.get(*id).is_some_and(Job::is_launched));
        let Some(heir) = heir.and_then(|id| self.get_mut(id)).and_then(Job::launch_mut) else { return };
        let Some(had) = job.launch_mut().map(Launch::takes_mut).map(std::mem::take) else { return };
        for (resource, amount) in had {
            let whole = heir.takes_mut().entry(resource).or_default();
            *whole = whole.saturating_add(amount);
        }
    }

    /// The members of a tree and the number of its jobs.
    pub(in crate::head) fn members_and_worlds(&self, root: JobId) -> (u32, u32) {
        (self.launched_of_tree(root).len() as u32, self.worlds_of(root).len() as u32)
    }

    /// The members of a tree, and those that are about to be started, each with its node. Those of a failed job count
    /// until they have ended.
    pub(in crate::head) fn members_of_tree(&self, root: JobId) -> Vec<(ProcId, NodeId)> {
        let worlds = self.worlds_of(root).into_iter().filter_map(|id| self.get(id));
        worlds.filter(|job| job.is_launched() || job.is_healthy()).flat_map(Job::places_of_members).collect()
    }

    /// The members of a tree that were started, each with its node.
    pub(in crate::head) fn launched_of_tree(&self, root: JobId) -> Vec<(ProcId, NodeId)> {
        let worlds = self.worlds_of(root).into_iter().filter_map(|id| self.get(id));
        worlds.filter(|job| job.is_launched() && job.is_healthy()).flat_map(Job::places_of_members).collect()
    }

    /// The living processes of a tree that were started, each with its node.
    pub(in crate::head) fn living_of_tree(&self, root: JobId) -> Vec<(ProcId, NodeId)> {
        let worlds = self.worlds_of(root).into_iter().filter_map(|id| self.get(id));
        worlds.filter(|job| job.is_launched() && job.is_healthy()).flat_map(Job::places_of_living).collect()
    }

    /// True for a process that was started and has not ended.
    pub(in crate::head) fn has_living(&self, proc: ProcId) -> bool {
        self.get(proc.job).is_some_and(|job| job.has_living(proc.rank))
    }

    /// The node of a process.
    pub(in crate::head) fn place_of(&self, proc: ProcId) -> Option<NodeId> {
        Some(self.get(proc.job)?.map().node_of(proc.rank)?.id)
    }

    /// The daemons of processes.
    pub(in crate::head) fn daemons_of_procs(&self, procs: &[(JobId, Vec<Rank>)]) -> RankSet {
        let of_job = |(id, ranks): &(JobId, Vec<Rank>)| {
            let job = self.get(*id)?;
            Some(ranks.iter().filter_map(|rank| job.map().daemon_of(*rank)).collect::<Vec<_>>())
        };
        procs.iter().filter_map(of_job).flatten().collect()
    }

    /// The names of the nodes of processes, each once.
    pub(in crate::head) fn nodes_of(&self, id: JobId, ranks: &[Rank]) -> Vec<String> {
        let Some(job) = self.get(id) else { return Vec::new() };
        let names = ranks.iter().filter_map(|rank| job.map().node_of(*rank)).map(|node| node.name.clone());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The root and the session of a spawned job that may take an offer (spec E55).
    pub(in crate::head) fn takes_offers(&self, id: JobId) -> Option<(JobId, SessionId)> {
        let job = self.get(id).filter(|job| job.birth.is_awaited() && job.takes_slots())?;
        job.spec.options.elastic.map(|_| (job.root, job.session))
    }

    /// The progress of a spawned job: its size once it runs, `Some(None)` before that and while it fails, `None` when
    /// it is gone.
    pub(in crate::head) fn spawn_of(&self, id: JobId) -> Option<Option<u32>> {
        let job = self.get(id)?;
        Some(matches!(job.birth, Birth::Spawned { .. }).then(|| job.size() as u32))
    }

    /// True while a process of a tree waits for a job that it has spawned.
    pub(in crate::head) fn is_spawning(&self, root: JobId) -> bool {
        self.tree_of(root).into_iter().filter_map(|id| self.get(id)).any(|job| job.birth.is_awaited())
    }

    /// The daemons of the members of a spawn tree, one for each process.
    pub(in crate::head) fn places_of_tree(&self, root: JobId) -> Vec<DaemonRank> {
        let launched =
            self.tree_of(root).into_iter().filter_map(|id| self.get(id)).filter(|job| job.launch().is_some());
        launched.flat_map(|job| job.members().filter_map(|rank| job.map().daemon_of(rank))).collect()
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
        let ranks: Vec<Rank> = self.jobs.at(id).living_on(daemons).collect();
        let (alloc_id, req_id, nodes) = (alloc_id.clone(), req_id.cloned(), nodes.to_vec());
        let notice = Withdrawal { job: id, ranks, nodes, of_procs: false, seconds: 0, alloc_id, req_id };
        self.announce(notice, code, cx);
    }

    /// Tells the processes of a job, those of connected jobs, and its submitter of a withdrawal, or that it does not
    /// come. Of an elastic job all worlds hear of it (spec E43, E57).
    pub(in crate::head) fn announce(&mut self, notice: Withdrawal, code: PmixStatus, cx: &mut Cx) {
        let id = notice.job;
        self.membership_changes(id);
        if let Some(request) = self.jobs.at(id).request {
            let text = if code == FERRITE_NODES_STAY { notices::stays(&notice) } else { notices::withdrawal(&notice) };
            cx.notice_to(request, text);
        }
        let job = self.jobs.at(id);
        let kin = if job.spec.options.elastic.is_some() { self.jobs.worlds_of(job.root) } else { Vec::new() };
        let told: BTreeSet<JobId> = std::iter::once(id).chain(self.jobs.connected_with(id)).chain(kin).collect();
        let procs = told.into_iter().map(|job| (job, Vec::new())).collect();
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
        let ranks: Vec<Rank> = job.living_on(daemons).collect();
        let there: RankSet = ranks.iter().filter_map(|rank| job.map().daemon_of(*rank)).collect();
        let nodes = ranks.iter().filter_map(|rank| job.map().node_of(*rank)).map(|node| node.name.clone());
        let mut seen = BTreeSet::new();
        let nodes = nodes.filter(|name| seen.insert(name.clone())).collect();
        self.announce_end(Withdrawal { ranks, nodes, ..notice }, cx);
        there
    }

    /// Tells of processes that are to end, which get the signal that their job wants. Returns their daemons.
    pub(in crate::head) fn announce_end(&mut self, notice: Withdrawal, cx: &mut Cx) -> RankSet {
        let (id, ranks) = (notice.job, notice.ranks.clone());
        let there = self.jobs.daemons_of_procs(&[(id, ranks.clone())]);
        let signal = self.jobs.at(id).spec.options.grace.and_then(|grace| grace.signal);
        self.announce(notice, PMIX_ALLOC_TIMEOUT_WARNING, cx);
        if let Some(signal) = signal {
            self.send_signal(id, &ranks, signal, cx);
        }
        there
    }

    /// Frees the slots of these processes of an elastic job that goes on: its next processes may have them (spec E58).
    pub(super) fn free_slots_of_elastic(&mut self, id: JobId, ends: &[ProcEnd], cx: &mut Cx) {
        let Some(job) = self.jobs.get(id).filter(|job| job.spec.options.elastic.is_some()) else { return };
        // A process that is started again keeps its slot.
        let ended = ends.iter().map(|end| end.rank).filter(|rank| !job.has_living(*rank));
        let ended: BTreeSet<ProcId> = ended.map(|rank| ProcId { job: id, rank }).collect();
        self.free_ended(&ended);
        self.serve_queue(cx);
    }

    /// Frees the slot of a process of an elastic job that has called finalize (spec E70).
    pub(in crate::head) fn on_finalized(&mut self, proc: ProcId, cx: &mut Cx) {
        if self.jobs.has_living(proc) {
            self.free_ended(&BTreeSet::from([proc]));
            self.serve_queue(cx);
        }
    }

    /// Frees the slots of a job that goes on, on nodes that are gone: they may come again.
    pub(super) fn free_slots_on(&mut self, id: JobId, gone: impl Fn(DaemonRank) -> bool) {
        let map = self.jobs.at(id).map();
        let ranks = (0..map.procs.len() as u32).map(Rank);
        let there = ranks.filter(|rank| map.daemon_of(*rank).is_some_and(&gone));
        let there = there.map(|rank| ProcId { job: id, rank }).collect();
        self.free_ended(&there);
        self.membership_changes(id);
    }

    /// Frees the slots of processes that have ended while others of their job go on (spec E58).
    pub(in crate::head) fn free_ended(&mut self, procs: &BTreeSet<ProcId>) {
        let jobs: BTreeSet<JobId> = procs.iter().map(|proc| proc.job).collect();
        for id in jobs {
            let Some(job) = self.jobs.get_mut(id).filter(|job| job.takes_slots()) else { continue };
            let ranks: BTreeSet<Rank> = procs.iter().filter(|proc| proc.job == id).map(|proc| proc.rank).collect();
            let fresh: BTreeSet<Rank> = ranks.difference(&job.freed).copied().collect();
            job.freed.extend(fresh.iter().copied());
            let Jobs { known, occupancy, .. } = &mut self.jobs;
            if let Some(job) = known.get(&id) {
                self.pool.release_some(occupancy, job.map(), fresh.into_iter());
            }
        }
    }
}
