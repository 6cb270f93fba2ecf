//! A topology as one placement policy uses it: the objects to map onto in the order of use, and the targets to bind to
//! inside of each. It is computed once for each distinct topology; ten thousand equal nodes share it.

use ferrite_types::{BindTo, CpuKind, CpuSet, DeviceRequest, ObjectKind, PeList, Topology};

use crate::device::{self, DeviceObstacle};
use crate::occupancy::Taken;
use crate::placement_policy::{PlacementPolicy, map_kind};
use crate::units::{Units, listed, usable};

/// A topology as one placement policy uses it.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Objects to map onto that may be used; 1 (the node itself) when mapping is not by object.
    pub(crate) objects: u32,
    /// Positions of those objects in the order in which processes are dealt to them: round after
    /// round, an object appearing once for each process that it has processors for.
    pub(crate) deal: Vec<u32>,
    /// The objects that processes are bound to, in logical order; empty when they are not bound.
    pub(crate) targets: Vec<Target>,
    /// For each object, the targets inside of it.
    pub(crate) inside: Vec<Vec<u32>>,
    /// The devices of each object; empty unless mapped by device.
    pub(crate) devices: Vec<Vec<u16>>,
    /// Processes that the node has processors for; `None` when they are not counted.
    pub(crate) capacity: Option<u32>,
    /// The number of usable processors, and of those among them without a bound process.
    pub(crate) processors: (u32, u32),
    /// The reason why no process can be placed here, if there is one.
    pub(crate) obstacle: Option<Obstacle>,
}

/// A set of processors to bind to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Its hardware threads that may be used.
    pub(crate) cpus: CpuSet,
    /// Processes that it takes without sharing a processor.
    pub(crate) capacity: u32,
}

/// The reason why a machine cannot take any process of this policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// `PE=n`: no object has so many processors; the most that one has.
    ProcessTooLarge(u32),
    /// A listed processor is not there, or may not be used.
    NoSuchProcessor(u32),
    /// The list is in several packages.
    ListSpansPackages,
    /// The machine has no objects of the requested kind to bind to.
    NothingToBindTo(ObjectKind),
    /// The devices do not suffice.
    Device(DeviceObstacle),
}

/// Lists that come with some policies.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lists<'a> {
    pub(crate) pes: Option<&'a PeList>,
    pub(crate) device: Option<&'a DeviceRequest>,
    /// True when processes may have the same devices as those of other jobs.
    pub(crate) shares_devices: bool,
}

/// Objects to map onto: their processors, and their devices.
struct Mapped {
    objects: Vec<CpuSet>,
    devices: Vec<Vec<u16>>,
    /// For each object: the processors to which its processes may be bound, if not all of it.
    within: Option<Vec<CpuSet>>,
}

impl Shape {
    /// `taken` is what something is bound to, or uses.
    pub(crate) fn new(topology: &Topology, policy: &PlacementPolicy, lists: Lists<'_>, taken: &Taken) -> Shape {
        let units = Units::new(topology, policy.unit, &taken.cpus);
        let mut obstacle = None;
        let mapped = mapped(topology, policy, lists, taken).unwrap_or_else(|why| {
            obstacle = Some(Obstacle::Device(why));
            Mapped { objects: Vec::new(), devices: Vec::new(), within: None }
        });
        let (targets, inside) = match (policy.bind, lists.pes) {
            (BindTo::None, _) => (Vec::new(), vec![Vec::new(); mapped.objects.len()]),
            (_, Some(list)) => listed_targets(topology, policy, &units, list).unwrap_or_else(|why| {
                obstacle = Some(why);
                (Vec::new(), vec![Vec::new()])
            }),
            (BindTo::Object(kind), None) => object_targets(topology, policy, &units, &mapped, kind),
        };
        if let (Some(pes), true, None) = (policy.pes, targets.is_empty(), &obstacle) {
            let most = mapped.objects.iter().map(|o| units.inside(o, false).len() as u32).max().unwrap_or(0);
            // When the processors exist and are in use, the request itself is valid.
            obstacle = (most < u32::from(pes)).then_some(Obstacle::ProcessTooLarge(most));
        }
        if let (BindTo::Object(kind), false, None) = (policy.bind, policy.bind_soft, &obstacle)
            && usable(topology, kind).next().is_none()
        {
            obstacle = Some(Obstacle::NothingToBindTo(kind));
        }
        let deal = deal(policy, lists, &targets, &inside);
        let all: CpuSet = topology.allowed.clone();
        Shape {
            objects: mapped.objects.len() as u32,
            // A machine without such devices takes no process, also of a job that shares them.
            capacity: match lists.device.is_some() && mapped.objects.is_empty() {
                true => Some(0),
                false => (policy.counts_processors() || is_one_each(lists)).then_some(deal.len() as u32),
            },
            deal,
            processors: (units.len(), units.count_free(&all)),
            targets,
            inside,
            devices: mapped.devices,
            obstacle,
        }
    }

