//! No contact file makes the parser panic, and what it accepts is written as a file that says the same.
#![no_main]

use ferrite_wire::DvmContact;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(first) = DvmContact::parse(text) {
        assert_eq!(DvmContact::parse(&first.to_text()), Ok(first));
    }
});
