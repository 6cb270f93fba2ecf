//! The steps of placement in their order, app by app: count, map, rank, bind.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use ferrite_types::resources::Amounts;
use ferrite_types::{
    AppContext, BindTo, DaemonRank, JobMap, JobSpec, MapBy, MapRequest, NodeId, NodeRecord, NodeShare,
};

use crate::app::App;
use crate::candidate::{Candidate, Numbers};
use crate::count::{self, Limit, Wanted};
use crate::error::MapError;
use crate::listed;
use crate::mapped_node::MappedNodes;
use crate::narrow::narrowed;
use crate::occupancy::Occupancy;
use crate::placement_policy::{Asked, Mapper, PlacementPolicy, map_kind};
use crate::rank::{self, OnNode};
use crate::shape::Lists;
use crate::shapes::Shapes;
use crate::unplaceable;

/// Places a job: `apps` has, for each app context, the nodes that it may use in the order of use; for an app that is
/// placed by a file (`seq` or `rankfile` with lines), the node of each line. Nodes without a daemon are skipped. Ranks
/// are contiguous over the apps.
///
/// # Errors
/// The request that does not fit, with the numbers, and one that would.
///
/// # Panics
/// When there is not exactly one selection per app context.
pub fn place(
    spec: &JobSpec,
    nodes: &[NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &Occupancy,
) -> Result<JobMap, MapError> {
    assert_eq!(spec.apps.len(), apps.len(), "one selection per app context");
    match narrowed(spec, nodes, apps, occupancy) {
        Some(few) => few.place(spec, nodes, occupancy),
        None => place_among(spec, nodes, apps, occupancy),
    }
}

/// Places a job on these nodes, considering each of them.
pub(crate) fn place_among(
    spec: &JobSpec,
    nodes: &[NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &Occupancy,
) -> Result<JobMap, MapError> {
    place_with(spec, nodes, apps, occupancy, None)
}

/// Does the same for a job of one app, of which some shapes are known.
pub(crate) fn place_with<'a>(
    spec: &'a JobSpec,
    nodes: &'a [NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &'a Occupancy,
    known: Option<Shapes<'a>>,
) -> Result<JobMap, MapError> {
    let mut job = Job::new(spec, nodes, apps, occupancy)?;
    job.unbind_the_oversubscribed()?;
    let mut mapped_nodes = MappedNodes::new(occupancy, job.candidates.len(), known);
    let mut map = JobMap::default();
    for index in 0..job.apps.len() {
        job.place_app(index, &mut mapped_nodes, &mut map)?;
    }
    job.describe(&mut map);
    Ok(map)
}

pub(crate) struct Job<'a> {
    pub(crate) occupancy: &'a Occupancy,
    pub(crate) candidates: Vec<Candidate<'a>>,
    /// What its processes so far take of what all nodes share.
    pub(crate) shared: Amounts,
    pub(crate) apps: Vec<App<'a>>,
}

