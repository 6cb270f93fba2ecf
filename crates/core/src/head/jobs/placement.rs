//! MAP and the steps up to the launch: `ferrite-rm` and `ferrite-map` have the rules, the head has the pool.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;
use ferrite_map::display::{Numbers, Shown};
use ferrite_map::picture::{self, Subject};
use ferrite_map::{Alike, Occupancy, display, display_topo, place, place_on_free};
use ferrite_rm::{select, select_places};
use ferrite_types::{
    AppContext, CpuKind, DaemonRank, Display, HostEntry, HostRef, JobId, JobMap, JobSpec, JobState, MapBy, NodeId,
    NodeRecord, NodeShare, PictureFormat, Rank, SessionId, SlotCount, StdinTarget,
};
use ferrite_wire::Stream;

use super::notices;
use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::{Effect, HeadTimer, RequestId, Sink};

impl Head {
    /// MAP: places the job's processes and claims their slots (spec L14, E12).
    pub(super) fn map_job(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let spec = self.spec_of(job);
        self.show_machines(job.request, &spec, cx);
        match spec.display.parseable {
            // With a map they are part of its document.
            true if spec.display.map || spec.display.map_devel => {}
            true => print(job.request, display::xml_document(&self.xml_parts(&spec)), cx),
            false => self.show_allocation(job.request, id, &spec, cx),
        }
        if let Some(beside) = &spec.beside {
            return match self.placed_beside(beside, spec.apps.len()) {
                Ok(map) => self.take_map(id, map, cx),
                Err(text) => self.fail_placement(id, text, cx),
            };
        }
        if job.wait_for_slots {
            return self.place_or_queue(id, &spec, cx);
        }
        match self.placed(id, &spec) {
            Ok(map) => self.take_map(id, map, cx),
            Err(text) => self.fail_placement(id, text, cx),
        }
    }

    /// Fails a job without a place: its nodes are not there, or they have no room.
    pub(super) fn fail_placement(&mut self, id: JobId, text: String, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let (spec, pool) = (self.spec_of(job), self.pool_of(job.session));
        let nodes = pool.as_deref().unwrap_or(self.pool.records());
        let is_there = |share: &NodeShare| nodes[share.node.0 as usize].daemon.is_some();
        let has_nodes = self.shares_among(&spec, nodes).is_ok_and(|all| all.iter().all(|own| own.iter().any(is_there)));
        let state = if has_nodes { JobState::MapFailed } else { JobState::AllocFailed };
        self.fail_job(id, state, 1, text, cx);
    }

    /// The job's specification for placement. Hosts that have gone since it was mapped to them do not count, as long
    /// as others are left (spec E11).
    pub(super) fn spec_of(&self, job: &Job) -> Arc<JobSpec> {
        if job.missed.is_empty() {
            return job.spec.clone();
        }
        let is_missed = |item: &HostRef| {
            self.pool
                .named(item)
                .is_some_and(|node| job.missed.contains(&node) && self.pool.record(node).daemon.is_none())
        };
        let mut spec = (*job.spec).clone();
        for app in &mut spec.apps {
            for list in [&mut app.hosts.hostfile, &mut app.hosts.hosts] {
                if !list.iter().all(is_missed) {
                    list.retain(|item| !is_missed(item));
                }
            }
        }
        Arc::new(spec)
    }

    /// Takes over the job's map; its time limits count from here (spec L16). An elastic job begins with a size that it
    /// may have (spec E51), and spawns no more than its largest size (spec E60).
    pub(super) fn take_map(&mut self, id: JobId, map: JobMap, cx: &mut Cx) {
        let unread = unread_stdin(&self.jobs.at(id).spec, &map);
        let job = self.jobs.at_mut(id);
        job.phase.set_map(map);
        let (size, takes_slots) = (job.size(), job.takes_slots());
        let (range, root, is_spawned) = (job.spec.options.elastic, job.root, job.birth.parent().is_some());
        let misfit = range.filter(|range| !is_spawned && !range.includes(size));
        let misfit = misfit.map(|range| notices::out_of_range(size, range));
        let too_many = range.filter(|_| is_spawned && takes_slots).and_then(|range| {
            let all = self.size_of_tree(root);
            (all > range.max).then(|| notices::too_many(root, all, size as u32, range))
        });
        if let Some(text) = unread.or(misfit).or(too_many) {
            return self.fail_job(id, JobState::MapFailed, 1, text, cx);
        }
        let job = self.jobs.at(id);
        if let Some(limit) = job.spec.options.timeout {
            cx.set_timer(HeadTimer::JobTimeout(id), cx.now + limit);
        }
        // The limit of a process's call counts from the call.
        if let Some(limit) = job.spec.options.spawn_timeout.filter(|_| !job.birth.is_awaited()) {
            cx.set_timer(HeadTimer::SpawnTimeout(id), cx.now + limit);
        }
        if range.is_some() {
            self.watch_elastic(cx);
        }
        self.activate(id, JobState::MapComplete, cx);
    }

