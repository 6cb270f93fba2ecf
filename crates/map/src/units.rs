//! The processors of a machine as placement counts them: cores, or hardware threads.

use ferrite_types::{CpuChoice, CpuKind, CpuSet, ObjectKind, Topology, TopologyObject};

use crate::placement_policy::unit_kind;

/// The processors that may be used, in logical order.
pub(crate) struct Units {
    /// Hardware threads of each unit that may be used.
    sets: Vec<CpuSet>,
    /// Unit of each hardware thread.
    of_cpu: Vec<Option<u32>>,
    /// For each unit: true while no process is bound to it.
    free: Vec<bool>,
}

impl Units {
    /// `busy` are the hardware threads that something is bound to.
    pub(crate) fn new(topology: &Topology, kind: CpuKind, busy: &CpuSet) -> Units {
        let objects = usable(topology, unit_kind(kind)).map(|o| o.cpus.intersection(&topology.allowed));
        let mut sets: Vec<CpuSet> = objects.collect();
        if sets.is_empty() {
            // Only the processors of this machine are known.
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
        let free = sets.iter().map(|s| !s.intersects(busy)).collect();
        Units { sets, of_cpu, free }
    }

    /// Returns the units with a hardware thread in the set, in logical order.
    pub(crate) fn inside(&self, cpus: &CpuSet, only_free: bool) -> Vec<u32> {
        let units = cpus.iter().filter_map(|cpu| self.of_cpu.get(cpu as usize).copied().flatten());
        let mut seen: Vec<u32> = units.filter(|u| !only_free || self.free[*u as usize]).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    }

    /// Returns the number of free units with a hardware thread in the set.
    pub(crate) fn count_free(&self, cpus: &CpuSet) -> u32 {
        // A unit counts with the first of its threads that is in the set.
        let is_first = |cpu: u32, unit: u32| {
            let threads = &self.sets[unit as usize];
            threads.iter().find(|thread| cpus.contains(*thread)) == Some(cpu)
        };
        let counts = |cpu: &u32| {
            let unit = self.of_cpu.get(*cpu as usize).copied().flatten();
            unit.is_some_and(|unit| self.free[unit as usize] && is_first(*cpu, unit))
        };
        cpus.iter().filter(counts).count() as u32
    }

    /// Returns the number of units.
    pub(crate) fn len(&self) -> u32 {
        self.sets.len() as u32
    }

    /// Returns the hardware threads of these units.
    pub(crate) fn cpus_of(&self, units: &[u32]) -> CpuSet {
        let mut cpus = CpuSet::new();
        units.iter().for_each(|unit| cpus.union_with(&self.sets[*unit as usize]));
        cpus
    }

    /// Returns the hardware threads of each unit.
    pub(crate) fn each(&self) -> impl Iterator<Item = &CpuSet> {
        self.sets.iter()
    }
}

/// Objects of a kind with a hardware thread that may be used.
pub(crate) fn usable(topology: &Topology, kind: ObjectKind) -> impl Iterator<Item = &TopologyObject> {
    topology.of_kind(kind).iter().filter(|o| o.cpus.intersects(&topology.allowed))
}

/// Returns the hardware threads of listed processors. Logical numbers count all processors of the machine, also
/// unusable ones.
///
/// # Errors
/// The first number that is not there, or may not be used.
pub(crate) fn listed(topology: &Topology, kind: CpuKind, list: &CpuSet) -> Result<Vec<CpuSet>, u32> {
    let all = topology.of_kind(unit_kind(kind));
    let one = |number: u32| {
        let cpus = all.get(number as usize).map(|o| o.cpus.intersection(&topology.allowed));
        cpus.filter(|cpus| !cpus.is_empty()).ok_or(number)
    };
    list.iter().map(one).collect()
}

/// Returns the hardware threads that a line of a rankfile or sequence names.
///
/// # Errors
/// The missing object: `package 3`, `core 12 of package 0`.
pub(crate) fn chosen(topology: &Topology, kind: CpuKind, choice: &CpuChoice) -> Result<CpuSet, String> {
    let mut cpus = CpuSet::new();
    let word = match kind {
        CpuKind::Core => "core",
        CpuKind::HwThread => "hardware thread",
    };
    for part in &choice.parts {
        let within: Vec<&TopologyObject> = match part.package {
            None => topology.of_kind(unit_kind(kind)).iter().collect(),
            Some(number) => {
                let package = topology.of_kind(ObjectKind::Package).get(number as usize);
                let package = package.ok_or_else(|| format!("package {number}"))?;
                topology.of_kind(unit_kind(kind)).iter().filter(|o| o.cpus.intersects(&package.cpus)).collect()
            }
        };
        let missing = |number: u32| match part.package {
            None => format!("{word} {number}"),
            Some(package) => format!("{word} {number} of package {package}"),
        };
        let before = cpus.len();
        match &part.cpus {
            None => within.iter().for_each(|o| cpus.union_with(&o.cpus.intersection(&topology.allowed))),
            Some(numbers) => {
                for number in numbers.iter() {
                    let unit = within.get(number as usize).map(|o| o.cpus.intersection(&topology.allowed));
                    cpus.union_with(&unit.filter(|unit| !unit.is_empty()).ok_or_else(|| missing(number))?);
                }
            }
        }
        if part.cpus.is_none() && cpus.len() == before {
            return Err(missing(0));
        }
    }
    Ok(cpus)
}