impl<'a> Job<'a> {
    fn new(
        spec: &'a JobSpec,
        nodes: &'a [NodeRecord],
        shares: &[Vec<NodeShare>],
        occupancy: &'a Occupancy,
    ) -> Result<Job<'a>, MapError> {
        let position = positions(nodes);
        let mut numbers = Numbers::new(shares.iter().map(Vec::len).sum(), nodes.len());
        let mut candidates: Vec<Candidate<'a>> = Vec::new();
        let mut places = Vec::new();
        for (app, shares) in spec.apps.iter().zip(shares) {
            let request = spec.map_of(app);
            let mut mine = Vec::new();
            for share in shares {
                let at = position(share.node).ok_or(MapError::UnknownNode(share.node))?;
                let record = &nodes[at];
                let local = record.daemon == Some(DaemonRank::HEAD);
                if record.daemon.is_none() || (request.nolocal && local) {
                    if request.lists_hosts() {
                        // No line may be left out: the following ones would move up.
                        return Err(no_nodes(app, record.daemon.is_some()));
                    }
                    continue;
                }
                let number = numbers.of(at, candidates.len());
                if number == candidates.len() {
                    candidates.push(Candidate::new(record));
                }
                mine.push((number, share.cap));
            }
            if mine.is_empty() {
                return Err(no_nodes(app, request.nolocal && !shares.is_empty()));
            }
            places.push(mine);
        }
        let total = expected_total(spec, &candidates, &places);
        let apps = spec.apps.iter().zip(places).map(|(app, places)| App::new(spec, app, places, total, &candidates));
        Ok(Job { occupancy, apps: apps.collect::<Result<_, _>>()?, candidates, shared: Amounts::new() })
    }

    /// Removes the default binding of each app with which a node has more processes than slots: bound processes would
    /// share processors. Apps that still find slots keep theirs.
    fn unbind_the_oversubscribed(&mut self) -> Result<(), MapError> {
        for index in 0..self.apps.len() {
            let counts = self.count(index, &vec![None; self.apps[index].places.len()])?;
            let mut over = false;
            let placed = counts.iter().sum();
            for (&(candidate, _), count) in self.apps[index].places.iter().zip(counts).filter(|(_, count)| *count > 0) {
                self.candidates[candidate].take(count, &self.apps[index].context.takes);
                over |= self.candidates[candidate].is_over(self.apps[index].policy.cpus);
            }
            if over && self.apps[index].request.bind_to.is_none() {
                self.apps[index].policy.unbind();
            }
            self.take_shared(index, placed);
        }
        self.candidates.iter_mut().for_each(Candidate::clear);
        self.shared.clear();
        Ok(())
    }

    /// Adds what processes of an app take of what all nodes share, and what they take together.
    pub(crate) fn take_shared(&mut self, index: usize, count: u32) {
        let AppContext { takes, takes_once, .. } = self.apps[index].context;
        let each = takes.iter().map(|(resource, amount)| (resource, amount.saturating_mul(count.into())));
        for (resource, amount) in each.chain(takes_once.iter().map(|(resource, amount)| (resource, *amount))) {
            if self.occupancy.is_shared(resource) {
                let taken = self.shared.entry(resource.clone()).or_default();
                *taken = taken.saturating_add(amount);
            }
        }
    }

    /// Returns the number of processes of an app for which what all nodes share suffices; `None` = any number.
    pub(crate) fn shared_room(&self, app: &App<'a>) -> Result<Option<u32>, MapError> {
        let AppContext { takes, takes_once, .. } = app.context;
        let mut own = self.shared.clone();
        for (resource, amount) in takes_once {
            let rest = self.occupancy.shared_rest(resource, &own);
            let rest =
                rest.ok_or_else(|| MapError::NotShared { resource: resource.clone(), program: program(app.context) })?;
            if rest < *amount {
                return Ok(Some(0));
            }
            *own.entry(resource.clone()).or_default() += amount;
        }
        Ok(self.occupancy.shared_room_beside(takes, &own))
    }

    fn place_app(
        &mut self,
        index: usize,
        mapped_nodes: &mut MappedNodes<'a>,
        map: &mut JobMap,
    ) -> Result<(), MapError> {
        mapped_nodes.open(&self.candidates, &self.apps[index]);
        if self.apps[index].is_listed() {
            return listed::place(self, index, mapped_nodes, map);
        }
        let counts = match self.counted(index, mapped_nodes) {
            Err(MapError::Overload { .. }) if self.apps[index].policy.bind_soft => {
                self.apps[index].policy.unbind();
                mapped_nodes.open(&self.candidates, &self.apps[index]);
                self.counted(index, mapped_nodes)?
            }
            counts => counts?,
        };
        self.check_binding(index, &counts, mapped_nodes)?;
        self.rank_and_bind(index, &counts, mapped_nodes, map)
    }

    /// Returns the number of processes on each node of the app, and checks that their objects exist.
    fn counted(&mut self, index: usize, mapped_nodes: &MappedNodes<'a>) -> Result<Vec<u32>, MapError> {
        let app = &self.apps[index];
        if let Some(error) = unplaceable::obstacle_to_all(self, app, mapped_nodes) {
            return Err(error);
        }
        let processors: Vec<Option<u32>> =
            app.places.iter().map(|&(candidate, _)| mapped_nodes.shape(candidate).capacity).collect();
        let objects_missing = |&(candidate, _): &(usize, Option<u32>)| mapped_nodes.shape(candidate).objects == 0;
        // Without this, ppr would count zero objects and place nothing, or blame -n.
        if map_kind(app.policy.map).is_some() && app.places.iter().all(objects_missing) {
            return Err(self.missing_object(app, app.places[0].0));
        }
        let counts = self.count_with(index, &processors, Some(mapped_nodes))?;
        for (&(candidate, _), count) in self.apps[index].places.iter().zip(&counts) {
            self.candidates[candidate].take(*count, &self.apps[index].context.takes);
            let Candidate { record, placed, .. } = &self.candidates[candidate];
            if *placed > u32::from(u16::MAX) {
                return Err(MapError::TooManyOnNode { node: record.name.clone(), procs: *placed });
            }
            if *count > 0 && mapped_nodes.shape(candidate).objects == 0 {
                return Err(self.missing_object(&self.apps[index], candidate));
            }
        }
        self.take_shared(index, counts.iter().sum());
        let procs = self.candidates.iter().map(|candidate| u64::from(candidate.placed)).sum();
        if procs > JobMap::MAX_PROCS as u64 {
            return Err(MapError::TooManyProcs { procs });
        }
        Ok(counts)
    }

    fn count(&self, index: usize, processors: &[Option<u32>]) -> Result<Vec<u32>, MapError> {
        self.count_with(index, processors, None)
    }

    fn count_with(
        &self,
        index: usize,
        processors: &[Option<u32>],
        mapped_nodes: Option<&MappedNodes<'a>>,
    ) -> Result<Vec<u32>, MapError> {
        let app = &self.apps[index];
        if app.context.np == Some(0) {
            return Err(MapError::NoProcesses { program: program(app.context) });
        }
        if app.is_listed() {
            return listed::count(self, index);
        }
        let limits: Vec<Limit> =
            app.places.iter().zip(processors).map(|(place, p)| self.limit(app, place, *p, mapped_nodes)).collect();
        let wanted = Wanted {
            np: app.context.np,
            as_fits: !app.context.takes.is_empty()
                || app.policy.pes.is_some()
                || matches!(app.policy.map, Mapper::PeList { .. } | Mapper::Device),
            oversubscribe: app.policy.oversubscribe,
            even: app.policy.map == Mapper::Node || (app.policy.span && app.policy.map != Mapper::Slot),
            shared: self.shared_room(app)?,
        };
        let counts = count::plan(app.policy.map, wanted, &limits);
        counts.map_err(|why| self.too_many(why, app, &limits, mapped_nodes))
    }

    fn limit(
        &self,
        app: &App<'a>,
        &(candidate, cap): &(usize, Option<u32>),
        processors: Option<u32>,
        mapped_nodes: Option<&MappedNodes<'a>>,
    ) -> Limit {
        let (free, room) = self.candidates[candidate].free_and_room(app.policy.cpus);
        let free = free.min(cap.unwrap_or(u32::MAX)).min(room);
        let objects = match app.policy.map {
            Mapper::PerObject(_, kind) => mapped_nodes.map_or_else(
                || self.candidates[candidate].usable(kind),
                |mapped_nodes| mapped_nodes.shape(candidate).objects,
            ),
            Mapper::PerDevice(..) => mapped_nodes.map_or_else(
                || {
                    let candidate = &self.candidates[candidate];
                    let taken = self.occupancy.taken(candidate.record.id, app.lists.shares_devices);
                    app.lists.device.map_or(0, |device| candidate.devices(device, &taken))
                },
                |mapped_nodes| mapped_nodes.shape(candidate).objects,
            ),
            _ => 1,
        };
        let resources = self.candidates[candidate].resource_room(&app.context.takes, self.occupancy);
        Limit { free, room, objects, processors, resources }
    }

    /// Checks before placement that a requested binding is possible on every node.
    fn check_binding(&self, index: usize, counts: &[u32], mapped_nodes: &MappedNodes<'a>) -> Result<(), MapError> {
        let app = &self.apps[index];
        let BindTo::Object(kind) = app.policy.bind else {
            return Ok(());
        };
        if app.policy.bind_soft {
            return Ok(());
        }
        let mut used = app.places.iter().zip(counts).filter(|(_, count)| **count > 0);
        match used.find(|&(&(candidate, _), _)| mapped_nodes.shape(candidate).targets.is_empty()) {
            Some((&(candidate, _), _)) => {
                Err(MapError::MissingBindObject { node: self.candidates[candidate].record.name.clone(), kind })
            }
            None => Ok(()),
        }
    }

    fn rank_and_bind(
        &mut self,
        index: usize,
        counts: &[u32],
        mapped_nodes: &mut MappedNodes<'a>,
        map: &mut JobMap,
    ) -> Result<(), MapError> {
        let app = &self.apps[index];
        let mut mapped = Vec::new();
        for (&(candidate, _), count) in app.places.iter().zip(counts).filter(|(_, n)| **n > 0) {
            let mapped_node = mapped_nodes.at(candidate, self.candidates[candidate].record, map);
            mapped.push(OnNode { node: candidate as u32, objects: mapped_node.deal(app.policy.map, *count) });
        }
        let first = map.procs.len();
        map.procs.reserve(counts.iter().map(|n| *n as usize).sum());
        rank::each_in_order(app.policy.rank, &mapped, |(candidate, object)| {
            match mapped_nodes.taken(candidate as usize).place_next(app, index as u16, object) {
                Some(placement) => map.procs.push(placement),
                None => return Err(self.overload(app, Some(mapped_nodes))),
            }
            Ok(())
        })?;
        // Unbound processes beside bound ones would be worse than no binding at all.
        if mapped_nodes.overflowed() {
            map.procs[first..].iter_mut().for_each(|placement| placement.cpus = None);
            self.apps[index].policy.unbind();
        } else if self.apps.len() > index + 1 {
            mapped_nodes.remember(&self.apps[index].policy, &self.candidates);
        }
        Ok(())
    }

    /// Fills in the map's description of its policies.
    fn describe(&self, map: &mut JobMap) {
        let mut policies: Vec<_> = self.apps.iter().map(App::texts).collect();
        if policies.iter().all(|policy| *policy == policies[0]) {
            policies.truncate(1);
        }
        map.policies = policies;
        map.oversubscribe = self.apps.iter().any(|app| app.policy.oversubscribe);
        for (resource, amount) in self.apps.iter().flat_map(|app| &app.context.takes_once) {
            *map.takes.entry(resource.clone()).or_default() += amount;
        }
        let cpus = self.apps[0].policy.cpus;
        map.total_slots = self.candidates.iter().fold(0, |sum, candidate| sum.saturating_add(candidate.slots(cpus)));
    }
}

