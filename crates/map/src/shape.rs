//! A topology seen through one policy: the objects to map onto in the order of use, and the objects
//! to bind to inside of each. Computed once per distinct topology: ten thousand equal nodes share it.

use ferrite_types::{BindTo, CpuSet, ObjectKind, Topology, TopologyObject};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Objects to map onto that may be used; 1 (the node itself) when mapping is not by object.
    pub(crate) objects: u32,
    /// Positions of those objects in the order in which processes are dealt to them: round after
    /// round, an object appearing once for each of its cores, so that a small one is not overloaded.
    pub(crate) deal: Vec<u32>,
    /// What processes are bound to, in logical order; empty when they are not bound.
    pub(crate) targets: Vec<Target>,
    /// For each object, the targets inside of it.
    pub(crate) inside: Vec<Vec<u32>>,
}

/// Something to bind to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Its hardware threads that may be used.
    pub(crate) cpus: CpuSet,
    /// Processes that it takes without sharing a core.
    pub(crate) capacity: u32,
}

impl Shape {
    /// `busy` are the hardware threads that running jobs are bound to.
    pub(crate) fn new(topology: &Topology, map: Option<ObjectKind>, bind: BindTo, busy: &CpuSet) -> Shape {
        let bind_kind = match bind {
            BindTo::None => None,
            BindTo::Object(kind) => Some(kind),
        };
        let threads = map == Some(ObjectKind::HwThread) || bind_kind == Some(ObjectKind::HwThread);
        let units = Units::new(topology, threads, busy);
        let whole = [TopologyObject { os_index: 0, cpus: topology.allowed.clone(), bytes: 0 }];
        let mapped: Vec<&TopologyObject> = match map {
            Some(kind) => usable(topology, kind).collect(),
            None => whole.iter().collect(),
        };
        let targets: Vec<Target> = bind_kind
            .into_iter()
            .flat_map(|kind| usable(topology, kind))
            .map(|object| units.target(object, topology))
            .collect();
        let inside = inside(&mapped, &targets, &topology.allowed);
        // Where other jobs are bound comes into play only when nothing else is left.
        let weigh = |only_free| -> Vec<u32> { mapped.iter().map(|o| units.count(&o.cpus, only_free)).collect() };
        let mut deal = dealt(&weigh(true));
        if deal.is_empty() {
            deal = dealt(&weigh(false));
        }
        Shape { objects: mapped.len() as u32, deal, targets, inside }
    }

    /// Processes that can be bound without sharing a core.
    pub(crate) fn capacity(&self) -> u32 {
        self.targets.iter().map(|t| t.capacity).sum()
    }
}

fn usable(topology: &Topology, kind: ObjectKind) -> impl Iterator<Item = &TopologyObject> {
    topology.of_kind(kind).iter().filter(|o| o.cpus.intersects(&topology.allowed))
}

/// What counts as one processor: a core, or a hardware thread.
struct Units {
    /// Unit of each hardware thread.
    of_cpu: Vec<Option<u32>>,
    /// For each unit: nothing is bound to it yet.
    free: Vec<bool>,
}

impl Units {
    fn new(topology: &Topology, threads: bool, busy: &CpuSet) -> Units {
        let cores = usable(topology, ObjectKind::Core).map(|o| o.cpus.intersection(&topology.allowed));
        let mut sets: Vec<CpuSet> = if threads { Vec::new() } else { cores.collect() };
        if sets.is_empty() {
            sets = topology.allowed.iter().map(|cpu| CpuSet::from_iter([cpu])).collect();
        }
        let mut of_cpu = Vec::new();
        for (unit, set) in sets.iter().enumerate() {
            for cpu in set.iter() {
                let cpu = cpu as usize;
                if of_cpu.len() <= cpu {
                    of_cpu.resize(cpu + 1, None);
                }
                of_cpu[cpu] = Some(unit as u32);
            }
        }
        Units { of_cpu, free: sets.iter().map(|s| !s.intersects(busy)).collect() }
    }

    /// Units with a hardware thread in the set.
    fn count(&self, cpus: &CpuSet, only_free: bool) -> u32 {
        let units = cpus.iter().filter_map(|cpu| self.of_cpu.get(cpu as usize).copied().flatten());
        let mut seen: Vec<u32> = units.filter(|u| !only_free || self.free[*u as usize]).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len() as u32
    }

    fn target(&self, object: &TopologyObject, topology: &Topology) -> Target {
        let cpus = object.cpus.intersection(&topology.allowed);
        let capacity = self.count(&cpus, true);
        Target { cpus, capacity }
    }
}

/// Targets by the object that holds their first hardware thread, without comparing all with all.
fn inside(mapped: &[&TopologyObject], targets: &[Target], allowed: &CpuSet) -> Vec<Vec<u32>> {
    let mut object_of: Vec<Option<usize>> = Vec::new();
    for (position, object) in mapped.iter().enumerate() {
        for cpu in object.cpus.intersection(allowed).iter() {
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

/// 0 1 0 1 1 for weights 2 and 3.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_dealt_round_after_round_and_small_ones_drop_out() {
        assert_eq!(dealt(&[2, 3]), [0, 1, 0, 1, 1]);
    }

    #[test]
    fn units_that_are_not_allowed_or_busy_do_not_count() {
        let mut machine = Topology::uniform(2, 2, 2);
        machine.allowed = (0..6).collect();
        let busy = CpuSet::from_iter([1]);
        let shape = Shape::new(&machine, Some(ObjectKind::Package), BindTo::Object(ObjectKind::Core), &busy);
        assert_eq!(shape.deal, [0, 1]);
        assert_eq!(shape.inside, [vec![0, 1], vec![2]]);
        let capacities: Vec<u32> = shape.targets.iter().map(|t| t.capacity).collect();
        assert_eq!(capacities, [0, 1, 1]);
    }

    #[test]
    fn a_machine_without_the_object_has_none() {
        let shape = Shape::new(&Topology::default(), Some(ObjectKind::Core), BindTo::None, &CpuSet::new());
        assert_eq!((shape.objects, shape.capacity()), (0, 0));
    }
}
