//! Files that `lstopo` wrote, of both formats, and two written by hand: what placement gets of them.

use std::fmt::Write;

use ferrite_map::topology_file::parse;
use ferrite_types::{ObjectKind, Topology};

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

macro_rules! file {
    ($name:literal) => {
        parse(include_str!(concat!("topologies/", $name, ".xml"))).expect("a good file")
    };
}

#[test]
fn objects_come_in_the_order_of_the_file() {
    insta::assert_snapshot!(shown(&file!("two-packages")));
}

#[test]
fn format_1_has_sockets_and_depths() {
    insta::assert_snapshot!(shown(&file!("format-1")));
}

#[test]
fn kinds_that_a_machine_lacks_are_absent() {
    let topology = file!("no-package");
    assert!(topology.of_kind(ObjectKind::Package).is_empty() && topology.of_kind(ObjectKind::L3Cache).is_empty());
    assert_eq!((topology.of_kind(ObjectKind::Numa).len(), topology.usable_cores()), (2, 4));
}

/// `lstopo -i` says of this file that the memory of the whole machine is its last domain.
#[test]
fn an_asymmetric_machine_keeps_its_shape() {
    insta::assert_snapshot!(shown(&file!("asymmetric")));
}

#[test]
fn a_card_is_one_device_whatever_its_names() {
    let topology = file!("devices");
    let only_devices = Topology { objects: Vec::new(), ..topology };
    insta::assert_snapshot!(shown(&only_devices));
}
