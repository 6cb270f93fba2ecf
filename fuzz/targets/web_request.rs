//! Requests of browsers for `pdvm web`: whatever comes, nothing about the DVM is told without the token.
#![no_main]

use ferrite_cli::pdvm::web::is_answered;
use libfuzzer_sys::fuzz_target;

const TOKEN: &str = "835a207343c3c606a5a465a31a1c417e";

fuzz_target!(|bytes: &[u8]| {
    let has_token = bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
    assert!(has_token || !is_answered(bytes, TOKEN));
});
