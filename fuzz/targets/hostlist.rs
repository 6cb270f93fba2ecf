//! No `--host` makes the parser panic, and what it accepts prints as a list that means the same.
#![no_main]

use ferrite_rm::hostlist::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(first) = parse(text) {
        let _ = first.refs();
        assert_eq!(parse(&first.to_string()), Ok(first));
    }
});
