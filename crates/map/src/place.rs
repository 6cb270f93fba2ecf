//! The steps of placement in their order: count, map, rank, bind.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrite_types::{
    AppContext, BindTo, CpuSet, DaemonRank, JobMap, JobNode, JobSpec, LocalRank, NodeId, NodeRecord, NodeShare,
    ObjectKind, Placement, Topology,
};

use crate::bind::Binder;
use crate::count::{self, Limit, TooMany};
use crate::error::{self, MapError, NodeSlots};
use crate::narrow::{Few, narrowed};
use crate::occupancy::Occupancy;
use crate::policy::{Mapper, Policy, kind_word, map_kind};
use crate::rank::{self, OnNode};
use crate::shape::Shape;

/// Places a job: `apps` has, for each app context, the nodes that it may use in the order of use.
/// Nodes without a daemon are passed over. Ranks are contiguous over the apps.
///
/// # Errors
/// Says what does not fit, with the numbers, and what would.
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
    match narrowed(spec, nodes, apps) {
        Some(Few { shares, total_slots }) => {
            let map = place_among(spec, nodes, &[shares], occupancy)?;
            Ok(JobMap { total_slots, ..map })
        }
        None => place_among(spec, nodes, apps, occupancy),
    }
}

/// Places a job on these nodes, looking at each of them.
pub(crate) fn place_among(
    spec: &JobSpec,
    nodes: &[NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &Occupancy,
) -> Result<JobMap, MapError> {
    let mut job = Job::new(spec, nodes, apps, occupancy)?;
    job.find_shapes();
    let counts = job.count()?;
    if job.seats.iter().any(|seat| seat.placed > seat.free) {
        job.policy.on_oversubscribed(&spec.map);
        job.find_shapes();
    }
    job.check_binding()?;
    job.rank_and_bind(&counts)
}

/// One node of the job while it is placed.
pub(crate) struct Seat<'a> {
    record: &'a NodeRecord,
    /// Slots that are free before this job.
    pub(crate) free: u32,
    /// Processes that fit at all (`max_slots`) before this job.
    room: u32,
    /// Processes of this job so far.
    placed: u32,
    /// Index into [`Job::shapes`].
    shape: usize,
}

struct Job<'a> {
    spec: &'a JobSpec,
    occupancy: &'a Occupancy,
    policy: Policy,
    seats: Vec<Seat<'a>>,
    /// For each app, indices into `seats` with the cap on slots.
    apps: Vec<Vec<(usize, Option<u32>)>>,
    shapes: Vec<Shape>,
}