/// Returns the placement policy of an app of this request, for nodes of these machines.
pub(crate) fn policy_of<'t>(
    request: &MapRequest,
    job: &MapRequest,
    total: u64,
    machines: impl Iterator<Item = &'t ferrite_types::Topology> + Clone,
) -> Result<PlacementPolicy, MapError> {
    PlacementPolicy::resolve(&Asked { app: request, job, total }, machines)
}

/// The lists of a request.
pub(crate) fn lists(request: &MapRequest) -> Lists<'_> {
    match &request.by {
        Some(MapBy::PeList(list)) => Lists { pes: Some(list), ..Lists::default() },
        Some(MapBy::Device(device)) => {
            Lists { device: Some(device), shares_devices: device.shared, ..Lists::default() }
        }
        // Only the processes of the job share a device.
        Some(MapBy::PerDevice(_, device)) => Lists { device: Some(device), ..Lists::default() },
        _ => Lists::default(),
    }
}

/// Returns the position of a node's record. In a whole pool that is its number, so a one-process job in a large DVM
/// looks at no other node; a part of a pool is searched.
pub(crate) fn positions(nodes: &[NodeRecord]) -> impl Fn(NodeId) -> Option<usize> {
    let index = OnceCell::new();
    let indexed = move || nodes.iter().enumerate().map(|(at, node)| (node.id, at)).collect::<BTreeMap<_, _>>();
    move |id| {
        let number = id.0 as usize;
        let is_there = nodes.get(number).is_some_and(|node| node.id == id);
        if is_there { Some(number) } else { index.get_or_init(indexed).get(&id).copied() }
    }
}