    /// Places a job and claims its slots. A spawned job of a tree that was offered more processes takes the slots of
    /// the offer, and those nodes first (spec E55).
    pub(super) fn placed(&mut self, id: JobId, spec: &JobSpec) -> Result<JobMap, String> {
        let Some((root, kept)) = self.lend_offered(id) else { return self.placed_on(id, spec, &[]) };
        let first: Vec<NodeId> = kept.nodes.iter().map(|node| node.id).collect();
        let map = self.placed_on(id, spec, &first);
        self.after_lending(root, kept, map.is_ok().then_some(id));
        map
    }

    fn placed_on(&mut self, id: JobId, spec: &JobSpec, first: &[NodeId]) -> Result<JobMap, String> {
        let job = self.jobs.at(id);
        let (session, start) = (job.session, self.start_of(job));
        let quick = first.is_empty().then(|| self.place_on_free(spec, session, start)).flatten();
        let map = quick.map_or_else(
            || {
                let pool = self.pool_of(session);
                let nodes = pool.as_deref().unwrap_or(self.pool.records());
                let map = self.place_from(start, first, spec, nodes, &self.jobs.occupancy);
                map.map_err(|text| if pool.is_some() { self.among_some(&text) } else { text })
            },
            Ok,
        )?;
        self.pool.claim(&mut self.jobs.occupancy, &map).map_err(|e| e.to_string())?;
        let mut map = map;
        // The machines have only these processors; the map says so as for a list of the job.
        if let Some(list) = self.params.text("hwloc_default_cpu_list").ok().flatten().filter(|list| !list.is_empty()) {
            for policy in &mut map.policies {
                policy.cpu_set.get_or_insert_with(|| list.to_owned());
            }
        }
        Ok(map)
    }

    /// Places a job that names no nodes on the first ones with free slots, beginning at `start` if it may use that, in
    /// a time that the other nodes do not change. `None` = all nodes matter (spec L144, L159).
    fn place_on_free(&self, spec: &JobSpec, session: SessionId, start: Option<NodeId>) -> Option<JobMap> {
        let (alike, records) = (self.pool.alike()?, self.pool.records());
        let map = if self.may_use_all(session) {
            let start = start.filter(|start| self.pool.record(*start).daemon.is_some());
            place_on_free(spec, records, Alike { start, ..alike }, &self.jobs.occupancy)?
        } else if spec.apps.iter().all(|app| app.hosts.is_empty()) {
            let (mut free, mut slots, mut begin) = (BTreeSet::new(), 0, None);
            for node in self.usable_by(session) {
                slots += node.slots;
                begin = begin.or(start.filter(|start| *start == node.id));
                if alike.free.contains(&node.id) {
                    free.insert(node.id);
                }
            }
            place_on_free(spec, records, Alike { free: &free, slots, start: begin }, &self.jobs.occupancy)?
        } else {
            return None;
        };
        self.jobs.note_placement(map.nodes.len());
        Some(map)
    }

    /// A refusal for a job that may not use all nodes.
    pub(super) fn among_some(&self, text: &str) -> String {
        let are_leaving = if self.elastic.is_any_draining() { ", nor those that are to leave" } else { "" };
        format!(
            "{text}\nNodes of other sessions do not count here{are_leaving}; `pdvm session list` shows whose they are."
        )
    }

    /// The node at which the map of a spawned job begins: its parent's bookmark (spec L80).
    fn start_of(&self, job: &Job) -> Option<NodeId> {
        self.jobs.get(job.birth.parent()?.job)?.bookmark()
    }

    /// Places a job on nodes of any order, as a test whether it fits.
    pub(super) fn place_among(
        &self,
        spec: &JobSpec,
        nodes: &[NodeRecord],
        occupancy: &Occupancy,
    ) -> Result<JobMap, String> {
        self.place_from(None, &[], spec, nodes, occupancy)
    }