impl<'a> Job<'a> {
    fn new(
        spec: &'a JobSpec,
        nodes: &'a [NodeRecord],
        shares: &[Vec<NodeShare>],
        occupancy: &'a Occupancy,
    ) -> Result<Job<'a>, MapError> {
        let position = positions(nodes);
        let mut seat_of: Vec<Option<usize>> = vec![None; nodes.len()];
        let mut seats: Vec<Seat<'a>> = Vec::new();
        let mut apps = Vec::new();
        for (app, shares) in spec.apps.iter().zip(shares) {
            let mut mine = Vec::new();
            for share in shares {
                let at = position(share.node).ok_or(MapError::UnknownNode(share.node))?;
                let record = &nodes[at];
                let local = record.daemon == Some(DaemonRank::HEAD);
                if record.daemon.is_none() || (spec.map.nolocal && local) {
                    continue;
                }
                let seat = *seat_of[at].get_or_insert_with(|| {
                    seats.push(Seat::new(record));
                    seats.len() - 1
                });
                mine.push((seat, share.cap));
            }
            if mine.is_empty() {
                return Err(no_nodes(app, spec.map.nolocal && !shares.is_empty()));
            }
            apps.push(mine);
        }
        let total = expected_total(spec, &seats, &apps);
        let mut topologies: Vec<&Arc<Topology>> = seats.iter().map(|s| &s.record.topology).collect();
        topologies.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let policy = Policy::resolve(&spec.map, total, topologies.iter().map(|t| &***t))?;
        Ok(Job { spec, occupancy, policy, seats, apps, shapes: Vec::new() })
    }

    /// One shape per distinct topology; a node where other jobs are bound has its own.
    fn find_shapes(&mut self) {
        let mut known: BTreeMap<*const Topology, usize> = BTreeMap::new();
        self.shapes.clear();
        for seat in &mut self.seats {
            let busy = self.occupancy.busy(seat.record.id);
            let mut make = |busy: &CpuSet| {
                let shape = Shape::new(&seat.record.topology, map_kind(self.policy.map), self.policy.bind, busy);
                self.shapes.push(shape);
                self.shapes.len() - 1
            };
            seat.shape = if busy.is_empty() {
                *known.entry(Arc::as_ptr(&seat.record.topology)).or_insert_with(|| make(&busy))
            } else {
                make(&busy)
            };
        }
    }

    /// Processes per app and node.
    fn count(&mut self) -> Result<Vec<Vec<u32>>, MapError> {
        let mut counts = Vec::with_capacity(self.apps.len());
        for index in 0..self.apps.len() {
            let app = self.count_app(index)?;
            for (&(seat, _), n) in self.apps[index].iter().zip(&app) {
                self.seats[seat].placed += n;
                self.check_node(seat, *n)?;
            }
            counts.push(app);
        }
        Ok(counts)
    }

    fn count_app(&self, index: usize) -> Result<Vec<u32>, MapError> {
        let app = &self.spec.apps[index];
        if app.np == Some(0) {
            return Err(MapError::NoProcesses { program: program(app) });
        }
        let by_object = matches!(self.policy.map, Mapper::PerObject(..));
        let limits: Vec<Limit> = self.apps[index]
            .iter()
            .map(|&(seat, cap)| {
                let seat = &self.seats[seat];
                let room = seat.room.saturating_sub(seat.placed);
                let free = seat.free.saturating_sub(seat.placed).min(cap.unwrap_or(u32::MAX)).min(room);
                let objects = if by_object { self.shapes[seat.shape].objects } else { 1 };
                Limit { free, room, objects }
            })
            .collect();
        // Without this, ppr would count zero objects and place nothing, or blame -n.
        if by_object && limits.iter().all(|limit| limit.objects == 0) {
            let (seat, _) = self.apps[index][0];
            return self.missing_object(seat).map_or(Ok(Vec::new()), Err);
        }
        count::plan(self.policy.map, app.np, self.policy.oversubscribe, &limits)
            .map_err(|why| self.too_many(why, index, &limits))
    }

    fn too_many(&self, why: TooMany, index: usize, limits: &[Limit]) -> MapError {
        let app = &self.spec.apps[index];
        let total = |of: fn(&Limit) -> u32| limits.iter().fold(0u32, |sum, l| sum.saturating_add(of(l)));
        let asked = app.np.or_else(|| match self.policy.map {
            Mapper::PerNode(per) | Mapper::PerObject(per, _) => Some(per.saturating_mul(total(|l| l.objects))),
            Mapper::Slot | Mapper::Node | Mapper::Object(_) => None,
        });
        match why {
            TooMany::Slots => MapError::NotEnoughSlots {
                asked,
                program: program(app),
                free: total(|l| l.free),
                nodes: self.node_slots(index),
            },
            TooMany::Room => {
                MapError::MaxSlots { asked: asked.unwrap_or_default(), program: program(app), room: total(|l| l.room) }
            }
            TooMany::Ppr(given) => MapError::PprConflict {
                asked: asked.unwrap_or_default(),
                per: self.policy.ppr_text().unwrap_or_default(),
                units: error::count(total(|l| l.objects), ppr_unit(self.policy.map)),
                total: given,
                program: program(app),
            },
        }
    }

    fn node_slots(&self, index: usize) -> Vec<NodeSlots> {
        let describe = |&(seat, cap): &(usize, Option<u32>)| {
            let Seat { record, placed, .. } = &self.seats[seat];
            NodeSlots {
                name: record.name.clone(),
                slots: record.slots,
                given: record.slots_given,
                inuse: record.slots_inuse,
                earlier: *placed,
                cap,
            }
        };
        self.apps[index].iter().map(describe).collect()
    }

    fn check_node(&self, seat: usize, added: u32) -> Result<(), MapError> {
        let Seat { record, placed, shape, .. } = &self.seats[seat];
        if *placed > u32::from(u16::MAX) {
            return Err(MapError::TooManyOnNode { node: record.name.clone(), procs: *placed });
        }
        let missing = added > 0 && self.shapes[*shape].objects == 0;
        let error = self.missing_object(seat).filter(|_| missing);
        error.map_or(Ok(()), Err)
    }

    fn missing_object(&self, seat: usize) -> Option<MapError> {
        let record = self.seats[seat].record;
        map_kind(self.policy.map).map(|kind| MapError::MissingObject {
            node: record.name.clone(),
            kind,
            has: kinds_of(&record.topology),
        })
    }

    /// A binding that was asked for must be possible on every node before anything is placed.
    fn check_binding(&self) -> Result<(), MapError> {
        let BindTo::Object(kind) = self.policy.bind else {
            return Ok(());
        };
        if self.policy.bind_soft {
            return Ok(());
        }
        let missing = |seat: &&Seat<'_>| seat.placed > 0 && self.shapes[seat.shape].targets.is_empty();
        match self.seats.iter().find(missing) {
            Some(seat) => Err(MapError::MissingBindObject { node: seat.record.name.clone(), kind }),
            None => Ok(()),
        }
    }

    fn rank_and_bind(self, counts: &[Vec<u32>]) -> Result<JobMap, MapError> {
        let mut map = JobMap {
            policies: vec![self.policy.texts()],
            oversubscribe: self.policy.oversubscribe,
            total_slots: self.seats.iter().fold(0, |sum, s| sum.saturating_add(s.record.slots)),
            ..JobMap::default()
        };
        map.procs.reserve(self.seats.iter().map(|s| s.placed as usize).sum());
        let mut desks: Vec<Desk<'_>> = Vec::new();
        let mut desk_of: Vec<Option<u32>> = vec![None; self.seats.len()];
        for (app, counts) in counts.iter().enumerate() {
            let mut mapped = Vec::new();
            for (&(seat, _), count) in self.apps[app].iter().zip(counts).filter(|(_, n)| **n > 0) {
                let desk = *desk_of[seat].get_or_insert_with(|| {
                    map.nodes.push(job_node(self.seats[seat].record));
                    desks.push(Desk::new(&self, seat));
                    desks.len() as u32 - 1
                });
                let objects = desks[desk as usize].deal(self.policy.map, *count);
                mapped.push(OnNode { node: desk, objects });
            }
            rank::each_in_order(self.policy.rank, &mapped, |(desk, object)| {
                let placement = desks[desk as usize].seat_one(&self.policy, desk, app as u16, object)?;
                map.procs.push(placement);
                Ok(())
            })?;
        }
        unbind_overflowed(&mut map, &desks);
        Ok(map)
    }
}

