//! Bindings of processes in words.

use ferrite_types::{CpuSet, ObjectKind, Placement, Topology};

/// The numbers by which cores and hardware threads are named. Packages always have the system's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// The position among objects of the kind: `L3`.
    #[default]
    Logical,
    /// The system's number: `P3` (`--display map:physical`).
    Physical,
}

impl Numbers {
    const fn letter(self) -> char {
        match self {
            Numbers::Logical => 'L',
            Numbers::Physical => 'P',
        }
    }
}

/// Returns the binding of a process: `N/A`, `package[0][core:L0-1]`. `threads` shows hardware threads (`hwt:`) even
/// where whole cores are bound.
#[must_use]
pub fn binding(topology: &Topology, cpus: Option<&CpuSet>, threads: bool) -> String {
    binding_by(topology, cpus, threads, Numbers::Logical)
}

/// Does what [`binding`] does, with the given numbers.
#[must_use]
pub fn binding_by(topology: &Topology, cpus: Option<&CpuSet>, threads: bool, numbers: Numbers) -> String {
    let Some(cpus) = cpus else { return "N/A".to_owned() };
    let unit = Unit::of(topology, cpus, threads);
    let inside = |of: &CpuSet| {
        format!("{}:{}{}", unit.word, numbers.letter(), unit.numbered(topology, &cpus.intersection(of), numbers))
    };
    let packages = topology.of_kind(ObjectKind::Package);
    if packages.is_empty() {
        return inside(cpus);
    }
    // A package is named by its position, whatever numbers cores have, as in the reference.
    let bound = packages.iter().enumerate().filter(|(_, package)| package.cpus.intersects(cpus));
    let parts: Vec<String> = bound.map(|(at, p)| format!("package[{at}][{}]", inside(&p.cpus))).collect();
    parts.join(" ")
}

/// Returns the names of a process's devices, separated by commas; `None` when it has none.
#[must_use]
pub fn devices(topology: &Topology, placement: &Placement) -> Option<String> {
    let name = |at: &u16| topology.devices.get(usize::from(*at)).map_or("?", |device| device.name.as_str());
    let names: Vec<&str> = placement.devices.iter().map(name).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// The objects by which a binding is described.
pub(super) struct Unit {
    /// `core` or `hwt`.
    pub(super) word: &'static str,
    kind: ObjectKind,
}

impl Unit {
    pub(super) fn of(topology: &Topology, cpus: &CpuSet, threads: bool) -> Unit {
        if !threads && covers_whole_cores(topology, cpus) {
            return Unit { word: "core", kind: ObjectKind::Core };
        }
        Unit { word: "hwt", kind: ObjectKind::HwThread }
    }

    /// Returns the numbers of the objects with a part in the set.
    pub(super) fn numbered(&self, topology: &Topology, cpus: &CpuSet, numbers: Numbers) -> CpuSet {
        let objects = topology.of_kind(self.kind).iter().zip(0..).filter(|(o, _)| o.cpus.intersects(cpus));
        objects
            .map(|(object, index)| match numbers {
                Numbers::Logical => index,
                Numbers::Physical => object.os_index,
            })
            .collect()
    }
}

/// True when the set has all usable hardware threads of each of its cores.
fn covers_whole_cores(topology: &Topology, cpus: &CpuSet) -> bool {
    let cores = topology.of_kind(ObjectKind::Core);
    let whole = |core: &CpuSet| {
        let usable = core.intersection(&topology.allowed);
        usable.intersection(cpus) == usable
    };
    !cores.is_empty() && cores.iter().filter(|c| c.cpus.intersects(cpus)).all(|c| whole(&c.cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_show_packages_and_cores_by_logical_numbers() {
        let machine = Topology::uniform(2, 4, 2);
        let show = |cpus: &[u32]| binding(&machine, Some(&cpus.iter().copied().collect()), false);
        assert_eq!(binding(&machine, None, false), "N/A");
        assert_eq!(show(&[0, 1]), "package[0][core:L0]");
        assert_eq!(show(&[8, 9, 10, 11]), "package[1][core:L4-5]");
        assert_eq!(show(&[0, 1, 4, 5, 8, 9]), "package[0][core:L0,2] package[1][core:L4]");
        assert_eq!(show(&[3]), "package[0][hwt:L3]");
    }

    #[test]
    fn physical_numbers_are_the_systems_own() {
        let mut machine = Topology::uniform(1, 4, 1);
        let cores = machine.objects.iter_mut().find(|(kind, _)| *kind == ObjectKind::Core).map(|(_, list)| list);
        for core in cores.into_iter().flatten() {
            core.os_index *= 2;
        }
        let cpus: CpuSet = [1, 2].into_iter().collect();
        assert_eq!(binding_by(&machine, Some(&cpus), false, Numbers::Physical), "package[0][core:P2,4]");
        assert_eq!(binding_by(&machine, Some(&cpus), false, Numbers::Logical), "package[0][core:L1-2]");
    }
}