/// Estimates the number of processes of the whole job, for the choice of default policies.
fn expected_total(spec: &JobSpec, candidates: &[Candidate<'_>], places: &[Vec<(usize, Option<u32>)>]) -> u64 {
    let slots = |mine: &[(usize, Option<u32>)]| {
        let free = |&(candidate, cap): &(usize, Option<u32>)| {
            let (free, _) = candidates[candidate].free_and_room(ferrite_types::CpuKind::Core);
            free.min(cap.unwrap_or(u32::MAX))
        };
        mine.iter().map(free).map(u64::from).sum()
    };
    let unstated = |app: &AppContext, mine| match spec.map_of(app).by {
        // The number is not known before the map; the reference counts none.
        Some(MapBy::PerNode(_) | MapBy::PerObject(..) | MapBy::PerDevice(..) | MapBy::Seq(_) | MapBy::RankFile(_)) => 0,
        _ => slots(mine),
    };
    spec.apps.iter().zip(places).map(|(app, mine)| app.np.map_or_else(|| unstated(app, mine), u64::from)).sum()
}

fn no_nodes(app: &AppContext, nolocal: bool) -> MapError {
    let why = if nolocal {
        "NOLOCAL leaves out this machine, and there is no other; leave out NOLOCAL or add hosts"
    } else {
        "none of the nodes that it may use has a daemon"
    };
    MapError::NoNodes { program: program(app), why }
}

pub(crate) fn program(app: &AppContext) -> String {
    app.argv.first().cloned().unwrap_or_default()
}
