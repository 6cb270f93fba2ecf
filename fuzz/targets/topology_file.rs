//! No topology file makes its parser panic, and what it accepts is a machine: every object has hardware threads of the
//! machine, and some of them may be used.
#![no_main]

use ferrite_map::topology_file::parse;
use ferrite_types::{CpuSet, ObjectKind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(topology) = parse(text) {
        let all: CpuSet = topology.of_kind(ObjectKind::HwThread).iter().flat_map(|t| t.cpus.iter()).collect();
        let inside = |cpus: &CpuSet| !cpus.is_empty() && cpus.intersection(&all) == *cpus;
        assert!(inside(&topology.allowed));
        assert!(topology.objects.iter().flat_map(|(_, list)| list).all(|object| inside(&object.cpus)));
        assert!(topology.devices.iter().all(|device| inside(&device.cpus)));
    }
});
