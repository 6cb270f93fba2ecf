//! No hostfile makes the parser panic, and what it accepts prints as a hostfile that means the same.
#![no_main]

use ferrite_rm::hostfile::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(first) = parse("f", text) {
        assert_eq!(parse("f", &first.to_string()).as_ref(), Ok(&first));
        for host in first.hosts() {
            assert!(!host.name.starts_with('-'), "{:?} would be an option of ssh", host.name);
        }
    }
});
