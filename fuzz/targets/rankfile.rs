//! No rankfile makes the parser panic; what it accepts has every rank once, in order, and hosts that no launcher takes
//! for options.
#![no_main]

use ferrite_rm::places::{as_hostfile, parse_ranks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(lines) = parse_ranks("f", text) {
        assert!(!lines.is_empty() && lines.iter().zip(0..).all(|(line, rank)| line.rank.0 == rank));
        assert!(lines.iter().flat_map(|line| &line.cpus).all(|cpus| !cpus.parts.is_empty()));
        for host in as_hostfile("f", lines.iter().map(|line| &line.host)).iter().flat_map(|file| file.hosts()) {
            assert!(!host.name.starts_with('-'), "{:?} would be an option of ssh", host.name);
        }
    }
});
