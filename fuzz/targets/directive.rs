//! No `--map-by`, `--rank-by` or `--bind-to` makes its parser panic.
#![no_main]

use ferrite_map::directive::{parse_bind_to, parse_map_by, parse_rank_by};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse_map_by(text);
    let _ = parse_rank_by(text);
    let _ = parse_bind_to(text);
});