    /// Tries to place a job on these nodes, beginning with those of `first`.
    pub(in crate::head) fn try_placement(
        &self,
        spec: &JobSpec,
        first: &[NodeId],
        nodes: &[NodeRecord],
    ) -> Result<JobMap, String> {
        self.place_from(None, first, spec, nodes, &self.jobs.occupancy)
    }

    /// Keeps all that a placement takes, for a job that may come.
    pub(in crate::head) fn keep_placement(&mut self, map: &JobMap) -> Result<(), String> {
        self.pool.claim(&mut self.jobs.occupancy, map).map_err(|error| error.to_string())
    }

    /// Gives back all that was kept.
    pub(in crate::head) fn release_placement(&mut self, map: &JobMap) {
        self.pool.release(&mut self.jobs.occupancy, map);
    }

    /// Places a job on nodes in their order, which begins at `start` for each app that may use that node, after those
    /// of `first`.
    fn place_from(
        &self,
        start: Option<NodeId>,
        first: &[NodeId],
        spec: &JobSpec,
        nodes: &[NodeRecord],
        occupancy: &Occupancy,
    ) -> Result<JobMap, String> {
        let shares_among = |spec: &JobSpec| {
            let mut shares = self.shares_among(spec, nodes)?;
            for (app, shares) in spec.apps.iter().zip(&mut shares) {
                if spec.map_of(app).lists_hosts() {
                    continue;
                }
                if let Some(at) = start.and_then(|start| shares.iter().position(|share| share.node == start)) {
                    shares.rotate_left(at);
                }
                if !first.is_empty() {
                    shares.sort_by_key(|share| !first.contains(&share.node));
                }
            }
            Ok::<_, String>(shares)
        };
        let shares = shares_among(spec);
        self.jobs.note_placement(shares.iter().flatten().map(Vec::len).sum());
        let shares = shares?;
        let each = one_slot_each(spec).and_then(|each| shares_among(&each).ok());
        if let Some(map) = each.and_then(|each| place(spec, nodes, &each, occupancy).ok()) {
            return Ok(map);
        }
        place(spec, nodes, &shares, occupancy).map_err(|e| e.refusal())
    }

    /// The nodes that each app may use. `nodes` are the records of all nodes, unless no app names its own.
    pub(super) fn shares_among(&self, spec: &JobSpec, nodes: &[NodeRecord]) -> Result<Vec<Vec<NodeShare>>, String> {
        let nodes = self.pool.named_as(nodes);
        let shares = spec.apps.iter().map(|app| {
            let hosts = match &spec.map_of(app).by {
                Some(MapBy::RankFile(lines)) => lines.iter().map(|line| &line.host).collect(),
                Some(MapBy::Seq(lines)) => lines.iter().map(|line| &line.host).collect(),
                _ => Vec::new(),
            };
            match hosts.is_empty() {
                true => select(nodes, &app.hosts),
                false => select_places(nodes, &app.hosts, hosts),
            }
            .map_err(|e| e.to_string())
        });
        shares.collect()
    }

    /// Maps a job again that has lost nodes before its launch (spec G3, E10).
    pub(in crate::head) fn map_again(&mut self, id: JobId, gone: Vec<NodeId>, cx: &mut Cx) {
        let job = self.jobs.known.get_mut(&id).expect("the launch fence has just found the job");
        job.missed.extend(gone);
        match job.takes_slots() {
            true => self.pool.release(&mut self.jobs.occupancy, job.map()),
            false => self.jobs.occupancy.release_ranks(job.map()),
        }
        job.phase.clear_map();
        // The job had its slots: in a smaller DVM it may wait for others, and does not fail. A spawned job does not
        // wait: its parent waits for the answer, and may occupy the slots itself.
        job.wait_for_slots |= !job.birth.is_awaited();
        cx.cancel_timer(HeadTimer::JobTimeout(id));
        cx.cancel_timer(HeadTimer::SpawnTimeout(id));
        self.activate(id, JobState::VmReady, cx);
        // Queued jobs may have waited for the slots that are now free.
        self.serve_queue(cx);
    }

    pub(super) fn mapping_complete(&mut self, id: JobId, cx: &mut Cx) {
        self.show_map(id, cx);
        let job = self.jobs.at_mut(id);
        if job.spec.options.ends_with_map() {
            job.set_outcome(0, String::new());
            return self.check_terminated(id, cx);
        }
        self.activate(id, JobState::SystemPrep, cx);
    }

