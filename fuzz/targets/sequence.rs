//! No sequence makes the parser panic; what it accepts names single hosts, and none that a launcher takes for an
//! option.
#![no_main]

use ferrite_rm::places::{parse_sequence, sequence_through};
use ferrite_types::HostRef;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(lines) = parse_sequence("f", text) {
        let hosts: Vec<HostRef> = lines.iter().map(|line| line.host.clone()).collect();
        assert_eq!(sequence_through(&hosts).map(|through| through.len()), Some(lines.len()));
        for host in &hosts {
            match host {
                HostRef::Host(host) => assert!(!host.name.starts_with('-'), "{:?} would be an option", host.name),
                HostRef::Relative(..) => {}
                HostRef::Empty(_) | HostRef::Exclude(_) => panic!("{host:?} is no single host"),
            }
        }
    }
});