    /// Processes that can be bound without sharing a processor.
    pub(crate) fn room(&self) -> u32 {
        self.targets.iter().fold(0u32, |sum, t| sum.saturating_add(t.capacity))
    }
}

/// A device takes one process, unless it is shared.
fn is_one_each(lists: Lists<'_>) -> bool {
    lists.device.is_some_and(|device| !device.shared)
}

/// Returns the objects in the order in which they take processes, each as often as it has room.
fn deal(policy: &PlacementPolicy, lists: Lists<'_>, targets: &[Target], inside: &[Vec<u32>]) -> Vec<u32> {
    let counted = policy.counts_processors();
    if lists.device.is_some() && counted {
        return dealt_from_shared(targets, inside, is_one_each(lists));
    }
    let room = |object: &Vec<u32>| object.iter().map(|t| targets[*t as usize].capacity).sum::<u32>();
    let weights: Vec<u32> = inside.iter().map(|object| if counted { room(object) } else { 1 }).collect();
    dealt(&weights)
}

/// Deals processes when several devices share processors, each of which is used once.
fn dealt_from_shared(targets: &[Target], inside: &[Vec<u32>], one_each: bool) -> Vec<u32> {
    let mut left: Vec<u32> = targets.iter().map(|t| t.capacity).collect();
    let mut open: Vec<u32> = (0..inside.len() as u32).collect();
    let mut order = Vec::new();
    while !open.is_empty() {
        open.retain(|object| {
            let target = inside[*object as usize].iter().find(|target| left[**target as usize] > 0);
            if let Some(target) = target {
                left[*target as usize] -= 1;
                order.push(*object);
            }
            target.is_some() && !one_each
        });
    }
    order
}

fn mapped(
    topology: &Topology,
    policy: &PlacementPolicy,
    lists: Lists<'_>,
    taken: &Taken,
) -> Result<Mapped, DeviceObstacle> {
    if let Some(request) = lists.device {
        // Only a requested binding can be too large.
        let bind = if policy.bind_soft { BindTo::None } else { policy.bind };
        let groups = device::groups(topology, request, bind, &taken.devices)?;
        return Ok(Mapped {
            objects: groups.iter().map(|g| g.locality.clone()).collect(),
            within: Some(groups.iter().map(|g| g.near.clone()).collect()),
            devices: groups.into_iter().map(|g| g.devices).collect(),
        });
    }
    let objects = match map_kind(policy.map) {
        Some(kind) => usable(topology, kind).map(|o| o.cpus.intersection(&topology.allowed)).collect(),
        None => vec![topology.allowed.clone()],
    };
    Ok(Mapped { objects, devices: Vec::new(), within: None })
}

type Targets = (Vec<Target>, Vec<Vec<u32>>);

/// Returns the targets inside of each mapped object: objects of a kind, or groups of processors.
fn object_targets(
    topology: &Topology,
    policy: &PlacementPolicy,
    units: &Units,
    mapped: &Mapped,
    kind: ObjectKind,
) -> Targets {
    let mut targets: Vec<Target> = Vec::new();
    let places = mapped.within.as_ref().unwrap_or(&mapped.objects);
    if let Some(pes) = policy.pes {
        let mut known: Vec<(&CpuSet, Vec<u32>)> = Vec::new();
        let mut inside = Vec::new();
        for place in places {
            // Several devices may share one locality, whose processors are used once.
            if mapped.within.is_some()
                && let Some((_, same)) = known.iter().find(|(other, _)| *other == place)
            {
                inside.push(same.clone());
                continue;
            }
            let first = targets.len() as u32;
            targets.extend(groups(topology, policy, units, place, pes));
            let mine: Vec<u32> = (first..targets.len() as u32).collect();
            known.push((place, mine.clone()));
            inside.push(mine);
        }
        return (targets, inside);
    }
    let limit = policy.limit.map_or(u32::MAX, u32::from);
    targets.extend(bindable(topology, policy.unit, kind, units).into_iter().map(|cpus| {
        let capacity = units.count_free(&cpus).min(limit);
        Target { cpus, capacity }
    }));
    let inside = match &mapped.within {
        None => by_first_thread(places, &targets),
        Some(_) => {
            let here = |place: &CpuSet, target: &Target| target.cpus.intersects(place);
            let list = |place| {
                let numbered = targets.iter().enumerate();
                numbered.filter(|(_, target)| here(place, target)).map(|(index, _)| index as u32).collect()
            };
            places.iter().map(list).collect()
        }
    };
    (targets, inside)
}