/// A node that hosts processes, while ranks and cores are handed out.
struct Desk<'a> {
    seat: &'a Seat<'a>,
    shape: &'a Shape,
    binder: Binder,
    node_ranks: Box<dyn Iterator<Item = LocalRank> + 'a>,
    /// Processes dealt to objects by earlier apps: the next app goes on where they ended.
    dealt: u32,
    ranked: u16,
    /// A soft binding did not fit: nobody is bound here.
    overflowed: bool,
}

impl<'a> Desk<'a> {
    fn new(job: &'a Job<'a>, seat: usize) -> Desk<'a> {
        let seat = &job.seats[seat];
        let shape = &job.shapes[seat.shape];
        Desk {
            seat,
            shape,
            binder: Binder::new(shape),
            node_ranks: Box::new(job.occupancy.free_ranks(seat.record.id)),
            dealt: 0,
            ranked: 0,
            overflowed: false,
        }
    }

    /// The object of each of the next `count` processes.
    fn deal(&mut self, map: Mapper, count: u32) -> Vec<u32> {
        let first = self.dealt;
        self.dealt += count;
        match map {
            Mapper::Object(_) => {
                let order = &self.shape.deal;
                (first..first + count).map(|k| order[k as usize % order.len()]).collect()
            }
            Mapper::PerObject(per, _) => (0..count).map(|k| k / per).collect(),
            Mapper::Slot | Mapper::Node | Mapper::PerNode(_) => vec![0; count as usize],
        }
    }

    fn seat_one(&mut self, policy: &Policy, node: u32, app: u16, object: u32) -> Result<Placement, MapError> {
        let local_rank = LocalRank(self.ranked);
        self.ranked = self.ranked.saturating_add(1);
        let cpus = match policy.bind {
            BindTo::None => None,
            BindTo::Object(_) if self.overflowed => None,
            BindTo::Object(kind) => self.bind(policy, kind, object)?,
        };
        let node_rank = self.node_ranks.next().unwrap_or(local_rank);
        Ok(Placement { node, app, local_rank, node_rank, cpus, devices: Vec::new() })
    }

    fn bind(&mut self, policy: &Policy, kind: ObjectKind, object: u32) -> Result<Option<CpuSet>, MapError> {
        match self.binder.bind(self.shape, object, policy.overload) {
            Ok(cpus) => Ok(Some(cpus.clone())),
            Err(_) if policy.bind_soft => {
                self.overflowed = true;
                Ok(None)
            }
            Err(_) => Err(MapError::Overload {
                node: self.seat.record.name.clone(),
                kind,
                procs: self.seat.placed,
                free: self.shape.capacity(),
            }),
        }
    }
}

