//! No list of nodes to add, to activate or to remove, and no file of such, makes the parsers panic; no name among them
//! would be an option of ssh.
#![no_main]

use ferrite_rm::added::{parse_activate, parse_leaving, parse_list};
use ferrite_rm::hostfile::{parse_activated, parse_added};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = (parse_activate(text), parse_activated("f", text));
    for name in parse_leaving(text).unwrap_or_default() {
        assert!(!name.starts_with('-'), "{name:?}");
    }
    for added in parse_list(text).into_iter().chain(parse_added("f", text)).flatten() {
        assert!(!added.host.name.starts_with('-'), "{:?}", added.host.name);
    }
});