    /// Shows `--display topo` and `cpus` for all nodes that the job may use, or for those that the option names.
    fn show_machines(&self, to: Option<RequestId>, spec: &JobSpec, cx: &mut Cx) {
        let threads = spec.map.cpus == Some(CpuKind::HwThread);
        if let Some(names) = &spec.display.topo {
            self.show_each("topo", names, to, cx, |node| display_topo::topology(&node.name, &node.topology));
        }
        if let Some(names) = spec.display.cpus.as_ref().filter(|_| !spec.display.parseable) {
            self.show_each("cpus", names, to, cx, |node| {
                display_topo::processors(&node.name, &node.topology, threads, false)
            });
        }
        if let Some(names) = spec.display.cpus.as_ref().filter(|_| spec.display.parseable) {
            names.iter().filter(|name| self.pool.find(name).is_none()).for_each(|name| not_there("cpus", name, to, cx));
        }
    }

    /// The allocation and the processors as XML, as far as they are wanted.
    fn xml_parts(&self, spec: &JobSpec) -> Vec<String> {
        let mut parts = Vec::new();
        if spec.display.allocation {
            parts.push(display::allocation_xml(self.pool.records()));
        }
        if let Some(names) = &spec.display.cpus {
            let threads = spec.map.cpus == Some(CpuKind::HwThread);
            let xml = |node: &NodeRecord| display_topo::processors(&node.name, &node.topology, threads, true);
            match names.is_empty() {
                true => parts.extend(self.pool.up().map(xml)),
                false => {
                    let named = names.iter().filter_map(|name| self.pool.find(name));
                    parts.extend(named.map(|node| xml(self.pool.record(node))));
                }
            }
        }
        parts
    }

    fn show_each(
        &self,
        what: &str,
        names: &[String],
        to: Option<RequestId>,
        cx: &mut Cx,
        show: impl Fn(&NodeRecord) -> String,
    ) {
        if names.is_empty() {
            let nodes = self.pool.up();
            return print(to, nodes.map(show).collect(), cx);
        }
        for name in names {
            match self.pool.find(name) {
                Some(node) => print(to, show(self.pool.record(node)), cx),
                None => not_there(what, name, to, cx),
            }
        }
    }

    /// Shows the map in each requested form.
    fn show_map(&self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let Display { map, map_devel, parseable, .. } = job.spec.display;
        let nspace = id.nspace(&self.config.dvm);
        let shown = Shown {
            job: &nspace,
            map: job.map(),
            nodes: self.pool.records(),
            not_launched: job.spec.options.do_not_launch,
            numbers: numbers(&job.spec.display),
        };
        // The parseable form includes both others.
        if parseable && (map || map_devel) {
            let parts: Vec<String> = self.xml_parts(&job.spec).into_iter().chain([shown.xml()]).collect();
            print(job.request, display::xml_document(&parts), cx);
        } else {
            if map {
                print(job.request, shown.map(), cx);
            }
            if map_devel {
                print(job.request, shown.devel(&self.config.dvm), cx);
            }
        }
        if let Some(to) = job.request.filter(|_| !job.spec.display.pictures.is_empty()) {
            self.draw_map(to, job, cx);
        }
    }

    fn draw_map(&self, to: RequestId, job: &Job, cx: &mut Cx) {
        let programs: Vec<String> = job.spec.apps.iter().map(|app| app.argv.join(" ")).collect();
        let nspace = job.id.nspace(&self.config.dvm);
        let subject = Subject {
            job: &nspace,
            programs: &programs,
            map: job.map(),
            nodes: self.pool.records(),
            not_launched: job.spec.options.do_not_launch,
        };
        for format in job.spec.display.pictures.iter().copied() {
            let text = match format {
                PictureFormat::Svg => picture::svg(&subject),
                PictureFormat::Html => picture::html(&subject),
                // It comes when the processes have started.
                PictureFormat::Processes => continue,
            };
            cx.effect(Effect::Picture { to, format, text });
        }
    }

    fn show_allocation(&self, to: Option<RequestId>, id: JobId, spec: &JobSpec, cx: &mut Cx) {
        if spec.display.allocation {
            print(to, display::allocation(&id.nspace(&self.config.dvm), 0, self.pool.records()), cx);
        }
    }

