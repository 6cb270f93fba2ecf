//! The texts by which the library and MPI compare the bindings of processes. Pure; only [`super::job`] uses it.

use ferrite_types::{CpuSet, ObjectKind, Topology};

/// The prefix of each kind of object in a locality string, in the order in which libpmix writes them.
const KINDS: [(&str, ObjectKind); 7] = [
    ("SK", ObjectKind::Package),
    ("L3", ObjectKind::L3Cache),
    ("L2", ObjectKind::L2Cache),
    ("L1", ObjectKind::L1Cache),
    ("CR", ObjectKind::Core),
    ("HT", ObjectKind::HwThread),
    ("NM", ObjectKind::Numa),
];

/// Formats a set of processors as the library's parser reads it: `hwloc:0-3,8`. The parser also accepts a mask
/// (`0x0000000f`) and takes it for the number of one processor.
pub(super) fn cpuset(cpus: &CpuSet) -> String {
    format!("hwloc:{cpus}")
}

/// Lists the objects that a binding touches, by kind and logical index: `SK0:L30:L20-1:CR0-1:HT0-1:NM0`. Two processes
/// of a node share what both lists name. A binding outside the topology has no locality.
pub(super) fn string(topology: &Topology, cpus: &CpuSet) -> Option<String> {
    let touched = KINDS.iter().filter_map(|(prefix, kind)| {
        let touched = touched(topology, *kind, cpus);
        (!touched.is_empty()).then(|| format!("{prefix}{touched}"))
    });
    let text = touched.collect::<Vec<_>>().join(":");
    (!text.is_empty()).then_some(text)
}

/// Returns the package of a binding; `None` when it touches none, or several.
pub(super) fn package(topology: &Topology, cpus: &CpuSet) -> Option<u32> {
    let packages = touched(topology, ObjectKind::Package, cpus);
    packages.iter().next().filter(|_| packages.len() == 1)
}

/// Returns the logical indices of the objects of a kind that a binding touches.
fn touched(topology: &Topology, kind: ObjectKind, cpus: &CpuSet) -> CpuSet {
    let objects = (0u32..).zip(topology.of_kind(kind));
    objects.filter(|(_, object)| object.cpus.intersects(cpus)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &[u32]) -> CpuSet {
        list.iter().copied().collect()
    }

    #[test]
    fn processors_are_written_as_a_list_that_the_library_reads() {
        assert_eq!(cpuset(&cpus(&[0, 1])), "hwloc:0-1");
        assert_eq!(cpuset(&cpus(&[1, 32, 33])), "hwloc:1,32-33");
    }

    #[test]
    fn a_binding_is_told_by_all_that_it_touches() {
        let topology = Topology::uniform(2, 2, 2);
        assert_eq!(string(&topology, &cpus(&[0])).as_deref(), Some("SK0:CR0:HT0:NM0"));
        assert_eq!(string(&topology, &cpus(&[4, 5, 6, 7])).as_deref(), Some("SK1:CR2-3:HT4-7:NM1"));
        assert_eq!(string(&topology, &cpus(&[3, 4])).as_deref(), Some("SK0-1:CR1-2:HT3-4:NM0-1"));
        assert_eq!(string(&topology, &cpus(&[99])), None);
    }

    #[test]
    fn a_binding_to_several_packages_is_on_none() {
        let topology = Topology::uniform(2, 2, 1);
        assert_eq!(package(&topology, &cpus(&[2, 3])), Some(1));
        assert_eq!(package(&topology, &cpus(&[1, 2])), None);
    }
}
