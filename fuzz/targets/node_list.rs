//! No list of nodes that a program gives (`PMIX_ALLOC_NODE_LIST`) makes the parser panic, or grow beyond its limit.
#![no_main]

use ferrite_rm::node_list::expand;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(list) = expand(text) {
        assert!(list.len() <= text.len().max(65 << 20), "{} bytes", list.len());
    }
});
