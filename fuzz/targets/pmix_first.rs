//! A stranger's bytes at the PMIx port are judged without a panic, and every beginning of a whole message asks for
//! more, never for less.
#![no_main]

use ferrite_pmix::FirstMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let FirstMessage::Complete(_) = FirstMessage::judge(data) {
        for end in 0..data.len() {
            match FirstMessage::judge(&data[..end]) {
                FirstMessage::Incomplete(needed) => assert!(needed > end && needed <= data.len()),
                other => panic!("{other:?} at {end}"),
            }
        }
    }
});
