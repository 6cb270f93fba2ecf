//! Files that `lstopo` wrote, of both formats, and two written by hand: what placement gets of them.

use std::fmt::Write;

use ferrite_map::topology_file::parse;
use ferrite_types::{CpuSet, ObjectKind, Topology};

fn shown(topology: &Topology) -> String {
    let mut text = String::new();
    for (kind, objects) in &topology.objects {
        let size = |bytes: u64| if bytes == 0 { String::new() } else { format!(" of {} KiB", bytes >> 10) };
        let each = objects.iter().map(|o| format!("{}={{{}}}{}", o.os_index, o.cpus, size(o.bytes)));
        let _ = writeln!(text, "{kind:?}: {}", each.collect::<Vec<_>>().join("  "));
    }
    let _ = writeln!(text, "allowed: {}", topology.allowed);
    for device in &topology.devices {
        let _ = writeln!(
            text,
            "{:?} {} of {:?}, number {}, near {{{}}}, {}",
            device.kind,
            device.name,
            device.vendor,
            device.index,
            device.cpus,
            device.uuid.as_deref().unwrap_or("without a unique name")
        );
    }
    text
}

macro_rules! machine {
    ($name:literal) => {
        parse(include_str!(concat!("topologies/", $name, ".xml"))).expect("a good file")
    };
}

#[test]
fn objects_come_in_the_order_of_the_file() {
    insta::assert_snapshot!(shown(&machine!("two-packages")));
}

#[test]
fn format_1_has_sockets_and_depths() {
    insta::assert_snapshot!(shown(&machine!("format-1")));
}

#[test]
fn kinds_that_a_machine_lacks_are_absent() {
    let topology = machine!("no-package");
    assert!(topology.of_kind(ObjectKind::Package).is_empty() && topology.of_kind(ObjectKind::L3Cache).is_empty());
    assert_eq!((topology.of_kind(ObjectKind::Numa).len(), topology.usable_cores()), (2, 4));
}

/// `lstopo -i` says of this file that the memory of the whole machine is its last domain.
#[test]
fn an_asymmetric_machine_keeps_its_shape() {
    insta::assert_snapshot!(shown(&machine!("asymmetric")));
}

#[test]
fn a_card_is_one_device_whatever_its_names() {
    let topology = machine!("devices");
    let only_devices = Topology { objects: Vec::new(), ..topology };
    insta::assert_snapshot!(shown(&only_devices));
}

proptest::proptest! {
    /// A file is refused, or it is a machine (as the fuzz target asserts too).
    #[test]
    fn a_damaged_file_is_refused_or_still_a_machine(at in 0usize..5000, cut in 0usize..12, put in "[0-9a-fx,<>/\" ]{0,6}") {
        let file = include_str!("topologies/devices.xml");
        let from = at.min(file.len());
        let to = (from + cut).min(file.len());
        if let Ok(topology) = parse(&format!("{}{put}{}", &file[..from], &file[to..])) {
            let all: CpuSet = topology.of_kind(ObjectKind::HwThread).iter().flat_map(|t| t.cpus.iter()).collect();
            let inside = |cpus: &CpuSet| !cpus.is_empty() && cpus.intersection(&all) == *cpus;
            assert!(inside(&topology.allowed));
            assert!(topology.objects.iter().flat_map(|(_, list)| list).all(|object| inside(&object.cpus)));
            assert!(topology.devices.iter().all(|device| inside(&device.cpus)));
        }
    }
}