/// Returns the objects that processes are bound to. A hardware thread stands for its core where cores are counted: two
/// processes do not share one.
fn bindable(topology: &Topology, cpus: CpuKind, kind: ObjectKind, units: &Units) -> Vec<CpuSet> {
    if (kind, cpus) == (ObjectKind::HwThread, CpuKind::Core) {
        return units.each().filter_map(|unit| unit.iter().next()).map(|cpu| CpuSet::from_iter([cpu])).collect();
    }
    usable(topology, kind).map(|o| o.cpus.intersection(&topology.allowed)).collect()
}

/// `PE=n`: groups of n processors, none of them in two packages.
fn groups(topology: &Topology, policy: &PlacementPolicy, units: &Units, place: &CpuSet, pes: u16) -> Vec<Target> {
    let packages: Vec<CpuSet> = usable(topology, ObjectKind::Package).map(|p| p.cpus.intersection(place)).collect();
    let parts = if packages.is_empty() { vec![place.clone()] } else { packages };
    let cut = |only_free: bool| -> Vec<Target> {
        let group = |group: &[u32]| Target { cpus: units.cpus_of(group), capacity: 1 };
        let part = |part: &CpuSet| units.inside(part, only_free).chunks_exact(usize::from(pes)).map(group).collect();
        parts.iter().flat_map(|p: &CpuSet| -> Vec<Target> { part(p) }).collect()
    };
    let free = cut(true);
    if free.is_empty() && policy.overload { cut(false) } else { free }
}

/// `pe-list`: each listed processor for one process, or all of them for every process.
fn listed_targets(
    topology: &Topology,
    policy: &PlacementPolicy,
    units: &Units,
    list: &PeList,
) -> Result<Targets, Obstacle> {
    let sets = listed(topology, policy.unit, &list.cpus).map_err(Obstacle::NoSuchProcessor)?;
    let capacity = |cpus: &CpuSet| units.count_free(cpus);
    let targets: Vec<Target> = if list.ordered {
        sets.into_iter().map(|cpus| Target { capacity: capacity(&cpus), cpus }).collect()
    } else {
        let mut cpus = CpuSet::new();
        sets.iter().for_each(|set| cpus.union_with(set));
        if usable(topology, ObjectKind::Package).filter(|p| p.cpus.intersects(&cpus)).count() > 1 {
            return Err(Obstacle::ListSpansPackages);
        }
        vec![Target { capacity: capacity(&cpus), cpus }]
    };
    let all = (0..targets.len() as u32).collect();
    Ok((targets, vec![all]))
}

/// Assigns each target to the object with its first hardware thread, in linear time.
fn by_first_thread(mapped: &[CpuSet], targets: &[Target]) -> Vec<Vec<u32>> {
    let mut object_of: Vec<Option<usize>> = Vec::new();
    for (position, object) in mapped.iter().enumerate() {
        for cpu in object.iter() {
            let cpu = cpu as usize;
            if object_of.len() <= cpu {
                object_of.resize(cpu + 1, None);
            }
            object_of[cpu] = Some(position);
        }
    }
    let mut inside = vec![Vec::new(); mapped.len()];
    for (index, target) in targets.iter().enumerate() {
        let first = target.cpus.iter().next().and_then(|cpu| object_of.get(cpu as usize).copied().flatten());
        if let Some(position) = first {
            inside[position].push(index as u32);
        }
    }
    inside
}

/// Returns the dealing order for weights: 0 1 0 1 1 for weights 2 and 3.
fn dealt(weights: &[u32]) -> Vec<u32> {
    let mut order = Vec::with_capacity(weights.iter().sum::<u32>() as usize);
    let mut open: Vec<u32> = (0..weights.len() as u32).filter(|object| weights[*object as usize] > 0).collect();
    let mut round = 1;
    while !open.is_empty() {
        order.extend(&open);
        open.retain(|object| weights[*object as usize] > round);
        round += 1;
    }
    order
}