    /// Shows `--display bind`: the binding of each started process, on behalf of its daemon.
    pub(super) fn show_bindings(&self, id: JobId, daemon: DaemonRank, started: &[(Rank, u32)], cx: &mut Cx) {
        let (Some(job), Some(node)) = (self.jobs.get(id), self.pool.node_of(daemon)) else {
            return;
        };
        let (pid, numbers) = (self.dvm.pid(daemon).unwrap_or(self.local.pid), numbers(&job.spec.display));
        let mut text = String::new();
        for (rank, _) in started {
            let Some(placement) = job.map().procs.get(rank.0 as usize) else { continue };
            if !job.spec.display.bind && !job.spec.display.bind_of.contains(&placement.app) {
                continue;
            }
            let threads = job.map().policy(placement.app).is_some_and(|policy| policy.hwthreads);
            let what = match &placement.cpus {
                Some(cpus) => format!("bound to {}", display::binding_by(&node.topology, Some(cpus), threads, numbers)),
                None => "is not bound".to_owned(),
            };
            let _ = writeln!(text, "[{}:{pid}] Rank {rank} {what}", node.name);
        }
        if let Some(request) = job.request.filter(|_| !text.is_empty()) {
            let sink = Sink { to: request, stream: Stream::Stderr };
            cx.effect(Effect::WriteOutput { sink, from: Rank(0), data: Bytes::from(text), account: None });
        }
    }

    /// Releases the slots of a job that is over. One that had none, and before which others waited, changes nothing for
    /// the queue (spec L128).
    pub(super) fn release_slots(&mut self, job: &Job, cx: &mut Cx) {
        match job.takes_slots() {
            true if job.is_mapped() && job.freed.is_empty() => {
                self.pool.release(&mut self.jobs.occupancy, job.map());
            }
            true if job.is_mapped() => {
                let rest = job.map().ranks().map(|(rank, _)| rank).filter(|rank| !job.freed.contains(rank));
                self.pool.release_rest(&mut self.jobs.occupancy, job.map(), rest);
            }
            true => {}
            false => self.jobs.occupancy.release_ranks(job.map()),
        }
        if self.jobs.queue.take_vacated() || job.is_mapped() {
            self.serve_queue(cx);
        }
    }
}

fn not_there(what: &str, name: &str, to: Option<RequestId>, cx: &mut Cx) {
    let text =
        format!("--display {what}={name}: no node of the DVM has that name; --display allocation shows the names.");
    to.into_iter().for_each(|request| cx.notice_to(request, text.clone()));
}

/// The reason why nobody would read the job's standard input: the rank that is to read it does not exist (spec L93).
fn unread_stdin(spec: &JobSpec, map: &JobMap) -> Option<String> {
    match spec.stdin {
        Some(StdinTarget::Rank(reader)) if map.node_of(reader).is_none() => Some(format!(
            "Rank {reader} is to read the standard input (--stdin {reader}), but the job has {} ranks, counted from 0.\n\
             Name one of them, or all, or none.",
            map.procs.len()
        )),
        _ => None,
    }
}

fn numbers(display: &Display) -> Numbers {
    if display.physical { Numbers::Physical } else { Numbers::Logical }
}

fn print(to: Option<RequestId>, text: String, cx: &mut Cx) {
    if let Some(request) = to.filter(|_| !text.is_empty()) {
        let sink = Sink { to: request, stream: Stream::Stdout };
        cx.effect(Effect::WriteOutput { sink, from: Rank(0), data: Bytes::from(text), account: None });
    }
}

/// The specification with one slot for each host without a number, as long as that gives places for all processes:
/// two hosts for two processes mean one on each. Directives with their own numbers stay as they are. `None` = no such
/// change applies.
fn one_slot_each(spec: &JobSpec) -> Option<JobSpec> {
    let bare = |host: &HostRef| matches!(host, HostRef::Host(HostEntry { slots: SlotCount::FromCores, .. }));
    let means_it = |app: &AppContext| {
        let request = spec.map_of(app);
        let counts = matches!(request.by, None | Some(MapBy::Slot | MapBy::Node | MapBy::Object(_)));
        let names = &app.hosts.hosts;
        // With one name the result is the same.
        let is_enough = names.len() > 1 && app.np.is_some_and(|np| np as usize <= names.len());
        counts && request.pes.is_none() && is_enough && names.iter().all(bare)
    };
    if !spec.apps.iter().any(means_it) {
        return None;
    }
    let mut each = spec.clone();
    for app in each.apps.iter_mut().filter(|app| means_it(app)) {
        for host in &mut app.hosts.hosts {
            if let HostRef::Host(entry) = host {
                entry.slots = SlotCount::Given(1);
            }
        }
    }
    Some(each)
}