/// Some bound and some floating over them would be worse than all floating.
fn unbind_overflowed(map: &mut JobMap, desks: &[Desk<'_>]) {
    if desks.iter().any(|desk| desk.overflowed) {
        for placement in map.procs.iter_mut().filter(|p| desks[p.node as usize].overflowed) {
            placement.cpus = None;
        }
    }
}

impl<'a> Seat<'a> {
    pub(crate) fn new(record: &'a NodeRecord) -> Seat<'a> {
        let max = if record.max_slots == 0 { u32::MAX } else { record.max_slots };
        let room = max.saturating_sub(record.slots_inuse);
        let free = record.slots.saturating_sub(record.slots_inuse).min(room);
        Seat { record, free, room, placed: 0, shape: 0 }
    }
}

/// Where the record of a node is. In a whole pool that is its number, so a one-process job in a large
/// DVM builds no index; a part of a pool is searched.
pub(crate) fn positions(nodes: &[NodeRecord]) -> impl Fn(NodeId) -> Option<usize> + use<> {
    let whole = nodes.iter().enumerate().all(|(at, node)| node.id.0 as usize == at);
    let numbered = nodes.iter().enumerate().filter(|_| !whole);
    let index: BTreeMap<NodeId, usize> = numbered.map(|(at, node)| (node.id, at)).collect();
    let count = nodes.len();
    move |id| match whole {
        true => Some(id.0 as usize).filter(|at| *at < count),
        false => index.get(&id).copied(),
    }
}

/// Processes of the whole job before they are counted, for the choice of a default policy.
fn expected_total(spec: &JobSpec, seats: &[Seat<'_>], apps: &[Vec<(usize, Option<u32>)>]) -> u64 {
    let slots = |mine: &[(usize, Option<u32>)]| {
        let free = |&(seat, cap): &(usize, Option<u32>)| seats[seat].free.min(cap.unwrap_or(u32::MAX));
        mine.iter().map(free).map(u64::from).sum()
    };
    spec.apps.iter().zip(apps).map(|(app, mine)| app.np.map_or_else(|| slots(mine), u64::from)).sum()
}

fn no_nodes(app: &AppContext, nolocal: bool) -> MapError {
    let why = if nolocal {
        "NOLOCAL leaves out this machine, and there is no other; leave out NOLOCAL or add hosts"
    } else {
        "none of the nodes that it may use has a daemon"
    };
    MapError::NoNodes { program: program(app), why }
}

fn job_node(record: &NodeRecord) -> JobNode {
    JobNode {
        id: record.id,
        daemon: record.daemon.expect("nodes without a daemon were passed over"),
        name: record.name.clone(),
    }
}

fn program(app: &AppContext) -> String {
    app.argv.first().cloned().unwrap_or_default()
}

fn ppr_unit(map: Mapper) -> &'static str {
    map_kind(map).map_or("node", kind_word)
}

fn kinds_of(topology: &Topology) -> String {
    let kinds: Vec<&str> = topology.objects.iter().filter(|(_, l)| !l.is_empty()).map(|(k, _)| kind_word(*k)).collect();
    if kinds.is_empty() { "nothing known".to_owned() } else { kinds.join(", ") }
}
