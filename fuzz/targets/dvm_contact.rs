//! No contact file makes the parser panic, and what it accepts is written as a file that says the same. So with key
//! files and addresses.
#![no_main]

use ferrite_wire::DvmContact;
use ferrite_wire::remote::{join_address, key_text, parse_key, split_address};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(first) = DvmContact::parse(text) {
        assert_eq!(DvmContact::parse(&first.to_text()), Ok(first));
    }
    if let Some(key) = parse_key(text) {
        assert_eq!(parse_key(&key_text(&key)), Some(key));
    }
    if let Some((host, port)) = split_address(text) {
        assert_eq!(split_address(&join_address(host, port)), Some((host, port)));
    }
});
