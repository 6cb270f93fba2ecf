//! No parameter file makes the parser or the check of values panic.
#![no_main]

use ferrite_rm::{Launcher, Params};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut params = Params::default();
    if params.load_file("f", text).is_ok() && params.check().is_ok() {
        let _ = Launcher::from_params(&params, None);
    }
});
